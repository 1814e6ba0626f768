"""What happens in a turn, told while it happens. Hints for people; the journal is the truth."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the reply as the model writes it. `offset`: characters of the turn's text before it."""

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


@dataclass(frozen=True, slots=True)
class Finished:
    """The turn ended with its answer, which is committed."""

    text: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn ended without an answer; `text` is what the person is told."""

    text: str


TurnEvent = TextDelta | Step | Finished | Failed


class TurnListener(Protocol):
    """Told about running turns."""

    def turn_event(self, thread_id: str, turn_id: str, event: TurnEvent) -> None:
        """Never blocks and never fails."""
        ...


class SilentListener:
    """Nobody listens."""

    def turn_event(self, thread_id: str, turn_id: str, event: TurnEvent) -> None:
        """Does nothing."""
