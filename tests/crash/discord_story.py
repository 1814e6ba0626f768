"""The story "message → model → approved shell tool that appends a line → answer" on Discord, killed and
judged.

Discord brings nothing twice: what was said while nobody listened the hub reads from the history of
conversations it has heard from before, so the owner has said hello to it once before the story. Discord takes
no press while nobody listens: people press again once the hub is back. It shows a nonce once: nothing is
shown twice, wherever the hub was killed.
"""

import asyncio
import base64
import contextlib
import signal
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.crash.accounts import Accounts
from tests.crash.nursery import HubProcess, Nursery
from tests.crash.points import AtCommit, parse_commit_point
from tests.crash.started import LIMIT_S, Started
from tests.crash.story import struck_or_over
from tests.simulators.discord import DiscordSimulator
from tests.simulators.discord.world import Message
from tests.simulators.model import ModelSimulator

BOT, OWNER, KEY = 900_000_000_000_000_001, 100_000_000_000_000_007, "k"
TOKEN = base64.b64encode(str(BOT).encode()).decode().rstrip("=") + ".Gabcde.secret-of-the-bot"
LOOK_AGAIN_S = 1.0
GREETING = "You said: hello"
UNKNOWN = "I was interrupted while running"
ANSWER = "Done:"
LINE = "line"
APPROVE, LEAVE_IT = 0, 2
POINTLESS = frozenset({"getCurrentUser", "getOwnApplication", "listCommands", "overwriteCommands"})
"""Requests of every start: nothing of the story happens in them."""


@dataclass(frozen=True, slots=True)
class InDiscord:
    """Inside the `nth` request of that kind, once Discord took it and before it answered."""

    method: str
    nth: int

    def __str__(self) -> str:
        return f"discord:{self.method}:{self.nth}"


Point = AtCommit | InDiscord


@dataclass(slots=True)
class DiscordTown(Started):
    """One hub's surroundings; `hub` is the process that runs now; `about_unknown`: the button pressed
    where the outcome of a call is unknown."""

    discord: DiscordSimulator
    model: ModelSimulator
    directory: Path
    nursery: Nursery
    hub: HubProcess | None = None
    starts: int = 0
    about_unknown: int = LEAVE_IT

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

    async def settled(self) -> None:
        """The people may have been content before the kill: let the hub pick up what it had left."""
        await self.discord.wait_connected(timeout_s=LIMIT_S)
        await Accounts(self.nursery, self.directory, LIMIT_S).settled()

    def shown(self) -> list[Message]:
        """What the bot shows the owner in the story."""
        return [message for message in self.discord.bot_messages(self.channel) if message.text != GREETING]

    def texts(self) -> list[str]:
        """The same as people read it; answers to a press are seen by its person alone, and for a while."""
        return [message.text for message in self.shown() if message.ephemeral_for is None]

    def open_cards(self) -> list[Message]:
        """Messages with buttons."""
        return [message for message in self.shown() if message.buttons()]

    def finished(self) -> bool:
        """Answered, nothing open, and the hub listens."""
        answered = any(text.startswith(ANSWER) for text in self.texts())
        return answered and not self.open_cards() and self.discord.is_connected()

    async def people(self) -> None:
        """The owner asks, and answers every card until it is settled."""
        self.discord.user_sends_text(OWNER, f"please run: echo {LINE} >> out")
        async with asyncio.timeout(LIMIT_S):
            while not self.finished():
                await self._news()
                await self._press_what_is_open()

    async def _news(self) -> None:
        """Until there is something to do; a connection that is there is no change by itself."""
        with contextlib.suppress(TimeoutError):
            await self.discord.wait_for(lambda: self.finished() or self._can_press(), LOOK_AGAIN_S)

    async def _press_what_is_open(self) -> None:
        for card in self.open_cards():
            if not self.discord.is_connected():
                return
            button = self.about_unknown if UNKNOWN in card.text else APPROVE
            pressed = self.discord.user_presses_button(OWNER, card.id, button)
            await self.discord.wait_interaction(pressed.id, LIMIT_S)

    def _can_press(self) -> bool:
        return bool(self.open_cards() and self.discord.is_connected())


