"""Routines as the rest of the hub sees them. Light: the first routine loads the parts."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from core.messages import InboundMessage
from core.store.wakes import RoutineChanged, RoutinesFired

if TYPE_CHECKING:
    from core.routine import Match
    from core.routines.registry import WebhookEntry
    from core.store.routine_port import Routines
    from core.store.routine_rows import RoutineRow

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
        """Settle the runs a dead hub left and load the patterns, before any event arrives."""
        ...

    async def load(self) -> None:
        """Load the patterns and webhooks as they are in the store."""
        ...

    async def take_over(self) -> None:
        """Settle the runs that no hub has in hand any more."""
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


class RoutineService:
    """Implementation of core.inbound.hub.EventRoutines; it hears of every change and every claimed run."""

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
        self._change = 0
        """The last change of routines that is applied here; see RoutineChanged."""

    async def prepare(self) -> None:
        """Prepare the engine before any event arrives, if there are routines."""
        self._change, some = await self._routines.routine_changes()
        if self._beats or some:
            # Its parts are loaded in a thread, so that everything else continues.
            self._engine = await asyncio.to_thread(self._build, self._signals)
            if self._own is not None:
                await self._own()
            await self._engine.prepare()

    async def look(self) -> None:
        """Apply the changes nobody told of, and have what is due looked at. Raises StoreUnavailable."""
        while (change := (await self._routines.routine_changes())[0]) != self._change:
            await self._loaded().load()
            self._change = change
            self._signals.wake()

    async def take_over(self) -> None:
        """Settle the runs of hubs whose leases have lapsed."""
        if self._engine is not None:
            await self._engine.take_over()

    async def run(self) -> None:
        """Run until cancelled; without a routine, wait for the first one."""
        if self._engine is None:
            await self._signals.something()
        await self._loaded().run()

    def matches(self, message: InboundMessage) -> "Sequence[Match]":
        return () if self._engine is None else self._engine.matches(message)

    def fired(self, wake: RoutinesFired) -> None:
        """Begin the runs that may begin now."""
        del wake
        self._signals.wake()

    def webhook(self, path: str) -> "WebhookEntry | None":
        """Return the webhook at that path; None if there is none."""
        return None if self._engine is None else self._engine.webhook(path)

    def changed(self, wake: RoutineChanged) -> None:
        """Apply a change of a routine. If others before it were missed, `look` still finds those."""
        if wake.row is None:
            self._loaded().deleted(wake.routine_id)
        else:
            self._loaded().changed(wake.row)
        if wake.change == self._change + 1:
            self._change = wake.change
        self._signals.wake()

    def _loaded(self) -> Engine:
        if self._engine is None:
            self._engine = self._build(self._signals)
        return self._engine
