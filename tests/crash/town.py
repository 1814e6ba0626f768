"""A world around one hub: platform, model provider, data, and the people who drive a story to its end.

The people know nothing of kills: they answer what they see, as often as they see it.
"""

import contextlib
import json
import re
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash.accounts import Accounts
from tests.crash.asked_hooks import AskedHooks
from tests.crash.entry import Orders
from tests.crash.ledger import Ledger
from tests.crash.nursery import HubProcess, Nursery, times_served
from tests.crash.points import AtCommit
from tests.databases import lay_database
from tests.patience import PATIENCE_S
from tests.ports import free_port
from tests.simulators.model import ModelSimulator
from tests.simulators.telegram import TelegramSimulator
from tests.simulators.telegram.world import Message

TOKEN, KEY, OWNER = "123456:AAA", "k", 7
LIMIT_S = PATIENCE_S
UNKNOWN = "I was interrupted while running"
LEAVE_IT, APPROVE, DENY = 2, 0, 1


@dataclass(frozen=True, slots=True)
class House:
    """What the hub is configured with: who owns it, who else may write, and its bots by channel name.

    `webhook`: updates are brought to it; `topic`: the story plays in a topic of a forum, not in private;
    `extra` ends the configuration.
    """

    owners: tuple[str, ...] = (f"telegram:{OWNER}",)
    direct: str = "open"
    groups: str = "off"
    bots: Mapping[str, str] = field(default_factory=lambda: {"telegram": TOKEN})
    webhook: bool = False
    topic: bool = False
    extra: str = ""


@dataclass(slots=True)
class Town:
    """One hub's surroundings. `hub` is the process that runs now, `chat_id` (and `topic_id`) where the owner
    speaks with it; `port`: where it listens for a webhook, 0 if it has none; `about_unknown`: the button
    pressed where the outcome of a call is unknown."""

    telegram: TelegramSimulator
    model: ModelSimulator
    directory: Path
    nursery: Nursery
    hub: HubProcess | None = None
    starts: int = 0
    served: int = 0
    chat_id: int = OWNER
    topic_id: int | None = None
    port: int = 0
    newest_before_start: int = 0
    about_unknown: int = LEAVE_IT
    pressed: set[tuple[int, int]] = field(default_factory=set)
    hooks: AskedHooks | None = None
    accounts: Accounts = field(init=False)

    def __post_init__(self) -> None:
        self.accounts = Accounts(self.nursery, self.directory, LIMIT_S)

    @property
    def workspace(self) -> Path:
        """Where tools work."""
        return self.directory / "workspace"

    def trace(self, start: int | None = None) -> list[str]:
        """The commits the hub's `start`-th process passed (default: the newest)."""
        path = self.directory / f"trace-{self.starts if start is None else start}"
        return path.read_text().split() if path.exists() else []

    def ledger(self, start: int | None = None) -> Ledger:
        """Whom the commits of the hub's `start`-th process were about (default: the newest)."""
        return Ledger.read(self.directory / f"trace-{self.starts if start is None else start}.ledger")

    async def start(self, die_at: AtCommit | None = None, freeze_at: AtCommit | None = None) -> HubProcess:
        """Start a hub on the town's data."""
        lay_database(self.directory / "data" / "hub.db")
        self.starts += 1
        self.served = times_served(self.directory / "hub.log")
        self.newest_before_start = self.telegram.last_number()
        orders = Orders(
            self.directory / "hubbub.toml",
            self.directory / f"trace-{self.starts}",
            self.directory / "hub.log",
            die_at,
            freeze_at,
        )
        self.hub = await self.nursery.start(orders)
        return self.hub

    def listens(self) -> bool:
        """Whether the newest hub hears of what is said."""
        if self.port:
            return bool(self.telegram.requests("setWebhook", ok=True, since=self.newest_before_start))
        return self.telegram.is_polling(TOKEN)

    async def run(self) -> HubProcess:
        """Start the hub as people do, with nothing in between: `hubbub run`."""
        self.starts += 1
        self.served = times_served(self.directory / "hub.log")
        words = ("run", "--config", str(self.directory / "hubbub.toml"))
        self.hub = await self.nursery.command(words, self.directory / "hub.log")
        return self.hub

    async def kill(self) -> None:
        """End the hub with SIGKILL, if it lives."""
        if self.hub is not None:
            self.hub.send(signal.SIGKILL)
            await self.hub.wait(LIMIT_S)

    async def stop(self) -> None:
        """End the hub in good order, as Ctrl-C does."""
        if self.hub is not None:
            await self.hub.interrupt(self.directory / "hub.log", self.served + 1, LIMIT_S)

    async def exit_code(self) -> int:
        """The ended hub's."""
        assert self.hub is not None
        return await self.nursery.exit_code(self.hub)

    def url(self) -> str:
        """Where the newest hub that got so far serves."""
        return re.findall(r"hub\.serving url=(\S+)", (self.directory / "hub.log").read_text())[-1]

    async def why(self) -> list[dict[str, Any]]:
        """See Accounts."""
        return await self.accounts.why()

    async def account(self) -> list[dict[str, Any]]:
        """As `why`, once the hub has nothing left to send. Raises TimeoutError."""
        return await self.accounts.settled()

    # --- people ----------------------------------------------------------------------------------------

    def owner_says(self, text: str) -> None:
        """Where the owner speaks with the bot."""
        chat_id = None if self.topic_id is None else self.chat_id
        self.telegram.user_sends_text(OWNER, text, chat_id=chat_id, topic_id=self.topic_id)

    def shown_to(self, person: int) -> list[Message]:
        """What the bot shows where this person speaks with it."""
        return self.telegram.bot_messages(self.chat_id if person == OWNER else person)

    def open_cards(self, person: int) -> list[Message]:
        """Bot messages with buttons."""
        return [message for message in self.shown_to(person) if message.keyboard]

    def answer_cards(self, person: int) -> None:
        """Press each open card once: approve what is asked, leave alone what is unknown."""
        for card in self.open_cards(person):
            if (person, card.id) not in self.pressed:
                self.pressed.add((person, card.id))
                button = self.about_unknown if UNKNOWN in card.text else APPROVE
                chat_id = self.topic_id and self.chat_id
                self.telegram.user_presses_button(person, card.id, button, chat_id=chat_id)

    def has_unpressed(self, person: int) -> bool:
        """Whether there is something to answer."""
        return any((person, card.id) not in self.pressed for card in self.open_cards(person))

    async def answer_cards_until(self, people: Iterable[int], over: Callable[[], bool]) -> None:
        """People answer what they are shown until it is `over`. Raises TimeoutError if nothing moves."""
        people = tuple(people)
        while not over():
            await self.telegram.wait_for(lambda: over() or any(map(self.has_unpressed, people)), LIMIT_S)
            for person in people:
                self.answer_cards(person)

    def answers(self, person: int, start: str) -> list[Message]:
        """Bot messages that begin so."""
        return [message for message in self.shown_to(person) if message.text.startswith(start)]


