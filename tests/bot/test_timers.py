"""The hub's timers on the machine's own clock: a stopped process, a blocked loop, a clock that is set.

What is due stands in a list, as in the hub it stands in the store. Whatever happens to the clock, every entry
is done once.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bot.timers import LOOK_S, HubTime, ScheduledTimers
from core.clock import SECOND_US, Clock, SystemClock, Timers
from tests.clock import ManualClock
from tests.patience import PATIENCE_S
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord
from tests.tree import ROOT

HOUR_US = 3600 * SECOND_US
SLEEPER = """
import asyncio, sys
from pathlib import Path
from tests.bot.test_timers import be_a_hub

asyncio.run(be_a_hub(Path(sys.argv[1]), float(sys.argv[2])))
"""


@dataclass
class Work:
    """Things that are due, by name, and how often each was done."""

    clock: Clock
    due: dict[str, int] = field(default_factory=dict[str, int])
    done: Counter[str] = field(default_factory=Counter[str])
    looks: int = 0

    async def look(self) -> None:
        """Do what is due, as the hub's timers do."""
        self.looks += 1
        for name in [name for name, due_at in self.due.items() if due_at <= self.clock.now()]:
            del self.due[name]
            self.done[name] += 1

    def expect(self, timers: Timers, within_s: float, count: int) -> None:
        """Spread things over that time, each with a timer of its own beside the one that looks."""
        now = self.clock.now()
        for number in range(count):
            name = f"slot {number}"
            self.due[name] = now + round(within_s * SECOND_US * (number + 1) / count)
            timers.at(name, self.due[name], self.look)
        timers.every("look", within_s / 3, self.look)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not holds():  # noqa: ASYNC110 - the machine's clock tells nobody
                await asyncio.sleep(0.01)


@dataclass
class SetClock(SystemClock):
    """The machine's clock, whose hands can be set; whoever sleeps sleeps as long as before, `speed` times as
    fast."""

    speed: float = 1
    ahead_us: int = 0

    def now(self) -> int:
        return super().now() + self.ahead_us

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / self.speed)


async def be_a_hub(out: Path, within_s: float) -> None:
    """Do what is due until all of it is done; then write how often each thing was."""
    clock = SystemClock()
    timers, work = ScheduledTimers(clock), Work(clock)
    running = asyncio.create_task(timers.run())
    work.expect(timers, within_s, 8)
    out.with_suffix(".begun").touch()
    while work.due:  # noqa: ASYNC110 - as above
        await asyncio.sleep(0.01)
    looks = work.looks
    while work.looks < looks + 2:  # noqa: ASYNC110 - nothing is done a second time
        await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    unfinished = out.with_suffix(".new")
    unfinished.write_text(json.dumps(work.done))
    unfinished.rename(out)


def test_after_a_suspension_everything_due_is_done_once(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    stopped_s = profile.pick(test=3, proof=60)
    out = tmp_path / "done.json"
    words = [sys.executable, "-c", SLEEPER, str(out), str(stopped_s * 2 / 3)]
    with subprocess.Popen(words, cwd=ROOT) as process:
        limit_s = time.monotonic() + PATIENCE_S
        while not out.with_suffix(".begun").exists():
            assert time.monotonic() < limit_s
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(stopped_s)  # real time is what is tested here
        os.kill(process.pid, signal.SIGCONT)
        assert process.wait(PATIENCE_S + stopped_s) == 0
    done = json.loads(out.read_text())
    assert done == {f"slot {number}": 1 for number in range(8)}
    proof_record("timers", stopped_s=stopped_s, due_meanwhile=len(done), done_twice=0)


async def test_after_clock_jumps_everything_due_is_done_once(
    proof_record: ProofRecord,
) -> None:
    clock = SetClock(speed=200)
    timers, work = ScheduledTimers(clock), Work(clock)
    running = asyncio.create_task(timers.run())
    now = clock.now()
    work.due = {"in an hour": now + HOUR_US, "in three hours": now + 3 * HOUR_US}
    for name, due_at in work.due.items():
        timers.at(name, due_at, work.look)
    timers.every("look", 0.2, work.look)
    await work.until(lambda: work.looks > 0)
    clock.ahead_us = 2 * HOUR_US
    await work.until(lambda: work.done["in an hour"] > 0)
    clock.ahead_us, looks = 0, work.looks
    await work.until(lambda: work.looks >= looks + 3)
    assert work.done == {"in an hour": 1}
    clock.ahead_us, looks = 3 * HOUR_US, work.looks
    await work.until(lambda: work.looks >= looks + 3)
    assert work.done == {"in an hour": 1, "in three hours": 1}
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    proof_record("timers", clock_set_h=[2, -2, 3], done_by_jump=dict(work.done))


async def test_after_a_blocked_loop_everything_due_is_done_once(
    profile: Profile, proof_record: ProofRecord
) -> None:
    blocked_s = profile.pick(test=1.0, proof=5.0)
    clock = SystemClock()
    timers, work = ScheduledTimers(clock), Work(clock)
    running = asyncio.create_task(timers.run())
    work.expect(timers, blocked_s * 0.8, 8)
    await work.until(lambda: work.looks > 0)
    time.sleep(blocked_s)
    await work.until(lambda: not work.due)
    looks = work.looks
    await work.until(lambda: work.looks >= looks + 2)
    assert work.done == {f"slot {number}": 1 for number in range(8)}
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    proof_record("timers", blocked_s=blocked_s, due_while_blocked=len(work.done))


async def test_a_clock_jump_is_noticed_within_twenty_seconds() -> None:
    """However far off the next moment is, nobody waits longer than that for it."""
    clock = ManualClock()
    timers = ScheduledTimers(clock)
    running = asyncio.create_task(timers.run())
    timers.at("slot", clock.now() + HOUR_US, Work(clock).look)
    assert await clock.someone_waits() == LOOK_S == 20
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def test_the_scheduler_uses_the_hubs_time() -> None:
    clock = ManualClock()
    hub_time = HubTime(clock)
    clock.advance(12.5)
    told = datetime.now(hub_time)
    assert told == datetime.fromtimestamp(clock.now() / SECOND_US, UTC)
    assert told.astimezone(hub_time) is told
    assert told == hub_time.moment(clock.now())
