"""The door of one channel that everything sent goes through."""

import asyncio
from collections.abc import Callable

from channels.channel import Channel
from core.errors import AuthRejected


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
