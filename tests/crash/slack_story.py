"""The story "message → model → approved shell tool that appends a line → answer" on Slack, killed and judged.

Slack takes no press while nobody listens: people press again once the hub is back. It keeps the hub's mark on
each message: nothing is shown twice, wherever the hub was killed.
"""

import asyncio
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
from tests.simulators.model import ModelSimulator
from tests.simulators.slack import SlackSimulator
from tests.simulators.slack.world import Message

BOT_TOKEN, APP_TOKEN, KEY, OWNER = "xoxb-1", "xapp-1", "k", "U0OLIVIA"
LOOK_AGAIN_S = 1.0
UNKNOWN = "I was interrupted while running"
ANSWER = "Done:"
LINE = "line"
APPROVE, LEAVE_IT = 0, 2


@dataclass(frozen=True, slots=True)
class InSlack:
    """Inside the `nth` request of that method, once Slack took it and before it answered."""

    method: str
    nth: int

    def __str__(self) -> str:
        return f"slack:{self.method}:{self.nth}"


Point = AtCommit | InSlack


@dataclass(slots=True)
class SlackTown(Started):
    """One hub's surroundings; `hub` is the process that runs now; `about_unknown`: the button pressed
    where the outcome of a call is unknown."""

    slack: SlackSimulator
    model: ModelSimulator
    directory: Path
    nursery: Nursery
    hub: HubProcess | None = None
    starts: int = 0
    about_unknown: int = LEAVE_IT

    @property
    def channel(self) -> str:
        """Where the owner speaks with the bot."""
        return self.slack.direct_channel(OWNER).id

    async def settled(self) -> None:
        """The people may have been content before the kill: let the hub pick up what it had left."""
        await self.slack.wait_connected(timeout_s=LIMIT_S)
        await Accounts(self.nursery, self.directory, LIMIT_S).settled()

    def shown(self) -> list[Message]:
        """What the bot shows the owner, deletions left out."""
        return self.slack.bot_messages(self.channel)

    def texts(self) -> list[str]:
        """The same as people read it."""
        return [self.slack.look(message).text for message in self.shown()]

    def open_cards(self) -> list[Message]:
        """Messages with buttons."""
        return [message for message in self.shown() if self.slack.look(message).buttons]

    def finished(self) -> bool:
        """Answered, nothing open, and the hub listens."""
        answered = any(text.startswith(ANSWER) for text in self.texts())
        return answered and not self.open_cards() and bool(self.slack.connections())

    async def people(self) -> None:
        """The owner asks, and answers every card until it is settled."""
        self.slack.user_sends_text(OWNER, f"please run: echo {LINE} >> out")
        async with asyncio.timeout(LIMIT_S):
            while not self.finished():
                await self._news()
                await self._press_what_is_open()

    async def _news(self) -> None:
        """Until there is something to do; a connection that is there is no change by itself."""
        with contextlib.suppress(TimeoutError):
            await self.slack.wait_for(lambda: self.finished() or self._can_press(), LOOK_AGAIN_S)

    async def _press_what_is_open(self) -> None:
        for card in self.open_cards():
            if not self.slack.connections():
                return
            button = self.about_unknown if UNKNOWN in self.slack.look(card).text else APPROVE
            pressed = self.slack.user_presses_button(OWNER, self.channel, card.ts, button)
            await self.slack.wait_settled(pressed.id, LIMIT_S)

    def _can_press(self) -> bool:
        return bool(self.open_cards() and self.slack.connections())


@contextlib.asynccontextmanager
async def open_slack_town(nursery: Nursery, directory: Path) -> AsyncIterator[SlackTown]:
    """Simulators up, configuration written, no hub yet; whatever runs at the end is killed."""
    async with SlackSimulator() as slack, ModelSimulator(api_key=KEY, models=("sim-1",)) as model:
        slack.add_app(BOT_TOKEN, APP_TOKEN)
        slack.add_user(OWNER, name="olivia")
        slack.configure(retry_delays_s=[0.0, 2.0, 12.0])  # sooner than in reality, and as few
        town = SlackTown(slack, model, directory, nursery)
        (directory / "workspace").mkdir()
        (directory / "hubbub.toml").write_text(_config(town))
        try:
            yield town
        finally:
            await town.end(signal.SIGKILL)


async def play(town: SlackTown, point: Point | None) -> tuple[str, ...] | None:
    """The whole story. With a point, the hub is killed there and started again; what it had passed then."""
    passed: tuple[str, ...] | None = None
    await town.start(point if isinstance(point, AtCommit) else None)
    if isinstance(point, InSlack):
        town.slack.fail("hold", method=point.method, when="after", skip=point.nth - 1, count=1)
    async with asyncio.TaskGroup() as group:
        people = group.create_task(town.people())
        if point is not None:
            await struck_or_over(point, _struck(town, point), people)
            await town.end(signal.SIGKILL)
            passed = tuple(town.trace())
            town.slack.clear_faults()
            await town.slack.wait_for(lambda: not town.slack.connections(), LIMIT_S)
            await town.start()
        await people
    await town.settled()
    return passed


async def _struck(town: SlackTown, point: Point) -> None:
    if isinstance(point, InSlack):
        await town.slack.wait_held(timeout_s=LIMIT_S)
    else:
        assert town.hub is not None
        await town.hub.wait(LIMIT_S)


async def points_of(nursery: Nursery, directory: Path) -> list[Point]:
    """Those the story passes when nothing goes wrong."""
    directory.mkdir()
    async with open_slack_town(nursery, directory) as town:
        await play(town, None)
        await town.end(signal.SIGINT)
        judge(town, None)
        commits: list[Point] = [parse_commit_point(line) for line in town.trace()]
        methods = Counter(request.method for request in town.slack.requests())
    return [*commits, *(InSlack(m, nth) for m, count in methods.items() for nth in range(1, count + 1))]


def judge(town: SlackTown, passed: Sequence[str] | None) -> None:
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


def _config(town: SlackTown) -> str:
    return f"""
[hub]
data_dir = "{town.directory}/data"
owner_identities = ["slack:{OWNER}"]
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
[channels.slack]
bot_token = "{BOT_TOKEN}"
app_token = "{APP_TOKEN}"
api_base_url = "{town.slack.url}/api"
"""
