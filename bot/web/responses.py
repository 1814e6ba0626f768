"""Requests and responses of the API: bodies within their limits, errors, which are
`{"error": {"code", "message", "field"?}}`, always, and streams of server-sent events."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from bot.live import Live, Subscription
from bot.runtime import AdminError
from core.clock import SECOND_US, Clock
from core.errors import HubError, IllegalChange, InboxUnavailable, StoreUnavailable
from core.job import JobRefused, NoSuchJob
from core.lazy import dataclass
from core.routine_json import RoutineNotFound, RoutineRefused

BODY_LIMIT_BYTES = 512 * 1024
"""Room for the longest message with every character escaped twice over, as JSON may."""
BODY_LIMIT_S = 10.0


class Given(BaseModel):
    """A request's body or query. Closed: an unknown key is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


async def body_of(
    request: Request, limit_bytes: int = BODY_LIMIT_BYTES, limit_s: float = BODY_LIMIT_S
) -> bytes:
    """Return the raw body, within its limits of size and time. Raises HTTPException."""
    body = bytearray()
    async with body_in_time(limit_s):
        async for chunk in pieces_of(request, limit_bytes):
            body += chunk
    return bytes(body)


async def pieces_of(request: Request, limit_bytes: int) -> AsyncGenerator[bytes, None]:
    """Yield the raw body as it arrives, up to its limit. Raises HTTPException."""
    size_bytes = 0
    async for chunk in request.stream():
        size_bytes += len(chunk)
        if size_bytes > limit_bytes:
            raise HTTPException(413, f"the body is over {limit_bytes} bytes")
        yield chunk


@contextlib.asynccontextmanager
async def body_in_time(limit_s: float) -> AsyncIterator[None]:
    """Read a body within the time it has. Raises HTTPException."""
    try:
        async with asyncio.timeout(limit_s):
            yield
    except TimeoutError as error:
        raise HTTPException(408, f"the body did not arrive within {limit_s:g} s") from error


class ErrorDetail(BaseModel):
    """`code` is for programs, `message` for people; `field`: the part of the request it is about."""

    code: str
    message: str
    field: str | None = None


class ErrorPage(BaseModel):
    """An error response."""

    error: ErrorDetail


class ApiError(HubError):
    """Refused; nothing was changed."""

    def __init__(self, status: int, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.field = field


def not_found(message: str) -> ApiError:
    """Return the error for something that does not exist, or that the caller may not know of."""
    return ApiError(404, "not_found", message)


def error_response(
    status: int, code: str, message: str, field: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an error in the API's one format."""
    error = {"code": code, "message": message} | ({"field": field} if field else {})
    return JSONResponse({"error": error}, status_code=status, headers=headers)


_STATUS = {"not_found": 404, "refused": 409, "unavailable": 503, "invalid": 400, "unusable": 422}
_CODES = {400: "invalid", 404: "not_found", 405: "method_not_allowed", 408: "too_slow", 413: "too_large"}


async def on_http_error(_: Request, error: Exception) -> Response:
    """Answer the framework's own refusals."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for nothing else
    code = _CODES.get(error.status_code, "failed")
    return error_response(error.status_code, code, error.detail, headers=error.headers)


async def on_invalid(_: Request, error: Exception) -> Response:
    """Answer a request with invalid fields."""
    assert isinstance(error, ValidationError)  # noqa: S101 - registered for nothing else
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = ".".join(str(step) for step in first["loc"])
    return error_response(400, "invalid", first["msg"], field or None)


async def on_api_error(_: Request, error: Exception) -> Response:
    """Answer an endpoint's refusal."""
    assert isinstance(error, ApiError)  # noqa: S101 - registered for nothing else
    return error_response(error.status, error.code, str(error), error.field)


async def on_admin_error(_: Request, error: Exception) -> Response:
    """Answer a refusal by the admin service."""
    assert isinstance(error, AdminError)  # noqa: S101 - registered for nothing else
    return error_response(_STATUS[error.code], error.code, str(error), error.field)


async def on_nothing_there(_: Request, error: Exception) -> Response:
    """Answer a request about a routine or a job that the caller does not have."""
    return error_response(404, "not_found", str(error))


async def on_refused(_: Request, error: Exception) -> Response:
    """Answer a request that the state of things does not allow."""
    return error_response(409, "refused", str(error))


async def on_routine_refused(_: Request, error: Exception) -> Response:
    """Answer a routine that can't be as it was given, naming the first field."""
    assert isinstance(error, RoutineRefused)  # noqa: S101 - registered for nothing else
    field = next((problem.field for problem in error.problems if problem.field), None)
    code = "refused" if field is None else "invalid" if error.formal else "unusable"
    return error_response(_STATUS[code], code, str(error), field)


async def on_store_unavailable(_: Request, error: Exception) -> Response:
    """Answer while the database does not respond; trying again later may help."""
    return error_response(503, "unavailable", str(error))


async def on_breakdown(_: Request, __: Exception) -> Response:
    """Answer after a bug. The server raises the error again, so the log gets its traceback."""
    return error_response(500, "failed", "the hub failed to do this; see its log")


HANDLERS = {
    HTTPException: on_http_error,
    ValidationError: on_invalid,
    ApiError: on_api_error,
    AdminError: on_admin_error,
    RoutineNotFound: on_nothing_there,
    NoSuchJob: on_nothing_there,
    JobRefused: on_refused,
    IllegalChange: on_refused,
    RoutineRefused: on_routine_refused,
    StoreUnavailable: on_store_unavailable,
    InboxUnavailable: on_store_unavailable,
    Exception: on_breakdown,
}


# Server-sent events: told until the stream is cut, or its reader leaves.


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
