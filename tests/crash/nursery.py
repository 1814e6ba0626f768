"""Starts hub processes quickly: a process that has imported everything and forks one hub per line it reads.

Each hub is a process of its own, in its own session, that SIGKILL hits like any other.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import channels.telegram.channel
import core.model.http
import core.model.openai
from tests.crash.entry import Orders, run
from tests.crash.points import AtCommit, parse_commit_point

PRELOADED = (channels.telegram.channel, core.model.http, core.model.openai)
"""What a hub imports only when its configuration asks for it."""


class HubProcess:
    """One hub, alive or dead."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._pidfd = os.pidfd_open(pid)
        self._gone = asyncio.Event()
        asyncio.get_running_loop().add_reader(self._pidfd, self._on_exit)

    def _on_exit(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._gone.set()

    @property
    def dead(self) -> bool:
        """Whether it is gone."""
        return self._gone.is_set()

    def send(self, number: signal.Signals) -> None:
        """A signal, unless it is gone."""
        if not self.dead:
            os.kill(self.pid, number)

    async def wait(self, limit_s: float) -> None:
        """Until it is gone. Raises TimeoutError."""
        async with asyncio.timeout(limit_s):
            await self._gone.wait()


class Nursery:
    """The forking process, as seen by the harness."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._one_at_a_time = asyncio.Lock()

    async def start(self, orders: Orders) -> HubProcess:
        """A new hub; it may not serve yet."""
        line = json.dumps(
            {
                "config": str(orders.config),
                "trace": str(orders.trace),
                "log": str(orders.log),
                "die_at": None if orders.die_at is None else str(orders.die_at),
                "freeze_at": None if orders.freeze_at is None else str(orders.freeze_at),
            }
        )
        async with self._one_at_a_time:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(line.encode() + b"\n")
            return HubProcess(int(await self._process.stdout.readline()))


@contextlib.asynccontextmanager
async def open_nursery() -> AsyncIterator[Nursery]:
    """A nursery for the time of the block; hubs it started are killed with it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.crash.nursery",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        start_new_session=True,
    )
    try:
        yield Nursery(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


def _fork(line: str, children: set[int]) -> int:
    asked = json.loads(line)
    pid = os.fork()
    if pid:
        children.add(pid)
        return pid
    code = 1
    try:
        os.setsid()
        sys.stdin.close()
        run(
            Orders(
                Path(asked["config"]),
                Path(asked["trace"]),
                Path(asked["log"]),
                _point(asked["die_at"]),
                _point(asked["freeze_at"]),
            )
        )
        code = 0
    finally:
        os._exit(code)


def _point(text: str | None) -> AtCommit | None:
    return None if text is None else parse_commit_point(text)


def main() -> None:
    """Fork a hub per line; bury the dead; end with standard input."""
    children: set[int] = set()
    for line in sys.stdin:
        print(_fork(line, children), flush=True)
        with contextlib.suppress(ChildProcessError):
            while (dead := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                children.discard(dead)
    for pid in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
