"""The Docker daemon restarts while a job works: with live-restore the job continues, without it the job ends
with its name and what to do."""

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.job import JobEventKind, JobState
from tests.bot.sandbox.test_container_jobs import containers, house_with, none_left, running, shell
from tests.harness.images import run
from tests.harness.telegram_hub import OWNER
from tests.plugins.profile import Profile
from tests.scenarios.test_jobs import becomes, started
from tests.simulators.model import text, tools

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(300)]
DAEMON_LIMIT_S = 60.0


class OwnDaemon:
    """A Docker daemon with a root of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.host = f"unix://{directory}/docker.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *options: str) -> None:
        """Returns once it answers."""
        place = self.directory
        words = [
            "dockerd", "--host", self.host, "--data-root", f"{place}/root", "--exec-root", f"{place}/exec",
            "--pidfile", f"{place}/pid", "--bridge", "none", "--iptables=false", *options,
        ]  # fmt: skip
        with (place / "log").open("ab") as log:
            self._process = subprocess.Popen(words, stdout=log, stderr=log)
        until_s = time.monotonic() + DAEMON_LIMIT_S
        while subprocess.run(
            ["docker", "-H", self.host, "info"], capture_output=True, check=False
        ).returncode:
            assert self._process.poll() is None, (place / "log").read_text()[-2_000:]
            assert time.monotonic() < until_s, "the daemon does not answer"
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop it as an operator does."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(DAEMON_LIMIT_S)
            self._process = None


@pytest.fixture(scope="module")
def daemon(worker_image: str) -> Iterator[OwnDaemon]:
    """A stopped daemon that has the image of workers."""
    if shutil.which("dockerd") is None or os.geteuid() != 0:
        pytest.skip("a Docker daemon can only be started by root, where it is installed")
    directory = Path(tempfile.mkdtemp(prefix="hubbub-dockerd-"))
    own = OwnDaemon(directory)
    try:
        own.start()
        with subprocess.Popen(["docker", "save", worker_image], stdout=subprocess.PIPE) as saved:
            run("docker", "-H", own.host, "load", stdin=saved.stdout)
        own.stop()
        yield own
    finally:
        own.stop()
        # With live-restore a daemon leaves its root mounted on itself.
        subprocess.run(["umount", f"{directory}/root"], capture_output=True, check=False)
        shutil.rmtree(directory)


@pytest.mark.parametrize("options", [("--live-restore",), ()], ids=["live-restore", "without"])
async def test_a_job_outlives_a_restart_of_docker_with_live_restore_and_else_ends_with_what_to_do(
    tmp_path: Path,
    worker_image: str,
    daemon: OwnDaemon,
    options: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await asyncio.to_thread(daemon.start, *options)
    monkeypatch.setenv("DOCKER_HOST", daemon.host)
    try:
        async with house_with(tmp_path, worker_image) as house:
            wait = "touch ready; while [ ! -e go ]; do sleep 0.1; done; echo went"
            house.model.enqueue(tools(shell(wait)))
            house.model.enqueue(text("It is done."))
            named = await started(house, "/job --sandbox wait for a word")
            copies = tmp_path / "data" / "containers"

            async def waits() -> bool:
                return bool(list(copies.glob("*/project/ready")))

            await house.until(waits)
            container = await running(house)
            began = run("docker", "inspect", "--format", "{{.State.StartedAt}}", container)
            await asyncio.to_thread(daemon.stop)
            await asyncio.to_thread(daemon.start, *options)
            if not options:
                job = await becomes(house, named, JobState.FAILED)
                assert job.reason.startswith("The container ended with exit code")
                assert (
                    "a Docker daemon that restarted without live-restore. Start the job again." in job.reason
                )
                return
            assert run("docker", "inspect", "--format", "{{.State.StartedAt}}", container) == began
            (ready,) = copies.glob("*/project/ready")
            ready.with_name("go").touch()
            await house.telegram.wait_text(OWNER, "It is done.", timeout_s=DAEMON_LIMIT_S)
            job = await becomes(house, named, JobState.SUBMITTED)
            events = await house.store.jobs.job_events(job.id, 0, 100)
            (result,) = [one.text for one in events if one.kind is JobEventKind.TOOL_RESULT]
            assert "went" in result, "the command itself outlived the daemon"
    finally:
        await asyncio.to_thread(daemon.stop)


async def test_a_job_whose_daemon_stays_away_fails_and_its_container_goes_once_it_is_back(
    tmp_path: Path,
    worker_image: str,
    daemon: OwnDaemon,
    profile: Profile,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if profile.name != "proof":
        pytest.skip("only in `make proof`: a minute is waited for the daemon")
    await asyncio.to_thread(daemon.start, "--live-restore")
    monkeypatch.setenv("DOCKER_HOST", daemon.host)
    try:
        async with house_with(tmp_path, worker_image) as house:
            house.model.enqueue(tools(shell("sleep 999")))
            named = await started(house, "/job --sandbox rest")
            container = await running(house)
            await house.model.wait_requests(1, state="answered", timeout_s=DAEMON_LIMIT_S)
            await asyncio.to_thread(daemon.stop)
            why = "no Docker daemon answers; install and start Docker"
            await house.telegram.wait_text(OWNER, why, timeout_s=3 * DAEMON_LIMIT_S)
            await becomes(house, named, JobState.FAILED)
            await asyncio.to_thread(daemon.start, "--live-restore")
            assert containers(house) == [container], "it outlived its daemon"
            await house.stop()
            await house.start()
            await house.until(lambda: none_left(house))  # no other job is needed for that
    finally:
        for left in run("docker", "ps", "--all", "--quiet").split():
            run("docker", "rm", "--force", left)
        await asyncio.to_thread(daemon.stop)
