"""`read_attachment`, `save_attachment`, `send_file`: files from people, and files for them; and `message`,
to the person in another of their conversations.

Attachments stay with their platform until a tool asks for them: the model sees name, type and size.
"""

import asyncio
import os
import re
import threading
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Annotated, Protocol

from pydantic import Field

from core.errors import (
    AttachmentTooLarge,
    ChannelError,
    InvalidArguments,
    NobodyToTell,
    ToolDenied,
    ToolFailed,
)
from core.lazy import LazyModule
from core.messages import Attachment, File, Markdown, Message, folded, quoted
from core.ports import AttachmentSource
from core.safety.paths import PathGuard, Place, guard_of
from core.tool import CallContext, Data, Effect, Requirement, Tool, Workspace
from core.tools.builtin.file_changes import discard, draft_of, to_its_end, write_draft
from core.tools.builtin.files import READ_LIMIT_BYTES, rating, text_of
from core.tools.definition import tool
from core.transcript import UserSaid

if TYPE_CHECKING:
    from core.store.rows import ThreadRow
    from core.transcript import Entry

if TYPE_CHECKING:
    from core.people import notices
else:
    notices = LazyModule("core.people.notices")


if TYPE_CHECKING:
    from core.people.notices import Recipient

if TYPE_CHECKING:
    from core.people import notices
else:
    notices = LazyModule("core.people.notices")


TEXT_LIMIT_CHARS = 10_000


class Notifier(Protocol):
    """Delivery of messages (see core.people.notices.Notices)."""

    async def send(self, key: str, to: "Recipient", message: Message) -> bool:
        """Send it, once for each key. Raises NobodyToTell if there is no such address."""
        ...


class Owned(Protocol):
    """A conversation."""

    @property
    def owner_id(self) -> str:
        """Id of its owner."""
        ...


class Threads(Protocol):
    """The conversations (the part of `core.store.port.Store` this tool needs)."""

    async def thread(self, thread_id: str) -> Owned | None:
        """Return a thread."""
        ...


def message_tool(threads: Threads, notifier: Callable[[], Notifier] | None) -> Tool:
    """Return the tool. `notifier` is called on first use; None: nothing can be sent."""

    # Idempotent: a message under a call's key is not sent again.
    @tool(requirement=Requirement.NEVER, effect=Effect.IDEMPOTENT, data=Data.OWN)
    async def message(
        call: CallContext,
        text: Annotated[str, "the message, in Markdown", Field(min_length=1, max_length=TEXT_LIMIT_CHARS)],
        channel: Annotated[str | None, "the name of a channel where the person has an account"] = None,
        thread: Annotated[str | None, "or the ID of another conversation of the person"] = None,
    ) -> str:
        """Send a message to the person you are talking to, in another of their conversations."""
        if (channel is None) == (thread is None):
            raise InvalidArguments("channel: use either a channel or a thread")
        if notifier is None:
            raise ToolFailed("Sending to other conversations is not available now.")
        to = await _recipient(threads, call.principal.user_id, channel, thread)
        try:
            await notifier().send(f"call:{call.idempotency_key}", to, Message((Markdown(text),)))
        except NobodyToTell as error:
            raise ToolFailed(f"The message can't be sent there: {error}") from error
        return "The message is queued for sending."

    return message


async def _recipient(threads: Threads, user_id: str, channel: str | None, thread: str | None) -> "Recipient":
    if thread is None:
        return notices.ToPerson(user_id, channel)
    found = await threads.thread(thread)
    if found is None or found.owner_id != user_id:
        raise ToolFailed("The person has no conversation with that ID.")
    return notices.ToThread(thread)


FOLDER = "attachments"
"""A folder of the workspace. A model chooses neither the folder nor the name, and nothing in it is
replaced."""
SAVE_LIMIT_BYTES = 20 * 1024 * 1024
ENTRIES_LOOKED_AT = 500
MAX_OF_ONE_NAME = 100

