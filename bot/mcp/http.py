"""A server that is reached by streamable HTTP: the SDK's transport, on a client of ours that bounds it.

It goes to the configured address alone: no proxy, no credentials of others, no cookies, and redirects only
within that origin (the SDK's rule). Answers come as they are, uncompressed, so that their size is their size.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client
from yarl import URL

from bot.mcp.session import SIGN_IN_CODE, TOO_LARGE, SdkConnection, greeted
from core.errors import HubError, ToolError
from core.model.provider_data import as_object
from core.model.provider_http import tls_context
from core.off_loop import ValueCount
from core.tools.mcp.connection import (
    ANSWER_LIMIT_BYTES,
    ANSWER_LIMIT_EVENTS,
    ANSWER_LIMIT_VALUES,
    Credentials,
    ServerFailed,
    SignInNeeded,
)
from core.web import Interceptor, WebAnswer, WebRequest

LIST_LIMIT_BYTES = 512 * 1024
"""Of a page of tools; see core.tools.mcp.catalog.MAX_LISTED."""
STANDING_LIMIT_BYTES = 256 * 1024
STANDING_LIMIT_TIMES = 100
"""Of the streams a server may send on unasked: word of a changed list takes 100 bytes."""
FAREWELL_LIMIT_S = 1.0
_OVER = frozenset({401, 403, 404, 410})
"""With these and 5xx a session is over: the key is wrong, or the server has forgotten it."""
CHALLENGE_LIMIT_CHARS = 4_000
_LISTING = b'"method":"tools/list"'
_CUT_OFF = (
    httpx2.HTTPError,
    httpx2.StreamError,
    OSError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
)
"""The errors that end the transport's own tasks when a request fails or has no reader any more."""


class HttpConnector:
    """Implements core.tools.mcp.connection.Connector."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        limit_s: float,
        interceptor: Interceptor,
        credentials: Credentials | None = None,
    ) -> None:
        self._interceptor = interceptor
        self._credentials = credentials
        self._url = url
        self._headers = {**headers, "accept-encoding": "identity"}
        self._limit_s = limit_s

    @contextlib.asynccontextmanager
    async def open(self, user_id: str | None = None) -> AsyncIterator[SdkConnection]:
        told: list[SdkConnection] = []
        tls = await asyncio.to_thread(tls_context) if self._url.startswith("https:") else True
        network = httpx2.AsyncHTTPTransport(verify=tls, trust_env=False)
        inner: httpx2.AsyncBaseTransport = _Intercepted(network, self._interceptor)
        if self._credentials is not None:
            inner = _SignedIn(inner, self._credentials, user_id)
        transport = _Bounded(inner, told)
        timeout = httpx2.Timeout(self._limit_s, read=None)
        failed: ServerFailed | None = None
        cancelling = _cancelling()
        try:
            async with (
                httpx2.AsyncClient(
                    transport=transport,
                    headers=self._headers,
                    timeout=timeout,
                    trust_env=False,
                ) as client,
                streamable_http_client(
                    self._url, http_client=client, max_sse_event_size=ANSWER_LIMIT_BYTES
                ) as streams,
            ):
                try:
                    async with greeted(streams, None, self._limit_s, told) as connection:
                        yield connection
                except ServerFailed as error:
                    failed = error
        except* _CUT_OFF as errors:
            failed = failed or ServerFailed(transport.trouble or _words(errors))
        if _cancelling() > cancelling:  # a failure of the transport's tasks took its place
            raise asyncio.CancelledError
        if isinstance(failed, SignInNeeded):
            raise failed
        if failed is not None:
            raise ServerFailed(transport.trouble or str(failed)) from failed


def _cancelling() -> int:
    """Return how often this task was asked to end, but for what the transport asked and took back."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


def _words(errors: BaseExceptionGroup) -> str:
    """Describe the first failure by its type; its own text may contain the address, and with it a key."""
    first: BaseException = errors
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return f"not reachable ({type(first).__name__})"


class _Intercepted(httpx2.AsyncBaseTransport):
    """The only way to the network: every request passes the interceptor, with the answer as far as it was
    read."""

    def __init__(self, network: httpx2.AsyncHTTPTransport, interceptor: Interceptor) -> None:
        self._network = network
        self._interceptor = interceptor

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        asked = WebRequest(
            request.method, URL(str(request.url)), dict(request.headers), await request.aread() or None
        )
        try:
            found = self._interceptor.answer(asked)
        except ToolError as error:
            raise httpx2.ConnectError(str(error), request=request) from error
        if found is not None:
            headers = {name: value for name, value in found.headers.items() if name != "content-length"}
            return httpx2.Response(found.status, headers=headers, content=found.body, request=request)
        try:
            response = await self._network.handle_async_request(request)
        except BaseException:
            self._interceptor.answered(asked, None)
            raise
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Heard(response, response.stream, asked, self._interceptor)
        return response

    async def aclose(self) -> None:
        await self._network.aclose()


