"""A hub in this process between a simulated Slack and a simulated model provider."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.app import App
from tests.harness.hub import LIMIT_S, AnyHub
from tests.harness.simulators import (
    OLIVIA,
    SLACK_APP,
    SLACK_BOT,
    SLACK_SECRET,
    open_simulators,
    write_config,
)

BOT_TOKEN, APP_TOKEN, SECRET = SLACK_BOT, SLACK_APP, SLACK_SECRET
OWNER = OLIVIA["slack"]


@dataclass(slots=True)
class SlackHub(AnyHub):
    """A running hub and its surroundings."""

    extra: str = ""
    port: int = 0

    async def start(self) -> App:
        """Start the hub; returns when its channel runs."""
        self.write_config()
        app = await AnyHub.start(self)
        if self.simulators.slack_mode == "http":
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
        """Return what it starts with."""
        channel = self.simulators.section("slack", direct="open") + self.extra
        write_config(
            self.directory,
            self.simulators.model_section(),
            channel,
            owners=[f"slack:{OWNER}"],
            http=f"port = {self.port}",
        )


@contextlib.asynccontextmanager
async def open_slack_hub(
    directory: Path, *, mode: str = "socket", speed: float = 1.0, extra: str = "", start: bool = True
) -> AsyncIterator[SlackHub]:
    """A hub with one Slack bot and one model. `mode`: how Slack brings events."""
    async with open_simulators("slack", slack_mode=mode) as simulators:
        hub = SlackHub(simulators, directory, speed, extra=extra)
        hub.workspace.mkdir()
        async with hub.open(start=start):
            yield hub