_NOT_IN_NAMES = re.compile(r"[^\w.,()+@ -]")
_NAME_LIMIT_CHARS = 100


class Conversations(Protocol):
    """The conversations (the part of `core.store.port.Store` these tools need)."""

    async def thread(self, thread_id: str) -> "ThreadRow | None":
        """Return a thread."""
        ...

    async def entries(self, thread_id: str, limit: int) -> "Sequence[Entry]":
        """Return its newest entries."""
        ...


def attachment_tools(
    conversations: Conversations,
    fetching: Callable[[], AttachmentSource] | None,
    notifier: Callable[[], Notifier] | None,
) -> tuple[Tool, Tool, Tool]:
    """Return all three tools. `fetching` and `notifier` are called on first use; None: not available."""
    attached = _Attached(conversations, fetching)
    return _read_tool(attached), _save_tool(attached), _send_tool(notifier)


_Name = Annotated[
    str | None, "the file's name; default: the newest file", Field(min_length=1, max_length=200)
]


def _read_tool(attached: "_Attached") -> Tool:
    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.OWN)
    async def read_attachment(call: CallContext, name: _Name = None) -> str:
        """Read a text file that was attached in this conversation."""
        found, content = await attached.content(call.thread_id, name, READ_LIMIT_BYTES)
        text, whole = text_of(BytesIO(content), found.name)
        if not text:
            return "[The file is empty.]"
        return (
            text if whole else f"{text}\n[Bytes that are not UTF-8 are shown as \N{REPLACEMENT CHARACTER}.]"
        )

    return read_attachment


def _save_tool(attached: "_Attached") -> Tool:
    # Idempotent: an existing file with the same content counts as saved.
    @tool(requirement=Requirement.ASK, effect=Effect.IDEMPOTENT, data=Data.SHARED)
    async def save_attachment(call: CallContext, name: _Name = None) -> str:
        """Save a file that was attached in this conversation to the workspace."""
        found, content = await attached.content(call.thread_id, name, SAVE_LIMIT_BYTES)
        draft, wanted, guard = draft_of(call), file_name(found.name), guard_of(call.workspace)
        path = await to_its_end(lambda given_up: _save(guard, wanted, content, draft, given_up))
        return f"Saved as {path} in the workspace, {len(content)} bytes."

    return save_attachment


def _send_tool(notifier: Callable[[], Notifier] | None) -> Tool:
    # Idempotent: a message under a call's key is not sent again.
    @tool(
        requirement=Requirement.ASK,
        effect=Effect.IDEMPOTENT,
        data=Data.SHARED,
        rate=rating(Requirement.ASK),
    )
    async def send_file(
        call: CallContext,
        path: Annotated[str, "path relative to the workspace, such as notes/today.txt"],
        text: Annotated[str, "a caption, in Markdown", Field(max_length=TEXT_LIMIT_CHARS)] = "",
    ) -> str:
        """Send a file from the workspace to the person you are talking to, in this conversation."""
        if notifier is None:
            raise ToolFailed("Sending is not available now.")
        file = await asyncio.to_thread(sendable, call.workspace, path)
        message = Message((Markdown(text),) if text.strip() else (), files=(file,))
        try:
            await notifier().send(f"call:{call.idempotency_key}", notices.ToThread(call.thread_id), message)
        except NobodyToTell as error:
            raise ToolFailed(f"Files can't be sent here: {error}") from error
        return "The file is queued for sending."

    return send_file


# --- attachments -----------------------------------------------------------------------------------------


