"""A dispatcher that hands the ready rows of one channel to one sender per address."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from channels.channel import Channel
from channels.delivery import ChannelSession, OnPosted, Unreachable, unheard
from channels.sender import Sender
from core.clock import SECOND_US, Clock
from core.errors import AuthRejected, ChannelError, RateLimited, StoreUnavailable
from core.messages import Address, Message, MessageRef
from core.ports import OutboundGate, Outbox, OutboxRow, Preview, SendState

# The queue between a commit and the senders of one channel.
#
# The store holds every row, so this queue is only a cache. When it is full, rows are dropped from
# memory and read from the store again once there is room.

DEFAULT_LIMIT = 1_000


class NotifyQueue:
    """The rows of one channel that became ready, bounded and in order of arrival. Single consumer.

    Rows committed as `sending` are kept beyond the limit, because no one else may send them. There
    are at most as many of them as turns that end at the same moment.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._rows: deque[OutboxRow] = deque()
        self._reload = False
        self._wake = asyncio.Event()

    def put(self, rows: Iterable[OutboxRow]) -> None:
        """Queue rows. Never blocks or fails."""
        for row in rows:
            if row.state is SendState.SENDING or (not self._reload and len(self._rows) < self._limit):
                self._rows.append(row)
            else:
                self._reload = True
        self._wake.set()

    def __len__(self) -> int:
        return len(self._rows)

    def request_reload(self) -> None:
        """Ask the consumer to read the store again, because rows wait there that are not in memory."""
        self._reload = True
        self._wake.set()

    def holds(self, address: Address) -> bool:
        """Return whether a row for this address may still be waiting here."""
        return self._reload or any(row.address == address for row in self._rows)

    async def get(self) -> tuple[list[OutboxRow], bool]:
        """Wait for rows. Returns them and whether the store must be read after them.

        Rows queued from now on are newer than any read of the store that begins after this call.
        """
        await self._wake.wait()
        rows, reload = list(self._rows), self._reload
        self._rows.clear()
        self._reload = False
        self._wake.clear()
        return rows, reload


logger = logging.getLogger(__name__)

STORE_PAUSE_S = 1.0
CRASH_PAUSE_S = 30.0
MAX_ACKNOWLEDGING = 8

_PREVIEWS = frozenset({SendState.STREAMING, SendState.REPLACED})


