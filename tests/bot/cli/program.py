"""The `hubbub` command as a process of its own, as somebody at a terminal meets it."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import aiohttp

from tests.bot.cli.forking import Forked, fork
from tests.patience import PATIENCE_S
from tests.tree import ROOT

START_LIMIT_S = PATIENCE_S
STOP_LIMIT_S = 30.0
"""How long Ctrl-C may take, whatever is going on: less than anything a hub could wait for instead."""


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
    """What every command is started with: nothing of the tests' own surroundings."""
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


class RunningHub:
    """`hubbub run` in a directory; killed at the end of the block if it still runs.

    `fresh`: in an interpreter of its own, rather than forked from one that has imported everything.
    """

    def __init__(
        self, directory: Path, *words: str, env: Mapping[str, str] | None = None, fresh: bool = False
    ) -> None:
        self._directory = directory
        self._fresh = fresh
        self._words = words
        self._env = environment(**(env or {}))
        self._started: asyncio.subprocess.Process | Forked | None = None
        self._listening: asyncio.Task[None] | None = None
        self.out = ""
        self.err = ""
        self.url = ""

    @property
    def process(self) -> asyncio.subprocess.Process | Forked:
        """The running process."""
        assert self._started is not None
        return self._started

    async def __aenter__(self) -> Self:
        """Returns when the hub says where it serves."""
        self._started = await _start(self._directory, "run", *self._words, env=self._env, fresh=self._fresh)
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
        while not (found := re.search(r"is running on (http://\S+) ", self.out)):
            line = await self.process.stdout.readline()
            assert line, f"the hub did not start: {self.err}"
            self.out += line.decode()
        self.url = found.group(1)


async def _start(
    directory: Path, *words: str, env: Mapping[str, str], stdin: bytes = b"", fresh: bool
) -> asyncio.subprocess.Process | Forked:
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


async def _end(process: asyncio.subprocess.Process | Forked) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()


def _close(process: asyncio.subprocess.Process | Forked) -> None:
    if isinstance(process, Forked):
        process.close()
