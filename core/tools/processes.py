"""Child processes of tool calls: recognised for certain, ended for certain, also by a later hub (P5).

A call's processes are those of the process group the hub made for it, and every process that carries the
call's marker in the environment it was started with; so one that left the group by `setsid` is found.
What left the group *and* cleaned its environment cannot be told from a stranger and is left alone.
Read from Linux' /proc; without it nothing of a dead hub can be recognised, so nothing of it is killed.
"""

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path

from core.tool import ProcessInfo

MARKER = "HUBBUB_CALL"
"""Environment variable every process of a call starts with; its value is the call's idempotency key."""

_PROC = Path("/proc")
_LOOKS = 500
_BETWEEN_LOOKS_S = 0.01
logger = logging.getLogger(__name__)

_ZOMBIE_OR_DEAD = (b"Z", b"X")


def started_ticks(pid: int) -> int | None:
    """When the process was started, in clock ticks after boot; None if there is none.

    A zombie counts as none: it can do nothing any more.
    """
    try:
        stat = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The second field is the program's name in parentheses and may itself contain spaces and parentheses.
    fields = stat.rpartition(b")")[2].split()
    return None if fields[0] in _ZOMBIE_OR_DEAD else int(fields[19])


def process_info(pid: int) -> ProcessInfo:
    """What to record of a child that leads its own group and was not waited for yet.

    `started_ticks` is 0 where it cannot be read: that is no process' start, so it is never killed.
    """
    return ProcessInfo(pid=pid, process_group=pid, started_ticks=started_ticks(pid) or 0)


def kill_group(process_group: int) -> None:
    """SIGKILL a process group; nothing happens if it is gone.

    The caller makes sure that the number is still its own: that the leader was not waited for, or is
    the process it recorded.
    """
    try:
        os.killpg(process_group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # gone, or all that is left of it runs as another user


async def end_marked(call_id: str) -> bool:
    """Kill every process started with the call's marker, and wait until they are gone.

    Returns whether there was any; see `end_process` for those that will not go.
    """
    return await _end(call_id, lambda: _kill_marked(call_id))


async def end_process(process: ProcessInfo, call_id: str) -> bool:
    """End what a dead hub left running of a call, and wait until it is gone; whether there was any.

    `call_id`: the idempotency key the call was run with. The recorded group is killed only while its
    leader is the very process recorded: a number that was given to another process is never touched.
    What is still there after about 5 s (another user's, or stuck in the kernel) is logged and left.
    """
    return await _end(call_id, lambda: _kill_recorded(process) | _kill_marked(call_id))


async def _end(call_id: str, kill: Callable[[], bool]) -> bool:
    """Repeat `kill` until it finds nothing: processes may fork meanwhile, and take a moment to go."""
    for look in range(_LOOKS):
        if not await asyncio.to_thread(kill):
            return look > 0
        await asyncio.sleep(_BETWEEN_LOOKS_S)
    logger.warning("call %s: some of its processes cannot be ended", call_id)
    return True


def _kill_recorded(process: ProcessInfo) -> bool:
    """SIGKILL the group if its leader is the one recorded; whether it was."""
    if started_ticks(process.pid) != process.started_ticks:
        return False
    kill_group(process.process_group)
    return True


def _kill_marked(call_id: str) -> bool:
    """SIGKILL all live processes that carry the marker; whether there was any."""
    mark = f"{MARKER}={call_id}".encode()
    found = False
    for pid in _pids():
        if pid != os.getpid() and _carries(pid, mark) and started_ticks(pid) is not None:
            found = True
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass  # gone since we looked, or running as another user
    return found


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir(_PROC) if name.isdecimal()]
    except OSError:
        return []


def _carries(pid: int, mark: bytes) -> bool:
    try:
        return mark in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False  # gone, or another user's
