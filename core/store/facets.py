"""The parts of Store for consent, hooks, stored data, changes of settings, notices, gate timers and rows of
model calls.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from core.approvals import ApprovalSettings
from core.gates import ConsentSettings, Gate, Grant, ToolSetting
from core.lazy import dataclass
from core.messages import Address, Message, MessageRef
from core.ports import OutboxRow
from core.store.rows import Draft, Execution, GateView, ThreadRow, TurnStart
from core.usage import Budget, CallEnd, Expected, Payer, Reservation, UsageBy, UsageSum
from core.users import Identity


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """A change of the configuration file that people approve. `id`: its gate's.

    `before`, `after`: SHA-256 of the file's text, which the approval is bound to. `wanted`: what changes, as
    JSON text without any secret. `approved`: it is to be written now."""

    id: str
    before: str
    after: str
    wanted: str
    approved: bool = False


class SettingsChanges(Protocol):
    """The units for changes of the configuration file. One waits for approval at a time."""

    async def note_settings(self, keys: Sequence[str], by: str, gate_id: str | None = None) -> None:
        """Record in the audit the keys of the configuration file that a person changes. `gate_id`: of the
        approval, if it needed one."""
        ...

    async def ask_settings(self, change: SettingsChange, gate: Gate) -> bool:
        """Open the gate of a change. Return False, and store nothing, if another change waits."""
        ...

    async def settings_changes(self) -> Sequence[SettingsChange]:
        """Return the changes that wait for approval or to be written."""
        ...

    async def end_settings(self, change_id: str, problem: str | None = None) -> None:
        """Forget an approved change that was written, or (`problem`, which the audit records) can't be."""
        ...


@dataclass(frozen=True, slots=True)
class ToolSettingRow:
    """A person's setting for one tool."""

    user_id: str
    tool: str
    setting: ToolSetting
    changed_at: int


# The store's side of hooks: messages and sessions to judge, and the verdicts.

HELD = 1 << 62
"""The time until which a message waits for hooks: microseconds UTC, in effect never."""


@dataclass(frozen=True, slots=True)
class HeldInput:
    """An accepted message that no turn may take until hooks have judged it."""

    id: int
    text: str
    user_id: str
    thread_id: str
    channel: str


@dataclass(frozen=True, slots=True)
class SessionChange:
    """The beginning or end of a person's session.

    `thread_ids`: at its end, the threads that were active in it, last active last."""

    user_id: str
    began: bool
    thread_ids: tuple[str, ...] = ()


# The store's side of data that outlives a conversation: secrets, memory and the kill switch.


@dataclass(frozen=True, slots=True)
class MemoryNote:
    """A note a person asked the hub to remember. `path`: the path of a document, which can be changed."""

    id: str
    text: str
    created_at: int
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A text a person stores under a path, such as `projects/garden`."""

    path: str
    size_chars: int
    changed_at: int


@dataclass(frozen=True, slots=True)
class SealedSecret:
    """A stored secret. `sealed` can be opened only with the key named by `key_id`, and only as `name`."""

    name: str
    key_id: str
    sealed: bytes
    changed_at: int


# The store's side of notices: the addresses that reach a person, and sending each notice once.

REACH_THREADS = 200
"""Maximum number of a person's threads to consider, most recently active first."""


@dataclass(frozen=True, slots=True)
class Reach:
    """A person's accounts, and their threads, most recently active first."""

    identities: tuple[Identity, ...]
    threads: tuple[ThreadRow, ...]


@dataclass(frozen=True, slots=True)
class NoticeAddress:
    """An address that can show a notice. `thread_id`: the thread in which the notice also appears;
    `notices_of`: the person in whose conversation for notices it appears instead, which is opened with its
    first notice."""

    channel: str
    address: Address
    thread_id: str | None = None
    notices_of: str | None = None


# The store's side of gate timers: expiry, reminders and escalation of unanswered gates.


@dataclass(frozen=True, slots=True)
class Expired:
    """The effects of expired gates: turns that continue, and card edits to send."""

    started: tuple[TurnStart, ...]
    outbox: tuple[OutboxRow, ...]


