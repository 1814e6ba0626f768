"""A hub in this process between a simulated Telegram and a simulated model provider."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.harness import simulators
from tests.harness.answers import unanswered
from tests.harness.hub import LIMIT_S, AnyHub
from tests.harness.simulators import KEY as KEY
from tests.harness.simulators import OLIVIA, TELEGRAM_TOKEN, open_simulators

TOKEN = TELEGRAM_TOKEN
OWNER = int(OLIVIA["telegram"])


@dataclass(frozen=True, slots=True)
class Card:
    """A message with buttons as it was when it was seen; `choices` holds each button's data."""

    id: int
    text: str
    choices: tuple[str, ...]


@dataclass(slots=True)
class Hub(AnyHub):
    """A running hub and its surroundings."""

    async def channel_becomes(self, state: str, channel: str = "telegram") -> str:
        """See AnyHub."""
        return await AnyHub.channel_becomes(self, state, channel)

    async def channel_passes(self, state: str, channel: str = "telegram") -> str:
        """As `channel_becomes`, for a state that is over before an HTTP request is: what `/readyz` is made
        of, looked at all the time."""
        async with asyncio.timeout(LIMIT_S):
            while True:
                now = self.app.manager.states()[channel]
                if now.phase.value == state:
                    return now.reason or ""
                await asyncio.sleep(0.001)

    def says(self, person: int) -> list[str]:
        """Return what the bot shows to a person, in order."""
        return [message.text for message in self.telegram.bot_messages(person)]

    async def told(self, tool: str, person: int = OWNER, **arguments: Any) -> str:
        """Return what the model is told of a call that nobody is asked about."""
        asked, said_before = len(self.model.log), len(self.says(person))
        self.telegram.user_sends_text(person, f"please call: {tool} {json.dumps(arguments)}")
        await self.model.wait_requests(asked + 2, timeout_s=LIMIT_S)
        await self.telegram.wait_for(lambda: len(self.says(person)) > said_before, LIMIT_S)
        assert not self.open_cards(person)
        said: str = self.model.log[-1].body["messages"][-1]["content"]
        return said

    def open_cards(self, person: int) -> list[Card]:
        """Messages with buttons."""
        return [
            Card(
                message.id,
                message.text,
                tuple(button["callback_data"] for button in buttons if "callback_data" in button),
            )
            for message in self.telegram.bot_messages(person)
            if (buttons := [b for row in (message.keyboard or {}).get("inline_keyboard", []) for b in row])
        ]

    async def card(self, person: int) -> Card:
        """The message with buttons, once there is one."""
        await self.telegram.wait_for(lambda: self.open_cards(person), LIMIT_S)
        return self.open_cards(person)[0]

    async def pressed(self, person: int, card: Card, choice: int) -> str:
        """Press a button, also one that is gone by now; the word that answers the press."""
        query = self.telegram.user_presses_button(person, card.id, data=card.choices[choice])
        answered = await self.telegram.wait_callback_answer(query.id, LIMIT_S)
        return answered.answers[0].get("text", "")


@contextlib.asynccontextmanager
async def open_hub(
    directory: Path,
    *,
    direct: str = "open",
    extra: str = "",
    speed: float = 1,
    start: bool = True,
    http: str = "port = 0",
    timezone: str = "UTC",
    provider: str = "openai",
    model: str = "",
) -> AsyncIterator[Hub]:
    """A hub with one Telegram bot and one model; person 7 is its owner. `model`: further lines about it.

    At the end everything that was delivered must have an answer in `hubbub why`.
    """
    async with open_simulators("telegram") as around:
        hub = Hub(around, directory, speed)
        hub.workspace.mkdir(parents=True)
        write_config(
            hub, direct=direct, extra=extra, http=http, timezone=timezone, provider=provider, model=model
        )
        async with hub.open(start=False):
            if start:
                await hub.start()
                await hub.telegram.wait_polling(TOKEN, LIMIT_S)
            yield hub
            await hub.stop()
            if hub.database.exists():
                assert await unanswered(hub.database, hub.telegram.updates()) == []


def write_config(
    hub: Hub,
    *,
    direct: str = "open",
    extra: str = "",
    token: str = TOKEN,
    http: str = "port = 0",
    timezone: str = "UTC",
    provider: str = "openai",
    model: str = "",
) -> None:
    """The hub's configuration; `extra` comes last, in the channel's section unless it opens another."""
    around = hub.simulators
    channel = around.section("telegram", token, direct=direct) + extra
    zone, owners = f'timezone = "{timezone}"', [f"telegram:{OWNER}"]
    simulators.write_config(
        hub.directory, around.model_section(provider, model), channel, owners=owners, hub=zone, http=http
    )
