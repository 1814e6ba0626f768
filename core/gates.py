"""Values of consent: gates that wait for people, the votes on them, and people's grants."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import assert_never

from core.approvals import UNSAID, ApprovalSettings
from core.lazy import dataclass
from core.users import Role


class GateKind(StrEnum):
    """The kind of a gate. CHANGES: the files that a job in a container changed. Its turn is the job's run,
    which has ended; its binding is the digest of the changes and of the files as they were. CREDENTIAL: a
    secret that such a job asks for, whose name is the pattern. Its turn is the job's run, which continues."""

    APPROVAL = "approval"
    QUESTION = "question"
    UNKNOWN_OUTCOME = "unknown_outcome"
    BUDGET = "budget"
    CONTINUE = "continue"
    MENU = "menu"
    AUTH = "auth"
    CHANGES = "changes"
    CREDENTIAL = "credential"
    SETTINGS = "settings"


class Option(StrEnum):
    """An answer with a meaning to the hub itself."""

    APPROVE = "approve"
    DENY = "deny"
    ONE_BY_ONE = "one_by_one"
    ALWAYS = "always"
    SESSION = "session"
    HAPPENED = "happened"
    RETRY = "retry"
    SKIP = "skip"
    CONTINUE = "continue"
    STOP = "stop"
    SIGNED_IN = "signed_in"
    NOT_SIGNED_IN = "not_signed_in"


@dataclass(frozen=True, slots=True)
class Chose:
    """A choice from a question's own answers, by position; `label` is its text."""

    index: int
    label: str


@dataclass(frozen=True, slots=True)
class Wrote:
    """An answer to a question in the person's own words."""

    text: str


Answer = Option | Chose | Wrote


@dataclass(frozen=True, slots=True)
class Options:
    """The answers of a gate that people decide, in display order."""

    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class Replies:
    """The answers of a question, in display order; `free_text`: any other words count, too.

    `secret`: the words are a credential, which goes into the vault under that name and is stored
    nowhere else.
    """

    labels: tuple[str, ...]
    free_text: bool
    secret: str | None = None


Offer = Options | Replies


@dataclass(frozen=True, slots=True)
class AskedCall:
    """One of several calls of a joint gate. `reason`: the reason for asking; `detail`: its complete
    arguments as people see them; `binding`: the keyed hash of exactly that, see consent.binding."""

    call_id: str
    tool: str
    reason: str
    detail: str
    binding: str


def joint_binding(bindings: Iterable[str]) -> str:
    """Return the hash of several calls together: SHA-256, 64 hexadecimal digits, of their keyed hashes
    in order."""
    return hashlib.sha256("\n".join(bindings).encode()).hexdigest()


class GateState(StrEnum):
    """The state of a gate, which is open until exactly one outcome is recorded."""

    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class VoteRule:
    """The rule for a gate's votes, fixed when the gate is opened.

    `approvers`: user ids; empty means the requester and any owner. `escalate_to`: additional deciders once
    the gate
    is `escalated` because no one decided for a while. Roles are read again at each vote.
    """

    approvers: tuple[str, ...] = ()
    quorum: int = 1
    not_requester: bool = False
    escalate_to: tuple[str, ...] = ()
    escalated: bool = False

    @property
    def named(self) -> tuple[str, ...]:
        """Return the user ids the rule names now; see `approvers` for the meaning of none."""
        return (*self.approvers, *self.escalate_to) if self.escalated else self.approvers


