"""A whole job in a kernel with project quotas and cgroup v2: hub, Docker and container there. Run by root,
with the archive and the labels of an image.

Prints what became of the job, as JSON.
"""

import asyncio
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

from core.job import JobState
from core.sandbox.disk import quota_problem
from tests.bot.sandbox.test_container_jobs import called, house_with, none_left, shell
from tests.bot.sandbox.under_quota import mounted, quotas_loaded
from tests.harness.images import run
from tests.scenarios.test_jobs import becomes, started
from tests.simulators.model import tools

IMAGE = "hubbub-worker"
GROUPS = Path("/sys/fs/cgroup")
SET_FLAGS, UP = 0x8914, 0x41
DOCKERD = ("dockerd", "--storage-driver", "vfs", "--bridge", "none", "--iptables=false", "--ip6tables=false")


def prepare(disk: Path) -> None:
    """Make the surroundings that a machine has when it has started."""
    places = {"cgroup2": str(GROUPS), "tmpfs": "/dev/shm", "devpts": "/dev/pts"}
    for kind, place in places.items():
        Path(place).mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", kind, kind, place], check=True)
    # Only a group of its own shows Docker that swap is limited.
    (GROUPS / "own").mkdir()
    (GROUPS / "own" / "cgroup.procs").write_text(str(os.getpid()))
    (GROUPS / "cgroup.subtree_control").write_text("+cpu +memory +pids +io")
    with socket.socket() as any_one:
        fcntl.ioctl(any_one, SET_FLAGS, struct.pack("16sH14x", b"lo", UP))
    quotas_loaded()
    disk.mkdir()
    mounted(disk, "prjquota")


async def one_job(place: Path) -> dict[str, Any]:
    place.mkdir()
    async with house_with(place, IMAGE) as house:
        write = "sleep 8; fallocate -l 300000000 large || cat /dev/zero > large; sleep 60"
        house.model.enqueue(tools(shell(write)))
        named = await started(house, "/job --sandbox write")
        job = await becomes(house, named, JobState.FAILED)
        _, use = await called(house, "GET", f"/jobs/{named}/container")
        files = (place / "data" / "containers").glob("*/project/large")
        taken = sum(one.stat().st_blocks * 512 for one in files)
        await house.until(lambda: none_left(house))  # a daemon here may be slow to remove one
        return {
            "reason": job.reason,
            "samples": use["samples"],
            "taken": taken,
            "problem": quota_problem(place),
        }


def main(archive: str, labels: str) -> None:
    disk = Path("/run/quota")
    prepare(disk)
    os.environ["DOCKER_HOST"] = "unix:///run/docker.sock"
    words = (
        "--host",
        os.environ["DOCKER_HOST"],
        "--data-root",
        str(disk / "docker"),
        "--exec-root",
        "/run/exec",
    )
    with open("/run/docker.log", "wb") as log:
        daemon = subprocess.Popen([*DOCKERD, *words, "--pidfile", "/run/docker.pid"], stdout=log, stderr=log)
    while subprocess.run(["docker", "version"], capture_output=True, check=False).returncode:
        assert daemon.poll() is None, Path("/run/docker.log").read_text()[-2_000:]
    changes = [f"--change=LABEL {name}={json.dumps(value)}" for name, value in json.loads(labels).items()]
    run("docker", "import", *changes, "--change=ENV PYTHONPATH=/opt/hubbub", archive, IMAGE)
    try:
        found = asyncio.run(one_job(disk / "hub"))
    except BaseException:
        print((disk / "hub" / "data" / "hub.log").read_text()[-4_000:])
        raise
    print(json.dumps({**found, "groups": run("docker", "info", "--format", "{{.CgroupVersion}}").strip()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
