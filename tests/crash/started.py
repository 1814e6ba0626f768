"""A hub that a crash story starts, again and again."""

import asyncio
import signal
from pathlib import Path

from tests.crash.entry import Orders
from tests.crash.nursery import HubProcess, Nursery, times_served
from tests.crash.points import AtCommit
from tests.patience import PATIENCE_S

LIMIT_S = PATIENCE_S


class Started:
    """The processes of one hub on the same data; the surroundings are what inherits from this."""

    __slots__ = ()
    directory: Path
    nursery: Nursery
    hub: HubProcess | None
    starts: int
    served: int

    def trace(self) -> list[str]:
        """The commits the hub's newest process passed."""
        path = self.directory / f"trace-{self.starts}"
        return path.read_text().split() if path.exists() else []

    async def start(self, die_at: AtCommit | None = None) -> HubProcess:
        """Start a hub on the story's data."""
        self.starts += 1
        trace, log = self.directory / f"trace-{self.starts}", self.directory / "hub.log"
        self.served = times_served(log)
        orders = Orders(self.directory / "hubbub.toml", trace, log, die_at)
        self.hub = await self.nursery.start(orders)
        return self.hub

    def serves(self) -> bool:
        """Whether the newest hub lives and has said that it serves."""
        served = times_served(self.directory / "hub.log") > self.served
        return served and self.hub is not None and not self.hub.dead

    async def served_at_last(self) -> None:
        """Until the newest hub serves, or is gone."""
        async with asyncio.timeout(LIMIT_S):
            while self.hub is not None and not self.hub.dead and not self.serves():  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.01)

    async def end(self, sent: signal.Signals) -> None:
        """End the hub, if it lives."""
        match self.hub:
            case None:
                return
            case hub if sent is signal.SIGINT:
                await hub.interrupt(self.directory / "hub.log", self.served + 1, LIMIT_S)
            case hub:
                hub.send(sent)
                await hub.wait(LIMIT_S)
