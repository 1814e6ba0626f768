"""The product's own `serve` in this process, between whatever platforms its configuration names."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.app import App, Seams
from core.store.port import Store
from tests.patience import PATIENCE_S
from tests.scenarios.house import HastyClock
from tests.scenarios.served import ended, readyz, served

LIMIT_S = PATIENCE_S


@dataclass(slots=True)
class ServedHub:
    """A hub on the configuration in `directory`; its pauses pass `speed` times as fast."""

    directory: Path
    speed: float = 1.0
    clock: HastyClock = field(init=False)
    _task: asyncio.Task[None] | None = None
    _app: App | None = None

    def __post_init__(self) -> None:
        self.clock = HastyClock(self.speed)

    @property
    def app(self) -> App:
        """The one that serves now."""
        assert self._app is not None
        return self._app

    @property
    def store(self) -> Store:
        """Its store."""
        return self.app.store

    async def start(self) -> None:
        """Start the hub; returns when it serves. Raises what the hub raises if it cannot start."""
        self._task, self._app = await served(self.directory, Seams(clock=self.clock))

    async def stop(self) -> None:
        """As Ctrl-C does."""
        await ended(self._task)
        self._task = None

    async def becomes(self, state: str, channel: str) -> None:
        """Until `/readyz` names that state of the channel."""
        async with asyncio.timeout(LIMIT_S):
            while (await self._readyz())["channels"][channel]["state"] != state:  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    async def settled_sends(self, channel: str) -> None:
        """Until the hub knows where everything it sent there is shown."""
        async with asyncio.timeout(LIMIT_S):
            while await self.store.pending_outbox(channel):  # noqa: ASYNC110 - the store tells nobody
                await asyncio.sleep(0.02)

    async def _readyz(self) -> dict[str, Any]:
        _, body = await readyz(self.app)
        return body


__all__ = ["LIMIT_S", "ServedHub"]
