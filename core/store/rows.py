"""Rows as the store returns them: frozen values, no database types."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from core.gates import Answer, ConsentSettings, Gate, Option, Vote
from core.messages import Address, Message
from core.ports import OutboxRow
from core.tool import Effect, ProcessInfo
from core.transcript import Entry
from core.users import Principal

REJOIN_US = 2_000_000
"""After a start, so long for the rest of an album that was cut in two by the end of the hub before."""


class TurnState(StrEnum):
    """A turn runs, waits for a person, or has ended in one of four ways."""

    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    CRASHED = "crashed"


class CallState(StrEnum):
    """A tool call from the model's intent to its recorded outcome."""

    INTENT = "intent"
    WAITING = "waiting"
    APPROVED = "approved"
    DENIED = "denied"
    RUNNING = "running"
    UNKNOWN = "unknown"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """One conversation of one owner on one channel; answers go to `address`.

    `active_turn_id`: the turn that runs or waits for a person, and `active_turn_state` which of the two.
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
    preset: str | None = None


@dataclass(frozen=True, slots=True)
class TurnStart:
    """A turn whose start is committed. `first_seq`..`last_seq` are its inputs' entries in the transcript;
    on a resumed turn they are the whole range so far. `attempt` counts starts without progress, from 1.
    `inputs`: those entries themselves, so that a new turn need not read them; none on a resumed turn.
    `disabled`: tools that the person had disabled when it started or went on."""

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


@dataclass(frozen=True, slots=True)
class CallRow:
    """A tool call of a turn. `answer`: what a person decided about it, or replied if it is a question;
    `answered_by`: their name; `binding`: what they decided on; `edited_by`: who
    changed the arguments the model gave."""

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


RunCheck = Callable[[CallRow, Principal, ConsentSettings], str | None]
"""Judges a call in the transaction that marks it running, on the live role, grants and settings; None: go."""


@dataclass(frozen=True, slots=True)
class NewCall:
    """An intent to be journalled with the reply that asked for it. Effect is what the tool declares; `round`:
    the model's, counted since a person last had a say."""

    call_id: str
    tool: str
    arguments: str
    effect: Effect
    round: int | None = None


@dataclass(frozen=True, slots=True)
class LoopUsed:
    """What a turn has used of its budget: model rounds and executed calls since the last human input, and
    running time until it last paused."""

    rounds: int
    tools_run: int
    spent_us: int


@dataclass(frozen=True, slots=True)
class Execution:
    """A call as the history of what was executed tells it. `status`: how it ended, None while it has not;
    `round` see NewCall; `principal_id`: whom it was made for. Times are microseconds UTC; `started_at` is
    None for calls that did not run."""

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
    """What an actor needs to go on with a turn.

    `entries`: the thread's live entries in order, back to the newest usable summary; `calls`: the turn's
    calls in order; `spent_us`: running time before this start, waiting for people not counted;
    `rounds`/`tools_run`: model rounds and executed calls since the last human input (a message, a reply to
    a question, or "continue" on a continue prompt). `continued`: how the turn's newest continue prompt ended.
    """

    start: TurnStart
    entries: tuple[Entry, ...]
    calls: tuple[CallRow, ...]
    spent_us: int
    rounds: int
    tools_run: int
    continued: Option | None


@dataclass(frozen=True, slots=True)
class RunningCall:
    """A call that was marked running when the hub died."""

    call: CallRow
    thread: ThreadRow
    requester: Principal


@dataclass(frozen=True, slots=True)
class UnfinishedTurn:
    """A turn that was running when the hub died; `attempts` starts brought no progress."""

    turn_id: str
    thread_id: str
    attempts: int


@dataclass(frozen=True, slots=True)
class Recovery:
    """What a starting hub has to pick up."""

    running_calls: tuple[RunningCall, ...]
    turns: tuple[UnfinishedTurn, ...]
    idle_threads_with_input: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A message to be put into the outbox. `gate_id`: it is a copy of that prompt's card."""

    channel: str
    address: Address
    message: Message
    nonce: str
    gate_id: str | None = None


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The rows that now go out, and the thread's next turn if inputs were waiting."""

    outbox: tuple[OutboxRow, ...]
    next: TurnStart | None


@dataclass(frozen=True, slots=True)
class Delivery:
    """How one message of an answer went out, for `why`."""

    outbox_id: int
    state: str
    parts: int
    repeats: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything recorded about one inbound event (P11). `text`: what was said, if anything of it is kept."""

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


@dataclass(frozen=True, slots=True)
class GateView:
    """A prompt with its votes so far, and the prompt's thread."""

    gate: Gate
    votes: tuple[Vote, ...]
    thread: ThreadRow


# Records of the audit as they are kept.


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One record as it is kept. `link`: None until it is chained; `detail`: JSON."""

    id: int
    at: int
    kind: str
    actor: str | None
    subject: str
    thread_id: str | None
    detail: str
    key_id: str
    seal: bytes
    link: str | None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The last record that was dropped: the chain goes on from its link."""

    last_id: int
    link: str
    at: int
    key_id: str
    seal: bytes


@dataclass(frozen=True, slots=True)
class InboundRow:
    """What is kept of an inbound event, which no record seals. `outbox`: the rows sent in reply, cards left
    out."""

    key: str
    channel: str
    sender: str | None
    received_at: int
    outcome: str
    thread_id: str | None
    turn_id: str | None
    outbox: tuple[int, ...]


# How notes are made searchable: words, and for scripts written without spaces pairs of characters.
#
# The same terms are made from a note and from a query, so every database finds the same notes.

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
    """What a note is found by, in order: words in lower case; 部署器 as 部署, 署器, 器."""
    terms: list[str] = []
    for run, word in _runs(text):
        if word:
            terms.append(word)
        else:
            terms.extend(run[at : at + 2] for at in range(len(run)))
    return terms


def query_phrases(query: str) -> list[tuple[str, ...]]:
    """What all must be found: each phrase is a sequence of neighbouring terms.

    A single character of a script without spaces comes as a phrase of that one character; it is meant as
    the beginning of a term.
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
    """Whether a phrase is a single character that stands for the beginning of a term."""
    return len(phrase) == 1 and _CHARACTER.fullmatch(phrase[0]) is not None


def _runs(text: str) -> list[tuple[str, str]]:
    return _RUNS.findall(unicodedata.normalize("NFKC", text).casefold())
