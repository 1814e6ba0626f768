"""Paths given to a program: in the workspace, links followed, never where it is closed."""

import os
import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, cast

import re2  # pyright: ignore[reportMissingTypeStubs]

from core.errors import ToolDenied, ToolError, ToolFailed
from core.safety.path_names import MAX_DEPTH, WrittenPlace, names_credentials, written_place
from core.safety.paths import PathGuard

MAX_IN_TREE = 5_000
"""Limit of directory entries, at all depths, checked before a program may read all of it."""


class Places:
    """Judge of paths relative to a directory of the workspace. Each method returns its objection to
    the path, None if there is none."""

    def __init__(self, guard: PathGuard, directory: str) -> None:
        self.guard = guard
        self.directory = directory

    def at(self, path: str) -> str:
        """Return the path from the workspace on."""
        return posixpath.join(self.directory, path)

    def name(self, path: str) -> str:
        """Return it as the workspace names it. Raises ToolDenied."""
        return self.guard.name(self.at(path))

    def path(self, path: str) -> str | None:
        """Judge a name: of an existing file or directory, or of nothing."""
        if not path or path[0] == "-" or ".." in path.split("/"):
            return f"{path or 'an empty path'} is not a plain path (without .. and a leading -)"
        try:
            with self.guard.listing(self.at(path)):
                return None
        except ToolDenied as denied:
            return f"{path}: {denied.reason}"
        except ToolFailed:
            return self.file(path)

    def file(self, path: str) -> str | None:
        """Judge a file that is read; `-` is standard input."""
        if path == "-":
            return None
        if not path or path[0] == "-" or ".." in path.split("/"):
            return f"{path or 'an empty path'} is not a plain path (without .. and a leading -)"
        try:
            with self.guard.reading(self.at(path)):
                return None
        except ToolDenied as denied:
            return f"{path}: {denied.reason}"
        except ToolFailed:  # does not exist, or is a directory: a program reports that by itself
            return None

    def present(self, path: str) -> str | None:
        """Judge a file that must exist."""
        if (reason := self.file(path)) is not None:
            return reason
        try:
            with self.guard.reading(self.at(path)):
                return None
        except ToolError:
            return f"{path} is not an existing file"

    def single(self, path: str) -> str | None:
        """Judge one file that is read; a directory is refused, since some programs read all its files."""
        return f"{path} is a directory" if self.folder(path) is None else self.file(path)

    def folder(self, path: str) -> str | None:
        """Judge a directory that must exist."""
        try:
            with self.guard.listing(self.at(path)):
                return self.path(path)
        except ToolError:
            return f"{path} is not an existing directory"

    def visible(self, path: str) -> str | None:
        """Judge a name that is not hidden, nor below a hidden directory."""
        if any(part.startswith(".") for part in path.split("/") if part != "."):
            return f"{path} is hidden, so it may configure a program"
        return self.path(path)

    def fresh(self, path: str) -> str | None:
        """Judge a name that is not in use yet, and that no program runs by itself."""
        if (reason := self.visible(path)) is not None:
            return reason
        if written_place(self.name(path)) is WrittenPlace.RUN_UNSEEN:
            return f"programs may run {path} automatically"
        try:
            with self.guard.place(self.at(path)) as place:
                os.stat(place.name, dir_fd=place.directory, follow_symlinks=False)
        except ToolError:
            return None
        return f"{path} already exists"

    def document(self, path: str) -> str | None:
        """Judge the name of a document, which no program obeys."""
        if (reason := self.visible(path)) is not None:
            return reason
        return (
            None if written_place(self.name(path)) is WrittenPlace.DOCUMENT else f"{path} is not a document"
        )

    def written(self, path: str, *, replaced: bool = False) -> str | None:
        """Judge a file that is created or written to: never a hidden one, nor a program. `replaced`: its
        content would be lost."""
        if (reason := self.visible(path)) is not None:
            return reason
        if written_place(self.guard.name(self.at(path))) is WrittenPlace.RUN_UNSEEN:
            return f"programs may run {path} automatically"
        try:
            with self.guard.reading(self.at(path)) as file:
                found = os.fstat(file.fileno())
        except ToolError:
            return None
        if found.st_mode & 0o111:
            return f"{path} is executable"
        if found.st_nlink > 1:
            return f"{path} has another hard link"
        return f"{path} would be overwritten" if replaced and found.st_size else None

    def tree(self, path: str) -> str | None:
        """Judge a directory that is read completely: nothing in it may be closed."""
        if (reason := self.path(path)) is not None:
            return reason
        waiting, looked_at = [path], 0
        while waiting:
            folder = waiting.pop()
            try:
                with self.guard.listing(self.at(folder)) as descriptor, os.scandir(descriptor) as entries:
                    found = list(entries)
                    looked_at += len(found)
                    if looked_at > MAX_IN_TREE:
                        return f"{path} has too many entries to check"
                    for entry in found:
                        if (reason := self._entry(entry, folder)) is not None:
                            return reason
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(posixpath.join(folder, entry.name))
            except ToolDenied as denied:
                return f"{path} contains a path that is off limits: {denied.reason}"
            except ToolFailed:
                continue
        return None

    def _entry(self, entry: "os.DirEntry[str]", folder: str) -> str | None:
        if names_credentials(entry.name, posixpath.basename(folder)):
            return f"{folder} contains {entry.name}, whose name is typical of credentials"
        if entry.is_symlink():
            return self.path(posixpath.join(folder, entry.name))
        if entry.is_file(follow_symlinks=False):
            self.guard.admit(entry.stat(follow_symlinks=False), ".")
        return None


# A word of a command line: text of a written pattern, or a place of the workspace.

