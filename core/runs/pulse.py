"""The signs of life of a run: what it waits for, and since when it gave none.

A run shows life when it begins or ends a call of a tool or a model, when a model sends a piece of its reply,
and when an attempt at a model has failed. Its age is of no account.
"""

from collections.abc import Generator
from contextlib import contextmanager

from core.clock import Clock
from core.events import Step, StepState
from core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Silence:
    """What a run waits for without a sign of life. `tool`: its name; None for the model. `limit_s`: the time
    limit of the tool's call."""

    tool: str | None
    seconds: float
    limit_s: float = 0.0


class Pulse:
    """The pulse of one start of a run, which its subtasks share."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at_s = clock.monotonic_s()
        self._waits: dict[str, Step | None] = {}
        """What it waits for now: tools by call, and the model as None; the newest last."""

    def beat(self) -> None:
        """Note a sign of life."""
        self._at_s = self._clock.monotonic_s()

    def step(self, step: Step) -> None:
        """Note that a call of a tool begins or has ended."""
        self.beat()
        self._waits.pop(step.call_id, None)
        if step.state is StepState.STARTED:
            self._waits[step.call_id] = step

    @contextmanager
    def model(self, run_id: str) -> Generator[None]:
        """Note that the run waits for its model, for the time of the block."""
        self.beat()
        self._waits[run_id] = None
        try:
            yield
        finally:
            self.beat()
            del self._waits[run_id]

    def silence(self) -> Silence | None:
        """Return for how long the run has waited in silence for what it began last; None if for nothing."""
        if not self._waits:
            return None
        newest, seconds = next(reversed(self._waits.values())), self._clock.monotonic_s() - self._at_s
        return Silence(None, seconds) if newest is None else Silence(newest.tool, seconds, newest.limit_s)
