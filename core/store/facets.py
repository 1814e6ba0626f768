"""A part of Store: what people have said once and for all, and what was executed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from core.approvals import ApprovalSettings
from core.gates import ConsentSettings, Gate, Grant, ToolSetting
from core.messages import Address, Message, MessageRef
from core.ports import OutboxRow
from core.store.rows import Draft, Execution, GateView, ThreadRow, TurnStart
from core.users import Identity


@dataclass(frozen=True, slots=True)
class ToolSettingRow:
    """A person's own word on one tool."""

    user_id: str
    tool: str
    setting: ToolSetting
    changed_at: int


class Consents(Protocol):
    """See Store for what holds of every method. `by`: a user's id, for the audit; None: the hub itself."""

    async def grants(self, user_id: str | None) -> Sequence[Grant]:
        """Grants that have not expired, of a person or (None) of everybody."""
        ...

    async def standing(self, user_id: str, thread_id: str) -> ConsentSettings:
        """What a person has said once and for all that holds in a thread now."""
        ...

    async def set_thread_approvals(
        self, thread_id: str, settings: ApprovalSettings, *, by: str | None = None
    ) -> bool:
        """Write down how people want to be asked in a thread; False if there is none of that id."""
        ...

    async def set_person_approvals(self, user_id: str, settings: ApprovalSettings) -> bool:
        """The same for all of a person's threads that say nothing themselves."""
        ...

    async def revoke_grant(self, grant_id: str, *, by: str | None = None) -> bool:
        """Drop a grant; False if there is none."""
        ...

    async def tool_settings(self, user_id: str | None) -> Sequence[ToolSettingRow]:
        """A person's own settings, or (None) everybody's, in order of user and tool."""
        ...

    async def set_tool_setting(
        self, user_id: str, tool: str, setting: ToolSetting | None, *, by: str | None = None
    ) -> bool:
        """Write down a person's word on a tool, None: take it back; False if there is no such user."""
        ...

    async def executions(self, thread_id: str, before: int | None, limit: int) -> Sequence[Execution]:
        """The newest calls of a thread, newest first, of those at a position before that."""
        ...


# The store's side of hooks: what waits to be asked about, and what came of it.

HELD = 1 << 62
"""Until when a message waits about which hooks are still to be asked; microseconds, and never."""


@dataclass(frozen=True, slots=True)
class HeldInput:
    """A message that was taken, and that no turn takes before hooks have spoken."""

    id: int
    text: str
    user_id: str
    thread_id: str
    channel: str


@dataclass(frozen=True, slots=True)
class SessionChange:
    """Somebody's session began, or ended."""

    user_id: str
    began: bool


class HookedInputs(Protocol):
    """One method = one transaction, as in Store."""

    async def held_inputs(self, limit: int) -> Sequence[HeldInput]:
        """Messages that hooks are to be asked about, the oldest first."""
        ...

    async def release_input(self, held: HeldInput, text: str, *, album_wait_us: int) -> int | None:
        """Let it go on, saying `text`; when its thread is to be looked at (microseconds UTC). None: it says
        something else by now, or waits no more; nothing is changed."""
        ...

    async def refuse_input(self, held: HeldInput, outcome: str, told: Message) -> tuple[OutboxRow, ...]:
        """It goes no further, and its writer is told; () where that is so already, or it says something
        else by now."""
        ...

    async def outbound_judged(self, row_id: int) -> Message | None:
        """What became of a message on its way out; None: nobody was asked yet."""
        ...

    async def judge_outbound(self, row_id: int, message: Message) -> None:
        """Keep what it says from now on, and that hooks were asked."""
        ...

    async def session_changes(self, idle_us: int) -> Sequence[SessionChange]:
        """Whose session began or ended since this was asked last; each is told once. A session ends when
        its person has said nothing for `idle_us`."""
        ...


# The store's side of what lasts beyond a conversation: secrets, what people want remembered, and whether
# tools may run.