class HeldInputs(Protocol):
    """The units for hooks: messages and sessions to judge, and the verdicts."""

    async def held_inputs(self, limit: int) -> Sequence[HeldInput]:
        """Return the messages that wait for hooks, oldest first."""
        ...

    async def release_input(self, held: HeldInput, text: str, *, album_wait_us: int) -> int | None:
        """Release the message with the text `text`. Return when to check its thread for waiting input
        (microseconds UTC).

        Return None and change nothing if the message was edited since, or no longer waits."""
        ...

    async def refuse_input(self, held: HeldInput, outcome: str, told: Message) -> tuple[OutboxRow, ...]:
        """Refuse the message and notify its writer. Return () if it was refused already, or edited since."""
        ...

    async def outbound_judged(self, row_id: int) -> Message | None:
        """Return the hooks' verdict on an outgoing message, or None if no hook was asked yet."""
        ...

    async def judge_outbound(self, row_id: int, message: Message) -> None:
        """Store the message as it is to be sent, and that hooks were asked."""
        ...

    async def session_changes(self, idle_us: int) -> Sequence[SessionChange]:
        """Return the sessions that began or ended since the last call. Each change is returned once.

        A session ends when its person has said nothing for `idle_us` and none of their turns runs or
        waits."""
        ...


class Gates(SettingsChanges, Protocol):
    """The units and views of gates. Times are microseconds UTC."""

    async def open_gates(self) -> Sequence[GateView]:
        """Return all open gates, oldest first."""
        ...

    async def gate_shown_as(self, channel: str, ref: MessageRef) -> tuple[str, int] | None:
        """Return the id of the open gate whose card a message is, and the position of the card's first
        choice when it was sent.

        The position differs from the gate's own if the gate was changed since."""
        ...

    async def expire_gates(
        self, now: int, outcome_text: Callable[[Gate], str], card: Callable[[Gate], Message]
    ) -> Expired:
        """Close every open gate past its time.

        An approval counts as denied (with no decider), a question as skipped, a continue or budget gate
        as stopped. An unknown outcome stays unknown, with no answer."""
        ...

    async def remind_gates(self, now: int, reminder: Callable[[Gate], Message]) -> tuple[OutboxRow, ...]:
        """Send `reminder`, once, to every address with a card of an open gate whose `remind_at` has
        passed."""
        ...

    async def gates_to_escalate(self, now: int) -> Sequence[GateView]:
        """Return the open gates whose `escalate_at` has passed."""
        ...

    async def escalate_gate(self, gate_id: str, cards: Sequence[Draft], told: Draft) -> tuple[OutboxRow, ...]:
        """Let the people named in a gate's rule decide it too. `cards` are sent to them, and `told` to the
        gate's thread.

        Does nothing if the gate was escalated before."""
        ...


class Notices(Protocol):
    """The units for notices."""

    async def reach(self, user_id: str) -> Reach:
        """Return the accounts and threads through which a person can be notified."""
        ...

    async def add_notice(
        self, key: str, message: Message, addresses: Sequence[NoticeAddress]
    ) -> tuple[OutboxRow, ...]:
        """Queue a message for the first of the addresses, of which there must be at least one.

        A key that was used before changes nothing. If an address refuses the message for good, it is
        queued for the next one in the transaction that records the refusal (see Outbox.fail_outbox)."""
        ...


class Consents(Protocol):
    """The units for grants and settings. `by`: a user's id, for the audit; None: the hub itself."""

    async def grants(self, user_id: str | None) -> Sequence[Grant]:
        """Return the unexpired grants of a person, or (None) of everyone."""
        ...

    async def standing(self, user_id: str, thread_id: str) -> ConsentSettings:
        """Return a person's grants and settings that are in force in a thread."""
        ...

    async def set_thread_approvals(
        self, thread_id: str, settings: ApprovalSettings, *, by: str | None = None
    ) -> bool:
        """Set the approval settings of a thread. Return False if there is no such thread."""
        ...

    async def set_person_approvals(self, user_id: str, settings: ApprovalSettings) -> bool:
        """Set the approval settings for all of a person's threads that have none of their own."""
        ...

    async def revoke_grant(self, grant_id: str, *, by: str | None = None) -> bool:
        """Revoke a grant. Return False if there is none."""
        ...

    async def tool_settings(self, user_id: str | None) -> Sequence[ToolSettingRow]:
        """Return a person's tool settings, or (None) everyone's, ordered by user and tool."""
        ...

    async def set_tool_setting(
        self, user_id: str, tool: str, setting: ToolSetting | None, *, by: str | None = None
    ) -> bool:
        """Set a person's setting for a tool; None removes it. Return False if there is no such user."""
        ...

    async def executions(self, thread_id: str, before: int | None, limit: int) -> Sequence[Execution]:
        """Return the newest calls of a thread before that position, newest first."""
        ...


