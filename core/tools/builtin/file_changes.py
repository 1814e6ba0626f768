"""`write_file`, `apply_patch`, `delete_file`: changes to files of the workspace, one at a time.

A change is made whole or not at all. core.safety.paths decides where a path may lead.
"""

import asyncio
import hashlib
import os
import stat
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, TypeVar

from pydantic import Field

from core.errors import InvalidArguments, ToolFailed
from core.safety.path_names import WrittenPlace, written_place
from core.safety.paths import PathGuard, Place, file_digest, guard_of
from core.tool import Arguments, CallContext, Data, Effect, Requirement, Risk, Tool, Workspace, use_limits
from core.tools.builtin.files import text_of
from core.tools.definition import tool

RUN_UNSEEN = "Programs may run a file written there automatically."
WRITE_LIMIT_BYTES = 5_000_000
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LIMITS = use_limits(per_minute=20, per_hour=200)

T = TypeVar("T")


def writing_tools(guard: Callable[[Workspace], PathGuard] = guard_of) -> tuple[Tool, Tool, Tool]:
    """Return all three tools. `guard`: returns the guard of a workspace."""
    return _write_tool(guard), _patch_tool(guard), _delete_tool(guard)


def _changing(function: Callable[..., Awaitable[str]]) -> Tool:
    # Not idempotent: a repetition after a crash would undo later changes by others.
    declared = tool(
        requirement=Requirement.ASK,
        effect=Effect.EFFECT,
        data=Data.SHARED,
        rate=_rate_write,
        digests=_digests,
        limits=_LIMITS,
    )
    return declared(function)


def _write_tool(guard: Callable[[Workspace], PathGuard]) -> Tool:
    async def write_file(
        call: CallContext,
        path: Annotated[str, "path relative to the workspace, such as notes/today.txt"],
        content: Annotated[str, "the file's complete new text"],
    ) -> str:
        """Write a text file of the workspace. A file that is there already is replaced as a whole.

        Directories that are missing are made.
        """
        data = _encoded(content)
        draft, inside = draft_of(call), guard(call.workspace)
        return await to_its_end(lambda given_up: _write(inside, path, data, draft, given_up))

    return _changing(write_file)


def _patch_tool(guard: Callable[[Workspace], PathGuard]) -> Tool:
    async def apply_patch(
        call: CallContext,
        path: Annotated[str, "path relative to the workspace, such as notes/today.txt"],
        old: Annotated[str, "the exact text to replace", Field(min_length=1)],
        new: Annotated[str, "the replacement; empty to delete the text"],
        everywhere: Annotated[bool, "replace every occurrence"] = False,
    ) -> str:
        """Replace a passage of a text file of the workspace.

        The passage must be there exactly once, unless it is to be replaced everywhere: give enough of what
        surrounds it.
        """
        _encoded(old)
        _encoded(new)
        draft, passage, inside = draft_of(call), (old, new), guard(call.workspace)
        return await to_its_end(lambda given_up: _patch(inside, path, passage, everywhere, draft, given_up))

    return _changing(apply_patch)


def _delete_tool(guard: Callable[[Workspace], PathGuard]) -> Tool:
    async def delete_file(
        call: CallContext,
        path: Annotated[str, "path relative to the workspace, such as notes/today.txt"],
    ) -> str:
        """Delete a file of the workspace, for good. Directories are not deleted."""
        return await asyncio.to_thread(_delete, guard(call.workspace), path)

    return _changing(delete_file)


def _rate_write(arguments: Arguments, workspace: Workspace) -> Risk:
    """Return a rating by which "always" covers the one file, if it is a document.

    A name that would read as a pattern for others gets none; nor does one that now leads to another
    place."""
    path, guard = str(arguments.get("path", "")), guard_of(workspace)
    blocked = guard.refusal(path)
    if blocked:
        return Risk(Requirement.ASK, blocked=blocked)
    name = guard.name(path)
    place = written_place(name)
    if place is WrittenPlace.RUN_UNSEEN or guard.runs_or_leads_elsewhere(path):
        return Risk(Requirement.ALWAYS_ASK, reason=RUN_UNSEEN)
    named = place is WrittenPlace.DOCUMENT and "*" not in name
    return Risk(Requirement.ASK, pattern=name if named else None)


def _digests(arguments: Arguments, workspace: Workspace) -> Mapping[str, str]:
    """Return the file's digest: consent covers the file as it was when a person was asked."""
    path = str(arguments.get("path", ""))
    return {path: file_digest(guard_of(workspace), path)}


# --- writing ---------------------------------------------------------------------------------------------


def _encoded(content: str) -> bytes:
    try:
        data = content.encode()
    except UnicodeEncodeError as error:
        raise InvalidArguments("content: contains a lone surrogate") from error
    if len(data) > WRITE_LIMIT_BYTES:
        raise InvalidArguments(f"content: more than {WRITE_LIMIT_BYTES} bytes")
    return data


