"""A session of the official SDK, over whatever streams carry it, as the hub's port wants it.

The SDK greets, speaks the versions of the protocol and matches answers to requests. Schemas are judged by the
hub (the SDK would match a server's patterns with `re`), and nothing that a server asks of us is answered with
more than a refusal.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any, Self

import anyio
import mcp_types as types
from mcp import ClientSession, MCPError
from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, PARSE_ERROR, UNSUPPORTED_PROTOCOL_VERSION
from pydantic import ValidationError

from core.tool import Arguments, ProcessInfo
from core.tools.mcp.catalog import MAX_LISTED, Listed
from core.tools.mcp.connection import IDEMPOTENCY_META, NotCalled, Reply, ServerFailed, SignInNeeded

MAX_PAGES = 100
MAX_BLOCKS = 1_000
"""Limit of the content blocks in a result."""
NAME = "hubbub"
ENDED = "it exited"
TOO_LARGE = "its response is too large"
_STOPPED = "a call was stopped or timed out, which closed the connection"
_LIST_CHANGED = "notifications/tools/list_changed"
SIGN_IN_CODE = -32099
"""The code of an answer that the transport makes of a refusal with 401."""
_NO_PROTOCOL = "it violated the protocol"


def quieten() -> None:
    """Silence the SDK's log: it repeats servers' output; the hub has its own events."""
    for name in ("mcp", "client", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


class SdkConnection:
    """Implements core.tools.mcp.connection.Connection."""

    def __init__(
        self,
        session: ClientSession,
        requests: asyncio.TaskGroup,
        process: ProcessInfo | None,
        limit_s: float,
    ) -> None:
        """Initialize. `requests`: the tasks of requests, which end with the session and not with
        their callers. `limit_s`: the time limit of everything except calls."""
        self._session = session
        self._requests = requests
        self._process = process
        self._limit_s = limit_s
        self._news = asyncio.Event()
        self._lost: str | None = None

    @property
    def process(self) -> ProcessInfo | None:
        return self._process

    def lose(self, because: str) -> None:
        """End the connection, with the first reason given."""
        self._lost = self._lost or because
        self._news.set()

    def note_change(self) -> None:
        """Record that the server's list of tools changed."""
        self._news.set()

    async def changed(self) -> None:
        await self._news.wait()
        self._news.clear()
        if self._lost is not None:
            raise ServerFailed(self._lost)

    async def greet(self) -> None:
        """Exchange greetings, in the protocol's older way first: nearly all servers know that. Raises
        ServerFailed."""
        async with self._in_time("complete the handshake"):
            try:
                await self._session.initialize()
            except MCPError as error:
                if error.code != UNSUPPORTED_PROTOCOL_VERSION:
                    raise
                await self._session.discover()

    async def tools(self) -> Sequence[Listed]:
        listed: list[Listed] = []
        cursor: str | None = None
        async with self._in_time("list its tools"):
            for _ in range(MAX_PAGES):
                page = await self._session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
                listed += [_listed(tool) for tool in page.tools]
                cursor = page.next_cursor
                if cursor is None or len(listed) >= MAX_LISTED:
                    break
        return listed[:MAX_LISTED]

    @contextlib.asynccontextmanager
    async def _in_time(self, what: str) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._limit_s):
                yield
        except TimeoutError as error:
            raise ServerFailed(self._lost or f"it failed to {what} within {self._limit_s:g} s") from error
        except MCPError as error:
            if error.code == SIGN_IN_CODE:
                raise SignInNeeded(error.message) from error
            over = error.code == CONNECTION_CLOSED
            raise ServerFailed(self._lost or (ENDED if over else f"it failed to {what}")) from error
        except (ValidationError, RuntimeError, RecursionError) as error:
            raise ServerFailed(_NO_PROTOCOL) from error

    async def call(self, tool: str, arguments: Arguments, idempotency_key: str) -> Reply:
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        if self._lost is not None:
            raise NotCalled(self._lost)
        params = types.CallToolRequestParams(
            name=tool, arguments=dict(arguments), _meta={IDEMPOTENCY_META: idempotency_key}
        )
        self._requests.create_task(self._ask(params, reply), name=f"mcp call {tool[:40]}")
        try:
            return await reply
        except asyncio.CancelledError:
            self.lose(_STOPPED)
            raise

    async def _ask(self, params: types.CallToolRequestParams, reply: asyncio.Future[Reply]) -> None:
        failure: str | None = None
        try:
            request = types.CallToolRequest(params=params)
            result = await self._session.send_request(request, types.CallToolResult)
            if not reply.done():
                reply.set_result(_reply(result))
        except MCPError as error:
            if error.code == SIGN_IN_CODE and not reply.done():
                reply.set_exception(SignInNeeded(error.message))
            elif error.code == PARSE_ERROR:
                failure = _NO_PROTOCOL
            elif error.code != CONNECTION_CLOSED and not reply.done():
                reply.set_result(Reply(error.message, failed=True))
        except (ValidationError, RecursionError):
            failure = _NO_PROTOCOL
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass  # it is lost; said below
        finally:
            if not reply.done():
                reply.set_exception(ServerFailed(self._lost or failure or "the connection was lost"))


