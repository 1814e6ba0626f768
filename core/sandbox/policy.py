"""What a container of the hub may do. Everything that is not here, it may not."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from core.lazy import dataclass

if TYPE_CHECKING:
    from core.safety.paths import PathGuard  # the worker in a container has this module, and not that one

MB = 1_000_000
PROJECT = "/workspace"
"""Where a container finds its copy of the project: the only place of the host it may write to."""
SOCKET_DIRECTORY = "/run/hubbub"
"""Where a container finds the directory with its socket to the hub, which it may only read."""
HUB_LABEL, JOB_LABEL = "hubbub.hub", "hubbub.job"
"""The labels by which a hub knows its containers."""
SOCKET_NAME = "hub.sock"
EGRESS_NAME = "egress.sock"
"""The socket beside it that leads to the hosts an operator named; there is none if there are none."""
TEMPORARY = "/tmp"  # noqa: S108 - inside the container, and its own
SHARED = "/dev/shm"  # noqa: S108 - the same
IN_MEMORY = (TEMPORARY, SHARED)
"""Where a container has files in memory. They count as its memory, and as its disk."""
TEMPORARY_MB, SHARED_MB = 512, 64
PIDS = 256
CPUS = min(2, os.cpu_count() or 1)
"""Docker refuses more than the machine has."""
LOG_MB = 10
"""What Docker keeps of a container's output; the rest is dropped, oldest first."""
FIRST_UID = 200_000
"""The first of the users that a hub of root's gives its containers: above those of people, of services and of
what `useradd` hands out by itself."""
UIDS = 100_000


class RootRefused(Exception):
    """A container would run as root. Carries what to do."""


@dataclass(frozen=True, slots=True)
class ContainerUser:
    """The user and the group a container runs as, by number."""

    uid: int
    gid: int

    def __post_init__(self) -> None:
        if self.uid <= 0 or self.gid <= 0:
            raise RootRefused("containers do not run as root: run the hub as another user, or wholly as root")


def container_user(hub_uid: int, hub_gid: int, number: int) -> ContainerUser:
    """Return the user of the container with this number: a hub of root's gives each its own, any other hub
    has no user to give but its own. Raises RootRefused where only the hub's group is root's."""
    if hub_uid == 0:
        own = FIRST_UID + number % UIDS
        return ContainerUser(own, own)
    return ContainerUser(hub_uid, hub_gid)


@dataclass(frozen=True, slots=True)
class ContainerPolicy:
    """The limits of one container, and the two directories of the host that it sees."""

    image: str
    user: ContainerUser
    memory_mb: int
    project: Path
    """The directory of the host that the container works on, absolute."""
    socket_directory: Path | None = None
    """The directory with its socket to the hub, absolute. None: it reaches nothing at all."""
    temporary_mb: int = TEMPORARY_MB
    shared_mb: int = SHARED_MB
    """What files may take in each of IN_MEMORY."""
    pids: int = PIDS
    cpus: int = CPUS
    egress: Sequence[str] = ()
    """The hosts that it reaches through the hub, each NAME:PORT."""
    place: str = PROJECT
    """Where the container finds the directory it works on."""

    def within(self, left_bytes: int) -> "ContainerPolicy":
        """Return the policy of a container whose files in memory leave a quarter of that to others: of what
        `disk_mb` leaves it."""
        left_mb = max(left_bytes // MB, 0)
        temporary_mb = max(1, min(TEMPORARY_MB, self.memory_mb // 2, left_mb // 2))
        return replace(self, temporary_mb=temporary_mb, shared_mb=max(1, min(SHARED_MB, left_mb // 4)))

    def rows(self) -> tuple[tuple[str, str], ...]:
        """Return the policy as people read it: what it is about, and what holds."""
        network = "none" if self.socket_directory is None else "none but a socket to the hub"
        through = f"; through the hub {', '.join(self.egress)}" if self.egress else ""
        return (
            ("network", network + through),
            ("user", f"{self.user.uid}:{self.user.gid}, no capabilities, no new privileges"),
            (
                "file system",
                f"read-only; writable: {self.place} (a copy of the project), {TEMPORARY} and {SHARED} (in"
                " memory)",
            ),
            (
                "memory",
                f"{self.memory_mb:,} MB, no swap; of it {TEMPORARY} at most {self.temporary_mb:,} MB,"
                f" {SHARED} {self.shared_mb:,} MB",
            ),
            ("processes", f"{self.pids}"),
            ("processors", f"{self.cpus}"),
            ("system calls", "Docker's default filter"),
        )


@dataclass(frozen=True, slots=True)
class ContainerPlaces:
    """The places of what containers work on. `data_dir`: the hub's; `workspace`: what projects are in. Both
    absolute, links resolved or not."""

    data_dir: Path
    workspace: Path

    @property
    def hub(self) -> str:
        """The name of this hub among others at the same daemon."""
        return hashlib.sha256(str(self.data_dir).encode()).hexdigest()[:16]

    @property
    def root(self) -> Path:
        """The directory with the files of all containers."""
        return self.data_dir / "containers"

    def of(self, number: int) -> Path:
        """Return the directory of one container's files."""
        return self.root / str(number)

    def has_files(self) -> bool:
        """Return whether there are files of any container of a job. Blocking."""
        return self.root.is_dir() and any(self.root.iterdir())

    @property
    def people(self) -> Path:
        """The directory with everyone's files, where tools of chats work in containers."""
        return self.data_dir / "people"

    def of_person(self, user_id: str) -> Path:
        """Return the directory of a person's files: the same in their containers as on this machine."""
        return self.people / hashlib.sha256(user_id.encode(errors="surrogatepass")).hexdigest()[:32]


def user_of(files: Path) -> ContainerUser:
    """Return the user of the containers that work on a person's files, as the hub can give it. Raises
    RootRefused."""
    return container_user(os.geteuid(), os.getegid(), int(files.name, 16))


@dataclass(frozen=True, slots=True)
class ContainerSettings:
    """The configured limits of containers, and the places of their files. `guard`: of the workspace;
    `images`: those that a job may choose instead of `image`."""

    enabled: bool
    image: str
    memory_mb: int
    disk_mb: int
    places: ContainerPlaces
    guard: "PathGuard"
    egress: Sequence[str]
    """As configured, each NAME:PORT."""
    images: Sequence[str]
