"""`read_file`, `list_dir`: the files of the workspace, and nothing beyond it.

Where a path may lead is core.safety.paths' business. A path refused as text is refused before anybody is
asked; what links on the disk make of it is judged, and held, when the call runs.
"""

import asyncio
import codecs
import heapq
import itertools
import os
import stat
from collections.abc import Callable
from typing import Annotated, BinaryIO

from pydantic import Field

from core.errors import InvalidArguments, ToolFailed
from core.safety.paths import PathGuard
from core.tool import Arguments, CallContext, Data, Effect, Requirement, Risk, Tool
from core.tools.definition import tool

READ_LIMIT_BYTES = 10_000_000
MOST_LINES = 2000
MOST_ENTRIES = 500
MOST_LOOKED_AT = 100_000
_SNIFFED_BYTES = 8192


def reading_tools(guard: PathGuard) -> tuple[Tool, Tool]:
    """`read_file`, `list_dir` in the guarded workspace."""
    return _read_tool(guard), _list_tool(guard)


def _read_tool(guard: PathGuard) -> Tool:
    @tool(
        requirement=Requirement.ASK,
        effect=Effect.NONE,
        data=Data.SHARED,
        rate=rating(guard, Requirement.ASK),
    )
    async def read_file(
        call: CallContext,  # noqa: ARG001 — every tool gets its call
        path: Annotated[str, "the file, from the workspace: notes/today.txt"],
        first_line: Annotated[int, "begin with this line", Field(ge=1)] = 1,
        last_line: Annotated[
            int | None, f"end with this line; left out: at most {MOST_LINES} lines", Field(ge=1)
        ] = None,
    ) -> str:
        """Read a text file of the workspace, or some of its lines."""
        last = first_line + MOST_LINES - 1 if last_line is None else last_line
        if last < first_line:
            raise InvalidArguments("last_line: comes before first_line")
        return await asyncio.to_thread(_read, guard, path, first_line, last)

    return read_file


def _list_tool(guard: PathGuard) -> Tool:
    @tool(
        requirement=Requirement.NEVER,
        effect=Effect.NONE,
        data=Data.SHARED,
        rate=rating(guard, Requirement.NEVER),
    )
    async def list_dir(
        call: CallContext,  # noqa: ARG001 — every tool gets its call
        path: Annotated[str, "the directory, from the workspace; left out: the workspace itself"] = ".",
    ) -> str:
        """List a directory of the workspace: directories end with /, files have their size in bytes."""
        return await asyncio.to_thread(_list, guard, path)

    return list_dir


def rating(guard: PathGuard, requirement: Requirement) -> Callable[[Arguments], Risk]:
    """One "always" covers every path: none that leads out is run."""

    def rate(arguments: Arguments) -> Risk:
        return Risk(requirement, pattern="*", blocked=guard.refusal(str(arguments.get("path", ""))))

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
    notes = "" if whole else "\n[Bytes that are no UTF-8 are shown as \N{REPLACEMENT CHARACTER}.]"
    if first_line > 1 or last_line < len(lines):
        notes += f"\n[Lines {first_line} to {min(last_line, len(lines))} of {len(lines)}.]"
    return "\n".join(lines[first_line - 1 : last_line]) + notes


def text_of(file: BinaryIO, name: str) -> tuple[str, bool]:
    """The file as text, and whether all of it was text."""
    data = file.read(READ_LIMIT_BYTES + 1)
    if len(data) > READ_LIMIT_BYTES:
        raise ToolFailed(f"{name} is larger than the {READ_LIMIT_BYTES} bytes this tool reads.")
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
        found = list(itertools.islice(entries, MOST_LOOKED_AT))
        shown = heapq.nsmallest(MOST_ENTRIES, found, key=lambda entry: entry.name)
        lines = [_line(entry, directory) for entry in shown]
    if not lines:
        return "[The directory is empty.]"
    if len(found) > len(lines):
        more = "at least " if len(found) == MOST_LOOKED_AT else ""
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
    return f"{name}  {found.st_size}" if stat.S_ISREG(found.st_mode) else f"{name}  (no regular file)"


def printable(name: str) -> str:
    """A name may hold line ends and worse; it must not look like several entries."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
