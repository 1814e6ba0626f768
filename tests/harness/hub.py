"""A hub in the test's own process: the product's own `serve` between simulated platforms and a simulated
model.

Pauses of the hub pass `speed` times as fast; the platforms' time and all connections are real.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import aiohttp

from bot.app import App, Seams, serve
from bot.config.load import load
from core.safety.network import Lookup
from core.store.port import Store
from tests.clock import HastyClock
from tests.databases import lay_database
from tests.harness.simulators import Surrounded
from tests.patience import PATIENCE_S

LIMIT_S = PATIENCE_S


@dataclass(slots=True)
class AnyHub(Surrounded):
    """A hub on the configuration in `directory`, and its surroundings."""

    speed: float = 1.0
    lookup: Lookup | None = None
    task: asyncio.Task[None] | None = None
    _app: App | None = None
    clock: HastyClock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = HastyClock(self.speed)

    @property
    def app(self) -> App:
        """The hub that serves now, or did last."""
        assert self._app is not None
        return self._app

    @property
    def store(self) -> Store:
        """Its store."""
        return self.app.store

    @property
    def database(self) -> Path:
        """Return where the hub keeps everything."""
        return self.directory / "data" / "hub.db"

    async def start(self) -> App:
        """Start the hub; returns when it serves. Raises what the hub raises if it cannot start."""
        # A silent model ends no turn while a test waits for what is to end it.
        silence_s = 2 * PATIENCE_S
        return await self.serve(Seams(clock=self.clock, lookup=self.lookup, read_timeout_s=silence_s))

    async def serve(self, seams: Seams) -> App:
        """As `start`, with these seams."""
        lay_database(self.database)
        serving: asyncio.Future[App] = asyncio.get_running_loop().create_future()
        loaded = load(self.directory / "hubbub.toml", environ={})
        self.task = asyncio.create_task(serve(loaded, seams, serving.set_result))
        async with asyncio.timeout(LIMIT_S):
            await asyncio.wait([self.task, serving], return_when=asyncio.FIRST_COMPLETED)
        if self.task.done():
            self.task.result()
        self._app = serving.result()
        return self._app

    async def stop(self) -> None:
        """End it as Ctrl-C does, if it runs."""
        if self.task is not None and not self.task.done():
            os.kill(os.getpid(), signal.SIGINT)
            async with asyncio.timeout(LIMIT_S):
                await self.task
        self.task = None

    async def readyz(self) -> tuple[int, dict[str, Any]]:
        """Status and body of `/readyz`."""
        async with aiohttp.ClientSession() as http, http.get(f"{self.app.url}/readyz") as answer:
            return answer.status, await answer.json()

    async def channel_becomes(self, state: str, channel: str) -> str:
        """Until `/readyz` names that state; returns the reason it gives."""
        async with asyncio.timeout(LIMIT_S):
            while True:
                _, body = await self.readyz()
                if body["channels"][channel]["state"] == state:
                    return body["channels"][channel]["reason"] or ""
                await asyncio.sleep(0.02)

    async def all_run(self) -> None:
        """Until every channel does."""
        for platform in self.simulators.platforms:
            await self.channel_becomes("running", platform)

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Wait for something only the store knows."""
        async with asyncio.timeout(LIMIT_S):
            while not await holds():  # noqa: ASYNC110 - the store tells nobody
                await asyncio.sleep(0.02)

    async def settled_sends(self, channel: str = "telegram") -> None:
        """Until the hub knows where everything it sent is shown."""

        async def nothing_left() -> bool:
            return not await self.store.outbox.pending_outbox(channel)

        await self.until(nothing_left)

    @contextlib.asynccontextmanager
    async def open(self, *, start: bool = True) -> AsyncIterator[Self]:
        """For the time of the block; with `start`, all its channels run when it begins."""
        try:
            if start:
                await self.start()
                await self.all_run()
            yield self
        finally:
            await self.stop()
