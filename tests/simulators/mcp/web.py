"""An MCP server on HTTP that can misbehave; within the test's own process, without the SDK.

`mode` says how it errs, and may change at any time; what was called is in `calls`, headers in `headers`,
idempotency keys, also of refused calls, in `keys`. `guard`:
returns the challenge with which a request's Authorization is refused; `resource_metadata`: of RFC 9728.
"""

import asyncio
import contextlib
import gzip
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from aiohttp import web

from tests.patience import PATIENCE_S
from tests.simulators.mcp.raw import ANSWERS, TOOLS, text, tool

SESSION = "mcp-session-id"
NEWS = b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n'
HIDING = b': "\ndata: ' + json.dumps({"jsonrpc": "2.0", "id": 1, **ANSWERS["values"]}).encode() + b"\n\n"
STREAMS = {
    "floods": ("application/json", b'"' + b"x" * 1024 * 1024, 100),
    "chatters": ("text/event-stream", NEWS * 1000, 1000),
    "events": ("text/event-stream", HIDING, 1),
}
"""Type, piece and how many of them, by the mode."""


class WebServer:
    """See the module."""

    def __init__(self) -> None:
        self.mode = ""
        self.given: Mapping[str, Any] = {}
        self.calls: list[Mapping[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.sessions = 0
        self.url = ""
        self.keys: list[str] = []
        self.key: str | None = None
        self.guard: Callable[[str | None], str | None] = lambda _: None
        self.where_to_sign_in = ""
        self.resource_metadata: Callable[[], Mapping[str, Any] | None] = lambda: None
        self._standing: list[asyncio.Queue[bytes]] = []
        self._listens = asyncio.Event()
        self._changed = False

    async def post(self, request: web.Request) -> web.StreamResponse:
        self.headers.append(request.headers)
        said = json.loads(await request.read())
        if said.get("method") == "tools/call":
            self.keys.append(said["params"]["_meta"]["hubbub/idempotency-key"])
        if self.key is not None and request.headers.get("Authorization") != self.key:
            return web.Response(status=401, text="who are you?")
        challenge = self.guard(request.headers.get("Authorization"))
        if challenge is not None:
            return web.Response(status=401, headers={"WWW-Authenticate": challenge})
        if self.mode == "wants more" and said.get("method") == "tools/call":
            more = f'Bearer error="insufficient_scope", scope="notes.write", {self.where_to_sign_in}'
            return web.Response(status=403, headers={"WWW-Authenticate": more})
        if self.mode == "elsewhere":
            raise web.HTTPTemporaryRedirect("http://127.0.0.1:9/mcp")
        if "id" not in said:
            return web.Response(status=202)
        answer = await self.answer(request, said["method"], said.get("params") or {})
        if isinstance(answer, web.StreamResponse):
            return answer
        page = {"jsonrpc": "2.0", "id": said["id"], **answer}
        return web.json_response(page, headers={SESSION: f"s{self.sessions}"})

    async def metadata(self, _: web.Request) -> web.Response:
        page = self.resource_metadata()
        return web.Response(status=404) if page is None else web.json_response(page)

    async def answer(self, request: web.Request, method: str, params: dict[str, Any]) -> Any:
        match method:
            case "initialize":
                self.sessions += 1
                return {
                    "result": {
                        "protocolVersion": params["protocolVersion"],
                        "capabilities": {"tools": {"listChanged": True}},
                        "serverInfo": {"name": "web", "version": "1"},
                    }
                }
            case "tools/list":
                return {"result": {"tools": [tool("other", {"type": "object"})] if self._changed else TOOLS}}
            case "tools/call":
                return await self.call(request, params["name"], params.get("arguments") or {})
            case _:
                return {"error": {"code": -32601, "message": f"no {method} here"}}

    async def call(self, request: web.Request, name: str, arguments: dict[str, Any]) -> Any:
        self.calls.append({"name": name, **arguments})
        match self.mode:
            case "hangs":
                return await asyncio.Event().wait()
            case mode if mode in STREAMS:
                return await self.stream(request, *STREAMS[mode])
            case "compressed":
                body = gzip.compress(b"x" * 10 * 1024 * 1024)
                return web.Response(body=body, headers={"Content-Encoding": "gzip"})
            case "breaks":
                return web.Response(status=500, text="Traceback …")
            case "forgets":
                return web.Response(status=404)
            case "nonsense":
                return web.Response(text="{", content_type="application/json")
            case "given":
                return self.given
            case "values" | "blocks":
                return ANSWERS[self.mode]
            case "drops":
                assert request.transport is not None
                request.transport.abort()
                return web.Response()
            case _:
                return text(str(arguments["a"] + arguments["b"])) if name == "add" else text("done")

    async def stream(self, request: web.Request, kind: str, piece: bytes, times: int) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": kind})
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            for _ in range(times):
                await response.write(piece)
        return response

    async def get(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._standing.append(queue)
        self._listens.set()
        with contextlib.suppress(ConnectionError):
            while True:
                await response.write(await queue.get())
        return response

    async def standing(self) -> None:
        """Until a client listens to what is said unasked."""
        async with asyncio.timeout(PATIENCE_S):
            await self._listens.wait()

    def say_unasked(self, event: bytes) -> None:
        for queue in self._standing:
            queue.put_nowait(event)

    def change(self) -> None:
        """Another list from now on, and word of it."""
        self._changed = True
        page = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        self.say_unasked(b"data: " + json.dumps(page).encode() + b"\n\n")


@contextlib.asynccontextmanager
async def open_web_server() -> AsyncIterator[WebServer]:
    """A server on a free port of this machine."""
    server = WebServer()
    app = web.Application()
    app.router.add_post("/mcp", server.post)
    app.router.add_get("/mcp", server.get)
    app.router.add_get("/.well-known/oauth-protected-resource/mcp", server.metadata)
    app.router.add_delete("/mcp", _farewell)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"
    try:
        yield server
    finally:
        await runner.cleanup()


async def _farewell(_: web.Request) -> web.Response:
    return web.Response()
