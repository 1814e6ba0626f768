"""The `hubbub` command in a pseudo-terminal, as somebody who types meets it."""

import asyncio
import os
import pty
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tests.harness.process import environment
from tests.patience import PATIENCE_S

LIMIT_S = PATIENCE_S


class Terminal:
    """Runs one command; what it shows is collected, and what is typed is never sent before it asked."""

    def __init__(self, directory: Path, *words: str, env: Mapping[str, str] | None = None) -> None:
        self._directory = directory
        self._words = words
        self._env = environment(TERM="xterm", COLUMNS="100", **(env or {}))
        self._leader = -1
        self._process: asyncio.subprocess.Process | None = None
        self._more = asyncio.Event()
        self._seen = 0
        self.shown = ""

    async def __aenter__(self) -> Self:
        self._leader, follower = pty.openpty()
        os.set_blocking(self._leader, False)
        asyncio.get_running_loop().add_reader(self._leader, self._read)
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "bot", *self._words),
                cwd=self._directory,
                env=self._env,
                stdin=follower,
                stdout=follower,
                stderr=follower,
                start_new_session=True,
            )
        finally:
            os.close(follower)
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        asyncio.get_running_loop().remove_reader(self._leader)
        os.close(self._leader)

    def types(self, line: str) -> None:
        """A line and Enter."""
        os.write(self._leader, f"{line}\n".encode())

    def interrupts(self) -> None:
        """Ctrl-C."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)

    async def shows(self, wanted: str) -> str:
        """Until it shows that, after what was waited for before; everything shown up to there."""
        try:
            async with asyncio.timeout(LIMIT_S):
                while (found := self.shown.find(wanted, self._seen)) < 0:
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError:
            raise AssertionError(f"{wanted!r} was not shown, but: {self.shown[self._seen :]!r}") from None
        self._seen = found + len(wanted)
        return self.shown[: self._seen]

    async def ended(self) -> int:
        """The exit code, once it ended by itself."""
        assert self._process is not None
        async with asyncio.timeout(LIMIT_S):
            return await self._process.wait()

    def _read(self) -> None:
        try:
            self.shown += os.read(self._leader, 65536).decode(errors="replace")
        except OSError:  # the other end is closed
            asyncio.get_running_loop().remove_reader(self._leader)
        self._more.set()
