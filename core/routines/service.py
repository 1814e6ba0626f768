"""Routines as the rest of the hub sees them. Light: the first routine loads the parts."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from core.messages import InboundMessage

if TYPE_CHECKING:
    from core.routine import Match
    from core.routines.registry import WebhookEntry
    from core.store.routine_port import Routines
    from core.store.routine_rows import RoutineRow
    from core.store.rows import RunningCall, UnfinishedRun

logger = logging.getLogger(__name__)


class RoutineSignals:
    """Signals that wake the routine engine."""

    def __init__(self) -> None:
        self._something = asyncio.Event()

    def wake(self) -> None:
        """Signal that there may be something to do. Never blocks."""
        self._something.set()

    async def something(self) -> None:
        """Wait until there is something to do."""
        await self._something.wait()
        self._something.clear()


class Engine(Protocol):
    """The routine engine."""

    async def prepare(self) -> None:
        """Load the patterns, before any event arrives."""
        ...

    async def resume(self, run: "UnfinishedRun") -> None:
        """Start an interrupted run again if its routine says so; end it otherwise."""
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

    def matches(self, message: InboundMessage) -> "Sequence[Match]": ...

    def webhook(self, path: str) -> "WebhookEntry | None":
        """Return the webhook at that path."""
        ...

    def changed(self, row: "RoutineRow") -> None:
        """Apply a routine that was created or changed."""
        ...

    def deleted(self, routine_id: str) -> None:
        """Drop a deleted routine."""
        ...


class ChangeListener(Protocol):
    """Listener to every change, so that it takes effect at once."""

    def changed(self, row: "RoutineRow") -> None:
        """Handle a routine that was created or changed."""
        ...

    def deleted(self, routine_id: str) -> None:
        """Handle a deleted routine."""
        ...

    def fired(self, routine_ids: Sequence[str]) -> None:
        """Handle claimed runs."""
        ...


class RoutineService:
    """Implementation of core.inbound.hub.EventRoutines, and of core.runs.recovery.RunsOfKind for runs of
    routines; it also hears of every change that people make."""

    def __init__(
        self,
        routines: "Routines",
        build: Callable[[RoutineSignals], Engine],
        own: Callable[[], Awaitable[None]] | None = None,
        *,
        beats: bool = False,
    ) -> None:
        """Keep the parts. `own` brings the hub's own routines in line with the configuration; `beats`:
        there is a heartbeat."""
        self._routines = routines
        self._build = build
        self._own = own
        self._beats = beats
        self._signals = RoutineSignals()
        self._engine: Engine | None = None

    async def prepare(self) -> None:
        """Prepare the engine before any event arrives, if there are routines."""
        if self._beats or await self._routines.has_routines():
            if self._own is not None:
                await self._own()
            # Its parts are loaded in a thread, so that everything else continues.
            self._engine = await asyncio.to_thread(self._build, self._signals)
            await self._engine.prepare()

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

    async def run(self) -> None:
        """Run until cancelled; without a routine, wait for the first one."""
        if self._engine is None:
            await self._signals.something()
        await self._loaded().run()

    def matches(self, message: InboundMessage) -> "Sequence[Match]":
        return () if self._engine is None else self._engine.matches(message)

    def fired(self, routine_ids: Sequence[str]) -> None:
        del routine_ids
        self._signals.wake()

    def webhook(self, path: str) -> "WebhookEntry | None":
        """Return the webhook at that path; None if there is none."""
        return None if self._engine is None else self._engine.webhook(path)

    def changed(self, row: "RoutineRow") -> None:
        """Apply a routine that was created or changed."""
        self._loaded().changed(row)
        self._signals.wake()

    def deleted(self, routine_id: str) -> None:
        """Drop a deleted routine."""
        self._loaded().deleted(routine_id)

    def _loaded(self) -> Engine:
        if self._engine is None:
            self._engine = self._build(self._signals)
        return self._engine
