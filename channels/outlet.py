"""The door of one channel that everything sent goes through."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from channels.blocks import weight
from channels.channel import Channel, Payload
from core.errors import AuthRejected
from core.messages import Address, Message
from core.off_loop import ON_LOOP_CHARS, off_loop
from core.ports import OutboundGate, OutboxRow, SendState

logger = logging.getLogger(__name__)

MOST_UNREACHABLE = 100
MOST_DRAWINGS = 64
"""Messages drawn while their commits are under way."""


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Why an address takes no messages from us, and since when (microseconds UTC)."""

    reason: str
    since: int


class Outlet:
    """What senders send through. Closed while the platform refuses the token; then rows wait. `went`: told of
    each message how it went; `pass_on`: of rows that go out elsewhere, perhaps on other channels; `gate`: has
    a say in what goes out, if there is one."""

    def __init__(
        self,
        channel: Channel,
        on_rejected: Callable[[AuthRejected], None],
        on_send: Callable[[SendState], None] = lambda _: None,
        pass_on: Callable[[Sequence[OutboxRow]], None] = lambda _: None,
        gate: OutboundGate | None = None,
    ) -> None:
        self.gate = gate
        self.channel = channel
        self._on_rejected = on_rejected
        self.went = on_send
        self.pass_on = pass_on
        self._open = asyncio.Event()
        self._open.set()
        self._unreachable: OrderedDict[Address, Unreachable] = OrderedDict()
        self._drawings: OrderedDict[Message, tuple[Channel, tuple[Payload, ...]]] = OrderedDict()

    @property
    def unreachable(self) -> Mapping[Address, Unreachable]:
        """Addresses that took no message the last time one was sent there; the newest of very many."""
        return self._unreachable

    def not_reached(self, address: Address, reason: str, now: int) -> None:
        """The platform says that this address takes nothing from us."""
        before = self._unreachable.pop(address, None)
        self._unreachable[address] = Unreachable(reason, before.since if before is not None else now)
        if len(self._unreachable) > MOST_UNREACHABLE:
            self._unreachable.popitem(last=False)

    def reached(self, address: Address) -> None:
        """It took one."""
        self._unreachable.pop(address, None)

    async def opened(self) -> Channel:
        """The channel, once sending makes sense."""
        await self._open.wait()
        return self.channel

    def draw(self, message: Message) -> None:
        """Draw what will be sent soon, unless that takes long. Drawings that nobody asks for make way for
        others."""
        if weight(message.blocks) > ON_LOOP_CHARS:
            return
        self._drawings[message] = (self.channel, self._draw(self.channel, message))
        if len(self._drawings) > MOST_DRAWINGS:
            self._drawings.popitem(last=False)

    async def drawn(self, channel: Channel, message: Message) -> tuple[Payload, ...]:
        """What `channel` is to show; nothing where that broke, which is logged."""
        by, parts = self._drawings.pop(message, (None, ()))
        if by is channel:
            return parts
        return await off_loop(weight(message.blocks), lambda: self._draw(channel, message))

    def _draw(self, channel: Channel, message: Message) -> tuple[Payload, ...]:
        try:
            return channel.render(message)
        except Exception:  # a defect met by one message: it fails alone
            logger.exception("rendering a message of %s broke", channel.name)
            return ()

    def reject(self, channel: Channel, error: AuthRejected) -> None:
        """This channel's token was refused: nothing goes out until `use`. What a channel that was replaced
        meanwhile learns of its own token changes nothing."""
        if channel is self.channel:
            self._open.clear()
            self._on_rejected(error)

    def use(self, channel: Channel) -> None:
        """Send through this channel from now on."""
        self.channel = channel
        self._open.set()
