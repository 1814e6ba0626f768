"""May this call run? One pure function, the same for chat, jobs, routines and containers.

The first rule that matches decides:
1. unknown tool, disabled by the admin or by the person, not in the role's list: deny;
2. a hard safety block: deny, in every mode; only then is a tool outside a member's list put to an owner,
   because nobody should be asked for what would be refused anyway;
3. autonomous: denylisted, or not in every scope: AUTONOMOUS_UNAVAILABLE;
4. the requirement is the highest of the tool's own, what the arguments make of it, and `ask` where a
   dangerous operation is named;
5. the mode: the person's own setting, then the preset's table; or the scope's grants.

Dangerous operations are looked for as whole words in the tool's name, split at everything that is not a
letter or digit, and in the `operation` argument, split likewise; never in free text, where they mean
nothing. They raise `never` to `ask` and nothing else.

A dangerous tool that takes a `method` is dangerous with another method than GET, and with a GET whose
arguments raise its requirement: one that may carry credentials.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import assert_never

from core.consent.access import Access, RolePolicy
from core.consent.grants import Wanted, granted, pattern_fits
from core.prompts import Grant, Option, ToolSetting
from core.tool import Data, Requirement, Risk
from core.users import Principal

DANGEROUS_TOOLS = frozenset({"shell", "write_file", "apply_patch", "delete_file", "http"})
DANGEROUS_OPERATIONS = frozenset({"delete", "write", "execute", "modify"})

_ORDER = {Requirement.NEVER: 0, Requirement.ASK: 1, Requirement.ALWAYS_ASK: 2}
_NOT_IN_A_WORD = re.compile(r"[^a-z0-9]+")
_HARMLESS_METHOD = "GET"


class Preset(StrEnum):
    """How much a person wants to be asked."""

    MANUAL = "manual"
    WHITELIST = "whitelist"
    AUTO_LOOP = "auto_loop"
    AUTO = "auto"


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """What is judged of a tool. `rated`: its arguments carry risk, so grants of it need a pattern."""

    name: str
    requirement: Requirement
    data: Data
    rated: bool = False


@dataclass(frozen=True, slots=True)
class CallFacts:
    """A call to be judged. `tool` None: there is none of that name.

    `risk`: what the tool says of the arguments. `operation`, `method`: the arguments of that name, if
    they are texts. `grants`: the principal's recorded ones. `setting`: the principal's own, if any.
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
    """What the operator laid down; `preset` is the one in force for the thread.

    `whitelist`: the tools preset `whitelist` runs; `denylist`: what no autonomous run may call;
    `disabled`: hidden from the model and refused here.
    """

    preset: Preset = Preset.AUTO_LOOP
    whitelist: frozenset[str] = frozenset()
    dangerous_tools: frozenset[str] = DANGEROUS_TOOLS
    dangerous_operations: frozenset[str] = DANGEROUS_OPERATIONS
    roles: RolePolicy = field(default_factory=RolePolicy)
    disabled: frozenset[str] = frozenset()
    denylist: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Interactive:
    """A person waits for the answer and can be asked."""


@dataclass(frozen=True, slots=True)
class ScopeGrant:
    """What an autonomous run was explicitly given; patterns as in consent.grants, but never None."""

    tool: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Autonomous:
    """Nobody can be asked. `scopes`: the tool sets fixed at dispatch, of the job and of its worker: every
    one must contain the tool. No scope at all leaves only tools that never need consent."""

    scopes: tuple[frozenset[str], ...] = ()
    grants: tuple[ScopeGrant, ...] = ()


Mode = Interactive | Autonomous


class DenyReason(StrEnum):
    """Why a call is refused."""

    UNKNOWN_TOOL = "unknown_tool"
    DISABLED = "disabled"
    NOT_IN_ROLE = "not_in_role"
    BLOCKED = "blocked"
    AUTONOMOUS_UNAVAILABLE = "autonomous_unavailable"


@dataclass(frozen=True, slots=True)
class Allow:
    """Run it (within the loop's budget, which is judged elsewhere)."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A person must agree.

    `allow_always`: "always" may be offered, and would be a grant of `pattern` (None: the whole tool).
    `owner_only`: the requester's role does not hold the tool; only an owner may agree.
    """

    reason: str
    allow_always: bool
    pattern: str | None = None
    owner_only: bool = False

    def options(self, quorum: int) -> tuple[Option, ...]:
        """What is offered to those who are asked; one person alone cannot speak for several for good."""
        always = (Option.ALWAYS,) if self.allow_always and quorum == 1 else ()
        return (Option.APPROVE, Option.DENY, *always)


@dataclass(frozen=True, slots=True)
class Deny:
    """It may not run; `text` is for the model and the person."""

    reason: DenyReason
    text: str


Decision = Allow | Ask | Deny

_ALLOW = Allow()


