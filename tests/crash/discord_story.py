"""The errand on Discord.

Discord brings nothing twice: what was said while nobody listened the hub reads from the history of
conversations it has heard from before, so the owner has said hello to it once before the story. It shows a
nonce once: nothing is shown twice, wherever the hub was killed.
"""

import contextlib
import signal
from collections.abc import AsyncIterator
from pathlib import Path

from tests.crash.errand import Errand, Point, inside, judge, laid_out, play
from tests.crash.mortal import LIMIT_S
from tests.crash.points import parse_commit_point
from tests.harness.simulators import OLIVIA, open_simulators
from tests.simulators.discord import DiscordSimulator
from tests.simulators.discord.world import Message

OWNER = int(OLIVIA["discord"])
GREETING = "You said: hello"
POINTLESS = frozenset({"getCurrentUser", "getOwnApplication", "listCommands", "overwriteCommands"})
"""Requests of every start: nothing of the story happens in them."""


class DiscordErrand(Errand):
    """One hub and its surroundings there."""

    __slots__ = ()

    @property
    def simulator(self) -> DiscordSimulator:
        return self.discord

    @property
    def channel(self) -> int:
        """Return where the owner speaks with the bot."""
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
        return self.discord.is_connected()

    def shown(self) -> list[Message]:
        """Return what the bot shows the owner in the story."""
        return [message for message in self.discord.bot_messages(self.channel) if message.text != GREETING]

    def texts(self) -> list[str]:
        """See Errand; answers to a press are seen by its person alone, and for a while."""
        return [message.text for message in self.shown() if message.ephemeral_for is None]

    def open_cards(self) -> list[Message]:
        return [message for message in self.shown() if message.buttons()]

    def text_of(self, card: Message) -> str:
        return card.text

    def ask(self, text: str) -> None:
        self.discord.user_sends_text(OWNER, text)

    async def press(self, card: Message, button: int) -> None:
        pressed = self.discord.user_presses_button(OWNER, card.id, button)
        await self.discord.wait_interaction(pressed.id, LIMIT_S)

    async def after_kill(self) -> None:
        """Discord resumes no session of a hub that is gone."""
        self.discord.forget_sessions()


@contextlib.asynccontextmanager
async def open_discord_errand(directory: Path) -> AsyncIterator[DiscordErrand]:
    """Simulators up, configuration written, no hub yet; whatever runs at the end is killed."""
    async with (
        open_simulators("discord", patient=False) as around,
        laid_out(DiscordErrand(around, directory)) as town,
    ):
        await town.acquaintance()
        yield town


async def points_of(directory: Path) -> list[Point]:
    """Those the story passes when nothing goes wrong."""
    directory.mkdir()
    async with open_discord_errand(directory) as town:
        before = town.discord.last_number()
        await play(town, None)
        await town.end(signal.SIGINT)
        judge(town, None)
        commits = [parse_commit_point(line) for line in town.trace()]
        story = [one.method for one in town.discord.requests(since=before) if one.method not in POINTLESS]
        return [*commits, *inside("discord", story)]
