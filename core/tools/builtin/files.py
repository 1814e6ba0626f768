"""`read_file`, `list_dir`, `write_file`: the files of the workspace, and nothing beyond it.

Where a path may lead is core.safety.paths' business. A path refused as text is refused before anybody is
asked; what links on the disk make of it is judged, and held, when the call runs.
"""

import asyncio
import codecs
import hashlib
import heapq
import itertools
import os
import stat
import threading
from collections.abc import Callable
from typing import Annotated, BinaryIO, TypeVar

from pydantic import Field

from core.errors import InvalidArguments, ToolFailed
from core.safety.paths import PathGuard, Place
from core.tool import Arguments, CallContext, Data, Effect, Requirement, Risk, Tool, use_limits
from core.tools.definition import tool

READ_LIMIT_BYTES = 10_000_000
WRITE_LIMIT_BYTES = 5_000_000
MOST_LINES = 2000
MOST_ENTRIES = 500
MOST_LOOKED_AT = 100_000
_SNIFFED_BYTES = 8192
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

T = TypeVar("T")


def file_tools(guard: PathGuard) -> tuple[Tool, Tool, Tool]:
    """`read_file`, `list_dir`, `write_file` in the guarded workspace."""
    return _read_tool(guard), _list_tool(guard), _write_tool(guard)


def _read_tool(guard: PathGuard) -> Tool:
    @tool(
        requirement=Requirement.ASK,
        effect=Effect.NONE,
        data=Data.SHARED,
        rate=_rating(guard, Requirement.ASK),
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
        rate=_rating(guard, Requirement.NEVER),
    )
    async def list_dir(
        call: CallContext,  # noqa: ARG001 — every tool gets its call
        path: Annotated[str, "the directory, from the workspace; left out: the workspace itself"] = ".",
    ) -> str:
        """List a directory of the workspace: directories end with /, files have their size in bytes."""
        return await asyncio.to_thread(_list, guard, path)

    return list_dir


def _write_tool(guard: PathGuard) -> Tool:
    # Not idempotent: a repetition after a crash would undo what others wrote to the file since.
    @tool(
        requirement=Requirement.ASK,
        effect=Effect.EFFECT,
        data=Data.SHARED,
        rate=_write_rating(guard),
        limits=use_limits(per_minute=20, per_hour=200),
    )
    async def write_file(
        call: CallContext,
        path: Annotated[str, "the file, from the workspace: notes/today.txt"],
        content: Annotated[str, "all the text the file will hold"],
    ) -> str:
        """Write a text file of the workspace. A file that is there already is replaced as a whole.

        Directories that are missing are made.
        """
        data = _encoded(content)
        draft = f".hubbub-{hashlib.sha256(call.idempotency_key.encode()).hexdigest()[:16]}.tmp"
        return await _to_its_end(lambda given_up: _write(guard, path, data, draft, given_up))

    return write_file


def _rating(guard: PathGuard, requirement: Requirement) -> Callable[[Arguments], Risk]:
    """One "always" covers every path: none that leads out is run."""

    def rate(arguments: Arguments) -> Risk:
        return Risk(requirement, pattern="*", blocked=guard.refusal(str(arguments.get("path", ""))))

    return rate


def _write_rating(guard: PathGuard) -> Callable[[Arguments], Risk]:
    """An "always" covers the one file. A name that would read as a pattern for others gets none."""

    def rate(arguments: Arguments) -> Risk:
        path = str(arguments.get("path", ""))
        blocked = guard.refusal(path)
        name = None if blocked else guard.name(path)
        return Risk(Requirement.ASK, pattern=name if name and "*" not in name else None, blocked=blocked)

    return rate


# --- reading ---------------------------------------------------------------------------------------------


def _read(guard: PathGuard, path: str, first_line: int, last_line: int) -> str:
    with guard.reading(path) as file:
        text, whole = _text(file, guard.name(path))
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


def _text(file: BinaryIO, name: str) -> tuple[str, bool]:
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
    name = _printable(entry.name)
    try:
        if entry.is_symlink():
            return f"{name} -> {_printable(os.readlink(entry.name, dir_fd=directory))}"
        if entry.is_dir(follow_symlinks=False):
            return f"{name}/"
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return f"{name}  (gone or unreadable)"
    return f"{name}  {found.st_size}" if stat.S_ISREG(found.st_mode) else f"{name}  (no regular file)"


def _printable(name: str) -> str:
    """A name may hold line ends and worse; it must not look like several entries."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


# --- writing ---------------------------------------------------------------------------------------------


def _encoded(content: str) -> bytes:
    try:
        data = content.encode()
    except UnicodeEncodeError as error:
        raise InvalidArguments("content: contains half a character (a lone surrogate)") from error
    if len(data) > WRITE_LIMIT_BYTES:
        raise InvalidArguments(f"content: more than {WRITE_LIMIT_BYTES} bytes")
    return data


def _write(guard: PathGuard, path: str, data: bytes, draft: str, given_up: threading.Event) -> str:
    """Write to a draft beside the file, then put it in the file's place: others see the old or the new."""
    with guard.place(path, make_parents=True) as place:
        old = _replaceable(guard, path, place)
        mode = stat.S_IMODE(old.st_mode) & 0o777 if old else None
        try:
            _write_draft(place.directory, draft, data, mode)
            if given_up.is_set():
                raise ToolFailed("The call was given up before anything was written.")
            os.replace(draft, place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory)
        except BaseException:
            _discard(draft, place.directory)
            raise
        os.fsync(place.directory)
    done = f"replaced, it had {old.st_size}" if old else "new"
    unit = "byte" if len(data) == 1 else "bytes"
    return f"Wrote {len(data)} {unit} to {guard.name(path)} ({done})."


def _replaceable(guard: PathGuard, path: str, place: Place) -> os.stat_result | None:
    """What is there now, None for nothing; raises where it is no file that may be replaced."""
    try:
        found = os.stat(place.name, dir_fd=place.directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    guard.admit(found, path)
    return found


def _write_draft(directory: int, draft: str, data: bytes, mode: int | None) -> None:
    _discard(draft, directory)  # of an earlier start of the same call, cut short
    descriptor = os.open(draft, _NEW_FILE, 0o666, dir_fd=directory)
    with open(descriptor, "wb") as file:
        if mode is not None:
            os.fchmod(descriptor, mode)
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def _discard(name: str, directory: int) -> None:
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        pass  # there is none: as it should be


async def _to_its_end(work: Callable[[threading.Event], T]) -> T:
    """Blocking work in a thread. Cancelled, it is told to give up and waited for: nothing of a call goes
    on after it."""
    given_up = threading.Event()
    working = asyncio.ensure_future(asyncio.to_thread(work, given_up))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        given_up.set()
        await asyncio.wait([working])
        raise
