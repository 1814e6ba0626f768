"""Timers, by APScheduler as the hub has them and by hand as tests have them: the same promises."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
import pytest_asyncio

from bot.timers import ScheduledTimers
from core.clock import SECOND_US, Timers, TimerState
from core.errors import StoreUnavailable
from tests.clock import JumpingClock
from tests.timers import ManualTimers

LOOK_S = 20
HOUR = 3600
STEPS = 50
"""Turns of the event loop after which everything a timer can do without waiting is done."""


@dataclass
class Bench:
    """Timers on a clock that a test moves. `called`: names, in order."""

    timers: Timers
    clock: JumpingClock
    called: list[str] = field(default_factory=list[str])

    async def passes(self, seconds: float) -> None:
        """Time goes by for everybody who waits."""
        self.clock.advance(seconds)
        await self.settled()

    async def settled(self) -> None:
        """Until nothing happens any more: all of it is on this event loop."""
        for _ in range(STEPS):
            if isinstance(self.timers, ManualTimers):
                self.timers.run_due()
            await asyncio.sleep(0)

    def notes(self, name: str) -> "Noting":
        """Return a call that notes itself."""
        return Noting(self, name)

    def state(self, name: str) -> TimerState | None:
        """Return what the listing says."""
        return next((state for state in self.timers.listing() if state.name == name), None)

    def in_s(self, seconds: float) -> int:
        """Return a moment from now."""
        return self.clock.now() + round(seconds * SECOND_US)

    def due_in_s(self, name: str) -> float | None:
        """Return how long until the next call."""
        state = self.state(name)
        return (
            None if state is None or state.due_at is None else (state.due_at - self.clock.now()) / SECOND_US
        )


@dataclass
class Noting:
    """A timer's call: notes its name, then waits while `held`, then raises `raises`."""

    bench: Bench
    name: str
    raises: Exception | None = None
    held: asyncio.Event | None = None
    cancelled: bool = False

    async def __call__(self) -> None:
        self.bench.called.append(self.name)
        if self.held is not None:
            try:
                await self.held.wait()
            except asyncio.CancelledError:
                self.cancelled = True
                raise
        if self.raises is not None:
            raise self.raises


