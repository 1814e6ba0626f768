"""Clocks: one that stands still until a test moves it, and one that hurries."""

import asyncio
import heapq
import itertools
import time
from datetime import UTC, datetime

from core.clock import SECOND_US
from tests.patience import PATIENCE_S


def zone_at_noon() -> str:
    """A time zone whose day is far from its end: what is counted by the day is not counted anew meanwhile."""
    return f"Etc/GMT{datetime.now(UTC).hour - 12:+d}"


START = 1_700_000_000 * SECOND_US


class ManualClock:
    """See core.clock.Clock. Sleepers wake, in order, when `advance` passes their time."""

    def __init__(self, start: int = START) -> None:
        self._now = start
        self._start = start
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()
        self._asleep = asyncio.Event()

    def now(self) -> int:
        """Microseconds since the epoch, as set."""
        return self._now

    def monotonic_s(self) -> float:
        """Seconds since the clock was made."""
        return (self._now - self._start) / SECOND_US

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was moved that far."""
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        until = self._now + round(seconds * SECOND_US)
        heapq.heappush(self._sleepers, (until, next(self._numbers), woken))
        self._asleep.set()
        await woken

    def advance(self, seconds: float) -> None:
        """Move the clock; whoever's time has come goes on."""
        self._now += round(seconds * SECOND_US)
        while self._sleepers and self._sleepers[0][0] <= self._now:
            _, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():
                woken.set_result(None)

    @property
    def waits_s(self) -> list[float]:
        """How long each sleeper still waits, shortest first."""
        self._sleepers = [sleeper for sleeper in self._sleepers if not sleeper[2].done()]
        heapq.heapify(self._sleepers)
        return sorted((until - self._now) / SECOND_US for until, _, _ in self._sleepers)

    async def someone_waits(self, limit_s: float = PATIENCE_S) -> float:
        """Until somebody sleeps; returns how long the first one still waits."""
        async with asyncio.timeout(limit_s):
            while not self.waits_s:
                self._asleep.clear()
                await self._asleep.wait()
        return self.waits_s[0]


class JumpingClock(ManualClock):
    """One whose hands can be set: whoever sleeps sleeps as long as before, as with a real one."""

    def __init__(self) -> None:
        super().__init__()
        self._set_us = 0

    def now(self) -> int:
        """As the hands say."""
        return super().now() + self._set_us

    def jump(self, seconds: float) -> None:
        """Set the hands; nobody wakes."""
        self._set_us += round(seconds * SECOND_US)


class HastyClock:
    """See core.clock.Clock; `speed` seconds pass in one, and as many at once as a test says."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._began_us = time.time_ns() // 1_000
        self._began_s = time.monotonic()
        self._skipped_s = 0.0
        self._sleepers: set[asyncio.Future[None]] = set()

    def hurry(self, speed: float) -> None:
        """From now on so many seconds pass in one."""
        self._skipped_s, self._began_s = self.monotonic_s(), time.monotonic()
        self._speed = speed

    def skip(self, seconds: float) -> None:
        """So much of the day passes at once, as while a machine sleeps."""
        self._began_us += int(seconds * SECOND_US)

    def now(self) -> int:
        return self._began_us + int(self.monotonic_s() * SECOND_US)

    def monotonic_s(self) -> float:
        return (time.monotonic() - self._began_s) * self._speed + self._skipped_s

    async def sleep(self, seconds: float) -> None:
        until_s = self.monotonic_s() + seconds
        await asyncio.sleep(0)
        while (left_s := until_s - self.monotonic_s()) > 0:
            skipped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._sleepers.add(skipped)
            try:
                await asyncio.wait([skipped], timeout=left_s / self._speed)
            finally:
                self._sleepers.discard(skipped)

    def pass_by(self, seconds: float) -> None:
        """So much time is over now: whoever sleeps less goes on."""
        self._skipped_s += seconds
        for sleeper in self._sleepers:
            if not sleeper.done():
                sleeper.set_result(None)
