"""Jobs as the rest of the hub sees them. Light: the first job loads what carries jobs out."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from core.runs.lazy_engine import LazyEngine, RunEngine, RunSignals

if TYPE_CHECKING:
    from core.store.feed import Changes
    from core.store.job_port import Jobs


class Monitor(Protocol):
    """The messages that show jobs as they run."""

    def changed(self, changes: "Changes") -> None:
        """Note the changes of a commit."""
        ...

    async def run(self) -> None:
        """Run until cancelled."""
        ...


class JobService(LazyEngine[RunEngine]):
    """Implementation of core.runs.recovery.RunsOfKind for jobs, and of core.store.feed.ChangeListener. It is
    woken by every change of a job's state.

    `changed`: called with every change of a job.
    `shows`: there are messages that show jobs, so that every commit counts."""

    def __init__(
        self,
        jobs: "Callable[[], Jobs]",
        build: Callable[[RunSignals], RunEngine],
        build_monitor: Callable[[], Monitor],
        changed: Callable[[], None],
    ) -> None:
        super().__init__(build)
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
        if self._engine is None and not await self._jobs().has_waiting_jobs():
            await self._signals.something()
        self._monitor, self.shows = self._build_monitor(), True
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._monitor.run(), name="monitor of jobs")
            tasks.create_task(self._loaded().run(), name="scheduler of jobs")
