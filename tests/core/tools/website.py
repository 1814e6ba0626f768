"""A website on this machine, under names of its own, as the web client meets it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from aiohttp import web

from core.safety.network import Exemption, NetworkGuard

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

SITE = "site.example"


async def hello(request: web.Request) -> web.StreamResponse:
    """Return what is answered where nothing else was said."""
    return web.Response(text=f"hello from {request.path}")


@dataclass(slots=True)
class Website:
    """An HTTP server on a loopback address. Every request is noted and answered by `answer`."""

    answer: Handler = hello
    host: str = "127.0.0.1"
    port: int = 0
    seen: list[web.Request] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    _runner: web.AppRunner | None = None

    @property
    def paths(self) -> list[str]:
        """Return what was asked for, in order."""
        return [request.path for request in self.seen]

    def url(self, path: str = "/", host: str = SITE) -> str:
        """An address on this server by a name."""
        return f"http://{host}:{self.port}{path}"

    def guard(self, *look_ups: Sequence[str], exempt: Sequence[str] = ()) -> NetworkGuard:
        """A guard that lets this server be reached, for which every name stands for it.

        `look_ups`: what names stand for instead, look-up by look-up; the last answer stays.
        """
        answers = list(look_ups) or [[self.host]]

        async def look_up(host: str, port: int) -> Sequence[str]:
            return answers.pop(0) if len(answers) > 1 else answers[0]

        opened = (f"{self.host}:{self.port}", *exempt)
        return NetworkGuard(look_up, [Exemption.parse(one) for one in opened])

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(request)
        self.bodies.append(await request.read())
        return await self.answer(request)

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0)
        await self._runner.setup()
        await web.TCPSite(self._runner, self.host, self.port).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()
        assert self._runner is not None
        await self._runner.cleanup()
