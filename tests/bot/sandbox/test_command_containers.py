"""Commands in containers that wait for them: whose files they see, and how they end."""

import asyncio
import contextlib
import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from bot.jobs.command_containers import DOCKER_HOST, WAITING_LABEL, CommandContainers, WaitingTerms
from bot.jobs.docker_engine import DockerEngine
from core.clock import SystemClock
from core.errors import OutcomeUnknown, ToolFailed, ToolTimeout
from core.safety.fencing import HeadAndTail
from core.sandbox.policy import container_user
from core.tool import ProcessInfo, Workspace
from core.tools.child import Command, one_program
from tests.core.tools.support import Call
from tests.harness.images import run

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(300)]
ROOT = Path(__file__).parents[3]
LONG_S = 120.0


@contextlib.asynccontextmanager
async def hub(
    image: str, tmp_path: Path, environment: dict[str, str] | None = None, name: str = "", most: int = 4
) -> AsyncIterator[tuple[CommandContainers, DockerEngine, str]]:
    name = name or uuid.uuid4().hex[:16]
    async with DockerEngine(dict(os.environ) if environment is None else environment) as engine:
        terms = WaitingTerms(image, 256, 50, name, most)
        containers = CommandContainers(engine, terms, SystemClock())
        try:
            yield containers, engine, name
        finally:
            await containers.close()


def workspace_of(files: Path) -> Workspace:
    """A person's workspace, as the hub makes it."""
    files.mkdir(parents=True, exist_ok=True)
    if os.geteuid():
        return Workspace(files, files.parent)
    user = container_user(0, 0, sum(files.name.encode()))
    os.chown(files, user.uid, user.gid)
    return Workspace(files, files.parent, owner=(user.uid, user.gid))


async def said(
    containers: CommandContainers, files: Path, line: str, limit_s: float = LONG_S, call: Call | None = None
) -> str:
    output, call = HeadAndTail(64 * 1024), call or Call(workspace=workspace_of(files), deadline_s=LONG_S)
    command = Command(one_program("/bin/sh", "-c", line), str(files), {"PATH": "/usr/bin:/bin"})
    code = await containers.carry_out(command, call, output, limit_s)
    return f"{code} {output.text()}"


async def left(engine: DockerEngine, name: str) -> list[str]:
    return list(await engine.labelled({WAITING_LABEL: name}))


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(LONG_S):
        while not await holds():  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.05)


async def next_one_waits(engine: DockerEngine, name: str) -> bool:
    """The used container is gone, and the next one runs."""
    states = [await engine.state(container_id) for container_id in await left(engine, name)]
    return [state is not None and state.running for state in states] == [True]


