"""The hub's time: integer microseconds UTC, injected so that tests can move it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from core.lazy import dataclass

SECOND_US = 1_000_000


class Clock(Protocol):
    """The wall clock, and waiting."""

    def now(self) -> int:
        """Return the microseconds since the Unix epoch, UTC."""
        ...

    def monotonic_s(self) -> float:
        """Return seconds that never go backwards, for measuring durations."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; cancellable."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        """Return the microseconds since the Unix epoch, UTC."""
        return time.time_ns() // 1_000

    monotonic_s = staticmethod(time.monotonic)

    async def sleep(self, seconds: float) -> None:
        """Wait with `asyncio.sleep`."""
        await asyncio.sleep(seconds)


# Timers by name: one that is late, or passes over a moment because its last call still runs, loses nothing.


TimerCall = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class TimerState:
    """One timer as it stands now.

    `due_at`: microseconds UTC, None while nothing is set.
    `last_run_at`: when its last call began, None before the first.
    `failures`: how many of its calls have raised.
    """

    name: str
    due_at: int | None
    last_run_at: int | None
    failures: int


class Timers(Protocol):
    """Calls things when their time has come.

    One call of a name runs at a time. A call that raises is logged and counted, and harms no other timer.
    Methods never block.
    """

    def every(self, name: str, seconds: float, call: TimerCall) -> None:
        """Call it now, and again `seconds` after each call was due. Moments that were missed make one call.

        A raising call changes nothing in that. A clock set back delays no call by more than `seconds`.
        """
        ...

    def at(self, name: str, when: int, call: TimerCall) -> None:
        """Call it once, at that moment (microseconds UTC) or as soon afterwards as can be.

        Of two moments for one name the earlier holds. A name set by `every` is called then as well. Set
        while its call runs, the moment counts after that call.
        """
        ...

    def cancel(self, name: str) -> None:
        """Forget the timer, if there is one, and cancel its call if that runs."""
        ...

    def listing(self) -> Sequence[TimerState]:
        """Return every timer, by name. One set by `at` is listed until its call has returned."""
        ...