@contextlib.asynccontextmanager
async def open_town(nursery: Nursery, directory: Path, house: House | None = None) -> AsyncIterator[Town]:
    """Simulators up, configuration written, no hub yet; whatever runs at the end is killed."""
    async with (
        TelegramSimulator() as telegram,
        ModelSimulator(api_key=KEY, models=("sim-1",)) as model,
    ):
        house = house or House()
        for token in house.bots.values():
            telegram.add_bot(token)
        telegram.add_user(OWNER, first_name="Olivia")
        town = Town(telegram, model, directory, nursery)
        town.workspace.mkdir()
        if house.webhook:
            town.port = free_port()
        if house.topic:
            telegram.bot().can_read_all_group_messages = True
            forum = telegram.create_supergroup("Forum", [OWNER], is_forum=True)
            town.chat_id, town.topic_id = forum.id, telegram.topic_created(forum.id, "plans").id
        (directory / "hubbub.toml").write_text(_config(town, house))
        try:
            yield town
        finally:
            await town.kill()


def survivors(town: Town) -> list[int]:
    """Processes that work in the town's workspace."""
    found: list[int] = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            with contextlib.suppress(OSError):  # gone meanwhile, or somebody else's
                if (process / "cwd").readlink() == town.workspace:
                    found.append(int(process.name))
    return found


def _config(town: Town, house: House) -> str:
    return f"""
[hub]
data_dir = "{town.directory}/data"
owner_identities = {json.dumps(house.owners)}
[http]
port = {town.port}
public_url = "{f"http://127.0.0.1:{town.port}" if town.port else ""}"
[workspace]
dir = "{town.workspace}"
[[models]]
name = "main"
provider = "openai"
model = "sim-1"
base_url = "{town.model.openai_base_url}"
api_key = "{KEY}"
{"".join(_channel(town, house, name, token) for name, token in house.bots.items())}{house.extra}"""


def _channel(town: Town, house: House, name: str, token: str) -> str:
    return f"""
[channels.{name}]
platform = "telegram"
token = "{token}"
direct = "{house.direct}"
groups = "{house.groups}"
api_base_url = "{town.telegram.url}"
mode = "{"webhook" if house.webhook else "polling"}"
webhook_secret = "a-secret-word"
"""
