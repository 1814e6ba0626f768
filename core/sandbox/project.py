"""The copy of a project that a container works on, what changed in it, and the way of accepted changes back.

A copy that came back from a container is hostile: it is read without following links, nothing in it is run,
and no name of it leads anywhere but below the project. Blocking; call it in a thread.
"""

import contextlib
import difflib
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Generator, Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from core.errors import HubError
from core.lazy import dataclass
from core.safety.paths import PathGuard
from core.sandbox.disk import DiskLimit
from core.sandbox.policy import MB, ContainerUser

MAX_CHANGED_FILES = 2_000
DIFF_SHOWN_CHARS = 6_000
FILES_SHOWN = 50
MAX_FILE_BYTES = 20 * MB
MAX_DIFF_LINES = 4_000
"""Longer texts are not compared by lines: the time for that grows faster than their number."""
MAX_DIFF_CHARS = 200_000
NO_NEWLINE = "\\ No newline at end of file"
REPOSITORY = ".git"
LEFT_OUT = frozenset({REPOSITORY})
"""Names neither copied with the files nor taken back: a repository's hooks and settings run programs."""
HISTORY = ("HEAD", "index", "packed-refs", "shallow", "refs", "objects")
"""What a copy gets of a repository. Its settings, hooks and logs stay out: they run programs, or hold
addresses with passwords."""
_SETTINGS = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"
_ELSEWHERE = ("objects/info/alternates", "objects/info/http-alternates", "commondir", "reftable")
"""The files of repositories whose history is not all in them, or in another form."""
_NO_FOLLOW = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class ProjectRefused(HubError):
    """Error for a project that can't be copied; the text says what to do."""


class ChangesRefused(HubError):
    """Error for changes that can't be taken over; the text says why. Nothing of them was made."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that a container changed. `path`: from the project on. `before`, `after`: SHA-256 of its
    content; None: it is not there. `executable`: it may be run, afterwards."""

    path: str
    before: str | None
    after: str | None
    executable: bool = False

    @property
    def word(self) -> str:
        """What became of the file."""
        return "added" if self.before is None else "deleted" if self.after is None else "changed"


@dataclass(frozen=True, slots=True)
class Changes:
    """The files that differ, in order; and, a line each, what can't be taken over."""

    files: tuple[FileChange, ...]
    left_out: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the changes as JSON, the same for the same changes."""
        return json.dumps([astuple(file) for file in self.files], separators=(",", ":"))

    @property
    def digest(self) -> str:
        """What a person accepts: it binds the changes, and the files as they were before."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()


def changes_from_json(text: str) -> Changes:
    """Return the changes that `to_json` wrote."""
    listed: list[list[Any]] = json.loads(text)
    return Changes(tuple(FileChange(*one) for one in listed))


# --- the copy -------------------------------------------------------------------------------------------


def copy_project(
    source: Path, copy: Path, base: Path, disk: DiskLimit, guard: PathGuard, user: ContainerUser | None
) -> None:
    """Copy a project for a container, and a second time to compare with. `disk`: what the copy may take, from
    now on; `guard`: of the workspace; what it refuses is left out, as are the hub's own files. `user`: to own
    the copy; None for the hub's own.

    Raises ProjectRefused, OSError."""
    try:
        with guard.listing(str(source)):
            pass
    except HubError as error:
        raise ProjectRefused(f"the project can't be copied: {error}") from error
    used = 0
    for directory in (copy, base):
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True, mode=0o700)
    disk.begin(copy)
    for name, found in _files(source):
        inside = str(source / name)
        if guard.refusal(inside) is not None:
            continue
        if stat.S_ISLNK(found.st_mode):
            _made_parent(copy, name).symlink_to(os.readlink(source / name))
            continue
        if not stat.S_ISREG(found.st_mode):
            continue
        used += found.st_size
        if used > disk.limit_bytes:
            raise ProjectRefused(
                f"the project has more than {disk.limit_bytes // MB:,} MB; name a directory of it, or raise"
                " [sandbox] disk_mb"
            )
        try:
            with guard.reading(inside) as file:
                _copied(file.fileno(), _made_parent(copy, name), found.st_mode)
        except HubError:
            continue  # it is closed to tools
        shutil.copyfile(copy / name, _made_parent(base, name))
    _copy_history(source, copy, disk.limit_bytes - used, guard)
    if user is not None:
        _owned(copy, user)
    disk.hold(copy)


