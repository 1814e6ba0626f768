"""The tools of this hub, and who may use them, for the hub and for commands."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from yarl import URL

from bot.config.load import Loaded
from bot.config.policy import policy_source
from bot.config.schema import Config
from bot.config.sections import Rule
from bot.runtime import authorities
from core.approvals import LoopLimits, Preset
from core.clock import Clock
from core.consent.roles import RolePolicy
from core.consent.rules import ApprovalRule, ApprovalRules, EffectivePolicy, Policy
from core.errors import ToolFailed
from core.gates import VoteRule
from core.ids import Ids
from core.lazy import LazyModule
from core.runs.services import Archive
from core.safety.fencing import HeadAndTail
from core.safety.network import Exemption, Lookup, NetworkGuard, OwnHostGuard, SystemLookup
from core.safety.paths import OF_PERSON, guard_of
from core.sandbox.policy import ContainerPlaces, user_of
from core.store.port import Store
from core.tool import CallContext, Requirement, Tool, Workspace, use_limits
from core.tools.builtin.attachments import AttachmentSource, Notifier, attachment_tools, message_tool
from core.tools.builtin.basics import (
    ask_user_tool,
    echo_tool,
    json_tool,
    secret_name_tools,
    time_tool,
    tool_name_tools,
)
from core.tools.builtin.extension_tools import ExtensionInstaller, extension_tools
from core.tools.builtin.file_changes import replace_file, to_its_end, writing_tools
from core.tools.builtin.files import reading_tools, searching_tools
from core.tools.builtin.notes import document_tools, memory_tools, thread_search_tool
from core.tools.builtin.routine_and_job_tools import (
    JobOperations,
    RoutineOperations,
    delegate_tool,
    job_tools,
    routine_tools,
)
from core.tools.builtin.shell import Commands, shell_tool
from core.tools.builtin.web_tools import SearchEngine, http_tool, web_search_tool
from core.tools.child import Command
from core.tools.pipeline import INTERACTIVE
from core.tools.registry import ToolRegistry
from core.users import Principal, Role

if TYPE_CHECKING:
    from bot.extensions import python as extensions
    from bot.mcp import build
else:
    build = LazyModule("bot.mcp.build")
    extensions = LazyModule("bot.extensions.python")


SPILL_NAME = "outputs"
"""The directory of results too long for the model, in the data directory."""


def no_routines() -> RoutineOperations:
    """Return no routines, for callers that only list tools."""
    raise LookupError("routines are not available here")


def no_jobs() -> JobOperations:
    """Return no jobs, for callers that only list tools."""
    raise LookupError("jobs are not available here")


def no_extensions() -> ExtensionInstaller:
    """Return no extensions, for callers that only list tools."""
    raise LookupError("extensions are not available here")


class NoCommands:
    """Implements Commands where tools are only listed: none is carried out, least of all on this machine."""

    environment: Mapping[str, str] = {"PATH": os.defpath}
    shell = ("/bin/sh", "-c")

    async def carry_out(
        self, command: Command, call: CallContext, output: HeadAndTail, limit_s: float
    ) -> int:
        del command, call, output, limit_s
        raise ToolFailed("Commands run in containers only, and there are none here.")


def build_tools(
    configured: Loaded,
    store: Store | None,
    clock: Clock,
    notifier: Callable[[], Notifier] | None = None,
    routines: Callable[[], RoutineOperations] = no_routines,
    lookup: Lookup | None = None,
    fetching: Callable[[], AttachmentSource] | None = None,
    jobs: Callable[[], JobOperations] = no_jobs,
    installer: Callable[[], ExtensionInstaller] = no_extensions,
    commands: Commands | None = None,
) -> ToolRegistry:
    """Return all tools, in the order models see them. `store` None: they are listed, not run; `lookup`:
    resolver of host names, by default the system's; `fetching`: source of attached files; `commands`: where
    command lines are carried out, None for this machine, or nowhere with `[sandbox] chat_tools`."""
    config = configured.config
    nothing = SimpleNamespace(threads=None, memory=None, secrets=None)
    kept = store if store is not None else cast("Store", nothing)
    effective_policy = build_effective_policy(config)
    if commands is None and config.sandbox.chat_tools:
        commands = NoCommands()

    def visible(principal: Principal) -> Sequence[Tool]:
        return registry.visible_tools(principal, INTERACTIVE, effective_policy.policy())

    registry = ToolRegistry(
        [
            time_tool(clock, config.hub.timezone),
            json_tool(),
            echo_tool(),
            ask_user_tool(),
            message_tool(kept.threads, notifier),
            *memory_tools(kept.memory),
            thread_search_tool(kept.threads),
            *document_tools(kept.memory),
            *reading_tools(),
            *searching_tools(),
            *writing_tools(),
            *attachment_tools(kept.threads, fetching, notifier),
            http_tool(network_guard(config, lookup), authorities),
            *_web_search(config, lookup),
            shell_tool(
                configured.environment,
                use_limits(
                    per_minute=config.approvals.shell_per_minute, per_hour=config.approvals.shell_per_hour
                ),
                commands,
            ),
            *routine_tools(routines),
            delegate_tool(),
            *(job_tools(jobs) if config.jobs.enabled else ()),
            *extension_tools(installer),
            *tool_name_tools(visible),
            *secret_name_tools(kept.secrets),
        ]
    )
    if config.mcp:
        build.name_known_tools(configured, registry)
    if config.extensions.tools:
        extensions.add_tools(registry, config)
    return registry


def build_policy(config: Config) -> Policy:
    """Return the configured policy."""
    approvals = config.approvals
    return Policy(
        preset=Preset(approvals.preset),
        whitelist=frozenset(approvals.whitelist),
        dangerous_tools=frozenset(approvals.dangerous_tools),
        dangerous_operations=frozenset(approvals.dangerous_operations),
        denylist=frozenset(approvals.autonomous_denylist),
        roles=RolePolicy(
            member=config.roles.member.tools,
            guest=config.roles.guest.tools,
            member_asks_owner=config.roles.member.ask_owner,
        ),
    )


def build_effective_policy(config: Config, tools: Callable[[], Collection[str]] = tuple) -> EffectivePolicy:
    """Build the policy in force: the configured one, the operator's policy and the limits of turns and tools.
    `tools`: the names of this hub's tools, if they are known."""
    timeouts, admin = dict(config.approvals.tool_timeouts), policy_source(config.policy.file)
    return EffectivePolicy(build_policy(config), loop_limits(config), admin, timeouts, tools)


