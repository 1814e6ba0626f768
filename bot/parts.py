"""Builds the parts from the configuration; the channels are built in bot.platforms."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bot.config.keys import VaultKeyRing, hub_key
from bot.config.load import Loaded
from bot.config.place import DATABASE_NAME
from bot.config.schema import Config, secret_values
from bot.live import Live, Metrics
from bot.models.builder import ModelOpener, first_call
from bot.runtime import LOGIN_PATH, StartError, needed_to_start
from bot.timers import ScheduledTimers
from bot.tools import (
    build_approvals,
    build_archive,
    build_effective_policy,
    make_workspace,
    vote_rule,
    workspace_of,
    workspaces_of,
)
from channels.manager import ChannelManager
from channels.webchat import WEB
from core.audit.linker import HEADS_NAME, AuditLinker, HeadFile
from core.clock import Clock
from core.consent.rules import ApprovalRule, EffectivePolicy
from core.errors import VaultError
from core.events import TurnListener
from core.gates import VoteRule
from core.ids import Ids
from core.inbound.commands import ModelsOf, SkillsOf, no_models, no_skills
from core.inbound.credentials import InboundCredentials
from core.inbound.extension_commands import ServersOf, no_servers
from core.inbound.rules import InboundRules, SessionManager
from core.lazy import LazyModule
from core.messages import Message, WhileBusy
from core.people.access import Access, ChannelAccess, Console, DirectMode, GroupMode
from core.people.notices import ApproverCopies, Notices, ToPerson
from core.runs.chat import ChatDelegate
from core.runs.context import ChatPrompts
from core.runs.model_list import ModelList
from core.runs.runner import DelegateFactory
from core.runs.services import ChatServices, ChatSettings, GuestAllowance
from core.runs.workspace_texts import WorkspaceTexts
from core.safety.fencing import ResultLimits
from core.safety.leaks import LeakDetector
from core.store.codecs import settings_to_json
from core.store.facets import SealedSecret
from core.store.port import Store
from core.store.sqlite.store import open_store as open_sqlite
from core.tools.execution import Executor, ToolPause
from core.tools.pipeline import CallPipeline, PipelineSettings
from core.tools.registry import ToolRegistry
from core.usage import MICRO_USD, Budget
from core.users import Principal
from core.web import Interceptor

if TYPE_CHECKING:
    from bot.hooks import Hooks
    from bot.mcp import build as mcp_build
    from bot.mcp import extensions as mcp_extensions
    from core.jobs.service import JobDispatcher
    from core.safety.network import Lookup
    from core.tools.mcp import server as mcp_server
    from core.tools.sign_in import SignIns
else:
    mcp_build = LazyModule("bot.mcp.build")
    mcp_extensions = LazyModule("bot.mcp.extensions")
    mcp_server = LazyModule("core.tools.mcp.server")


# Builds what keeps credentials out of conversations.


def build_leaks(config: Config) -> LeakDetector:
    """Return the detector of secrets: the configuration's own, and texts shaped like one."""
    return LeakDetector(secret_values(config))


def build_credentials(leaks: LeakDetector, ring: VaultKeyRing, clock: Clock, ids: Ids) -> InboundCredentials:
    """Build the part that moves credentials from people's messages into the vault."""

    def seal(name: str, value: str) -> SealedSecret:
        try:
            return ring.keys_to_seal().seal(name, value, clock.now())
        except StartError as error:
            raise VaultError(str(error)) from error

    return InboundCredentials(leaks, seal, ids)


# Whether there are hooks: who has none loads nothing of them.


def holds_inputs(config: Config) -> bool:
    """Return whether messages wait for hooks before a turn takes them."""
    return any("before_inbound" in hook.on for hook in config.hooks)


def configured_hooks(of: "Dependencies") -> "Hooks | None":
    """Build the configured hooks, or return None. Raises StartError for one that doesn't exist or must
    not be called."""
    if not of.config.hooks and not of.config.sessions.summary:
        return None
    from bot.hooks import build_hooks

    return build_hooks(of.loaded, of.leaks, of.store, of.models, of.interceptor, of.clock, of.ids)


# What every part of a running hub stands on.


class Dependencies:
    """The configuration, the open store, its owner, models, time, timers, ids and keys; who watches; what
    must not get out. `url`: where browsers on this machine find the hub.

    Raises StartError for a hook that is not there, or must not be asked.
    """

    def __init__(
        self,
        loaded: Loaded,
        store: Store,
        owner: Principal,
        ring: VaultKeyRing,
        models: ModelList,
        opener: ModelOpener,
        metrics: Metrics,
        clock: Clock,
        timers: ScheduledTimers,
        ids: Ids,
        interceptor: Interceptor,
        url: str,
    ) -> None:
        self.url = url
        self.interceptor = interceptor
        self.loaded = loaded
        self.config: Config = loaded.config
        self.store = store
        self.owner = owner
        self.ring = ring
        self.clock = clock
        self.ids = ids
        self.timers = timers
        self.metrics = metrics
        self.models = models
        self.opener = opener
        self.model_names = {one.name: one.model or one.provider for one in loaded.config.models}
        self.live = Live()
        self.leaks = build_leaks(loaded.config)
        self.texts = WorkspaceTexts(workspace_of(loaded), self.leaks, self.config.workspace.trusted_skills)
        self.hooks: Hooks | None = configured_hooks(self)


