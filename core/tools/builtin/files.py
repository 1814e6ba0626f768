"""`read_file`, `list_dir`: the files of the workspace, and nothing beyond it.

core.safety.paths decides where a path may lead. A path refused as text is refused before a person is
asked; links on
the disk are judged, and held, when the call runs.
"""

import asyncio
import codecs
import heapq
import importlib
import itertools
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any, BinaryIO, Protocol

from pydantic import Field

from core.errors import InvalidArguments, ToolError, ToolFailed
from core.safety.paths import PathGuard, guard_of
from core.tool import Arguments, CallContext, Data, Effect, Requirement, Risk, Tool, Workspace
from core.tools.definition import tool

READ_LIMIT_BYTES = 10_000_000
MAX_LINES = 2000
MAX_ENTRIES = 500
MAX_LOOKED_AT = 100_000
_SNIFFED_BYTES = 8192


def reading_tools() -> tuple[Tool, Tool]:
    """Return `read_file` and `list_dir`."""
    return _read_tool(), _list_tool()


def _read_tool() -> Tool:
    @tool(
        requirement=Requirement.ASK,
        effect=Effect.NONE,
        data=Data.SHARED,
        rate=rating(Requirement.ASK),
    )
    async def read_file(
        call: CallContext,
        path: Annotated[str, "path relative to the workspace, such as notes/today.txt"],
        first_line: Annotated[int, "the first line to read", Field(ge=1)] = 1,
        last_line: Annotated[
            int | None, f"the last line to read; default: at most {MAX_LINES} lines", Field(ge=1)
        ] = None,
    ) -> str:
        """Read a text file in the workspace, or some of its lines."""
        last = first_line + MAX_LINES - 1 if last_line is None else last_line
        if last < first_line:
            raise InvalidArguments("last_line: is before first_line")
        return await asyncio.to_thread(_read, guard_of(call.workspace), path, first_line, last)

    return read_file


def _list_tool() -> Tool:
    @tool(
        requirement=Requirement.NEVER,
        effect=Effect.NONE,
        data=Data.SHARED,
        rate=rating(Requirement.NEVER),
    )
    async def list_dir(
        call: CallContext,
        path: Annotated[str, "path relative to the workspace; default: the workspace itself"] = ".",
    ) -> str:
        """List a directory in the workspace: directories end with /, files have their size in bytes."""
        return await asyncio.to_thread(_list, guard_of(call.workspace), path)

    return list_dir


def rating(requirement: Requirement) -> Callable[[Arguments, Workspace], Risk]:
    """Return a rating by which one "always" covers every path: a path that leads out never runs."""

    def rate(arguments: Arguments, workspace: Workspace) -> Risk:
        refusal = guard_of(workspace).refusal(str(arguments.get("path", "")))
        return Risk(requirement, pattern="*", blocked=refusal)

    return rate


# --- reading ---------------------------------------------------------------------------------------------


def _read(guard: PathGuard, path: str, first_line: int, last_line: int) -> str:
    with guard.reading(path) as file:
        text, whole = text_of(file, guard.name(path))
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if not lines:
        return "[The file is empty.]"
    if first_line > len(lines):
        raise ToolFailed(f"{guard.name(path)} has only {len(lines)} lines.")
    notes = "" if whole else "\n[Bytes that are not UTF-8 are shown as \N{REPLACEMENT CHARACTER}.]"
    if first_line > 1 or last_line < len(lines):
        notes += f"\n[Lines {first_line} to {min(last_line, len(lines))} of {len(lines)}.]"
    return "\n".join(lines[first_line - 1 : last_line]) + notes


def text_of(file: BinaryIO, name: str) -> tuple[str, bool]:
    """Return the file as text, and whether all of it was text."""
    data = file.read(READ_LIMIT_BYTES + 1)
    if len(data) > READ_LIMIT_BYTES:
        raise ToolFailed(f"{name} is larger than this tool's limit of {READ_LIMIT_BYTES} bytes.")
    encoding = "utf-8-sig"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif b"\0" in data[:_SNIFFED_BYTES]:
        raise ToolFailed(f"{name} is not a text file.")
    try:
        return data.decode(encoding), True
    except UnicodeDecodeError:
        return data.decode(encoding, "replace"), False


