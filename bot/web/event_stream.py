"""A response of server-sent events: told until it is cut, or its reader leaves."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bot.live import Live, Subscription
from core.clock import SECOND_US, Clock
from core.lazy import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream; `seq` is its id, where it carries a line of the thread."""

    type: str
    data: Any
    thread_id: str | None = None
    seq: int | None = None

    def encoded(self, at: int) -> bytes:
        """Return the event as it goes over the wire."""
        page: dict[str, Any] = {"type": self.type, "at": at, "data": _plain(self.data)}
        if self.thread_id is not None:
            page["thread_id"] = self.thread_id
        if self.seq is not None:
            page["seq"] = self.seq
        lines = [
            f"event: {self.type}",
            f"data: {json.dumps(page, ensure_ascii=False, separators=(',', ':'))}",
        ]
        if self.seq is not None:
            lines.insert(0, f"id: {self.seq}")
        return ("\n".join(lines) + "\n\n").encode()


def _plain(data: Any) -> Any:
    return data.model_dump(mode="json") if isinstance(data, BaseModel) else data


HEARTBEAT_S = 15.0
SEND_LIMIT_S = 20.0
"""A reader that takes nothing for this time is disconnected."""
KEY_CHECK_US = 15 * SECOND_US
"""The time after which a key is looked up again before the next event."""
HEARTBEAT = b": still here\n\n"


class Stream(Protocol):
    """The events of one subscription."""

    def news(self) -> AsyncIterator[Event]:
        """Return the events since the last call."""
        ...


class EventStream(Response):
    """Response with the events of a subscription until it is cut, its reader leaves, reads nothing for too
    long or loses its
    key.

    Not sse-starlette: that polls every half second, in a task of its own, for servers that are stopping,
    and ours says so
    itself.
    """

    def __init__(
        self,
        live: Live,
        subscription: Subscription,
        stream: Stream,
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
        del scope
        sending = asyncio.create_task(self._tell(send), name="stream")
        leaving = asyncio.create_task(_left(receive), name="stream's reader")
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sending.cancel()
            leaving.cancel()
            ended = await asyncio.gather(sending, leaving, return_exceptions=True)
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
    """Return the position to continue from: the browser's own note of it takes precedence over the
    address."""
    text = request.headers.get("last-event-id", "")
    if text.isascii() and text.isdecimal() and len(text) < 19:
        return int(text)
    return after or 0
