"""A child process that cannot act before the hub has recorded it, and is gone when its call ends (P5).

The child starts waiting: it is our leader (core.tools.leader), which reads its plan from a pipe. The hub
records it durably, then writes the plan. If the hub dies in between, the leader reads the end of the pipe
and exits without any effect. If the hub dies later, the leader ends its programs, and the next hub knows
which process to look for.

A command has no access to the hub's memory and environment. The system's own process limit counts all of a
user's and does not hold for root, so the call's processes are counted, too: cheaply, by the system's number
of all, and one by one once that has grown.
"""

import asyncio
import contextlib
import logging
import marshal
import os
import resource
import subprocess
import sys
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from core.errors import ToolFailed
from core.lazy import dataclass
from core.off_loop import finish
from core.safety.fencing import HeadAndTail
from core.safety.shell.lexer import Joiner, Plan, Program, Redirect, Step, ToFile, ToNull, ToStdout
from core.tools.processes import Orphans, end_marked, kill_group

if TYPE_CHECKING:
    from core.tools.leader import Job


MAX_PROCESSES = 256
_ROOM = 1024
_PROC = Path("/proc")
_PR_SET_DUMPABLE = 4
"""prctl(2); 0 leaves /proc/PID/environ, mem and the like to root, and keeps other processes from
attaching."""


def bound(pid: int) -> None:
    """Limit a child that has not begun yet; its own children inherit the limits."""
    close_own_memory()
    with contextlib.suppress(OSError, ValueError):
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        _, hard = resource.prlimit(pid, resource.RLIMIT_NPROC)
        most = all_tasks() + _ROOM
        if hard == resource.RLIM_INFINITY or most < hard:
            resource.prlimit(pid, resource.RLIMIT_NPROC, (most, most))
    with contextlib.suppress(OSError):
        # When memory runs out, the command is killed before the hub.
        (_PROC / str(pid) / "oom_score_adj").write_text("1000")


@cache
def close_own_memory() -> bool:
    """Keep other processes of the hub's user from reading its memory and its environment, which may hold
    tokens; root still
    can. Return whether the system supports that: Linux does."""
    import ctypes  # needed only once there is a child

    try:
        return ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
    except (OSError, AttributeError):
        return False


def all_tasks() -> int:
    """Return the number of tasks on the machine; 0 if it is unknown."""
    try:
        return int((_PROC / "loadavg").read_text().split()[3].partition("/")[2])
    except (OSError, IndexError, ValueError):
        return 0


def is_crowd(session: int, tasks_before: int) -> bool:
    """Return whether a session has more than its share of processes."""
    grown = all_tasks() - tasks_before
    return grown > MAX_PROCESSES and (grown > 4 * MAX_PROCESSES or _members(session) > MAX_PROCESSES)


def _members(session: int) -> int:
    found = 0
    for name in os.listdir(_PROC):
        if name.isdecimal():
            with contextlib.suppress(OSError, IndexError):
                fields = (_PROC / name / "stat").read_bytes().rpartition(b")")[2].split()
                found += int(fields[3]) == session
    return found


MARSHAL_VERSION = 4
"""Read by every Python that a leader runs on, which in a container is not the hub's."""


@dataclass(frozen=True, slots=True)
class Command:
    """A plan and its surroundings. `closed`: paths that no redirect opens, see PathGuard."""

    plan: Plan
    workspace: str
    environment: Mapping[str, str]
    closed: Collection[Path] = ()


def one_program(*argv: str) -> Plan:
    """Return the plan that runs only this program."""
    return Plan((Step(Joiner.THEN, (Program(argv),)),))


def encode(command: Command) -> bytes:
    """Return the message. Raises ValueError for a value that cannot be passed to a program."""
    from core.tools.leader import LENGTH_BYTES  # with its imports: needed only for a command

    plan = command.plan
    job: Job = (
        tuple((step.joiner.value, tuple(map(_program, step.programs))) for step in plan.steps),
        _bytes(plan.directory),
        _bytes(command.workspace),
        tuple(os.fsencode(path) for path in command.closed),
        {_bytes(name): _bytes(value) for name, value in command.environment.items()},
    )
    message = marshal.dumps(job, MARSHAL_VERSION)
    return len(message).to_bytes(LENGTH_BYTES, "big") + message


