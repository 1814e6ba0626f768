"""A whole hub in this process between a simulated Slack and a simulated model provider."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.app import App, Seams
from tests.patience import PATIENCE_S
from tests.scenarios.house import HastyClock
from tests.scenarios.served import Served
from tests.simulators.model import ModelSimulator
from tests.simulators.slack import SlackSimulator

BOT_TOKEN, APP_TOKEN, SECRET = "xoxb-1", "xapp-1", "8f742231b10e8888abcd99yyyzzz85a5"
KEY = "model-key"
OWNER = "U0OLIVIA"
LIMIT_S = PATIENCE_S


@dataclass(slots=True)
class Workspace(Served):
    """A running hub and its surroundings. `mode`: how Slack brings events."""

    slack: SlackSimulator
    model: ModelSimulator
    directory: Path
    mode: str
    speed: float = 1.0
    extra: str = ""
    port: int = 0
    task: asyncio.Task[None] | None = None
    app: App | None = None
    clock: HastyClock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = HastyClock(self.speed)

    @property
    def files(self) -> Path:
        """Where tools work."""
        return self.directory / "workspace"

    async def start(self) -> App:
        """Start the hub; returns when its channel runs."""
        self.write_config()
        app = await self.serve(Seams(clock=self.clock))
        if self.mode == "http":
            base = f"{app.url}/channels/slack"
            await self.becomes("running")
            assert await self.slack.set_request_urls(
                f"{base}/events", f"{base}/interactivity", f"{base}/commands"
            )
        return app

    async def becomes(self, state: str) -> str:
        """Until `/readyz` names that state of the channel; returns the reason it gives."""
        return await self.channel_becomes(state, "slack")

    def direct(self, person: str = OWNER) -> str:
        """The person's conversation with the bot."""
        return self.slack.direct_channel(person).id

    async def hears(self, channel: str, text: str) -> Any:
        """The bot's message with that text in it."""
        return await self.slack.wait_text(channel, text, LIMIT_S)

    async def card(self, channel: str) -> Any:
        """The message with buttons, once there is one."""

        def shown() -> Any:
            with_buttons = [m for m in self.slack.messages(channel) if self.slack.look(m).buttons]
            return with_buttons[0] if with_buttons else None

        return await self.slack.wait_for(shown, LIMIT_S)

    def write_config(self) -> None:
        """What it starts with."""
        receiving = f'app_token = "{APP_TOKEN}"' if self.mode == "socket" else f'signing_secret = "{SECRET}"'
        (self.directory / "hubbub.toml").write_text(
            f"""
[hub]
data_dir = "{self.directory}/data"
owner_identities = ["slack:{OWNER}"]
[http]
port = {self.port}
[workspace]
dir = "{self.files}"
[[models]]
name = "main"
provider = "openai"
model = "sim-1"
base_url = "{self.model.openai_base_url}"
api_key = "{KEY}"
[channels.slack]
bot_token = "{BOT_TOKEN}"
mode = "{self.mode}"
{receiving}
direct = "open"
api_base_url = "{self.slack.url}/api"
{self.extra}
"""
        )


@contextlib.asynccontextmanager
async def open_workspace(
    directory: Path, *, mode: str = "socket", speed: float = 1.0, extra: str = "", start: bool = True
) -> AsyncIterator[Workspace]:
    """A hub with one Slack bot and one model."""
    async with SlackSimulator() as slack, ModelSimulator(api_key=KEY, models=("sim-1",)) as model:
        slack.add_app(BOT_TOKEN, APP_TOKEN, signing_secret=SECRET, mode=mode, commands=["/hubbub"])
        slack.configure(trigger_ttl_s=PATIENCE_S)  # a busy machine is no reason for a form not to open
        slack.add_user(OWNER, name="olivia")
        place = Workspace(slack, model, directory, mode, speed, extra)
        place.files.mkdir()
        if start:
            await place.start()
            await place.becomes("running")
        try:
            yield place
        finally:
            await place.stop()
