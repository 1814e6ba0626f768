"""A thread's feed: the transcript, the hub's own messages and cards, in one order.

Each line has its own position, the thread's `seq`, which never changes. A reader who has seen
everything up to a position continues from there without missing or repeating anything.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Protocol

from core.events import UNKNOWN_USE, ContextUse
from core.gates import Gate, Option, Vote
from core.job import JobState
from core.lazy import dataclass
from core.messages import Attachment, Message, MessageRef
from core.ports import Seen
from core.store.accounts import NoiseRow
from core.store.conversations import SearchHit, SearchWanted, ThreadState, thread_state
from core.store.facets import Expired
from core.store.rows import CallState, Explanation, ThreadChange, ThreadRow, TurnState
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
    answer. `refs`: where it is shown, once it was sent."""

    message: Message
    refs: tuple[MessageRef, ...] = ()


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
    """One line of a thread; `at` is microseconds UTC.

    `undone`: its turn was undone, so that no model is shown it."""

    seq: int
    at: int
    turn_id: str | None
    shown: Shown
    undone: bool = False


@dataclass(frozen=True, slots=True)
class ThreadGlance:
    """A thread in a list.

    `preview`: the beginning of its last message.
    `waiting`: its open gates.
    `group`: several people speak in it.
    `stopping`: its running turn was asked to stop.
    `context`: how full the newest request of its last turn was; `newest`: the state of its newest live turn.
    `origin_id`, `origin_turn`: the thread it is a branch of, and the last turn it has from there.
    `turns`: how many it had, also undone ones; `tokens`, `micro_usd`: of all its counted model calls.
    `active`: its person's session is on it."""

    thread: ThreadRow
    owner: Principal
    preview: str
    group: bool
    stopping: bool
    waiting: int
    last_seq: int
    context: ContextUse = UNKNOWN_USE
    newest: TurnState | None = None
    tags: tuple[str, ...] = ()
    archived_at: int | None = None
    origin_id: str | None = None
    origin_turn: int | None = None
    turns: int = 0
    tokens: int = 0
    micro_usd: int = 0
    active: bool = False

    @property
    def state(self) -> ThreadState:
        """The thread's state."""
        return thread_state(self.thread, self.newest)


@dataclass(frozen=True, slots=True)
class GateGlance:
    """A gate in a list, with all answers to it.

    `arguments`: its call's arguments as they would run, as JSON text.
    `closed_by`, `closed_by_id`: a person's name and id, None while it is open or if it closed without a
    person."""

    gate: Gate
    votes: tuple[Vote, ...]
    thread: ThreadRow
    requester: str
    arguments: str | None
    closed_by: str | None
    closed_by_id: str | None
    closed_at: int | None


@dataclass(frozen=True, slots=True)
class ThreadsWanted:
    """A page of threads, most recently active first.

    `before`: the cursor (see `cursor_of`) of the last thread seen.
    `owner_id`: threads of one person only.
    `text`: a search for messages (see core.store.conversations), or part of the title or of the owner's name.
    `channel`: threads on that channel only.
    `archived`: archived threads as well, which are otherwise found by `text` only.
    `waiting`: threads with an open gate only.
    """

    limit: int
    before: tuple[int, str] | None = None
    owner_id: str | None = None
    text: str = ""
    channel: str | None = None
    archived: bool = False
    waiting: bool = False


@dataclass(frozen=True, slots=True)
class GatesWanted:
    """A page of gates: open ones, oldest first, or closed ones, latest closed first.

    `concerning`: only gates that this user requested or is named to decide.
    `text`: part of what was asked, of its outcome or of the requester's name.
    `outcomes`: closed ones with these outcomes only, None for one without an answer.
    """

    limit: int
    open: bool
    before: tuple[int, str] | None = None
    concerning: str | None = None
    text: str = ""
    outcomes: tuple[Option | None, ...] = ()


# Changes made by units, for listeners: reported after the commit, so that they need not poll.


@dataclass(frozen=True, slots=True)
class Changes:
    """The possible changes of one commit. It may name slightly more than actually changed.

    `threads`: ids of threads with something new to show.
    `gates`: ids of gates opened, changed or closed, each with its thread's.
    `people`: pairing requests changed.
    `routines`: ids of routines that were created, changed or deleted.
    `runs`: ids of routines whose runs were queued, began or ended.
    `audit`: a record was written.
    `tools`: all tools were paused or unpaused.
    `jobs`: ids of jobs whose state changed.
    `job_changes`: the states before and after each of these changes. Before a job was created it had none.
    `shown_jobs`: ids of jobs whose message changed, each with its conversation's.
    `extensions`: one was added, changed or removed.
    `sign_ins`: servers and the ids of users who asked for a link to sign in there.
    `sign_outs`: of sign-ins that ended, what the requests for them let go on.
    `settings`: a change of the configuration file was decided.
    """

    threads: frozenset[str]
    gates: dict[str, str]
    people: bool
    routines: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    audit: bool = False
    tools: bool = False
    jobs: frozenset[str] = frozenset()
    shown_jobs: Mapping[str, str] = field(default_factory=dict[str, str])
    job_changes: tuple[tuple[JobState | None, JobState], ...] = ()
    extensions: bool = False
    sign_ins: tuple[tuple[str, str], ...] = ()
    sign_outs: tuple[Expired, ...] = ()
    settings: bool = False


class ChangeListener(Protocol):
    """A listener for every commit that changed something visible."""

    def changed(self, changes: Changes) -> None:
        """Handle a commit. Called in the event loop, after the commit. Never blocks and never fails."""
        ...


