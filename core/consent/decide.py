"""The decision whether a call may run: one pure function, the same for chat, jobs, routines and
containers.

The first rule that matches decides:
1. Deny an unknown tool (one made ready for others is unknown; in an unattended run it is
AUTONOMOUS_UNAVAILABLE), one disabled by the admin policy
(an unreadable policy disables every tool) or by the person, and one not in the role's list. For
the users a tool was made ready for, it is in the list, unless they are guests.
2. A hard safety block: deny, in every mode. Only after this is a tool outside a member's list
put to an owner, so that no person is asked for a call that would be refused anyway.
3. A subtask: denylisted, or not among its tools: AUTONOMOUS_UNAVAILABLE. Autonomous: denylisted, outside
the skills, or neither in every scope nor granted to the run: the same. Interactive: not among the tools that
the run's active skills leave it: deny.
4. The requirement is the highest of the tool's own, the one its arguments raise it to, and
`ask` for a dangerous operation.
5. The mode: the person's own setting, then the preset's table; or the scope's grants.

The same rules hide tools from the model that can never run (`never_runs`).

Dangerous operations are matched as whole words in the tool's name, split at everything that is
not a letter or digit, and in the `operation` argument, split likewise. They are never matched
in free text, where they mean nothing. They raise `never` to `ask` and nothing else.

A dangerous tool that takes a `method` is dangerous with another method than GET, and with a GET
whose arguments raise its requirement: one that may carry credentials.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, assert_never

from core.approvals import Preset
from core.consent.roles import Access
from core.consent.rules import (
    DELEGATE,
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
from core.gates import Grant, GrantScope, ToolSetting
from core.lazy import dataclass
from core.tool import FAILURES_UNTIL_LEFT_OUT, Need, Requirement, Risk
from core.users import Principal, Role

# Grants: the patterns of calls that a person always allows.
#
# A tool that rates its arguments names the needs of each call (see `core.tool.Risk`). A grant's
# pattern is one of:
# - the same text: covers exactly that name;
# - the name of a row, if the need has one: covers all of that row;
# - `git *`: covers `git` and every name that begins with `git` and a space;
# - `*`: covers every call of the tool, also those without a name;
# - None: the whole tool, if arguments carry no risk; it never covers a call of a tool that rates
#   them.
# A call with several needs is covered if each of them is. A need marked `exactly` is covered by its
# own name alone, and by no pattern.

ANY = "*"
_ANYTHING_AFTER = " *"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call as grants see it.

    `rated`: its tool rates arguments.
    `needs`: the names that grants must cover, () if the call has none."""

    tool: str
    rated: bool
    needs: tuple[Need, ...]
    user_id: str
    thread_id: str


def covering(grants: Iterable[Grant], wanted: Wanted, now: int) -> tuple[Grant, ...]:
    """Return grants that together cover the call at `now` (microseconds UTC), one per need; () if none do."""
    held = [grant for grant in grants if holds(grant, wanted, now)]
    if not covered([grant.pattern for grant in held], wanted.needs, rated=wanted.rated):
        return ()
    if not (wanted.rated and wanted.needs):
        whole = ANY if wanted.rated else None
        return (next(grant for grant in held if grant.pattern == whole),)
    used = (next(g for g in held if pattern_fits(g.pattern, need)) for need in wanted.needs)
    return tuple(dict.fromkeys(used))


def holds(grant: Grant, wanted: Wanted, now: int) -> bool:
    """Return True if a grant applies to the call: same person, same tool, in scope, not expired."""
    return (
        grant.tool == wanted.tool
        and grant.user_id == wanted.user_id
        and (grant.scope is GrantScope.USER or grant.thread_id == wanted.thread_id)
        and (grant.expires_at is None or now < grant.expires_at)
    )


def covered(patterns: Sequence[str | None], needs: Sequence[Need], *, rated: bool) -> bool:
    """Return True if each need is covered by one of the patterns; see the comment above."""
    if not rated:
        return None in patterns
    if not needs:
        return ANY in patterns
    return all(any(pattern_fits(pattern, need) for pattern in patterns) for need in needs)


def needs_of(risk: Risk | None) -> tuple[Need, ...]:
    """Return the needs that a call's grants must cover."""
    if risk is None:
        return ()
    return risk.needs or (() if risk.pattern is None else (Need(risk.pattern),))


