"""What the files of a container take on disk: their limit, by a quota where there is one, and their end.

A quota is of a project, as ext4 and xfs say: a number that a directory passes on to all that is made in it.
The directory around a copy has the number, too: no container reaches that one, so it says whose quota ends
with it. Blocking; call it in a thread.
"""

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import os
import shutil
import struct
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

from core.sandbox.policy import IN_MEMORY

BEYOND_BYTES = 4_000_000
"""How far past its limit the file system lets a copy grow: then the hub's next look sees that it is over, and
need not guess how near to the limit the last write that fitted has come."""
FIRST_PROJECT = 1 << 30
"""Where the numbers of containers begin: as many follow. Those of operators are small."""
TRIES = 8
BLOCK_BYTES = 1024
"""The unit of a quota's limit, whatever the file system's own is."""
_QUOTACTL_FD = 443
"""The system call, of Linux 5.14 and newer; it has this number on every kind of machine."""
_PROJECT_TYPE = 2
_GET_STATE, _GET_QUOTA, _SET_QUOTA = 0x5805, 0x800007, 0x800008
_STATE, _STATE_BYTES, _ENFORCED = struct.Struct("=bxH"), 128, 1 << 5
_QUOTA, _LIMIT_OF_BLOCKS = struct.Struct("=8QI4x"), 1
_GET_ATTRIBUTES, _SET_ATTRIBUTES = 0x801C581F, 0x401C5820
_ATTRIBUTES, _INHERITED = struct.Struct("=5I8x"), 0x200


@dataclass(frozen=True, slots=True)
class DiskLimit:
    """What a copy may take. `by_quota`: the file system has quotas, see `quota_problem`."""

    limit_bytes: int
    by_quota: bool = False

    def begin(self, copy: Path) -> None:
        """Have an empty directory counted by itself; it is not limited yet. Raises OSError."""
        if not self.by_quota:
            return
        with _opened(copy.parent) as place, _opened(copy) as inside:
            project = _project(place) or _new_project(place, copy.parent)
            _limit(place, project, 0)
            _set_project(inside, project, inherited=True)

    def hold(self, copy: Path) -> None:
        """Have the file system refuse what goes past the limit, from now on. Raises OSError."""
        if self.by_quota:
            with _opened(copy.parent) as place:
                _limit(place, _project(place), self.limit_bytes + BEYOND_BYTES)


def quota_problem(directory: Path) -> str | None:
    """Return why the file system of a directory can't limit what is in it, with what to do; None if it can.
    Changes nothing."""
    if sys.platform != "linux":
        return "this system has no quotas of projects"
    directory = directory.resolve()
    while not directory.is_dir():
        directory = directory.parent
    try:
        with _opened(directory) as place:
            _, flags = _STATE.unpack_from(_asked(place, _GET_STATE, 0, bytes(_STATE_BYTES)))
            _asked(place, _GET_QUOTA, 0, bytes(_QUOTA.size))
    except PermissionError:
        return "only a hub of root's can set quotas"
    except OSError as error:
        if error.errno not in {errno.ENOSYS, errno.ESRCH, errno.ENOTTY, errno.EOPNOTSUPP, errno.EINVAL}:
            return f"the quotas of its file system can't be read: {error.strerror}"
        flags = 0
    if not flags & _ENFORCED:
        return "its file system has no project quotas; ext4 and xfs have them, mounted with prjquota"
    return None


def keeper_of(directory: Path) -> str:
    """Return in words what keeps copies in a directory to their limit."""
    problem = quota_problem(directory)
    if problem is None:
        return "kept by a quota of the file system, and by a look every second"
    return f"kept by a look every second, not by a quota: {problem}"


def used_bytes(root: Path) -> int:
    """Return what a directory takes on disk. Files that vanish while it counts don't count; with a quota
    also deleted files that are still open do."""
    total = 0
    for here, folders, files in os.walk(root):
        for name in (*folders, *files):
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(here, name)).st_blocks * 512
    # The files' owner can take them out of a quota: both are looked at.
    with contextlib.suppress(OSError), _opened(root.parent) as place:
        if project := _project(place):
            total = max(total, _quota(place, project).used_bytes)
    return total


