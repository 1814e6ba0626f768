"""A SearXNG to test against: `GET /search` with `format=json`, as its search API is documented.

Written from https://docs.searxng.org/dev/search_api.html and the limiter's page. It imports nothing of the
product.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web

TIME_RANGES = {"day", "month", "year"}


@dataclass(slots=True)
class SearxngSimulator:
    """An instance on a loopback address. `results`: what every search finds, ten a page. `formats`: of
    `search.formats` in its settings. `limited`: its limiter refuses everything. `unresponsive`: pairs of an
    engine and its trouble. `body`: sent instead of an answer. `location`: where it sends everybody else.
    `drips`: it sends the beginning of an answer and then a space now and then, for ever. `silent`: it sends
    nothing at all."""

    results: Sequence[dict[str, Any]] = ()
    formats: tuple[str, ...] = ("html", "json")
    limited: bool = False
    unresponsive: Sequence[Sequence[str]] = ()
    suggestions: Sequence[str] = ()
    body: bytes | None = None
    location: str | None = None
    drips: bool = False
    silent: bool = False
    port: int = 0
    asked: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    _runner: web.AppRunner | None = None

    @property
    def base_url(self) -> str:
        """Its address, as an operator configures it."""
        return f"http://127.0.0.1:{self.port}"

    async def _search(self, request: web.Request) -> web.StreamResponse:
        given = dict(request.query)
        self.asked.append(given)
        self.headers.append(dict(request.headers))
        if self.silent:
            await asyncio.Event().wait()
        if self.drips:
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            await response.prepare(request)
            while True:
                await response.write(b" ")
                await asyncio.sleep(0.05)
        if self.location is not None:
            return web.Response(status=302, headers={"Location": self.location})
        if self.limited:
            return web.Response(status=429, text="Too Many Requests", content_type="text/html")
        if given.get("format", "html") not in self.formats:
            return web.Response(status=403, text="<h1>Forbidden</h1>", content_type="text/html")
        if not given.get("q") or given.get("time_range", "day") not in TIME_RANGES:
            return web.Response(status=400, text="<h1>Bad Request</h1>", content_type="text/html")
        if self.body is not None:
            return web.Response(body=self.body, content_type="application/json")
        begin = (int(given.get("pageno", "1")) - 1) * 10
        return web.json_response(
            {
                "query": given["q"],
                "number_of_results": 0,
                "results": list(self.results[begin : begin + 10]),
                "answers": [],
                "corrections": [],
                "infoboxes": [],
                "suggestions": list(self.suggestions),
                "unresponsive_engines": [list(one) for one in self.unresponsive],
            }
        )

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/search", self._search)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()
