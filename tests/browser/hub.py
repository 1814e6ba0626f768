"""A hub of its own for a test: the real program as a process, its address, and links to log in with."""

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from tests.bot.cli.program import RunningHub
from tests.harness.telegram_hub import OWNER, TOKEN
from tests.simulators.telegram import TelegramSimulator

HUB = """
[hub]
data_dir = "{directory}/data"
{owner}
[http]
port = 0
[workspace]
dir = "{directory}/workspace"
[[models]]
name = "main"
{model}
{channels}
"""
DEMO = 'provider = "demo"'
STRANGER = 9
"""A person of the platform whom the hub does not know."""
CHANNEL = """
[channels.telegram]
token = "{token}"
api_base_url = "{url}"
direct = "pairing"
"""


@dataclass(slots=True)
class Hub:
    """A running hub."""

    directory: Path
    process: RunningHub

    @property
    def url(self) -> str:
        """Where it serves."""
        return self.process.url

    async def link(self, through: str = "") -> str:
        """A fresh login link, as `hubbub login` prints it. `through`: another way to the same hub."""
        url: str = (await self.api("POST", "/login-links"))["url"]
        return url.replace(self.url, through) if through else url

    async def api(self, method: str, path: str, body: object = None) -> Any:
        """What a program on this machine gets from the API."""
        access = json.loads((self.directory / "data" / "api.json").read_text())
        headers = {"Authorization": f"Bearer {access['token']}"}
        async with (
            aiohttp.ClientSession(headers=headers) as http,
            http.request(method, f"{access['url']}/api{path}", json=body) as answer,
        ):
            page = await answer.json()
            assert answer.status < 300, page
            return page

    async def restart(self) -> None:
        """Kill it and start it again where it was."""
        port = self.url.rpartition(":")[2]
        await self.process.__aexit__()
        self.process = RunningHub(self.directory, env={"HUBBUB__HTTP__PORT": port})
        await self.process.__aenter__()


@contextlib.asynccontextmanager
async def running_hub(
    directory: Path, *, model: str = DEMO, telegram: TelegramSimulator | None = None, extra: str = ""
) -> AsyncIterator[Hub]:
    """A hub with the built-in model; with a simulated platform, whose person OWNER is the hub's owner.

    `extra` ends the configuration: in the channel's section, if there is one, unless it opens another.
    """
    channels = owner = ""
    if telegram is not None:
        channels = CHANNEL.format(token=TOKEN, url=telegram.url)
        owner = f'owner_identities = ["telegram:{OWNER}"]'
    (directory / "workspace").mkdir(exist_ok=True)
    text = HUB.format(directory=directory, owner=owner, model=model, channels=channels) + extra
    (directory / "hubbub.toml").write_text(text)
    hub = Hub(directory, RunningHub(directory))
    await hub.process.__aenter__()
    try:
        yield hub
    finally:
        await hub.process.__aexit__()
