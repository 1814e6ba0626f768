"""`glob`, `grep`: finding files of the workspace by their names, and by what stands in them.

Every directory and file is opened through the path guard, so nothing is found that could not be read.
Patterns are a model's own: RE2 matches them, in a time that grows with the text alone.
"""

import asyncio
import importlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Protocol

from pydantic import Field

from core.errors import InvalidArguments, ToolError
from core.safety.paths import PathGuard
from core.tool import CallContext, Data, Effect, Requirement, Tool
from core.tools.builtin.files import printable, rating, text_of
from core.tools.definition import tool

MOST_FOUND = 200
MOST_LOOKED_AT = 20_000
FILE_LIMIT_BYTES = 2_000_000
LINE_LIMIT_CHARS = 300
TIME_LIMIT_S = 20.0
_PATTERN_LIMIT_CHARS = 1_000


class Pattern(Protocol):
    """What is used of a compiled pattern."""

    def search(self, text: str) -> object | None:
        """Where it matches first."""
        ...

    def fullmatch(self, text: str) -> object | None:
        """Whether all of the text matches."""
        ...


def searching_tools(guard: PathGuard) -> tuple[Tool, Tool]:
    """`glob` and `grep` in the guarded workspace."""
    return _glob_tool(guard), _grep_tool(guard)


def _glob_tool(guard: PathGuard) -> Tool:
    @tool(
        requirement=Requirement.NEVER,
        effect=Effect.NONE,
        data=Data.SHARED,
        rate=rating(guard, Requirement.NEVER),
    )
    async def glob(
        call: CallContext,  # noqa: ARG001 — every tool gets its call
        pattern: Annotated[str, "such as **/*.py; ** is any number of directories", Field(min_length=1)],
        path: Annotated[str, "look below this directory; left out: everywhere"] = ".",
    ) -> str:
        """Find files of the workspace by name."""
        matches = _compiled(_as_expression(pattern)).fullmatch
        return await asyncio.to_thread(_found, guard, path, matches)

    return glob


def _grep_tool(guard: PathGuard) -> Tool:
    @tool(
        requirement=Requirement.ASK,
        effect=Effect.NONE,
        data=Data.SHARED,
        rate=rating(guard, Requirement.ASK),
        timeout_s=TIME_LIMIT_S + 10,
    )
    async def grep(
        call: CallContext,  # noqa: ARG001 — every tool gets its call
        pattern: Annotated[str, "a regular expression, without look-around", Field(min_length=1)],
        path: Annotated[str, "a directory to look below; left out: everywhere"] = ".",
        files: Annotated[str | None, "only in files of this name, such as **/*.py"] = None,
        ignore_case: bool = False,
    ) -> str:
        """Find lines in the workspace's text files that match a regular expression."""
        wanted = _compiled(f"(?i){pattern}" if ignore_case else pattern).search
        named = None if files is None else _compiled(_as_expression(files)).fullmatch
        return await asyncio.to_thread(_grepped, guard, path, wanted, named)

    return grep


Matches = Callable[[str], object | None]


def _compiled(expression: str) -> Pattern:
    """Raises InvalidArguments."""
    re2: Any = importlib.import_module("re2")  # without types; 2 MB that most hubs never need
    if len(expression) > _PATTERN_LIMIT_CHARS:
        raise InvalidArguments(f"pattern: longer than {_PATTERN_LIMIT_CHARS} characters")
    try:
        options = re2.Options()
        options.log_errors = False
        return re2.compile(expression, options)
    except re2.error as error:
        raise InvalidArguments(f"pattern: cannot be read: {error}") from error


def _as_expression(pattern: str) -> str:
    """A pattern of names as a regular expression over paths. Without `/` it means names anywhere."""
    pattern = pattern.removeprefix("./")
    pieces: list[str] = [] if "/" in pattern else ["(?:.*/)?"]
    for piece in re.split(r"(\*\*/|\*\*|\*|\?)", pattern):
        wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(piece)
        pieces.append(re.escape(piece) if wild is None else wild)
    return "".join(pieces)


class _Walk:
    """The files below a directory, by name; ends early rather than late."""

    def __init__(self, guard: PathGuard, path: str) -> None:
        self._guard = guard
        self._start = path
        self._ends_at = time.monotonic() + TIME_LIMIT_S
        self._seen = 0
        self.cut_short = False

    def files(self) -> Iterator[tuple[str, int]]:
        """Path from the workspace, and size in bytes. Links are not followed."""
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
                    if self._seen > MOST_LOOKED_AT or time.monotonic() > self._ends_at:
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
        return "[No file has such a name.]" + _cut(walk)
    more = f"\n[{MOST_FOUND} of {len(lines)}.]" if len(lines) > MOST_FOUND else ""
    return "\n".join(sorted(lines)[:MOST_FOUND]) + more + _cut(walk)


def _grepped(guard: PathGuard, path: str, wanted: Matches, named: Matches | None) -> str:
    walk = _Walk(guard, path)
    lines: list[str] = []
    for name, size in walk.files():
        if size > FILE_LIMIT_BYTES or (named is not None and not named(name)):
            continue
        lines += _lines(guard, name, wanted)
        if len(lines) > MOST_FOUND:
            return "\n".join(lines[:MOST_FOUND]) + "\n[There are more.]"
    return ("\n".join(lines) or "[No line matches.]") + _cut(walk)


def _lines(guard: PathGuard, name: str, wanted: Matches) -> list[str]:
    try:
        with guard.reading(name) as file:
            text, _ = text_of(file, name)
    except (ToolError, OSError):
        return []  # no text, or not for tools
    return [
        f"{printable(name)}:{number}: {line[:LINE_LIMIT_CHARS]}"
        for number, line in enumerate(text.split("\n"), start=1)
        if wanted(line)
    ]


def _cut(walk: _Walk) -> str:
    return "\n[There is more than could be looked at; name a directory.]" if walk.cut_short else ""