# --- listing ---------------------------------------------------------------------------------------------


def _list(guard: PathGuard, path: str) -> str:
    with guard.listing(path) as directory, os.scandir(directory) as entries:
        found = list(itertools.islice(entries, MAX_LOOKED_AT))
        shown = heapq.nsmallest(MAX_ENTRIES, found, key=lambda entry: entry.name)
        lines = [_line(entry, directory) for entry in shown]
    if not lines:
        return "[The directory is empty.]"
    if len(found) > len(lines):
        more = "at least " if len(found) == MAX_LOOKED_AT else ""
        lines.append(f"[{len(lines)} of {more}{len(found)} entries, the first by name.]")
    return "\n".join(lines)


def _line(entry: "os.DirEntry[str]", directory: int) -> str:
    name = printable(entry.name)
    try:
        if entry.is_symlink():
            return f"{name} -> {printable(os.readlink(entry.name, dir_fd=directory))}"
        if entry.is_dir(follow_symlinks=False):
            return f"{name}/"
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return f"{name}  (gone or unreadable)"
    return f"{name}  {found.st_size}" if stat.S_ISREG(found.st_mode) else f"{name}  (not a regular file)"


def printable(name: str) -> str:
    """Return a name without line ends and the like, so that it cannot look like several entries."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


# `glob`, `grep`: find files of the workspace by name and by content.
#
# Every directory and file is opened through the path guard, so they find only files that could
# be read. The model writes the patterns: RE2 matches them in time linear in the text.

MAX_FOUND = 200
MAX_SEARCHED = 20_000
FILE_LIMIT_BYTES = 2_000_000
LINE_LIMIT_CHARS = 300
TIME_LIMIT_S = 20.0
_PATTERN_LIMIT_CHARS = 1_000


class Pattern(Protocol):
    """The part of a compiled pattern that is used."""

    def search(self, text: str) -> object | None:
        """Return the first match."""
        ...

    def fullmatch(self, text: str) -> object | None:
        """Return whether all of the text matches."""
        ...


def searching_tools() -> tuple[Tool, Tool]:
    """Return `glob` and `grep`."""
    return _glob_tool(), _grep_tool()


def _glob_tool() -> Tool:
    @tool(
        requirement=Requirement.NEVER,
        effect=Effect.NONE,
        data=Data.SHARED,
        rate=rating(Requirement.NEVER),
    )
    async def glob(
        call: CallContext,
        pattern: Annotated[str, "such as **/*.py; ** matches any number of directories", Field(min_length=1)],
        path: Annotated[str, "the directory to search; default: the workspace"] = ".",
    ) -> str:
        """Find files in the workspace by name."""
        matches = _compiled(_as_expression(pattern)).fullmatch
        return await asyncio.to_thread(_found, guard_of(call.workspace), path, matches)

    return glob


def _grep_tool() -> Tool:
    @tool(
        requirement=Requirement.ASK,
        effect=Effect.NONE,
        data=Data.SHARED,
        rate=rating(Requirement.ASK),
        timeout_s=TIME_LIMIT_S + 10,
    )
    async def grep(
        call: CallContext,
        pattern: Annotated[str, "a regular expression without lookaround", Field(min_length=1)],
        path: Annotated[str, "the directory to search; default: the workspace"] = ".",
        files: Annotated[str | None, "only files with this name, such as **/*.py"] = None,
        ignore_case: bool = False,
    ) -> str:
        """Find lines that match a regular expression in the workspace's text files."""
        wanted = _compiled(f"(?i){pattern}" if ignore_case else pattern).search
        named = None if files is None else _compiled(_as_expression(files)).fullmatch
        return await asyncio.to_thread(_grepped, guard_of(call.workspace), path, wanted, named)

    return grep


Matches = Callable[[str], object | None]


