"""When the next request to an address may go out: not while quiet is asked for, and later after failures."""

import asyncio
import random

from core.clock import SECOND_US, Clock

LONGEST_PAUSE_S = 30.0


class Pace:
    """The pauses of one address. `failures`: in a row, so far; `quiet_until_us`: nothing goes out before."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.failures = 0
        self.quiet_until_us = 0

    def quiet_for(self, pause_s: float) -> None:
        """Send nothing for so long, from now."""
        self.quiet_until_us = self._clock.now() + int(pause_s * SECOND_US)

    def next_pause_s(self) -> float:
        """How long to wait after one more failure."""
        self.failures += 1
        return min(LONGEST_PAUSE_S, 2.0 ** min(self.failures - 1, 16)) * (1 - 0.3 * random.random())

    async def due(self, not_before: int) -> None:
        """Wait until then, in microseconds."""
        wait_us = not_before - self._clock.now()
        if wait_us > 0:
            await self._clock.sleep(wait_us / SECOND_US)

    async def news_or(self, changed: asyncio.Event, until_us: int) -> None:
        """Wait for something to do, at most so long."""
        changed.clear()
        news = asyncio.ensure_future(changed.wait())
        pause = asyncio.ensure_future(self.due(until_us))
        try:
            await asyncio.wait({news, pause}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            news.cancel()
            pause.cancel()
