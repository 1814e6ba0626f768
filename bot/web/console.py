"""The console's files: one page and its assets, as they lie in the package, with nothing that other sites
could make use of."""

import gzip
import hashlib
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.runtime import LOGIN_PATH
from core.lazy import dataclass

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

    def routes(self) -> list[Route]:
        """Return the routes `GET /`, `GET /login` (the same page, whose script uses the link),
        `GET /worker.js` and `GET /static/…`."""
        pages = [Route(path, self._index, methods=["GET"]) for path in ("/", LOGIN_PATH)]
        worker = Route(f"/{WORKER}", self._worker, methods=["GET"])
        return [*pages, worker, Route("/static/{path:path}", self._static)]

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