async def test_person_sees_own_files_only_and_finds_them_again(worker_image: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the host")
    async with hub(worker_image, tmp_path) as (containers, engine, name):
        assert (
            await said(containers, tmp_path / "ada", "echo 1 > note; id -u | grep -cx 0; sleep 999 &")
            == "0 0\n"
        )
        await until(lambda: next_one_waits(engine, name))
        both = await asyncio.gather(
            said(containers, tmp_path / "bob", f"ls -A; cat {secret} 2>&1 | grep -c host"),
            said(containers, tmp_path / "ada", "cat note; exit 3"),
        )
        assert both == ["1 0\n", "3 1\n"]
        await containers.end_all()
        assert await left(engine, name) == []
        assert (
            await said(containers, tmp_path / "ada", "cat note; ps -e 2>/dev/null | grep -c sleep")
            == "1 1\n0\n"
        )
    assert (tmp_path / "ada" / "note").read_text() == "1\n"


async def test_no_more_containers_wait_than_configured(worker_image: str, tmp_path: Path) -> None:
    async with hub(worker_image, tmp_path, most=1) as (containers, engine, name):
        assert (
            await asyncio.gather(*(said(containers, tmp_path / who, "echo ok") for who in "abc"))
            == ["0 ok\n"] * 3
        )
        cancelled = asyncio.create_task(said(containers, tmp_path / "d", "echo ok"))
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.wait([cancelled])

        async def one_waits() -> bool:
            return len(await left(engine, name)) == 1

        await until(one_waits)
        await containers.end_all()
        assert await left(engine, name) == []


async def test_commands_end_at_their_limits_and_whole_output_comes(worker_image: str, tmp_path: Path) -> None:
    async with hub(worker_image, tmp_path) as (containers, _, _):
        with pytest.raises(ToolTimeout, match="begun"):
            await said(containers, tmp_path / "ada", "echo begun; sleep 999", limit_s=3)
        with pytest.raises(OutcomeUnknown, match="out of memory"):
            await said(containers, tmp_path / "ada", "exec tail /dev/zero")
        with pytest.raises(ToolFailed, match="take more than 50 MB of disk"):
            await said(containers, tmp_path / "ada", "head -c 80000000 /dev/urandom > large; sleep 999")
        await said(containers, tmp_path / "ada", "rm large")
        with pytest.raises(ToolFailed, match="take more than 50 MB of disk"):
            fill = "head -c 20000000 /dev/zero > /tmp/a; head -c 40000000 /dev/zero > large; sleep 999"
            await said(containers, tmp_path / "ada", fill)
        await said(containers, tmp_path / "ada", "rm large")
        output = await said(containers, tmp_path / "ada", "yes | head -c 300000; echo the end")
        assert output.startswith("0 y\n")
        assert output.endswith("y\nthe end\n")


class EndedCall(Call):
    """A call whose container ends as it is recorded."""

    async def process_started(self, process: ProcessInfo) -> None:
        await super().process_started(process)
        run("docker", "kill", process.host.removeprefix(DOCKER_HOST))


KILL_LEADER = "for at in /proc/[0-9]*; do grep -qs python $at/comm && kill -9 ${at#/proc/}; done; true"
ENDS: tuple[tuple[Any, ...], ...] = (
    ("kill", ()),
    ("stop", "--time=1", ()),
    ("rm", "--force", ()),
    ("exec", ("sh", "-c", KILL_LEADER)),
)
"""Words before the container, and behind it."""


async def test_a_container_that_someone_else_ends_leaves_an_unknown_outcome(
    worker_image: str, tmp_path: Path
) -> None:
    files = tmp_path / "ada"
    async with hub(worker_image, tmp_path) as (containers, _, _):
        for end in ENDS:
            call = Call(workspace=workspace_of(files), deadline_s=LONG_S)
            line = "echo line >> out; touch ready; sleep 999 | sleep 999; touch ran"
            running = asyncio.create_task(said(containers, files, line, call=call))
            await until(lambda: asyncio.to_thread((files / "ready").exists))
            (files / "ready").unlink()
            container_id = call.processes[0].host.removeprefix(DOCKER_HOST)
            words = ("docker", *end[:-1], container_id, *end[-1])  # the last one may end with the container
            await asyncio.to_thread(subprocess.run, words, capture_output=True, check=False)
            with pytest.raises(OutcomeUnknown, match="ended from outside"):
                await running
        with pytest.raises(OutcomeUnknown):
            killed = EndedCall(workspace=workspace_of(files), deadline_s=LONG_S)
            await said(containers, files, "touch ran", call=killed)
        assert (files / "out").read_text() == "line\n" * len(ENDS)
        # The end of a program is known, however it ended.
        own = await said(containers, files, "kill -9 $$")
        assert own == "137 hubbub: /bin/sh: ended by signal 9 (Killed)\n"
        assert not (files / "ran").exists()


async def test_idle_containers_end_and_come_back_with_their_files(worker_image: str, tmp_path: Path) -> None:
    async with hub(worker_image, tmp_path) as (containers, engine, name):
        assert await said(containers, tmp_path / "ada", "echo kept > note") == "0 "
        await containers.look()

        async def none_waits() -> bool:
            await containers.end_idle(0)
            return not await left(engine, name)

        await until(lambda: next_one_waits(engine, name))
        await until(none_waits)
        assert await said(containers, tmp_path / "ada", "cat note") == "0 kept\n"


async def run_on(image: str, directory: str, name: str) -> None:
    """Run a command without an end, in a hub that is going to be killed."""
    async with hub(image, Path(directory), name=name) as (containers, _, _):
        await said(containers, Path(directory) / "ada", "setsid sleep 999 & echo begun > begun; sleep 999")


async def test_killed_hub_leaves_nothing_running(worker_image: str, tmp_path: Path) -> None:
    name = uuid.uuid4().hex[:16]
    given = (worker_image, str(tmp_path), name)
    line = f"import asyncio; from {__name__} import run_on; asyncio.run(run_on(*{given!r}))"
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", line, cwd=ROOT)
    async with hub(worker_image, tmp_path, name=name) as (containers, engine, _):
        begun = tmp_path / "ada" / "begun"
        await until(lambda: asyncio.to_thread(begun.exists))
        found = await left(engine, name)
        killed.kill()
        await killed.wait()

        async def all_ended() -> bool:
            states = [await engine.state(container_id) for container_id in found]
            return all(state is None or not state.running for state in states)

        await until(all_ended)
        await containers.end_leftovers()
        assert found
        assert await left(engine, name) == []
        assert await said(containers, tmp_path / "ada", "ls") == "0 begun\n"


async def test_nothing_runs_where_the_disk_is_nearly_full(tmp_path: Path) -> None:
    free = os.statvfs(tmp_path)
    disk_mb = free.f_bavail * free.f_frsize // 1_000_000  # there is not twice as much
    async with DockerEngine({"DOCKER_HOST": f"unix://{tmp_path}/none.sock"}) as engine:
        containers = CommandContainers(engine, WaitingTerms("any", 256, disk_mb, "hub"), SystemClock())
        with pytest.raises(ToolFailed, match="less than twice"):
            await said(containers, tmp_path / "ada", f"touch {tmp_path}/ran")
    assert not (tmp_path / "ran").exists()


async def test_without_docker_nothing_runs(tmp_path: Path) -> None:
    gone = {"DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    async with hub("any", tmp_path, gone) as (containers, _, _):
        with pytest.raises(ToolFailed, match="nor run on the host: no Docker daemon answers"):
            await said(containers, tmp_path / "ada", f"touch {tmp_path}/ran")
    assert not (tmp_path / "ran").exists()