class _Attached:
    """The files of conversations."""

    def __init__(self, conversations: Conversations, fetching: Callable[[], AttachmentSource] | None) -> None:
        self._conversations = conversations
        self._fetching = fetching

    async def content(self, thread_id: str, name: str | None, limit_bytes: int) -> tuple[Attachment, bytes]:
        """Return the newest file, or the newest of that name, and its content. Raises ToolFailed."""
        thread = await self._conversations.thread(thread_id)
        if thread is None or self._fetching is None:
            raise ToolFailed("Files can't be attached here.")
        found = await self._find(thread_id, name)
        try:
            return found, await self._fetching().fetch(thread.channel, found, limit_bytes)
        except AttachmentTooLarge as error:
            raise ToolFailed(
                f"{quoted(found.name)} is larger than this tool's limit of {limit_bytes} bytes."
            ) from error
        except ChannelError as error:
            raise ToolFailed(f"{quoted(found.name)} could not be downloaded: {error}") from error

    async def _find(self, thread_id: str, name: str | None) -> Attachment:
        entries = await self._conversations.entries(thread_id, ENTRIES_LOOKED_AT)
        files = [
            file
            for entry in reversed(entries)
            if isinstance(entry.said, UserSaid)
            for file in reversed(entry.said.attachments)
        ]
        if not files:
            raise ToolFailed("No file was attached in this conversation.")
        found = next((file for file in files if name in {None, file.name, folded(file.name)}), None)
        if found is None:
            names = ", ".join(dict.fromkeys(quoted(file.name) for file in files[:20]))
            raise ToolFailed(f"No file with that name was attached here; available: {names}")
        return found


def file_name(name: str) -> str:
    """Return a person's file name as it may be used on disk: no path, not hidden, not too long."""
    last = _NOT_IN_NAMES.sub("_", re.split(r"[/\\]", name)[-1]).strip(". ")
    stem, dot, ending = last.rpartition(".")
    if len(last) > _NAME_LIMIT_CHARS and 0 < len(ending) <= 10:
        return f"{stem[: _NAME_LIMIT_CHARS - len(ending) - 1]}{dot}{ending}"
    return last[:_NAME_LIMIT_CHARS] or "file"


def _save(guard: PathGuard, name: str, content: bytes, draft: str, given_up: threading.Event) -> str:
    """Save next to existing files: under a name of its own, unless it is already there."""
    with guard.place(f"{FOLDER}/{name}", make_parents=True) as place:
        try:
            write_draft(place.directory, draft, content, 0o600, guard)
            if given_up.is_set():
                raise ToolFailed("The call was cancelled before anything was written.")
            taken = next((one for one in _names(name) if _takes(guard, place, one, draft, content)), None)
        finally:
            discard(draft, place.directory)
        os.fsync(place.directory)
    if taken is None:
        raise ToolFailed(f"There are {MAX_OF_ONE_NAME} files named {name} in {FOLDER}; delete some first.")
    return f"{FOLDER}/{taken}"


def _names(name: str) -> Sequence[str]:
    stem, dot, ending = name.rpartition(".")
    stem, ending = (stem, f"{dot}{ending}") if stem else (name, "")
    return [name, *(f"{stem}-{number}{ending}" for number in range(2, MAX_OF_ONE_NAME + 1))]


def _takes(guard: PathGuard, place: Place, name: str, draft: str, content: bytes) -> bool:
    """Return whether the draft got that name, or the same content already has it."""
    try:
        os.link(draft, name, src_dir_fd=place.directory, dst_dir_fd=place.directory, follow_symlinks=False)
    except FileExistsError:
        try:
            with guard.reading(f"{FOLDER}/{name}") as file:
                return file.read(len(content) + 1) == content
        except (ToolFailed, ToolDenied):
            return False
    return True


# --- sent files ------------------------------------------------------------------------------------------


def sendable(workspace: Workspace, path: str) -> File:
    """Return a file of the workspace as it is sent. Raises ToolFailed, ToolDenied."""
    from mimetypes import guess_type  # reads the system's tables on import

    guard = guard_of(workspace)
    with guard.reading(path) as file:
        found = os.fstat(file.fileno())
    name = guard.name(path)
    if not found.st_size:
        raise ToolFailed(f"{name} is empty.")
    media_type = guess_type(name)[0] or "application/octet-stream"
    return File(
        f"{workspace.sent_as}{name}", name.rpartition("/")[2], media_type, found.st_size, found.st_mtime_ns
    )