def pattern_fits(pattern: str | None, need: Need) -> bool:
    """Return True if a grant's pattern covers the need of a call whose arguments carry risk."""
    if pattern is None:
        return False
    if need.exactly:
        return pattern == need.name
    if pattern in (ANY, need.name, need.row):
        return True
    if pattern.endswith(_ANYTHING_AFTER):
        beginning = pattern[: -len(_ANYTHING_AFTER)]
        return need.name == beginning or need.name.startswith(f"{beginning} ")
    return False


_ORDER = {Requirement.NEVER: 0, Requirement.ASK: 1, Requirement.ALWAYS_ASK: 2}
_NOT_IN_A_WORD = re.compile(r"[^a-z0-9]+")
_HARMLESS_METHOD = "GET"
_ALLOW = Allow()
_DENYLISTED = "it is on the denylist"
_NOT_OF_RUN = "it is not in the run's scope"
_NOT_OF_JOB = "it is not in the job's scope, which was fixed when the job was created"
_NOT_OF_WORKER = "the job's scope has it, but the policy in force does not give it to the worker"
_NOT_OF_EITHER = "it is neither in the job's scope nor in what the policy gives the worker"
_UNKNOWN = Deny(DenyReason.UNKNOWN_TOOL, "No such tool.")


def decide(call: CallFacts, principal: Principal, mode: Mode, policy: Policy) -> Decision:
    """Judge a call; see the module's text for the rules."""
    tool = call.tool
    if tool is None:
        return _UNKNOWN
    access = _access(tool, principal, policy, call.setting)
    if access is _UNKNOWN and isinstance(mode, Autonomous):
        return not_active(tool.name)
    if isinstance(access, Deny):
        return access
    if call.risk is not None and call.risk.blocked is not None:
        return Deny(DenyReason.BLOCKED, f"{tool.name} is blocked: {call.risk.blocked}")
    if (why := _not_of_subtask(tool, mode, policy)) is not None:
        text = f"{tool.name} is not available to a subtask: {why}."
        return Deny(DenyReason.AUTONOMOUS_UNAVAILABLE, text)
    match mode:
        case Interactive(only):
            if only is not None and tool.name not in only:
                return Deny(DenyReason.NOT_IN_SKILL, f"{tool.name} can't be used with the active skills.")
            return _interactive(call, tool, principal, policy, access)
        case Autonomous():
            return _autonomous(call, tool, principal, mode, policy, access)
        case _:
            assert_never(mode)


def not_active(tool: str) -> Deny:
    """Refuse an unattended call of a tool that its owner has not: of an extension that is not active, or of
    somebody else's, in the same words."""
    text = f"{tool} is not available to an unattended run: no extension that is active for its owner has it."
    return Deny(DenyReason.AUTONOMOUS_UNAVAILABLE, text)


def never_runs(
    tool: ToolFacts, principal: Principal, mode: Mode, policy: Policy, setting: ToolSetting | None
) -> bool:
    """Return True if no call of the tool can run, whatever its arguments and any approval."""
    access = _access(tool, principal, policy, setting)
    if isinstance(access, Deny) or _not_of_subtask(tool, mode, policy) is not None:
        return True
    match mode:
        case Interactive(only):
            return only is not None and tool.name not in only
        case Autonomous():
            requirement = requirement_of(CallFacts(tool, "", 0), tool, policy)
            if _barred(tool, requirement, mode, policy, access) is not None:
                return True
            outside = _outside_scope(tool, mode) is not None
            return outside and all(grant.tool != tool.name for grant in mode.grants)
        case _:
            assert_never(mode)


def _not_of_subtask(tool: ToolFacts, mode: Mode, policy: Policy) -> str | None:
    """Return why a subtask does not have the tool; None if the run is none, or it has it."""
    if mode.subtask is None:
        return None
    if tool.name == DELEGATE:
        return "it can't have subtasks of its own"
    if tool.name in policy.denylist:
        return _DENYLISTED
    return None if tool.name in mode.subtask else "it is not among the tools that it was given"


