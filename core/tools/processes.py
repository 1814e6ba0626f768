"""Child processes of tool calls: reliably recognized and ended, also by a later hub (P5).

A call's processes are the process group the hub made for it, every process with the call's
marker in its initial environment, and every process with its number. The number is a limit of
the system that all children inherit, and that only root can raise again. It can be lowered; a
running hub sees that, too (core.tools.processes). All this is read from Linux' /proc. Without
it nothing of a dead hub can be recognized, so nothing of it is killed.
"""

import asyncio
import contextlib
import hashlib
import logging
import os
import resource
import signal
import socket
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from core.lazy import dataclass
from core.tool import ProcessInfo

MARKER = "HUBBUB_CALL"
"""Environment variable every process of a call starts with; its value is the call's idempotency key."""

IDEMPOTENCY_VARIABLE = "HUBBUB_IDEMPOTENCY_KEY"
"""Environment variable with the same key under a public name, for a command to pass on."""

_RTTIME = 15
"""RLIMIT_RTTIME, see getrlimit(2): microseconds a process with a real-time schedule may run without a pause.
Few may have such a schedule, and the numbers stand for some ten thousand years."""
_LEAST_NUMBER = 2**60
_PROC = Path("/proc")
_CHASES = 50
_AHEAD = 4
_LOOKS = 500
_BETWEEN_LOOKS_S = 0.01
logger = logging.getLogger(__name__)

_ZOMBIE_OR_DEAD = (b"Z", b"X")


def started_ticks(pid: int) -> int | None:
    """Return the start of the process, in clock ticks after boot; None if there is none.

    A zombie counts as none: it can do nothing any more.
    """
    try:
        stat = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The second field is the program's name in parentheses and may itself contain spaces and parentheses.
    fields = stat.rpartition(b")")[2].split()
    return None if fields[0] in _ZOMBIE_OR_DEAD else int(fields[19])


@cache
def host_id() -> str:
    """Return where this program's process ids hold: one start of a machine, or of a container."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot} {(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


def process_info(pid: int) -> ProcessInfo:
    """Return the record of a child that leads its own group and was not waited for yet.

    `started_ticks` is 0 where it cannot be read: that is no process' start, so it is never killed.
    """
    return ProcessInfo(pid, pid, started_ticks(pid) or 0, host_id())


def kill_group(process_group: int) -> None:
    """SIGKILL a process group; do nothing if it is gone.

    The caller makes sure that the number is still its own: the leader was not waited for, or is the
    recorded process.
    """
    try:
        os.killpg(process_group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # gone, or the rest of it runs as another user


def number_of(call_id: str) -> int:
    """Return the number of the call's processes."""
    digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).digest()
    return _LEAST_NUMBER + int.from_bytes(digest[:7], "big")


def give_number(pid: int, call_id: str) -> None:
    """Give a child that has not started yet, and all it will start, the call's number.

    Where the system does not allow that, the marker in the environment has to do.
    """
    with contextlib.suppress(OSError, ValueError):
        number = number_of(call_id)
        resource.prlimit(pid, _RTTIME, (number, number))


def number_borne(pid: int) -> int | None:
    """Return a process's number, also a zombie's; -1: it never got one; None: unknown."""
    try:
        return resource.prlimit(pid, _RTTIME)[1]
    except (OSError, ValueError):
        return None  # gone, or another user's


@dataclass(frozen=True, slots=True)
class Found:
    """The processes of a call that one look at all processes found.

    `living`: whether there were live ones; they were killed. `dead`: IDs of those nobody waited for yet."""

    living: bool = False
    dead: frozenset[int] = frozenset()


async def end_marked(
    call_id: str, kill_others: Callable[[], Found] = Found, leader: int | None = None
) -> bool:
    """Kill every process that carries the call's marker or its number, and wait until they are gone.

    `kill_others` (called in another thread) kills the others. `leader`: the first one, known to be dead.
    Return whether there were any live ones; see `end_process` for those that will not go.
    """

    def kill_all() -> Found:
        found = _kill_marked(call_id)
        if found.living:
            return found
        others = kill_others()
        return Found(others.living, found.dead | others.dead)

    return await _end(call_id, kill_all, leader)


