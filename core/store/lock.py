"""A lock that allows one hub per data directory."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from core.errors import StoreLocked

LOCK_NAME = "hub.lock"


class DataDirectoryLock:
    """A data directory held for this process. The kernel releases it when the process ends, for any
    reason.

    Raises StoreLocked if another process holds it.
    """

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / LOCK_NAME
        self._fd: int | None = None

    def acquire(self) -> None:
        """Take the lock at once or raise StoreLocked. Creates the directory if it is missing."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(fd, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(fd)
            raise StoreLocked(
                f"the hub with process id {holder} uses {self._path.parent}:"
                " stop it, or set another [hub] data_dir",
                holder,
            ) from None
        os.ftruncate(fd, 0)
        os.write(fd, f"{os.getpid()}\n".encode("ascii"))
        self._fd = fd

    def release(self) -> None:
        """Release the lock. The file stays: removing it would let two processes lock two files of one
        name."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def is_held(data_dir: Path) -> bool:
    """Return whether a hub runs on the directory. Where there is no lock file none is made."""
    try:
        fd = os.open(data_dir / LOCK_NAME, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