@dataclass(frozen=True, slots=True)
class Vote:
    """A vote: one answer for each person and gate. `role`: the person's current role."""

    user_id: str
    name: str
    answer: Answer
    at: int
    role: Role = Role.MEMBER


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate: it waits in the store until people answer, it expires, or it is cancelled.

    `calls`: the calls of a joint gate, two or more in order; such a gate has no `call_id`, `tool` or
    `detail` of its
    own. `binding` is the keyed hash of exactly what is asked (see consent.binding), for a joint gate
    `joint_binding`; `pattern` is what a grant by "always" would cover (None: the whole tool). Times are
    microseconds
    UTC; `remind_at`: when people are reminded; `escalate_at`: when further people are asked; None: never,
    or done.
    `first_choice`: the position of the first of its answers, see Message; `changed_at`: when a person last
    edited the
    call, or asked to send a code; None: never. `link`: the page at which a person signs in.
    """

    id: str
    kind: GateKind
    thread_id: str
    turn_id: str
    call_id: str | None
    requester_id: str
    title: str
    detail: str
    offer: Offer
    rule: VoteRule
    binding: str
    created_at: int
    expires_at: int
    tool: str | None = None
    pattern: str | None = None
    state: GateState = GateState.OPEN
    outcome: Answer | None = None
    outcome_text: str | None = None
    remind_at: int | None = None
    escalate_at: int | None = None
    calls: tuple[AskedCall, ...] = ()
    first_choice: int = 0
    changed_at: int | None = None
    link: str | None = None

    def answer_at(self, position: int) -> Answer | None:
        """Return the answer shown at that position; None if there is none."""
        index = position - self.first_choice
        match self.offer:
            case Options(options):
                return options[index] if 0 <= index < len(options) else None
            case Replies(labels):
                return Chose(index, labels[index]) if 0 <= index < len(labels) else None
            case _:
                assert_never(self.offer)

    def asked_something_else(self, position: int) -> bool:
        """Return whether that is the position of an answer to the gate before it was edited."""
        return 0 <= position < self.first_choice

    def was_asked_at(self, at: int) -> bool:
        """Return whether the gate already asked this at that time, so that words from then can be about
        it."""
        return self.changed_at is None or at > self.changed_at

    def takes(self, answer: Answer) -> bool:
        """Return whether this is one of the answers it offers."""
        match answer, self.offer:
            case Option.SESSION, Options(options):
                return Option.ALWAYS in options  # the same, for one conversation; typed, not shown
            case Option(), Options(options):
                return answer in options
            case Chose(index, _), Replies():
                return self.answer_at(index) == answer
            case Wrote(), Replies(_, free_text, secret):
                return free_text and secret is None
            case _:
                return False


class GrantScope(StrEnum):
    """The reach of a grant. ROUTINE, JOB: it is given to that one alone, for its unattended runs."""

    USER = "user"
    THREAD = "thread"
    ROUTINE = "routine"
    JOB = "job"


@dataclass(frozen=True, slots=True)
class Grant:
    """A person's recorded "always": `pattern` None covers the whole tool. `subject`: the routine or job that
    it is given to, in words; None: it is the person's own."""

    id: str
    user_id: str
    tool: str
    pattern: str | None
    scope: GrantScope
    thread_id: str | None
    granted_by: str
    created_at: int
    expires_at: int | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for approval of a call, for `why`. `title`: the headline of its card, such as "Run `ls`?";
    `calls`: of several, each one's tool and its first argument. `outcome`: in words, None while it waits;
    `at`: when it was decided, or else asked; `by_id`, `by`: who decided, if anyone did."""

    title: str
    calls: tuple[str, ...]
    tool: str
    outcome: str | None
    at: int
    by_id: str | None
    by: str | None


@dataclass(frozen=True, slots=True)
class RanUnder:
    """A grant that let a call of a turn run unasked, for `why`; it may be revoked since. `pattern`,
    `everywhere`: what it covers; `at`: since when; `by_id`, `by`: who gave it."""

    tool: str
    pattern: str | None
    everywhere: bool
    at: int
    by_id: str
    by: str


class ToolSetting(StrEnum):
    """A person's own setting for one tool; it overrides the preset."""

    ALWAYS_ALLOW = "always_allow"
    ASK_EACH_TIME = "ask_each_time"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class ConsentSettings:
    """A person's standing consent: grants in force and settings by tool; and the approval settings, in
    general
    (`person`) and in one conversation (`thread`).

    `left_out`: the tools that failed again and again, without which unattended runs go.
    `own`: the grants that an unattended run itself has now, each a tool and a pattern; None: it is no such
    run."""

    grants: tuple[Grant, ...] = ()
    settings: Mapping[str, ToolSetting] = field(default_factory=lambda: dict[str, ToolSetting]())
    person: ApprovalSettings = UNSAID
    thread: ApprovalSettings = UNSAID
    left_out: frozenset[str] = frozenset()
    own: frozenset[tuple[str, str]] | None = None

    @property
    def disabled(self) -> frozenset[str]:
        """The tools that the person disabled."""
        return frozenset(t for t, setting in self.settings.items() if setting is ToolSetting.DISABLED)