def loop_limits(config: Config) -> LoopLimits:
    """Return the configured limits of a turn."""
    approvals = config.approvals
    return LoopLimits(approvals.max_rounds, approvals.max_tools, int(approvals.loop_timeout_s))


def build_approvals(config: Config) -> ApprovalRules:
    """Return who is asked about which call, and where."""
    rules = [_approval_rule(config, rule) for rule in config.approvals.rules]
    return ApprovalRules(ApprovalRule(vote_rule(config)), rules, config.hub.owner)


def _approval_rule(config: Config, rule: Rule) -> ApprovalRule:
    return ApprovalRule(
        VoteRule(
            approvers=_people(config, rule.approvers),
            quorum=rule.quorum,
            not_requester=rule.not_requester,
            escalate_to=() if rule.escalate_to is None else _people(config, rule.escalate_to),
        ),
        tool=None if rule.tool == "*" else rule.tool,
        risk=None if rule.risk is None else Requirement(rule.risk),
        role=None if rule.role is None else Role(rule.role),
        ask_in=rule.ask_in,
        escalate_after_s=rule.escalate_after_s,
    )


def vote_rule(config: Config) -> VoteRule:
    """Return who can decide a gate without a rule of its own."""
    approvals = config.approvals
    return VoteRule(approvers=_people(config, approvals.approvers), quorum=approvals.quorum)


