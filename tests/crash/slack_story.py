"""The errand on Slack. It keeps the hub's mark on each message: nothing is shown twice, wherever the hub was
killed."""

import contextlib
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from tests.crash.errand import KEY, LEAVE_IT, Errand, Point, inside, judge, lay_out, play
from tests.crash.nursery import HubProcess, Nursery
from tests.crash.points import parse_commit_point
from tests.crash.started import LIMIT_S
from tests.simulators.model import ModelSimulator
from tests.simulators.slack import SlackSimulator
from tests.simulators.slack.world import Message

BOT_TOKEN, APP_TOKEN, OWNER = "xoxb-1", "xapp-1", "U0OLIVIA"


@dataclass(slots=True)
class SlackTown(Errand):
    """One hub's surroundings; `hub` is the process that runs now."""

    slack: SlackSimulator
    model: ModelSimulator
    directory: Path
    nursery: Nursery
    hub: HubProcess | None = None
    starts: int = 0
    served: int = 0
    about_unknown: int = LEAVE_IT

    @property
    def simulator(self) -> SlackSimulator:
        """See Errand."""
        return self.slack

    @property
    def channel(self) -> str:
        """Where the owner speaks with the bot."""
        return self.slack.direct_channel(OWNER).id

    def connected(self) -> bool:
        """See Errand."""
        return bool(self.slack.connections())

    def shown(self) -> list[Message]:
        """What the bot shows the owner, deletions left out."""
        return self.slack.bot_messages(self.channel)

    def texts(self) -> list[str]:
        """See Errand."""
        return [self.slack.look(message).text for message in self.shown()]

    def open_cards(self) -> list[Message]:
        """See Errand."""
        return [message for message in self.shown() if self.slack.look(message).buttons]

    def text_of(self, card: Message) -> str:
        """See Errand."""
        return self.slack.look(card).text

    def ask(self, text: str) -> None:
        """See Errand."""
        self.slack.user_sends_text(OWNER, text)

    async def press(self, card: Message, button: int) -> None:
        """See Errand."""
        pressed = self.slack.user_presses_button(OWNER, self.channel, card.ts, button)
        await self.slack.wait_settled(pressed.id, LIMIT_S)

    async def after_kill(self) -> None:
        """Slack sees the connection end."""
        await self.slack.wait_for(lambda: not self.slack.connections(), LIMIT_S)


@contextlib.asynccontextmanager
async def open_slack_town(nursery: Nursery, directory: Path) -> AsyncIterator[SlackTown]:
    """Simulators up, configuration written, no hub yet; whatever runs at the end is killed."""
    async with SlackSimulator() as slack, ModelSimulator(api_key=KEY, models=("sim-1",)) as model:
        slack.add_app(BOT_TOKEN, APP_TOKEN)
        slack.add_user(OWNER, name="olivia")
        slack.configure(retry_delays_s=[0.0, 2.0, 12.0])  # sooner than in reality, and as few
        town = SlackTown(slack, model, directory, nursery)
        lay_out(town, f"slack:{OWNER}", model.openai_base_url, _channel(slack))
        try:
            yield town
        finally:
            await town.end(signal.SIGKILL)


async def points_of(nursery: Nursery, directory: Path) -> list[Point]:
    """Those the story passes when nothing goes wrong."""
    directory.mkdir()
    async with open_slack_town(nursery, directory) as town:
        await play(town, None)
        await town.end(signal.SIGINT)
        judge(town, None)
        commits = [parse_commit_point(line) for line in town.trace()]
        return [*commits, *inside("slack", [request.method for request in town.slack.requests()])]


def _channel(slack: SlackSimulator) -> str:
    return f"""
[channels.slack]
bot_token = "{BOT_TOKEN}"
app_token = "{APP_TOKEN}"
api_base_url = "{slack.url}/api"
"""
