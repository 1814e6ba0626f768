"""What happens in a turn, told while it happens. Hints for people; the journal is the truth."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from core.messages import Address


@dataclass(frozen=True, slots=True)
class Began:
    """The turn runs, for the first time or again; its answer goes to `address` of `channel`."""

    channel: str
    address: Address


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of a reply as the model writes it. `offset`: characters of that reply before it, so 0 begins
    a new reply; those before it are over (they asked for tools, or are written again after a failure)."""

    offset: int
    text: str


class StepState(StrEnum):
    """How far a tool call has come."""

    STARTED = "started"
    ENDED = "ended"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Step:
    """A tool call begins, ends or waits for a person."""

    call_id: str
    tool: str
    state: StepState


class LoopPhase(StrEnum):
    """How a turn's run of tools goes on: by itself until the model answers in words, or something ends it."""

    STARTED = "started"
    PROGRESS = "progress"
    FINISHED = "finished"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class AutoLoop:
    """A turn runs tools by itself. `tool`: the one that begins (STARTED) or ended last; `depth`: rounds of
    the model and `executed`: calls, both since a person last had a say; `max_rounds`, `max_tools`: how many
    there may be, None for no limit; `reason`: why it was cancelled: max_rounds, max_tools, loop_timeout,
    stopped or failed."""

    phase: LoopPhase
    tool: str
    depth: int
    executed: int
    max_rounds: int | None
    max_tools: int | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """The turn ended with its answer, which is committed."""

    text: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn ended without an answer; `text` is what the person is told."""

    text: str


@dataclass(frozen=True, slots=True)
class Rested:
    """Nothing works on the turn any more: it ended, waits for a person, or was stopped. The last event."""


TurnEvent = Began | TextDelta | Step | AutoLoop | Finished | Failed | Rested


class TurnListener(Protocol):
    """Told about running turns."""

    def turn_event(self, thread_id: str, turn_id: str, event: TurnEvent) -> None:
        """Never blocks and never fails."""
        ...


class SilentListener:
    """Nobody listens."""

    def turn_event(self, thread_id: str, turn_id: str, event: TurnEvent) -> None:
        """Does nothing."""


class TurnListeners:
    """Several listeners as one."""

    def __init__(self, *listeners: TurnListener) -> None:
        self._listeners = listeners

    def turn_event(self, thread_id: str, turn_id: str, event: TurnEvent) -> None:
        """See TurnListener."""
        for listener in self._listeners:
            listener.turn_event(thread_id, turn_id, event)
