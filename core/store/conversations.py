"""Conversations as the store judges and finds them: the states of threads and turns with the legal changes
of each, the turns that commands such as `/undo` and `/resume` go to, and the search in what was said.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Protocol

from core.clock import SECOND_US
from core.errors import IllegalChange
from core.lazy import dataclass
from core.store.rows import ThreadRow, TurnState, is_prefix, note_terms, query_phrases

UNDONE = "↩ Undone"
"""The mark on messages of undone turns, where a platform can show it."""


@dataclass(frozen=True, slots=True)
class LastingEffect:
    """A call that ran and has an effect outside of the conversation, which no undo takes back.

    `arguments`: as they ran, as JSON text."""

    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a conversation before one of its live turns.

    `number`: the turn's, counted from 1 over the whole conversation.
    `text`: the beginning of its input, empty if it only went on with an earlier one.
    `effects`: what it did outside of the conversation."""

    turn_id: str
    number: int
    text: str
    state: TurnState
    effects: tuple[LastingEffect, ...] = ()


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoints of a conversation.

    `newest`: its newest live turns, the newest first.
    `undoable`: the number of them that can be undone.
    `redoable`: the number of turns that `/redo` brings back.
    `named`: the live turn that was asked for by its number."""

    newest: tuple[Checkpoint, ...] = ()
    undoable: int = 0
    redoable: int = 0
    named: Checkpoint | None = None

    def back_to(self, turn_id: str) -> int | None:
        """Return the number of turns to undo so that this one and all after it are gone. None: it can't be
        undone."""
        for turns, checkpoint in enumerate(self.newest[: self.undoable], start=1):
            if checkpoint.turn_id == turn_id:
                return turns
        return None


class MenuKind(StrEnum):
    """The kind of a list with a button for each line: checkpoints to go back to, threads to switch to, or the
    question about deleting a thread."""

    CHECKPOINTS = "checkpoints"
    THREADS = "threads"
    DELETION = "deletion"


@dataclass(frozen=True, slots=True)
class ListMenu:
    """A list with a button for each line, in the order of `items`: ids of turns or threads. A question about
    deleting has the thread as its first item.

    `thread_id`: the conversation it was asked for in, if there was one.
    `scope`: the external id under which it was asked for."""

    id: str
    kind: MenuKind
    user_id: str
    thread_id: str | None
    scope: str | None
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ThreadChoice:
    """A thread of a person that they can switch to. `channel`: where it was last active."""

    id: str
    title: str
    channel: str
    closed: bool


class ThreadState(StrEnum):
    """The state of a conversation: at rest, at work, waiting for a person, cut off in its newest turn, or
    closed."""

    IDLE = "idle"
    PROCESSING = "processing"
    AWAITING = "awaiting"
    INTERRUPTED = "interrupted"
    COMPLETED = "completed"


THREAD_CHANGES: Mapping[ThreadState, frozenset[ThreadState]] = {
    ThreadState.IDLE: frozenset({ThreadState.PROCESSING, ThreadState.COMPLETED}),
    ThreadState.PROCESSING: frozenset({ThreadState.IDLE, ThreadState.AWAITING, ThreadState.INTERRUPTED}),
    ThreadState.AWAITING: frozenset({ThreadState.IDLE, ThreadState.PROCESSING, ThreadState.INTERRUPTED}),
    ThreadState.INTERRUPTED: frozenset({ThreadState.IDLE, ThreadState.PROCESSING, ThreadState.COMPLETED}),
    ThreadState.COMPLETED: frozenset({ThreadState.IDLE, ThreadState.INTERRUPTED}),
}
"""Undo turns an interrupted thread into an idle one; reopening makes it what it was."""
TURN_CHANGES: Mapping[TurnState, frozenset[TurnState]] = {
    TurnState.RUNNING: frozenset(
        {TurnState.WAITING, TurnState.DONE, TurnState.FAILED, TurnState.STOPPED, TurnState.CRASHED}
    ),
    TurnState.WAITING: frozenset({TurnState.RUNNING, TurnState.STOPPED}),
    TurnState.DONE: frozenset(),
    TurnState.FAILED: frozenset(),
    TurnState.STOPPED: frozenset(),
    TurnState.CRASHED: frozenset(),
}
INTERRUPTED = frozenset({TurnState.FAILED, TurnState.STOPPED, TurnState.CRASHED})
"""The ends of a turn without an answer: `/resume` continues from there."""


def thread_state(thread: ThreadRow, newest: TurnState | None = None) -> ThreadState:
    """Return a thread's state. `newest`: of its newest live turn."""
    match thread.active_turn_state:
        case TurnState.RUNNING:
            return ThreadState.PROCESSING
        case TurnState.WAITING:
            return ThreadState.AWAITING
        case _:
            if thread.closed_at is not None:
                return ThreadState.COMPLETED
            return ThreadState.INTERRUPTED if newest in INTERRUPTED else ThreadState.IDLE


def require_change(thread: ThreadRow, becomes: ThreadState) -> None:
    """Raise IllegalChange unless the thread may change so."""
    state = thread_state(thread)
    if becomes not in THREAD_CHANGES[state]:
        raise IllegalChange(f"thread {thread.id} is {state}, so it can't become {becomes}")


def may_become(becomes: TurnState) -> str:
    """Return the states from which a turn may change so, as a list in SQL."""
    states = sorted(state.value for state, changes in TURN_CHANGES.items() if becomes in changes)
    return f"({', '.join(map(repr, states))})"


