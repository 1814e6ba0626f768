"""Opens agent CLIs as models: their processes, directories, the part of the environment they see, and the MCP
server on the loopback interface that offers them the hub's tools."""

import asyncio
import contextlib
import hashlib
import json
import secrets
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from aiohttp import web

from bot.config.schema import Model as ModelSettings
from core.ids import Ids
from core.model.base import CallRequest, ModelAbilities, ToolSpec
from core.model.cli import Bridge, ChildFailed, CliModel, Launch, presets
from core.model.conversation import result_text, wire_tool_name
from core.model.provider_data import as_object, as_text
from core.tools.builtin.shell import safe_environment
from core.tools.mcp.connection import ServerChild, ServerExited, ServerFailed
from core.transcript import ResultStatus, ToolResult
from core.users import Thinking

# The MCP server. It runs no tool. A CLI's call waits here; the run finds the same call in the CLI's output,
# treats it as any model's, with approval and journal, and gives its result back. Each process has its own
# token.

PATH = "/mcp"
PROTOCOL = "2025-06-18"
METHOD_NOT_FOUND = -32601
HOST = "127.0.0.1"
BODY_LIMIT_BYTES = 4 * 1024 * 1024
SHUTDOWN_LIMIT_S = 1.0

Json = Mapping[str, Any]
Handle = Callable[[web.Request], Awaitable[web.Response]]


@contextlib.asynccontextmanager
async def local_server(routes: Mapping[str, Handle]) -> AsyncIterator[str]:
    """Serve POST requests within the block, by path, on a free port. Return the server's address.

    A handler is cancelled when its client goes away."""
    app = web.Application(client_max_size=BODY_LIMIT_BYTES)
    for path, handle in routes.items():
        app.router.add_post(path, handle)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=SHUTDOWN_LIMIT_S)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, 0).start()
        yield f"http://{HOST}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


class BridgeOffer:
    """Tools on offer to one process: implements core.model.cli.Offer."""

    def __init__(self, bridge: "McpBridge", tools: Sequence[ToolSpec]) -> None:
        self._bridge = bridge
        self._token = secrets.token_urlsafe(32)
        self._tools = tools
        self._results: defaultdict[str, deque[Json]] = defaultdict(deque)
        self._waiters: defaultdict[str, deque[asyncio.Future[Json]]] = defaultdict(deque)
        bridge.offers[_digest(self._token)] = self

    @property
    def server(self) -> Json:
        headers = {"Authorization": f"Bearer {self._token}"}
        return {"type": "http", "url": self._bridge.url, "headers": headers}

    def answer(self, call: CallRequest, result: ToolResult | None) -> None:
        key = _key(wire_tool_name(call.tool), json.loads(call.arguments))
        failed = result is None or result.status is not ResultStatus.OK
        said = {"content": [{"type": "text", "text": result_text(result)}], "isError": failed}
        while waiters := self._waiters[key]:
            waiter = waiters.popleft()
            if not waiter.done():
                waiter.set_result(said)
                return
        self._results[key].append(said)

    def close(self) -> None:
        self._bridge.offers.pop(_digest(self._token), None)
        for waiters in self._waiters.values():
            for waiter in waiters:
                waiter.cancel()

    def listed(self) -> Sequence[Json]:
        """Return the tools as MCP lists them."""
        return [
            {
                "name": wire_tool_name(tool.name),
                "description": tool.description,
                "inputSchema": {"type": "object", **tool.parameters},
            }
            for tool in self._tools
        ]

    async def called(self, name: str, arguments: Json) -> Json:
        """Return the result of a call once the run has it."""
        key = _key(name, arguments)
        if self._results[key]:
            return self._results[key].popleft()
        waiter: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiters[key].append(waiter)
        return await waiter


