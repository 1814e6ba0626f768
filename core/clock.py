"""Time as the hub sees it: integer microseconds UTC, injected so that tests can move it."""

import asyncio
import time
from typing import Protocol

SECOND_US = 1_000_000


class Clock(Protocol):
    """Wall clock and waiting."""

    def now(self) -> int:
        """Microseconds since the Unix epoch, UTC."""
        ...

    def monotonic_s(self) -> float:
        """Seconds that never go backwards, for measuring durations."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; cancellable."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        """Microseconds since the Unix epoch, UTC."""
        return time.time_ns() // 1_000

    def monotonic_s(self) -> float:
        """`time.monotonic`."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """`asyncio.sleep`."""
        await asyncio.sleep(seconds)
