"""One hub in this process with every platform at once: simulated Telegram, Slack and Discord, the console,
and a simulated model."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from bot.app import App
from tests.bot.web.api_client import client
from tests.everywhere.people import LIMIT_S, Console, InDiscord, InSlack, InTelegram, Person
from tests.harness.hub import AnyHub
from tests.harness.simulators import OLIVIA, PLATFORMS, open_simulators, write_config

OWNER = "owner"


@dataclass(slots=True)
class HubEverywhere(AnyHub):
    """A running hub and its surroundings. `people`: the owner, at each platform and at the console."""

    people: dict[str, Person] = field(default_factory=dict[str, Person])

    async def start(self) -> App:
        """Start the hub; returns when all its channels run."""
        app = await AnyHub.start(self)
        await self.all_run()
        return app


@contextlib.asynccontextmanager
async def open_hub_everywhere(directory: Path, extra: str = "") -> AsyncIterator[HubEverywhere]:
    """A hub that runs on every platform; `extra` ends its configuration."""
    async with open_simulators(*PLATFORMS) as around:
        owners = [f"{platform}:{account}" for platform, account in OLIVIA.items()]
        model = around.model_section()
        write_config(directory, model, around.sections(), extra, owners=owners, hub=f'owner = "{OWNER}"')
        async with HubEverywhere(around, directory).open() as hub, client(directory, LIMIT_S) as api:
            hub.people = {
                "telegram": InTelegram(hub.telegram, int(OLIVIA["telegram"])),
                "slack": InSlack(hub.slack, OLIVIA["slack"]),
                "discord": InDiscord(hub.discord, int(OLIVIA["discord"])),
                "web": Console(api),
            }
            yield hub
