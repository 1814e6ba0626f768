"""How one row comes to be seen: posted in parts, in the place of a preview, as a change, or taken away.

Every part's ref is durable before the next part goes out; only the record of the last one is left to itself.
"""

import logging
from collections.abc import Awaitable
from dataclasses import replace
from typing import TypeVar

from channels.channel import Channel, Look, Payload
from channels.outlet import Outlet
from channels.records import Records
from core.clock import Clock
from core.errors import AddressGone, MessageRejected, Unanswered
from core.messages import Address, MessageRef
from core.ports import Outbox, OutboxRow, SendState, Surroundings, Uncertain

logger = logging.getLogger(__name__)

T = TypeVar("T")


class RepeatableUnanswered(Unanswered):
    """No answer to something that does no more when it is done twice."""


class RowDelivery:
    """The requests that rows of one address take, each recorded once it is answered.

    `asked_us`: when the newest request to show something new was made.
    """

    def __init__(
        self, address: Address, outlet: Outlet, outbox: Outbox, records: Records, clock: Clock
    ) -> None:
        self._address = address
        self._outlet = outlet
        self._outbox = outbox
        self._records = records
        self._clock = clock
        self.asked_us = 0

    async def show(self, channel: Channel, row: OutboxRow) -> None:
        """Do what is left of a row that is `sending`. Raises ChannelError; what was shown is recorded."""
        self.asked_us = self._clock.now()
        row = await self._released(row)
        parts = await self._outlet.drawn(channel, row.message)
        if row.edit_of is not None and not row.message.blocks:
            await self._take_away(channel, row, row.edit_of)
        elif not parts:
            await self.fail(row, "nothing in it can be shown")
        elif row.edit_of is not None:
            await self._edit(channel, row, row.edit_of, parts[-1])
        elif len(row.refs) >= len(parts):  # an older version made more parts of it, and all went out
            await self._records.durably(lambda: self._outbox.record_sent(row.id))
        else:
            await self._post(channel, row, parts)

    async def find(self, channel: Channel, row: OutboxRow) -> OutboxRow | None:
        """Find the part that went unanswered, and record it; None if it is not found. Raises ChannelError."""
        row = await self._released(row)
        parts, index = await self._outlet.drawn(channel, row.message), len(row.refs)
        if index >= len(parts):
            return row if parts else None
        posted = await channel.find_lost(self._address, parts[index], _nonce(row, index), self.look(row.id))
        logger.info("row %d to %s is %s", row.id, self._address, "found" if posted else "not found")
        if posted is None:
            return None
        await self._records.part(row.id, posted)
        return replace(row, state=SendState.SENDING, refs=(*row.refs, posted.ref))

    def look(self, row_id: int) -> Look:
        """Return what tells how things stand around this row, with messages as they may be sent."""

        async def look() -> Surroundings:
            around = await self._records.durably(lambda: self._outbox.surroundings(row_id))
            uncertain = [await self._as_sent(other) for other in around.uncertain]
            return replace(around, uncertain=tuple(other for other in uncertain if other is not None))

        return look

    async def _as_sent(self, other: Uncertain) -> Uncertain | None:
        try:
            return replace(other, row=await self._released(other.row))
        except MessageRejected:  # so it was never sent
            return None

    async def _released(self, row: OutboxRow) -> OutboxRow:
        gate = self._outlet.gate
        if gate is None:
            return row
        return replace(row, message=await self._records.durably(lambda: gate.released(row)))

    async def _post(self, channel: Channel, row: OutboxRow, parts: tuple[Payload, ...]) -> None:
        if row.replaces is not None and not row.refs:
            row = await self._take_over(channel, row, row.replaces, parts)
        for index in range(len(row.refs), len(parts)):
            # What went unanswered is the first part without a ref; those after it were never asked for.
            repeated = row.repeats > 0 and index == len(row.refs)
            self.asked_us = self._clock.now()
            posted = await channel.post(
                self._address, parts[index], nonce=_nonce(row, index), repeated=repeated
            )
            self._outlet.reached(self._address)
            if index == len(parts) - 1:
                await self._records.last_part_aside(row.id, posted)
            else:
                await self._records.part(row.id, posted)

    async def _take_over(
        self, channel: Channel, row: OutboxRow, preview_id: int, parts: tuple[Payload, ...]
    ) -> OutboxRow:
        """Make a preview the row's first part. Where that is refused (a person deleted it) it is no more."""
        shown = await self._records.durably(lambda: self._outbox.preview_shown(preview_id))
        if shown is None:
            return row
        try:
            await _repeatable(channel.edit(shown.ref, parts[0]))
        except (MessageRejected, AddressGone) as error:
            logger.info("preview %d to %s makes way: %s", preview_id, self._address, error)
            await self._let_go(channel, shown.ref)
            await self._records.durably(lambda: self._outbox.record_preview(preview_id, None))
            return row
        if len(parts) == 1:
            await self._records.last_part_aside(row.id, shown)
        else:
            await self._records.part(row.id, shown)
        return replace(row, refs=(shown.ref,))

    async def _let_go(self, channel: Channel, ref: MessageRef) -> None:
        """Take away what something else is shown instead of."""
        try:
            await _repeatable(channel.retract(ref))
        except (MessageRejected, AddressGone) as error:
            logger.info("%s stays at %s: %s", ref, self._address, error)

    async def _take_away(self, channel: Channel, row: OutboxRow, target: int) -> None:
        """Where it stays, the row fails, and with that what is to be said then goes out."""
        refs = await self._records.durably(lambda: self._outbox.sent_refs(target))
        for ref in refs:
            if await _repeatable(channel.retract(ref)):
                continue
            logger.info("what row %d shows to %s stays: the platform keeps it", target, self._address)
            if row.message.outcome is not None:  # somebody is to be told
                await self.fail(row, "the platform keeps it")
                return
        await self._records.durably(lambda: self._outbox.record_sent(row.id))

    async def _edit(self, channel: Channel, row: OutboxRow, target: int, last_part: Payload) -> None:
        """Parts but the last stay as they are (see Channel.render)."""
        await self._records.settled()
        refs = await self._records.durably(lambda: self._outbox.sent_refs(target))
        if not refs:
            await self.fail(row, "target was never shown")
            return
        await _repeatable(channel.edit(refs[-1], last_part))
        await self._records.durably(lambda: self._outbox.record_sent(row.id))

    async def fail(self, row: OutboxRow, reason: str) -> None:
        """It will never be shown; what is to be said elsewhere then goes out."""
        self._outlet.went(SendState.FAILED)
        logger.warning("row %d to %s failed: %s", row.id, self._address, reason)
        elsewhere = await self._records.durably(lambda: self._outbox.fail_outbox(row.id, reason))
        if elsewhere:
            self._outlet.pass_on(elsewhere)


def _nonce(row: OutboxRow, index: int) -> str:
    return row.nonce if index == 0 else f"{row.nonce}.{index}"


async def _repeatable(request: Awaitable[T]) -> T:
    """Changing a message twice is changing it once; so is taking it away."""
    try:
        return await request
    except Unanswered as error:
        raise RepeatableUnanswered(str(error)) from error
