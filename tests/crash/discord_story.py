"""The errand on Discord.

Discord brings nothing twice: what was said while nobody listened the hub reads from the history of
conversations it has heard from before, so the owner has said hello to it once before the story. It shows a
nonce once: nothing is shown twice, wherever the hub was killed.
"""

import base64
import contextlib
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from tests.crash.errand import KEY, LEAVE_IT, Errand, Point, inside, judge, lay_out, play
from tests.crash.nursery import HubProcess, Nursery
from tests.crash.points import parse_commit_point
from tests.crash.started import LIMIT_S
from tests.simulators.discord import DiscordSimulator
from tests.simulators.discord.world import Message
from tests.simulators.model import ModelSimulator

BOT, OWNER = 900_000_000_000_000_001, 100_000_000_000_000_007
TOKEN = base64.b64encode(str(BOT).encode()).decode().rstrip("=") + ".Gabcde.secret-of-the-bot"
GREETING = "You said: hello"
POINTLESS = frozenset({"getCurrentUser", "getOwnApplication", "listCommands", "overwriteCommands"})
"""Requests of every start: nothing of the story happens in them."""


@dataclass(slots=True)
class DiscordTown(Errand):
    """One hub's surroundings; `hub` is the process that runs now."""

    discord: DiscordSimulator
    model: ModelSimulator
    directory: Path
    nursery: Nursery
    hub: HubProcess | None = None
    starts: int = 0
    served: int = 0
    about_unknown: int = LEAVE_IT

    @property
    def simulator(self) -> DiscordSimulator:
        """See Errand."""
        return self.discord

    @property
    def channel(self) -> int:
        """Where the owner speaks with the bot."""
        return self.discord.dm_channel(OWNER).id

    async def acquaintance(self) -> None:
        """A hub that is asked nothing yet, and ended; its session is over, too."""
        await self.start()
        await self.discord.wait_connected(timeout_s=LIMIT_S)
        self.discord.user_sends_text(OWNER, "hello")
        await self.discord.wait_text(self.channel, GREETING, LIMIT_S)
        await self.end(signal.SIGINT)
        self.discord.forget_sessions()

    def connected(self) -> bool:
        """See Errand."""
        return self.discord.is_connected()

    def shown(self) -> list[Message]:
        """What the bot shows the owner in the story."""
        return [message for message in self.discord.bot_messages(self.channel) if message.text != GREETING]

    def texts(self) -> list[str]:
        """See Errand; answers to a press are seen by its person alone, and for a while."""
        return [message.text for message in self.shown() if message.ephemeral_for is None]

    def open_cards(self) -> list[Message]:
        """See Errand."""
        return [message for message in self.shown() if message.buttons()]

    def text_of(self, card: Message) -> str:
        """See Errand."""
        return card.text

    def ask(self, text: str) -> None:
        """See Errand."""
        self.discord.user_sends_text(OWNER, text)

    async def press(self, card: Message, button: int) -> None:
        """See Errand."""
        pressed = self.discord.user_presses_button(OWNER, card.id, button)
        await self.discord.wait_interaction(pressed.id, LIMIT_S)

    async def after_kill(self) -> None:
        """Discord resumes no session of a hub that is gone."""
        self.discord.forget_sessions()


@contextlib.asynccontextmanager
async def open_discord_town(nursery: Nursery, directory: Path) -> AsyncIterator[DiscordTown]:
    """Simulators up, configuration written, no hub yet; whatever runs at the end is killed."""
    async with DiscordSimulator() as discord, ModelSimulator(api_key=KEY, models=("sim-1",)) as model:
        discord.add_bot(TOKEN)
        discord.add_user(OWNER, "olivia", global_name="Olivia")
        discord.create_guild("house", [OWNER])
        town = DiscordTown(discord, model, directory, nursery)
        lay_out(town, f"discord:{OWNER}", model.openai_base_url, _channel(discord))
        try:
            await town.acquaintance()
            yield town
        finally:
            await town.end(signal.SIGKILL)


async def points_of(nursery: Nursery, directory: Path) -> list[Point]:
    """Those the story passes when nothing goes wrong."""
    directory.mkdir()
    async with open_discord_town(nursery, directory) as town:
        before = town.discord.last_number()
        await play(town, None)
        await town.end(signal.SIGINT)
        judge(town, None)
        commits = [parse_commit_point(line) for line in town.trace()]
        story = [one.method for one in town.discord.requests(since=before) if one.method not in POINTLESS]
        return [*commits, *inside("discord", story)]


def _channel(discord: DiscordSimulator) -> str:
    return f"""
[channels.discord]
token = "{TOKEN}"
api_base_url = "{discord.api_base_url}"
gateway_url = "{discord.gateway_url}"
"""