def _people(config: Config, named: str) -> tuple[str, ...]:
    """Return user ids. Empty: the requester, with any owner."""
    match named:
        case "requester":
            return ()
        case "owner":
            return (config.hub.owner,)
        case team:
            return config.teams[team.removeprefix("team:")].users


WELCOME_NAME = "welcome.md"
_WELCOME_PAGE = """\
# Welcome

This is the workspace, the only folder that the assistant's tools read and write. Put files here that it
should work on.

Some messages to try with the built-in demo model:

- `run: date` runs a command after you approve it.
- `read welcome.md` reads this page.
- `write plan.md: - call Ada` writes a file after you approve it; **Edit** changes the text first.
- `note: the train leaves at nine`, then `what do you remember about the train?`
- `every weekday at 9: what time is it` creates a routine.

To use a real model or a chat app, run `hubbub init`. You can delete this file.
"""


def make_workspace(directory: Path) -> None:
    """Make the workspace, with a page for the first visitor, if there is none. Raises OSError."""
    try:
        directory.mkdir(parents=True)
    except FileExistsError:
        if not directory.is_dir():
            raise
        return
    (directory / WELCOME_NAME).write_text(_WELCOME_PAGE, encoding="utf-8")


def workspace_of(configured: Loaded) -> Workspace:
    """Return the hub's own workspace, without the hub's own files, wherever the operator put them."""
    config = configured.config
    return Workspace(config.workspace.dir, config.hub.data_dir / SPILL_NAME, tuple(configured.closed))


def workspaces_of(configured: Loaded) -> Callable[[Principal], Workspace]:
    """Return what gives each person the workspace of their calls: the hub's own, or with
    `[sandbox] chat_tools` one that is theirs alone, which it makes."""
    own, places = workspace_of(configured), places_of(configured)
    if not configured.config.sandbox.chat_tools:
        return lambda _: own

    def of_person(principal: Principal) -> Workspace:
        files = places.of_person(principal.user_id)
        files.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.geteuid():
            return replace(own, root=files, sent_as=f"{OF_PERSON}{files.name}/")
        user = user_of(files)
        if files.stat().st_uid != user.uid:
            os.chown(files, user.uid, user.gid)
        owner = (user.uid, user.gid)
        return replace(own, root=files, owner=owner, sent_as=f"{OF_PERSON}{files.name}/")

    return of_person


def places_of(configured: Loaded) -> ContainerPlaces:
    """Return the places of what containers work on."""
    config = configured.config
    return ContainerPlaces(config.hub.data_dir.resolve(), config.workspace.dir.absolute())


def _web_search(config: Config, lookup: Lookup | None) -> Sequence[Tool]:
    """Return the search of the web, if a search engine is configured."""
    section = config.web_search
    if section.base_url is None:
        return ()
    exempt = [Exemption.parse(text) for text in config.network.allow_private]
    guard = OwnHostGuard(lookup or SystemLookup(), exempt, URL(section.base_url))
    engine = SearchEngine(section.base_url, section.results, section.timeout_s)
    return (web_search_tool(engine, guard, authorities),)


def network_guard(config: Config, lookup: Lookup | None = None) -> NetworkGuard:
    """Return the addresses tools may reach."""
    return NetworkGuard(
        lookup or SystemLookup(), [Exemption.parse(text) for text in config.network.allow_private]
    )


def build_archive(workspace: Workspace, ids: Ids) -> Archive:
    """Return the way to keep whole texts in a workspace."""
    guard = guard_of(workspace)

    async def archive(path: str, text: str) -> None:
        draft = f".hubbub-{ids.row_id()}.tmp"
        await to_its_end(lambda given_up: replace_file(guard, path, text, draft, given_up))

    return archive
