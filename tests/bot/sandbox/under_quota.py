"""Copies of a project and what their users write, on /dev/ubda, which has project quotas. Run by root.

Prints what became of it, as JSON.
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from core.safety.paths import PathGuard
from core.sandbox import disk
from core.sandbox.disk import DiskLimit, quota_problem, remove_tree, used_bytes
from core.sandbox.policy import MB, ContainerPlaces, container_user
from core.sandbox.project import copy_project

LIMIT = 20 * MB
LOAD_MODULE = 313
"""The system call, on x86-64."""


def mounted(mount: Path, option: str) -> None:
    subprocess.run(["mount", "-o", option, "/dev/ubda", str(mount)], check=True)


def quotas_loaded() -> None:
    """Load what a kernel of Debian's has as modules."""
    for name in ("quota_tree", "quota_v2"):
        for path in Path("/usr/lib/uml/modules").glob(f"{os.uname().release}/kernel/fs/quota/{name}.ko"):
            with path.open("rb") as file:
                ctypes.CDLL(None).syscall(LOAD_MODULE, file.fileno(), b"", 0)


def as_user(number: int, directory: Path, work: Callable[[], object]) -> object:
    """What work returns that the user of a container does in a directory."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        user = container_user(0, 0, number)
        os.chdir(directory)
        os.setgroups([])
        os.setgid(user.gid)
        os.setuid(user.uid)
        os.write(writer, json.dumps(work()).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with open(reader, "rb") as said:
        return json.loads(said.read())


def written(name: str, count: int, *, escaped: bool = False) -> tuple[str | None, int]:
    """Write megabytes at once; return why that ended, and what the copy takes now."""
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT)
    why = None
    if escaped:
        fcntl.ioctl(descriptor, 0x401C5820, struct.pack("=5I8x", 0, 0, 0, 0, 0))
    try:
        for _ in range(count):
            os.write(descriptor, bytes(MB))
    except OSError as error:
        why = errno.errorcode[error.errno or 0]
    return why, os.fstat(descriptor).st_blocks * 512


class World:
    """Copies of one project, each at a place of its own as the hub makes them."""

    def __init__(self, root: Path) -> None:
        self.places = ContainerPlaces(root / "data", root / "workspace")
        self.project = root / "workspace" / "app"
        self.project.mkdir(parents=True)
        (self.project / "one.txt").write_bytes(bytes(MB))
        self.places.root.mkdir(parents=True)
        self.guard = PathGuard(root / "workspace", [root / "data"])
        self.limit = DiskLimit(LIMIT, quota_problem(self.places.root) is None)

    def copied(self, number: int) -> Path:
        place = self.places.of(number)
        user = container_user(0, 0, number)
        copy_project(self.project, place / "project", place / "base", self.limit, self.guard, user)
        place.chmod(0o711)  # a container sees the copy alone, this process's child the path to it
        return place / "project"

    def quota(self, number: int) -> tuple[int, int, int]:
        """The number of a place's quota, what it may take and what it takes, in bytes."""
        with disk._opened(self.places.of(number)) as place:
            project = disk._project(place)
            return project, *self.of_project(project)

    def of_project(self, project: int) -> tuple[int, int]:
        with disk._opened(self.places.root) as root:
            found = disk._QUOTA.unpack(disk._asked(root, disk._GET_QUOTA, project, bytes(disk._QUOTA.size)))
        return found[0] * disk.BLOCK_BYTES, found[2]


def main(mount: Path) -> None:
    mount.mkdir()
    quotas_loaded()
    mounted(mount, "noquota")
    found: dict[str, object] = {"off": quota_problem(mount)}
    subprocess.run(["umount", str(mount)], check=True)
    mounted(mount, "prjquota")
    mount.chmod(0o755)
    found["on"] = quota_problem(mount / "not" / "yet")
    found["not root"] = as_user(1, mount, lambda: quota_problem(mount))
    found["none"] = quota_problem(Path("/run"))
    world = World(mount)
    first, second = world.copied(1), world.copied(2)
    found["begun"] = [world.quota(1), world.quota(2)]
    found["at once"] = as_user(1, first, lambda: written("large", 60))
    found["seen"] = used_bytes(first)
    found["other"] = as_user(2, second, lambda: written("small", 10))
    with (second / "gone").open("wb", buffering=0) as gone:
        (second / "gone").unlink()
        gone.write(bytes(12 * MB))
        found["deleted"] = used_bytes(second)
    found["escaped"] = (as_user(2, second, lambda: written("free", 30, escaped=True)), used_bytes(second))
    project, _, _ = world.quota(1)
    world.copied(1)  # as for a container that did not start
    for _ in range(600):  # xfs frees what was removed a little later
        os.statvfs(mount)
        found["again"] = again = world.quota(1)
        if again[2] < 2 * MB:
            break
        time.sleep(0.05)
    remove_tree(world.places.of(1))
    found["removed"] = (world.of_project(project), world.places.of(1).exists())
    with contextlib.suppress(OSError):
        world.copied(3)
    found["third"] = world.quota(3)
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path("/run/quota"))