class Secrets(Protocol):
    """The units for secrets, which are sealed."""

    async def secrets(self, *, own: bool = False) -> Sequence[SealedSecret]:
        """Return all secrets as stored, ordered by name. `own`: include the hub's own secrets."""
        ...

    async def set_secrets(self, sealed: Sequence[SealedSecret], *, by: str | None = None) -> None:
        """Store secrets, each replacing any secret of the same name. `by`: a user's id, for the audit."""
        ...

    async def drop_secret(self, name: str, *, by: str | None = None) -> bool:
        """Delete a secret. Return False if there is none of that name. `by`: as above."""
        ...


class Memory(Protocol):
    """The units for notes and documents."""

    async def write_memory(self, user_id: str, key: str, text: str) -> None:
        """Store a note. The same `key` (an idempotency key) is stored only once."""
        ...

    async def write_document(
        self, user_id: str, key: str, path: str, text: str, *, append: bool, most: int
    ) -> Document | None:
        """Store a text under a path, replacing or extending the text there. Return None if the person has
        `most` documents already and this would be one more.

        Repeating the `key` of the last write changes nothing."""
        ...

    async def document(self, user_id: str, path: str) -> MemoryNote | None:
        """Return a person's document at a path."""
        ...

    async def documents(self, user_id: str, folder: str, limit: int) -> Sequence[Document]:
        """Return a person's documents at or below a path (empty: all), ordered by path."""
        ...

    async def search_memory(self, user_id: str, query: str, limit: int) -> Sequence[MemoryNote]:
        """Return notes and documents that contain all words of the query, newest first. An empty query
        matches all."""
        ...

    async def memory_note(self, user_id: str, note_id: str) -> MemoryNote | None:
        """Return a person's note or document by its id."""
        ...

    async def forget_memory(self, user_id: str, note_id: str) -> str | None:
        """Remove a person's note or document. Return the id by which it can be restored within `UNDO_US`;
        None if there is no such note."""
        ...

    async def restore_memory(self, user_id: str, undo: str) -> bool:
        """Bring back a removed note. Return False if it is too late, or its path is in use again."""
        ...


@dataclass(frozen=True, slots=True)
class FailingTool:
    """A tool's failures in a row in unattended runs, the last one at `at`. `left_out_at`: since when these go
    without it; None: not yet."""

    tool: str
    failures: int
    error: str
    at: int
    left_out_at: int | None


class ToolFailures(Protocol):
    """The units for tools that fail again and again in unattended runs; `finish_calls` counts them."""

    async def failing_tools(self) -> Sequence[FailingTool]:
        """Return the tools whose last unattended call failed, and those that are left out."""
        ...

    async def reset_tool(self, tool: str, by: str) -> bool:
        """Forget a tool's failures, so that it is not left out any more. Return False if there are none.
        `by`: a user's id."""
        ...


class KillSwitch(Protocol):
    """The units for pausing all tools."""

    async def pause_tools(self, by: str, *, paused: bool) -> bool:
        """Pause or unpause all tools. Return False if nothing changed. `by`: a user's id."""
        ...

    async def tools_paused(self) -> bool:
        """Return True if all tools are paused."""
        ...


class ModelUsage(Protocol):
    """The units for the rows of model calls that are not written with a run's own units."""

    async def reserve_call(
        self, payer: Payer, wanted: Reservation, ends: Sequence[CallEnd] = (), *, approved: bool = False
    ) -> str | None:
        """Store the reservation of a call before it is made, and the ends of earlier ones. Return the budget
        that it exceeds, if any, as a sentence; then there is no reservation.

        `approved`: budgets don't count. Raises StaleTurn if the call is for a run that doesn't run."""
        ...

    async def hold_to(self, budget: Budget, first_call: Expected) -> None:
        """Hold every later call to another budget, and reserve first calls by another expectation."""
        ...

    async def settle_calls(self, ends: Sequence[CallEnd]) -> None:
        """Store the ends of calls by themselves."""
        ...

    async def usage(self, by: UsageBy, since: int, until: int, timezone: str = "UTC") -> Sequence[UsageSum]:
        """Add up the calls that were reserved from `since` until before `until`, the dearest first.

        By day, the newest first; the key is the start of the day in `timezone`, in microseconds UTC."""
        ...
