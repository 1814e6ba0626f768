"""A manager with one Telegram bot, between the simulator and in-memory ports.

The bot's requests are real: python-telegram-bot over HTTP. Time runs 50 times as fast for pauses of the
hub, so that a pause of seconds passes in a blink; the simulator's time and connections are real.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.platforms import readable_files
from channels.manager import ChannelManager, Phase
from channels.telegram.addresses import Timeouts
from channels.telegram.channel import TelegramChannel
from core.safety.paths import PathGuard
from tests.channels.memory import MemoryInbox, MemoryOutbox, Watched
from tests.clock import HastyClock
from tests.harness.simulators import TELEGRAM_TOKEN, open_simulators
from tests.patience import PATIENCE_S
from tests.simulators.telegram import TelegramSimulator

TOKEN = TELEGRAM_TOKEN
SPEED = 50
COMMANDS = {"help": "What I can do", "new": "Start over"}


class StateLog(Watched, logging.Handler):
    """Looks whenever a channel's change of state is logged."""

    def __init__(self) -> None:
        Watched.__init__(self)
        logging.Handler.__init__(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.changed()


@contextmanager
def state_log() -> Iterator[StateLog]:
    """Hears every change of state."""
    log, logger = StateLog(), logging.getLogger("channels.manager")
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(log)
    try:
        yield log
    finally:
        logger.removeHandler(log)
        logger.setLevel(level)


@dataclass
class ChannelBench:
    """The manager and everything around it."""

    sim: TelegramSimulator
    inbox: MemoryInbox
    outbox: MemoryOutbox
    manager: ChannelManager
    log: "StateLog"

    def phase(self) -> Phase:
        return self.manager.states()["tg"].phase

    def reason(self) -> str | None:
        return self.manager.states()["tg"].reason

    async def reaches(self, phase: Phase, limit_s: float = PATIENCE_S) -> None:
        """Until the channel is in this phase."""
        await self.log.until(lambda: self.phase() is phase, limit_s)


def channel(
    sim: TelegramSimulator,
    clock: HastyClock,
    token: str = TOKEN,
    timeouts: Timeouts | None = None,
    files: Path | None = None,
) -> TelegramChannel:
    read = None if files is None else readable_files(PathGuard(files))
    read_file = None if read is None else (lambda path, limit: asyncio.to_thread(read, path, limit))
    return TelegramChannel("tg", token, sim.url, clock, COMMANDS, timeouts=timeouts, read_file=read_file)


@asynccontextmanager
async def open_channel(
    sim: TelegramSimulator,
    *,
    token: str = TOKEN,
    timeouts: Timeouts | None = None,
    inbox: MemoryInbox | None = None,
    outbox: MemoryOutbox | None = None,
    files: Path | None = None,
) -> AsyncIterator[ChannelBench]:
    """Runs until the block ends; the end itself must come within two seconds."""
    clock = HastyClock(SPEED)
    inbox, outbox = inbox or MemoryInbox(), outbox or MemoryOutbox()
    manager = ChannelManager([channel(sim, clock, token, timeouts, files)], outbox, clock)
    outbox.listener = manager
    with state_log() as log:
        task = asyncio.create_task(manager.run(inbox))
        try:
            yield ChannelBench(sim, inbox, outbox, manager, log)
        finally:
            task.cancel()
            _, late = await asyncio.wait([task], timeout=PATIENCE_S)
            assert not late, "the manager does not stop"
    if not task.cancelled():
        task.result()


@asynccontextmanager
async def simulated_telegram() -> AsyncIterator[TelegramSimulator]:
    """A Telegram with one bot and three people."""
    people = [("telegram", str(user_id), name) for user_id, name in ((7, "Ann"), (8, "Ben"), (9, "Cleo"))]
    async with open_simulators("telegram", people=people) as around:
        around.telegram.bot().user.username = "the_hub_bot"
        yield around.telegram