def _program(program: Program) -> tuple[tuple[bytes, ...], tuple[tuple[str, str, bytes], ...]]:
    return tuple(map(_bytes, program.argv)), tuple(map(_redirect, program.redirects))


def _redirect(redirect: Redirect) -> tuple[str, str, bytes]:
    match redirect.target:
        case ToFile(path, append):
            return redirect.stream.value, "append" if append else "file", _bytes(path)
        case ToNull():
            return redirect.stream.value, "null", b""
        case ToStdout():
            return redirect.stream.value, "stdout", b""
        case _:
            assert_never(redirect.target)


def _bytes(text: str) -> bytes:
    """Return text in the system's encoding, independent of the leader's locale."""
    if "\0" in text:
        raise ValueError("it contains a NUL character")
    try:
        return os.fsencode(text)
    except UnicodeEncodeError:
        raise ValueError("it contains a lone surrogate") from None


# A child that starts waiting, and its end.


_HOUSE = str(Path(__file__).resolve().parents[2])
_BOOT = """import marshal, os, sys
sys.path.append(sys.argv[1])
code = b""
while len(code) < int(sys.argv[2]):
    code += os.read(0, int(sys.argv[2]) - len(code)) or os._exit(125)
scope = {"__name__": "leader"}
exec(marshal.loads(code), scope)
scope["main"]()
"""
"""Reads the leader's code from the hub: finding and compiling it takes as long as all the rest."""
_OPTIONS = ("-I", "-S", "-B", "-X", "utf8")
"""Keep the workspace and the environment from affecting its imports, or how it reads names."""
_BURIAL_S = 5.0
_LAST_OUTPUT_S = 1.0
_BETWEEN_COUNTS_S = 0.1

logger = logging.getLogger(__name__)


