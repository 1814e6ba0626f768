"""`hubbub` commands without the wait for imports: forked from a process that has imported the program.

Each is a process of its own, with its own directory, environment, streams and exit code, and it ends as any
other does. What a fresh interpreter alone can show (what is imported, and when) is started as one.
"""

import asyncio
import atexit
import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.tree import ROOT

ORDER_LIMIT_BYTES = 1 << 16
STREAMS = 4
"""Standard input, output, errors, and where its number and its exit code are told."""


class Forked:
    """A process that was asked for, with what tests use of `asyncio.subprocess.Process`."""

    def __init__(self, out: "_Pipe", err: "_Pipe") -> None:
        self.stdout = out.reader
        self.stderr = err.reader
        self._transports = (out.transport, err.transport)
        self.pid = 0
        self.returncode: int | None = None
        self._ending: asyncio.Task[int] | None = None

    async def begin(self, told: asyncio.StreamReader) -> None:
        """Until it is there."""
        self.pid = int(await told.readline())
        self._ending = asyncio.create_task(self._end(told))

    async def _end(self, told: asyncio.StreamReader) -> int:
        self.returncode = int(await told.read())
        return self.returncode

    async def wait(self) -> int:
        """The exit code, once it is over; minus the signal's number if that ended it."""
        assert self._ending is not None
        return await asyncio.shield(self._ending)

    async def communicate(self) -> tuple[bytes, bytes]:
        """What it wrote, once it is over."""
        out, err = await asyncio.gather(self.stdout.read(), self.stderr.read())
        await self.wait()
        return out, err

    def send_signal(self, number: signal.Signals) -> None:
        """Unless it is over."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Listen no longer, whoever else still holds its streams."""
        for transport in self._transports:
            transport.close()


async def fork(directory: Path, words: tuple[str, ...], env: Mapping[str, str], stdin: bytes) -> Forked:
    """Run `hubbub WORDS` in `directory`; `stdin` is all it reads, and less than a pipe holds."""
    order = json.dumps({"words": words, "directory": str(directory), "env": dict(env)}).encode()
    pipes = [os.pipe() for _ in range(STREAMS - 1)]
    out, err, told = [await _listen(source) for source, _ in pipes]
    given, giving = os.pipe()
    os.write(giving, stdin)
    os.close(giving)
    theirs = [given, *(target for _, target in pipes)]
    try:
        socket.send_fds(_server(), [order], theirs)
    finally:
        for number in theirs:
            os.close(number)
    started = Forked(out, err)
    await started.begin(told.reader)
    return started


@dataclass(frozen=True, slots=True)
class _Pipe:
    reader: asyncio.StreamReader
    transport: asyncio.ReadTransport


async def _listen(source: int) -> _Pipe:
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(source, "rb"))
    return _Pipe(reader, transport)


@cache
def _server() -> socket.socket:
    """The forking process of this test run; it ends with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.bot.cli.forking", str(theirs.fileno())],
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT), "PATH": os.defpath},
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


# --- in the forking process -----------------------------------------------------------------------------

IMPORTED = (
    "bot.app",
    "bot.cli.commands",
    "bot.cli.show",
    "bot.cli.serve",
    "channels.telegram.channel",
    "core.model.http",
    "core.model.openai",
    "core.store.sqlite.queries",
    "uvicorn",
)
"""What nearly every command needs."""


class _ForkServer:
    """Forks until nobody can ask any more."""

    def __init__(self, orders: socket.socket) -> None:
        self._orders = orders
        self._selector = selectors.DefaultSelector()
        self._selector.register(orders, selectors.EVENT_READ)

    def serve(self) -> "_Order | None":
        """Returns in each process that is forked, with what it is to do; None at the end of all."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is not self._orders:
                    self._bury(key.fd, *key.data)
                    continue
                message, numbers, _, _ = socket.recv_fds(self._orders, ORDER_LIMIT_BYTES, STREAMS)
                if not message:
                    return None
                if (order := self._fork(json.loads(message), numbers)) is not None:
                    return order

    def _fork(self, order: dict[str, Any], numbers: list[int]) -> "_Order | None":
        *streams, told = numbers
        pid = os.fork()
        if not pid:
            self._selector.close()
            self._orders.close()
            os.close(told)
            return _Order(order, streams)
        for number in streams:
            os.close(number)
        os.write(told, b"%d\n" % pid)
        self._selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, told))
        return None

    def _bury(self, pidfd: int, pid: int, told: int) -> None:
        self._selector.unregister(pidfd)
        os.close(pidfd)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with contextlib.suppress(BrokenPipeError):  # who asked is gone
            os.write(told, b"%d\n" % code)
        os.close(told)


class _Order:
    """What a forked process is to do."""

    def __init__(self, order: dict[str, Any], streams: list[int]) -> None:
        self._order = order
        self._streams = streams

    def obey(self, program: Callable[[], None]) -> None:
        """Be that command, as if started afresh."""
        for target, number in enumerate(self._streams):
            os.dup2(number, target)
            os.close(number)
        os.chdir(self._order["directory"])
        os.environ.clear()
        os.environ.update(self._order["env"])
        sys.argv = ["hubbub", *self._order["words"]]
        program()


def main() -> None:
    """Import the program, then serve the socket whose number is the only argument."""
    for name in IMPORTED:
        import_module(name)
    from bot.__main__ import main as program
    from bot.config.load import load
    from bot.tools import build_tools
    from core.clock import SystemClock

    build_tools(load(environ={}), None, SystemClock())  # what their signatures say is read once for all
    gc.freeze()
    order = _ForkServer(socket.socket(fileno=int(sys.argv[1]))).serve()
    if order is not None:
        order.obey(program)


if __name__ == "__main__":
    main()
