"""The rules of consent: the people asked about a call, and the input and the results of `consent.decide`.

Of approval rules the first matching one applies, else the default. `ask_in` names places for further cards.
The conversation the call was made in always has one. Values: `HERE` (no further card), `DIRECT` (a private
conversation with each person who may decide), or `channel:address`. Empty: `HERE` if the requester may
decide, otherwise `DIRECT`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from types import MappingProxyType

from core.approvals import (
    SETTINGS,
    AdminPolicy,
    ApprovalSettings,
    InForce,
    LoopLimits,
    PolicySource,
    Preset,
    in_force,
    looser,
)
from core.clock import SECOND_US
from core.consent.roles import RolePolicy
from core.gates import ConsentSettings, Grant, Option, ToolSetting, VoteRule
from core.lazy import dataclass
from core.tool import Data, Requirement, Risk
from core.users import Principal, Role

DANGEROUS_TOOLS = frozenset({"shell", "write_file", "apply_patch", "delete_file", "http"})
AUTONOMOUS_DENYLIST = (
    "remind",
    "routine_create",
    "routine_update",
    "routine_delete",
    "routine_fire",
    "event_emit",
    "create_job",
    "job_prompt",
    "cancel_job",
    "secret_list",
    "secret_delete",
    "tool_install",
    "tool_remove",
    "tool_auth",
)
"""Tools that change which runs happen without a person. No such run may call them, whatever its
scope."""
DELEGATE = "delegate"
"""The tool that gives a part of a run's work to a subtask. No subtask has it."""
DANGEROUS_OPERATIONS = frozenset({"delete", "write", "execute", "modify"})


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """The facts by which a tool is judged.

    `rated`: its arguments carry risk, so grants of it need a pattern.
    `users`: see core.tool.Tool."""

    name: str
    requirement: Requirement
    data: Data
    rated: bool = False
    users: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class CallFacts:
    """A call to be judged. `tool`: None if there is none of that name.

    `risk`: the tool's rating of the arguments.
    `operation`, `method`: the arguments of that name, if they are texts.
    `grants`: the principal's recorded ones.
    `setting`: the principal's own, if any.
    `now`: microseconds UTC.
    """

    tool: ToolFacts | None
    thread_id: str
    now: int
    risk: Risk | None = None
    operation: str = ""
    method: str | None = None
    grants: tuple[Grant, ...] = ()
    setting: ToolSetting | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """The configured policy. `preset`: the one in force for the thread.

    `whitelist`: the tools that preset `whitelist` runs.
    `denylist`: the tools no autonomous run may call.
    `admin`: the admin policy, whose disabled tools are hidden from the model and refused here.
    """

    preset: Preset = Preset.AUTO_LOOP
    whitelist: frozenset[str] = frozenset()
    dangerous_tools: frozenset[str] = DANGEROUS_TOOLS
    dangerous_operations: frozenset[str] = DANGEROUS_OPERATIONS
    roles: RolePolicy = field(default_factory=RolePolicy)
    denylist: frozenset[str] = frozenset(AUTONOMOUS_DENYLIST)
    admin: AdminPolicy = field(default_factory=AdminPolicy)


@dataclass(frozen=True, slots=True)
class Interactive:
    """The mode of a run with a person who waits for the answer and can be asked.

    `only`: the tools that the run's skills leave it; None: all the person's.
    `subtask`: the tools of a subtask of such a run, which asks nobody. None: it is no subtask."""

    only: frozenset[str] | None = None
    subtask: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ScopeGrant:
    """An explicit grant to an autonomous run. Its pattern is as in core.consent.decide, but never
    None."""

    tool: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Autonomous:
    """The mode of a run without a person to ask.

    `scopes`: tool sets. Every one must contain the tool, unless `grants` cover the call exactly. Without any,
    only tools that never need consent remain. `only`: as of Interactive. `worker`: what the policy in force
    gives a job's worker; the job's own scope is fixed at dispatch, and both must contain the tool. None: the
    run is no job.
    `subtask`: the tools of a subtask of such a run. None: it is no subtask.
    `left_out`: the tools that failed again and again, whatever else is said."""

    scopes: tuple[frozenset[str], ...] = ()
    grants: tuple[ScopeGrant, ...] = ()
    worker: frozenset[str] | None = None
    only: frozenset[str] | None = None
    subtask: frozenset[str] | None = None
    left_out: frozenset[str] = frozenset()


Mode = Interactive | Autonomous


