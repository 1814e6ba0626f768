"""`hubbub` commands, and hubs that die when told to, without the wait for imports: forked from a process that
has imported the program.

Each is a process of its own, with its own directory, environment, streams and exit code, that signals hit
like any other, and it ends as any other does. What a fresh interpreter alone can show (what is imported, and
when) is started as one.
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
from collections.abc import Callable, Mapping, Sequence
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

    def __init__(self, pid: int, told: asyncio.StreamReader) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._ending = asyncio.create_task(self._end(told))

    async def _end(self, told: asyncio.StreamReader) -> int:
        self.returncode = int(await told.read())
        return self.returncode

    async def wait(self, limit_s: float | None = None) -> int:
        """The exit code, once it is over; minus the signal's number if that ended it. Raises TimeoutError."""
        async with asyncio.timeout(limit_s):
            return await asyncio.shield(self._ending)

    def send_signal(self, number: signal.Signals) -> None:
        """Unless it is over."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


class Piped(Forked):
    """One whose output is read."""

    def __init__(self, pid: int, told: asyncio.StreamReader, out: "_Pipe", err: "_Pipe") -> None:
        super().__init__(pid, told)
        self.stdout = out.reader
        self.stderr = err.reader
        self._transports = (out.transport, err.transport)

    async def communicate(self) -> tuple[bytes, bytes]:
        """Return what it wrote, once it is over."""
        out, err = await asyncio.gather(self.stdout.read(), self.stderr.read())
        await self.wait()
        return out, err

    def close(self) -> None:
        """Listen no longer, whoever else still holds its streams."""
        for transport in self._transports:
            transport.close()


async def fork(directory: Path, words: Sequence[str], env: Mapping[str, str], stdin: bytes) -> Piped:
    """Run `hubbub WORDS` in `directory`; `stdin` is all it reads, and less than a pipe holds."""
    pipes = [os.pipe() for _ in range(2)]
    out, err = [await _listen(source) for source, _ in pipes]
    given, giving = os.pipe()
    os.write(giving, stdin)
    os.close(giving)
    theirs = [given, *(target for _, target in pipes)]
    try:
        order = {"words": list(words), "directory": str(directory), "env": dict(env)}
        return Piped(*await _ask(order, theirs), out, err)
    finally:
        for number in theirs:
            os.close(number)


async def fork_into(output: Path | None, **order: object) -> Forked:
    """Run what is ordered, `words` or a `hub`, in the tests' own directory and surroundings and a session of
    its own; it reads nothing and writes to a file, or complains where the tests do."""
    order = {"directory": str(ROOT), "env": dict(os.environ), "session": True, **order}
    with open(os.devnull, "rb") as nothing, open(output or os.devnull, "ab") as written:
        errors = sys.__stderr__ if output is None else written
        assert errors is not None
        return Forked(*await _ask(order, [nothing.fileno(), written.fileno(), errors.fileno()]))


async def _ask(order: Mapping[str, object], streams: list[int]) -> tuple[int, asyncio.StreamReader]:
    """The number of the new process, and where its exit code will be told."""
    source, target = os.pipe()
    told = await _listen(source)
    try:
        socket.send_fds(_server(), [json.dumps(order).encode()], [*streams, target])
    finally:
        os.close(target)
    return int(await told.reader.readline()), told.reader


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
            [sys.executable, "-m", "tests.harness.forking", str(theirs.fileno())],
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
    "core.model.provider_http",
    "core.model.openai",
    "core.store.sqlite.store",
    "tests.crash.entry",
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
                    self._kill_all()
                    return None
                if (order := self._fork(json.loads(message), numbers)) is not None:
                    return order

    def _fork(self, order: dict[str, Any], numbers: list[int]) -> "_Order | None":
        *streams, told = numbers
        # A child forgets what it was sent before its interpreter was ready: held back, the kernel keeps it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        pid = os.fork()
        if not pid:
            for key in self._selector.get_map().values():
                if key.data is not None:  # the end of another process is told at once
                    os.close(key.data[1])
            self._selector.close()
            self._orders.close()
            os.close(told)
            return _Order(order, streams)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        for number in streams:
            os.close(number)
        os.write(told, b"%d\n" % pid)
        self._selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, told))
        return None

    def _kill_all(self) -> None:
        for key in self._selector.get_map().values():
            if key.fileobj is not self._orders:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(key.data[0], signal.SIGKILL)

    def _bury(self, pidfd: int, pid: int, told: int) -> None:
        self._selector.unregister(pidfd)
        os.close(pidfd)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with contextlib.suppress(BrokenPipeError):  # who asked is gone
            os.write(told, b"%d\n" % code)
        os.close(told)


class _Order:
    """The task of a forked process."""

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
        if self._order.get("session"):
            os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        if "hub" in self._order:
            from tests.crash.entry import run_ordered

            run_ordered(self._order["hub"])
        else:
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
