"""Delivery of one row: as posted parts, in place of a preview, as an edit, or as a removal.

Each part's ref is durable before the next part is sent. Only the record of the last part is
written in the background.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from channels.channel import FILE, Channel, Look, Payload, Spaced
from channels.text.blocks import weight
from core.clock import Clock
from core.errors import AddressGone, AuthRejected, LeaseLost, MessageRejected, StoreUnavailable, Unanswered
from core.messages import Address, Message, MessageRef
from core.off_loop import ON_LOOP_CHARS, off_loop
from core.ports import OutboundGate, Outbox, OutboxRow, PostContext, Posted, SendState, Uncertain

# The session of one channel, through which everything is sent.

logger = logging.getLogger(__name__)

INTERVAL_S = 1.0
"""The seconds between messages that most platforms take at one address (see channels.channel.Spaced)."""
MAX_UNREACHABLE = 100
MAX_PRERENDERED = 64
"""The limit on messages rendered while their commits are in progress."""


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The reason why an address accepts no messages from us, and since when (microseconds UTC)."""

    reason: str
    since: int


OnPosted = Callable[[OutboxRow, int, Posted], None]
"""Called with a row, the number of its part that is shown, counted from 0, and where. Never fails."""


def unheard(row: OutboxRow, part: int, posted: Posted) -> None:
    """Ignore it."""


class ChannelSession:
    """The connection through which senders send. It is closed while the platform rejects the token; rows
    then wait.

    `went`: called with the result of each message.
    `pass_on`: called with rows to be sent elsewhere, perhaps on other channels.
    `gate`: checks outgoing messages, if set.
    `shown`: called with each part that a row has on the platform."""

    def __init__(
        self,
        channel: Channel,
        on_rejected: Callable[[AuthRejected], None],
        on_send: Callable[[SendState], None] = lambda _: None,
        pass_on: Callable[[Sequence[OutboxRow]], None] = lambda _: None,
        gate: OutboundGate | None = None,
        on_posted: OnPosted = unheard,
    ) -> None:
        self.gate = gate
        self.shown = on_posted
        self.channel = channel
        self._asked: Channel | None = None
        self._spaced: Spaced | None = None
        self._on_rejected = on_rejected
        self.went = on_send
        self.pass_on = pass_on
        self._open = asyncio.Event()
        self._open.set()
        self._unreachable: OrderedDict[Address, Unreachable] = OrderedDict()
        self._prerendered: OrderedDict[Message, tuple[Channel, tuple[Payload, ...]]] = OrderedDict()

    @property
    def unreachable(self) -> Mapping[Address, Unreachable]:
        """Addresses that refused the last message sent there. Only the newest are kept."""
        return self._unreachable

    def not_reached(self, address: Address, reason: str, now: int) -> None:
        """Record that the platform accepts nothing from us for this address."""
        before = self._unreachable.pop(address, None)
        self._unreachable[address] = Unreachable(reason, before.since if before is not None else now)
        if len(self._unreachable) > MAX_UNREACHABLE:
            self._unreachable.popitem(last=False)

    def reached(self, address: Address) -> None:
        """Record that the address accepted a message."""
        self._unreachable.pop(address, None)

    async def opened(self) -> Channel:
        """Wait until sending is possible, and return the channel."""
        await self._open.wait()
        return self.channel

    def interval_s(self, channel: Channel, address: Address) -> float:
        """Return the seconds between messages that the channel's platform takes there."""
        if channel is not self._asked:  # looking whether it says so takes as long as a statement
            self._asked, self._spaced = channel, channel if isinstance(channel, Spaced) else None
        return INTERVAL_S if self._spaced is None else self._spaced.interval_s(address)

    def prerender(self, message: Message) -> None:
        """Render a message that will be sent soon, unless that takes long. Unused results are dropped."""
        if weight(message.blocks) > ON_LOOP_CHARS:
            return
        self._prerendered[message] = (self.channel, self._render(self.channel, message))
        if len(self._prerendered) > MAX_PRERENDERED:
            self._prerendered.popitem(last=False)

    async def rendered(self, channel: Channel, message: Message) -> tuple[Payload, ...]:
        """Return the message as rendered for `channel`. Empty if rendering fails, which is logged."""
        by, parts = self._prerendered.pop(message, (None, ()))
        if by is channel:
            return parts
        return await off_loop(weight(message.blocks), lambda: self._render(channel, message))

    def _render(self, channel: Channel, message: Message) -> tuple[Payload, ...]:
        try:
            return channel.render(message)
        except Exception:  # a defect met by one message: it fails alone
            logger.exception("outbox.render_crashed channel=%s", channel.name)
            return ()

    def reject(self, channel: Channel, error: AuthRejected) -> None:
        """Stop sending until `use`, because this channel's token was rejected.

        Rejections of a channel that has since been replaced are ignored."""
        if channel is self.channel:
            self._open.clear()
            self._on_rejected(error)

    def use(self, channel: Channel) -> None:
        """Send through this channel from now on."""
        self.channel = channel
        self._open.set()


