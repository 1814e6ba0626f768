"""Limits of a command: its processes, no access to the hub's memory and environment, and an end before the
hub's.

The system's own process limit counts all of a user's and does not hold for root, so the call's processes are
counted, too: cheaply, by the system's number of all, and one by one once that has grown.
"""

import contextlib
import os
import resource
from functools import cache
from pathlib import Path

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
