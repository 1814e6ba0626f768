"""The lease of a hub on its database. Each start of a hub takes one, with a number no other ever gets: its
fence.

What a hub has in hand bears its fence. As long as the hub renews its lease, nobody else takes any of that;
once the lease has lapsed another hub may end it, and from then on the first one's writes are refused.
"""

import asyncio
import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from core.errors import StoreLocked
from core.lazy import dataclass

LEASE_S = 30.0
"""The life of a lease that is not renewed."""
RENEWALS = 3
"""Renewals within a lease's life."""


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """The terms on which a hub takes its lease.

    `host`: where its processes are found.
    `alone`: no other hub can be running, since this one holds the data directory: all other leases end.
    """

    host: str
    lasts_us: int
    alone: bool


class Lease:
    """The lease that a store's writes are made under. `fence` is 0 while there is none: an offline command
    has nothing in hand.

    `sure_until`: until then (microseconds UTC) the lease needs no look before an effect.
    `lost`: set once another hub has ended the lease.
    """

    def __init__(self) -> None:
        self.fence = 0
        self.lasts_us = 0
        self.sure_until = 0
        self.lost = asyncio.Event()

    def taken(self, fence: int, terms: LeaseTerms, now: int) -> None:
        """Write under this lease from now on."""
        self.fence, self.lasts_us = fence, terms.lasts_us
        self.renewed(now)

    def renewed(self, now: int) -> None:
        """Count on the lease for the time that is left after two renewals were missed."""
        self.sure_until = now + self.lasts_us - self.lasts_us // RENEWALS


class Leases(Protocol):
    """The units for a hub's lease."""

    async def take_lease(self, terms: LeaseTerms) -> None:
        """Take a lease. Every later write of this store is made under it, and refused with LeaseLost once
        another hub has ended it."""
        ...

    async def renew_lease(self) -> None:
        """Have the lease last for its full time from now. Raises LeaseLost."""
        ...

    async def has_lapsed(self) -> bool:
        """Return whether a lease of another hub has lapsed, so that `recover` would take over its work."""
        ...

    async def lease_lost(self) -> None:
        """Wait until this store's lease is lost."""
        ...


# The lock that allows one hub per data directory, whatever its database.

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
