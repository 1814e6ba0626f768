"""The way from a written path to an open file, never out of the workspace, whatever changes in the meantime.

A path is judged twice. As text: relative to the workspace (or absolute and inside), `.` and `..` resolved,
nothing
disguised, no name of secrets. Then on disk: every component is opened in the directory opened before it,
links are
followed one at a time and by this module alone, and never past the workspace. The opened file is what is
read or
written, so renaming or swapping a component leads to a refusal and not to another file.

A closed file is closed by identity, device and inode, and so under every name: a hard link to a file of a
closed
directory is refused like the file itself.

One thing cannot be seen from the path: a directory that is moved out of the workspace, as a whole, while it
is in use.
"""

import contextlib
import errno
import hashlib
import os
import stat
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NoReturn

from core.errors import ToolDenied, ToolFailed
from core.lazy import dataclass
from core.safety.path_names import MAX_DEPTH, OUTSIDE, Components, below, components, judge_name, split
from core.tool import Workspace

MAX_LINKS = 40
"""Limit of links followed for one path, the same as Linux's."""

_HUBS_OWN = "it belongs to the hub itself"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Without O_NONBLOCK the open would wait on a named pipe."""

_Identity = tuple[int, int]
MAX_CLOSED_FILES = 200_000
"""Limit of files checked below closed directories; beyond it a file with several names counts as one of
them."""


@dataclass(frozen=True, slots=True)
class Place:
    """A name in a directory that is held open (`directory` is its descriptor). The name may be free.

    The name was no link when it was checked; open it without following one.
    """

    directory: int
    name: str


def guard_of(workspace: Workspace) -> "PathGuard":
    """Return the guard of a run's workspace."""
    return PathGuard(workspace.root, workspace.closed, workspace.owner)


class PathGuard:
    """Guard of one workspace. `closed`: files and directories that stay closed even inside it. `owner`: the
    user and group that new files are given to, None for the hub's own."""

    def __init__(
        self, root: Path, closed: Collection[Path] = (), owner: tuple[int, int] | None = None
    ) -> None:
        self._root = root.absolute()
        self._closed = tuple(closed)
        self._owner = owner
        self._roots = (split(str(self._root)), split(os.path.realpath(root)))

    def name(self, path: str) -> str:
        """Return the path as the workspace names it: relative, with `/`, `.` for the workspace itself.

        Judges only the text. Raises ToolDenied.
        """
        return "/".join(components(path, self._roots)) or "."

    def refusal(self, path: str) -> str | None:
        """Return the reason a path is refused whatever is on disk; None if its text is acceptable."""
        try:
            components(path, self._roots)
        except ToolDenied as error:
            return error.reason
        return None

    def runs_or_leads_elsewhere(self, path: str) -> bool:
        """Return whether the path goes through a link, or to an executable file, as the disk is now.

        Opens nothing; a path that does not exist does neither.
        """
        here = self._root
        for part in components(path, self._roots):
            here = here / part
            try:
                found = here.lstat()
            except OSError:
                return False
            if stat.S_ISLNK(found.st_mode):
                return True
            if stat.S_ISREG(found.st_mode) and found.st_mode & 0o111:
                return True
        return False

    @contextlib.contextmanager
    def place(self, path: str, *, make_parents: bool = False) -> Generator[Place]:
        """Open the place the path leads to, all links followed, for as long as the context lasts.

        Raises ToolDenied where that is not allowed and ToolFailed where it is not possible; an OSError
        within the context
        becomes ToolFailed too.
        """
        parts = components(path, self._roots)
        try:
            closed = frozenset(_identities(self._closed))
            with contextlib.ExitStack() as held:
                give = self.give if make_parents else None
                walk = _Walk(self._root, self._roots, closed, held, give)
                yield walk.to(parts)
        except OSError as error:
            _report(error, "/".join(parts) or ".")

    def give(self, descriptor: int) -> None:
        """Give a new file or directory to the owner of the workspace's files. Raises OSError."""
        if self._owner is not None:
            os.fchown(descriptor, *self._owner)

    def _shut(self, found: os.stat_result) -> None:
        """Raise ToolDenied for a closed file, under any name."""
        _shut(found, frozenset(_identities(self._closed)))
        # A file's only name is the one in the workspace: it is not in a closed directory.
        if stat.S_ISREG(found.st_mode) and found.st_nlink > 1 and self._is_closed_file(found):
            raise ToolDenied(_HUBS_OWN)

    def _is_closed_file(self, found: os.stat_result) -> bool:
        looked_at = 0
        for folder in self._closed:
            for entry in _files_below(folder, but_not=self._root):
                looked_at += 1
                if looked_at > MAX_CLOSED_FILES or os.path.samestat(entry, found):
                    return True
        return False

    @contextlib.contextmanager
    def reading(self, path: str) -> Generator[BinaryIO]:
        """Open the file for reading. Raises like `place`. Only regular files are opened: opening a named
        pipe would wake its writer."""
        with self.place(path) as place:
            self.admit(os.stat(place.name, dir_fd=place.directory, follow_symlinks=False), path)
            with _opened(place, _FILE) as descriptor:
                self.admit(os.fstat(descriptor), path)
                with open(descriptor, "rb", closefd=False) as file:
                    yield file

    @contextlib.contextmanager
    def listing(self, path: str) -> Generator[int]:
        """Open the directory, as a descriptor. Raises like `place`."""
        with self.place(path) as place, _opened(place, _FOLDER) as descriptor:
            self._shut(os.fstat(descriptor))
            yield descriptor

    def admit(self, found: os.stat_result, path: str) -> None:
        """Raise ToolDenied or ToolFailed unless this is a regular file that is not closed."""
        self._shut(found)
        if stat.S_ISDIR(found.st_mode):
            raise ToolFailed(f"{self.name(path)} is a directory, not a file.")
        if not stat.S_ISREG(found.st_mode):
            raise ToolDenied("it is not a regular file")