@contextlib.asynccontextmanager
async def open_store(config: Config, ring: VaultKeyRing, clock: Clock, ids: Ids) -> AsyncIterator[Store]:
    """Open the database in the data directory. Its audit is sealed by keys derived from the vault's."""
    database = config.hub.data_dir / DATABASE_NAME
    store = await open_sqlite(
        database,
        clock,
        ids,
        queue=config.agent.queue,
        chain=ring,
        holds_inputs=holds_inputs(config),
        budget=build_budget(config),
        first_call=first_call(config),
    )
    try:
        yield store
    finally:
        await store.close()


def build_budget(config: Config) -> Budget:
    """Return the limits on what all model calls together may cost."""
    budget = config.budget
    return Budget(
        round(budget.daily_usd * MICRO_USD),
        round(budget.per_user_daily_usd * MICRO_USD),
        budget.hourly_model_calls,
        config.hub.timezone,
    )


def build_rules(
    config: Config,
    owner: Principal,
    ids: Ids,
    effective_policy: EffectivePolicy,
    models: ModelsOf = no_models,
    skills: SkillsOf = no_skills,
    jobs: "JobDispatcher | None" = None,
    servers: ServersOf = no_servers,
    model_names: Mapping[str, str] = MappingProxyType({}),
) -> InboundRules:
    """Return who may speak where, and the limits. `model_names`: to choose from, each with its provider's."""
    identities = [identity.split(":", 1) for identity in config.hub.owner_identities]
    access = Access(
        owner=owner,
        owner_identities=frozenset((channel, person) for channel, person in identities),
        proven=frozenset({(WEB, owner.user_id)}),
        channels={
            name: ChannelAccess(
                DirectMode(channel.direct), GroupMode(channel.groups), frozenset(channel.allow)
            )
            for name, channel in config.channels.items()
        },
        sender_per_minute=config.access.sender_per_minute,
    )
    return InboundRules(
        access,
        SessionManager(ids),
        ids,
        config.agent.max_waiting,
        effective_policy,
        config.hub.timezone,
        models,
        skills,
        model_names,
        jobs,
        WhileBusy(config.agent.while_busy),
        servers,
        Console(f"{config.http.public_url}{LOGIN_PATH}" if config.http.public_url else "", WEB),
    )


def build_pipeline(
    loaded: Loaded,
    tools: ToolRegistry,
    clock: Clock,
    leaks: LeakDetector,
    pause: ToolPause,
    hooks: "Hooks | None",
    executor: Executor,
    interceptor: Interceptor,
    sign_ins: "SignIns | None" = None,
) -> CallPipeline:
    """Build the path that every call takes."""
    hook = None if hooks is None else hooks.calls
    return CallPipeline(
        tools,
        _pipeline_settings(loaded, leaks, executor, interceptor, lambda: tools.names),
        clock,
        pause,
        hook,
        sign_ins,
    )


def build_mcp(
    configured: Loaded,
    tools: ToolRegistry,
    clock: Clock,
    interceptor: Interceptor,
    sign_ins: "SignIns | None",
) -> "mcp_server.McpServers | None":
    """Build the clients of the configured MCP servers. Extensions are added to them."""
    servers = mcp_server.McpServers(tools.replace, interceptor)
    if configured.config.mcp:
        mcp_build.add_configured(servers, configured, tools, clock, sign_ins)
    return servers


def build_sign_ins(
    dependencies: Dependencies, notices: Callable[[], Notices], lookup: "Lookup | None"
) -> "SignIns":
    """Build people's sign-ins at MCP servers."""

    async def notify(user_id: str, key: str, message: Message) -> None:
        await notices().send(key, ToPerson(user_id), message)

    return mcp_extensions.build_sign_ins(
        dependencies.loaded,
        dependencies.store,
        dependencies.ring,
        dependencies.clock,
        dependencies.timers,
        dependencies.ids,
        dependencies.url,
        notify,
        dependencies.leaks.learn,
        lookup,
        dependencies.interceptor,
    )