class Dispatcher:
    """The outgoing messages of one channel, beginning with those stored earlier.

    `grace_s`: the time that open requests get on cancellation to be answered and recorded. Unfinished
    ones are ambiguous at the next start.
    """

    def __init__(
        self,
        channel: Channel,
        outbox: Outbox,
        clock: Clock,
        on_rejected: Callable[[AuthRejected], None],
        grace_s: float,
        on_send: Callable[[SendState], None] = lambda _: None,
        pass_on: Callable[[Sequence[OutboxRow]], None] = lambda _: None,
        gate: OutboundGate | None = None,
        on_posted: OnPosted = unheard,
    ) -> None:
        self._name = channel.name
        self._session = ChannelSession(channel, on_rejected, on_send, pass_on, gate, on_posted)
        self._outbox = outbox
        self._clock = clock
        self._grace_s = grace_s
        self._queue = NotifyQueue()
        self._queue.request_reload()
        self._senders: dict[Address, Sender] = {}
        self._sending: dict[Address, asyncio.Task[None]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._in_hand = {SendState.SENDING}
        self._acknowledging = 0
        self._no_signs_until_us = 0

    def put(self, rows: Iterable[OutboxRow]) -> None:
        """Queue ready rows. Never blocks."""
        self._queue.put(rows)

    def reload(self) -> None:
        """Read the store again: rows wait there that this process does not know of."""
        self._queue.request_reload()

    def prerender(self, message: Message) -> None:
        """Render a message that will be sent soon, unless its commit fails."""
        self._session.prerender(message)

    @property
    def unreachable(self) -> Mapping[Address, Unreachable]:
        return self._session.unreachable

    def would_send_now(self, address: Address) -> bool:
        """Return whether nothing is queued ahead of a row for this address."""
        sender = self._senders.get(address)
        return (sender is None or sender.idle) and not self._queue.holds(address)

    @property
    def waiting(self) -> int:
        """The number of messages known to be waiting."""
        return len(self._queue) + sum(sender.waiting for sender in self._senders.values())

    def open_preview(self, preview: Preview) -> None:
        """Show a running turn as long as that delays nothing. Never blocks."""
        if self._tasks is not None:
            self._sender(preview.address, self._tasks).open_preview(preview)

    def close_preview(self, preview: Preview) -> None:
        """Stop showing this turn."""
        if (sender := self._senders.get(preview.address)) is not None:
            sender.close_preview(preview)

    def acknowledge(self, ref: MessageRef) -> None:
        """Acknowledge a message in the background. Skipped while many are in progress, or while the platform
        asks for fewer requests."""
        if (
            self._tasks is not None
            and self._acknowledging < MAX_ACKNOWLEDGING
            and self._clock.now() >= self._no_signs_until_us
        ):
            self._acknowledging += 1
            self._tasks.create_task(self._acknowledge(ref), name=f"acknowledge {self._name} {ref}")

    def use(self, channel: Channel) -> None:
        """Send through this channel from now on."""
        self._session.use(channel)

    async def run(self) -> None:
        """Send until cancelled. Open requests then get time to be answered."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                while True:
                    rows, reload = await self._queue.get()
                    # Stored rows come first: a lost preview is searched for before anything is sent.
                    kept = await self._unsent() if reload else []
                    self._hand_over((*kept, *rows), tasks)
            finally:
                self._tasks = None
                await self._wind_down()

    async def _unsent(self) -> list[OutboxRow]:
        """Return the stored rows that nothing here is handling.

        Previews belong to the code that shows them. On the first read, however, they are left over from an
        earlier hub; rows that were `sending` then have all become `ambiguous`."""
        while True:
            try:
                rows = await self._outbox.pending_outbox(self._name)
            except StoreUnavailable as error:
                logger.warning("outbox.read_failed channel=%s error=%s", self._name, error)
                await self._clock.sleep(STORE_PAUSE_S)
            except Exception:  # new rows wait; other channels continue
                logger.exception("outbox.read_crashed channel=%s", self._name)
                await self._clock.sleep(CRASH_PAUSE_S)
            else:
                in_hand, self._in_hand = self._in_hand, {SendState.SENDING, *_PREVIEWS}
                return [row for row in rows if row.state not in in_hand]

    def _hand_over(self, rows: Iterable[OutboxRow], tasks: asyncio.TaskGroup) -> None:
        for row in rows:
            if row.state not in _PREVIEWS or not row.refs:  # the location of other previews is known
                self._sender(row.address, tasks).offer(row)

    def _sender(self, address: Address, tasks: asyncio.TaskGroup) -> Sender:
        sender = self._senders.get(address)
        if sender is None:
            sender = Sender(address, self._session, self._outbox, self._clock, tasks)
            self._senders[address] = sender
            name = f"sender {self._name} {address}"
            self._sending[address] = tasks.create_task(self._run(address, sender), name=name)
        return sender

    async def _run(self, address: Address, sender: Sender) -> None:
        try:
            await sender.run()
        except Exception:  # rows stay in the store; they are read again after a while
            logger.exception("outbox.sender_crashed channel=%s address=%s", self._name, address)
            await self._clock.sleep(CRASH_PAUSE_S)
            sender.forgot = True
        finally:
            del self._senders[address], self._sending[address]
        if sender.forgot:
            self._queue.request_reload()

    async def _acknowledge(self, ref: MessageRef) -> None:
        try:
            await self._session.channel.acknowledge(ref)
        except RateLimited as error:
            self._no_signs_until_us = self._clock.now() + int(error.retry_after_s * SECOND_US)
        except ChannelError as error:
            logger.info("channel.acknowledge_failed ref=%s channel=%s error=%s", ref, self._name, error)
        except Exception:  # a defect of the adapter: everything else continues
            logger.exception("channel.acknowledge_crashed ref=%s channel=%s", ref, self._name)
        finally:
            self._acknowledging -= 1

    async def _wind_down(self) -> None:
        for address, sender in self._senders.items():
            sender.close()
            if not sender.busy:
                self._sending[address].cancel()
        if self._sending:
            await asyncio.wait(list(self._sending.values()), timeout=self._grace_s)
