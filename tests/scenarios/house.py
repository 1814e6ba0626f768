"""A whole hub in this process: the product's own `serve` between both simulators.

Pauses of the hub pass `speed` times as fast; the platform's time and all connections are real.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.app import App, Seams
from core.clock import SECOND_US
from core.safety.network import Lookup
from tests.patience import PATIENCE_S
from tests.scenarios.answers import unanswered
from tests.scenarios.served import Served
from tests.simulators.model import ModelSimulator
from tests.simulators.telegram import TelegramSimulator

TOKEN, KEY = "123456:AAE-a-token-of-the-usual-length-0123456", "model-key"
OWNER = 7
LIMIT_S = PATIENCE_S


class HastyClock:
    """See core.clock.Clock; `speed` seconds pass in one, and as many at once as a test says."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._began_us = time.time_ns() // 1_000
        self._began_s = time.monotonic()
        self._skipped_s = 0.0
        self._sleepers: set[asyncio.Future[None]] = set()

    def skip(self, seconds: float) -> None:
        """So much of the day passes at once, as while a machine sleeps."""
        self._began_us += int(seconds * SECOND_US)

    def now(self) -> int:
        return self._began_us + int(self.monotonic_s() * SECOND_US)

    def monotonic_s(self) -> float:
        return (time.monotonic() - self._began_s) * self._speed + self._skipped_s

    async def sleep(self, seconds: float) -> None:
        until_s = self.monotonic_s() + seconds
        await asyncio.sleep(0)
        while (left_s := until_s - self.monotonic_s()) > 0:
            skipped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._sleepers.add(skipped)
            try:
                await asyncio.wait([skipped], timeout=left_s / self._speed)
            finally:
                self._sleepers.discard(skipped)

    def pass_by(self, seconds: float) -> None:
        """So much time is over now: whoever sleeps less goes on."""
        self._skipped_s += seconds
        for sleeper in self._sleepers:
            if not sleeper.done():
                sleeper.set_result(None)


@dataclass(frozen=True, slots=True)
class Card:
    """A message with buttons as it was when it was seen; `choices` holds each button's data."""

    id: int
    text: str
    choices: tuple[str, ...]


@dataclass(slots=True)
class House(Served):
    """A running hub and its surroundings."""

    telegram: TelegramSimulator
    model: ModelSimulator
    directory: Path
    speed: float
    lookup: Lookup | None = None
    task: asyncio.Task[None] | None = None
    app: App | None = None
    clock: HastyClock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = HastyClock(self.speed)

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Wait for something only the store knows."""
        async with asyncio.timeout(LIMIT_S):
            while not await holds():  # noqa: ASYNC110 - the store tells nobody
                await asyncio.sleep(0.02)

    @property
    def workspace(self) -> Path:
        """Where tools work."""
        return self.directory / "workspace"

    @property
    def database(self) -> Path:
        """Where the hub keeps everything."""
        return self.directory / "data" / "hub.db"

    async def start(self) -> App:
        """Start the hub; returns when it serves. Raises what the hub raises if it cannot start."""
        return await self.serve(Seams(clock=self.clock, lookup=self.lookup))

    async def channel_becomes(self, state: str, channel: str = "telegram") -> str:
        """Until `/readyz` names that state; returns the reason it gives."""
        return await Served.channel_becomes(self, state, channel)

    async def channel_passes(self, state: str, channel: str = "telegram") -> str:
        """As `channel_becomes`, for a state that is over before an HTTP request is: what `/readyz` is made
        of, looked at all the time."""
        assert self.app is not None
        async with asyncio.timeout(LIMIT_S):
            while True:
                now = self.app.manager.states()[channel]
                if now.phase.value == state:
                    return now.reason or ""
                await asyncio.sleep(0.001)

    async def settled_sends(self, channel: str = "telegram") -> None:
        """Until the hub knows where everything it sent is shown."""
        assert self.app is not None
        store = self.app.store

        async def nothing_left() -> bool:
            return not await store.pending_outbox(channel)

        await self.until(nothing_left)

    def says(self, person: int) -> list[str]:
        """What the bot shows to a person, in order."""
        return [message.text for message in self.telegram.bot_messages(person)]

    async def told(self, tool: str, person: int = OWNER, **arguments: Any) -> str:
        """What the model is told of a call that nobody is asked about."""
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
            Card(message.id, message.text, tuple(button["callback_data"] for button in buttons))
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
async def open_house(
    directory: Path,
    *,
    direct: str = "open",
    extra: str = "",
    speed: float = 1,
    start: bool = True,
    http: str = "port = 0",
    timezone: str = "UTC",
) -> AsyncIterator[House]:
    """A hub with one Telegram bot and one model; person 7 is its owner.

    At the end everything that was delivered must have an answer in `hubbub why`.
    """
    async with TelegramSimulator() as telegram, ModelSimulator(api_key=KEY, models=("sim-1",)) as model:
        telegram.add_bot(TOKEN)
        telegram.add_user(OWNER, first_name="Olivia")
        house = House(telegram, model, directory, speed)
        house.workspace.mkdir()
        write_config(house, direct=direct, extra=extra, http=http, timezone=timezone)
        if start:
            await house.start()
            await telegram.wait_polling(TOKEN, LIMIT_S)
        try:
            yield house
            await house.stop()
            if house.database.exists():
                assert await unanswered(house.database, telegram.updates()) == []
        finally:
            await house.stop()


def write_config(
    house: House,
    *,
    direct: str = "open",
    extra: str = "",
    token: str = TOKEN,
    http: str = "port = 0",
    timezone: str = "UTC",
) -> None:
    """The hub's configuration; `extra` comes last, in the channel's section unless it opens another."""
    (house.directory / "hubbub.toml").write_text(
        f"""
[hub]
data_dir = "{house.directory}/data"
owner_identities = ["telegram:{OWNER}"]
timezone = "{timezone}"
[http]
{http}
[workspace]
dir = "{house.workspace}"
[[models]]
name = "main"
provider = "openai"
model = "sim-1"
base_url = "{house.model.openai_base_url}"
api_key = "{KEY}"
[channels.telegram]
token = "{token}"
direct = "{direct}"
api_base_url = "{house.telegram.url}"
{extra}
"""
    )
