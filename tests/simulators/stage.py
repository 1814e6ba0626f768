"""Both simulators with a hub between them: its configuration, its process, and its end."""

import asyncio
import json
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from tests.simulators.model import ModelSimulator
from tests.simulators.telegram import TelegramSimulator

ROOT = Path(__file__).parents[2]
"""Where the hub's packages are found."""
MARK = "# Written by `python -m tests.simulators`, which writes it anew at each start.\n"
TOKEN = "4242:simulated-token"
API_KEY = "simulated-key"
READY_LIMIT_S = 30.0
STOP_LIMIT_S = 10.0
LOG_TAIL_LINES = 15


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who may write to the bot. A private chat has the person's id."""

    id: int
    name: str
    role: str


OWNER = Person(1001, "Ann", "owner")
MEMBER = Person(1002, "Bob", "member")
STRANGER = Person(1003, "Eve", "stranger")
PEOPLE = (OWNER, MEMBER, STRANGER)


class HubFailed(Exception):
    """The hub did not start, or ended by itself; the text says how and shows the end of its log."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be chosen. Ports of 0 take free ones."""

    data: Path
    config: Path
    telegram_port: int = 8081
    model_port: int = 8082
    hub_port: int = 8765
    direct: str = "allowlist"


def config_text(settings: Settings, telegram_url: str, model_base_url: str) -> str:
    """The hub's configuration file. JSON's strings are TOML's basic strings."""
    quoted = json.dumps
    return f"""{MARK}
[hub]
data_dir = {quoted(str(settings.data.resolve()))}
owner_identities = [{quoted(f"telegram:{OWNER.id}")}]

[http]
port = {settings.hub_port}

[workspace]
dir = {quoted(str(settings.data.resolve() / "workspace"))}

[[models]]
name = "simulated"
provider = "openai"
model = "sim-1"
base_url = {quoted(model_base_url)}
api_key = {quoted(API_KEY)}

[channels.telegram]
token = {quoted(TOKEN)}
api_base_url = {quoted(telegram_url)}
direct = {quoted(settings.direct)}
allow = [{quoted(str(MEMBER.id))}]
"""


class Stage:
    """The simulators and the hub's process; an async context manager that ends all of them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.log_path = settings.data / "hub.log"
        self.telegram = TelegramSimulator(port=settings.telegram_port)
        self.model = ModelSimulator(api_key=API_KEY, port=settings.model_port)
        self.hub: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        self.telegram.add_bot(TOKEN)
        for person in PEOPLE:
            self.telegram.add_user(person.id, first_name=person.name)
        await self.telegram.start()
        try:
            await self.model.start()
        except BaseException:
            await self.telegram.stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stop_hub()
        await self.model.stop()
        await self.telegram.stop()

    def write_config(self) -> None:
        """Write the hub's configuration. Raises FileExistsError rather than overwrite a person's own."""
        path = self.settings.config
        if path.exists() and not path.read_text().startswith(MARK):
            raise FileExistsError(f"{path} was not written by this command; name another with --config")
        self.settings.data.mkdir(parents=True, exist_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(config_text(self.settings, self.telegram.url, self.model.openai_base_url))

    async def start_hub(self) -> None:
        """Start the hub and return when it asks Telegram for updates. Raises HubFailed."""
        with self.log_path.open("ab") as log:
            self.hub = await self._spawn(log)
        polling = asyncio.create_task(self.telegram.wait_polling(timeout_s=READY_LIMIT_S))
        ended = asyncio.create_task(self.hub.wait())
        done, waiting = await asyncio.wait({polling, ended}, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        if ended in done:
            polling.exception() if polling in done else None
            raise self._failed(f"the hub ended at once with status {self.hub.returncode}")
        if polling.exception() is not None:
            raise self._failed(f"the hub asked for no updates within {READY_LIMIT_S:.0f} s")

    async def hub_ended(self) -> None:
        """Raises HubFailed when the hub ends; never returns otherwise."""
        if self.hub is None:
            await asyncio.Event().wait()
            return
        status = await self.hub.wait()
        raise self._failed(f"the hub ended with status {status}")

    async def _spawn(self, log: IO[bytes]) -> asyncio.subprocess.Process:
        # A session of its own: Ctrl-C is for this command, which then asks the hub to end.
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "bot", "run", "--config", str(self.settings.config.resolve())),
            cwd=ROOT,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

    async def _stop_hub(self) -> None:
        hub, self.hub = self.hub, None
        if hub is None or hub.returncode is not None:
            return
        hub.send_signal(signal.SIGINT)
        try:
            async with asyncio.timeout(STOP_LIMIT_S):
                await hub.wait()
        except TimeoutError:
            hub.kill()
            await hub.wait()

    def _failed(self, what: str) -> HubFailed:
        tail = self.log_path.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:]
        return HubFailed("\n".join([f"{what}; the end of {self.log_path}:", *tail]))
