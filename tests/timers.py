"""Timers that stand still until a test lets them run."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from core.clock import SECOND_US, Clock, TimerCall, TimerState

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Timer:
    """A name and its record. `due_at`: None while nothing is set; `asked_at`: set during its call."""

    name: str
    call: TimerCall
    every_s: float | None = None
    due_at: int | None = None
    asked_at: int | None = None
    last_run_at: int | None = None
    failures: int = 0
    task: "asyncio.Task[None] | None" = None

    async def run(self, now: int) -> None:
        self.last_run_at = now
        try:
            await self.call()
        except Exception as error:
            logger.exception("timer.failed name=%s", self.name, exc_info=error)
            self.failures += 1


class ManualTimers:
    """See core.clock.Timers. Nothing is called but by `run_due`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._timers: dict[str, _Timer] = {}

    def every(self, name: str, seconds: float, call: TimerCall) -> None:
        timer = self._named(name, call)
        timer.every_s, timer.due_at = seconds, self._clock.now()

    def at(self, name: str, when: int, call: TimerCall) -> None:
        timer = self._named(name, call)
        if timer.task is not None:
            timer.asked_at = when if timer.asked_at is None else min(when, timer.asked_at)
        else:
            timer.due_at = when if timer.due_at is None else min(when, timer.due_at)

    def cancel(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None and timer.task not in {None, asyncio.current_task()}:
            assert timer.task is not None
            timer.task.cancel()

    def listing(self) -> Sequence[TimerState]:
        return [
            TimerState(timer.name, timer.due_at, timer.last_run_at, timer.failures)
            for _, timer in sorted(self._timers.items())
        ]

    def run_due(self) -> None:
        """Start what is due and does not run."""
        now = self._clock.now()
        for timer in list(self._timers.values()):
            if timer.every_s is not None and timer.due_at is not None:
                timer.due_at = min(timer.due_at, now + int(timer.every_s * SECOND_US))
            if timer.due_at is None or timer.due_at > now:
                continue
            timer.due_at = None if timer.every_s is None else now + int(timer.every_s * SECOND_US)
            if timer.task is not None:
                continue
            timer.task = asyncio.create_task(timer.run(now), name=f"timer {timer.name}")
            timer.task.add_done_callback(lambda _, timer=timer: self._returned(timer))

    def _returned(self, timer: _Timer) -> None:
        timer.task = None
        if timer.asked_at is not None:
            timer.due_at = timer.asked_at if timer.due_at is None else min(timer.asked_at, timer.due_at)
            timer.asked_at = None
        if timer.due_at is None and not timer.failures and self._timers.get(timer.name) is timer:
            del self._timers[timer.name]

    def _named(self, name: str, call: TimerCall) -> _Timer:
        timer = self._timers.setdefault(name, _Timer(name, call))
        timer.call = call
        return timer
