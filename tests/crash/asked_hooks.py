"""Hooks of the crash stories: an address on this machine that is asked about everything, and changes it."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import web

from tests.crash.points import InHook
from tests.ports import free_port

POINTS = ("before_inbound", "before_tool_call", "transform_response", "before_outbound")
CARDS = ("Run `", "Run these", "Use `", "I was interrupted while running")
"""How cards are known, which hooks may refuse, and not change."""
SEEN, SAID = " (seen)", " (said)"
"""What is added to everything that goes out, and to everything a model says."""


class AskedHooks:
    """Takes what it is asked and says at once how that is changed, unless it is to hold one question."""

    def __init__(self) -> None:
        self.port = free_port()
        self.asked: Counter[str] = Counter()
        self._held_at: InHook | None = None
        self._held = asyncio.Event()

    @property
    def section(self) -> str:
        """Return what a hub's configuration says of them."""
        points = ", ".join(f'"{point}"' for point in POINTS)
        return (
            f'[network]\nallow_private = ["127.0.0.1:{self.port}"]\n'
            f'[[hooks]]\nname = "watch"\non = [{points}]\n'
            f'ask = "http://127.0.0.1:{self.port}/"\nsecret = "s3cret-of-hooks"\nwaits = true\n'
            'on_failure = "closed"\ntimeout_s = 30\n'
        )

    def hold(self, at: InHook) -> None:
        """Never answer this question."""
        self._held_at = at

    async def wait_held(self, limit_s: float) -> None:
        """Until it was asked. Raises TimeoutError."""
        async with asyncio.timeout(limit_s):
            await self._held.wait()

    async def take(self, request: web.Request) -> web.Response:
        """One question."""
        page = await request.json()
        point = str(page["point"])
        self.asked[point] += 1
        if self._held_at == InHook(point, self.asked[point]):
            self._held.set()
            await asyncio.Event().wait()
        return web.json_response(_change(point, page))


def _change(point: str, page: dict[str, Any]) -> dict[str, Any]:
    match point:
        case "before_inbound":
            return {"text": page["text"].replace("draft", "line")}
        case "before_tool_call":
            return {"arguments": {"command": page["arguments"]["command"].replace("notes", "out")}}
        case "transform_response":
            return {"text": page["text"] + SAID}
        case _ if any(words in page["text"] for words in CARDS):
            return {}
        case _:
            return {"text": page["text"] + SEEN}


@contextlib.asynccontextmanager
async def open_hooks() -> AsyncIterator[AskedHooks]:
    """They answer for the time of the block."""
    hooks = AskedHooks()
    app = web.Application()
    app.router.add_post("/", hooks.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", hooks.port).start()
    try:
        yield hooks
    finally:
        await runner.cleanup()
