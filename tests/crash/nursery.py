"""Starts hub processes quickly: a process that has imported everything and forks whatever it is told to.

It reads one JSON object a line and answers each with a number: `{"hub": orders}` and `{"command": words,
"output": path}` (a `hubbub` command line, its output to a file) with the new process' number, `{"bury":
process}` with the exit code of one that is over. Each is a process of its own, in its own session, that
SIGKILL hits like any other.
"""

import asyncio
import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import bot.cli.serve
import bot.cli.show
import channels.telegram.channel
import core.model.http
import core.model.openai
import core.store.sqlite.queries
from bot.cli.commands import app
from bot.config.load import load
from bot.tools import build_tools
from core.clock import SystemClock
from tests.crash.entry import Orders, run
from tests.crash.points import AtCommit, parse_commit_point

PRELOADED = (
    bot.cli.show,
    bot.cli.serve,
    channels.telegram.channel,
    core.model.http,
    core.model.openai,
    core.store.sqlite.queries,
)
"""What is otherwise imported only when it is asked for."""


def times_served(log: Path) -> int:
    """How many hubs that wrote this log have served."""
    return log.read_text().count("hub.serving") if log.exists() else 0


class HubProcess:
    """One hub, or another command, alive or dead."""

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

    async def interrupt(self, log: Path, serving: int, limit_s: float) -> None:
        """End it in good order, once its log, shared with earlier ones, says for the `serving`-th time that a
        hub serves, and until it is gone.

        Before the hub has its own handler, an interrupt may meet the interpreter in the callback of a weak
        reference, as imports have them: it drops the interrupt there, and the hub would go on.
        """
        async with asyncio.timeout(limit_s):
            while not self.dead and times_served(log) < serving:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.01)
        self.send(signal.SIGINT)
        await self.wait(limit_s)

    async def wait(self, limit_s: float) -> None:
        """Until it is gone. Raises TimeoutError."""
        async with asyncio.timeout(limit_s):
            await self._gone.wait()


class Nursery:
    """The forking process, as seen by the harness."""

    def __init__(self, process: "subprocess.Popen[bytes]", one_at_a_time: ThreadPoolExecutor) -> None:
        self._process = process
        self._one_at_a_time = one_at_a_time

    async def start(self, orders: Orders) -> HubProcess:
        """A new hub; it may not serve yet."""
        hub = {
            "config": str(orders.config),
            "trace": str(orders.trace),
            "log": str(orders.log),
            "die_at": None if orders.die_at is None else str(orders.die_at),
            "freeze_at": None if orders.freeze_at is None else str(orders.freeze_at),
        }
        return HubProcess(await self._ask({"hub": hub}))

    async def command(self, words: Sequence[str], output: Path) -> HubProcess:
        """`hubbub WORDS`, its standard output and errors written to a file."""
        return HubProcess(await self._ask({"command": list(words), "output": str(output)}))

    async def exit_code(self, process: HubProcess) -> int:
        """Of a process that is gone: minus the number of the signal that ended it, or its own code."""
        return await self._ask({"bury": process.pid})

    async def _ask(self, what: dict[str, Any]) -> int:
        line = json.dumps(what).encode() + b"\n"
        return await asyncio.get_running_loop().run_in_executor(self._one_at_a_time, self._exchange, line)

    def _exchange(self, line: bytes) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextlib.contextmanager
def open_nursery() -> Iterator[Nursery]:
    """A nursery for the time of the block; what it started is killed with it."""
    with (
        subprocess.Popen(
            [sys.executable, "-m", "tests.crash.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            start_new_session=True,
        ) as process,
        ThreadPoolExecutor(1, "nursery") as one_at_a_time,
    ):
        yield Nursery(process, one_at_a_time)


# --- in the nursery -------------------------------------------------------------------------------------


def _fork(work: Callable[[], None]) -> int:
    # A child forgets what it was sent before its interpreter was ready: held back, the kernel keeps it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        return pid
    code = 1
    try:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        sys.stdin.close()
        work()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _run_hub(asked: dict[str, Any]) -> None:
    run(
        Orders(
            Path(asked["config"]),
            Path(asked["trace"]),
            Path(asked["log"]),
            _point(asked["die_at"]),
            _point(asked["freeze_at"]),
        )
    )


def _point(text: str | None) -> AtCommit | None:
    return None if text is None else parse_commit_point(text)


def _run_command(words: list[str], output: str) -> None:
    with open(output, "ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        app(words, prog_name="hubbub")
    finally:
        sys.stdout.flush()


def _obey(asked: dict[str, Any], children: set[int]) -> int:
    if "bury" in asked:
        children.discard(asked["bury"])
        return os.waitstatus_to_exitcode(os.waitpid(asked["bury"], 0)[1])
    if "hub" in asked:
        pid = _fork(lambda: _run_hub(asked["hub"]))
    else:
        pid = _fork(lambda: _run_command(asked["command"], asked["output"]))
    children.add(pid)
    return pid


def main() -> None:
    """Obey line after line; end with standard input, and everything with it."""
    build_tools(load(environ={}), None, SystemClock())  # what their signatures say is read once for all hubs
    gc.freeze()
    children: set[int] = set()
    for line in sys.stdin:
        print(_obey(json.loads(line), children), flush=True)
    for pid in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