@contextlib.asynccontextmanager
async def open_discord_town(nursery: Nursery, directory: Path) -> AsyncIterator[DiscordTown]:
    """Simulators up, configuration written, no hub yet; whatever runs at the end is killed."""
    async with DiscordSimulator() as discord, ModelSimulator(api_key=KEY, models=("sim-1",)) as model:
        discord.add_bot(TOKEN)
        discord.add_user(OWNER, "olivia", global_name="Olivia")
        discord.create_guild("house", [OWNER])
        town = DiscordTown(discord, model, directory, nursery)
        (directory / "workspace").mkdir()
        (directory / "hubbub.toml").write_text(_config(town))
        try:
            await town.acquaintance()
            yield town
        finally:
            await town.end(signal.SIGKILL)


async def play(town: DiscordTown, point: Point | None) -> tuple[str, ...] | None:
    """The whole story. With a point, the hub is killed there and started again; what it had passed then."""
    passed: tuple[str, ...] | None = None
    await town.start(point if isinstance(point, AtCommit) else None)
    if isinstance(point, InDiscord):
        town.discord.fail("hold", method=point.method, when="after", skip=point.nth - 1, count=1)
    async with asyncio.TaskGroup() as group:
        people = group.create_task(town.people())
        if point is not None:
            await struck_or_over(point, _struck(town, point), people)
            await town.end(signal.SIGKILL)
            passed = tuple(town.trace())
            town.discord.clear_faults()
            town.discord.forget_sessions()
            await town.start()
        await people
    await town.settled()
    return passed


async def _struck(town: DiscordTown, point: Point) -> None:
    if isinstance(point, InDiscord):
        await town.discord.wait_held(timeout_s=LIMIT_S)
    else:
        assert town.hub is not None
        await town.hub.wait(LIMIT_S)


async def points_of(nursery: Nursery, directory: Path) -> list[Point]:
    """Those the story passes when nothing goes wrong."""
    directory.mkdir()
    async with open_discord_town(nursery, directory) as town:
        before = town.discord.last_number()
        await play(town, None)
        await town.end(signal.SIGINT)
        judge(town, None)
        commits: list[Point] = [parse_commit_point(line) for line in town.trace()]
        story = [one.method for one in town.discord.requests(since=before) if one.method not in POINTLESS]
    return [
        *commits,
        *(InDiscord(m, nth) for m, count in Counter(story).items() for nth in range(1, count + 1)),
    ]


def judge(town: DiscordTown, passed: Sequence[str] | None) -> None:
    """The promises, from what the platform saw and what is on disk. `passed`: by the killed hub."""
    out = town.directory / "workspace" / "out"
    lines = out.read_text().split() if out.exists() else []
    asked = any(UNKNOWN in text for text in town.texts())
    assert len(lines) <= 1, f"the line was written {len(lines)} times"
    under_way = passed is not None and any(
        f"{unit}:1:before" in passed and f"{unit}:1:after" not in passed
        for unit in ("mark_running", "finish_calls")
    )
    if not under_way:
        in_window = passed is not None and (
            "mark_running:1:after" in passed and "finish_calls:1:after" not in passed
        )
        assert asked == in_window, "unknown is reported exactly for a call cut off in its window"
    if not asked:
        assert lines == [LINE], "the line was not written"
    assert not town.open_cards(), "a card was left without its outcome"
    twice = [text for text, count in Counter(town.texts()).items() if count > 1]
    assert not twice, f"shown twice: {twice}"


def _config(town: DiscordTown) -> str:
    return f"""
[hub]
data_dir = "{town.directory}/data"
owner_identities = ["discord:{OWNER}"]
[http]
port = 0
[workspace]
dir = "{town.directory}/workspace"
[[models]]
name = "main"
provider = "openai"
model = "sim-1"
base_url = "{town.model.openai_base_url}"
api_key = "{KEY}"
[channels.discord]
token = "{TOKEN}"
api_base_url = "{town.discord.api_base_url}"
gateway_url = "{town.discord.gateway_url}"
"""
