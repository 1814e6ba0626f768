"""Sends the rows of one address: in order of id, one request at a time.

A row is durably `sending` before its first request goes out, and every part's ref is durable before the
next part goes out. Only the record of a row's last part is left to itself while the next row goes out; it
is awaited before an edit looks for it, and before the sender ends.
"""

import asyncio
import heapq
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from channels.channel import Channel, Payload
from core.clock import SECOND_US, Clock
from core.errors import (
    AuthRejected,
    ChannelError,
    RateLimited,
    StoreUnavailable,
    Unanswered,
    Unavailable,
)
from core.messages import Address
from core.ports import Outbox, OutboxRow, Posted, SendState

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_ROWS = 100
MAX_RECORDS = 8
MAX_REPEATS = 1
LONGEST_PAUSE_S = 30.0
STORE_PAUSE_S = 1.0


class Outlet:
    """What senders send through. Closed while the platform refuses the token; then rows wait."""

    def __init__(self, channel: Channel, on_rejected: Callable[[AuthRejected], None]) -> None:
        self.channel = channel
        self._on_rejected = on_rejected
        self._open = asyncio.Event()
        self._open.set()

    async def opened(self) -> Channel:
        """The channel, once sending makes sense."""
        await self._open.wait()
        return self.channel

    def reject(self, error: AuthRejected) -> None:
        """The token was refused: nothing goes out until `use`."""
        self._open.clear()
        self._on_rejected(error)

    def use(self, channel: Channel) -> None:
        """Send through this channel from now on."""
        self.channel = channel
        self._open.set()


