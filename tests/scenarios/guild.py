"""A whole hub in this process between a simulated Discord and a simulated model provider."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from bot.app import App, Seams
from tests.patience import PATIENCE_S
from tests.scenarios.house import HastyClock
from tests.scenarios.served import Served
from tests.simulators.discord import DiscordSimulator
from tests.simulators.discord.interactions import Interaction
from tests.simulators.discord.world import Channel, Message
from tests.simulators.model import ModelSimulator

BOT = 900_000_000_000_000_001
TOKEN = base64.b64encode(str(BOT).encode()).decode().rstrip("=") + ".Gabcde.secret-of-the-bot"
KEY = "model-key"
OWNER = 100_000_000_000_000_007
LIMIT_S = PATIENCE_S


@dataclass(slots=True)
class Server(Served):
    """A running hub and its surroundings: a Discord server that the owner and the bot are in."""

    discord: DiscordSimulator
    model: ModelSimulator
    directory: Path
    speed: float = 1.0
    extra: str = ""
    guild: int = 0
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
        """Start the hub; returns when it serves."""
        self.write_config()
        return await self.serve(Seams(clock=self.clock))

    async def becomes(self, state: str) -> str:
        """Until `/readyz` names that state of the channel; returns the reason it gives."""
        return await self.channel_becomes(state, "discord")

    def direct(self, person: int = OWNER) -> int:
        """The person's conversation with the bot."""
        return self.discord.dm_channel(person).id

    def room(self, name: str, kind: str = "text") -> Channel:
        """A channel of the server."""
        return self.discord.create_channel(self.guild, name, kind)

    def joins(self, person: int, name: str) -> None:
        """Somebody else is in the server."""
        self.discord.add_user(person, name, global_name=name.capitalize())
        self.discord.join_guild(self.guild, person)

    async def hears(self, channel: int, text: str) -> Message:
        """The bot's message with that text in it."""
        return await self.discord.wait_text(channel, text, LIMIT_S)

    def says(self, channel: int) -> list[str]:
        """What the bot shows there, in order, to everybody."""
        shown = self.discord.bot_messages(channel)
        return [message.text for message in shown if message.ephemeral_for is None]

    async def card(self, channel: int) -> Message:
        """The message with buttons, once there is one."""

        def shown() -> Message | None:
            return next((one for one in self.discord.bot_messages(channel) if one.buttons()), None)

        return await self.discord.wait_for(shown, LIMIT_S)

    async def presses(self, person: int, card: Message, button: int) -> Interaction:
        """Somebody presses; what came of it."""
        pressed = self.discord.user_presses_button(person, card.id, button)
        return await self.discord.wait_interaction(pressed.id, LIMIT_S)

    def write_config(self) -> None:
        """What it starts with."""
        (self.directory / "hubbub.toml").write_text(
            f"""
[hub]
data_dir = "{self.directory}/data"
owner_identities = ["discord:{OWNER}"]
[http]
port = 0
[workspace]
dir = "{self.files}"
[[models]]
name = "main"
provider = "openai"
model = "sim-1"
base_url = "{self.model.openai_base_url}"
api_key = "{KEY}"
[channels.discord]
token = "{TOKEN}"
direct = "open"
api_base_url = "{self.discord.api_base_url}"
gateway_url = "{self.discord.gateway_url}"
{self.extra}
"""
        )


@contextlib.asynccontextmanager
async def open_server(
    directory: Path, *, speed: float = 1.0, extra: str = "", start: bool = True
) -> AsyncIterator[Server]:
    """A hub with one Discord bot and one model."""
    async with DiscordSimulator() as discord, ModelSimulator(api_key=KEY, models=("sim-1",)) as model:
        discord.configure(interaction_limit_s=PATIENCE_S)  # a busy machine is no reason to fail a press
        discord.add_bot(TOKEN)
        discord.add_user(OWNER, "olivia", global_name="Olivia")
        place = Server(discord, model, directory, speed, extra)
        place.guild = discord.create_guild("house", [OWNER]).id
        place.files.mkdir()
        if start:
            await place.start()
            await place.becomes("running")
        try:
            yield place
        finally:
            await place.stop()
