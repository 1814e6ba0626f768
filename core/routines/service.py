"""Routines as the rest of the hub sees them. Light: what they are made of is loaded with the first one."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from core.messages import InboundMessage
from core.store.port import Store

if TYPE_CHECKING:
    from core.routine import Match
    from core.routines.registry import WebhookEntry
    from core.store.routines import RoutineRow

logger = logging.getLogger(__name__)


class RoutineSignals:
    """Signals that wake the routine engine."""

    def __init__(self) -> None:
        self._something = asyncio.Event()

    def wake(self) -> None:
        """There may be something to do. Never blocks."""
        self._something.set()

    async def something(self) -> None:
        """Until there is something to do."""
        await self._something.wait()
        self._something.clear()


class Engine(Protocol):
    """Carries routines out."""

    async def prepare(self) -> None:
        """Bring to an end what a dead hub left, and load the patterns: before any event is taken."""
        ...

    async def run(self) -> None:
        """Until cancelled."""
        ...

    def matches(self, message: InboundMessage) -> "Sequence[Match]":
        """See core.inbound.hub.EventRoutines."""
        ...

    def door(self, path: str) -> "WebhookEntry | None":
        """The webhook at that path."""
        ...

    def changed(self, row: "RoutineRow") -> None:
        """A routine was made or changed: from now on it is as the row says."""
        ...

    def deleted(self, routine_id: str) -> None:
        """A routine is no more."""
        ...


class ChangeListener(Protocol):
    """Told of every change, so that it holds at once."""

    def changed(self, row: "RoutineRow") -> None:
        """A routine was made or changed."""
        ...

    def deleted(self, routine_id: str) -> None:
        """A routine is no more."""
        ...

    def fired(self, routine_ids: Sequence[str]) -> None:
        """Runs were claimed."""
        ...


class RoutineService:
    """Implementation of core.inbound.hub.EventRoutines; it also hears of every change that people make."""

    def __init__(
        self,
        store: Store,
        build: Callable[[RoutineSignals], Engine],
        own: Callable[[], Awaitable[None]] | None = None,
        *,
        beats: bool = False,
    ) -> None:
        """`own` brings the hub's own routines in line with the configuration; `beats`: there is to be one."""
        self._store = store
        self._build = build
        self._own = own
        self._beats = beats
        self._signals = RoutineSignals()
        self._engine: Engine | None = None

    async def prepare(self) -> None:
        """Before any event is taken."""
        if self._beats or await self._store.has_routines():
            if self._own is not None:
                await self._own()
            # Its parts are loaded in a thread, so that everything else continues.
            self._engine = await asyncio.to_thread(self._build, self._signals)
            await self._engine.prepare()

    async def run(self) -> None:
        """Until cancelled; where there is no routine yet, nothing is done until there is."""
        if self._engine is None:
            await self._signals.something()
        await self._loaded().run()

    def matches(self, message: InboundMessage) -> "Sequence[Match]":
        """See EventRoutines."""
        return () if self._engine is None else self._engine.matches(message)

    def fired(self, routine_ids: Sequence[str]) -> None:
        """See EventRoutines."""
        del routine_ids
        self._signals.wake()

    def door(self, path: str) -> "WebhookEntry | None":
        """The webhook at that path; None: there is none."""
        return None if self._engine is None else self._engine.door(path)

    def changed(self, row: "RoutineRow") -> None:
        """A routine was made or changed."""
        self._loaded().changed(row)
        self._signals.wake()

    def deleted(self, routine_id: str) -> None:
        """A routine is no more."""
        self._loaded().deleted(routine_id)

    def _loaded(self) -> Engine:
        if self._engine is None:
            self._engine = self._build(self._signals)
        return self._engine
