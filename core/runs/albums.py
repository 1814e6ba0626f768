"""Collection of albums, whose parts arrive one by one. A turn starts once the album is due."""

import asyncio
import logging
from collections.abc import Callable

from core.clock import SECOND_US, Clock
from core.ids import Ids
from core.runs.actors import ThreadActors
from core.store.port import UnfinishedRuns
from core.store.units import patiently

logger = logging.getLogger(__name__)


class AlbumCollector:
    """A starter for threads whose input waited for the rest of an album.

    Waiting inputs are stored, so a hub that stops in between finds them at its next start.
    `joins`: called with a thread where a turn runs that the input may join.
    """

    def __init__(
        self,
        recovery: UnfinishedRuns,
        actors: ThreadActors,
        clock: Clock,
        ids: Ids,
        joins: Callable[[str], None],
    ) -> None:
        self._recovery = recovery
        self._actors = actors
        self._clock = clock
        self._ids = ids
        self._joins = joins
        self._due: dict[str, int] = {}
        self._waiting: set[str] = set()
        self._group: asyncio.TaskGroup | None = None

    def expect(self, thread_id: str, due_us: int) -> None:
        """Check the thread at `due_us` (microseconds UTC), or later if more parts arrive. Never blocks."""
        self._due[thread_id] = max(due_us, self._due.get(thread_id, 0))
        self._watch(thread_id)

    async def run(self) -> None:
        """Start due threads until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                for thread_id in list(self._due):
                    self._watch(thread_id)
                await asyncio.Event().wait()
            finally:
                self._group = None

    def _watch(self, thread_id: str) -> None:
        if self._group is not None and thread_id not in self._waiting:
            self._waiting.add(thread_id)
            self._group.create_task(self._start_when_due(thread_id), name=f"album of {thread_id}")

    async def _start_when_due(self, thread_id: str) -> None:
        try:
            while (wait_us := self._due[thread_id] - self._clock.now()) > 0:
                await self._clock.sleep(wait_us / SECOND_US)
            del self._due[thread_id]
        finally:
            # No await until the thread may be expected again, so later parts get a new task.
            self._waiting.discard(thread_id)
        turn_id = self._ids.row_id()
        try:
            started = await patiently(lambda: self._recovery.start_waiting(thread_id, turn_id), self._clock)
        except Exception:  # a defect met by one thread: the others continue
            logger.exception("turn.start_crashed thread=%s", thread_id)
            return
        if started is not None:
            self._actors.start(started)
        else:
            self._joins(thread_id)
