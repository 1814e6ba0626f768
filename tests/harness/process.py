"""The `hubbub` command as a process of its own, as somebody at a terminal meets it."""

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import aiohttp

from tests.harness.forking import Piped, fork
from tests.harness.simulators import OLIVIA, TELEGRAM_TOKEN, section, write_config
from tests.patience import PATIENCE_S
from tests.simulators.telegram import TelegramSimulator
from tests.tree import ROOT

START_LIMIT_S = PATIENCE_S
STOP_LIMIT_S = 30.0
"""How long Ctrl-C may take, whatever is going on: less than anything a hub could wait for instead."""

_WHERE = re.compile(r"(?:is running|serves) on (http://\S+) ")
"""Where a hub serves; those before 23 November say it in other words."""

DEMO = 'provider = "demo"'
STRANGER = 9
"""A person of the platform whom the hub does not know."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that is over."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The only line it wrote to standard error."""
        (line,) = self.err.splitlines()
        return line


def environment(**more: str) -> dict[str, str]:
    """Return what every command is started with: nothing of the tests' own surroundings."""
    return {"PYTHONPATH": str(ROOT), "PATH": os.defpath, **more}


async def hubbub(
    directory: Path,
    *words: str,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    fresh: bool = False,
) -> Ended:
    """Run a command that ends by itself, in `directory`. `fresh`: in an interpreter of its own, with nothing
    to read."""
    process = await _start(directory, *words, env=environment(**(env or {})), stdin=stdin, fresh=fresh)
    try:
        async with asyncio.timeout(START_LIMIT_S):
            out, err = await process.communicate()
    finally:
        await _end(process)
        _close(process)
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


class HubProcess:
    """`hubbub run` in a directory; killed at the end of the block if it still runs.

    `fresh`: in an interpreter of its own, rather than forked from one that has imported everything.
    """

    def __init__(
        self, directory: Path, *words: str, env: Mapping[str, str] | None = None, fresh: bool = False
    ) -> None:
        self.directory = directory
        self._fresh = fresh
        self._words = words
        self._env = environment(**(env or {}))
        self._started: asyncio.subprocess.Process | Piped | None = None
        self._listening: asyncio.Task[None] | None = None
        self.out = ""
        self.err = ""
        self.url = ""

    @property
    def process(self) -> asyncio.subprocess.Process | Piped:
        """The running process."""
        assert self._started is not None
        return self._started

    async def __aenter__(self) -> Self:
        """Returns when the hub says where it serves."""
        self._started = await _start(self.directory, "run", *self._words, env=self._env, fresh=self._fresh)
        self._listening = asyncio.create_task(self._listen())
        try:
            async with asyncio.timeout(START_LIMIT_S):
                await self._read_where()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *exception: object) -> None:
        await _end(self.process)
        if self._listening is not None:
            await self._listening
        _close(self.process)

    async def restart(self) -> None:
        """Kill it and start it again where it was."""
        self._env["HUBBUB__HTTP__PORT"] = self.url.rpartition(":")[2]
        await self.__aexit__()
        self.out = self.err = ""
        await self.__aenter__()

    async def link(self, through: str = "") -> str:
        """A fresh login link, as `hubbub login` prints it. `through`: another way to the same hub."""
        url: str = (await self.api("POST", "/login-links"))["url"]
        return url.replace(self.url, through) if through else url

    async def api(self, method: str, path: str, body: object = None) -> Any:
        """Return what a program on this machine gets from the API."""
        access = json.loads((self.directory / "data" / "api.json").read_text())
        headers = {"Authorization": f"Bearer {access['token']}"}
        async with (
            aiohttp.ClientSession(headers=headers) as http,
            http.request(method, f"{access['url']}/api{path}", json=body) as answer,
        ):
            page = await answer.json()
            assert answer.status < 300, page
            return page

    async def readyz(self) -> tuple[int, dict[str, object]]:
        """Status and body of `/readyz`, which answers soon whatever is wrong."""
        limit = aiohttp.ClientTimeout(total=STOP_LIMIT_S)
        async with aiohttp.ClientSession(timeout=limit) as http, http.get(f"{self.url}/readyz") as answer:
            return answer.status, await answer.json()

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal; the exit code. Raises TimeoutError if it takes longer than Ctrl-C may."""
        self.process.send_signal(number)
        async with asyncio.timeout(STOP_LIMIT_S):
            assert self.process.stdout is not None
            self.out += (await self.process.stdout.read()).decode()
            code = await self.process.wait()
        if self._listening is not None:
            await self._listening
        return code

    async def _listen(self) -> None:
        assert self.process.stderr is not None
        while line := await self.process.stderr.readline():
            self.err += line.decode()

    async def _read_where(self) -> None:
        assert self.process.stdout is not None
        while not (found := _WHERE.search(self.out)):
            line = await self.process.stdout.readline()
            assert line, f"the hub did not start: {self.err}"
            self.out += line.decode()
        self.url = found.group(1)


@contextlib.asynccontextmanager
async def running_hub(
    directory: Path, *, model: str = DEMO, telegram: TelegramSimulator | None = None, extra: str = ""
) -> AsyncIterator[HubProcess]:
    """A hub with the built-in model; with a simulated platform, whose person OLIVIA is the hub's owner.

    `extra` ends the configuration: in the channel's section, if there is one, unless it opens another.
    """
    sections, owners = [f'[[models]]\nname = "main"\n{model}'], []
    if telegram is not None:
        options = {"token": TELEGRAM_TOKEN, "api_base_url": telegram.url, "direct": "pairing"}
        sections.append(section("telegram", **options))
        owners.append(f"telegram:{OLIVIA['telegram']}")
    write_config(directory, "\n".join(sections) + extra, owners=owners)
    async with HubProcess(directory) as hub:
        yield hub


async def _start(
    directory: Path, *words: str, env: Mapping[str, str], stdin: bytes = b"", fresh: bool
) -> asyncio.subprocess.Process | Piped:
    if not fresh:
        return await fork(directory, words, env, stdin)
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bot",
        *words,
        cwd=directory,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def _end(process: asyncio.subprocess.Process | Piped) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()


def _close(process: asyncio.subprocess.Process | Piped) -> None:
    if isinstance(process, Piped):
        process.close()