async def end_process(process: ProcessInfo, call_id: str) -> bool:
    """Stop everything a dead hub left running of a call, and wait until it is gone; return whether there was
    any.

    `call_id`: the idempotency key of the call. The recorded group is killed only while its leader is the
    very process
    recorded: a number that was given to another process is never touched. A process still there after
    about 5 s (another
    user's, or stuck in the kernel) is logged and left.
    """

    if process.host not in {"", host_id()}:
        logger.warning("call.processes_elsewhere call=%s host=%s", call_id, process.host)
        return False

    def kill_all() -> Found:
        recorded, found = _kill_recorded(process), _kill_marked(call_id)
        return Found(recorded or found.living, found.dead)

    return await _end(call_id, kill_all)


async def _end(call_id: str, kill_all: Callable[[], Found], leader: int | None = None) -> bool:
    """Repeat `kill_all` until it finds nothing alive and nobody newly dead.

    Processes may fork in the meantime, and take a moment to go. Of a chain in which each starts the next
    and ends, a look may meet no live one, but always the last ones that died."""
    seen, any_lived = {leader}, False
    for _ in range(_LOOKS):
        found = await asyncio.to_thread(kill_all)
        if not found.living and found.dead <= seen:
            return any_lived
        any_lived |= found.living
        seen |= found.dead
        await asyncio.sleep(_BETWEEN_LOOKS_S if found.living else 0)
    logger.warning("call.processes_unkillable call=%s", call_id)
    return True


def _kill_recorded(process: ProcessInfo) -> bool:
    """SIGKILL the group if its leader is the recorded one; return whether it was."""
    if started_ticks(process.pid) != process.started_ticks:
        return False
    kill_group(process.process_group)
    return True


def _kill_marked(call_id: str) -> Found:
    """SIGKILL all live processes with the number or the marker.

    Markers are searched only after numbers find nothing alive: reading environments takes ten times as
    long.
    """
    found = _kill_numbered(number_of(call_id))
    if found.living:
        return found
    return Found(_kill_carriers(f"{MARKER}={call_id}".encode()).living, found.dead)


def _kill_numbered(number: int) -> Found:
    found = _kill_live([pid for pid in all_pids() if number_borne(pid) == number])
    if found.living:
        chase(lambda pid: number_borne(pid) == number)
    return found


def _kill_carriers(mark: bytes) -> Found:
    return _kill_live([pid for pid in all_pids() if pid != os.getpid() and _carries(pid, mark)])


def _kill_live(pids: Sequence[int]) -> Found:
    living = [pid for pid in pids if started_ticks(pid) is not None]
    for pid in living:
        kill(pid)
    return Found(bool(living), frozenset(pids).difference(living))


def chase(hunted: Callable[[int], bool]) -> None:
    """SIGKILL the hunted among the newest processes.

    Where each starts the next and is gone before its turn, a scan of all processes finds none."""
    for _ in range(_CHASES):
        try:
            newest = int((_PROC / "loadavg").read_bytes().split()[4])
        except (OSError, IndexError, ValueError):
            return
        for pid in range(newest + _AHEAD, max(newest - _AHEAD, 1), -1):
            if hunted(pid):
                kill(pid)