def build_extensions(
    dependencies: Dependencies,
    tools: ToolRegistry,
    servers: "mcp_server.McpServers | None",
    sign_ins: "SignIns",
) -> "mcp_extensions.ExtensionManager | None":
    """Build the manager of the extensions that people add; None where no server is connected."""
    if servers is None:
        return None
    of = dependencies
    return mcp_extensions.ExtensionManager(of.loaded, of.store, of.ring, tools, servers, of.clock, sign_ins)


def build_chat(
    dependencies: Dependencies,
    pipeline: CallPipeline,
    manager: ChannelManager,
    turns: TurnListener,
    approver_copies: ApproverCopies,
    prompts: ChatPrompts,
) -> DelegateFactory:
    """Return the factory of chat turns' delegates."""
    config, hooks = dependencies.config, dependencies.hooks
    with needed_to_start(config.workspace.dir, "make it a directory, or set another [workspace] dir"):
        make_workspace(config.workspace.dir)
    guests = GuestAllowance(
        dependencies.store.people,
        dependencies.clock,
        config.hub.timezone,
        config.roles.guest.daily_model_calls,
    )
    services = ChatServices(
        dependencies.store,
        dependencies.models,
        pipeline,
        manager,
        turns,
        dependencies.clock,
        dependencies.ids,
        dependencies.leaks,
        approver_copies,
        guests,
        prompts,
        manager,
        archive=build_archive(pipeline.workspace_of(dependencies.owner), dependencies.ids),
    )
    if hooks is not None:
        services = replace(
            services,
            reply_hook=hooks.replies,
            answer_hook=hooks.answers,
            tells_text=not hooks.show_steps_only,
        )
    settings = _chat_settings(config)

    return lambda loaded, run: ChatDelegate(services, settings, loaded, run)


def _pipeline_settings(
    loaded: Loaded,
    leaks: LeakDetector,
    executor: Executor,
    interceptor: Interceptor,
    tools: Callable[[], Collection[str]],
) -> PipelineSettings:
    config = loaded.config
    return PipelineSettings(
        effective_policy=build_effective_policy(config, tools),
        binding_key=hub_key(config.hub.data_dir),
        workspace=workspace_of(loaded),
        tool_timeout_s=config.approvals.tool_timeout_s,
        result_limits=ResultLimits(leaks=leaks),
        executor=executor,
        interceptor=interceptor,
        workspaces=workspaces_of(loaded),
    )


def _chat_settings(config: Config) -> ChatSettings:
    approvals = config.approvals
    return ChatSettings(
        context_tokens=config.agent.context_tokens,
        reserve_tokens=config.agent.free_tokens,
        answer_tokens=config.agent.answer_tokens,
        compact_at=config.agent.compact_at,
        temperature=config.agent.temperature,
        gate_expires_after_s=int(approvals.expires_after_s),
        rule=vote_rule(config),
        spending=ApprovalRule(VoteRule(approvers=(config.hub.owner,))),
        approvals=build_approvals(config),
    )


# Builds what chains the audit of a running hub, and says what is recorded of the operator's rules.


def build_audit(loaded: Loaded, store: Store, effective_policy: EffectivePolicy, clock: Clock) -> AuditLinker:
    """Build this hub's audit linker. A changed policy file is recorded as soon as a call was judged by
    it."""
    config = loaded.config
    linker = AuditLinker(
        store.audit,
        HeadFile(config.hub.data_dir / HEADS_NAME),
        clock,
        lambda: laid_down(config, effective_policy),
        keep_days=config.audit.keep_days,
    )
    loop = asyncio.get_running_loop()
    effective_policy.watch(lambda: loop.call_soon_threadsafe(linker.policy_changed))
    return linker


def laid_down(config: Config, effective_policy: EffectivePolicy) -> dict[str, Any]:
    """Return the operator's settings of tools and consent, as plain JSON values."""
    admin, held = effective_policy.policy().admin, effective_policy.configured
    in_use = {"preset": held.preset.value, **asdict(held.limits)}
    return {
        "owner": config.hub.owner,
        "owner_identities": list(config.hub.owner_identities),
        "approvals": config.approvals.model_dump(mode="json") | in_use,
        "roles": config.roles.model_dump(mode="json"),
        "teams": {name: list(team.users) for name, team in config.teams.items()},
        "policy": {
            "unreadable": admin.unreadable,
            "disabled": sorted(admin.disabled),
            "disabled_for": {user: sorted(tools) for user, tools in admin.disabled_for.items()},
            "ceiling": settings_to_json(admin.ceiling),
            "ceiling_for": {user: settings_to_json(ceiling) for user, ceiling in admin.ceiling_for.items()},
        },
    }


# What tells people something of the hub's own accord; loaded by the first who has something to tell.


def build_notices(store: Store, manager: ChannelManager, rules: InboundRules, leaks: LeakDetector) -> Notices:
    """Build the sender of notices through all channels."""
    return Notices(store, manager, manager, rules.access, in_threads=[WEB], leaks=leaks)