# The results of the requests to one conversation, as they are written to the store.

T = TypeVar("T")

MAX_BEHIND = 8
STORE_PAUSE_S = 1.0


class SendReceipts:
    """A writer of records that waits while the database accepts no writes. `changed` is called after each
    background record.

    Only the record of a row's last part may be written while the next row is being sent.
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
        """Run a unit of the store, retrying for as long as the database accepts no writes."""
        while True:
            try:
                return await unit()
            except LeaseLost:
                raise
            except StoreUnavailable as error:
                logger.warning("outbox.store_unavailable address=%s error=%s", self._address, error)
                await self._clock.sleep(STORE_PAUSE_S)

    async def part(self, row_id: int, posted: Posted) -> None:
        """Record that a part has been shown and others follow."""
        await self._record(row_id, posted, last=False)

    async def last_part_aside(self, row_id: int, posted: Posted) -> None:
        """Record in the background that a row is complete. Waits only if too many records are pending."""
        if len(self._behind) >= MAX_BEHIND:
            await self.settled()
        task = self._tasks.create_task(self._last_part(row_id, posted), name=f"record row {row_id}")
        self._behind[row_id] = task
        task.add_done_callback(lambda _: self._done(row_id))

    async def settled(self) -> None:
        """Wait until no records are pending."""
        if self._behind:
            await asyncio.wait(self._behind.values())

    def _done(self, row_id: int) -> None:
        self._behind.pop(row_id, None)
        self._changed()

    async def _last_part(self, row_id: int, posted: Posted) -> None:
        try:
            await self._record(row_id, posted, last=True)
        except Exception:  # a row left `sending` is ambiguous at the next start; the others continue
            logger.exception("outbox.record_crashed row=%d address=%s", row_id, self._address)

    async def _record(self, row_id: int, posted: Posted, *, last: bool) -> None:
        await self.durably(lambda: self._outbox.record_part_sent(row_id, posted, last=last))


class RepeatableUnanswered(Unanswered):
    """A missing answer to a request that has no further effect if it is repeated."""


class RowDelivery:
    """The requests for rows of one address, each recorded once it is answered.

    `asked_us`: the time of the newest request to show something new.
    """

    def __init__(
        self, address: Address, session: ChannelSession, outbox: Outbox, records: SendReceipts, clock: Clock
    ) -> None:
        self._address = address
        self._session = session
        self._outbox = outbox
        self._records = records
        self._clock = clock
        self.asked_us = 0

    async def show(self, channel: Channel, row: OutboxRow) -> None:
        """Complete a row that is `sending`. Shown parts are recorded. Raises ChannelError."""
        self.asked_us = self._clock.now()
        row = await self._released(row)
        parts = await self._session.rendered(channel, row.message)
        if row.edit_of is not None and not row.message.blocks:
            await self._take_away(channel, row, row.edit_of)
        elif not parts:
            await self.fail(row, "it has no content that can be shown")
        elif row.edit_of is not None:
            await self._edit(channel, row, row.edit_of, parts)
        elif len(row.refs) >= len(parts):  # an older version rendered more parts, and all were sent
            await self._records.durably(lambda: self._outbox.record_sent(row.id))
        else:
            await self._post(channel, row, parts)

    async def find(self, channel: Channel, row: OutboxRow) -> OutboxRow | None:
        """Find the unanswered part and record it. Returns None if it is not found. Raises ChannelError."""
        row = await self._released(row)
        parts, index = await self._session.rendered(channel, row.message), len(row.refs)
        if index >= len(parts):
            return row if parts else None
        posted = await channel.recover_post(
            self._address, parts[index], _nonce(row, index), self.look(row.id)
        )
        logger.info(
            "outbox.lookup_done row=%d address=%s found=%s", row.id, self._address, posted is not None
        )
        if posted is None:
            return None
        await self._records.part(row.id, posted)
        return replace(row, state=SendState.SENDING, refs=(*row.refs, posted.ref))

    def look(self, row_id: int) -> Look:
        """Return a function that loads the context of this row, with messages as they may be sent."""

        async def look() -> PostContext:
            around = await self._records.durably(lambda: self._outbox.post_context(row_id))
            uncertain = [await self._as_sent(other) for other in around.uncertain]
            return replace(around, uncertain=tuple(other for other in uncertain if other is not None))

        return look

    async def _as_sent(self, other: Uncertain) -> Uncertain | None:
        try:
            return replace(other, row=await self._released(other.row))
        except MessageRejected:  # so it was never sent
            return None

    async def _released(self, row: OutboxRow) -> OutboxRow:
        gate = self._session.gate
        if gate is None:
            return row
        return replace(row, message=await self._records.durably(lambda: gate.released(row)))

    async def _post(self, channel: Channel, row: OutboxRow, parts: tuple[Payload, ...]) -> None:
        if row.replaces is not None and not row.refs:
            row = await self._take_over(channel, row, row.replaces, parts)
        for index in range(len(row.refs), len(parts)):
            # The first part without a ref is the unanswered one; the parts after it were never requested.
            repeated = row.repeats > 0 and index == len(row.refs)
            self.asked_us = self._clock.now()
            posted = await channel.post(
                self._address, parts[index], nonce=_nonce(row, index), repeated=repeated
            )
            self._session.reached(self._address)
            self._session.shown(row, index, posted)
            if index == len(parts) - 1:
                await self._records.last_part_aside(row.id, posted)
            else:
                await self._records.part(row.id, posted)

    async def _take_over(
        self, channel: Channel, row: OutboxRow, preview_id: int, parts: tuple[Payload, ...]
    ) -> OutboxRow:
        """Turn a preview into the row's first part. If that is refused (a person deleted it), drop the
        preview."""
        shown = await self._records.durably(lambda: self._outbox.preview_shown(preview_id))
        if shown is None:
            return row
        try:
            await _repeatable(channel.edit(shown.ref, parts[0]))
        except (MessageRejected, AddressGone) as error:
            logger.info("preview.edit_failed row=%d address=%s error=%s", preview_id, self._address, error)
            await self._let_go(channel, shown.ref)
            await self._records.durably(lambda: self._outbox.record_preview(preview_id, None))
            return row
        self._session.shown(row, 0, shown)
        if len(parts) == 1:
            await self._records.last_part_aside(row.id, shown)
        else:
            await self._records.part(row.id, shown)
        return replace(row, refs=(shown.ref,))

    async def _let_go(self, channel: Channel, ref: MessageRef) -> None:
        """Remove a preview that is being replaced."""
        try:
            await _repeatable(channel.retract(ref))
        except (MessageRejected, AddressGone) as error:
            logger.info("preview.delete_failed ref=%s address=%s error=%s", ref, self._address, error)

    async def _take_away(self, channel: Channel, row: OutboxRow, target: int) -> None:
        """Remove the target's messages. If one stays and the row has an outcome to show, the row fails.

        A failed row releases the message to be sent in its place."""
        refs = await self._records.durably(lambda: self._outbox.sent_refs(target))
        for ref in refs:
            if await _repeatable(channel.retract(ref)):
                continue
            logger.info("outbox.delete_refused row=%d address=%s", target, self._address)
            if row.message.outcome is not None:  # there is an outcome to report
                await self.fail(row, "the platform can't delete it")
                return
        await self._records.durably(lambda: self._outbox.record_sent(row.id))

    async def _edit(self, channel: Channel, row: OutboxRow, target: int, parts: Sequence[Payload]) -> None:
        """Edit one part of the target: the last, or the one that bears a mark. The others stay as they are;
        see Channel.render."""
        await self._records.settled()
        refs = await self._records.durably(lambda: self._outbox.sent_refs(target))
        if not refs:
            await self.fail(row, "the message to change was never sent")
            return
        part = -1
        if row.marks:
            part = max((at for at, one in enumerate(parts) if FILE not in one), default=-1)
            if len(refs) != len(parts):
                await self.fail(row, "the message to mark was sent in other parts")
                return
        await _repeatable(channel.edit(refs[part], parts[part]))
        await self._records.durably(lambda: self._outbox.record_sent(row.id))

    async def fail(self, row: OutboxRow, reason: str) -> None:
        """Mark the row as failed and release any message to be sent elsewhere instead."""
        self._session.went(SendState.FAILED)
        logger.warning(
            "outbox.send_failed channel=%s row=%d address=%s error=%s",
            row.channel,
            row.id,
            self._address,
            reason,
        )
        replacements = await self._records.durably(lambda: self._outbox.fail_outbox(row.id, reason))
        if replacements:
            self._session.pass_on(replacements)


def _nonce(row: OutboxRow, index: int) -> str:
    return row.nonce if index == 0 else f"{row.nonce}.{index}"


async def _repeatable(request: Awaitable[T]) -> T:
    """Await a request that can safely be made twice, such as an edit or a removal."""
    try:
        return await request
    except Unanswered as error:
        raise RepeatableUnanswered(str(error)) from error