class _Walk:
    """One way through the workspace, a directory at a time; `held` closes all that it opens. `give`: called
    with each directory that is made; None: none is."""

    def __init__(
        self,
        root: Path,
        roots: Sequence[Components],
        closed: frozenset[_Identity],
        held: contextlib.ExitStack,
        give: Callable[[int], None] | None,
    ) -> None:
        self._roots = roots
        self._closed = closed
        self._held = held
        self._give = give
        self._to_go: deque[tuple[str, bool]] = deque()
        self._links = self._opened = 0
        # O_NOFOLLOW only from here on: the operator may have made the workspace a link.
        self._way = [(self._hold(os.open(root, _FOLDER & ~os.O_NOFOLLOW)), "")]

    def to(self, parts: Sequence[str]) -> Place:
        """Go there. Raises OSError, ToolDenied, ToolFailed."""
        self._to_go.extend((part, False) for part in parts)
        while self._to_go:
            name, linked = self._to_go.popleft()
            if name == "..":
                self._up()
                continue
            here, folder = self._way[-1]
            judge_name(name, folder)
            target = _link_target(name, here)
            if target is not None:
                self._follow(target)
            elif self._to_go:
                self._enter(name, linked=linked)
            else:
                return self._arrived(name, here, linked=linked)
        return Place(self._way[-1][0], ".")

    def _arrived(self, name: str, here: int, *, linked: bool) -> Place:
        if linked and not _exists(name, here):
            raise ToolDenied("it is a link to something that does not exist")
        return Place(here, name)

    def _up(self) -> None:
        """Go back the way it came, not where `..` points by now; at this stage only links contain `..`."""
        if len(self._way) == 1:
            raise ToolDenied(OUTSIDE)
        self._way.pop()

    def _follow(self, target: str) -> None:
        self._links += 1
        if self._links > MAX_LINKS:
            raise ToolFailed("The path goes through too many links.")
        if target.startswith("/"):
            del self._way[1:]
        parts = below(target, self._roots)
        self._to_go.extendleft((part, True) for part in reversed(parts))

    def _enter(self, name: str, *, linked: bool) -> None:
        here = self._way[-1][0]
        try:
            opened = os.open(name, _FOLDER, dir_fd=here)
        except FileNotFoundError:
            if linked:
                raise ToolDenied("it goes through a link to something that does not exist") from None
            if self._give is None:
                raise
            opened = self._made(name, here, self._give)
        self._way.append((self._hold(opened), name))

    def _made(self, name: str, here: int, give: Callable[[int], None]) -> int:
        """Make and open a directory; one that appears at the same time stays its maker's."""
        try:
            os.mkdir(name, dir_fd=here)
        except FileExistsError:
            return os.open(name, _FOLDER, dir_fd=here)
        opened = os.open(name, _FOLDER, dir_fd=here)
        give(opened)
        return opened

    def _hold(self, descriptor: int) -> int:
        self._held.callback(os.close, descriptor)
        self._opened += 1
        if self._opened > 2 * MAX_DEPTH:
            raise ToolFailed("The path goes through too many directories.")
        _shut(os.fstat(descriptor), self._closed)
        return descriptor