@pytest_asyncio.fixture(params=["scheduled", "manual"])
async def bench(request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    clock = JumpingClock()
    if request.param == "manual":
        yield Bench(ManualTimers(clock), clock)
        return
    timers = ScheduledTimers(clock)
    started = asyncio.Event()

    async def start() -> None:
        started.set()

    timers.at("start", clock.now(), start)
    running = asyncio.create_task(timers.run(), name="timers")
    await started.wait()  # APScheduler is loaded in a thread
    yield Bench(timers, clock)
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running


async def test_a_repeated_timer_is_called_at_once_and_after_each_interval(bench: Bench) -> None:
    bench.timers.every("beat", 30, bench.notes("beat"))
    await bench.settled()
    assert bench.called == ["beat"]
    await bench.passes(29)
    assert bench.called == ["beat"]
    await bench.passes(1)
    await bench.passes(30)
    assert bench.called == ["beat"] * 3


async def test_intervals_that_were_missed_make_one_call(bench: Bench) -> None:
    bench.timers.every("beat", 5, bench.notes("beat"))
    await bench.settled()
    await bench.passes(600)
    assert bench.called == ["beat"] * 2
    assert bench.due_in_s("beat") == 5


async def test_a_moment_is_called_once_and_forgotten(bench: Bench) -> None:
    bench.timers.at("slot", bench.in_s(60), bench.notes("slot"))
    await bench.settled()
    assert bench.due_in_s("slot") == 60
    await bench.passes(59)
    assert bench.called == []
    await bench.passes(1)
    await bench.passes(HOUR)
    assert bench.called == ["slot"]
    assert bench.state("slot") is None


async def test_a_moment_in_the_past_is_called_now(bench: Bench) -> None:
    bench.timers.at("slot", bench.in_s(-HOUR), bench.notes("slot"))
    await bench.settled()
    assert bench.called == ["slot"]


async def test_of_two_moments_the_earlier_one_counts(bench: Bench) -> None:
    bench.timers.at("slot", bench.in_s(30), bench.notes("late"))
    bench.timers.at("slot", bench.in_s(10), bench.notes("slot"))
    bench.timers.at("slot", bench.in_s(HOUR), bench.notes("slot"))
    await bench.passes(10)
    await bench.passes(2 * HOUR)
    assert bench.called == ["slot"]


async def test_a_repeated_timer_can_be_called_early_and_keeps_its_interval(bench: Bench) -> None:
    call = bench.notes("beat")
    bench.timers.every("beat", 60, call)
    await bench.settled()
    await bench.passes(10)
    bench.timers.at("beat", bench.clock.now(), call)
    await bench.settled()
    assert bench.called == ["beat"] * 2
    assert bench.due_in_s("beat") == 60
    await bench.passes(60)
    assert bench.called == ["beat"] * 3


@pytest.mark.parametrize("error", [RuntimeError("a defect"), StoreUnavailable("the disk is full")])
async def test_a_timer_that_raises_is_logged_counted_and_kept(
    bench: Bench, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    call = bench.notes("beat")
    call.raises = error
    bench.timers.every("other", 30, bench.notes("other"))
    bench.timers.every("beat", 30, call)
    with caplog.at_level(logging.WARNING):
        await bench.settled()
        await bench.passes(30)
    assert "timer.failed name=beat" in caplog.text
    assert str(error) in caplog.text
    assert sorted(bench.called) == ["beat"] * 2 + ["other"] * 2
    state = bench.state("beat")
    assert state is not None
    assert (state.failures, state.last_run_at) == (2, bench.clock.now())
    call.raises = None
    await bench.passes(30)
    state = bench.state("beat")
    assert state is not None
    assert state.failures == 2
    assert bench.called.count("beat") == 3


async def test_a_moment_whose_call_raised_is_counted(bench: Bench) -> None:
    call = bench.notes("slot")
    call.raises = RuntimeError("a defect")
    bench.timers.at("slot", bench.clock.now(), call)
    await bench.settled()
    state = bench.state("slot")
    assert state is not None
    assert (state.failures, state.due_at) == (1, None)


async def test_a_call_never_overlaps_itself(bench: Bench) -> None:
    call = bench.notes("beat")
    call.held = asyncio.Event()
    bench.timers.every("beat", 30, call)
    await bench.settled()
    for _ in range(3):
        await bench.passes(30)
    assert bench.called == ["beat"]
    call.held.set()
    await bench.settled()
    await bench.passes(30)
    assert bench.called == ["beat"] * 2


async def test_a_timer_set_during_its_call_runs_after_it(bench: Bench) -> None:
    call = bench.notes("beat")
    call.held = asyncio.Event()
    bench.timers.every("beat", HOUR, call)
    await bench.settled()
    for _ in range(3):
        bench.timers.at("beat", bench.clock.now(), call)
        await bench.passes(1)
    assert bench.called == ["beat"]
    call.held.set()
    await bench.settled()
    assert bench.called == ["beat"] * 2


async def test_a_moment_set_by_its_own_call_is_called(bench: Bench) -> None:
    async def call() -> None:
        bench.called.append("slot")
        if len(bench.called) < 3:
            bench.timers.at("slot", bench.in_s(30), call)

    bench.timers.at("slot", bench.clock.now(), call)
    await bench.settled()
    await bench.passes(30)
    await bench.passes(30)
    await bench.passes(30)
    assert bench.called == ["slot"] * 3
    assert bench.state("slot") is None


async def test_a_clock_set_ahead_and_back_is_noticed_and_everything_due_is_called_once(bench: Bench) -> None:
    bench.timers.every("beat", 5, bench.notes("beat"))
    bench.timers.at("slot", bench.in_s(HOUR), bench.notes("slot"))
    bench.timers.at("later", bench.in_s(3 * HOUR), bench.notes("later"))
    await bench.passes(0)
    bench.clock.jump(2 * HOUR)
    await bench.passes(LOOK_S)
    assert bench.called.count("slot") == 1
    assert bench.called.count("beat") == 2
    bench.clock.jump(-2 * HOUR)
    await bench.passes(LOOK_S)
    await bench.passes(5)
    assert bench.called.count("beat") == 3
    await bench.passes(HOUR)
    assert (bench.called.count("slot"), bench.called.count("later")) == (1, 0)
    await bench.passes(2 * HOUR)
    assert (bench.called.count("slot"), bench.called.count("later")) == (1, 1)


async def test_a_jump_over_a_distant_moment_is_noticed_by_the_next_check(bench: Bench) -> None:
    bench.timers.at("slot", bench.in_s(2 * HOUR), bench.notes("slot"))
    await bench.settled()
    bench.clock.jump(2 * HOUR)
    await bench.passes(LOOK_S)
    assert bench.called == ["slot"]


async def test_after_a_jump_a_moment_due_now_does_not_wait_for_a_check(bench: Bench) -> None:
    call = bench.notes("beat")
    bench.timers.every("beat", HOUR, call)
    await bench.settled()
    bench.clock.jump(2 * HOUR)
    bench.timers.at("beat", bench.clock.now(), call)
    await bench.settled()
    assert bench.called == ["beat"] * 2


async def test_a_cancelled_timer_is_not_called_again(bench: Bench) -> None:
    bench.timers.every("beat", 30, bench.notes("beat"))
    bench.timers.at("slot", bench.in_s(30), bench.notes("slot"))
    await bench.settled()
    for name in ("beat", "slot", "unknown"):
        bench.timers.cancel(name)
    await bench.passes(HOUR)
    assert bench.called == ["beat"]
    assert bench.state("beat") is None


async def test_cancelling_ends_a_running_call_and_frees_the_name(bench: Bench) -> None:
    call = bench.notes("beat")
    call.held = asyncio.Event()
    bench.timers.every("beat", 30, call)
    await bench.settled()
    bench.timers.cancel("beat")
    bench.timers.every("beat", 60, bench.notes("new"))
    await bench.settled()
    assert call.cancelled
    assert bench.called == ["beat", "new"]
    await bench.passes(60)
    assert bench.called == ["beat", "new", "new"]


async def test_a_call_may_cancel_its_own_timer(bench: Bench) -> None:
    async def call() -> None:
        bench.timers.cancel("beat")
        await asyncio.sleep(0)
        bench.called.append("beat")

    bench.timers.every("beat", 30, call)
    await bench.settled()
    await bench.passes(30)
    assert bench.called == ["beat"]


async def test_a_timer_set_again_takes_the_new_interval(bench: Bench) -> None:
    bench.timers.every("beat", HOUR, bench.notes("old"))
    await bench.settled()
    bench.timers.every("beat", 30, bench.notes("beat"))
    await bench.settled()
    await bench.passes(30)
    assert bench.called == ["old", "beat", "beat"]


async def test_the_listing_names_every_timer(bench: Bench) -> None:
    bench.timers.every("gates", 30, bench.notes("gates"))
    bench.timers.at("a slot", bench.in_s(60), bench.notes("slot"))
    await bench.passes(0)
    now = bench.clock.now()
    assert bench.timers.listing() == [
        TimerState("a slot", now + 60 * SECOND_US, None, 0),
        TimerState("gates", now + 30 * SECOND_US, now, 0),
    ]
