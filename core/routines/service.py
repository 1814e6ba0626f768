"""Routines as the rest of the hub sees them. Light: the first routine loads the parts."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from core.messages import InboundMessage
from core.runs.registry import LazyEngine, RunEngine, RunSignals

if TYPE_CHECKING:
    from core.routine import Match
    from core.routines.triggers import WebhookEntry
    from core.store.routine_rows import RoutineRow
    from core.store.unattended_port import Routines

logger = logging.getLogger(__name__)


class Engine(RunEngine, Protocol):
    """The routine engine."""

    async def prepare(self) -> None:
        """Load the patterns, before any event arrives."""
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


class RoutineService(LazyEngine[Engine]):
    """Implementation of core.inbound.hub.EventRoutines, and of core.runs.recovery.RunsOfKind for runs of
    routines; it also hears of every change that people make."""

    def __init__(
        self,
        routines: "Routines",
        build: Callable[[RunSignals], Engine],
        own: Callable[[], Awaitable[None]] | None = None,
        *,
        beats: bool = False,
    ) -> None:
        """Keep the parts. `own` brings the hub's own routines in line with the configuration; `beats`:
        there is a heartbeat."""
        super().__init__(build)
        self._routines = routines
        self._own = own
        self._beats = beats

    async def prepare(self) -> None:
        """Prepare the engine before any event arrives, if there are routines."""
        if self._beats or await self._routines.has_routines():
            if self._own is not None:
                await self._own()
            # Its parts are loaded in a thread, so that everything else continues.
            self._engine = await asyncio.to_thread(self._build, self._signals)
            await self._engine.prepare()

    async def run(self) -> None:
        """Run until cancelled; without a routine, wait for the first one."""
        if self._engine is None:
            await self._signals.something()
        await self._loaded().run()

    def job_changed(self) -> None:
        """Note that a job changed, which may be a run's."""
        if self._engine is not None:
            self._signals.wake()

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
