"""Engines of unattended runs, built by the first run: what services of routines and jobs share. Light."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from core.store.rows import RunningCall, UnfinishedRun


class RunSignals:
    """Signals that wake an engine."""

    def __init__(self) -> None:
        self._something = asyncio.Event()

    def wake(self) -> None:
        """Signal that there may be something to do. Never blocks."""
        self._something.set()

    async def something(self) -> None:
        """Wait until there is something to do."""
        await self._something.wait()
        self._something.clear()


class RunEngine(Protocol):
    """An engine that carries runs out."""

    async def resume(self, run: "UnfinishedRun") -> None:
        """Start an interrupted run again, or end it if it is not to go on."""
        ...

    async def join(self, run: "UnfinishedRun", timeout_s: float) -> None:
        """Wait until a resumed run no longer runs, at most `timeout_s`."""
        ...

    async def set_aside(self, run: "UnfinishedRun") -> None:
        """End a run that crashed the hub repeatedly."""
        ...

    def unfinished(self) -> Sequence[str]:
        """Return the ids of the runs that are running or about to run."""
        ...

    async def run(self) -> None:
        """Run until cancelled."""
        ...


E = TypeVar("E", bound=RunEngine)


class LazyEngine(Generic[E]):
    """Implementation of core.runs.recovery.RunsOfKind by an engine that is built when it is needed."""

    def __init__(self, build: Callable[[RunSignals], E]) -> None:
        self._build = build
        self._signals = RunSignals()
        self._engine: E | None = None

    async def asks_about(self, running: "RunningCall") -> bool:
        """Return False: the outcome is recorded as unknown when the run is resumed or ends."""
        del running
        return False

    async def resume(self, run: "UnfinishedRun") -> None:
        await self._loaded().resume(run)
        self._signals.wake()

    async def join(self, run: "UnfinishedRun", timeout_s: float) -> None:
        await self._loaded().join(run, timeout_s)

    async def set_aside(self, run: "UnfinishedRun") -> None:
        await self._loaded().set_aside(run)
        self._signals.wake()

    def unfinished(self) -> Sequence[str]:
        """Return the ids of the runs that are running or about to run."""
        return () if self._engine is None else self._engine.unfinished()

    def _loaded(self) -> E:
        if self._engine is None:
            self._engine = self._build(self._signals)
        return self._engine
