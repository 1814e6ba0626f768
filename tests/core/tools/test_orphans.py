"""Nothing that a command starts outlives its call, whatever it sheds: group, parent, environment, number."""

import asyncio
import contextlib
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from core.tool import Tool
from core.tools.builtin.shell import shell_tool
from tests.core.tools.processes_support import is_alive, until
from tests.core.tools.support import Call, place, run


@cache
def shell(workspace: Path) -> Tool:
    """The same for all calls of a test: it knows which of them run."""
    del workspace
    return shell_tool({"PATH": os.environ["PATH"]})


DAEMON = """
import os, time
ends = time.monotonic() + 60
def leave():
    if os.fork(): os._exit(0)
    os.setsid()
    if os.fork(): os._exit(0)
def tell(name):
    with open(name + ".new", "w") as file: file.write(str(os.getpid()))
    os.rename(name + ".new", name)
"""
"""What a program does that wants to run on by itself; a test that fails must not leave it for ever."""


def call_in(directory: Path) -> Call:
    return Call(workspace=place(directory), idempotency_key=str(uuid.uuid4()))


async def sh(call: Call, command: str, **more: Any) -> str:
    return await run(shell(call.workspace.root), {"command": command, **more}, call)


def pid_in(file: Path) -> int:
    return int(file.read_text())


def python(directory: Path, name: str, code: str) -> str:
    """A command line that runs a program without any of the call's environment."""
    (directory / name).write_text(DAEMON + code)
    return f"env -i {sys.executable} {name}"


def zombies() -> list[int]:
    """Children of this process that are dead and not waited for."""
    told = subprocess.run(
        ["ps", "-o", "pid=,stat=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=False
    ).stdout
    return [int(line.split()[0]) for line in told.splitlines() if line.split()[1].startswith("Z")]


def running_with(argument: str) -> list[int]:
    """Live processes that were started with this argument."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdecimal() and argument.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return [pid for pid in found if is_alive(pid)]


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    """No call leaves a dead child that nobody waits for."""
    before = set(zombies())
    yield
    assert set(zombies()) <= before


LEAVING = {
    "group and environment": "setsid env -i sh -c 'echo $$ > pid; exec sleep 1000' &",
    "parent": "(setsid env -i sh -c 'echo $$ > pid; exec sleep 1000' &) &",
    "terminal": "nohup env -i setsid sh -c '(echo $$ > pid; exec sleep 1000) &' >/dev/null 2>&1 &",
    "to another": "env -i HUBBUB_CALL=another setsid sh -c 'echo $$ > pid; exec sleep 1000' &",
    "number": "setsid env -i bash -c 'ulimit -R 1000; echo $$ > pid; exec sleep 1000' &",
}


@pytest.mark.parametrize("leaving", LEAVING.values(), ids=(name.replace(" ", "-") for name in LEAVING))
async def test_escaped_processes_end_with_their_call(leaving: str, tmp_path: Path) -> None:
    said = await sh(call_in(tmp_path), f"{leaving}\nuntil [ -s pid ]; do sleep 0.01; done; echo left")
    assert said == "exit code: 0\nleft\n"
    assert not is_alive(pid_in(tmp_path / "pid"))


async def test_escaped_processes_end_when_the_call_is_cancelled(tmp_path: Path) -> None:
    command = python(tmp_path, "daemon.py", "leave()\ntell('pid')\ntime.sleep(1000)\n")
    running = asyncio.create_task(sh(call_in(tmp_path), f"{command}; sleep 1000"))
    await until((tmp_path / "pid").exists, "the daemon runs")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not is_alive(pid_in(tmp_path / "pid"))


@pytest.mark.slow
async def test_a_daemon_that_restarts_itself_while_it_is_killed_is_ended(tmp_path: Path) -> None:
    """Two that watch each other: whoever is left starts the other one anew."""
    code = """
leave()
def watch(parent):
    while time.monotonic() < ends:
        child = os.fork()
        if not child:
            os.setsid()
            parent = os.getppid()
            tell("second")
            while os.getppid() == parent and time.monotonic() < ends: pass
            if os.fork(): os._exit(0)
            continue
        tell("first")
        os.waitpid(child, 0)
watch(os.getppid())
"""
    command = python(tmp_path, "phoenix.py", code)
    await sh(call_in(tmp_path), f"{command}\nuntil [ -s first ] && [ -s second ]; do sleep 0.01; done")
    assert running_with("phoenix.py") == []


@pytest.mark.slow
async def test_a_chain_of_short_lived_processes_is_ended(tmp_path: Path) -> None:
    code = """
leave()
tell("pid")
while time.monotonic() < ends:
    if os.fork(): os._exit(0)
    os.setsid()
"""
    command = python(tmp_path, "chain.py", code)
    await sh(call_in(tmp_path), f"{command}\nuntil [ -s pid ]; do sleep 0.01; done")
    assert running_with("chain.py") == []


async def test_of_two_calls_only_the_one_that_ended_loses_its_processes(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    leaving = (
        "setsid env -i sh -c 'echo $$ > pid; exec sleep 1000' &\nuntil [ -s pid ]; do sleep 0.01; done\n"
    )
    first = asyncio.create_task(
        sh(call_in(tmp_path), f"cd one\n{leaving}until [ -e go ]; do sleep 0.01; done")
    )
    await until(lambda: (tmp_path / "one" / "pid").exists(), "the first has left something")
    await sh(call_in(tmp_path), f"cd two\n{leaving}")
    assert not is_alive(pid_in(tmp_path / "two" / "pid"))
    assert is_alive(pid_in(tmp_path / "one" / "pid"))
    (tmp_path / "one" / "go").touch()
    assert await first == "exit code: 0\n"
    assert not is_alive(pid_in(tmp_path / "one" / "pid"))


async def started(*argv: str, **more: Any) -> asyncio.subprocess.Process:
    """A child of the hub that belongs to no call."""
    return await asyncio.create_subprocess_exec(*argv, **more)


async def test_children_of_the_hub_that_are_not_calls_are_left_alone(tmp_path: Path) -> None:
    """Such as a server, and what a server's child leaves behind while a call runs."""
    left = "read _; (setsid env -i sh -c 'echo $$ > server; exec sleep 1000' &); exec sleep 1000"
    server = await started(
        "sh", "-c", left, stdin=asyncio.subprocess.PIPE, cwd=tmp_path, start_new_session=True
    )
    assert server.stdin is not None
    running = asyncio.create_task(sh(call_in(tmp_path), "until [ -s server ]; do sleep 0.01; done"))
    await asyncio.sleep(0)
    server.stdin.write(b"now\n")
    assert await running == "exit code: 0\n"
    left_behind = pid_in(tmp_path / "server")
    try:
        assert is_alive(left_behind)
        assert is_alive(server.pid)
    finally:
        os.kill(left_behind, 9)
        await asyncio.to_thread(os.waitpid, left_behind, 0)
        server.kill()
        await server.wait()


async def test_many_orphans_are_reaped_while_the_call_runs(tmp_path: Path) -> None:
    many = "for i in $(seq 50); do (true &); done; touch done; until [ -e go ]; do sleep 0.01; done"
    before = len(zombies())
    running = asyncio.create_task(sh(call_in(tmp_path), many))
    await until((tmp_path / "done").exists, "all were started")
    await until(lambda: len(zombies()) <= before, "all were buried")
    (tmp_path / "go").touch()
    assert await running == "exit code: 0\n"
