"""The input, the rules and the results of `consent.decide`."""

from dataclasses import field, replace
from enum import StrEnum

from core.approvals import AdminPolicy, Preset
from core.consent.roles import RolePolicy
from core.gates import Grant, Option, ToolSetting
from core.lazy_dataclass import dataclass
from core.tool import Data, Requirement, Risk

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
