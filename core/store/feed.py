"""A thread as people see it: the transcript, what the hub said itself, and cards, in one order.

Every line has a position of its own, the thread's `seq`, which never changes: whoever has seen everything up
to a position goes on from there and neither misses nor repeats anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from core.gates import Gate, Vote
from core.messages import Attachment, Message
from core.store.rows import CallState, Explanation, ThreadRow
from core.transcript import AssistantSaid, OperatorSaid, Summary, ToolCalled, ToolResult
from core.users import Principal, Role


@dataclass(frozen=True, slots=True)
class PersonSaid:
    """A message, a command or an answer in words. `channel`: where it was written."""

    text: str
    name: str
    role: Role | None
    attachments: tuple[Attachment, ...]
    channel: str


@dataclass(frozen=True, slots=True)
class CallShown:
    """A call the model asked for, its arguments as a person may have changed them, and how far it is now.
    `asked`: the arguments as the model gave them, where a person changed them."""

    call: ToolCalled
    state: CallState
    asked: str | None = None


@dataclass(frozen=True, slots=True)
class HubSaid:
    """What the hub says itself: answers to commands, refusals, why there is no answer."""

    message: Message


@dataclass(frozen=True, slots=True)
class CardShown:
    """A prompt where it was asked, as it stands now."""

    gate: Gate


@dataclass(frozen=True, slots=True)
class CardSettled:
    """A prompt got its outcome here. `by`: who gave it, None for nobody."""

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
    """A thread in a list. `preview`: the beginning of what was said last; `waiting`: its open prompts;
    `group`: several people speak in it; `stopping`: its running turn was asked to stop."""

    thread: ThreadRow
    owner: Principal
    preview: str
    group: bool
    stopping: bool
    waiting: int
    last_seq: int


@dataclass(frozen=True, slots=True)
class GateGlance:
    """A prompt in a list, with all that was said about it. `arguments`: of its call, as they would run, as
    JSON text; `closed_by`: a name, None while open and where nobody closed it."""

    gate: Gate
    votes: tuple[Vote, ...]
    thread: ThreadRow
    requester: str
    arguments: str | None
    closed_by: str | None
    closed_at: int | None


@dataclass(frozen=True, slots=True)
class ThreadsWanted:
    """A page of threads, the latest active first.

    `before`: what `cursor_of` made of the last one seen; `owner_id`: of one person only; `text`: is part of
    the title, of the owner's name, or of anything said; `channel`: on that channel only.
    """

    limit: int
    before: tuple[int, str] | None = None
    owner_id: str | None = None
    text: str = ""
    channel: str | None = None


@dataclass(frozen=True, slots=True)
class GatesWanted:
    """A page of prompts: open ones, the oldest first; or closed ones, the latest closed first.

    `concerning`: only those that this user was the requester of, or is named to decide.
    """

    limit: int
    open: bool
    before: tuple[int, str] | None = None
    concerning: str | None = None


class Feeds(Protocol):
    """The store as far as people look at it through the console."""

    async def feed_after(self, thread_id: str, after: int, limit: int) -> Sequence[FeedItem]:
        """The first items behind a position, in order."""
        ...

    async def feed_before(self, thread_id: str, before: int | None, limit: int) -> Sequence[FeedItem]:
        """The newest items before a position (None: of all), in order."""
        ...

    async def waiting_in(self, thread_id: str, limit: int) -> Sequence[PersonSaid]:
        """What was accepted for a thread and no turn has taken yet, in order. Asked for after the thread's
        newest items, it holds nothing that is in them."""
        ...

    async def thread_glance(self, thread_id: str) -> ThreadGlance | None:
        """A thread by id."""
        ...

    async def thread_glances(self, wanted: ThreadsWanted) -> Sequence[ThreadGlance]:
        """See ThreadsWanted."""
        ...

    async def gate_glance(self, gate_id: str) -> GateGlance | None:
        """A prompt by id, open or closed."""
        ...

    async def gate_glances(self, wanted: GatesWanted) -> Sequence[GateGlance]:
        """See GatesWanted."""
        ...

    async def open_gates_of(self, thread_id: str) -> Sequence[GateGlance]:
        """The open prompts of a thread, oldest first."""
        ...

    async def said_to(self, event_key: str) -> Sequence[Message]:
        """What an event was answered with at once."""
        ...

    async def explain_matching(self, text: str, limit: int) -> Sequence[Explanation]:
        """The newest events whose key, sender or text holds this."""
        ...

    async def active_thread(self, user_id: str) -> ThreadRow | None:
        """The thread that a person's session is on."""
        ...


# What units changed, for those who look on: told after the commit, so that nobody needs to ask again.


@dataclass(frozen=True, slots=True)
class Changes:
    """What one commit may have changed, and perhaps a little more.

    `threads`: ids of threads in which something new is seen; `prompts`: ids of prompts opened, changed or
    closed, each with its thread's; `people`: requests to be let in; `routines`: ids of routines that were
    made, changed or deleted; `runs`: ids of routines whose runs were queued, began or ended; `audit`: a
    record was written; `tools`: all tools were paused or let go on.
    """

    threads: frozenset[str]
    gates: dict[str, str]
    people: bool
    routines: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    audit: bool = False
    tools: bool = False


class ChangeListener(Protocol):
    """Told of every commit that changed something to be seen."""

    def changed(self, changes: Changes) -> None:
        """Called in the event loop, after the commit. Never blocks and never fails."""
        ...


@dataclass(slots=True)
class ChangeLog:
    """Collects what the units of one commit change."""

    threads: set[str] = field(default_factory=set[str])
    gates: dict[str, str] = field(default_factory=dict[str, str])
    people: bool = False
    routines: set[str] = field(default_factory=set[str])
    runs: set[str] = field(default_factory=set[str])
    audit: bool = False
    tools: bool = False

    def take(self) -> Changes | None:
        """What was collected, forgetting it; None for nothing."""
        lists = self.threads or self.gates or self.routines or self.runs
        if not (lists or self.people or self.audit or self.tools):
            return None
        taken = Changes(
            frozenset(self.threads),
            dict(self.gates),
            self.people,
            frozenset(self.routines),
            frozenset(self.runs),
            self.audit,
            self.tools,
        )
        self.threads.clear()
        self.routines.clear()
        self.runs.clear()
        self.gates.clear()
        self.people = self.audit = self.tools = False
        return taken