def kill(pid: int) -> None:
    """SIGKILL one process; do nothing if it is gone, or runs as another user."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def all_pids() -> list[int]:
    """Return the IDs of all processes; empty if they cannot be read."""
    try:
        return [int(name) for name in os.listdir(_PROC) if name.isdecimal()]
    except OSError:
        return []


def _carries(pid: int, mark: bytes) -> bool:
    try:
        return mark in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False  # gone, or another user's


# Orphans of a call's processes become the hub's children: nothing gets out of sight.
#
# While calls run, the hub adopts the orphans of all its descendants (PR_SET_CHILD_SUBREAPER, prctl(2)).
# Each process of a call bears the call's number (core.tools.processes) and can lower it, but not take a
# higher one; root can. A descendant of the hub whose number is neither the hub's own nor that of a call
# that runs has outlived its call or changed the number: it is killed when a call ends. Servers have the
# hub's own number, which is none, and so have all their children; they are never touched.
#
# Adopted children that died are waited for while calls run and when one ends. Those of servers (orphaned
# while a call ran) cannot be told from servers, and stay zombies once they die, until the hub ends.

_PR_SET_CHILD_SUBREAPER = 36
_GONE = frozenset({b"Z", b"X"})


class Orphans:
    """Tracker of running calls; one for all calls of a hub."""

    def __init__(self) -> None:
        self._running: set[int] = set()
        self._leaders: set[int] = set()

    def call_begins(self, call_id: str) -> None:
        """Record the start of a call. Call this before its first process starts."""
        if not self._running:
            _adopt(True)
        self._running.add(number_of(call_id))

    def leads(self, pid: int, call_id: str) -> None:
        """Record the call's first process, which has not started yet; only its starter waits for it."""
        self._leaders.add(pid)
        give_number(pid, call_id)

    def call_ends(self, call_id: str, leader: int | None) -> None:
        """Record the end of a call. Call this after its first process, if any, was waited for."""
        if leader is not None:
            self._leaders.discard(leader)
        self._running.discard(number_of(call_id))
        if not self._running:
            _adopt(False)

    def kill_strays(self) -> Found:
        """SIGKILL processes of calls that are over, whatever their names.

        Call it in its own thread: it reads every process.
        """
        numbered = [pid for pid in _numbered() if self._strayed(pid)]
        strays = [pid for pid in numbered if _descends(pid)]
        for pid in strays:
            kill(pid)
        if strays:
            own = _own_number()
            chase(lambda pid: number_borne(pid) not in (None, own) and self._strayed(pid) and _descends(pid))
        hub = os.getpid()
        return Found(bool(strays), frozenset(pid for pid in numbered if _looked_at(pid) == (hub, True)))

    def bury_next(self) -> bool:
        """Wait for adopted dead children, as long as the system names them first; never blocks.

        Return False if it first names a child that others wait for: there may be more after it.
        """
        own = _own_number()
        while (dead := _dead_child()) is not None:
            if not self._is_adopted(dead, own):
                return False
            _bury(dead)
        return True

    def bury_all(self) -> None:
        """Wait for all of them. Call it in its own thread: it reads every process."""
        hub, own = os.getpid(), _own_number()
        for pid in _numbered():
            if _looked_at(pid) == (hub, True) and self._is_adopted(pid, own):
                _bury(pid)

    def _strayed(self, pid: int) -> bool:
        """Return whether it bears no number that it could have been given and kept."""
        return number_borne(pid) not in self._running

    def _is_adopted(self, pid: int, own: int | None) -> bool:
        return pid not in self._leaders and number_borne(pid) not in (None, own)


def _numbered() -> list[int]:
    """Return the IDs of processes with another number than the hub's; nearly all belong to calls."""
    neither = (None, _own_number())
    return [pid for pid in all_pids() if number_borne(pid) not in neither]


def _own_number() -> int | None:
    return number_borne(os.getpid())


def _dead_child() -> int | None:
    """Return one dead child of the hub that was not waited for."""
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return None if found is None else found.si_pid


def _bury(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):  # another thread was faster
        os.waitpid(pid, os.WNOHANG)


def _descends(pid: int) -> bool:
    """Return whether it is alive and a descendant of the hub."""
    hub, (above, dead) = os.getpid(), _looked_at(pid)
    if dead:
        return False
    while above not in (0, hub):
        above, _ = _looked_at(above)
    return above == hub


def _looked_at(pid: int) -> tuple[int, bool]:
    """Return its parent's ID, 0 if there is none, and whether it is dead."""
    try:
        state, parent = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return 0, True
    return int(parent), state in _GONE


def _adopt(adopts: bool) -> None:
    """Return whether the system supports that: Linux does; elsewhere orphans are not adopted."""
    import ctypes  # needed only once there is a child

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(adopts), 0, 0, 0)
