"""A stream of events as an answer: told until it is cut, or nobody reads it any more."""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bot.web.list_stream import ListStream
from bot.web.live import Live, Subscription
from bot.web.stream import ThreadStream
from core.clock import SECOND_US, Clock

HEARTBEAT_S = 15.0
SEND_LIMIT_S = 20.0
"""Whoever takes nothing for so long is cut."""
KEY_CHECK_US = 15 * SECOND_US
"""A key is looked up again when that much time has passed, before anything else is told."""
HEARTBEAT = b": still here\n\n"


class EventStream(Response):
    """Tells the news of a subscription until it is cut, its reader goes away, takes nothing for too long or
    has no key any more.

    Not sse-starlette: that looks every half second, in a task of its own, for servers that are stopping, and
    ours says so itself.
    """

    def __init__(
        self,
        live: Live,
        subscription: Subscription,
        stream: ThreadStream | ListStream,
        may_read: Callable[[], Awaitable[bool]],
        clock: Clock,
    ) -> None:
        super().__init__(
            media_type="text/event-stream", headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        )
        del self.headers["content-length"]
        self._live = live
        self._on = subscription
        self._stream = stream
        self._may_read = may_read
        self._clock = clock
        self._checked_at = clock.now()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        del scope
        telling = asyncio.create_task(self._tell(send), name="stream")
        leaving = asyncio.create_task(_left(receive), name="stream's reader")
        try:
            await asyncio.wait({telling, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            telling.cancel()
            leaving.cancel()
            ended = await asyncio.gather(telling, leaving, return_exceptions=True)
            self._live.leave(self._on)
        for outcome in ended:
            if isinstance(outcome, Exception) and not isinstance(outcome, TimeoutError):
                raise outcome

    async def _tell(self, send: Send) -> None:
        headers = [(name, value) for name, value in self.raw_headers]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        while not self._on.cut:
            news = await self._on.something(HEARTBEAT_S)
            if not await self._key_is_good():
                break
            if not news:
                await _give(send, HEARTBEAT)
                continue
            async for event in self._stream.news():
                await _give(send, event.encoded(self._clock.now()))
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _key_is_good(self) -> bool:
        """Return whether who reads may go on: a session ends while its streams are open, too."""
        now = self._clock.now()
        if abs(now - self._checked_at) < KEY_CHECK_US:
            return True
        self._checked_at = now
        return await self._may_read()


async def _give(send: Send, body: bytes) -> None:
    async with asyncio.timeout(SEND_LIMIT_S):
        await send({"type": "http.response.body", "body": body, "more_body": True})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def resumed_at(request: Request, after: int | None) -> int:
    """The position to go on from: the browser's own note of it beats the address."""
    text = request.headers.get("last-event-id", "")
    if text.isascii() and text.isdecimal() and len(text) < 19:
        return int(text)
    return after or 0
