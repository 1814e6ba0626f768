"""A server as a child: heard within bounds, and gone when it shall be, also when the hub is killed."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.tools.mcp.connection import ServerChild, ServerFailed
from tests.patience import PATIENCE_S
from tests.tree import ROOT

ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
LIMIT_S = PATIENCE_S


@contextlib.asynccontextmanager
async def child(script: str, directory: Path) -> AsyncIterator[ServerChild]:
    started = ServerChild(["sh", "-c", script], ENVIRONMENT, str(directory), f"mcp-test-{directory}")
    try:
        await started.connect()
        yield started
    finally:
        await started.end()


def exists(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def gone(*pids: int) -> None:
    async with asyncio.timeout(LIMIT_S):
        while any(map(exists, pids)):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


async def test_messages_are_exchanged_line_by_line(tmp_path: Path) -> None:
    async with child('while read -r line; do echo "heard $line"; done', tmp_path) as server:
        await server.say(b"one\n")
        assert await server.line() == b"heard one\n"
        await server.say(b"two\n")
        assert await server.line() == b"heard two\n"


@pytest.mark.parametrize(
    "script,why",
    [
        ("exit 3", "it exited"),
        ("head -c 6000000 /dev/zero; sleep 600", "it sent a line of more than 4194304 bytes"),
        ("yes chatter", "it sent more than 16777216 bytes or 2000 lines at a time"),
        ("cat /dev/zero >&2", "it sent more than 16777216 bytes or 2000 lines at a time"),
    ],
)
async def test_a_server_with_too_much_output_is_disconnected(tmp_path: Path, script: str, why: str) -> None:
    async with child(script, tmp_path) as server:
        with pytest.raises(ServerFailed, match=why):
            async with asyncio.timeout(LIMIT_S):
                while True:
                    await server.line()
    await gone(server.info.pid)


async def test_nothing_a_server_started_survives_its_end(tmp_path: Path) -> None:
    async with child("sleep 600 & echo $!; setsid sleep 600 & echo $!; wait", tmp_path) as server:
        pids = [int(await server.line()), int(await server.line())]
        assert all(map(exists, pids))
    await gone(server.info.pid, *pids)


HUB = """
import asyncio, os, sys
from core.tools.mcp.connection import ServerChild
async def main():
    script = "sleep 600 & echo $!; trap '' TERM HUP; sleep 600"
    server = ServerChild(["sh", "-c", script], dict(os.environ), ".", "mcp-test")
    await server.connect()
    print(server.info.pid, (await server.line()).decode(), flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


async def test_a_server_does_not_survive_a_killed_hub() -> None:
    pipe = asyncio.subprocess.PIPE
    hub = await asyncio.create_subprocess_exec(sys.executable, "-c", HUB, env=ENVIRONMENT, stdout=pipe)
    assert hub.stdout is not None
    pids = [int(pid) for pid in (await hub.stdout.readline()).split()]
    assert len(pids) == 2
    assert all(map(exists, pids))
    hub.kill()
    await hub.wait()
    await gone(*pids)


async def test_a_missing_command_is_reported(tmp_path: Path) -> None:
    started = ServerChild(["no-such-program"], ENVIRONMENT, str(tmp_path), "mcp-test-none")
    try:
        await started.connect()
        with pytest.raises(ServerFailed, match="it exited"):
            await started.line()
    finally:
        await started.end()
    assert "not found" in started.errors.text()
