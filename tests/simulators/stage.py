"""The simulators with a hub between them: its configuration, its process, and its end."""

import asyncio
import base64
import contextlib
import json
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from tests.patience import PATIENCE_S
from tests.simulators.desks import Desk, DiscordDesk, SlackDesk, TelegramDesk
from tests.simulators.discord import DiscordSimulator
from tests.simulators.model import ModelSimulator, Prompt, Reply, text
from tests.simulators.slack import SlackSimulator
from tests.simulators.telegram import TelegramSimulator

ROOT = Path(__file__).parents[2]
"""Where the hub's packages are found."""
MARK = "# Written by `python -m tests.simulators`, which writes it anew at each start.\n"
TOKEN = "4242:simulated-token"
SLACK_BOT_TOKEN, SLACK_APP_TOKEN = "xoxb-simulated", "xapp-simulated"
DISCORD_BOT = 900_000_000_000_000_001
DISCORD_TOKEN = f"{base64.b64encode(str(DISCORD_BOT).encode()).decode()}.simulated.token"
API_KEY = "simulated-key"
READY_LIMIT_S = PATIENCE_S
STOP_LIMIT_S = 30.0
LOG_TAIL_LINES = 15


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who may write to the bot. A private chat on Telegram has the person's id."""

    id: int
    name: str
    role: str

    @property
    def slack_id(self) -> str:
        """How Slack calls them."""
        return f"U0{self.name.upper()}"

    @property
    def discord_id(self) -> int:
        """How Discord does."""
        return 100_000_000_000_000_000 + self.id


OWNER = Person(1001, "Ann", "owner")
MEMBER = Person(1002, "Bob", "member")
STRANGER = Person(1003, "Eve", "stranger")
PEOPLE = (OWNER, MEMBER, STRANGER)


class HubFailed(Exception):
    """The hub did not start, or ended by itself; the text says how and shows the end of its log."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The choices of a stage. Ports of 0 take free ones. `also`: "slack", "discord", besides Telegram."""

    data: Path
    config: Path
    telegram_port: int = 8081
    model_port: int = 8082
    hub_port: int = 8765
    direct: str = "allowlist"
    also: tuple[str, ...] = ()
    slack_port: int = 8083
    discord_port: int = 8084


def config_text(settings: Settings, model_base_url: str, desks: Sequence[Desk], channels: str) -> str:
    """The hub's configuration file. JSON's strings are TOML's basic strings."""
    quoted = json.dumps
    owner = [f"{desk.name}:{desk.identities[OWNER.name]}" for desk in desks]
    return f"""{MARK}
[hub]
data_dir = {quoted(str(settings.data.resolve() / "hub"))}
owner_identities = {quoted(owner)}

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
{channels}"""


def channel_text(settings: Settings, desk: Desk, **options: str) -> str:
    """One platform's section."""
    people = {"direct": settings.direct, "allow": [desk.identities[MEMBER.name]]}
    lines = [f"{name} = {json.dumps(value)}" for name, value in {**options, **people}.items()]
    return "\n".join(["", f"[channels.{desk.name}]", *lines, ""])


def _results(prompt: Prompt) -> Reply:
    """Repeat results as people read them, where the built-in answer shows the model's view."""
    return text(f"Done: {' | '.join(map(_without_fence, prompt.tool_results))}")


def _without_fence(result: str) -> str:
    note, fence, rest = result.partition("<tool_output ")
    return note + rest.partition("\n")[2].rpartition("\n</tool_output")[0] if fence else result