class McpBridge:
    """The server. `offers`: by the digest of their tokens."""

    def __init__(self) -> None:
        self.offers: dict[str, BridgeOffer] = {}
        self.url = ""

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve within the block."""
        async with local_server({PATH: self._request}) as url:
            self.url = f"{url}{PATH}"
            try:
                yield
            finally:
                for offer in tuple(self.offers.values()):
                    offer.close()

    def offer(self, tools: Sequence[ToolSpec]) -> BridgeOffer:
        """Offer tools to one process."""
        return BridgeOffer(self, tools)

    async def _request(self, request: web.Request) -> web.Response:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        offer = self.offers.get(_digest(token)) if scheme.lower() == "bearer" else None
        if offer is None:
            return web.Response(status=401)
        try:
            message = as_object(json.loads(await request.read()))
        except (ValueError, RecursionError):
            return web.Response(status=400)
        if "id" not in message:
            return web.Response(status=202)
        answer = await _answer(offer, as_text(message.get("method")), as_object(message.get("params")))
        if answer is None:
            error = {"code": METHOD_NOT_FOUND, "message": "method not found"}
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "error": error})
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": answer})


async def _answer(offer: BridgeOffer, method: str, params: Json) -> Json | None:
    """Return the result of a request; None for an unknown method."""
    match method:
        case "initialize":
            version = as_text(params.get("protocolVersion")) or PROTOCOL
            info = {"name": "hubbub", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        case "ping":
            return {}
        case "tools/list":
            return {"tools": offer.listed()}
        case "tools/call":
            return await offer.called(as_text(params.get("name")), as_object(params.get("arguments")))
        case _:
            return None


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _key(name: str, arguments: Json) -> str:
    """Return what tells one call from others: equal calls are answered in order."""
    return f"{name} {json.dumps(arguments, sort_keys=True)}"


# The processes.

DIRECTORY_NAME = "cli"
WINDOW_LIMIT_LINES = 50_000
"""The most lines in ten seconds: a streamed reply has one for each of its pieces."""


class CliChild:
    """One process of a CLI, killed with its whole group; it dies with the hub."""

    def __init__(
        self, argv: Sequence[str], environment: Mapping[str, str], directory: str, mark: str
    ) -> None:
        try:
            self._child = ServerChild(argv, environment, directory, mark, WINDOW_LIMIT_LINES)
        except ServerFailed as error:
            raise ChildFailed(str(error)) from error
        self._rest: bytes | None = None

    async def connect(self) -> None:
        await self._child.connect()

    async def line(self) -> bytes:
        try:
            return await self._child.line()
        except ServerExited as error:
            rest, self._rest = (error.rest if self._rest is None else b""), b""
            return rest
        except ServerFailed as error:
            raise ChildFailed(str(error)) from error

    async def tell(self, text: bytes) -> None:
        try:
            await self._child.say(text)
        except ServerFailed as error:
            raise ChildFailed(str(error)) from error
        self._child.end_input()

    def complaint(self) -> str:
        return self._child.errors.text()

    async def end(self) -> None:
        await self._child.end()


def launcher(name: str, new_id: Callable[[], str]) -> Launch:
    """Return what starts the processes of a model."""
    return lambda argv, environment, directory: CliChild(
        argv, environment, directory, f"cli-{name}-{new_id()}"
    )


@asynccontextmanager
async def open_bridge() -> AsyncIterator[Bridge]:
    """Serve the hub's tools to CLIs within the block."""
    bridge = McpBridge()
    async with bridge.serving():
        yield bridge.offer


def cli_model(
    settings: ModelSettings,
    key: str,
    data_dir: Path,
    environment: Mapping[str, str],
    ids: Ids,
    abilities: ModelAbilities,
    bridge: Bridge | None = None,
) -> CliModel:
    """Return a configured agent CLI. `environment`: the hub's own, of which it sees the harmless part."""
    preset = presets()[settings.preset]
    if settings.command:
        preset = replace(preset, program=settings.command)
    if settings.arguments:
        preset = replace(preset, arguments=settings.arguments)
    return CliModel(
        preset,
        name=settings.name,
        model=settings.model,
        base_url=settings.base_url,
        api_key=key,
        directory=(data_dir / DIRECTORY_NAME / settings.name).absolute(),
        environment=safe_environment(environment),
        launch=launcher(settings.name, ids.row_id),
        timeout_s=settings.timeout_s,
        new_name=ids.row_id,
        bridge=bridge,
        abilities=abilities,
        thinking=Thinking(settings.thinking),
    )