@dataclass(slots=True)
class ChangeLog:
    """A collector of the changes made by the units of one commit."""

    threads: set[str] = field(default_factory=set[str])
    gates: dict[str, str] = field(default_factory=dict[str, str])
    people: bool = False
    routines: set[str] = field(default_factory=set[str])
    runs: set[str] = field(default_factory=set[str])
    jobs: set[str] = field(default_factory=set[str])
    job_changes: list[tuple[JobState | None, JobState]] = field(
        default_factory=list[tuple[JobState | None, JobState]]
    )
    shown_jobs: dict[str, str] = field(default_factory=dict[str, str])
    audit: bool = False
    tools: bool = False
    extensions: bool = False
    sign_ins: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    sign_outs: list[Expired] = field(default_factory=list[Expired])
    settings: bool = False

    def take(self) -> Changes | None:
        """Return the collected changes and clear them. None if there are none."""
        lists = self.threads or self.gates or self.routines or self.runs or self.jobs or self.shown_jobs
        lists = lists or self.sign_ins or self.sign_outs
        if not (lists or self.people or self.audit or self.tools or self.extensions):
            return None
        taken = Changes(
            frozenset(self.threads),
            dict(self.gates),
            self.people,
            frozenset(self.routines),
            frozenset(self.runs),
            self.audit,
            self.tools,
            frozenset(self.jobs),
            dict(self.shown_jobs),
            tuple(self.job_changes),
            self.extensions,
            tuple(self.sign_ins),
            tuple(self.sign_outs),
            self.settings,
        )
        self.threads.clear()
        self.routines.clear()
        self.runs.clear()
        self.jobs.clear()
        self.job_changes.clear()
        self.shown_jobs.clear()
        self.gates.clear()
        self.sign_ins.clear()
        self.sign_outs.clear()
        self.people = self.audit = self.tools = self.extensions = self.settings = False
        return taken


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

    async def job_line(self, thread_id: str, job_id: str) -> FeedItem | None:
        """Return the line that shows a job in a thread, as it is now."""
        ...

    async def thread_glance(self, thread_id: str) -> ThreadGlance | None:
        """Return a thread by id."""
        ...

    async def thread_glances(self, wanted: ThreadsWanted) -> Sequence[ThreadGlance]: ...

    async def gate_glance(self, gate_id: str) -> GateGlance | None:
        """Return a gate by id, open or closed."""
        ...

    async def gate_glances(self, wanted: GatesWanted) -> Sequence[GateGlance]: ...

    async def decisions(self, since: int, concerning: str | None) -> Sequence[tuple[int, str | None, int]]:
        """Count the outcomes of gates closed since then: the hour (of Unix time), the outcome, how many.
        `concerning`: of the gates of one person."""
        ...

    async def gates_in(self, thread_id: str, shown: Collection[str]) -> Sequence[GateGlance]:
        """Return gates of a thread, oldest first: the open ones, and closed ones with these ids."""
        ...

    async def said_to(self, event_key: str) -> Sequence[Message]:
        """Return the immediate answers to an event."""
        ...


ARCHIVES = "conversations"
"""The folder of the workspace with an archive for each thread."""


class FileKind(StrEnum):
    """What a thread keeps outside the database."""

    UPLOAD = "upload"
    """A file attached in the console."""
    ARCHIVE = "archive"
    """The folder of the workspace with the texts that its summaries stand for."""
    OUTPUTS = "outputs"
    """The outputs of its calls that were too long for a model."""


@dataclass(frozen=True, slots=True)
class DeletedFile:
    """A file of a deleted thread. `name`: an upload's id; of an archive and of outputs, their thread's.
    `wanted`: another thread still refers to it; of outputs each is asked for by itself."""

    kind: FileKind
    name: str
    wanted: bool


class DeletedThreads(Protocol):
    """The files that deleted conversations leave, until they are removed."""

    async def deleted_files(self, limit: int) -> Sequence[DeletedFile]:
        """Return files of deleted threads that are still to be removed."""
        ...

    async def files_removed(self, files: Sequence[DeletedFile]) -> None:
        """Forget files that are removed, or still wanted."""
        ...

    async def unknown_calls(self, call_ids: Sequence[str]) -> Sequence[str]:
        """Return those of the calls that no run knows, and no conversation the result of."""
        ...


class Threads(DeletedThreads, Protocol):
    """The units that list threads and their entries."""

    async def thread(self, thread_id: str) -> ThreadRow | None:
        """Return a thread by id."""
        ...

    async def threads(self, limit: int) -> Sequence[ThreadRow]:
        """Return the most recently active threads."""
        ...

    async def entries(self, thread_id: str, limit: int) -> Sequence[Entry]:
        """Return the newest live entries of a thread, in order."""
        ...

    async def all_entries(self, thread_id: str, limit: int) -> Sequence[Entry]:
        """Return the newest entries of a thread, in order, also undone ones (see Entry.undone)."""
        ...

    async def change_thread(self, thread_id: str, change: ThreadChange) -> None:
        """Change what people see of a thread. Raises IllegalChange if it can't be closed now, LookupError if
        there is none."""
        ...

    async def delete_thread(self, thread_id: str, by: str) -> None:
        """Delete a thread with all that was said in it. `by`: a user's id, for the audit.

        Raises IllegalChange while something runs, waits or is being sent in it, LookupError if there is
        none."""
        ...

    async def active_thread(self, user_id: str) -> ThreadRow | None:
        """Return the thread that a person's session is on."""
        ...

    async def search(self, wanted: SearchWanted) -> Sequence[SearchHit]:
        """Return the messages that fit, newest first, one for each turn, of those made searchable."""
        ...

    async def index_said(self, limit: int) -> bool:
        """Make the new messages of threads without an active turn searchable, at most `limit` threads. Return
        whether there may be more."""
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