def used_in_memory(pid: int, container_id: str) -> int | None:
    """Return what a running container has in memory as files. `pid`: of a process in it. None where its
    processes can't be seen, as by a hub that is in a container itself."""
    try:
        if container_id not in Path(f"/proc/{pid}/cgroup").read_text():
            return None
        found = [os.statvfs(f"/proc/{pid}/root{place}") for place in IN_MEMORY]
    except OSError:
        return None
    return sum((one.f_blocks - one.f_bfree) * one.f_frsize for one in found)


def remove_tree(root: Path) -> None:
    """Remove a directory with all it holds, whatever its modes are, and its quota."""

    def opened(call: Callable[..., object], path: str, _: object) -> None:
        with contextlib.suppress(OSError):
            os.chmod(os.path.dirname(path), 0o700)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
            call(path)

    # First: as long as the directory is there, its number is known.
    with contextlib.suppress(OSError), _opened(root) as place:
        if project := _project(place):
            _limit(place, project, 0)
    for _ in range(3):  # a directory that was closed had no entries to be seen the first time
        shutil.rmtree(root, onerror=opened)
        if not root.exists():
            return


# --- quotas as Linux has them ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Quota:
    used_bytes: int
    files: int


def _new_project(place: int, path: Path) -> int:
    """Give a directory a number that no other on its file system has, and return it."""
    for attempt in range(TRIES):
        found = hashlib.sha256(f"{path.absolute()}\0{attempt}".encode(errors="surrogateescape")).digest()
        project = FIRST_PROJECT + int.from_bytes(found[:8], "big") % FIRST_PROJECT
        _set_project(place, project, inherited=False)
        if _quota(place, project).files == 1:
            return project
        _set_project(place, 0, inherited=False)
    raise OSError(errno.EBUSY, "no quota is free for the container's files", str(path))


@contextlib.contextmanager
def _opened(directory: Path) -> Generator[int]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _project(directory: int) -> int:
    """Return the number that a container's directory has; 0 for none, and for one of an operator's."""
    project = _ATTRIBUTES.unpack(fcntl.ioctl(directory, _GET_ATTRIBUTES, bytes(_ATTRIBUTES.size)))[3]
    return project if FIRST_PROJECT <= project < 2 * FIRST_PROJECT else 0


def _set_project(directory: int, project: int, *, inherited: bool) -> None:
    now = _ATTRIBUTES.unpack(fcntl.ioctl(directory, _GET_ATTRIBUTES, bytes(_ATTRIBUTES.size)))
    flags = now[0] | _INHERITED if inherited else now[0] & ~_INHERITED
    fcntl.ioctl(directory, _SET_ATTRIBUTES, _ATTRIBUTES.pack(flags, *now[1:3], project, now[4]))


def _quota(directory: int, project: int) -> _Quota:
    found = _QUOTA.unpack(_asked(directory, _GET_QUOTA, project, bytes(_QUOTA.size)))
    return _Quota(found[2], found[5])


def _limit(directory: int, project: int, limit_bytes: int) -> None:
    """Limit what a project takes; 0: not at all."""
    blocks = -(-limit_bytes // BLOCK_BYTES)
    _asked(directory, _SET_QUOTA, project, _QUOTA.pack(blocks, *(0,) * 7, _LIMIT_OF_BLOCKS))


def _asked(directory: int, question: int, project: int, words: bytes) -> bytes:
    """Return the answer of the file system that a directory is on. Raises OSError."""
    buffer = ctypes.create_string_buffer(words, len(words))
    arguments = (ctypes.c_uint(question << 8 | _PROJECT_TYPE), ctypes.c_uint(project), buffer)
    if ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(_QUOTACTL_FD), directory, *arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return buffer.raw