def _copy_history(source: Path, copy: Path, limit_bytes: int, guard: PathGuard) -> None:
    """Give a copy the history of its project's repository, as plain files with settings of the hub's own. No
    program runs. A repository that is not all there, is another's, or is too large, gives none."""
    of = source / REPOSITORY
    elsewhere = any(os.path.lexists(of / name) for name in _ELSEWHERE)
    if os.path.islink(of) or not (of / "HEAD").is_file() or elsewhere or _other_format(of):
        return
    target, used = copy / REPOSITORY, 0
    try:
        for name, _ in _files(of):
            if name.partition("/")[0] in HISTORY:
                with _opened(of, name) as descriptor:
                    found = os.fstat(descriptor)
                    guard.admit(found, name)
                    used += found.st_size
                    if used > limit_bytes:
                        raise FileNotFoundError(name)
                    _copied(descriptor, _made_parent(target, name), 0o600)
        for name in ("objects", "refs"):
            (target / name).mkdir(parents=True, exist_ok=True)
        (target / "config").write_text(_SETTINGS, encoding="ascii")
    except (OSError, HubError):
        shutil.rmtree(target, ignore_errors=True)  # git packs it just now, or a file is closed to tools


def _other_format(repository: Path) -> bool:
    """Return whether a repository needs settings to be read: it has other hashes, or not all its history."""
    try:
        settings = content_of(repository, "config").decode(errors="replace").lower()
    except OSError:
        return True
    return "[extensions]" in settings.replace(" ", "")