def _write(guard: PathGuard, path: str, data: bytes, draft: str, given_up: threading.Event) -> str:
    """Write to a draft next to the file, then replace the file: others see the old or the new."""
    with guard.place(path, make_parents=True) as place:
        old = _replaceable(guard, path, place)
        mode = stat.S_IMODE(old.st_mode) & 0o777 if old else None
        try:
            write_draft(place.directory, draft, data, mode, guard)
            if given_up.is_set():
                raise ToolFailed("The call was cancelled before anything was written.")
            os.replace(draft, place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory)
        except BaseException:
            discard(draft, place.directory)
            raise
        os.fsync(place.directory)
    done = f"replaced; it had {old.st_size}" if old else "new"
    unit = "byte" if len(data) == 1 else "bytes"
    return f"Wrote {len(data)} {unit} to {guard.name(path)} ({done})."


def append_to_file(guard: PathGuard, path: str, text: str, draft: str, given_up: threading.Event) -> None:
    """Add text to the end of a file, made if it is missing. Raises ToolDenied, ToolFailed."""
    with guard.place(path, make_parents=True) as place:
        known = _replaceable(guard, path, place) is not None
    before = b""
    if known:
        with guard.reading(path) as file:
            before = file.read(WRITE_LIMIT_BYTES + 1)
    data = before + text.encode("utf-8", "replace")
    if len(data) > WRITE_LIMIT_BYTES:
        raise ToolFailed(f"{guard.name(path)} would have more than {WRITE_LIMIT_BYTES} bytes; move it away.")
    _write(guard, path, data, draft, given_up)


def replace_file(guard: PathGuard, path: str, text: str, draft: str, given_up: threading.Event) -> None:
    """Write a whole file, in place of one of that name. Raises ToolDenied, ToolFailed."""
    _write(guard, path, text.encode("utf-8", "replace"), draft, given_up)


def _replaceable(guard: PathGuard, path: str, place: Place) -> os.stat_result | None:
    """Return the current file, None for none; raises if it may not be replaced."""
    try:
        found = os.stat(place.name, dir_fd=place.directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    guard.admit(found, path)
    return found


def write_draft(directory: int, draft: str, data: bytes, mode: int | None, guard: PathGuard) -> None:
    """Create a file of that name, on disk when this returns. `guard`: of its workspace. Raises OSError."""
    discard(draft, directory)  # from an earlier, interrupted start of the same call
    descriptor = os.open(draft, _NEW_FILE, 0o666, dir_fd=directory)
    with open(descriptor, "wb") as file:
        guard.give(descriptor)
        if mode is not None:
            os.fchmod(descriptor, mode)
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def discard(name: str, directory: int) -> None:
    """Delete a file, if it exists."""
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        pass  # already gone


async def to_its_end(work: Callable[[threading.Event], T]) -> T:
    """Do blocking work in a thread. When cancelled, signal it and wait: nothing of a call continues after
    it."""
    given_up = threading.Event()
    working = asyncio.ensure_future(asyncio.to_thread(work, given_up))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        given_up.set()
        await asyncio.wait([working])
        raise


def draft_of(call: CallContext) -> str:
    """Return the name of the draft of a call's file: the same each time the call runs."""
    return f".hubbub-{hashlib.sha256(call.idempotency_key.encode()).hexdigest()[:16]}.tmp"


def _patch(
    guard: PathGuard,
    path: str,
    passage: tuple[str, str],
    everywhere: bool,
    draft: str,
    given_up: threading.Event,
) -> str:
    old, new = passage
    with guard.reading(path) as file:
        text, whole = text_of(file, guard.name(path))
        marked = file.seek(0) == 0 and file.read(3) == b"\xef\xbb\xbf"
    if not whole:
        raise ToolFailed(f"{guard.name(path)} contains bytes that are not UTF-8, so it can't be edited.")
    found = text.count(old)
    if not found:
        raise ToolFailed(f"{guard.name(path)} does not contain that text. Read the file again.")
    if found > 1 and not everywhere:
        raise ToolFailed(
            f"{guard.name(path)} contains that text {found} times. Include more of the surrounding text."
        )
    changed = _encoded(text.replace(old, new))
    _write(guard, path, b"\xef\xbb\xbf" + changed if marked else changed, draft, given_up)
    return f"Changed {guard.name(path)}: {found} edit{'' if found == 1 else 's'}, {len(changed)} bytes now."


def _delete(guard: PathGuard, path: str) -> str:
    with guard.place(path) as place:
        found = os.stat(place.name, dir_fd=place.directory, follow_symlinks=False)
        guard.admit(found, path)
        os.unlink(place.name, dir_fd=place.directory)
        os.fsync(place.directory)
    return f"Deleted {guard.name(path)}; it had {found.st_size} bytes."