class Stage:
    """The simulators and the hub's process; an async context manager that ends all of them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.log_path = settings.data / "hub.log"
        self.telegram = TelegramSimulator(port=settings.telegram_port)
        self.slack = SlackSimulator(port=settings.slack_port) if "slack" in settings.also else None
        self.discord = DiscordSimulator(port=settings.discord_port) if "discord" in settings.also else None
        self.model = ModelSimulator(api_key=API_KEY, port=settings.model_port)
        self.model.rule("", _results, on="tool")
        self.hub: asyncio.subprocess.Process | None = None
        self.desks: list[Desk] = []
        self._running = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        self.telegram.add_bot(TOKEN)
        self.desks = [TelegramDesk(self.telegram, {person.name: person.id for person in PEOPLE})]
        if self.slack is not None:
            self.slack.add_app(SLACK_BOT_TOKEN, SLACK_APP_TOKEN, commands=["/hubbub"])
            self.desks.append(SlackDesk(self.slack, {person.name: person.slack_id for person in PEOPLE}))
        if self.discord is not None:
            self.discord.add_bot(DISCORD_TOKEN)
            ids = {person.name: person.discord_id for person in PEOPLE}
            self.desks.append(DiscordDesk(self.discord, ids))
        async with contextlib.AsyncExitStack() as starting:
            for simulator in (self.telegram, self.slack, self.discord, self.model):
                if simulator is not None:
                    await simulator.start()
                    starting.push_async_callback(simulator.stop)
            self._running = starting.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stop_hub()
        await self._running.aclose()

    def _channels(self) -> str:
        telegram, *others = self.desks
        sections = [channel_text(self.settings, telegram, token=TOKEN, api_base_url=self.telegram.url)]
        for desk in others:
            if self.slack is not None and desk.name == "slack":
                options = {"bot_token": SLACK_BOT_TOKEN, "app_token": SLACK_APP_TOKEN}
                sections.append(
                    channel_text(self.settings, desk, api_base_url=f"{self.slack.url}/api", **options)
                )
            elif self.discord is not None:
                urls = {"api_base_url": self.discord.api_base_url, "gateway_url": self.discord.gateway_url}
                sections.append(channel_text(self.settings, desk, token=DISCORD_TOKEN, **urls))
        return "".join(sections)

    def write_config(self) -> None:
        """Write the hub's configuration. Raises FileExistsError rather than overwrite a person's own."""
        path = self.settings.config
        if path.exists() and not path.read_text().startswith(MARK):
            raise FileExistsError(f"{path} was not written by this command; name another with --config")
        self.settings.data.mkdir(parents=True, exist_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        base_url = self.model.openai_base_url
        path.write_text(config_text(self.settings, base_url, self.desks, self._channels()))

    async def start_hub(self) -> None:
        """Start the hub and return when it listens on every platform. Raises HubFailed."""
        with self.log_path.open("ab") as log:
            self.hub = await self._spawn(log)
        listening = asyncio.create_task(self._listening())
        ended = asyncio.create_task(self.hub.wait())
        done, waiting = await asyncio.wait({listening, ended}, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        if ended in done:
            listening.exception() if listening in done else None
            raise self._failed(f"the hub ended at once with status {self.hub.returncode}")
        if listening.exception() is not None:
            raise self._failed(f"the hub did not listen within {READY_LIMIT_S:.0f} s")

    async def _listening(self) -> None:
        for desk in self.desks:
            await desk.wait_listening(READY_LIMIT_S)

    async def hub_ended(self) -> None:
        """Raises HubFailed when the hub ends; never returns otherwise."""
        if self.hub is None:
            await asyncio.Event().wait()
            return
        status = await self.hub.wait()
        raise self._failed(f"the hub ended with status {status}")

    async def console_link(self) -> str:
        """A fresh link that logs the owner in to the running hub's console. Raises HubFailed."""
        login = await self._command("login", asyncio.subprocess.PIPE, asyncio.subprocess.STDOUT)
        told, _ = await login.communicate()
        if login.returncode:
            raise self._failed(f"the hub made no login link: {told.decode()}")
        return told.decode().strip()

    async def _spawn(self, log: IO[bytes]) -> asyncio.subprocess.Process:
        # A session of its own: Ctrl-C is for this command, which then asks the hub to end.
        return await self._command("run", log, log, start_new_session=True)

    async def _command(
        self, name: str, out: IO[bytes] | int, err: IO[bytes] | int, *, start_new_session: bool = False
    ) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "bot", name, "--config", str(self.settings.config.resolve())),
            cwd=ROOT,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=start_new_session,
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