class _Heard(httpx2.AsyncByteStream):
    """A body that the interceptor hears once it is over, whole or not."""

    def __init__(
        self,
        response: httpx2.Response,
        inner: httpx2.AsyncByteStream,
        asked: WebRequest,
        interceptor: Interceptor,
    ) -> None:
        self._inner = inner
        self._interceptor = interceptor
        self._asked = asked
        self._answer = WebAnswer(
            asked.url.with_user(None), response.status_code, "", dict(response.headers), b""
        )
        self._body = bytearray()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._inner:
            self._body += piece
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
        self._interceptor.answered(self._asked, replace(self._answer, body=bytes(self._body)))


class _SignedIn(httpx2.AsyncBaseTransport):
    """Sends a person's token, which may be renewed at any time. A refusal of it is the answer to its one
    request and ends nothing else: other calls on the connection may have been carried out."""

    def __init__(
        self, inner: httpx2.AsyncBaseTransport, credentials: Credentials, user_id: str | None
    ) -> None:
        self._inner = inner
        self._credentials = credentials
        self._user_id = user_id

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        token = await self._token(request, "")
        response = await self._sent(request, token)
        if token is not None and response.status_code == 401:
            await response.aclose()
            renewed = await self._token(request, token)
            if renewed is not None:
                response = await self._sent(request, renewed)
        return _as_answer(request, response)

    async def _token(self, request: httpx2.Request, refused: str) -> str | None:
        try:
            return None if self._user_id is None else await self._credentials.bearer(self._user_id, refused)
        except HubError as error:
            raise httpx2.ConnectError("no token", request=request) from error

    async def _sent(self, request: httpx2.Request, token: str | None) -> httpx2.Response:
        request.headers.pop("authorization", None)
        if token is not None:
            request.headers["authorization"] = f"Bearer {token}"
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


def _as_answer(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """Return a refusal for want of a sign-in as an answer to its request, and any other response as it is."""
    challenge = response.headers.get("www-authenticate", "")
    wider = response.status_code == 403 and "insufficient_scope" in challenge
    if request.method != "POST" or not (response.status_code == 401 or wider):
        return response
    called = as_object(json.loads(request.content)).get("id")
    if called is None:
        return response
    error = {"code": SIGN_IN_CODE, "message": challenge[:CHALLENGE_LIMIT_CHARS]}
    return httpx2.Response(200, json={"jsonrpc": "2.0", "id": called, "error": error}, request=request)


class _TooMuch(httpx2.StreamError):
    """More than the hub takes."""


class _Budget:
    """The rest of the output limit."""

    def __init__(self, most_bytes: int) -> None:
        self._left_bytes = most_bytes
        self._left_events = ANSWER_LIMIT_EVENTS
        self._left_values = ANSWER_LIMIT_VALUES
        self._values = ValueCount()

    def spend(self, piece: bytes) -> bool:
        """Return whether enough was left."""
        self._left_bytes -= len(piece)
        self._left_events -= piece.count(b"data:")
        self._left_values -= self._values.add(piece)
        return min(self._left_bytes, self._left_events, self._left_values) >= 0


class _Bounded(httpx2.AsyncBaseTransport):
    """Counts what comes. `trouble`: why the server cannot be worked with, once that is known."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, told: list[SdkConnection]) -> None:
        self._inner = inner
        self._told = told
        self._standing_times = 0
        self._standing_bytes = _Budget(STANDING_LIMIT_BYTES)
        self.trouble: str | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            self._standing_times += 1
            if self._standing_times > STANDING_LIMIT_TIMES:
                return httpx2.Response(405, request=request)
        farewell = FAREWELL_LIMIT_S if request.method == "DELETE" else None
        try:
            async with asyncio.timeout(farewell):
                response = await self._inner.handle_async_request(request)
        except TimeoutError as error:
            raise httpx2.ReadTimeout("no farewell", request=request) from error
        if request.method == "POST":
            self._judge(response)
        response.encoding = "utf-8"  # of JSON and of event streams, whatever the server says
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Counted(response.stream, self._budget(request), self._too_much)
        return response

    def _budget(self, request: httpx2.Request) -> _Budget:
        if request.method == "GET":
            return self._standing_bytes
        lists = _LISTING in request.content
        return _Budget(LIST_LIMIT_BYTES if lists else ANSWER_LIMIT_BYTES)

    def _judge(self, response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            self._give_up("it sent a compressed response, which was not requested")
            raise _TooMuch(str(self.trouble))
        if response.status_code in _OVER or response.status_code >= 500:
            self._give_up(f"it responded with HTTP {response.status_code}")

    def _too_much(self) -> _TooMuch:
        self._give_up(TOO_LARGE)
        return _TooMuch(str(self.trouble))

    def _give_up(self, because: str) -> None:
        self.trouble = self.trouble or because
        for connection in self._told:
            connection.lose(self.trouble)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Counted(httpx2.AsyncByteStream):
    """A body that ends in an error where it is too long."""

    def __init__(
        self, inner: httpx2.AsyncByteStream, budget: _Budget, too_much: Callable[[], _TooMuch]
    ) -> None:
        self._inner = inner
        self._budget = budget
        self._too_much = too_much

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._inner:
            if not self._budget.spend(piece):
                raise self._too_much()
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
