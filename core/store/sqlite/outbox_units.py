"""The outbox as its senders use it, as units of the store."""

from collections.abc import Sequence

from core.messages import Address, MessageRef
from core.ports import OutboxRow, Posted, Surroundings
from core.store.sqlite import outbox, previews
from core.store.sqlite.onlooking import Onlooking
from core.store.sqlite.surroundings import surroundings


class OutboxUnits(Onlooking):
    """Implements core.ports.Outbox but for what fails for good (see NoticeUnits); all is described there."""

    async def pending_outbox(self, channel: str) -> Sequence[OutboxRow]:
        """See Outbox."""
        return await self._reader.run(lambda tx: outbox.pending(tx, channel))

    async def claim_outbox(self, row_id: int) -> OutboxRow:
        """See Outbox."""
        return await self._writer.run(lambda tx: outbox.claim(tx, row_id))

    async def sent_refs(self, row_id: int) -> tuple[MessageRef, ...]:
        """See Outbox."""
        return await self._reader.run(lambda tx: outbox.sent_refs(tx, row_id))

    async def record_part_sent(self, row_id: int, posted: Posted, *, last: bool) -> None:
        """See Outbox."""
        await self._writer.run(
            lambda tx: outbox.record_part_sent(tx, row_id, posted, last=last), unhurried=last
        )

    async def record_sent(self, row_id: int) -> None:
        """See Outbox."""
        await self._writer.run(lambda tx: outbox.record_sent(tx, row_id))

    async def retry_outbox(self, row_id: int, *, not_before: int, reason: str) -> None:
        """See Outbox."""
        await self._writer.run(lambda tx: outbox.retry(tx, row_id, not_before, reason))

    async def mark_ambiguous(self, row_id: int, reason: str, asked_by: int | None = None) -> OutboxRow:
        """See Outbox."""
        return await self._writer.run(lambda tx: outbox.mark_ambiguous(tx, row_id, reason, asked_by))

    async def begin_preview(self, turn_id: str, channel: str, address: Address) -> OutboxRow | None:
        """See Outbox."""
        return await self._writer.run(lambda tx: previews.begin(tx, turn_id, channel, address))

    async def record_preview(self, row_id: int, posted: Posted | None) -> None:
        """See Outbox."""
        await self._writer.run(lambda tx: previews.record(tx, row_id, posted))

    async def preview_shown(self, row_id: int) -> Posted | None:
        """See Outbox."""
        return await self._reader.run(lambda tx: previews.shown(tx, row_id))

    async def surroundings(self, row_id: int) -> Surroundings:
        """See Outbox."""
        return await self._reader.run(lambda tx: surroundings(tx, row_id))
