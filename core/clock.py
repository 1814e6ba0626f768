"""The hub's time: integer microseconds UTC, injected so that tests can move it."""

import asyncio
import time
from typing import Protocol

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