def decide(call: CallFacts, principal: Principal, mode: Mode, policy: Policy) -> Decision:
    """Judge a call; see the module's text for the rules."""
    tool = call.tool
    if tool is None:
        return Deny(DenyReason.UNKNOWN_TOOL, "There is no such tool.")
    if tool.name in policy.disabled or call.setting is ToolSetting.DISABLED:
        return Deny(DenyReason.DISABLED, f"{tool.name} is disabled.")
    access = policy.roles.access(principal.role, tool.name, tool.data)
    if access is Access.REFUSED:
        return Deny(DenyReason.NOT_IN_ROLE, f"{tool.name} is not available to a {principal.role}.")
    if call.risk is not None and call.risk.blocked is not None:
        return Deny(DenyReason.BLOCKED, f"{tool.name} is refused: {call.risk.blocked}")
    match mode:
        case Interactive():
            return _interactive(call, tool, principal, policy, access)
        case Autonomous():
            return _autonomous(call, tool, mode, policy, access)
        case _:
            assert_never(mode)


def requirement_of(call: CallFacts, tool: ToolFacts, policy: Policy) -> Requirement:
    """The tool's own requirement, raised by its arguments and by dangerous operations."""
    requirement = tool.requirement
    if call.risk is not None and _ORDER[call.risk.requirement] > _ORDER[requirement]:
        requirement = call.risk.requirement
    if requirement is Requirement.NEVER and _names_dangerous_operation(call, tool, policy):
        return Requirement.ASK
    return requirement


def is_dangerous(call: CallFacts, tool: ToolFacts, policy: Policy) -> bool:
    """Whether the tool is on the list of those that ask until they are granted."""
    if tool.name not in policy.dangerous_tools:
        return False
    reads = call.method is not None and call.method.upper() == _HARMLESS_METHOD
    raised = call.risk is not None and _ORDER[call.risk.requirement] > _ORDER[tool.requirement]
    return raised or not reads


def _names_dangerous_operation(call: CallFacts, tool: ToolFacts, policy: Policy) -> bool:
    words = _NOT_IN_A_WORD.split(f"{tool.name} {call.operation}".lower())
    return not policy.dangerous_operations.isdisjoint(words)


def _interactive(
    call: CallFacts, tool: ToolFacts, principal: Principal, policy: Policy, access: Access
) -> Decision:
    requirement = requirement_of(call, tool, policy)
    pattern = call.risk.pattern if call.risk is not None else None
    because = call.risk.reason if call.risk is not None else ""
    if access is Access.ASK_OWNER:
        return Ask(because or f"{tool.name} needs an owner's word.", False, pattern, owner_only=True)
    if requirement is Requirement.ALWAYS_ASK:
        return Ask(because or f"{tool.name} always needs a person's word.", False, pattern)
    if call.setting is ToolSetting.ASK_EACH_TIME:
        return Ask(because or f"You want to be asked each time about {tool.name}.", False, pattern)
    if call.setting is ToolSetting.ALWAYS_ALLOW:
        return _ALLOW
    if policy.preset is Preset.MANUAL:
        return Ask(because or "You want to be asked about every tool.", False, pattern)
    wanted = Wanted(tool.name, tool.rated, pattern, principal.user_id, call.thread_id)
    if _runs_by_preset(call, tool, policy) or granted(call.grants, wanted, call.now):
        return _ALLOW
    nameable = pattern is not None or not tool.rated
    return Ask(because or f"{tool.name} was not granted yet.", nameable, pattern)


def _runs_by_preset(call: CallFacts, tool: ToolFacts, policy: Policy) -> bool:
    """Whether a call that is not `always_ask` needs no grant under `whitelist`, `auto_loop`, `auto`."""
    if is_dangerous(call, tool, policy):
        return False
    return policy.preset is not Preset.WHITELIST or tool.name in policy.whitelist


def _autonomous(
    call: CallFacts, tool: ToolFacts, mode: Autonomous, policy: Policy, access: Access
) -> Decision:
    if access is Access.ASK_OWNER:
        return _unavailable(tool, "it needs an owner's word")
    if tool.name in policy.denylist:
        return _unavailable(tool, "it is on the denylist")
    requirement = requirement_of(call, tool, policy)
    if not mode.scopes and requirement is not Requirement.NEVER:
        return _unavailable(tool, "the run has no scope")
    if not all(tool.name in scope for scope in mode.scopes):
        return _unavailable(tool, "it is not in the run's scope")
    if requirement is Requirement.ALWAYS_ASK and not _given(call, tool, mode):
        return _unavailable(tool, "it needs a person's word")
    return _ALLOW


def _given(call: CallFacts, tool: ToolFacts, mode: Autonomous) -> bool:
    name = call.risk.pattern if call.risk is not None else None
    return any(
        grant.tool == tool.name and pattern_fits(grant.pattern, name, rated=True) for grant in mode.grants
    )


def _unavailable(tool: ToolFacts, why: str) -> Deny:
    text = f"{tool.name} is not available to a run without a person: {why}."
    return Deny(DenyReason.AUTONOMOUS_UNAVAILABLE, text)
