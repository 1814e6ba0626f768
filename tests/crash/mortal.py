"""A world around one hub: platform, model provider, data, and the people who drive a story to its end.

The people know nothing of kills: they answer what they see, as often as they see it.
"""

import asyncio
import contextlib
import itertools
import json
import re
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash.asked_hooks import AskedHooks
from tests.crash.entry import Orders
from tests.crash.ledger import Ledger
from tests.crash.points import AtCommit
from tests.databases import lay_database
from tests.harness.forking import Forked, fork_into
from tests.harness.simulators import (
    OLIVIA,
    TELEGRAM_TOKEN,
    Surrounded,
    open_simulators,
    section,
    write_config,
)
from tests.patience import PATIENCE_S
from tests.ports import free_port
from tests.simulators.telegram.world import Message

TOKEN, OWNER = TELEGRAM_TOKEN, int(OLIVIA["telegram"])
LIMIT_S = PATIENCE_S
UNKNOWN = "I was interrupted while running"
LEAVE_IT, APPROVE, DENY = 2, 0, 1


@dataclass(frozen=True, slots=True)
class Setup:
    """The configuration of the hub: its owner, others who may write, and its bots by channel name.

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
class AnyMortalHub(Surrounded):
    """The processes of one hub on the same data, and its surroundings. `hub` is the process that runs now;
    `about_unknown`: the button pressed where the outcome of a call is unknown; `port`: where it listens for
    what a platform brings, 0 where none does; `served`: how many hubs before this one have served."""

    hub: Forked | None = None
    starts: int = 0
    served: int = 0
    port: int = 0
    about_unknown: int = LEAVE_IT
    _commands: Iterator[int] = field(default_factory=itertools.count)

    def trace(self, start: int | None = None) -> list[str]:
        """The commits the hub's `start`-th process passed (default: the newest)."""
        path = self.directory / f"trace-{self.starts if start is None else start}"
        return path.read_text().split() if path.exists() else []

    def ledger(self, start: int | None = None) -> Ledger:
        """Whom the commits of the hub's `start`-th process were about (default: the newest)."""
        return Ledger.read(self.directory / f"trace-{self.starts if start is None else start}.ledger")

    async def start(
        self,
        die_at: AtCommit | None = None,
        freeze_at: AtCommit | None = None,
        *,
        stop_at: AtCommit | None = None,
        lease_s: float | None = None,
        config: str = "hubbub.toml",
        record: Path | None = None,
    ) -> Forked:
        """Start a hub on the data that is there; it may not serve yet."""
        lay_database(self.directory / "data" / "hub.db")
        self.starts += 1
        self.served = self._times_served()
        orders = Orders(
            self.directory / config,
            self.directory / f"trace-{self.starts}",
            self.directory / "hub.log",
            die_at,
            freeze_at,
            stop_at,
            lease_s,
            record,
        )
        self.hub = await fork_into(None, hub=orders.to_json())
        return self.hub

    async def run(self, *options: str) -> Forked:
        """Start the hub as people do, with nothing in between: `hubbub run OPTIONS`."""
        self.starts += 1
        self.served = self._times_served()
        self.hub = await self._command(self.directory / "hub.log", "run", *options)
        return self.hub

    def serves(self) -> bool:
        """Return whether the newest hub lives and has said that it serves."""
        return self._lives() and self._times_served() > self.served

    async def served_at_last(self) -> None:
        """Until the newest hub serves, or is gone."""
        async with asyncio.timeout(LIMIT_S):
            while self._lives() and not self.serves():  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.01)

    def _lives(self) -> bool:
        return self.hub is not None and self.hub.returncode is None

    def _times_served(self) -> int:
        log = self.directory / "hub.log"
        return log.read_text().count("hub.serving") if log.exists() else 0

    async def end(self, sent: signal.Signals) -> None:
        """End the hub, if it lives; by an interrupt once it serves.

        Before the hub has its own handler, an interrupt may meet the interpreter in the callback of a weak
        reference, as imports have them: it drops the interrupt there, and the hub would go on.
        """
        if sent is signal.SIGINT:
            await self.served_at_last()
        if self.hub is not None:
            self.hub.send_signal(sent)
            await self.hub.wait(LIMIT_S)

    async def kill(self) -> None:
        """End the hub with SIGKILL, if it lives."""
        await self.end(signal.SIGKILL)

    async def stop(self) -> None:
        """End the hub in good order, as Ctrl-C does."""
        await self.end(signal.SIGINT)

    async def exit_code(self) -> int:
        """The ended hub's."""
        assert self.hub is not None
        return await self.hub.wait(LIMIT_S)

    def url(self) -> str:
        """Return where the newest hub that got so far serves."""
        return re.findall(r"hub\.serving url=(\S+)", (self.directory / "hub.log").read_text())[-1]

    async def command(self, *words: str) -> str:
        """Return what `hubbub WORDS` says, asked of the data the hub left or works on, and rightly so."""
        output = self.directory / f"said-{next(self._commands)}"
        ended = await self._command(output, *words)
        assert await ended.wait(LIMIT_S) == 0, output.read_text()
        return output.read_text()

    async def _command(self, output: Path, *words: str) -> Forked:
        return await fork_into(output, words=[*words, "--config", str(self.directory / "hubbub.toml")])

    async def why(self) -> list[dict[str, Any]]:
        """Return what the hub says became of every message: every event, with its deliveries."""
        return json.loads(await self.command("why", "--json", "--limit", "1000"))["events"]

    async def account(self) -> list[dict[str, Any]]:
        """As `why`, once the hub has nothing left to send. Raises TimeoutError."""
        async with asyncio.timeout(LIMIT_S):
            while True:
                events = await self.why()
                if not any(map(_unsettled, (row for event in events for row in event["deliveries"]))):
                    return events


