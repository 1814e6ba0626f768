"""The errand on Slack, by its socket or by HTTP. It keeps the hub's mark on each message: nothing is shown
twice, wherever the hub was killed."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from pathlib import Path

from tests.crash.errand import LOOK_AGAIN_S, Errand, Point, inside, judge, laid_out, play
from tests.crash.mortal import LIMIT_S
from tests.crash.points import parse_commit_point
from tests.harness.simulators import OLIVIA, open_simulators
from tests.ports import free_port
from tests.simulators.slack import SlackSimulator
from tests.simulators.slack.world import Message

OWNER = OLIVIA["slack"]


class SlackErrand(Errand):
    """One hub and its surroundings there. `port`: where Slack finds it (0: by its socket)."""

    __slots__ = ()

    @property
    def simulator(self) -> SlackSimulator:
        return self.slack

    @property
    def channel(self) -> str:
        """Return where the owner speaks with the bot."""
        return self.slack.direct_channel(OWNER).id

    def connected(self) -> bool:
        return self.serves() if self.port else bool(self.slack.connections())

    def shown(self) -> list[Message]:
        """Return what the bot shows the owner, deletions left out."""
        return self.slack.bot_messages(self.channel)

    def texts(self) -> list[str]:
        return [self.slack.look(message).text for message in self.shown()]

    def open_cards(self) -> list[Message]:
        return [message for message in self.shown() if self.slack.look(message).buttons]

    def text_of(self, card: Message) -> str:
        return self.slack.look(card).text

    async def people(self) -> None:
        """See Errand. Slack gives an event up after few tries: the owner waits until a hub can take it, so
        that the tries are left for after the kill."""
        await self.listening()
        await super().people()

    def ask(self, text: str) -> None:
        self.slack.user_sends_text(OWNER, text)

    async def press(self, card: Message, button: int) -> None:
        pressed = self.slack.user_presses_button(OWNER, self.channel, card.ts, button)
        await self.slack.wait_settled(pressed.id, LIMIT_S)
        # A second press before the card shows the first one would move the kill points.
        with contextlib.suppress(TimeoutError):
            await self.slack.wait_for(lambda: card not in self.open_cards(), LOOK_AGAIN_S)

    async def after_kill(self) -> None:
        """Slack sees the connection end."""
        await self.slack.wait_for(lambda: not self.slack.connections(), LIMIT_S)

    async def listening(self) -> None:
        """See Errand."""
        await (self.served_at_last() if self.port else self.slack.wait_connected(timeout_s=LIMIT_S))


@contextlib.asynccontextmanager
async def open_slack_errand(directory: Path, mode: str = "socket") -> AsyncIterator[SlackErrand]:
    """Simulators up, configuration written, Slack knows the addresses, no hub runs; whatever runs at the end
    is killed."""
    async with open_simulators("slack", slack_mode=mode, patient=False) as around:
        around.slack.configure(
            retry_delays_s=[0.0, 2.0, 25.0]
        )  # sooner than in reality, as few: a slow start is over by the last
        errand = SlackErrand(around, directory)
        errand.port = free_port() if mode == "http" else 0
        async with laid_out(errand) as town:
            if town.port:
                await _told_addresses(town)
            yield town


async def points_of(directory: Path, mode: str) -> list[Point]:
    """Those the story passes when nothing goes wrong."""
    directory.mkdir()
    async with open_slack_errand(directory, mode) as town:
        since = town.slack.last_number()
        await play(town, None)
        await town.end(signal.SIGINT)
        judge(town, None)
        commits = [parse_commit_point(line) for line in town.trace()]
        return [*commits, *inside("slack", [request.method for request in town.slack.requests(since=since)])]


async def _told_addresses(town: SlackErrand) -> None:
    """Slack asks each address for an answer before it takes it; a hub has to run."""
    await town.start()
    await town.served_at_last()
    base = f"http://127.0.0.1:{town.port}/channels/slack"
    addresses = f"{base}/events", f"{base}/interactivity", f"{base}/commands"
    async with asyncio.timeout(LIMIT_S):
        while not await town.slack.set_request_urls(*addresses):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)
    await town.end(signal.SIGINT)
