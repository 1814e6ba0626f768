"""Rows as the store returns them: frozen values, no database types."""

import re
import unicodedata
from collections.abc import Callable
from enum import StrEnum

from core.events import NO_MODELS, ModelTrace, RunKind
from core.gates import Answer, Asked, ConsentSettings, Gate, Grant, Option, RanUnder, Vote
from core.lazy import dataclass
from core.messages import Address, Message
from core.ports import OutboxRow
from core.tool import Effect, ProcessInfo
from core.transcript import Entry
from core.usage import Reservation
from core.users import NO_PREFERENCES, UNCHOSEN, UNSET, ModelChoice, Preferences, Principal, ThreadSettings

REJOIN_US = 2_000_000
"""The time after a start to wait for the rest of an album that the previous shutdown interrupted."""


class TurnState(StrEnum):
    """The state of a turn: it runs, waits for a person, or has ended in one of four ways."""

    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    CRASHED = "crashed"


class CallState(StrEnum):
    """The state of a tool call, from the model's intent to its recorded outcome."""

    INTENT = "intent"
    WAITING = "waiting"
    APPROVED = "approved"
    DENIED = "denied"
    RUNNING = "running"
    UNKNOWN = "unknown"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """One conversation of one owner on one channel. Answers are sent to `address`.

    `active_turn_id`: the turn that runs or waits for a person, and `active_turn_state` which of the
    two.
    `closed_at`: None while it is open.
    """

    id: str
    owner_id: str
    channel: str
    scope: str
    address: Address
    title: str
    created_at: int
    last_active_at: int
    active_turn_id: str | None = None
    active_turn_state: TurnState | None = None
    settings: ThreadSettings = UNSET
    closed_at: int | None = None


@dataclass(frozen=True, slots=True)
class ThreadChange:
    """Changes of a thread that people see; a field that is None stays as it is."""

    title: str | None = None
    tags: tuple[str, ...] | None = None
    archived: bool | None = None
    closed: bool | None = None


@dataclass(frozen=True, slots=True)
class TurnStart:
    """A turn whose start is committed.

    `first_seq`..`last_seq`: the range of its inputs' entries in the transcript; on a resumed turn,
    the whole range so far.
    `attempt`: the number of starts without progress, from 1.
    `inputs`: those entries themselves, so that a new turn need not read them; none on a resumed
    turn.
    `disabled`, `preferences`: of the person when it started or continued: the tools they had disabled, and
    their settings.
    `reserved`: the reservation of its first model call, if one was made."""

    turn_id: str
    number: int
    thread: ThreadRow
    principal: Principal
    first_seq: int
    last_seq: int
    attempt: int
    resumed: bool
    inputs: tuple[Entry, ...] = ()
    disabled: frozenset[str] = frozenset()
    preferences: Preferences = NO_PREFERENCES
    reserved: Reservation | None = None

    @property
    def chosen(self) -> ModelChoice:
        """The model and effort chosen for the thread, else for the person."""
        own, preferred = self.thread.settings.chosen, self.preferences.chosen
        return own if preferred is UNCHOSEN else own.over(preferred)


@dataclass(frozen=True, slots=True)
class CallRow:
    """A tool call of a turn.

    `answer`: a person's decision on it, or their reply if it is a question.
    `answered_by`: their name.
    `binding`: the binding they decided on.
    `edited_by`: the person who changed the model's arguments."""

    call_id: str
    turn_id: str
    seq: int
    tool: str
    arguments: str
    state: CallState
    effect: Effect
    binding: str | None = None
    gate_id: str | None = None
    answer: Answer | None = None
    answered_by: str | None = None
    process: ProcessInfo | None = None
    edited_by: str | None = None


RunCheck = Callable[[CallRow, Principal, ConsentSettings], str | tuple[Grant, ...] | None]
"""A check in the transaction that marks a call running, on the current role, grants and settings. Returns why
it may not run, or the grants that let it run, if it needs any."""


