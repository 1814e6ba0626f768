"""Jobs as the rest of the hub sees them. Light: the first job loads what carries jobs out."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from core.lazy_dataclass import dataclass
from core.runs.lazy_engine import LazyEngine, RunEngine, RunSignals

if TYPE_CHECKING:
    from core.jobs.scheduler import ClaimedWork
    from core.jobs.worker import JobWorker
    from core.ports import OutboxListener
    from core.store.container_port import ContainerEnd, EgressUse
    from core.store.feed import Changes
    from core.store.job_port import JobViews
    from core.store.port import Store
    from core.store.rows import UnfinishedRun


class Monitor(Protocol):
    """The messages that show jobs as they run."""

    def changed(self, changes: "Changes") -> None:
        """Note the changes of a commit."""
        ...

    async def run(self) -> None:
        """Run until cancelled."""
        ...


def _unheard(job_id: str, news: object) -> None:
    del job_id, news


@dataclass(frozen=True, slots=True)
class JobOutcomes:
    """How jobs in containers begin and end, for a recording.

    `begun`: called with the ID of each that is at work, and what its person asked for; `reached`: with its
    connections by target and decision, once it has no more; `ended`: with its end, once that is stored.
    `instead`: makes what brings such jobs to their ends without any container."""

    begun: Callable[[str, str], None] = _unheard
    reached: "Callable[[str, Sequence[EgressUse]], None]" = _unheard
    ended: "Callable[[str, ContainerEnd], None]" = _unheard
    instead: "Callable[[Store, JobWorker, OutboxListener], ClaimedWork] | None" = None


class JobEngines:
    """Implementation of core.runs.lazy_engine.RunEngine: jobs of the host, and jobs in containers.

    Neither engine claims the jobs of the other. `contained`: builds the second one, once there is a job for
    it; `expects`: returns whether there may be one."""

    def __init__(
        self,
        signals: RunSignals,
        host: Callable[[RunSignals], RunEngine],
        contained: Callable[[RunSignals], RunEngine],
        is_contained: Callable[[str], Awaitable[bool]],
        expects: Callable[[], Awaitable[bool]],
    ) -> None:
        self._signals = signals
        self._of_host, self._of_contained = RunSignals(), RunSignals()
        self._host = host(self._of_host)
        self._build = contained
        self._contained: RunEngine | None = None
        self._is_contained = is_contained
        self._expects = expects

    async def resume(self, run: "UnfinishedRun") -> None:
        await (await self._engine_of(run.run_id)).resume(run)

    async def join(self, run: "UnfinishedRun", timeout_s: float) -> None:
        await (await self._engine_of(run.run_id)).join(run, timeout_s)

    async def set_aside(self, run: "UnfinishedRun") -> None:
        await (await self._engine_of(run.run_id)).set_aside(run)

    def unfinished(self) -> Sequence[str]:
        others = () if self._contained is None else self._contained.unfinished()
        return (*self._host.unfinished(), *others)

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._host.run(), name="scheduler of jobs on the host")
            running = False
            while True:
                if not running and (self._contained is not None or await self._expects()):
                    running = True
                    group.create_task(self._loaded().run(), name="scheduler of jobs in containers")
                await self._signals.something()
                self._of_host.wake()
                self._of_contained.wake()

    async def _engine_of(self, job_id: str) -> RunEngine:
        return self._loaded() if await self._is_contained(job_id) else self._host

    def _loaded(self) -> RunEngine:
        if self._contained is None:
            self._contained = self._build(self._of_contained)
        return self._contained


class JobService(LazyEngine[RunEngine]):
    """Implementation of core.runs.recovery.RunsOfKind for jobs, and of core.store.feed.ChangeListener. It is
    woken by every change of a job's state.

    `changed`: called with every change of a job. `leftovers`: returns whether earlier hubs left anything of
    jobs that is to be removed; blocking.
    `shows`: there are messages that show jobs, so that every commit counts."""

    def __init__(
        self,
        jobs: "Callable[[], JobViews]",
        build: Callable[[RunSignals], RunEngine],
        build_monitor: Callable[[], Monitor],
        changed: Callable[[], None],
        leftovers: Callable[[], bool],
    ) -> None:
        super().__init__(build)
        self._leftovers = leftovers
        self._changed = changed
        self._jobs = jobs
        self._build_monitor = build_monitor
        self._monitor: Monitor | None = None
        self.shows = False

    def changed(self, changes: "Changes") -> None:
        if changes.jobs:
            self._signals.wake()
            self._changed()
        if self._monitor is not None:
            self._monitor.changed(changes)

    async def run(self) -> None:
        """Carry jobs out until cancelled; without one, wait for the first."""
        idle = self._engine is None and not await asyncio.to_thread(self._leftovers)
        if idle and not await self._jobs().has_waiting_jobs():
            await self._signals.something()
        self._monitor, self.shows = self._build_monitor(), True
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._monitor.run(), name="monitor of jobs")
            tasks.create_task(self._loaded().run(), name="scheduler of jobs")