def _access(
    tool: ToolFacts, principal: Principal, policy: Policy, setting: ToolSetting | None
) -> Access | Deny:
    """Apply the first rule, which ignores the arguments."""
    admin = policy.admin
    if admin.unreadable is not None:
        return Deny(DenyReason.POLICY_UNREADABLE, "No tool is available: the policy file can't be read.")
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
    """Return the tool's own requirement, raised by its arguments and by dangerous operations."""
    requirement = tool.requirement
    if call.risk is not None and _ORDER[call.risk.requirement] > _ORDER[requirement]:
        requirement = call.risk.requirement
    if requirement is Requirement.NEVER and _names_dangerous_operation(call, tool, policy):
        return Requirement.ASK
    return requirement


def is_dangerous(call: CallFacts, tool: ToolFacts, policy: Policy) -> bool:
    """Return True if the call is of a dangerous tool, which asks until it is granted."""
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
        reason = because or f"{tool.name} needs an owner's approval."
        asked = max(requirement, Requirement.ASK, key=_ORDER.__getitem__)
        return Ask(reason, False, pattern, owner_only=True, requirement=asked)
    if requirement is Requirement.ALWAYS_ASK:
        reason = because or f"{tool.name} always needs approval."
        by_owner = call.risk is not None and call.risk.by_owner
        return Ask(reason, False, pattern, owner_only=by_owner, requirement=Requirement.ALWAYS_ASK)
    if call.setting is ToolSetting.ASK_EACH_TIME:
        return Ask(because or f"{tool.name} is set to ask each time.", False, pattern)
    wanted = _wanted(call, tool, principal)
    granted_only = _granted_only(call)
    if call.setting is ToolSetting.ALWAYS_ALLOW and not granted_only:
        return _ALLOW
    if policy.preset is Preset.MANUAL:
        return Ask(because or "Every tool call needs approval here.", False, pattern)
    if not granted_only and _runs_by_preset(call, tool, policy):
        return _ALLOW
    if used := covering(call.grants, wanted, call.now):
        return Allow(used)
    nameable = pattern is not None or not tool.rated
    return Ask(because or f"There is no grant for this call of {tool.name}.", nameable, pattern)


def _nameable(risk: Risk | None) -> str | None:
    """Return the pattern that "always" would record. Patterns are separated by newlines, so a single
    one must not contain any."""
    if risk is None or risk.pattern is None or (not risk.needs and "\n" in risk.pattern):
        return None
    return risk.pattern


def _granted_only(call: CallFacts) -> bool:
    """Return True if only a grant lets the call run unasked: it runs files, whose content anyone may
    have written."""
    return call.risk is not None and any(need.granted_only for need in call.risk.needs)


def _wanted(call: CallFacts, tool: ToolFacts, principal: Principal) -> Wanted:
    return Wanted(tool.name, tool.rated, needs_of(call.risk), principal.user_id, call.thread_id)


def _runs_by_preset(call: CallFacts, tool: ToolFacts, policy: Policy) -> bool:
    """Return True if a call that is not `always_ask` needs no grant under `whitelist`, `auto_loop`,
    `auto`."""
    if is_dangerous(call, tool, policy):
        return False
    return policy.preset is not Preset.WHITELIST or tool.name in policy.whitelist


def _autonomous(
    call: CallFacts, tool: ToolFacts, principal: Principal, mode: Autonomous, policy: Policy, access: Access
) -> Decision:
    requirement = requirement_of(call, tool, policy)
    if (why := _barred(tool, requirement, mode, policy, access)) is not None:
        return Deny(
            DenyReason.AUTONOMOUS_UNAVAILABLE, f"{tool.name} is not available to an unattended run: {why}."
        )
    outside = _outside_scope(tool, mode)
    needs_grant = outside is not None or requirement is Requirement.ALWAYS_ASK or _granted_only(call)
    if not needs_grant or _given(call, tool, mode, principal):
        return _ALLOW
    missing = _exactly(call, tool)
    return Deny(DenyReason.AUTONOMOUS_UNAVAILABLE, _ungranted(tool, outside, missing), missing)


def _exactly(call: CallFacts, tool: ToolFacts) -> tuple[str, ...]:
    """Return the patterns of grants that cover this call and no wider one; () if there are none.

    A tool that always asks is never granted as a whole."""
    if not tool.rated:
        return () if tool.requirement is Requirement.ALWAYS_ASK else (ANY,)
    needs = needs_of(call.risk)
    if any(not need.exactly and _is_wide(need.name) for need in needs):
        return ()
    return tuple(need.name for need in needs)


