"""A hub on one platform and its owner there."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from tests.scenarios import guild, house, workspace
from tests.scenarios.people import OnDiscord, OnSlack, OnTelegram, Person
from tests.simulators.model import ModelSimulator


@dataclass(frozen=True, slots=True)
class Scene:
    """`place`: the hub's surroundings, of which more can be asked than a person sees."""

    owner: Person
    place: house.House | workspace.Workspace | guild.Server

    @property
    def model(self) -> ModelSimulator:
        """What the hub asks."""
        return self.place.model

    @property
    def files(self) -> Path:
        """Where tools work."""
        return self.place.directory / "workspace"

    @property
    def lines(self) -> list[str]:
        """What calls wrote to `out.txt`, once for each time one ran."""
        out = self.files / "out.txt"
        return out.read_text().split() if out.exists() else []

    async def restart(self) -> None:
        """End the hub in good order, and start it again."""
        await self.place.stop()
        await self.place.start()
        if isinstance(self.place, house.House):
            await self.place.telegram.wait_polling(timeout_s=house.LIMIT_S)
        else:
            await self.place.becomes("running")


@contextlib.asynccontextmanager
async def open_scene(
    platform: str, directory: Path, *, extra: str = "", speed: float = 1.0
) -> AsyncIterator[Scene]:
    """The hub on that platform; `extra` ends its configuration."""
    match platform:
        case "telegram":
            async with house.open_house(directory, extra=extra, speed=speed) as home:
                yield Scene(OnTelegram(home.telegram, house.OWNER, home.settled_sends), home)
        case "slack":
            async with workspace.open_workspace(directory, extra=extra, speed=speed) as work:
                yield Scene(OnSlack(work.slack, workspace.OWNER), work)
        case "discord":
            async with guild.open_server(directory, extra=extra, speed=speed) as server:
                yield Scene(OnDiscord(server.discord, guild.OWNER), server)
        case _:
            raise ValueError(platform)


__all__ = ["Scene", "open_scene"]
