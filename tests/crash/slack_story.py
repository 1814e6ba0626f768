"""The errand on Slack, by its socket or by HTTP. It keeps the hub's mark on each message: nothing is shown
twice, wherever the hub was killed."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from tests.crash.errand import KEY, LEAVE_IT, Errand, Point, inside, judge, lay_out, play
from tests.crash.nursery import HubProcess, Nursery
from tests.crash.points import parse_commit_point
from tests.crash.started import LIMIT_S
from tests.ports import free_port
from tests.simulators.model import ModelSimulator
from tests.simulators.slack import SlackSimulator
from tests.simulators.slack.world import Message

BOT_TOKEN, APP_TOKEN, SECRET, OWNER = "xoxb-1", "xapp-1", "signing", "U0OLIVIA"


@dataclass(slots=True)
class SlackTown(Errand):
    """One hub's surroundings; `hub` runs now; `port`: where Slack finds it (0: by its socket)."""

    slack: SlackSimulator
    model: ModelSimulator
    directory: Path
    nursery: Nursery
    hub: HubProcess | None = None
    starts: int = 0
    served: int = 0
    about_unknown: int = LEAVE_IT
    port: int = 0

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
        return self.serves() if self.port else bool(self.slack.connections())

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

    async def listening(self) -> None:
        """See Errand."""
        await (self.served_at_last() if self.port else self.slack.wait_connected(timeout_s=LIMIT_S))


@contextlib.asynccontextmanager
async def open_slack_town(
    nursery: Nursery, directory: Path, mode: str = "socket"
) -> AsyncIterator[SlackTown]:
    """Simulators up, configuration written, Slack knows the addresses, no hub runs; whatever runs at the end
    is killed."""
    async with SlackSimulator() as slack, ModelSimulator(api_key=KEY, models=("sim-1",)) as model:
        slack.add_app(BOT_TOKEN, APP_TOKEN, signing_secret=SECRET, mode=mode)
        slack.add_user(OWNER, name="olivia")
        slack.configure(retry_delays_s=[0.0, 2.0, 12.0])  # sooner than in reality, and as few
        town = SlackTown(slack, model, directory, nursery, port=free_port() if mode == "http" else 0)
        lay_out(town, f"slack:{OWNER}", model.openai_base_url, _channel(slack, mode), town.port)
        try:
            if town.port:
                await _told_addresses(town)
            yield town
        finally:
            await town.end(signal.SIGKILL)


async def points_of(nursery: Nursery, directory: Path, mode: str) -> list[Point]:
    """Those the story passes when nothing goes wrong."""
    directory.mkdir()
    async with open_slack_town(nursery, directory, mode) as town:
        since = town.slack.last_number()
        await play(town, None)
        await town.end(signal.SIGINT)
        judge(town, None)
        commits = [parse_commit_point(line) for line in town.trace()]
        return [*commits, *inside("slack", [request.method for request in town.slack.requests(since=since)])]


async def _told_addresses(town: SlackTown) -> None:
    """Slack asks each address for an answer before it takes it; a hub has to run."""
    await town.start()
    await town.served_at_last()
    base = f"http://127.0.0.1:{town.port}/channels/slack"
    addresses = f"{base}/events", f"{base}/interactivity", f"{base}/commands"
    async with asyncio.timeout(LIMIT_S):
        while not await town.slack.set_request_urls(*addresses):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)
    await town.end(signal.SIGINT)


def _channel(slack: SlackSimulator, mode: str) -> str:
    receiving = f'app_token = "{APP_TOKEN}"' if mode == "socket" else f'signing_secret = "{SECRET}"'
    return f"""
[channels.slack]
mode = "{mode}"
bot_token = "{BOT_TOKEN}"
{receiving}
api_base_url = "{slack.url}/api"
"""
