"""The `POST /api/webhooks/{path}` endpoint: deliveries for routines, from senders who can sign them.

It is public: refusals come before the body is read, in as little time as an answer takes, so that a flood
costs the
hub's other work next to nothing. A table of docs/routines.md explains each status.
"""

import asyncio
import logging
from collections import defaultdict
from typing import Literal, NoReturn, assert_never

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from bot.web.endpoints import Call, Endpoint
from bot.web.responses import body_of, error_response
from core.clock import Clock
from core.errors import StoreUnavailable
from core.lazy import dataclass
from core.routines.webhooks import Ignored, Outcome, Refusal, Refused, Taken, Webhooks

logger = logging.getLogger(__name__)

WEBHOOKS_PATH = "/api/webhooks"
BODY_LIMIT_BYTES = 512 * 1024
BODY_LIMIT_S = 10.0
A_SECOND = 20
"""Requests of one path, on average; legitimate senders stay far below."""
AT_ONCE = 60
"""Requests in one burst. Signed and unsigned ones are counted apart: a sender without the webhook's secret
can't use up the limit of one that has it."""
MAX_READ = 32
"""Bodies that are read at the same time, of all paths together: 16 MB. One more, and the one that has been on
its way longest is given up: senders bring theirs at once, who holds places does not."""

_REFUSALS = {
    Refusal.NO_DOOR: (404, "not_found"),
    Refusal.NO_SECRET: (503, "unavailable"),
    Refusal.UNPROVEN: (401, "unauthorized"),
    Refusal.MALFORMED: (400, "invalid"),
    Refusal.PAUSED: (409, "paused"),
    Refusal.BUSY: (429, "too_many"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookView:
    """The outcome of a delivery: accepted, repeated (with the run it had fired) or ignored (with the
    reason)."""

    status: Literal["accepted", "repeated", "ignored"]
    run_id: str | None = None
    reason: str | None = None


def documented() -> Endpoint:
    """Return the endpoint as the OpenAPI document describes it."""
    return Endpoint(
        "POST",
        "/webhooks/{path}",
        _deliver,
        WebhookView,
        status=202,
        also=((200, "The delivery was repeated, or ignored."),),
        refusals=(404, 405, 409, 415, 429, 503),
        raw_body=True,
        public=True,
    )


async def _deliver(call: Call) -> NoReturn:
    """Deliver an event to a routine, signed by its sender."""
    raise AssertionError(f"{call.request.url.path} is served by WebhookEndpoint")


class Bucket:
    """Lets `A_SECOND` through on average and `AT_ONCE` in a burst."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._left = float(AT_ONCE)
        self._at_s = clock.monotonic_s()

    def take(self) -> bool:
        """Return whether one more may pass now."""
        now_s = self._clock.monotonic_s()
        self._left = min(AT_ONCE, self._left + (now_s - self._at_s) * A_SECOND)
        self._at_s = now_s
        if self._left < 1:
            return False
        self._left -= 1
        return True


class WebhookEndpoint:
    """An ASGI application for everything below `/api/webhooks`."""

    def __init__(self, webhooks: Webhooks, clock: Clock) -> None:
        self._webhooks = webhooks
        # Only paths that lead somewhere have one, so that nobody can make the hub remember others.
        self._signed: defaultdict[str, Bucket] = defaultdict(lambda: Bucket(clock))
        self._unproven: defaultdict[str, Bucket] = defaultdict(lambda: Bucket(clock))
        self._reading: list[asyncio.Timeout] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        path = str(scope["path"]).removeprefix(WEBHOOKS_PATH).removeprefix("/")
        answer = self._refused_unread(scope, path) or await self._answer(Request(scope, receive), path)
        await answer(scope, receive, send)

    def _refused_unread(self, scope: Scope, path: str) -> Response | None:
        if scope["method"] != "POST":
            return error_response(405, "method_not_allowed", "use POST", headers={"Allow": "POST"})
        if not self._webhooks.opens(path):
            return _refusal(Refused(Refusal.NO_DOOR, Refusal.NO_DOOR.value))
        headers = Headers(scope=scope)
        if not _is_json(headers.get("content-type", "")):
            return error_response(415, "unsupported", "send application/json")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > BODY_LIMIT_BYTES:
            return error_response(413, "too_large", f"the body is over {BODY_LIMIT_BYTES} bytes")
        unsigned = self._webhooks.unsigned(path, headers)
        return None if unsigned is None else self._refused(path, unsigned)

    def _refused(self, path: str, refused: Refused) -> Response:
        if refused.why is Refusal.UNPROVEN and not self._unproven[path].take():
            return _too_many("too many unsigned requests; try again later")
        return _refusal(refused)

    async def _answer(self, request: Request, path: str) -> Response:
        try:
            body = await self._read(request)
        except HTTPException as error:
            code = "too_large" if error.status_code == 413 else "too_slow"
            return error_response(error.status_code, code, error.detail)
        headers = {name.lower(): value for name, value in request.headers.items()}
        try:
            proven = await self._webhooks.prove(path, headers, body)
            if isinstance(proven, Refused):
                return self._refused(path, proven)
            if not self._signed[path].take():
                return _too_many("too many requests for this webhook; try again later")
            return _response(await self._webhooks.deliver(proven))
        except StoreUnavailable as error:
            return error_response(503, "unavailable", str(error))
        except Exception:  # the task's edge: the sender brings it again
            logger.exception("webhook.delivery_crashed path=%s", path)
            return error_response(500, "failed", "the hub failed to do this; see its log")

    async def _read(self, request: Request) -> bytes:
        """Read the body. Raises HTTPException."""
        if len(self._reading) >= MAX_READ:
            self._reading.pop(0).reschedule(0)
        try:
            async with asyncio.timeout(None) as given_up:
                self._reading.append(given_up)
                try:
                    return await body_of(request, BODY_LIMIT_BYTES, BODY_LIMIT_S)
                finally:
                    if given_up in self._reading:
                        self._reading.remove(given_up)
        except TimeoutError as error:
            raise HTTPException(
                408, "the body did not arrive in time while other requests were waiting"
            ) from error


def _is_json(content_type: str) -> bool:
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type == "application/json" or (
        media_type.startswith("application/") and media_type.endswith("+json")
    )


def _response(outcome: Outcome) -> Response:
    match outcome:
        case Taken(run_id, repeated):
            status = "repeated" if repeated else "accepted"
            return JSONResponse({"status": status, "run_id": run_id}, 200 if repeated else 202)
        case Ignored(why):
            return JSONResponse({"status": "ignored", "reason": why})
        case Refused():
            return _refusal(outcome)
        case _:
            assert_never(outcome)


def _refusal(refused: Refused) -> Response:
    status, code = _REFUSALS[refused.why]
    headers = {"Retry-After": str(refused.retry_after_s)} if refused.retry_after_s else {}
    if status == 401:
        # RFC 9110 wants one; there is no registered scheme for signed requests.
        headers["WWW-Authenticate"] = "Signature"
    return error_response(status, code, refused.message, headers=headers)


def _too_many(message: str) -> Response:
    return error_response(429, "too_many", message, headers={"Retry-After": "1"})
