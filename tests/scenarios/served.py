"""A hub that serves in a test's own process."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import aiohttp

from bot.app import App, Seams, serve
from bot.config.load import load
from tests.databases import lay_database
from tests.patience import PATIENCE_S

LIMIT_S = PATIENCE_S


async def served(directory: Path, seams: Seams) -> tuple[asyncio.Task[None], App]:
    """Start a hub on the configuration there; returns when it serves. Raises what it raises if it cannot."""
    lay_database(directory / "data" / "hub.db")
    serving: asyncio.Future[App] = asyncio.get_running_loop().create_future()
    loaded = load(directory / "hubbub.toml", environ={})
    task = asyncio.create_task(serve(loaded, seams, serving.set_result))
    async with asyncio.timeout(LIMIT_S):
        await asyncio.wait([task, serving], return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        task.result()
    return task, serving.result()


async def ended(task: asyncio.Task[None] | None) -> None:
    """End it as Ctrl-C does, if it runs."""
    if task is not None and not task.done():
        os.kill(os.getpid(), signal.SIGINT)
        async with asyncio.timeout(LIMIT_S):
            await task


async def readyz(app: App) -> tuple[int, dict[str, Any]]:
    """Status and body of `/readyz`."""
    async with aiohttp.ClientSession() as http, http.get(f"{app.url}/readyz") as answer:
        return answer.status, await answer.json()


class Served:
    """The hub of a scenario; its surroundings are what inherits from this."""

    __slots__ = ()
    directory: Path
    task: asyncio.Task[None] | None
    app: App | None

    async def serve(self, seams: Seams) -> App:
        """Start the hub; see `served`."""
        self.task, self.app = await served(self.directory, seams)
        return self.app

    async def stop(self) -> None:
        """As Ctrl-C does."""
        await ended(self.task)
        self.task = None

    async def readyz(self) -> tuple[int, dict[str, Any]]:
        """Status and body of `/readyz`."""
        assert self.app is not None
        return await readyz(self.app)

    async def channel_becomes(self, state: str, channel: str) -> str:
        """Until `/readyz` names that state; returns the reason it gives."""
        async with asyncio.timeout(LIMIT_S):
            while True:
                _, body = await self.readyz()
                if body["channels"][channel]["state"] == state:
                    return body["channels"][channel]["reason"] or ""
                await asyncio.sleep(0.02)