class Sender:
    """Everything that goes to one address. Ends when nothing is left to do."""

    def __init__(
        self,
        address: Address,
        outlet: Outlet,
        outbox: Outbox,
        clock: Clock,
        tasks: asyncio.TaskGroup,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._address = address
        self._outlet = outlet
        self._outbox = outbox
        self._clock = clock
        self._tasks = tasks
        self._jitter = jitter
        self._rows: list[tuple[int, OutboxRow]] = []
        self._held: set[int] = set()
        self._records: dict[int, asyncio.Task[None]] = {}
        self._failures = 0
        self._changed = asyncio.Event()
        self._closing = False
        self._in_request = False
        self.forgot = False

    @property
    def busy(self) -> bool:
        """Whether a request, its claim or its record is out."""
        return self._in_request or bool(self._records)

    @property
    def idle(self) -> bool:
        """Whether a row offered now would go out at once."""
        return not self._held and not self._closing

    def offer(self, row: OutboxRow) -> None:
        """Take a row into hand unless it is there already; beyond MAX_ROWS it is left to the store."""
        if row.id in self._held or row.id in self._records:
            return
        if row.state is SendState.AMBIGUOUS and row.repeats >= MAX_REPEATS:
            return
        if row.state is not SendState.SENDING and (self.forgot or len(self._rows) >= MAX_ROWS):
            self.forgot = True  # what was left out is older than what comes now: leave that out as well
            return
        self._take(row)
        self._changed.set()

    def close(self) -> None:
        """End once what is out is answered and recorded; cancel the sender if it is not busy."""
        self._closing = True
        self._changed.set()

    async def run(self) -> None:
        """Send until nothing is left. Rows in hand when it is closed or cancelled stay in the store."""
        while not self._closing:
            if self._rows:
                _, row = heapq.heappop(self._rows)
                left = await self._send(row)
                self._held.discard(row.id)
                if left is not None:
                    self._take(left)
            elif self._records:
                self._changed.clear()
                await self._changed.wait()
            else:
                return
        await self._records_settled()

    # --- one row -----------------------------------------------------------------------------------------
    async def _send(self, row: OutboxRow) -> OutboxRow | None:
        """One go at a row; returns it as it stands if it is still to be sent."""
        await self._due(row.not_before)
        channel = await self._outlet.opened()
        # From the claim on: a row that was claimed and then left alone would count as perhaps sent.
        self._in_request = True
        try:
            return await self._claim_and_show(channel, row)
        finally:
            self._in_request = False

    async def _claim_and_show(self, channel: Channel, row: OutboxRow) -> OutboxRow | None:
        if row.state is not SendState.SENDING:
            row = await self._durably(lambda: self._outbox.claim_outbox(row.id))
            if row.state is not SendState.SENDING:
                return None  # settled meanwhile
        try:
            await self._show(channel, row)
        except ChannelError as error:
            return await self._not_sent(row, error)
        except Exception:  # a defect of the adapter, met by this row: the others go on
            logger.exception("sending row %d to %s broke", row.id, self._address)
            return await self._unanswered(row, "unexpected error, see the log")
        self._failures = 0
        return None

    async def _show(self, channel: Channel, row: OutboxRow) -> None:
        parts = self._render(channel, row)
        if not parts:
            await self._fail(row, "nothing in it can be shown")
        elif row.edit_of is not None:
            await self._edit(channel, row, row.edit_of, parts[-1])
        elif len(row.refs) >= len(parts):  # an older version made more parts of it, and all went out
            await self._durably(lambda: self._outbox.record_sent(row.id))
        else:
            await self._post(channel, row, parts)

    def _render(self, channel: Channel, row: OutboxRow) -> tuple[Payload, ...]:
        try:
            return channel.render(row.message)
        except Exception:  # a defect met by one message: it fails alone
            logger.exception("rendering row %d broke", row.id)
            return ()

    async def _post(self, channel: Channel, row: OutboxRow, parts: tuple[Payload, ...]) -> None:
        for index in range(len(row.refs), len(parts)):
            nonce = row.nonce if index == 0 else f"{row.nonce}.{index}"
            posted = await channel.post(self._address, parts[index], nonce=nonce)
            if index == len(parts) - 1:
                await self._record_aside(row.id, posted)
            else:
                await self._record(row.id, posted, last=False)

    async def _edit(self, channel: Channel, row: OutboxRow, target: int, last_part: Payload) -> None:
        """Parts but the last stay as they are (see Channel.render)."""
        await self._records_settled()
        refs = await self._durably(lambda: self._outbox.sent_refs(target))
        if not refs:
            await self._fail(row, "target was never shown")
            return
        await channel.edit(refs[-1], last_part)
        await self._durably(lambda: self._outbox.record_sent(row.id))

    # --- when it did not go through ----------------------------------------------------------------------
    async def _not_sent(self, row: OutboxRow, error: ChannelError) -> OutboxRow | None:
        match error:
            case RateLimited():
                return await self._again(row, error.retry_after_s, str(error))
            case Unavailable():
                return await self._again(row, self._pause_s(), str(error))
            case AuthRejected():
                self._outlet.reject(error)
                return await self._again(row, 0, str(error))
            case Unanswered() if row.edit_of is not None:  # the same edit twice is one edit
                return await self._again(row, self._pause_s(), str(error))
            case Unanswered():
                return await self._unanswered(row, str(error))
            case _:
                await self._fail(row, str(error))
                return None

    async def _again(self, row: OutboxRow, pause_s: float, reason: str) -> OutboxRow:
        not_before = self._clock.now() + int(pause_s * SECOND_US)
        logger.info("row %d to %s waits %.1f s: %s", row.id, self._address, pause_s, reason)
        await self._durably(lambda: self._outbox.retry_outbox(row.id, not_before=not_before, reason=reason))
        return replace(row, state=SendState.QUEUED, not_before=not_before)

    async def _unanswered(self, row: OutboxRow, reason: str) -> OutboxRow | None:
        logger.warning("row %d to %s may or may not have been taken: %s", row.id, self._address, reason)
        row = await self._durably(lambda: self._outbox.mark_ambiguous(row.id, reason))
        return row if row.repeats < MAX_REPEATS else None

    async def _fail(self, row: OutboxRow, reason: str) -> None:
        logger.warning("row %d to %s failed: %s", row.id, self._address, reason)
        await self._durably(lambda: self._outbox.fail_outbox(row.id, reason))

    def _pause_s(self) -> float:
        self._failures += 1
        return min(LONGEST_PAUSE_S, 2.0 ** min(self._failures - 1, 16)) * (1 - 0.3 * self._jitter())

    async def _due(self, not_before: int) -> None:
        wait_us = not_before - self._clock.now()
        if wait_us > 0:
            await self._clock.sleep(wait_us / SECOND_US)

    # --- records -----------------------------------------------------------------------------------------
    async def _record_aside(self, row_id: int, posted: Posted) -> None:
        """Record a last part beside what follows; waits only where too many records are behind."""
        if len(self._records) >= MAX_RECORDS:
            await self._records_settled()
        task = self._tasks.create_task(self._record_last(row_id, posted), name=f"record row {row_id}")
        self._records[row_id] = task
        task.add_done_callback(lambda _: self._recorded(row_id))

    def _recorded(self, row_id: int) -> None:
        self._records.pop(row_id, None)
        self._changed.set()

    async def _record_last(self, row_id: int, posted: Posted) -> None:
        try:
            await self._record(row_id, posted, last=True)
        except Exception:  # a row left `sending` is ambiguous at the next start; the others go on
            logger.exception("row %d to %s was sent and could not be recorded", row_id, self._address)

    async def _record(self, row_id: int, posted: Posted, *, last: bool) -> None:
        await self._durably(lambda: self._outbox.record_part_sent(row_id, posted, last=last))

    async def _records_settled(self) -> None:
        if self._records:
            await asyncio.wait(self._records.values())

    async def _durably(self, unit: Callable[[], Awaitable[T]]) -> T:
        """A unit of the store, however long the database takes no writes."""
        while True:
            try:
                return await unit()
            except StoreUnavailable as error:
                logger.warning("the store takes nothing for %s: %s", self._address, error)
                await self._clock.sleep(STORE_PAUSE_S)

    def _take(self, row: OutboxRow) -> None:
        self._held.add(row.id)
        heapq.heappush(self._rows, (row.id, row))