@contextlib.asynccontextmanager
async def greeted(
    streams: Any, process: ProcessInfo | None, limit_s: float, tell: list[SdkConnection]
) -> AsyncIterator[SdkConnection]:
    """Open a session over a transport's two streams. `tell` gets the connection at once, for listeners to its
    end. Raises
    ServerFailed, also for errors of the body."""
    failed: ServerFailed | None = None

    async def hear(message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            for connection in tell:
                connection.note_change()

    heard, said = streams
    reduced: Any = _Heard(heard)
    info = types.Implementation(name=NAME, version="1")
    # Requests end by the session's end, so that is what ends first.
    async with (
        asyncio.TaskGroup() as requests,
        ClientSession(reduced, said, message_handler=hear, client_info=info) as session,
    ):
        connection = SdkConnection(session, requests, process, limit_s)
        tell.append(connection)
        try:
            await connection.greet()
            yield connection
        except ServerFailed as error:
            failed = error
    if failed is not None:
        raise failed


class _Heard:
    """The messages of a server, reduced to what the hub uses: the session checks the rest on the event loop
    as well. These are answers, requests (to be refused) and word that the list has changed."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._inner.__aexit__(*error)

    async def __aiter__(self) -> AsyncIterator[SessionMessage | Exception]:
        async for heard in self._inner:
            match heard:
                case SessionMessage(message=types.JSONRPCResponse() as answer):
                    answer.result = _reduced(answer.result)
                case SessionMessage(message=types.JSONRPCRequest() as request):
                    request.params = None
                case SessionMessage(message=types.JSONRPCNotification() as news):
                    if news.method != _LIST_CHANGED:
                        continue
                    news.params = None
                case _:
                    pass
            yield heard


def _reduced(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result with its lists cut to their limits."""
    match result:
        case {"tools": [*tools]}:
            return {**result, "tools": tools[:MAX_LISTED]}
        case {"content": [*blocks]} if len(blocks) > MAX_BLOCKS:
            left_out = {"type": "text", "text": f"[{len(blocks) - MAX_BLOCKS} more parts, not shown]"}
            return {**result, "content": [*blocks[:MAX_BLOCKS], left_out]}
        case _:
            return result


def _listed(tool: types.Tool) -> Listed:
    return Listed(tool.name, tool.description or "", tool.input_schema, tool.output_schema)


def _reply(result: types.CallToolResult) -> Reply:
    text = "\n".join(_text(block) for block in result.content)
    return Reply(text, result.is_error, result.structured_content)


def _text(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent(text=text):
            return text
        case types.ImageContent() | types.AudioContent():
            return f"[{block.mime_type}, {len(block.data) * 3 // 4} bytes, not shown]"
        case types.ResourceLink(uri=uri):
            return f"[see {uri}]"
        case types.EmbeddedResource(resource=types.TextResourceContents(text=text)):
            return text
        case types.EmbeddedResource(resource=resource):
            return f"[{resource.mime_type}, not shown]"