def _unsettled(delivery: Mapping[str, Any]) -> bool:
    """Return whether something is still to be done about it; an ambiguous one is repeated once."""
    return delivery["state"] in {"queued", "sending"} or (
        delivery["state"] == "ambiguous" and delivery["repeats"] == 0
    )


@dataclass(slots=True)
class MortalHub(AnyMortalHub):
    """One on Telegram. `chat_id` (and `topic_id`): where the owner speaks with it."""

    chat_id: int = OWNER
    topic_id: int | None = None
    newest_before_start: int = 0
    pressed: set[tuple[int, int]] = field(default_factory=set)
    hooks: AskedHooks | None = None

    async def start(
        self, die_at: AtCommit | None = None, freeze_at: AtCommit | None = None, **other: Any
    ) -> Forked:
        """See AnyMortalHub."""
        self.newest_before_start = self.telegram.last_number()
        return await AnyMortalHub.start(self, die_at, freeze_at, **other)

    def listens(self) -> bool:
        """Return whether the newest hub hears of what is said."""
        if self.port:
            return bool(self.telegram.requests("setWebhook", ok=True, since=self.newest_before_start))
        return self.telegram.is_polling(TOKEN)

    # --- people ----------------------------------------------------------------------------------------

    def owner_says(self, text: str) -> None:
        """Return where the owner speaks with the bot."""
        chat_id = None if self.topic_id is None else self.chat_id
        self.telegram.user_sends_text(OWNER, text, chat_id=chat_id, topic_id=self.topic_id)

    def shown_to(self, person: int) -> list[Message]:
        """Return what the bot shows where this person speaks with it."""
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
        """Return whether there is something to answer."""
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
async def open_mortal_hub(directory: Path, setup: Setup | None = None) -> AsyncIterator[MortalHub]:
    """Simulators up, configuration written, no hub yet; whatever runs at the end is killed."""
    setup = setup or Setup()
    async with open_simulators("telegram", tokens=setup.bots) as around:
        telegram = around.telegram
        for token in list(setup.bots.values())[1:]:
            telegram.add_bot(token)
        town = MortalHub(around, directory)
        if setup.webhook:
            town.port = free_port()
        if setup.topic:
            telegram.bot().can_read_all_group_messages = True
            forum = telegram.create_supergroup("Forum", [OWNER], is_forum=True)
            town.chat_id, town.topic_id = forum.id, telegram.topic_created(forum.id, "plans").id
        _write_config(town, setup)
        try:
            yield town
        finally:
            await town.kill()


def survivors(town: MortalHub) -> list[int]:
    """Processes that work in the town's workspace."""
    found: list[int] = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            with contextlib.suppress(OSError):  # gone meanwhile, or somebody else's
                if (process / "cwd").readlink() == town.workspace:
                    found.append(int(process.name))
    return found


def _write_config(town: MortalHub, setup: Setup) -> None:
    how = {"direct": setup.direct, "groups": setup.groups}
    http = f"port = {town.port}"
    if setup.webhook:
        http += f'\npublic_url = "http://127.0.0.1:{town.port}"'
        how |= {"mode": "webhook", "webhook_secret": "a-secret-word"}
    url = town.telegram.url
    bots = [
        section(name, platform="telegram", token=token, api_base_url=url, **how)
        for name, token in setup.bots.items()
    ]
    sections = [town.simulators.model_section(), "\n".join(bots) + setup.extra]
    write_config(town.directory, *sections, owners=setup.owners, http=http)
