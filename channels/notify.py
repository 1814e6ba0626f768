"""The queue between a commit and the senders of one channel.

The store holds every row; this queue only saves asking it. So it may forget: when it is full, rows are
dropped from memory and read from the store again once there is room.
"""

import asyncio
from collections import deque
from collections.abc import Iterable

from core.messages import Address
from core.ports import OutboxRow, SendState

DEFAULT_LIMIT = 1_000


class NotifyQueue:
    """Rows of one channel that became ready, bounded, in order of notice. Single consumer.

    Rows committed as `sending` are kept beyond the bound: nobody else may send them. There are at most as
    many as turns that end at the same moment.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._rows: deque[OutboxRow] = deque()
        self._reload = False
        self._wake = asyncio.Event()

    def put(self, rows: Iterable[OutboxRow]) -> None:
        """Take notice of rows; never blocks, never fails."""
        for row in rows:
            if row.state is SendState.SENDING or (not self._reload and len(self._rows) < self._limit):
                self._rows.append(row)
            else:
                self._reload = True
        self._wake.set()

    def __len__(self) -> int:
        return len(self._rows)

    def request_reload(self) -> None:
        """The consumer shall read the store again: something is waiting there that nobody remembers."""
        self._reload = True
        self._wake.set()

    def holds(self, address: Address) -> bool:
        """Whether something for this address may still be waiting here."""
        return self._reload or any(row.address == address for row in self._rows)

    async def get(self) -> tuple[list[OutboxRow], bool]:
        """Wait for news: the rows noticed since, and whether the store has to be read after them.

        What is put from now on is newer than what a read of the store begun after this call finds.
        """
        await self._wake.wait()
        rows, reload = list(self._rows), self._reload
        self._rows.clear()
        self._reload = False
        self._wake.clear()
        return rows, reload
