"""Sending of one address's rows in order of id, one request at a time.

A row is durably `sending` before its first request (see delivery for the requests). Only the
record of a row's last part is written while the next row is being sent. It is awaited before an
edit reads it and before the sender ends. Previews of running turns and paced rows (changes of messages
that show jobs, marks on undone answers) are shown while no other row is waiting.
"""

import asyncio
import heapq
import logging
import random
from collections import deque
from dataclasses import replace

from channels.channel import Channel, PostRecovery
from channels.delivery import ChannelSession, RepeatableUnanswered, RowDelivery, SendReceipts
from channels.previews import ConversationPreviews
from core.clock import SECOND_US, Clock
from core.errors import (
    AddressGone,
    AuthRejected,
    ChannelError,
    MessageRejected,
    RateLimited,
    StoreUnavailable,
    Unanswered,
    Unavailable,
)
from core.messages import Address
from core.ports import Outbox, OutboxRow, Preview, SendState

# The time of the next request to an address: after any requested quiet, and later after failures.

LONGEST_PAUSE_S = 30.0


class Pace:
    """The pauses of one address.

    `failures`: consecutive failures so far.
    `quiet_until_us`: the time before which nothing is sent.
    `free_us`: the time from which a message may follow what was shown last, and `paced_us` a paced row."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.failures = 0
        self.quiet_until_us = self.free_us = self.paced_us = 0

    def shown(self, interval_us: int, *, paced: bool) -> None:
        """Note that a row was shown now, where the platform takes one each `interval_us`."""
        now = self._clock.now()
        self.paced_us = max(self.paced_us, now + interval_us * (PACED_SHARE if paced else 1))
        if paced:
            self.free_us = now + interval_us

    def quiet_for(self, pause_s: float) -> None:
        """Send nothing for `pause_s` from now."""
        self.quiet_until_us = self._clock.now() + int(pause_s * SECOND_US)

    def next_pause_s(self) -> float:
        """Count a failure and return the pause that follows it."""
        self.failures += 1
        return min(LONGEST_PAUSE_S, 2.0 ** min(self.failures - 1, 16)) * (1 - 0.3 * random.random())

    async def due(self, not_before: int) -> None:
        """Wait until `not_before` (microseconds UTC)."""
        wait_us = not_before - self._clock.now()
        if wait_us > 0:
            await self._clock.sleep(wait_us / SECOND_US)

    async def news_or(self, changed: asyncio.Event, until_us: int) -> None:
        """Wait for something to do, at most until `until_us`."""
        changed.clear()
        pause = asyncio.ensure_future(self.due(until_us))
        pause.add_done_callback(lambda over: None if over.cancelled() else changed.set())
        try:
            await changed.wait()
        finally:
            pause.cancel()


logger = logging.getLogger(__name__)

PACED_SHARE = 3
"""Paced rows use up one part in so many of what the platform takes."""
NEVER_US = 1 << 62
MAX_ROWS = 100
MAX_REPEATS = 1


class Sender:
    """The sender of everything for one address. It ends when nothing is left to do."""

    def __init__(
        self,
        address: Address,
        session: ChannelSession,
        outbox: Outbox,
        clock: Clock,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._address = address
        self._session = session
        self._outbox = outbox
        self._clock = clock
        self._pace = Pace(clock)
        self._rows: list[tuple[int, OutboxRow]] = []
        self._paced: deque[OutboxRow] = deque()
        self._held: set[int] = set()
        self._changed = asyncio.Event()
        self._records = SendReceipts(address, outbox, clock, tasks, self._changed.set)
        self._delivery = RowDelivery(address, session, outbox, self._records, clock)
        self._previews = ConversationPreviews(address, outbox, self._records, self._delivery.look, clock)
        self._closing = False
        self._in_request = False
        self.forgot = False

    @property
    def busy(self) -> bool:
        """True if a request, its claim or its record is in progress."""
        return self._in_request or bool(self._records)

    @property
    def idle(self) -> bool:
        """True if a row offered now would be sent at once."""
        waiting = len(self._held) > len(self._paced)
        return not (waiting or self._closing or self._previews.keep_pace or self._just_paced)

    @property
    def _just_paced(self) -> bool:
        return self._pace.free_us > self._clock.now()

    @property
    def waiting(self) -> int:
        """The number of rows in memory."""
        return len(self._held)

    def offer(self, row: OutboxRow) -> None:
        """Accept a row unless it is already here. Beyond MAX_ROWS, rows are left to the store.

        A preview shown at an unknown place is searched for first.
        """
        if row.state in {SendState.STREAMING, SendState.REPLACED}:
            self._previews.miss(row)
            self._changed.set()
            return
        if row.id in self._held or row.id in self._records:
            return
        if row.state is SendState.AMBIGUOUS and row.repeats >= MAX_REPEATS:
            return
        full = self.forgot or len(self._rows) >= MAX_ROWS
        if row.state is not SendState.SENDING and full and not row.paced:  # of these each job has one
            self.forgot = True  # rows left out are older than new ones, so the new ones are left out, too
            return
        self._take(row)
        self._changed.set()

    def open_preview(self, preview: Preview) -> None:
        """Show a running turn while nothing else is to be sent."""
        self._previews.open(preview)
        self._changed.set()

    def close_preview(self, preview: Preview) -> None:
        """Stop showing this turn."""
        self._previews.close(preview)
        self._changed.set()

    def close(self) -> None:
        """End once open requests are answered and recorded. The caller cancels a sender that is not busy."""
        self._closing = True
        self._changed.set()

    async def run(self) -> None:
        """Send until nothing is left. Rows not yet sent when it is closed or cancelled stay in the store."""
        while not self._closing:
            if self._previews.missed:
                await self._look()
            elif self._rows:
                _, row = heapq.heappop(self._rows)
                left = await self._send(row)
                self._held.discard(row.id)
                if left is not None:
                    self._take(left)
            elif self._paced and self._paced_due_us <= self._clock.now():
                await self._send_paced()
            elif self._previews.active:
                await self._preview()
            elif self._paced and self._paced_due_us < NEVER_US:
                await self._pace.news_or(self._changed, self._paced_due_us)
            elif self._records:
                self._changed.clear()
                await self._changed.wait()
            elif self._previews.keep_pace or (self._pace.paced_us > self._clock.now() and not self.forgot):
                # The next sender of this address must know when something was last shown.
                until_us = max(self._previews.replaceable_us, self._pace.paced_us)
                await self._pace.news_or(self._changed, until_us)
            else:
                return
        await self._records.settled()

    # --- paced rows ----------------------------------------------------------------------------------------

    @property
    def _paced_due_us(self) -> int:
        """The time from which the first paced row may be sent: never while messages wait in the store."""
        if not self._paced or self.forgot:
            return NEVER_US
        pace = self._pace
        return max(
            pace.paced_us, pace.quiet_until_us, self._paced[0].not_before, self._previews.replaceable_us
        )

    async def _send_paced(self) -> None:
        row = self._paced.popleft()
        left = await self._send(row)
        self._held.discard(row.id)
        if left is not None:  # the platform is asked for nothing until then
            self._pace.quiet_until_us = max(self._pace.quiet_until_us, left.not_before)
            self._take(left)

    # --- previews ----------------------------------------------------------------------------------------

    async def _preview(self) -> None:
        """Show running turns when due. Otherwise wait until then, or until there is something to send."""
        due_us = max(self._pace.quiet_until_us, self._previews.due_us, self._pace.free_us)
        if due_us > self._clock.now():
            await self._pace.news_or(self._changed, min(due_us, self._paced_due_us))
            return
        channel = await self._session.opened()
        self._in_request = True
        try:
            await self._outbox.hold_lease()
            await self._previews.show(channel, lambda: bool(self._rows) or self._closing)
        except (ChannelError, StoreUnavailable) as error:
            logger.info("preview.delayed address=%s error=%s", self._address, error)
            self._previews.slow_down()
            self._heed(channel, error)
        finally:
            self._in_request = False

    async def _look(self) -> None:
        """Find out whether a preview with an unanswered request is shown."""
        await self._pace.due(self._pace.quiet_until_us)
        channel = await self._session.opened()
        if isinstance(channel, PostRecovery):  # the search takes a while and may be repeated
            await self._pace.due(self._previews.missed_us + _us(channel.taken_within_s))
        else:
            self._in_request = True
        try:
            await self._previews.find(channel)
        except ChannelError as error:
            logger.info("preview.lookup_delayed address=%s error=%s", self._address, error)
            self._pace.quiet_for(self._pace.next_pause_s())
            self._heed(channel, error)
        finally:
            self._in_request = False

    def _heed(self, channel: Channel, error: ChannelError | StoreUnavailable) -> None:
        """Apply the platform's error on a preview to messages, too."""
        match error:
            case RateLimited():
                self._pace.quiet_for(error.retry_after_s)
            case AuthRejected():
                self._session.reject(channel, error)
            case _:
                pass

    # --- one row -----------------------------------------------------------------------------------------

    async def _send(self, row: OutboxRow) -> OutboxRow | None:
        """Try once to send a row. Returns its current state if it must still be sent."""
        await self._pace.due(max(row.not_before, self._pace.quiet_until_us, self._pace.free_us))
        if row.replaces is not None and not row.refs:
            await self._pace.due(self._previews.replaceable_us)
        channel = await self._session.opened()
        if row.state is SendState.AMBIGUOUS and isinstance(channel, PostRecovery):
            try:
                row = await self._find_out(channel, row)
            except ChannelError as error:
                logger.info("outbox.lookup_delayed row=%d address=%s error=%s", row.id, self._address, error)
                self._pace.quiet_for(self._pace.next_pause_s())
                self._heed(channel, error)
                return row
        # From the claim on: a row that is claimed and then abandoned would count as possibly sent.
        self._in_request = True
        try:
            return await self._claim_and_show(channel, row)
        finally:
            self._in_request = False

    async def _find_out(self, channel: Channel, row: OutboxRow) -> OutboxRow:
        """Search for the result of an unanswered request.

        Returns the row's current state, which is still ambiguous if nothing is found. It may be
        interrupted anywhere and repeated."""
        await self._records.settled()  # messages shown here are recognized by their records
        around = await self._delivery.look(row.id)()
        if isinstance(channel, PostRecovery):
            await self._pace.due(around.asked_by + _us(channel.taken_within_s))
        try:
            return await self._delivery.find(channel, row) or row
        except (MessageRejected, AddressGone) as error:
            logger.info("outbox.lookup_failed row=%d address=%s error=%s", row.id, self._address, error)
        except ChannelError:
            raise
        except Exception:  # a defect must not hold up the conversation
            logger.exception("outbox.lookup_crashed row=%d address=%s", row.id, self._address)
        return row

    async def _claim_and_show(self, channel: Channel, row: OutboxRow) -> OutboxRow | None:
        if row.state is not SendState.SENDING:
            row = await self._records.durably(lambda: self._outbox.claim_outbox(row.id))
            if row.state is not SendState.SENDING:
                return None  # settled by someone else
        await self._records.durably(self._outbox.hold_lease)
        try:
            await self._delivery.show(channel, row)
        except ChannelError as error:
            return await self._not_sent(channel, row, error)
        except Exception:  # a defect of the adapter, met by this row: the others continue
            logger.exception("outbox.send_crashed row=%d address=%s", row.id, self._address)
            return await self._unanswered(row, "unexpected error; see the log")
        self._pace.failures = 0
        self._pace.shown(_us(self._session.interval_s(channel, self._address)), paced=row.paced)
        self._session.went(SendState.SENT)
        return None

    # --- failures -------------------------------------------------------------------------------------

    async def _not_sent(self, channel: Channel, row: OutboxRow, error: ChannelError) -> OutboxRow | None:
        match error:
            case RateLimited():
                if row.marks:  # nothing else waits for it
                    self._pace.quiet_for(error.retry_after_s)
                return await self._again(row, error.retry_after_s, str(error))
            case Unavailable():
                return await self._again(row, self._pace.next_pause_s(), str(error))
            case AuthRejected():
                self._session.reject(channel, error)
                return await self._again(row, 0, str(error))
            case RepeatableUnanswered():
                return await self._again(row, self._pace.next_pause_s(), str(error))
            case Unanswered():
                return await self._unanswered(row, str(error))
            case AddressGone():
                self._session.not_reached(self._address, str(error), self._clock.now())
                await self._delivery.fail(row, str(error))
                return None
            case _:
                await self._delivery.fail(row, str(error))
                return None

    async def _again(self, row: OutboxRow, pause_s: float, reason: str) -> OutboxRow:
        not_before = self._clock.now() + int(pause_s * SECOND_US)
        logger.info(
            "outbox.send_delayed row=%d address=%s delay_s=%.1f error=%s",
            row.id,
            self._address,
            pause_s,
            reason,
        )
        await self._records.durably(
            lambda: self._outbox.retry_outbox(row.id, not_before=not_before, reason=reason)
        )
        return replace(row, state=SendState.QUEUED, not_before=not_before)

    async def _unanswered(self, row: OutboxRow, reason: str) -> OutboxRow | None:
        self._session.went(SendState.AMBIGUOUS)
        logger.warning("outbox.send_ambiguous row=%d address=%s error=%s", row.id, self._address, reason)
        asked_by = self._delivery.asked_us
        row = await self._records.durably(lambda: self._outbox.mark_ambiguous(row.id, reason, asked_by))
        return row if row.repeats < MAX_REPEATS else None

    def _take(self, row: OutboxRow) -> None:
        self._held.add(row.id)
        if row.paced:
            self._paced.append(row)
        else:
            heapq.heappush(self._rows, (row.id, row))


def _us(seconds: float) -> int:
    return int(seconds * SECOND_US)
