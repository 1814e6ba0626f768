"""The hub's timers on APScheduler.

APScheduler decides when, and this module what is called and what becomes of it. APScheduler takes the time
from the time zone it is given and waits by the event loop it is given; both options lead to the hub's `Clock`
here. It is loaded before the hub serves: that takes tens of milliseconds, for which the first message would
wait, too.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bot.runtime import put_off
from core.clock import SECOND_US, Clock, TimerCall, TimerState
from core.errors import HubError
from core.lazy import LazyModule

if TYPE_CHECKING:
    from apscheduler import events
    from apscheduler.schedulers import asyncio as scheduling
    from apscheduler.triggers import date
else:
    events = LazyModule("apscheduler.events")
    scheduling = LazyModule("apscheduler.schedulers.asyncio")
    date = LazyModule("apscheduler.triggers.date")

logger = logging.getLogger(__name__)

LOOK_S = 20.0
"""The longest wait between two looks at what is due: a clock that was set and a suspend show then."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class HubTime(tzinfo):
    """UTC as the hub's clock has it: `datetime.now(hub_time)` is the clock's time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def utcoffset(self, dt: datetime | None) -> timedelta:
        """Return no offset."""
        del dt
        return timedelta(0)

    def dst(self, dt: datetime | None) -> timedelta:
        """Return no offset."""
        del dt
        return timedelta(0)

    def tzname(self, dt: datetime | None) -> str:
        """Return a name for logs."""
        del dt
        return "hub"

    def fromutc(self, dt: datetime) -> datetime:
        """Return the clock's time: `datetime.now` hands in the machine's."""
        del dt
        return self.moment(self._clock.now())

    def moment(self, at: int) -> datetime:
        """Return that time (microseconds UTC) as the scheduler compares it."""
        return _EPOCH.replace(tzinfo=self) + timedelta(microseconds=at)


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


class HubWaits:
    """The event loop as the scheduler uses it: it waits by the hub's clock, at most `LOOK_S` at a time."""

    def __init__(self, clock: Clock, looks: Callable[[], None]) -> None:
        """Initialize. `looks` is called after each wait; the scheduler looks for due timers then."""
        self._loop = asyncio.get_running_loop()
        self._clock = clock
        self._looks = looks

    def is_closed(self) -> bool:
        """Return whether the loop is gone."""
        return self._loop.is_closed()

    def call_soon_threadsafe(self, callback: Callable[[], None]) -> asyncio.Handle:
        """Call it soon."""
        return self._loop.call_soon_threadsafe(callback)

    def create_task(self, call: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run a timer's call."""
        return self._loop.create_task(call)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> asyncio.Task[None]:
        """Call it after that time, or `LOOK_S` if that is sooner."""
        return self._loop.create_task(self._wait(min(seconds, LOOK_S), callback), name="wait for timers")

    async def _wait(self, seconds: float, callback: Callable[[], None]) -> None:
        await self._clock.sleep(seconds)
        callback()
        self._looks()


@dataclass(slots=True)
class _Timer:
    """A name, its call and its record.

    `every_s`: None for a timer that is called once.
    `asked_at`: the earliest moment that was asked for and that the scheduler does not know of yet.
    `failing`: its last call raised.
    """

    name: str
    call: TimerCall
    every_s: float | None = None
    asked_at: int | None = None
    last_run_at: int | None = None
    failures: int = 0
    failing: bool = False
    task: "asyncio.Task[None] | None" = None


class ScheduledTimers:
    """Timers on APScheduler. A timer that is set before `run` begins, or after it ended, waits."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._timers: dict[str, _Timer] = {}
        self._busy: set[str] = set()
        """Names whose call was handed over and has not returned."""
        self._time = HubTime(clock)
        self._scheduler: scheduling.AsyncIOScheduler | None = None

    # --- setting -----------------------------------------------------------------------------------------

    def every(self, name: str, seconds: float, call: TimerCall) -> None:
        timer = self._named(name, call)
        if timer.every_s != seconds:
            timer.every_s = seconds
            if self._scheduler is not None and self._scheduler.get_job(name) is not None:
                self._scheduler.remove_job(name)
        self._ask(timer, self._clock.now())

    def at(self, name: str, when: int, call: TimerCall) -> None:
        self._ask(self._named(name, call), when)

    def cancel(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is None:
            return
        if self._scheduler is not None and self._scheduler.get_job(name) is not None:
            self._scheduler.remove_job(name)
        if timer.task is not None and timer.task is not asyncio.current_task():
            timer.task.cancel()

    def listing(self) -> Sequence[TimerState]:
        return [
            TimerState(timer.name, self._due_at(timer), timer.last_run_at, timer.failures)
            for _, timer in sorted(self._timers.items())
        ]

    def _named(self, name: str, call: TimerCall) -> _Timer:
        timer = self._timers.setdefault(name, _Timer(name, call))
        timer.call = call
        return timer

    def _ask(self, timer: _Timer, when: int) -> None:
        timer.asked_at = when if timer.asked_at is None else min(when, timer.asked_at)
        if timer.name not in self._busy:  # else after the call, or the scheduler would pass the moment over
            self._schedule(timer)

    def _schedule(self, timer: _Timer) -> None:
        """Tell the scheduler what was asked for."""
        if self._scheduler is None or timer.asked_at is None:
            return
        asked_at, timer.asked_at = timer.asked_at, None
        due_at = self._due_at(timer)
        if due_at is None or asked_at < due_at:
            self._set(timer, asked_at)
        else:
            self._scheduler.wakeup()  # the clock may have passed both since the scheduler looked

    def _set(self, timer: _Timer, due_at: int) -> None:
        if self._scheduler is not None:
            moment = self._time.moment(due_at)
            trigger = date.DateTrigger(moment, self._time)
            self._scheduler.add_job(partial(self._call, timer), trigger, id=timer.name, replace_existing=True)

    def _due_at(self, timer: _Timer) -> int | None:
        job = None if self._scheduler is None else self._scheduler.get_job(timer.name)
        times = (timer.asked_at, None if job is None else _microseconds(job.next_run_time))
        return min((at for at in times if at is not None), default=None)

    # --- running -----------------------------------------------------------------------------------------

    async def load(self) -> None:
        """Load the scheduler, unless it is loaded."""
        await asyncio.to_thread(_load)

    async def run(self) -> None:
        """Call what is due until cancelled; calls that run then are cancelled."""
        await self.load()
        started = scheduling.AsyncIOScheduler(
            timezone=self._time,
            event_loop=HubWaits(self._clock, self._follow_the_clock),
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        started.add_listener(self._handed_over, events.EVENT_JOB_SUBMITTED)
        started.add_listener(self._passed_over, events.EVENT_JOB_MAX_INSTANCES)
        started.add_listener(self._returned, events.EVENT_JOB_EXECUTED | events.EVENT_JOB_ERROR)
        started.start()
        self._scheduler = started
        for timer in list(self._timers.values()):
            self._schedule(timer)
        try:
            await asyncio.Event().wait()
        finally:
            self._scheduler = None
            started.shutdown(wait=False)
            calls = [timer.task for timer in self._timers.values() if timer.task is not None]
            for task in calls:
                task.cancel()
            await asyncio.gather(*calls, return_exceptions=True)

    def _handed_over(self, event: "events.JobSubmissionEvent") -> None:
        self._busy.add(event.job_id)
        self._passed_over(event)

    def _passed_over(self, event: "events.JobSubmissionEvent") -> None:
        timer = self._timers.get(event.job_id)
        if timer is not None and timer.every_s is not None:
            self._set(timer, self._clock.now() + int(timer.every_s * SECOND_US))

    def _returned(self, event: "events.JobExecutionEvent") -> None:
        self._busy.discard(event.job_id)
        timer = self._timers.get(event.job_id)
        if timer is None:
            return
        self._schedule(timer)
        if self._due_at(timer) is None and not timer.failing:
            del self._timers[timer.name]

    def _follow_the_clock(self) -> None:
        """Bring forward what a clock that was set back has put off."""
        if self._scheduler is None:
            return
        now = self._clock.now()
        for timer in self._timers.values():
            due_at = self._due_at(timer)
            if timer.every_s is not None and due_at is not None:
                latest = now + int(timer.every_s * SECOND_US)
                if due_at > latest:
                    self._ask(timer, latest)

    async def _call(self, timer: _Timer) -> None:
        if self._timers.get(timer.name) is not timer:
            return  # cancelled since it was handed over
        timer.task = asyncio.current_task()
        timer.last_run_at = self._clock.now()
        try:
            await timer.call()
        except asyncio.CancelledError:
            pass  # by `cancel`, or at the end: the scheduler, which awaits this, is not cancelled
        except HubError as error:
            # Such as a database that takes no writes: once in a row is enough to say.
            if not timer.failing:
                logger.warning("timer.failed name=%s error=%s", timer.name, error)
            timer.failures, timer.failing = timer.failures + 1, True
        except Exception:
            logger.exception("timer.failed name=%s", timer.name)
            timer.failures, timer.failing = timer.failures + 1, True
        else:
            timer.failing = False
        finally:
            timer.task = None


def _load() -> None:
    with put_off("apscheduler.executors", "pool", "ThreadPoolExecutor"):  # it brings multiprocessing
        import_module("apscheduler.schedulers.asyncio")
    import_module("apscheduler.executors.asyncio")
    import_module("apscheduler.triggers.date")
