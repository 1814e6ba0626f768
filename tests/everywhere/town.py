"""One hub in this process with every platform at once: simulated Telegram, Slack and Discord, the console,
and a simulated model."""

import asyncio
import base64
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from bot.app import App, Seams, serve
from bot.config.load import load
from channels.supervisor import Phase
from tests.bot.web.api_client import client
from tests.databases import lay_database
from tests.everywhere.people import LIMIT_S, Console, InDiscord, InSlack, InTelegram, Person
from tests.simulators.discord import DiscordSimulator
from tests.simulators.model import ModelSimulator
from tests.simulators.slack import SlackSimulator
from tests.simulators.telegram import TelegramSimulator

KEY = "model-key"
TELEGRAM_TOKEN = "123456:AAE-a-token-of-the-usual-length-0123456"
SLACK_BOT, SLACK_APP = "xoxb-1", "xapp-1"
DISCORD_BOT = 900_000_000_000_000_001
DISCORD_TOKEN = base64.b64encode(str(DISCORD_BOT).encode()).decode().rstrip("=") + ".Gabcde.secret-of-the-bot"
OWNER = "owner"
OLIVIA = {"telegram": 7, "slack": "U0OLIVIA", "discord": 100_000_000_000_000_007}
"""The owner's accounts."""
PLATFORMS = tuple(OLIVIA)

CONFIG = """
[hub]
data_dir = "{directory}/data"
owner = "{owner}"
owner_identities = [{identities}]
[http]
port = 0
[workspace]
dir = "{directory}/workspace"
[[models]]
name = "main"
provider = "openai"
model = "sim-1"
base_url = "{model}"
api_key = "{key}"
[channels.telegram]
token = "{telegram_token}"
api_base_url = "{telegram}"
[channels.slack]
bot_token = "{slack_bot}"
app_token = "{slack_app}"
api_base_url = "{slack}/api"
[channels.discord]
token = "{discord_token}"
api_base_url = "{discord}"
gateway_url = "{gateway}"
"""


@dataclass(slots=True)
class Town:
    """A running hub and its surroundings. `people`: the owner, at each platform and at the console."""

    telegram: TelegramSimulator
    slack: SlackSimulator
    discord: DiscordSimulator
    model: ModelSimulator
    directory: Path
    people: dict[str, Person]
    task: asyncio.Task[None] | None = None
    app: App | None = None

    @property
    def hub(self) -> App:
        """The hub that runs."""
        assert self.app is not None
        return self.app

    async def start(self) -> None:
        """Start the hub; returns when all channels run."""
        lay_database(self.directory / "data" / "hub.db")
        serving: asyncio.Future[App] = asyncio.get_running_loop().create_future()
        loaded = load(self.directory / "hubbub.toml", environ={})
        self.task = asyncio.create_task(serve(loaded, Seams(), serving.set_result))
        async with asyncio.timeout(LIMIT_S):
            await asyncio.wait([self.task, serving], return_when=asyncio.FIRST_COMPLETED)
            if self.task.done():
                self.task.result()
            self.app = serving.result()
            while not self._all_run():  # noqa: ASYNC110 - states are looked at, nobody tells of them
                await asyncio.sleep(0.01)

    def _all_run(self) -> bool:
        return all(state.phase is Phase.RUNNING for state in self.hub.manager.states().values())

    async def stop(self) -> None:
        """As Ctrl-C does."""
        if self.task is not None and not self.task.done():
            os.kill(os.getpid(), signal.SIGINT)
            async with asyncio.timeout(LIMIT_S):
                await self.task
        self.task = self.app = None

    def write_config(self) -> None:
        """The hub's configuration."""
        (self.directory / "workspace").mkdir(exist_ok=True)
        identities = ", ".join(f'"{channel}:{account}"' for channel, account in OLIVIA.items())
        text = CONFIG.format(
            directory=self.directory,
            owner=OWNER,
            identities=identities,
            model=self.model.openai_base_url,
            key=KEY,
            telegram_token=TELEGRAM_TOKEN,
            telegram=self.telegram.url,
            slack_bot=SLACK_BOT,
            slack_app=SLACK_APP,
            slack=self.slack.url,
            discord_token=DISCORD_TOKEN,
            discord=self.discord.api_base_url,
            gateway=self.discord.gateway_url,
        )
        (self.directory / "hubbub.toml").write_text(text)


@contextlib.asynccontextmanager
async def open_town(directory: Path) -> AsyncIterator[Town]:
    """A town with its hub running."""
    async with (
        TelegramSimulator() as telegram,
        SlackSimulator() as slack,
        DiscordSimulator() as discord,
        ModelSimulator(api_key=KEY, models=("sim-1",)) as model,
    ):
        telegram.add_bot(TELEGRAM_TOKEN)
        telegram.add_user(7, first_name="Olivia")
        slack.add_app(SLACK_BOT, SLACK_APP, commands=["/hubbub"])
        slack.add_user("U0OLIVIA", name="olivia", real_name="Olivia")
        discord.add_bot(DISCORD_TOKEN)
        discord.add_user(OLIVIA["discord"], "olivia", global_name="Olivia")
        discord.create_guild("house", [OLIVIA["discord"]])
        town = Town(telegram, slack, discord, model, directory, {})
        town.write_config()
        try:
            await town.start()
            async with client(directory, LIMIT_S) as api:
                town.people = {
                    "telegram": InTelegram(telegram, 7),
                    "slack": InSlack(slack, "U0OLIVIA"),
                    "discord": InDiscord(discord, 100_000_000_000_000_007),
                    "web": Console(api),
                }
                yield town
        finally:
            await town.stop()