def _files(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield every name below a directory that is no directory, with its status; no link is followed."""
    for here, folders, files in os.walk(root):
        kept = sorted(name for name in folders if name not in LEFT_OUT)
        links = [name for name in kept if os.path.islink(os.path.join(here, name))]
        folders[:] = [name for name in kept if name not in links]
        for name in sorted([*files, *links]):
            path = os.path.join(here, name)
            if name not in LEFT_OUT:
                with contextlib.suppress(FileNotFoundError):
                    yield os.path.relpath(path, root), os.lstat(path)


def _made_parent(root: Path, name: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _copied(source: int, target: Path, mode: int) -> None:
    with open(target, "wb") as file, open(source, "rb", closefd=False) as original:
        shutil.copyfileobj(original, file)
        os.fchmod(file.fileno(), 0o700 if mode & 0o100 else 0o600)


def _owned(root: Path, user: ContainerUser) -> None:
    os.chown(root, user.uid, user.gid)
    for here, folders, files in os.walk(root):
        for name in (*folders, *files):
            os.chown(os.path.join(here, name), user.uid, user.gid, follow_symlinks=False)


# --- what changed ---------------------------------------------------------------------------------------


def changes_between(base: Path, copy: Path) -> Changes:
    """Return what a container changed in its copy. Raises ChangesRefused if that is too much."""
    before = {name: _digest(base, name) for name, _ in _files(base)}
    left_out: list[str] = []
    after: dict[str, tuple[str, bool]] = {}
    for name, found in _files(copy):
        if not stat.S_ISREG(found.st_mode):
            if name in before or not stat.S_ISLNK(found.st_mode):
                left_out.append(f"{_shown(name)} is not a plain file")
        elif not _takeable(name):
            left_out.append(f"{_shown(name)} has a name that is not taken over")
        elif found.st_size > MAX_FILE_BYTES:
            left_out.append(f"{_shown(name)} has more than {MAX_FILE_BYTES // MB} MB")
        else:
            after[name] = (_digest(copy, name), bool(found.st_mode & 0o100))
    replaced = {line.partition(" is not")[0] for line in left_out}
    files: list[FileChange] = []
    for name in sorted(before.keys() | after.keys()):
        digest, executable = after.get(name, (None, False))
        if before.get(name) != digest and not (digest is None and _shown(name) in replaced):
            files.append(FileChange(name, before.get(name), digest, executable))
    if len(files) > MAX_CHANGED_FILES:
        raise ChangesRefused(
            f"{len(files)} files were changed, and at most {MAX_CHANGED_FILES} can be taken over"
        )
    return Changes(tuple(files), tuple(left_out[:50]))


def _takeable(name: str) -> bool:
    return PathGuard(Path("/project")).refusal(name) is None


def _shown(name: str) -> str:
    return json.dumps(name.encode("utf-8", "replace").decode())[1:-1][:200]


@contextlib.contextmanager
def _opened(root: Path, name: str) -> Generator[int]:
    """Open a regular file below a directory, through no link."""
    descriptors = [os.open(root, _NO_FOLLOW | os.O_DIRECTORY)]
    try:
        *folders, last = name.split("/")
        for folder in folders:
            descriptors.append(os.open(folder, _NO_FOLLOW | os.O_DIRECTORY, dir_fd=descriptors[-1]))
        descriptors.append(os.open(last, _NO_FOLLOW, dir_fd=descriptors[-1]))
        if not stat.S_ISREG(os.fstat(descriptors[-1]).st_mode):
            raise FileNotFoundError(name)
        yield descriptors[-1]
    finally:
        for descriptor in reversed(descriptors):
            os.close(descriptor)


def content_of(root: Path, name: str) -> bytes:
    """Return the content of a file below a directory that may be hostile. Raises OSError."""
    with _opened(root, name) as descriptor, open(descriptor, "rb", closefd=False) as file:
        return file.read(MAX_FILE_BYTES + 1)


def _digest(root: Path, name: str) -> str:
    with _opened(root, name) as descriptor:
        return _digest_of(descriptor)


def _digest_of(descriptor: int) -> str:
    with open(descriptor, "rb", closefd=False) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def diff_of(changes: Changes, base: Path, copy: Path) -> str:
    """Return the changes as a unified diff, for people. Of what is no text, and of what is too long, it says
    only that it changed."""
    parts: list[str] = []
    chars = 0
    for file in changes.files:
        part = _diff(file, base, copy)
        chars += len(part)
        if chars > MAX_DIFF_CHARS:
            parts.append("… the diff is too long to be shown whole\n")
            break
        parts.append(part)
    return "".join(parts)


def _diff(file: FileChange, base: Path, copy: Path) -> str:
    name = _shown(file.path)
    before = [] if file.before is None else _lines(content_of(base, file.path))
    after = [] if file.after is None else _lines(content_of(copy, file.path))
    if before is None or after is None:
        return f"{file.word} {name} (not shown: no text, or too long)\n"
    old = "/dev/null" if file.before is None else f"a/{name}"
    new = "/dev/null" if file.after is None else f"b/{name}"
    found = list(difflib.unified_diff(before, after, old, new)) or [f"--- {old}\n", f"+++ {new}\n"]
    return "".join(line if line.endswith("\n") else f"{line}\n{NO_NEWLINE}\n" for line in found)


def _lines(content: bytes) -> list[str] | None:
    if b"\0" in content:
        return None
    try:
        lines = content.decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        return None
    return None if len(lines) > MAX_DIFF_LINES or len(content) > MAX_DIFF_CHARS else lines


# --- taking them over -----------------------------------------------------------------------------------


def take_over(changes: Changes, copy: Path, project: Path, guard: PathGuard) -> None:
    """Make the accepted changes in the project. Repeating it is harmless, also after a crash in between.

    Raises ChangesRefused if a file is no longer as it was when the container got its copy, or the copy is no
    longer as it was when the person saw it."""
    contents: dict[str, bytes] = {}
    for file in changes.files:
        now = _host_digest(guard, project / file.path)
        if now not in {file.before, file.after}:
            raise ChangesRefused(f"{_shown(file.path)} has changed in the project since")
        if file.after is not None:
            contents[file.path] = _accepted_content(copy, file)
    for file in changes.files:
        if file.after is None:
            _delete(guard, project / file.path)
        else:
            _write(guard, project / file.path, contents[file.path], executable=file.executable)


def _accepted_content(copy: Path, file: FileChange) -> bytes:
    try:
        content = content_of(copy, file.path)
    except OSError as error:
        raise ChangesRefused(f"{_shown(file.path)} is gone from the container's copy") from error
    if hashlib.sha256(content).hexdigest() != file.after:
        raise ChangesRefused(f"{_shown(file.path)} is not what was accepted")
    return content


def _host_digest(guard: PathGuard, path: Path) -> str | None:
    """Return the digest of a file of the project; None if it is not there. Raises ChangesRefused."""
    try:
        with guard.reading(str(path)) as file:
            return _digest_of(file.fileno())
    except HubError as error:
        if not os.path.lexists(path):
            return None
        raise ChangesRefused(f"{_shown(path.name)} can't be changed: {error}") from error


def _write(guard: PathGuard, path: Path, content: bytes, *, executable: bool) -> None:
    """Replace a file at once. It keeps its mode, but for the right to run it."""
    try:
        with guard.place(str(path), make_parents=True) as place:
            mode = 0o644
            with contextlib.suppress(FileNotFoundError):
                mode = os.stat(place.name, dir_fd=place.directory, follow_symlinks=False).st_mode & 0o666
            mode |= (mode & 0o444) >> 2 if executable else 0
            new = f".{place.name[:200]}.hubbub-new"
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(new, flags, 0o600, dir_fd=place.directory)
            try:
                with open(descriptor, "wb", closefd=False) as file:
                    file.write(content)
                os.fchmod(descriptor, mode)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(new, place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory)
    except HubError as error:
        raise ChangesRefused(f"{_shown(path.name)} can't be written: {error}") from error


def _delete(guard: PathGuard, path: Path) -> None:
    if not os.path.lexists(path):
        return
    try:
        with guard.place(str(path)) as place:
            os.unlink(place.name, dir_fd=place.directory)
    except HubError as error:
        raise ChangesRefused(f"{_shown(path.name)} can't be deleted: {error}") from error


def summary_of(changes: Changes) -> Sequence[str]:
    """Return the changes, a line each; of many, the first."""
    listed = [f"{file.word} {_shown(file.path)}" for file in changes.files[:FILES_SHOWN]]
    left = len(changes.files) - FILES_SHOWN
    return [*listed, f"and {left} more"] if left > 0 else listed


def result_of(said: str, changes: Changes, diff: str, short_id: str) -> str:
    """Return the result of a job in a container, for its owner: what it said, and what it changed."""
    parts = [said or "Done."]
    if changes.files:
        parts.append("\n".join(["Changed files:", *(f"- {line}" for line in summary_of(changes))]))
        fence = "`" * max(3, _longest_run(diff) + 1)
        shown = diff if len(diff) <= DIFF_SHOWN_CHARS else f"{diff[:DIFF_SHOWN_CHARS]}\n…"
        parts.append(f"{fence}diff\n{shown}\n{fence}")
        parts.append(
            f"The project is unchanged until you accept. `hubbub jobs diff {short_id}` shows the whole diff."
        )
    if changes.left_out:
        parts.append("\n".join(["Not taken over:", *(f"- {line}" for line in changes.left_out)]))
    return "\n\n".join(parts)


def _longest_run(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest
