"""What the requests to one conversation came to, on its way into the store."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from core.clock import Clock
from core.errors import StoreUnavailable
from core.messages import Address
from core.ports import Outbox, Posted

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_BEHIND = 8
STORE_PAUSE_S = 1.0


class Records:
    """Keeps records however long the database takes no writes; `changed` is called when one is kept.

    Only the record of a row's last part may be left to itself while the next row goes out.
    """

    def __init__(
        self,
        address: Address,
        outbox: Outbox,
        clock: Clock,
        tasks: asyncio.TaskGroup,
        changed: Callable[[], None],
    ) -> None:
        self._address = address
        self._outbox = outbox
        self._clock = clock
        self._tasks = tasks
        self._changed = changed
        self._behind: dict[int, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        return len(self._behind)

    def __contains__(self, row_id: int) -> bool:
        return row_id in self._behind

    async def durably(self, unit: Callable[[], Awaitable[T]]) -> T:
        """A unit of the store, however long the database takes no writes."""
        while True:
            try:
                return await unit()
            except StoreUnavailable as error:
                logger.warning("the store takes nothing for %s: %s", self._address, error)
                await self._clock.sleep(STORE_PAUSE_S)

    async def part(self, row_id: int, posted: Posted) -> None:
        """A part that others follow is shown."""
        await self._record(row_id, posted, last=False)

    async def last_part_aside(self, row_id: int, posted: Posted) -> None:
        """A row is shown completely. Recorded beside what follows; waits only where too much is behind."""
        if len(self._behind) >= MAX_BEHIND:
            await self.settled()
        task = self._tasks.create_task(self._last_part(row_id, posted), name=f"record row {row_id}")
        self._behind[row_id] = task
        task.add_done_callback(lambda _: self._done(row_id))

    async def settled(self) -> None:
        """Until nothing is behind."""
        if self._behind:
            await asyncio.wait(self._behind.values())

    def _done(self, row_id: int) -> None:
        self._behind.pop(row_id, None)
        self._changed()

    async def _last_part(self, row_id: int, posted: Posted) -> None:
        try:
            await self._record(row_id, posted, last=True)
        except Exception:  # a row left `sending` is ambiguous at the next start; the others go on
            logger.exception("row %d to %s was sent and could not be recorded", row_id, self._address)

    async def _record(self, row_id: int, posted: Posted, *, last: bool) -> None:
        await self.durably(lambda: self._outbox.record_part_sent(row_id, posted, last=last))