class GatedChild:
    """One command as the leader of its own session and process group, from start to end.

    It is not waited for until its group was killed: until then its number cannot be given to another
    process. The
    caller must call `end` in every case.
    """

    def __init__(self, command: Command, output: HeadAndTail, call_id: str, orphans: Orphans) -> None:
        """Start a command for a call, behind its gate, with stdout and stderr together into `output`.
        `orphans`: the hub's.

        Raises ToolFailed if it cannot be started. Needs a running event loop.
        """
        self.output = output
        self._message = _encoded(command)
        self._call_id = call_id
        self._orphans = orphans
        self._tasks_before = all_tasks()
        orphans.call_begins(call_id)
        try:
            self._process, read_end = _start(command)
        except ToolFailed:
            orphans.call_ends(call_id, None)
            raise
        bound(self._process.pid)
        orphans.leads(self._process.pid, call_id)
        self._pipe = os.fdopen(read_end, "rb", buffering=0)
        self._pidfd = os.pidfd_open(self._process.pid)
        self._exit = asyncio.Event()
        self._collector = _Collector(output)
        self._transport: asyncio.ReadTransport | None = None
        self._gate: asyncio.WriteTransport | None = None
        self._ended = False
        asyncio.get_running_loop().add_reader(self._pidfd, self._on_exit)

    @property
    def pid(self) -> int:
        """The leader's process ID, also its group's."""
        return self._process.pid

    @property
    def exit_code(self) -> int:
        """Exit code after `end`, or minus the number of the signal that ended it."""
        code: int | None = self._process.returncode
        return -9 if code is None else code

    async def listen(self) -> None:
        """Start to collect its output; a full pipe would block it."""
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.connect_read_pipe(lambda: self._collector, self._pipe)
        self._gate, _ = await loop.connect_write_pipe(asyncio.Protocol, self._process.stdin)

    def open_gate(self) -> None:
        """Let the command start, after `listen`. The pipe stays open: its end means that the hub is gone."""
        if self._gate is not None:
            self._gate.write(self._message)

    async def exits_within(self, limit_s: float) -> bool:
        """Wait until the command itself ends; False if it does not end in time. Raises ToolFailed if it has
        started more
        processes than a command may.

        Background processes do not count.
        """
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + limit_s
        while not self._exit.is_set():
            rest_s = ends_at - loop.time()
            if rest_s <= 0:
                return False
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(rest_s, _BETWEEN_COUNTS_S)):
                    await self._exit.wait()
            if not self._exit.is_set() and not self._orphans.bury_next():
                await asyncio.to_thread(self._orphans.bury_all)
            if not self._ended and is_crowd(self.pid, self._tasks_before):
                raise ToolFailed(f"The command started more than {MAX_PROCESSES} processes and was stopped.")
        return True

    async def end(self) -> None:
        """Kill and reap all that is left of the call, and take the last output. Further calls do nothing.

        Takes about 11 s at worst. A cancellation does not cut it short; it is passed on afterwards.
        """
        if self._ended:
            return
        self._ended = True
        kill_group(self.pid)
        await finish(self._bury(), f"end of call {self._call_id}")

    async def _bury(self) -> None:
        try:
            await end_marked(self._call_id, self._orphans.kill_strays, self.pid)
            if not await self.exits_within(_BURIAL_S):
                logger.warning("call.process_unkillable call=%s process=%d", self._call_id, self.pid)
            await self._take_last_output()
        finally:
            self._close()
            self._orphans.call_ends(self._call_id, self.pid)
        await asyncio.to_thread(self._orphans.bury_all)

    def _on_exit(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pidfd)
        self._exit.set()

    async def _take_last_output(self) -> None:
        """Read to the end, for a limited time: a process that escaped may hold the pipe open."""
        if self._transport is None:
            return
        try:
            async with asyncio.timeout(_LAST_OUTPUT_S):
                await self._collector.closed.wait()
        except TimeoutError:
            pass

    def _close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pidfd)
        os.close(self._pidfd)
        if self._gate is not None:
            if not self._gate.is_closing():
                self._gate.abort()
        elif self._process.stdin is not None:
            self._process.stdin.close()
        if self._transport is not None:
            self._transport.close()
        else:
            self._pipe.close()
        self._process.poll()


class _Collector(asyncio.Protocol):
    """Collector of the output pipe's bytes."""

    def __init__(self, output: HeadAndTail) -> None:
        self._output = output
        self.closed = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self._output.add(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 — either way it is over
        self.closed.set()


@cache
def _code() -> bytes:
    """Return the leader's code, compiled once."""
    source = Path(__file__).with_name("leader.py")
    return marshal.dumps(compile(source.read_bytes(), source.name, "exec"))


def _encoded(command: Command) -> bytes:
    try:
        return encode(command)
    except ValueError as error:
        raise ToolFailed(f"The command could not be started: {error}.") from error


def _start(command: Command) -> tuple["subprocess.Popen[bytes]", int]:
    """Start the leader behind its gate; return it and the reading end of its output."""
    code = _code()
    read_end, write_end = os.pipe()
    try:
        process = subprocess.Popen(  # noqa: S603 — running commands is what this is for
            [sys.executable, *_OPTIONS, "-c", _BOOT, _HOUSE, str(len(code))],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=write_end,
            stderr=write_end,
            cwd=command.workspace,
            env=command.environment,
            start_new_session=True,
        )
    except OSError as error:
        os.close(read_end)
        raise ToolFailed(f"The command could not be started: {_cause(error, command.workspace)}") from error
    finally:
        os.close(write_end)
    if process.stdin is not None:  # always; the code fits into the pipe at once
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(code)
    return process, read_end


def _cause(error: OSError, directory: str) -> str:
    if not Path(directory).is_dir():
        return f"the workspace {directory} is not a directory"
    return error.strerror or "the system refused"