@dataclass(frozen=True, slots=True)
class NewCall:
    """An intent to be journalled with the reply that asked for it.

    `effect`: the effect the tool declares.
    `round`: the model's round, counted since the last human input.
    `reason`: the model's own for this call."""

    call_id: str
    tool: str
    arguments: str
    effect: Effect
    round: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LoopUsed:
    """A turn's use of its budget: model rounds and executed calls since the last human input, and
    running time until it last waited."""

    rounds: int
    tools_run: int
    spent_us: int


@dataclass(frozen=True, slots=True)
class Execution:
    """A call in the execution history.

    `status`: how it ended, None until then.
    `round`: see NewCall.
    `principal_id`: the user it was made for.
    `started_at`: None for calls that did not run. Times are microseconds UTC."""

    seq: int
    call_id: str
    turn_id: str
    tool: str
    state: CallState
    status: str | None
    round: int | None
    principal_id: str
    asked_at: int
    started_at: int | None
    ended_at: int | None


@dataclass(frozen=True, slots=True)
class LoadedTurn:
    """The data an actor needs to continue a turn.

    `entries`: the thread's live entries in order, back to the newest usable summary.
    `calls`: the turn's calls in order.
    `spent_us`: running time before this start, without the time spent waiting for people.
    `rounds`/`tools_run`: model rounds and executed calls since the last human input (a message, a
    reply to a question, or "continue" on a continue gate).
    `continued`: how the turn's newest continue gate ended.
    `models`: the ones called by earlier starts of the turn.
    `budget`: how the turn's newest budget gate ended.
    """

    start: TurnStart
    entries: tuple[Entry, ...]
    calls: tuple[CallRow, ...]
    spent_us: int
    rounds: int
    tools_run: int
    continued: Option | None
    models: ModelTrace = NO_MODELS
    budget: Option | None = None


@dataclass(frozen=True, slots=True)
class RunningCall:
    """A call that was marked running when the hub crashed."""

    call: CallRow
    thread: ThreadRow
    requester: Principal


SUSPECT_FROM = 2
"""The number of starts without progress from which a run is started when no other suspect is, so that it is
known which of them crashes the hub."""


@dataclass(frozen=True, slots=True)
class UnfinishedRun:
    """A run of any kind that was running when the hub crashed.

    `attempts`: its starts without progress.
    `crashes`: those that ended with a crash which is put down to it."""

    run_id: str
    kind: RunKind
    thread_id: str
    attempts: int
    crashes: int


