"""May this call run? One pure function, the same for chat, jobs, routines and containers.

The first rule that matches decides:
1. unknown tool (one made ready for others is unknown), disabled by the operator's policy (one that cannot be
   read disables every tool) or by the person, not in the role's list: deny. For those a tool was made ready
   for, it is in the list, unless they are guests;
2. a hard safety block: deny, in every mode; only then is a tool outside a member's list put to an owner,
   because nobody should be asked for what would be refused anyway;
3. autonomous: denylisted, or not in every scope: AUTONOMOUS_UNAVAILABLE;
4. the requirement is the highest of the tool's own, what the arguments make of it, and `ask` where a
   dangerous operation is named;
5. the mode: the person's own setting, then the preset's table; or the scope's grants.

What can never run is hidden from the model by the same rules (`never_runs`).

Dangerous operations are looked for as whole words in the tool's name, split at everything that is not a
letter or digit, and in the `operation` argument, split likewise; never in free text, where they mean
nothing. They raise `never` to `ask` and nothing else.

A dangerous tool that takes a `method` is dangerous with another method than GET, and with a GET whose
arguments raise its requirement: one that may carry credentials.
"""

import re
from typing import assert_never

from core.approvals import Preset
from core.consent.access import Access
from core.consent.facts import (
    Allow,
    Ask,
    Autonomous,
    CallFacts,
    Decision,
    Deny,
    DenyReason,
    Interactive,
    Mode,
    Policy,
    ToolFacts,
)
from core.consent.grants import Wanted, covered, granted, holds, needs_of
from core.prompts import ToolSetting
from core.tool import Requirement, Risk
from core.users import Principal, Role

_ORDER = {Requirement.NEVER: 0, Requirement.ASK: 1, Requirement.ALWAYS_ASK: 2}
_NOT_IN_A_WORD = re.compile(r"[^a-z0-9]+")
_HARMLESS_METHOD = "GET"
_ALLOW = Allow()
_UNKNOWN = Deny(DenyReason.UNKNOWN_TOOL, "There is no such tool.")


def decide(call: CallFacts, principal: Principal, mode: Mode, policy: Policy) -> Decision:
    """Judge a call; see the module's text for the rules."""
    tool = call.tool
    if tool is None:
        return _UNKNOWN
    access = _access(tool, principal, policy, call.setting)
    if isinstance(access, Deny):
        return access
    if call.risk is not None and call.risk.blocked is not None:
        return Deny(DenyReason.BLOCKED, f"{tool.name} is refused: {call.risk.blocked}")
    match mode:
        case Interactive():
            return _interactive(call, tool, principal, policy, access)
        case Autonomous():
            return _autonomous(call, tool, principal, mode, policy, access)
        case _:
            assert_never(mode)


def never_runs(
    tool: ToolFacts, principal: Principal, mode: Mode, policy: Policy, setting: ToolSetting | None
) -> bool:
    """Whether no call of the tool can run, whatever its arguments and whatever anybody says."""
    access = _access(tool, principal, policy, setting)
    if isinstance(access, Deny):
        return True
    match mode:
        case Interactive():
            return False
        case Autonomous():
            requirement = requirement_of(CallFacts(tool, "", 0), tool, policy)
            return _out_of_scope(tool, requirement, mode, policy, access) is not None
        case _:
            assert_never(mode)


def _access(
    tool: ToolFacts, principal: Principal, policy: Policy, setting: ToolSetting | None
) -> Access | Deny:
    """The first rule, which looks at no argument."""
    admin = policy.admin
    if admin.unreadable is not None:
        return Deny(DenyReason.POLICY_UNREADABLE, "No tool is available: the policy cannot be read.")
    if tool.name in admin.disabled or tool.name in admin.disabled_for.get(principal.user_id, ()):
        return Deny(DenyReason.DISABLED, f"{tool.name} is disabled.")
    if setting is ToolSetting.DISABLED:
        return Deny(DenyReason.DISABLED, f"{tool.name} is disabled.")
    if tool.users is not None:
        if principal.user_id not in tool.users:
            return _UNKNOWN
        if principal.role is not Role.GUEST:
            return Access.ALLOWED
    access = policy.roles.access(principal.role, tool.name, tool.data)
    if access is Access.REFUSED:
        return Deny(DenyReason.NOT_IN_ROLE, f"{tool.name} is not available to a {principal.role}.")
    return access


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
    pattern = _nameable(call.risk)
    because = call.risk.reason if call.risk is not None else ""
    if access is Access.ASK_OWNER:
        reason = because or f"{tool.name} needs an owner's word."
        asked = max(requirement, Requirement.ASK, key=_ORDER.__getitem__)
        return Ask(reason, False, pattern, owner_only=True, requirement=asked)
    if requirement is Requirement.ALWAYS_ASK:
        reason = because or f"{tool.name} always needs a person's word."
        return Ask(reason, False, pattern, requirement=Requirement.ALWAYS_ASK)
    if call.setting is ToolSetting.ASK_EACH_TIME:
        return Ask(because or f"You want to be asked each time about {tool.name}.", False, pattern)
    wanted = _wanted(call, tool, principal)
    granted_only = _granted_only(call)
    if call.setting is ToolSetting.ALWAYS_ALLOW and not granted_only:
        return _ALLOW
    if policy.preset is Preset.MANUAL:
        return Ask(because or "You want to be asked about every tool.", False, pattern)
    by_preset = not granted_only and _runs_by_preset(call, tool, policy)
    if by_preset or granted(call.grants, wanted, call.now):
        return _ALLOW
    nameable = pattern is not None or not tool.rated
    return Ask(because or f"{tool.name} was not granted yet.", nameable, pattern)