def _is_wide(pattern: str) -> bool:
    return pattern == ANY or pattern.endswith(_ANYTHING_AFTER)


def _ungranted(tool: ToolFacts, outside: str | None, missing: tuple[str, ...]) -> str:
    """Return why a call that no grant covers does not run, and what the owner can grant in advance."""
    why = outside or "it needs a person's approval"
    text = f"{tool.name} is not available to an unattended run: {why}."
    if missing in {(), (ANY,)}:
        return text
    return f"{text} The owner of the routine or job can grant exactly this: {'; '.join(missing)}"


def _barred(
    tool: ToolFacts, requirement: Requirement, mode: Autonomous, policy: Policy, access: Access
) -> str | None:
    """Return why no grant can let an unattended run call the tool."""
    if access is Access.ASK_OWNER:
        return "it needs an owner's approval"
    if tool.name in policy.denylist:
        return _DENYLISTED
    if tool.name in mode.left_out:
        return (
            f"it failed {FAILURES_UNTIL_LEFT_OUT} times in a row; the hub's owner was told, and can reset it"
        )
    if not mode.scopes and requirement is not Requirement.NEVER:
        return "the run has no scope"
    if mode.only is not None and tool.name not in mode.only:
        return "it can't be used with the active skills"
    if mode.worker is None or tool.name in mode.worker:
        return None
    return _NOT_OF_WORKER if _outside_scope(tool, mode) is None else _NOT_OF_EITHER


def _outside_scope(tool: ToolFacts, mode: Autonomous) -> str | None:
    """Return that the run's scope does not have the tool; then only a grant to the run itself lets a call
    of it run."""
    if all(tool.name in scope for scope in mode.scopes):
        return None
    return _NOT_OF_RUN if mode.worker is None else _NOT_OF_JOB


def _given(call: CallFacts, tool: ToolFacts, mode: Autonomous, principal: Principal) -> bool:
    """Return True if advance grants cover the call: the run's own, and for a call with needs also its
    owner's.

    A need that must be granted exactly is covered by the run's grants alone, and so is a call of a tool
    outside the scope, by grants of exactly this."""
    needs = needs_of(call.risk)
    patterns: list[str | None] = [grant.pattern for grant in mode.grants if grant.tool == tool.name]
    if _outside_scope(tool, mode) is not None:
        exactly = _exactly(call, tool)
        return exactly != () and all(pattern in patterns for pattern in exactly)
    if call.risk is not None and call.risk.needs and not any(need.exactly for need in needs):
        wanted = _wanted(call, tool, principal)
        patterns += [grant.pattern for grant in call.grants if holds(grant, wanted, call.now)]
    return covered(patterns, needs, rated=True)


# The call a person approved, as one keyed hash: any change of the call voids the approval.

_PURPOSE = "hubbub call binding 1"
"""A prefix that separates these hashes from all others made with the same key."""


def binding_hash(
    key: bytes,
    *,
    tool: str,
    version: int,
    arguments: Mapping[str, Any],
    principal: str,
    thread_id: str,
    working_dir: str,
    file_digests: Mapping[str, str] | None = None,
) -> str:
    """Return an HMAC-SHA256, 64 hexadecimal digits, over the canonical JSON of all parameters.

    It is keyed because arguments may be secret and short: without the key the hash reveals nothing
    about them.
    `arguments`: the final, validated ones (plain JSON values; the order of keys is irrelevant).
    `principal`: the user id the call is made for.
    `file_digests`: path to digest of each file the call will change. Raises TypeError or ValueError
    on values JSON can't express.
    """
    said = {
        "purpose": _PURPOSE,
        "tool": tool,
        "version": version,
        "arguments": dict(arguments),
        "principal": principal,
        "thread": thread_id,
        "dir": working_dir,
        "files": dict(file_digests or {}),
    }
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hmac.new(key, text.encode("ascii"), hashlib.sha256).hexdigest()


def same_binding(one: str, other: str) -> bool:
    """Return True if two hashes are equal, in a time that does not reveal where they differ."""
    return hmac.compare_digest(one.encode(), other.encode())
