"""The outbox as its senders use it."""

from collections.abc import Sequence

from core.messages import Address, MessageRef
from core.ports import OutboxRow, PostContext, Posted
from core.store.engine import Facet, reads, writes
from core.store.sql import gate_timers, outbox, previews
from core.store.transaction import Transaction


class OutboxUnits(Facet):
    """The units of Outbox."""

    @reads
    def pending_outbox(self, tx: Transaction, channel: str) -> Sequence[OutboxRow]:
        return outbox.pending(tx, channel)

    @writes
    def claim_outbox(self, tx: Transaction, row_id: int) -> OutboxRow:
        return outbox.claim(tx, row_id)

    @reads
    def sent_refs(self, tx: Transaction, row_id: int) -> tuple[MessageRef, ...]:
        return outbox.sent_refs(tx, row_id)

    async def record_part_sent(self, row_id: int, posted: Posted, *, last: bool) -> None:
        await self._engine.write(
            lambda tx: outbox.record_part_sent(tx, row_id, posted, last=last), unhurried=last
        )

    @writes
    def record_sent(self, tx: Transaction, row_id: int) -> None:
        return outbox.record_sent(tx, row_id)

    @writes
    def retry_outbox(self, tx: Transaction, row_id: int, *, not_before: int, reason: str) -> None:
        return outbox.retry(tx, row_id, not_before, reason)

    @writes
    def mark_ambiguous(
        self, tx: Transaction, row_id: int, reason: str, asked_by: int | None = None
    ) -> OutboxRow:
        return outbox.mark_ambiguous(tx, row_id, reason, asked_by)

    @writes
    def fail_outbox(self, tx: Transaction, row_id: int, reason: str) -> tuple[OutboxRow, ...]:
        return gate_timers.fail(tx, row_id, reason)

    @writes
    def begin_preview(
        self, tx: Transaction, turn_id: str, channel: str, address: Address
    ) -> OutboxRow | None:
        return previews.begin(tx, turn_id, channel, address)

    @writes
    def record_preview(self, tx: Transaction, row_id: int, posted: Posted | None) -> None:
        return previews.record(tx, row_id, posted)

    @reads
    def preview_shown(self, tx: Transaction, row_id: int) -> Posted | None:
        return previews.shown(tx, row_id)

    @reads
    def surroundings(self, tx: Transaction, row_id: int) -> PostContext:
        return outbox.surroundings(tx, row_id)