def _nameable(risk: Risk | None) -> str | None:
    """What "always" would record. Several patterns stand a line each, so one alone must be a single line."""
    if risk is None or risk.pattern is None or (not risk.needs and "\n" in risk.pattern):
        return None
    return risk.pattern


def _granted_only(call: CallFacts) -> bool:
    """Whether nothing but a grant lets it run unasked: it runs files, and their content may be anybody's."""
    return call.risk is not None and any(need.granted_only for need in call.risk.needs)


def _wanted(call: CallFacts, tool: ToolFacts, principal: Principal) -> Wanted:
    return Wanted(tool.name, tool.rated, needs_of(call.risk), principal.user_id, call.thread_id)


def _runs_by_preset(call: CallFacts, tool: ToolFacts, policy: Policy) -> bool:
    """Whether a call that is not `always_ask` needs no grant under `whitelist`, `auto_loop`, `auto`."""
    if is_dangerous(call, tool, policy):
        return False
    return policy.preset is not Preset.WHITELIST or tool.name in policy.whitelist


def _autonomous(
    call: CallFacts, tool: ToolFacts, principal: Principal, mode: Autonomous, policy: Policy, access: Access
) -> Decision:
    requirement = requirement_of(call, tool, policy)
    why = _out_of_scope(tool, requirement, mode, policy, access)
    needs_grant = requirement is Requirement.ALWAYS_ASK or _granted_only(call)
    if why is None and needs_grant and not _given(call, tool, mode, principal):
        missing = tuple(need.name for need in call.risk.needs) if call.risk is not None else ()
        return Deny(DenyReason.AUTONOMOUS_UNAVAILABLE, _ungranted(tool, missing), missing)
    if why is None:
        return _ALLOW
    text = f"{tool.name} is not available to a run without a person: {why}."
    return Deny(DenyReason.AUTONOMOUS_UNAVAILABLE, text)


def _ungranted(tool: ToolFacts, missing: tuple[str, ...]) -> str:
    """Why a call that needs a person's word has none, and how to give it beforehand."""
    text = f"{tool.name} is not available to a run without a person: it needs a person's word."
    if not missing:
        return text
    return f"{text} Its owner can allow exactly this for the routine or job: {'; '.join(missing)}"


def _out_of_scope(
    tool: ToolFacts, requirement: Requirement, mode: Autonomous, policy: Policy, access: Access
) -> str | None:
    if access is Access.ASK_OWNER:
        return "it needs an owner's word"
    if tool.name in policy.denylist:
        return "it is on the denylist"
    if not mode.scopes and requirement is not Requirement.NEVER:
        return "the run has no scope"
    if not all(tool.name in scope for scope in mode.scopes):
        return "it is not in the run's scope"
    return None


def _given(call: CallFacts, tool: ToolFacts, mode: Autonomous, principal: Principal) -> bool:
    """Whether grants given beforehand cover the call: the run's own, and for what has needs its owner's too;
    what must be granted exactly is granted to the run alone."""
    needs = needs_of(call.risk)
    patterns = [grant.pattern for grant in mode.grants if grant.tool == tool.name]
    if call.risk is not None and call.risk.needs and not any(need.exactly for need in needs):
        wanted = _wanted(call, tool, principal)
        patterns += [grant.pattern or "" for grant in call.grants if holds(grant, wanted, call.now)]
    return covered(patterns, needs, rated=True)