@dataclass(frozen=True, slots=True)
class MemoryNote:
    """Something a person asked the hub to remember. `path`: of a document, which can be changed."""

    id: str
    text: str
    created_at: int
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A text that a person keeps under a path, such as `projects/garden`."""

    path: str
    size_chars: int
    changed_at: int


@dataclass(frozen=True, slots=True)
class SealedSecret:
    """A secret as it is kept: `sealed` can be opened with the key that `key_id` names, and only as `name`."""

    name: str
    key_id: str
    sealed: bytes
    changed_at: int


class Kept(Protocol):
    """One method = one transaction, as in Store."""

    async def halt_tools(self, by: str, *, halted: bool) -> bool:
        """Record that no tool may run, or that they may again; False if it was so already. `by`: a user's
        id."""
        ...

    async def tools_halted(self) -> bool:
        """Whether no tool may run."""
        ...

    async def count_model_call(self, user_id: str, day: str, most: int) -> bool:
        """Count a call of a model for a person, before it is made; False, and nothing is counted, where
        `most` were made for them on that day. `day`: any name that differs from that of the day before."""
        ...

    # --- secrets ---------------------------------------------------------------------------------------
    async def secrets(self, *, own: bool = False) -> Sequence[SealedSecret]:
        """All secrets as they are kept, in order of name; `own`: those that the hub keeps for itself, too."""
        ...

    async def keep_secrets(self, sealed: Sequence[SealedSecret], *, by: str | None = None) -> None:
        """Keep secrets, each in the place of what had its name. `by`: a user's id, for the audit."""
        ...

    async def drop_secret(self, name: str, *, by: str | None = None) -> bool:
        """Forget a secret; False if there is none of that name. `by`: as above."""
        ...

    # --- what tools keep -------------------------------------------------------------------------------
    async def write_memory(self, user_id: str, key: str, text: str) -> None:
        """Keep a note; the same `key` (an idempotency key) is kept once."""
        ...

    async def write_document(
        self, user_id: str, key: str, path: str, text: str, *, append: bool, most: int
    ) -> Document | None:
        """Keep a text under a path, in the place of what was there or behind it; with the `key` of the last
        write nothing changes. None where that person has `most` of them and this would be one more."""
        ...

    async def document(self, user_id: str, path: str) -> MemoryNote | None:
        """What a person keeps under a path."""
        ...

    async def documents(self, user_id: str, folder: str, limit: int) -> Sequence[Document]:
        """What a person keeps at or below a path (empty: everywhere), in order of path."""
        ...

    async def search_memory(self, user_id: str, query: str, limit: int) -> Sequence[MemoryNote]:
        """Notes and documents containing all words of the query, newest first; an empty query finds all."""
        ...


# The store's side of notices: where a person can be told something, and telling it once.

REACH_THREADS = 200
"""So many of a person's threads are looked at, the latest active first."""


@dataclass(frozen=True, slots=True)
class Reach:
    """A person's accounts, and their threads, the latest active first."""

    identities: tuple[Identity, ...]
    threads: tuple[ThreadRow, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a notice can be shown. `thread_id`: the thread in which it is seen there, too."""

    channel: str
    address: Address
    thread_id: str | None = None


class NoticeUnits(Protocol):
    """One method = one transaction, as in Store."""

    async def reach(self, user_id: str) -> Reach:
        """Where a person can be told something."""
        ...

    async def add_notice(self, key: str, message: Message, places: Sequence[Place]) -> tuple[OutboxRow, ...]:
        """Queue a message for the first of the places, of which there is at least one; a key that was used
        before changes nothing. What a place refuses for good goes to the next, in the transaction that
        records the refusal (see Outbox.fail_outbox)."""
        ...


# The store as far as prompts are looked after that nobody answers.


@dataclass(frozen=True, slots=True)
class Expired:
    """Prompts that ran out: turns that go on, and card edits that go out."""

    started: tuple[TurnStart, ...]
    outbox: tuple[OutboxRow, ...]


class GateTimers(Protocol):
    """Units and views as in core.store.port; times are microseconds UTC."""

    async def gate_shown_as(self, channel: str, ref: MessageRef) -> tuple[str, int] | None:
        """The id of the open prompt that a message on a channel is a card of, and the position of the first
        choice it had when it was sent: another one than the prompt's if that was changed since."""
        ...

    async def expire_gates(
        self, now: int, outcome_text: Callable[[Gate], str], card: Callable[[Gate], Message]
    ) -> Expired:
        """Close every open prompt past its time: an approval counts as denied (by nobody), a question as
        skipped, a continue or budget prompt as stop; an unknown outcome stays unknown, with no answer."""
        ...

    async def remind_gates(self, now: int, reminder: Callable[[Gate], Message]) -> tuple[OutboxRow, ...]:
        """Say `reminder`, once, wherever a card of an open prompt stands whose `remind_at` has come."""
        ...

    async def gates_to_escalate(self, now: int) -> Sequence[GateView]:
        """Open prompts whose `escalate_at` has come."""
        ...

    async def escalate_gate(self, gate_id: str, cards: Sequence[Draft], told: Draft) -> tuple[OutboxRow, ...]:
        """Let those named in its rule decide an open prompt, too: `cards` go out to them, and `told` to the
        prompt's thread. Does nothing if that was done before."""
        ...