def _compiled(expression: str) -> Pattern:
    """Compile an expression. Raises InvalidArguments."""
    re2: Any = importlib.import_module("re2")  # untyped; 2 MB that most hubs never need
    if len(expression) > _PATTERN_LIMIT_CHARS:
        raise InvalidArguments(f"pattern: longer than {_PATTERN_LIMIT_CHARS} characters")
    try:
        options = re2.Options()
        options.log_errors = False
        return re2.compile(expression, options)
    except re2.error as error:
        raise InvalidArguments(f"pattern: not readable: {error}") from error


def _as_expression(pattern: str) -> str:
    """Return a name pattern as a regular expression over paths. Without `/` it matches names anywhere."""
    pattern = pattern.removeprefix("./")
    pieces: list[str] = [] if "/" in pattern else ["(?:.*/)?"]
    for piece in re.split(r"(\*\*/|\*\*|\*|\?)", pattern):
        wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(piece)
        pieces.append(re.escape(piece) if wild is None else wild)
    return "".join(pieces)


class _Walk:
    """The files below a directory, by name; it ends early rather than late."""

    def __init__(self, guard: PathGuard, path: str) -> None:
        self._guard = guard
        self._start = path
        self._ends_at = time.monotonic() + TIME_LIMIT_S
        self._seen = 0
        self.cut_short = False

    def files(self) -> Iterator[tuple[str, int]]:
        """Yield paths from the workspace, with sizes in bytes. Links are not followed."""
        start = self._guard.name(self._start)
        folders = [start]
        while folders and not self.cut_short:
            folder = folders.pop()
            for name, found in self._entries(folder, first=folder == start):
                path = name if folder == "." else f"{folder}/{name}"
                if stat.S_ISDIR(found.st_mode):
                    folders.append(path)
                elif stat.S_ISREG(found.st_mode):
                    yield path, found.st_size

    def _entries(self, folder: str, *, first: bool) -> list[tuple[str, os.stat_result]]:
        entries: list[tuple[str, os.stat_result]] = []
        try:
            with self._guard.listing(folder) as directory:
                for name in sorted(os.listdir(directory)):
                    self._seen += 1
                    if self._seen > MAX_SEARCHED or time.monotonic() > self._ends_at:
                        self.cut_short = True
                        break
                    if self._guard.refusal(f"{folder}/{name}") is None:
                        entries.append((name, os.stat(name, dir_fd=directory, follow_symlinks=False)))
        except (ToolError, OSError):
            if first:
                raise
        return entries


def _found(guard: PathGuard, path: str, matches: Matches) -> str:
    walk = _Walk(guard, path)
    lines = [f"{printable(name)}  {size}" for name, size in walk.files() if matches(name)]
    if not lines:
        return "[No file matches.]" + _cut(walk)
    more = f"\n[{MAX_FOUND} of {len(lines)}.]" if len(lines) > MAX_FOUND else ""
    return "\n".join(sorted(lines)[:MAX_FOUND]) + more + _cut(walk)


def _grepped(guard: PathGuard, path: str, wanted: Matches, named: Matches | None) -> str:
    walk = _Walk(guard, path)
    lines: list[str] = []
    for name, size in walk.files():
        if size > FILE_LIMIT_BYTES or (named is not None and not named(name)):
            continue
        lines += _lines(guard, name, wanted)
        if len(lines) > MAX_FOUND:
            return "\n".join(lines[:MAX_FOUND]) + "\n[More lines match.]"
    return ("\n".join(lines) or "[No line matches.]") + _cut(walk)


def _lines(guard: PathGuard, name: str, wanted: Matches) -> list[str]:
    try:
        with guard.reading(name) as file:
            text, _ = text_of(file, name)
    except (ToolError, OSError):
        return []  # not text, or refused to tools
    return [
        f"{printable(name)}:{number}: {line[:LINE_LIMIT_CHARS]}"
        for number, line in enumerate(text.split("\n"), start=1)
        if wanted(line)
    ]


def _cut(walk: _Walk) -> str:
    return "\n[The search stopped at its limit; search a smaller directory.]" if walk.cut_short else ""