def going_without(mode: Mode, left_out: frozenset[str]) -> Mode:
    """Return the mode of a run that goes without those tools, if nobody attends it."""
    return replace(mode, left_out=left_out) if isinstance(mode, Autonomous) else mode


def still_granted(mode: Mode, own: frozenset[tuple[str, str]] | None) -> Mode:
    """Return the mode of a run without the grants that were revoked since it began. `own`: see
    ConsentSettings."""
    if own is None or not isinstance(mode, Autonomous):
        return mode
    return replace(mode, grants=tuple(grant for grant in mode.grants if (grant.tool, grant.pattern) in own))


def for_subtask(mode: Mode, tools: frozenset[str]) -> Mode:
    """Return the mode of a subtask of a run, limited by all that limits the run and by its own tools."""
    return replace(mode, subtask=tools)


class DenyReason(StrEnum):
    """The reason a call is refused."""

    UNKNOWN_TOOL = "unknown_tool"
    POLICY_UNREADABLE = "policy_unreadable"
    DISABLED = "disabled"
    NOT_IN_ROLE = "not_in_role"
    BLOCKED = "blocked"
    AUTONOMOUS_UNAVAILABLE = "autonomous_unavailable"
    NOT_IN_SKILL = "not_in_skill"


@dataclass(frozen=True, slots=True)
class Allow:
    """The decision to run the call (within the loop's budget, which is checked elsewhere).

    `grants`: the recorded ones without which the person would be asked."""

    grants: tuple[Grant, ...] = ()


@dataclass(frozen=True, slots=True)
class Ask:
    """The decision that a person must approve the call.

    `allow_always`: "always" may be offered, and would be a grant of `pattern` (None: the whole
    tool).
    `owner_only`: the requester's role does not have the tool; only an owner may approve.
    `requirement`: the call's requirement, `ask` or `always_ask`.
    """

    reason: str
    allow_always: bool
    pattern: str | None = None
    owner_only: bool = False
    requirement: Requirement = Requirement.ASK

    def options(self, quorum: int) -> tuple[Option, ...]:
        """Return the options of the gate. "Always" is not offered if several people must approve."""
        always = (Option.ALWAYS,) if self.allow_always and quorum == 1 else ()
        return (Option.APPROVE, Option.DENY, *always)


@dataclass(frozen=True, slots=True)
class Deny:
    """The decision not to run the call. `text` is for the model and the person.

    `grants`: the tool's patterns that would have allowed it, if granted to the run in advance."""

    reason: DenyReason
    text: str
    grants: tuple[str, ...] = ()


Decision = Allow | Ask | Deny


HERE = "here"
DIRECT = "direct"


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """One approval rule. None matches all.

    `tool`: a name, or a prefix followed by `*`.
    `risk`: the call's requirement.
    `role`: the requester's.
    `escalate_after_s`: the time without a decision after which the vote's `escalate_to` are asked
    too; None: never."""

    vote: VoteRule
    tool: str | None = None
    risk: Requirement | None = None
    role: Role | None = None
    ask_in: str = ""
    escalate_after_s: float | None = None

    def fits(self, tool: str, risk: Requirement, role: Role) -> bool:
        """Return True if the rule applies to such a call."""
        return (
            (self.tool is None or _named(tool, self.tool))
            and self.risk in {None, risk}
            and self.role in {None, role}
        )

    def escalates_at(self, asked_at: int) -> int | None:
        """Return when to escalate a gate opened at `asked_at`; microseconds UTC."""
        if self.escalate_after_s is None or not self.vote.escalate_to:
            return None
        return asked_at + int(self.escalate_after_s * SECOND_US)

    def asked_in(self, requester_id: str) -> str:
        """Return the place to ask in: `HERE`, `DIRECT` or `channel:address`."""
        if self.ask_in:
            return self.ask_in
        alone = not self.vote.approvers or self.vote.approvers == (requester_id,)
        return HERE if alone and not self.vote.not_requester else DIRECT


class ApprovalRules:
    """The approval rules. `owner_id`: decides on tools the requester's role does not have."""

    def __init__(self, default: ApprovalRule, rules: Sequence[ApprovalRule], owner_id: str) -> None:
        self._default = default
        self._rules = tuple(rules)
        self._owner_id = owner_id

    def of(self, tool: str, ask: Ask, requester: Principal) -> ApprovalRule:
        """Return the rule for a call of the requester's that needs consent."""
        fitting = (rule for rule in self._rules if rule.fits(tool, ask.requirement, requester.role))
        rule = next(fitting, self._default)
        if ask.owner_only:
            return replace(rule, vote=replace(rule.vote, approvers=(self._owner_id,), quorum=1))
        return rule


