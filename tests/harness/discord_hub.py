"""A hub in this process between a simulated Discord and a simulated model provider."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from bot.app import App
from tests.harness.hub import LIMIT_S, AnyHub
from tests.harness.simulators import DISCORD_BOT, DISCORD_TOKEN, OLIVIA, open_simulators, write_config
from tests.simulators.discord.interactions import Interaction
from tests.simulators.discord.world import Channel, Message

BOT, TOKEN = DISCORD_BOT, DISCORD_TOKEN
OWNER = int(OLIVIA["discord"])


@dataclass(slots=True)
class DiscordHub(AnyHub):
    """A running hub and its surroundings: a Discord server that the owner and the bot are in."""

    extra: str = ""

    @property
    def guild(self) -> int:
        """That server."""
        return self.simulators.guild

    async def start(self) -> App:
        """Start the hub; returns when it serves."""
        self.write_config()
        return await AnyHub.start(self)

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
        self.simulators.add_person("discord", str(person), name.capitalize())

    async def hears(self, channel: int, text: str) -> Message:
        """The bot's message with that text in it."""
        return await self.discord.wait_text(channel, text, LIMIT_S)

    def says(self, channel: int) -> list[str]:
        """Return what the bot shows there, in order, to everybody."""
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
        """Return what it starts with."""
        channel = self.simulators.section("discord", direct="open") + self.extra
        write_config(self.directory, self.simulators.model_section(), channel, owners=[f"discord:{OWNER}"])


@contextlib.asynccontextmanager
async def open_discord_hub(
    directory: Path, *, speed: float = 1.0, extra: str = "", start: bool = True
) -> AsyncIterator[DiscordHub]:
    """A hub with one Discord bot and one model."""
    async with open_simulators("discord") as simulators:
        hub = DiscordHub(simulators, directory, speed, extra=extra)
        hub.workspace.mkdir()
        async with hub.open(start=start):
            yield hub