@dataclass(frozen=True, slots=True)
class Recovery:
    """The unfinished work of hubs that ended, which this hub has in hand now.

    `running_calls`: calls with an effect that were running, of the `runs`.
    `threads_to_start`: where input waits, and no turn is active or its end would leave the input waiting.
    `previews`: those that may be shown somewhere unknown."""

    running_calls: tuple[RunningCall, ...]
    runs: tuple[UnfinishedRun, ...]
    threads_to_start: tuple[str, ...]
    previews: tuple[OutboxRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """A message to put into the outbox. `gate_id`: the gate it is a card of. `job_id`: the job that it shows
    as it runs; `paced`: see OutboxRow."""

    channel: str
    address: Address
    message: Message
    nonce: str
    gate_id: str | None = None
    job_id: str | None = None
    paced: bool = False


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The rows to send now, and the thread's next turn if inputs were waiting."""

    outbox: tuple[OutboxRow, ...]
    next: TurnStart | None


@dataclass(frozen=True, slots=True)
class Delivery:
    """The delivery of one message of an answer, for `why`."""

    outbox_id: int
    state: str
    parts: int
    repeats: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything recorded about one inbound event (P11). `text`: the message, if any of it is stored.
    `models`: those its turn called. `resting`: each routine that it would have fired, with the end of its
    cooldown, in words. `approvals`: those its turn asked for, the first first. `under_grants`: what let calls
    of its turn run unasked, in the order of the calls."""

    key: str
    channel: str
    sender: str
    received_at: int
    outcome: str
    thread_id: str | None
    turn_id: str | None
    turn_state: str | None
    turn_error: str | None
    deliveries: tuple[Delivery, ...]
    text: str = ""
    models: ModelTrace = NO_MODELS
    resting: tuple[str, ...] = ()
    approvals: tuple[Asked, ...] = ()
    under_grants: tuple[RanUnder, ...] = ()


@dataclass(frozen=True, slots=True)
class GateView:
    """A gate with its votes so far and its thread."""

    gate: Gate
    votes: tuple[Vote, ...]
    thread: ThreadRow


# Audit records as stored.


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One audit record as stored.

    `position`: its place in the chain, None until it is chained, as `link`.
    `writer`, `number`: who wrote it (see core.store.lease), and its place among the writer's records.
    `detail`: JSON.
    """

    position: int | None
    writer: int
    number: int
    at: int
    kind: str
    actor: str | None
    subject: str
    thread_id: str | None
    detail: str
    key_id: str
    seal: bytes
    link: str | None

    @property
    def name(self) -> str:
        """The record's position, or its number with its writer's until it is chained."""
        return f"{self.writer}/{self.number}" if self.position is None else str(self.position)


@dataclass(frozen=True, slots=True)
class WriterCount:
    """The number of a writer's last record, as sealed. `key_id`: "" if an upgrade counted."""

    writer: int
    number: int
    key_id: str
    seal: bytes


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The last dropped record. The chain continues from its link. `numbers`: JSON of the last number dropped
    of each writer; "" if that was before there were several writers."""

    last_id: int
    link: str
    at: int
    key_id: str
    seal: bytes
    numbers: str


@dataclass(frozen=True, slots=True)
class InboundRow:
    """The stored fields of an inbound event, which no record seals. `outbox`: the rows sent in reply,
    without cards."""

    key: str
    channel: str
    sender: str | None
    received_at: int
    outcome: str
    thread_id: str | None
    turn_id: str | None
    outbox: tuple[int, ...]


# Search terms of notes: words, and pairs of characters for scripts written without spaces.
#
# A note and a query are split into the same terms, so every database finds the same notes.

_CJK = (
    "\u1100-\u11ff"  # Hangul jamo
    "\u3040-\u30ff"  # Hiragana, Katakana
    "\u3130-\u318f"  # Hangul compatibility jamo
    "\u31f0-\u31ff"  # Katakana extensions
    "\u3400-\u4dbf"  # Han, extension A
    "\u4e00-\u9fff"  # Han
    "\ua960-\ua97f"  # Hangul jamo, extended A
    "\uac00-\ud7ff"  # Hangul syllables
    "\uf900-\ufaff"  # Han, compatibility
    "\U00020000-\U0003ffff"  # Han, further extensions
)
_CHARACTER = re.compile(f"[{_CJK}]")
_RUNS = re.compile(f"([{_CJK}]+)|((?:(?![{_CJK}])[^\\W_])+)")


def note_terms(text: str) -> list[str]:
    """Return the search terms of a note, in order: words in lower case, and 部署器 as 部署, 署器, 器."""
    terms: list[str] = []
    for run, word in _runs(text):
        if word:
            terms.append(word)
        else:
            terms.extend(run[at : at + 2] for at in range(len(run)))
    return terms


def query_phrases(query: str) -> list[tuple[str, ...]]:
    """Return the phrases a note must contain. Each phrase is a sequence of neighboring terms.

    A single character of a script without spaces becomes a phrase of that one character, which
    matches the beginning of a term.
    """
    phrases: list[tuple[str, ...]] = []
    for run, word in _runs(query):
        if word:
            phrases.append((word,))
        elif len(run) == 1:
            phrases.append((run,))
        else:
            phrases.append(tuple(run[at : at + 2] for at in range(len(run) - 1)))
    return phrases


def is_prefix(phrase: tuple[str, ...]) -> bool:
    """Return True if a phrase is a single character that matches the beginning of a term."""
    return len(phrase) == 1 and _CHARACTER.fullmatch(phrase[0]) is not None


def _runs(text: str) -> list[tuple[str, str]]:
    return _RUNS.findall(unicodedata.normalize("NFKC", text).casefold())
