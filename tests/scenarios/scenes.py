"""A hub on one platform and its owner there."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from tests.harness.discord_hub import open_discord_hub
from tests.harness.hub import AnyHub
from tests.harness.people import Person, person
from tests.harness.simulators import OLIVIA
from tests.harness.slack_hub import open_slack_hub
from tests.harness.telegram_hub import open_hub
from tests.simulators.model import ModelSimulator

OPENED_BY = {"telegram": open_hub, "slack": open_slack_hub, "discord": open_discord_hub}


@dataclass(frozen=True, slots=True)
class Scene:
    """`place`: the hub's surroundings, of which more can be asked than a person sees."""

    owner: Person
    place: AnyHub

    @property
    def model(self) -> ModelSimulator:
        """Return what the hub asks."""
        return self.place.model

    @property
    def files(self) -> Path:
        """Return where tools work."""
        return self.place.workspace

    @property
    def lines(self) -> list[str]:
        """Return what calls wrote to `out.txt`, once for each time one ran."""
        out = self.files / "out.txt"
        return out.read_text().split() if out.exists() else []

    async def restart(self) -> None:
        """End the hub in good order, and start it again."""
        await self.place.stop()
        await self.place.start()
        await self.place.all_run()


@contextlib.asynccontextmanager
async def open_scene(
    platform: str, directory: Path, *, extra: str = "", speed: float = 1.0
) -> AsyncIterator[Scene]:
    """The hub on that platform; `extra` ends its configuration."""
    async with OPENED_BY[platform](directory, extra=extra, speed=speed) as hub:
        yield Scene(person(hub, platform, OLIVIA[platform]), hub)


__all__ = ["Scene", "open_scene"]
