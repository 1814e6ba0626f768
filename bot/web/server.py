"""The HTTP server inside the hub's own event loop and under its own signal handling, and the console's files:
one page and its assets, as they lie in the package, with nothing that other sites could make use of."""

import asyncio
import contextlib
import gzip
import hashlib
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.routing import Route as WebRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.runtime import CHANNELS_PATH, LOGIN_PATH, UVICORN_COMMAND_LINE, put_off, url_of
from bot.web.responses import body_of, on_http_error
from channels.channel import HttpRequest, HttpResponse, Route
from core.lazy import dataclass

with put_off(*UVICORN_COMMAND_LINE):
    from uvicorn.config import Config
    from uvicorn.server import Server

WORKER = "worker.js"
"""Served at the root as well: a service worker has power only over paths below its own."""
STATIC = Path(__file__).with_name("static")
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self';"
    " font-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self';"
    " frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
MEDIA_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
"""Of all that the console is made of; the machine's own list of types may say something else."""


@dataclass(frozen=True, slots=True)
class _Asset:
    content: bytes
    compressed: bytes
    media_type: str
    etag: str


class Console:
    """Server of the files found at the first request; other paths don't exist."""

    def __init__(self, directory: Path = STATIC) -> None:
        self._directory = directory
        self._assets: dict[str, _Asset] | None = None

    def routes(self) -> list[WebRoute]:
        """Return the routes `GET /`, `GET /login` (the same page, whose script uses the link),
        `GET /worker.js` and `GET /static/…`."""
        pages = [WebRoute(path, self._index, methods=["GET"]) for path in ("/", LOGIN_PATH)]
        worker = WebRoute(f"/{WORKER}", self._worker, methods=["GET"])
        return [*pages, worker, WebRoute("/static/{path:path}", self._static)]

    async def _index(self, request: Request) -> Response:
        return self._answer(request, "index.html")

    async def _worker(self, request: Request) -> Response:
        return self._answer(request, WORKER)

    async def _static(self, request: Request) -> Response:
        return self._answer(request, request.path_params["path"])

    def _answer(self, request: Request, name: str) -> Response:
        if self._assets is None:
            self._assets = _read(self._directory)
        asset = self._assets.get(name)
        if asset is None:
            return PlainTextResponse("not found\n", 404)
        headers = {"etag": asset.etag, "cache-control": "no-cache", "vary": "accept-encoding"}
        if request.headers.get("if-none-match") == asset.etag:
            return Response(status_code=304, headers=headers)
        content = asset.content
        if "gzip" in request.headers.get("accept-encoding", ""):
            content, headers["content-encoding"] = asset.compressed, "gzip"
        return Response(content, media_type=asset.media_type, headers=headers)


def _read(directory: Path) -> dict[str, _Asset]:
    assets: dict[str, _Asset] = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            media_type = MEDIA_TYPES[path.suffix]
            # Weak: what is sent may be compressed.
            etag = f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'
            asset = _Asset(content, gzip.compress(content, mtime=0), media_type, etag)
            assets[path.relative_to(directory).as_posix()] = asset
    return assets


KEEP_ALIVE_S = 75
"""The life of an idle connection: longer than with clients and proxies (aiohttp 15 s, nginx and AWS 60 s).
The sender must be the one who closes, else now and then a request meets a closed connection."""


class _Server(Server):
    """Leaves signals to the hub, which stops its parts in order."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # Signals are handled by the program.
        yield


def _secured(app: ASGIApp) -> ASGIApp:
    """Add headers to every answer that restrict what browsers may do with it."""

    async def secured(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await app(scope, receive, send_secured if scope["type"] == "http" else send)

    return secured


class WebServer:
    """Serves routes on a socket until cancelled."""

    def __init__(self, sock: socket.socket, routes: Sequence[BaseRoute]) -> None:
        self.routes = tuple(routes)
        self._sock = sock
        config = Config(
            _secured(Starlette(routes=list(routes), exception_handlers={HTTPException: on_http_error})),
            http="httptools",  # h11 takes 64 kB of headers at most, and other ports may set more cookies
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
            timeout_keep_alive=KEEP_ALIVE_S,
        )
        self._server = _Server(config)

    @property
    def url(self) -> str:
        """Return the server's address."""
        return url_of(self._sock)

    async def run(self) -> None:
        """Serve until cancelled; requests that are being answered then get a second more."""
        serving = asyncio.create_task(self._server.serve(sockets=[self._sock]), name="uvicorn")
        try:
            await asyncio.shield(serving)
        finally:
            # Cancelled within, it would leave its sockets with the event loop.
            self._server.should_exit = True
            await asyncio.wait([serving])
            self._sock.close()


# The endpoints platforms call, mounted below `/channels/{name}`; channels know no web framework.


BODY_LIMIT_BYTES = 1024 * 1024
"""Platforms' events are far smaller; more is refused before it is read."""


def channel_routes(routes: Mapping[str, Sequence[Route]]) -> list[BaseRoute]:
    """Return one mount per channel that has endpoints."""
    return [
        Mount(f"{CHANNELS_PATH}/{name}", routes=[_web_route(route) for route in of_channel])
        for name, of_channel in routes.items()
        if of_channel
    ]


def _web_route(route: Route) -> WebRoute:
    return WebRoute(route.path, _endpoint(route.handle), methods=[route.method])


def _endpoint(
    handle: Callable[[HttpRequest], Awaitable[HttpResponse]],
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        body = await body_of(request, BODY_LIMIT_BYTES)
        answer = await handle(
            HttpRequest(request.method, request.url.path, dict(request.headers.items()), body)
        )
        return Response(answer.body, answer.status, dict(answer.headers))

    return endpoint


# A part of the web side that is made when somebody first asks for it.


class OnDemand:
    """An application built by its first request, in a thread, while other requests are served.

    The API's models are a tenth of the hub's start and of its memory, and chats need none of them.
    """

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._make = make
        self._made: ASGIApp | None = None
        self._making = asyncio.Lock()

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """The routes of the application, once it is built."""
        return getattr(self._made, "routes", ())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if self._made is None:
            async with self._making:
                if self._made is None:
                    self._made = await asyncio.to_thread(self._make)
        await self._made(scope, receive, send)
