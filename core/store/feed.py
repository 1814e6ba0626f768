"""A thread's feed: the transcript, the hub's own messages and cards, in one order.

Each line has its own position, the thread's `seq`, which never changes. A reader who has seen
everything up to a position continues from there without missing or repeating anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from core.gates import Gate, Vote
from core.messages import Attachment, Message
from core.ports import Seen
from core.store.pairing import NoiseRow
from core.store.rows import CallState, Explanation, ThreadRow
from core.transcript import AssistantSaid, Entry, OperatorSaid, Summary, ToolCalled, ToolResult
from core.users import Principal, Role


@dataclass(frozen=True, slots=True)
class PersonSaid:
    """A message, a command or an answer in words. `channel`: the channel it was written on."""

    text: str
    name: str
    role: Role | None
    attachments: tuple[Attachment, ...]
    channel: str


@dataclass(frozen=True, slots=True)
class CallShown:
    """A call the model asked for, and its state now. Its arguments include a person's edits.

    `asked`: the arguments as the model gave them, if a person changed them."""

    call: ToolCalled
    state: CallState
    asked: str | None = None


@dataclass(frozen=True, slots=True)
class HubSaid:
    """A message of the hub itself: an answer to a command, a refusal, or the reason there is no
    answer."""

    message: Message


@dataclass(frozen=True, slots=True)
class CardShown:
    """A gate at the position where it was opened, in its current state."""

    gate: Gate


@dataclass(frozen=True, slots=True)
class CardSettled:
    """The position where a gate got its outcome. `by`: the person who decided, or None."""

    gate: Gate
    by: str | None


Shown = (
    PersonSaid
    | AssistantSaid
    | OperatorSaid
    | CallShown
    | ToolResult
    | Summary
    | HubSaid
    | CardShown
    | CardSettled
)


@dataclass(frozen=True, slots=True)
class FeedItem:
    """One line of a thread; `at` is microseconds UTC."""

    seq: int
    at: int
    turn_id: str | None
    shown: Shown


@dataclass(frozen=True, slots=True)
class ThreadGlance:
    """A thread in a list.

    `preview`: the beginning of its last message.
    `waiting`: its open gates.
    `group`: several people speak in it.
    `stopping`: its running turn was asked to stop."""

    thread: ThreadRow
    owner: Principal
    preview: str
    group: bool
    stopping: bool
    waiting: int
    last_seq: int


@dataclass(frozen=True, slots=True)
class GateGlance:
    """A gate in a list, with all answers to it.

    `arguments`: its call's arguments as they would run, as JSON text.
    `closed_by`: a name, None while it is open or if it closed without a person."""

    gate: Gate
    votes: tuple[Vote, ...]
    thread: ThreadRow
    requester: str
    arguments: str | None
    closed_by: str | None
    closed_at: int | None


@dataclass(frozen=True, slots=True)
class ThreadsWanted:
    """A page of threads, most recently active first.

    `before`: the cursor (see `cursor_of`) of the last thread seen.
    `owner_id`: threads of one person only.
    `text`: matches part of the title, of the owner's name, or of any message.
    `channel`: threads on that channel only.
    """

    limit: int
    before: tuple[int, str] | None = None
    owner_id: str | None = None
    text: str = ""
    channel: str | None = None


@dataclass(frozen=True, slots=True)
class GatesWanted:
    """A page of gates: open ones, oldest first, or closed ones, latest closed first.

    `concerning`: only gates that this user requested or is named to decide.
    """

    limit: int
    open: bool
    before: tuple[int, str] | None = None
    concerning: str | None = None


class Feeds(Protocol):
    """The store as the console reads it."""

    async def feed_after(self, thread_id: str, after: int, limit: int) -> Sequence[FeedItem]:
        """Return the first items after a position, in order."""
        ...

    async def feed_before(self, thread_id: str, before: int | None, limit: int) -> Sequence[FeedItem]:
        """Return the newest items before a position (None: of all), in order."""
        ...

    async def waiting_in(self, thread_id: str, limit: int) -> Sequence[PersonSaid]:
        """Return the messages accepted for a thread that no turn has taken yet, in order.

        If read after the thread's newest items, the result contains none of them."""
        ...

    async def thread_glance(self, thread_id: str) -> ThreadGlance | None:
        """Return a thread by id."""
        ...

    async def thread_glances(self, wanted: ThreadsWanted) -> Sequence[ThreadGlance]: ...

    async def gate_glance(self, gate_id: str) -> GateGlance | None:
        """Return a gate by id, open or closed."""
        ...

    async def gate_glances(self, wanted: GatesWanted) -> Sequence[GateGlance]: ...

    async def open_gates_of(self, thread_id: str) -> Sequence[GateGlance]:
        """Return the open gates of a thread, oldest first."""
        ...

    async def said_to(self, event_key: str) -> Sequence[Message]:
        """Return the immediate answers to an event."""
        ...


class Threads(Protocol):
    """The units that list threads and what was said in them."""

    async def thread(self, thread_id: str) -> ThreadRow | None:
        """Return a thread by id."""
        ...

    async def threads(self, limit: int) -> Sequence[ThreadRow]:
        """Return the most recently active threads."""
        ...

    async def entries(self, thread_id: str, limit: int) -> Sequence[Entry]:
        """Return the newest entries of a thread, in order."""
        ...

    async def active_thread(self, user_id: str) -> ThreadRow | None:
        """Return the thread that a person's session is on."""
        ...

    async def last_seen(self, channel: str, since: int) -> Sequence[Seen]:
        """Return the newest message of each of a channel's addresses, of those received since then."""
        ...


class Explanations(Protocol):
    """The units that explain inbound events."""

    async def explain(self, event_key: str) -> Explanation | None:
        """Return everything recorded about an inbound event."""
        ...

    async def explain_recent(self, limit: int) -> Sequence[Explanation]:
        """Return explanations of the newest inbound events, newest first."""
        ...

    async def explain_matching(self, text: str, limit: int) -> Sequence[Explanation]:
        """Return the newest events whose key, sender or text contains the text."""
        ...

    async def noise(self, limit: int) -> Sequence[NoiseRow]:
        """Return the events that were counted instead of stored, latest first."""
        ...
