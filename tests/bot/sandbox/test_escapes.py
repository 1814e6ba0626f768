"""Ways out of a container: each works in an open one, and none in one that the policy made."""

import json
import os
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.jobs.docker_engine import DockerEngine
from core.sandbox.policy import ContainerPolicy, container_user
from tests.harness.images import base_image, run

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(900)]
PROBES = Path(__file__).with_name("probes.py")
RIGHTS = ("DAC_READ_SEARCH", "NET_ADMIN", "SYS_ADMIN", "SYS_MODULE", "SYS_NICE", "SYS_PACCT", "SYS_PTRACE")
OPEN = (
    *(f"--cap-add={right}" for right in (*RIGHTS, "SYS_TIME", "SYSLOG")),
    "--security-opt=seccomp=unconfined",
    "--security-opt=apparmor=unconfined",
    "--security-opt=systempaths=unconfined",
    "--device-cgroup-rule=a *:* rwm",
    "--device=/dev/kmsg",
    "--volume=/sys:/sys:rw",
)
"""What a container may do that is wide open: as `--privileged`, also where the daemon lacks some rights."""
LEAST = 40
"""The ways that have to be tried."""


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    with base_image() as name:
        yield name


@dataclass(frozen=True, slots=True)
class Bait:
    """What there is to reach on the host, and the project that the container works on."""

    project: Path
    words: str


@pytest.fixture
def bait(tmp_path: Path) -> Iterator[Bait]:
    """A file, a server, an abstract socket, a process and another job's socket."""
    project, other, secret = tmp_path / "project", tmp_path / "other", tmp_path / "secret"
    project.mkdir()
    other.mkdir()
    secret.write_text("secret")
    (project / "link-out").symlink_to(f"/host{secret}")
    project.chmod(0o777)
    marker = f"hubbub-{uuid.uuid4().hex}"
    process = subprocess.Popen([sys.executable, "-c", "input()", marker], stdin=subprocess.PIPE)
    with (
        process,
        socket.create_server(("", 0)) as server,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as job,
    ):
        abstract.bind("\0" + marker)
        abstract.listen()
        job.bind(str(other / "hub.sock"))
        job.listen()
        told = {
            "port": server.getsockname()[1], "address": own_address(), "abstract": marker, "marker": marker,
            "process": process.pid, "secret": str(secret), "other": str(other),
        }  # fmt: skip
        yield Bait(project, json.dumps(told))
        process.kill()


def own_address() -> str:
    """The address other machines know this one by. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.connect(("192.0.2.1", 9))
        return str(one.getsockname()[0])


def judged(words: str) -> dict[str, str | None]:
    """What each way came to: None where it worked."""
    return json.loads(words.splitlines()[-1])


def in_the_open(image: str, bait: Bait) -> dict[str, str | None]:
    """Try the ways in a container that may do everything."""
    other = json.loads(bait.words)["other"]
    return judged(
        run(
            "docker", "run", "--rm", "--interactive", *OPEN, "--network", "host", "--pid", "host",
            "--uts", "host", "--cgroupns", "host",
            "--volume", "/:/host", "--volume", f"{other}:{other}", "--volume", f"{bait.project}:/workspace",
            "--volume", f"{docker_socket()}:/var/run/docker.sock", image, "python3", "-", bait.words,
            input=PROBES.read_text(),
        )
    )  # fmt: skip


def docker_socket() -> str:
    return os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")


async def test_every_way_out_is_open_without_the_policy_and_closed_with_it(image: str, bait: Bait) -> None:
    user = container_user(os.geteuid(), os.getegid(), 7)
    policy = ContainerPolicy(image, user, memory_mb=512, project=bait.project)
    async with DockerEngine(os.environ) as engine:
        container = await engine.create(policy, ["python3", "-", bait.words], {"hubbub.test": "1"})
        try:
            closed = judged(
                run("docker", "start", "--attach", "--interactive", container, input=PROBES.read_text())
            )
        finally:
            await engine.remove(container)
    tried = in_the_open(image, bait)
    print(f"{len(closed)} ways out were tried")
    assert tried.keys() == closed.keys()
    assert {name: why for name, why in tried.items() if why is not None} == {}, "each works in the open"
    assert [name for name, why in closed.items() if why is None] == []
    assert len(closed) >= LEAST
