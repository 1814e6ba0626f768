"""Events of a running turn, reported as they happen. They are hints for people; the journal is
authoritative."""

from enum import StrEnum
from typing import Protocol

from core.lazy import dataclass
from core.messages import Address
from core.usage import CallEnd


@dataclass(frozen=True, slots=True)
class Began:
    """A turn that runs, for the first time or again. Its answer is sent to `address` of `channel`."""

    channel: str
    address: Address


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of a reply as the model writes it.

    `attempt`: counts the model calls of this start of the turn, from 0. A higher one begins at offset 0 and
    replaces all that earlier ones wrote; a late piece of an earlier one no longer counts.
    `offset`: characters of that attempt before it."""

    offset: int
    text: str
    attempt: int = 0


class Verbosity(StrEnum):
    """The amount that people of a conversation see of its runs, apart from the answers."""

    OFF = "off"
    """Answers only, and a sentence where there is none."""
    ON = "on"
    """Steps and changes of the model as well."""
    FULL = "full"
    """Also the details of failures."""


class RunKind(StrEnum):
    """The kind of a run: a turn of a chat, a run of a routine, a job, or a subtask of one of these."""

    CHAT = "chat"
    ROUTINE = "routine"
    JOB = "job"
    SUBTASK = "subtask"


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run that begins, or continues after a person was asked. Its id is the turn's or routine run's."""

    kind: RunKind
    verbosity: Verbosity


@dataclass(frozen=True, slots=True)
class ModelSelected:
    """The model that the run's next calls go to. `model`: its name in the configuration."""

    provider: str
    model: str
    thinking: str


@dataclass(frozen=True, slots=True)
class CandidateFailed:
    """A model that did not give the reply it was called for.

    `error`: the reason in words without anything the provider wrote.
    `attempt`: the model's place among the `total` candidates for this reply, from 1.
    `retry_in_s`: the wait before it is called again; None if it isn't."""

    provider: str
    model: str
    error: str
    attempt: int
    total: int
    retry_in_s: float | None = None


@dataclass(frozen=True, slots=True)
class FailuresSpent:
    """The part of a run's patience with its models that is used up, over gates and restarts.

    `attempts`, `seconds`: failed ones and the time in them and in waits.
    `room_made`: the steps taken to make room in an overflowing context, each of which is taken once.
    `above_tokens`: the window that overflowed; only larger ones are used.
    `given_up`: models that are not called again.
    `faults`: by model, the ones only the operator can mend."""

    attempts: int = 0
    seconds: float = 0.0
    room_made: tuple[str, ...] = ()
    above_tokens: int = 0
    given_up: tuple[str, ...] = ()
    faults: tuple[tuple[str, str], ...] = ()


NOTHING_SPENT = FailuresSpent()


@dataclass(frozen=True, slots=True)
class ContextUse:
    """The tokens of a run's newest request, with the tools and the system prompt, and those that it may take.
    Both are estimates as far as the provider's counts have corrected them."""

    tokens: int = 0
    window_tokens: int = 0


UNKNOWN_USE = ContextUse()


@dataclass(frozen=True, slots=True)
class ModelTrace:
    """The models of one run. `selected`: the one that was called last, empty if none was; `context`: how full
    its newest request was; `chosen`: the model and effort that people chose for it, in words.

    `calls`: the ends of calls since the last commit, for the rows of their reservations."""

    selected: str = ""
    failures: tuple[CandidateFailed, ...] = ()
    spent: FailuresSpent = NOTHING_SPENT
    context: ContextUse = UNKNOWN_USE
    chosen: str = ""
    calls: tuple[CallEnd, ...] = ()


NO_MODELS = ModelTrace()


class RunResult(StrEnum):
    """The result of a run."""

    SUCCESS = "success"
    FINAL = "final"
    """It failed, and a message says so."""
    WAITING = "waiting"
    """A person must answer first."""
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run that ended, or pauses."""

    result: RunResult


class StepState(StrEnum):
    """The progress of a tool call."""

    STARTED = "started"
    ENDED = "ended"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Step:
    """A tool call that begins, ends or waits for a person. `limit_s`: the time limit of one that begins."""

    call_id: str
    tool: str
    state: StepState
    limit_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Output:
    """A piece of the output of a call that runs, without secrets. `offset`: characters of it before."""

    call_id: str
    offset: int
    text: str

    @property
    def end(self) -> int:
        """Return the offset of the next output."""
        return self.offset + len(self.text)

    def joined_to(self, before: "Output | None", limit_chars: int) -> "Output":
        """Return all that is known with this piece: at most its last `limit_chars`. A piece that came before
        changes nothing, and one after a gap begins again."""
        if before is not None and before.end >= self.end:
            return before
        known = before.text if before is not None and before.end == self.offset else ""
        text = (known + self.text)[-limit_chars:]
        return Output(self.call_id, self.end - len(text), text)

    def last_lines(self, count: int) -> list[str]:
        """Return the last lines that say something."""
        return [line for line in self.text.split("\n") if line.strip()][-count:]


class LoopPhase(StrEnum):
    """A phase of a turn's automatic tool use, which lasts until the model answers in words or
    something ends it."""

    STARTED = "started"
    PROGRESS = "progress"
    FINISHED = "finished"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class AutoLoop:
    """A turn that runs tools by itself.

    `tool`: the one that begins (STARTED) or ended last.
    `depth`: the model's rounds, and `executed`: the calls, both since the last human input.
    `max_rounds`, `max_tools`: their limits, None for no limit.
    `reason`: why it was cancelled: max_rounds, max_tools, loop_timeout, stopped or failed."""

    phase: LoopPhase
    tool: str
    depth: int
    executed: int
    max_rounds: int | None
    max_tools: int | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """A turn that ended with its answer, which is committed."""

    text: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A turn that ended without an answer. `text`: the message to the person."""

    text: str


@dataclass(frozen=True, slots=True)
class Rested:
    """The last event of a turn that no longer runs: it ended, waits for a person, or was stopped."""


RunEvent = RunStarted | ModelSelected | CandidateFailed | RunEnded
TurnEvent = Began | TextDelta | Step | Output | AutoLoop | Finished | Failed | Rested | RunEvent


class TurnListener(Protocol):
    """A listener for events of running turns."""

    def turn_event(self, thread_id: str, turn_id: str, event: TurnEvent) -> None:
        """Handle an event of a turn. Never blocks and never fails."""
        ...


class TurnListeners:
    """Several listeners as one, or none."""

    def __init__(self, *listeners: TurnListener | None) -> None:
        self._listeners = [one for one in listeners if one is not None]

    def turn_event(self, thread_id: str, turn_id: str, event: TurnEvent) -> None:
        for listener in self._listeners:
            listener.turn_event(thread_id, turn_id, event)
