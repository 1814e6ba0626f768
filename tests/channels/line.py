"""A dispatcher between an outbox and a platform, both in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from channels.channel import Payload
from channels.dispatcher import Dispatcher
from core.errors import AuthRejected
from core.messages import Address, Message
from core.ports import OutboxRow
from tests.channels.loopback import LoopbackChannel
from tests.channels.memory import MemoryOutbox
from tests.clock import ManualClock


@dataclass
class Line:
    """A dispatcher between an outbox and a platform."""

    outbox: MemoryOutbox
    channel: LoopbackChannel
    clock: ManualClock
    dispatcher: Dispatcher
    rejections: list[AuthRejected]

    def outbox_ready(self, rows: Sequence[OutboxRow]) -> None:
        self.dispatcher.put(rows)

    def may_send_now(self, channel: str, address: Address) -> bool:
        return self.dispatcher.would_send_now(address)

    def prerender(self, channel: str, message: Message) -> None:
        self.dispatcher.prerender(message)


@asynccontextmanager
async def line(
    outbox: MemoryOutbox | None = None, channel: LoopbackChannel | None = None, grace_s: float = 5
) -> AsyncIterator[Line]:
    outbox, channel, clock = outbox or MemoryOutbox(), channel or LoopbackChannel(), ManualClock()
    rejections: list[AuthRejected] = []
    dispatcher = Dispatcher(channel, outbox, clock, rejections.append, grace_s)
    made = Line(outbox, channel, clock, dispatcher, rejections)
    outbox.listener = made
    async with running(dispatcher):
        yield made


@asynccontextmanager
async def running(dispatcher: Dispatcher) -> AsyncIterator[None]:
    """At work until the end, where it has to have met no defect."""
    task = asyncio.create_task(dispatcher.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled():
        task.result()


def once(*errors: Exception) -> Callable[[str, Payload], Exception | None]:
    """These troubles, one per request, then none."""
    left = list(errors)
    return lambda *_: left.pop(0) if left else None