@contextlib.contextmanager
def _opened(place: Place, flags: int) -> Generator[int]:
    descriptor = os.open(place.name, flags, dir_fd=place.directory)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _link_target(name: str, directory: int) -> str | None:
    try:
        return os.readlink(name, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.EINVAL:  # it exists, and is no link
            return None
        raise


def _exists(name: str, directory: int) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _identities(paths: Collection[Path]) -> Iterator[_Identity]:
    """Yield device and inode of each existing path: they are the same under every name."""
    for path in paths:
        with contextlib.suppress(OSError):
            found = path.stat()
            yield found.st_dev, found.st_ino


def _shut(found: os.stat_result, closed: frozenset[_Identity]) -> None:
    if (found.st_dev, found.st_ino) in closed:
        raise ToolDenied(_HUBS_OWN)


def _files_below(folder: Path, *, but_not: Path) -> Iterator[os.stat_result]:
    """Yield the status of each regular file below a directory, links not followed, without one directory
    below it."""
    for here, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if Path(here, name) != but_not]
        for name in files:
            with contextlib.suppress(OSError):
                found = os.stat(os.path.join(here, name), follow_symlinks=False)
                if stat.S_ISREG(found.st_mode):
                    yield found


def _report(error: OSError, name: str) -> NoReturn:
    """Raise a system error in words for the model."""
    if isinstance(error, FileNotFoundError):
        raise ToolFailed(f"There is no {name} in the workspace.") from error
    if isinstance(error, NotADirectoryError):
        raise ToolFailed(f"{name}: part of this path is not a directory.") from error
    if error.errno == errno.ELOOP:
        raise ToolFailed(f"{name} changed while it was being opened; try again.") from error
    raise ToolFailed(f"{name}: {error.strerror or 'the system refused'}.") from error


OF_PERSON = "person:"
"""Before the path of a sent file in a directory of one person; the directory's name follows."""


class SentFiles:
    """The files that may be sent: what one of the guards allows, and files in a directory of one person below
    `people`, judged there alone: a link in it leads to no other person's."""

    def __init__(self, guards: Sequence[PathGuard], people: Path) -> None:
        self._guards = tuple(guards)
        self._people = people

    @contextlib.contextmanager
    def reading(self, path: str) -> Generator[BinaryIO]:
        """Open a sent file for reading. Raises like `PathGuard.reading`."""
        if path.startswith(OF_PERSON):
            person, _, path = path.removeprefix(OF_PERSON).partition("/")
            if not person.isalnum():
                raise ToolDenied(OUTSIDE)
            guards: Sequence[PathGuard] = (PathGuard(self._people / person),)
        else:
            guards = self._guards
        guard = next((guard for guard in guards if guard.refusal(path) is None), guards[0])
        with guard.reading(path) as file:
            yield file


def outside_path(path: str, guard: PathGuard) -> str:
    """Return a program search path without directories that are relative or in the workspace."""
    parts = [part for part in path.split(":") if part.startswith("/")]
    return ":".join(one for one in parts if guard.refusal(one) and guard.refusal(str(Path(one).resolve())))


# A digest of a file's content: consent to change or run the file is bound to it.
#
# A file that is absent, or may not be read, has a digest too. So consent to write a new file doesn't cover
# overwriting one that appeared in the meantime.

CONTENT_LIMIT_BYTES = 5_000_000
"""Limit of a digest, as large as the hub's own tools write. For longer files the system's own time of the
last change
counts, which a program can't set."""


def file_digest(guard: PathGuard, path: str) -> str:
    """Return the digest of the file a path leads to now, with links followed. Reads it; never raises."""
    try:
        with guard.reading(path) as file:
            found = os.fstat(file.fileno())
            if found.st_size > CONTENT_LIMIT_BYTES:
                return f"long:{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_ctime_ns}"
            return hashlib.sha256(file.read(CONTENT_LIMIT_BYTES + 1)).hexdigest()
    except ToolDenied:
        return "shut"
    except ToolFailed:
        return "absent"