QUERY_LIMIT_CHARS = 200
WORDS_LIMIT = 16
"""The most words of a query that count, so that no query costs more than its length."""
INDEX_LIMIT_CHARS = 20_000
"""The beginning of each message that is searched."""
EXCERPT_CHARS = 160
_OF_QUESTIONS = (
    " a an and are did do does how i in is it my of on or that the to was were what when where which who why "
)
"""Small words, each between spaces."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """Neighboring terms. `prefix`: the last one is the beginning of a term."""

    terms: tuple[str, ...]
    prefix: bool

    @property
    def written(self) -> str:
        """The phrase as it stands in a text: pairs of characters overlap."""
        first, *others = self.terms
        return first + "".join(term[-1] for term in others)


@dataclass(frozen=True, slots=True)
class SearchWanted:
    """A search. Times are microseconds UTC.

    `phrases`: all must be in one turn, or nothing is found.
    `owner_id`, `thread_id`: only in that person's threads, and in that thread.
    `asked_in`: the thread that the search is made from; where others read along, only it is searched.
    `person`: a person's name or id; `channel`: where the thread is.
    `after`, `before`: said at or after, and before that time."""

    phrases: tuple[Phrase, ...]
    limit: int = 10
    owner_id: str | None = None
    thread_id: str | None = None
    asked_in: str | None = None
    person: str | None = None
    channel: str | None = None
    after: int | None = None
    before: int | None = None


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A message in which words were found. `kind`: user, assistant or operator; `at`: microseconds UTC.

    `undone`: its turn was undone."""

    thread_id: str
    title: str
    channel: str
    owner_id: str
    owner: str
    seq: int
    at: int
    kind: str
    excerpt: str
    undone: bool = False

    @property
    def shown(self) -> str:
        """The excerpt, marked if its turn was undone."""
        return f"[undone] {self.excerpt}" if self.undone else self.excerpt


def parse_search(text: str) -> SearchWanted:
    """Return the search that a text asks for: words, and filters such as `channel:NAME`, `person:Ann`,
    `after:2026-01-31` or `before:2026-02-28` (days in UTC; `after` includes its day, `before` doesn't).

    The last word and those that end in `*` match beginnings. The small words of a question count only where
    there are no others."""
    wanted, words = SearchWanted(()), list[str]()
    for word in text[:QUERY_LIMIT_CHARS].split():
        name, colon, value = word.partition(":")
        filtered = _filtered(wanted, name.lower(), value) if colon and value else None
        if filtered is None:
            words.append(word)
        else:
            wanted = filtered
    said = [word for word in words if f" {word.lower().rstrip('?')} " not in _OF_QUESTIONS]
    return replace(wanted, phrases=tuple(_phrases(said or words))[:WORDS_LIMIT])


def _filtered(wanted: SearchWanted, name: str, value: str) -> SearchWanted | None:
    match name:
        case "channel":
            return replace(wanted, channel=value)
        case "person":
            return replace(wanted, person=value)
        case "after" | "before":
            at = day_us(value)
            return None if at is None else replace(wanted, **{name: at})
        case _:
            return None


def day_us(text: str) -> int | None:
    """Return the beginning of a day such as 2026-01-31 in UTC, or None if it is none."""
    try:
        day = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None
    return (day - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1) * SECOND_US


def _phrases(words: Sequence[str]) -> Iterator[Phrase]:
    for place, word in enumerate(words, start=1):
        found = query_phrases(word)
        for number, terms in enumerate(found, start=1):
            beginning = number == len(found) and (word.endswith("*") or place == len(words))
            yield Phrase(terms, beginning or is_prefix(terms))


def indexed_terms(texts: Sequence[str]) -> str:
    """Return the terms of messages, in order, as the index of words takes them."""
    return " ".join(map(_terms, texts))


def _terms(text: str) -> str:
    text = text[:INDEX_LIMIT_CHARS]
    # An index of words splits plain text in the same way by itself.
    return text if text.isascii() else " ".join(note_terms(text))


def excerpt(text: str, phrases: Sequence[Phrase]) -> str | None:
    """Return the part of a text around the first phrase that is in it, on one line. None: it has none."""
    lower = text.lower()
    places = [lower.find(phrase.written) for phrase in phrases]
    found = [place for place in places if place >= 0]
    return _around(text, min(found)) if found else None


def _around(text: str, place: int) -> str:
    begin = max(0, place - EXCERPT_CHARS // 3)
    part = " ".join(text[begin : begin + EXCERPT_CHARS].split())
    return f"{'…' if begin else ''}{part}{'…' if begin + EXCERPT_CHARS < len(text) else ''}"


def beginning(text: str) -> str:
    """Return the beginning of a text, on one line."""
    return _around(text, 0)


class WordSearch(Protocol):
    """A database's own way to find the rows of `said` by their words."""

    @property
    def condition(self) -> str:
        """A condition on `s.id`, with one parameter."""
        ...

    def parameter(self, phrases: Sequence[Phrase]) -> str:
        """Return the parameter with which rows contain all phrases."""
        ...


INDEX_EVERY_S = 15.0
"""What was said since then is made searchable before each search: this only bounds how much that can be."""
THREADS_AT_ONCE = 100


class IndexedThreads(Protocol):
    """The part of core.store.feed.Threads that makes turns searchable."""

    async def index_said(self, limit: int) -> bool:
        """Make new messages of at most `limit` threads searchable. Return whether there may be more."""
        ...


async def index_all(threads: IndexedThreads) -> None:
    """Make all ended turns searchable, many in one commit.

    A commit of the word index for each message would cost nearly as much as storing it."""
    while await threads.index_said(THREADS_AT_ONCE):
        pass
