"""The kill switch: running calls are stopped, and nothing starts until tools are unpaused.

It is in force as soon as it is recorded, and holds over restarts: the transaction that marks a call running
reads it there. This is its other half, in the running hub: it stops running calls, and holds back those
marked just before. Gates stay open; a call approved in the meantime does not run.
"""

import asyncio
import contextlib
import logging
from collections.abc import Generator

logger = logging.getLogger(__name__)

SETTLES_WITHIN_S = 10.0
"""How long the answer to a pause waits for the calls that it stops; removing a container may take seconds."""


class ToolPause:
    """The kill switch in the running hub, and the calls it stops. `paused`: as recorded when the hub
    started."""

    def __init__(self, *, paused: bool = False) -> None:
        self._lifted = asyncio.Event()
        self._running: dict[asyncio.Future[None], asyncio.Future[None]] = {}
        self.set(paused=paused)

    @property
    def paused(self) -> bool:
        """True if no tool may run."""
        return not self._lifted.is_set()

    def set(self, *, paused: bool) -> None:
        """Pause all tools, or let them run again. The caller has recorded it."""
        if not paused:
            self._lifted.set()
            return
        self._lifted.clear()
        for stop in self._running:
            _resolve(stop)

    async def lifted(self) -> None:
        """Wait until tools may run."""
        await self._lifted.wait()

    @contextlib.contextmanager
    def stops(self) -> Generator[asyncio.Future[None]]:
        """Give what the switch resolves when the call within the context has to end, which is over with the
        context; resolved already if no call may begin."""
        loop = asyncio.get_running_loop()
        stop, over = loop.create_future(), loop.create_future()
        if self.paused:
            stop.set_result(None)
        self._running[stop] = over
        try:
            yield stop
        finally:
            del self._running[stop]
            _resolve(over)

    async def settled(self) -> None:
        """Wait until every call that the switch has stopped is over; until then the pause isn't answered.

        A call that does not end in time is reported where it ends; see SETTLES_WITHIN_S."""
        ending = [over for stop, over in self._running.items() if stop.done()]
        if ending:
            _, left = await asyncio.wait(ending, timeout=SETTLES_WITHIN_S)
            if left:
                logger.warning("tool.pause_unsettled calls=%d", len(left))


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
