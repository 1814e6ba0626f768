"""Processes a test starts, and looks at from outside."""

import asyncio
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from core.tools.processes import MARKER, started_ticks
from tests.patience import PATIENCE_S


async def until(true: Callable[[], bool], what: str) -> None:
    """Wait until something another process does has happened."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not true():  # noqa: ASYNC110 — another process has no event to wait on
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"never happened: {what}") from None


def is_alive(pid: int) -> bool:
    """Return whether it still runs; a zombie doesn't."""
    return started_ticks(pid) is not None


def carriers(call_id: str) -> list[int]:
    """Live processes that carry the call's marker, as /proc tells."""
    mark = f"{MARKER}={call_id}".encode()
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return [pid for pid in found if is_alive(pid)]


def shells_in(workspace: Path) -> list[int]:
    """Processes of a command in a workspace, on this machine or in a container. The next container that waits
    there has neither a shell nor a sleep."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and (entry / "cwd").readlink() == workspace.resolve():
                found += [int(entry.name)] * ((entry / "comm").read_text() in {"sh\n", "bash\n", "sleep\n"})
        except OSError:
            continue
    return found


def sleeper(call_id: str, *, own_session: bool = True) -> subprocess.Popen[bytes]:
    """A process with a call's marker that does nothing for long."""
    environment = {"PATH": os.defpath, MARKER: call_id}
    return subprocess.Popen(["sleep", "1000"], env=environment, start_new_session=own_session)