_re2 = cast("Any", re2)
_PLACES: Mapping[str, Callable[[Places, str], str | None]] = {
    "file": Places.file,
    "path": Places.path,
    "tree": Places.tree,
    "written": Places.written,
    "script": Places.file,
    "fresh": Places.fresh,
    "document": Places.document,
    "visible": Places.visible,
    "present": Places.present,
    "single": Places.single,
    "folder": Places.folder,
}


class Kinds:
    """The kinds by name. `written`: RE2 patterns for the whole value; after `!`, a pattern that must
    not occur in it; several must all hold."""

    def __init__(self, written: Mapping[str, str | list[str]]) -> None:
        self._written = written
        self._compiled: dict[str, tuple[tuple[Any, bool], ...]] = {}

    def problem(self, kind: str, value: str, places: Places) -> str | None:
        """Return the objection to a value of this kind: `a|b` is either of them, `a&b` both at once."""
        problems: list[str] = []
        for one in kind.split("|"):
            said = (self._one(part, value, places) for part in one.split("&"))
            problem = next(filter(None, said), None)
            if problem is None:
                return None
            problems.append(problem)
        return problems[0]

    def _one(self, kind: str, value: str, places: Places) -> str | None:
        if kind == "blob":
            revision, colon, path = value.partition(":")
            return (
                places.path(path) if colon and self._fits("rev", revision) else f"{value!r} is not a revision"
            )
        if kind in _PLACES:
            return _PLACES[kind](places, value)
        return None if self._fits(kind, value) else f"{value!r} is not on the list of its harmless values"

    def _fits(self, kind: str, value: str) -> bool:
        return all(
            pattern.search(value) is None if nowhere else pattern.fullmatch(value) is not None
            for pattern, nowhere in self._patterns(kind)
        )

    def _patterns(self, kind: str) -> tuple[tuple[Any, bool], ...]:
        """Return the patterns, compiled on first use, each with whether it must not occur."""
        if kind not in self._compiled:
            written = self._written[kind]
            texts = [written] if isinstance(written, str) else written
            self._compiled[kind] = tuple(
                (_re2.compile(text.removeprefix("!")), text.startswith("!")) for text in texts
            )
        return self._compiled[kind]


# Wildcards as bash matches them under LC_ALL=C, but never outside the workspace and never
# hidden names.

MAX_NAMES = 1_000
MAX_LOOKED_AT = 20_000
"""Limit of directory entries compared with one line's wildcards."""


class Pattern(Protocol):
    """A compiled pattern of RE2."""

    def fullmatch(self, text: str, /) -> object | None:
        """Match all of the text."""
        ...


class LineFails(ToolFailed):
    """Error for a line that cannot be carried out; the text gives the reason, for the model."""


class Names:
    """Finder of names for wildcards; it counts over the whole line."""

    def __init__(self, guard: PathGuard, directory: str) -> None:
        self._guard = guard
        self._directory = directory
        self._found = self._looked_at = 0

    def of(self, text: str, wild: tuple[int, ...]) -> list[str]:
        """Return the names that a word stands for, sorted; the word itself if no position is `wild`.

        `wild`: positions of an unquoted `*` or `?`. Raises LineFails for no names or for too many."""
        if not wild:
            return [text]
        names = sorted(self._matching(text, wild), key=os.fsencode)
        if not names:
            raise LineFails(f"Nothing in the workspace matches {text}. Nothing was run.")
        for name in names:
            if not name.isprintable():
                raise LineFails(f"{text} matches a name that can't be shown. Nothing was run.")
        return [f"./{name}" if name.startswith("-") else name for name in names]

    def _matching(self, text: str, wild: tuple[int, ...]) -> Iterator[str]:
        if text.count("/") >= MAX_DEPTH:
            return
        parts: list[str | Pattern] = []
        at = 0
        for part in text.split("/"):
            here = frozenset(place - at for place in wild if at <= place < at + len(part))
            parts.append(_pattern(part, here) if here else part)
            at += len(part) + 1
        yield from self._below("", parts)

    def _below(self, base: str, parts: "list[str | Pattern]") -> Iterator[str]:
        """Yield the matches from `base` on, which ends with a slash unless it is empty."""
        part, rest = parts[0], parts[1:]
        if not isinstance(part, str):
            names = [name for name in self._entries(base) if name[0] != "." and part.fullmatch(_text(name))]
        elif part == "" and not rest:  # the pattern ends with a slash: directories only
            names = [""] if self._is_directory(base) else []
        else:
            names = [part] if rest or part in self._entries(base) else []
        for name in names:
            if rest:
                yield from self._below(f"{base}{name}/", rest)
            else:
                self._found += 1
                if self._found > MAX_NAMES:
                    raise LineFails(
                        f"The line's wildcards match more than {MAX_NAMES} names. Nothing was run."
                    )
                yield base + name

    def _entries(self, base: str) -> list[str]:
        try:
            with self._guard.listing(posixpath.join(self._directory, base)) as descriptor:
                names = os.listdir(descriptor)
        except ToolError:  # not a directory, or not of the workspace
            return []
        self._looked_at += len(names) + 1
        if self._looked_at > MAX_LOOKED_AT:
            raise LineFails("The line's wildcards would search too many names. Nothing was run.")
        return names

    def _is_directory(self, path: str) -> bool:
        try:
            with self._guard.listing(posixpath.join(self._directory, path)):
                return True
        except ToolError:
            return False


def _pattern(part: str, wild: frozenset[int]) -> Pattern:
    means = {"*": ".*", "?": "."}
    text = "".join(means[one] if at in wild else _re2.escape(one) for at, one in enumerate(part))
    return cast("Pattern", _re2.compile(f"(?s){text}"))


def _text(name: str) -> str:
    """Return the name with a mark for each byte that is not UTF-8."""
    return name.encode("utf-8", "replace").decode()