def _named(tool: str, wanted: str) -> bool:
    return tool.startswith(wanted[:-1]) if wanted.endswith("*") else tool == wanted


# The rules in force for a call: the configuration, the admin policy over it, people's own settings.


class EffectivePolicy:
    """The policy in force. `policy`, `limits`, `tool_timeouts`: as configured; `admin`: the admin policy,
    which may change at any time. `tools`: the names of this hub's tools; empty if they are unknown."""

    def __init__(
        self,
        policy: Policy,
        limits: LoopLimits,
        admin: PolicySource,
        tool_timeouts: Mapping[str, float] = MappingProxyType({}),
        tools: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._configured = policy
        self._admin = admin
        self._by_preset = _by_preset(policy, admin.current())
        self._watcher: Callable[[], object] | None = None
        self._tools = tools
        self.configured = InForce(
            policy.preset, limits, policy.whitelist, policy.dangerous_tools, tool_timeouts
        )

    def configure(self, policy: Policy, limits: LoopLimits) -> None:
        """Judge later calls by another configured policy and other limits of turns."""
        self._by_preset = _by_preset(policy, self._admin.current())
        self._configured = policy
        self.configured = replace(
            self.configured,
            preset=policy.preset,
            limits=limits,
            whitelist=policy.whitelist,
            dangerous_tools=policy.dangerous_tools,
        )
        if self._watcher is not None:
            self._watcher()

    def watch(self, watcher: Callable[[], object]) -> None:
        """Report each change: of the admin policy as soon as a call is judged by it, in the calling thread,
        of the configured one at once."""
        self._watcher = watcher

    def in_force(self, principal: Principal, standing: ConsentSettings) -> InForce:
        """Return the settings in force in a person's conversation with the settings `standing`."""
        ceiling, extends = self.ceiling_of(principal), principal.role is Role.OWNER
        return in_force(self.configured, standing.person, standing.thread, ceiling, extends=extends)

    def ceiling_of(self, principal: Principal) -> ApprovalSettings:
        """Return the loosest settings this person may have."""
        return self._admin.current().ceiling_of(principal, self.configured)

    def too_loose(
        self, principal: Principal, wanted: ApprovalSettings, was: ApprovalSettings
    ) -> tuple[str, object] | None:
        """Return the first setting that would become looser than this person may have, with the loosest."""
        ceiling = self.ceiling_of(principal)
        for name in SETTINGS:
            if getattr(wanted, name) != getattr(was, name) and looser(wanted, ceiling, name):
                return name, getattr(ceiling, name)
        return None

    def unknown_tool(self, wanted: ApprovalSettings, was: ApprovalSettings) -> str | None:
        """Return a tool that is named anew and that this hub doesn't have."""
        known = set(self._tools())
        return min(_tools_named(wanted) - _tools_named(was) - known, default=None) if known else None

    def policy(self, preset: Preset | None = None) -> Policy:
        """Return the policy for calls under that preset (None: the configured one).

        Called from several threads. After a change, the first caller rebuilds all policies; at worst
        two callers do.
        """
        policies, admin = self._by_preset, self._admin.current()
        if policies[self.configured.preset].admin is not admin:
            self._by_preset = policies = _by_preset(self._configured, admin)
            if self._watcher is not None:
                self._watcher()
        return policies[self.configured.preset if preset is None else preset]

    def policy_for(self, principal: Principal, standing: ConsentSettings) -> Policy:
        """Return the policy for calls of this person, in a conversation with the settings `standing`."""
        held = self.in_force(principal, standing)
        policy = self.policy(held.preset)
        if (held.whitelist, held.dangerous_tools) == (policy.whitelist, policy.dangerous_tools):
            return policy
        return replace(policy, whitelist=held.whitelist, dangerous_tools=held.dangerous_tools)


def _tools_named(settings: ApprovalSettings) -> set[str]:
    named = (settings.whitelist, settings.dangerous_tools, settings.tool_timeouts)
    return {tool for names in named for tool in names or ()}


def _by_preset(policy: Policy, admin: AdminPolicy) -> dict[Preset, Policy]:
    return {preset: replace(policy, preset=preset, admin=admin) for preset in Preset}
