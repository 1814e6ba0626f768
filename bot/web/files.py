"""Files of conversations: attached in the console, stored in the data directory for a month, opened by
addresses, and removed with their conversation.

A person's files and concurrent uploads are limited; a file is written as it arrives, so uploads take
almost no memory.
"""

import asyncio
import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
import time
import unicodedata
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, assert_never
from urllib.parse import quote, unquote

from core.clock import SECOND_US, Clock
from core.errors import HubError
from core.ids import Ids
from core.lazy import dataclass
from core.messages import Attachment
from core.store.feed import ARCHIVES, DeletedFile, DeletedThreads, FileKind

UPLOADS_NAME = "uploads"
LIMIT_BYTES = 20 * 1024 * 1024
LIFE_S = 30 * 86_400
"""The life of a file after its upload, whether a message took it or not."""
MAX_OF_ONE = 500
MAX_BYTES_OF_ONE = 1024 * 1024 * 1024
"""The storage limit of one person, with `MAX_OF_ONE` files."""
AT_ONCE_OF_ONE = 10
"""Uploads of one person that are under way: as many as one message may carry."""
TIDY_EVERY_S = 3600.0
LONGEST_NAME = 200
DEFAULT_TYPE = "application/octet-stream"
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}")
_ARRIVING = ".part"
_ABOUT = ".json"


class TooManyUploads(HubError):
    """This person may upload nothing more now; the message says until when."""


class EmptyUpload(HubError):
    """Nothing arrived."""


class UploadsNotTidied(HubError):
    """Expired files could not be removed; they are not served."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A file's description; `at`: when it was uploaded, microseconds UTC."""

    path: Path
    user_id: str
    name: str
    media_type: str
    at: int


class FileUploads:
    """Implements channels.webchat.Uploads. A file's handle is its id; the name given to it is never a
    path."""

    def __init__(self, directory: Path, clock: Clock, ids: Ids) -> None:
        self._directory = directory
        self._clock = clock
        self._ids = ids
        self._arriving: Counter[str] = Counter()
        self._taken: Counter[str] = Counter()
        self._leaving: set[str] = set()

    async def tidy(self) -> None:
        """Remove what is too old."""
        try:
            if self._directory.exists():  # most hubs are sent no files, and a thread takes memory
                await asyncio.to_thread(self._tidy)
        except OSError as error:
            raise UploadsNotTidied(str(error)) from error

    async def keep(
        self, user_id: str, name: str, media_type: str, content: AsyncIterator[bytes]
    ) -> tuple[str, Attachment]:
        """Keep a file for a person; its id, and what it is. Raises TooManyUploads, EmptyUpload."""
        if self._arriving[user_id] >= AT_ONCE_OF_ONE:
            raise TooManyUploads(
                f"{AT_ONCE_OF_ONE} of your uploads are in progress; wait until one is finished"
            )
        self._arriving[user_id] += 1
        handle = self._ids.row_id()
        path = self._path(handle)
        arriving = path.with_suffix(_ARRIVING)
        try:
            await asyncio.to_thread(self._require_room, user_id)
            size_bytes = await self._receive(arriving, content)
            about = {"name": plain_name(name), "media_type": _type_of(media_type), "at": self._clock.now()}
            await asyncio.to_thread(self._settle, arriving, path, {"user_id": user_id, **about})
        finally:
            self._arriving -= Counter((user_id,))
            arriving.unlink(missing_ok=True)
        return handle, Attachment(handle, about["name"], about["media_type"], size_bytes, LIMIT_BYTES)

    @contextlib.contextmanager
    def taking(self, handles: Sequence[str]) -> Iterator[None]:
        """Keep files from being removed until the message that takes them is stored."""
        self._taken.update(handles)
        try:
            yield
        finally:
            self._taken -= Counter(handles)

    @contextlib.contextmanager
    def leaving(self, handles: Sequence[str]) -> Iterator[Sequence[str]]:
        """Keep messages from taking these files until the block ends. Yields those that none takes now."""
        free = [handle for handle in handles if not self._taken[handle]]
        self._leaving.update(free)
        try:
            yield free
        finally:
            self._leaving.difference_update(free)

    async def of(self, user_id: str, handle: str) -> Attachment | None:
        """Return a file that this person uploaded."""
        if handle in self._leaving:
            return None
        return await asyncio.to_thread(self._describe, user_id, handle)

    async def read(self, handle: str) -> bytes:
        return await asyncio.to_thread(self._read, handle)

    def remove(self, handle: str) -> None:
        """Remove a file that nothing refers to any more, if it is still there."""
        path = self._path(handle)
        path.with_suffix(_ABOUT).unlink(missing_ok=True)
        path.unlink(missing_ok=True)

    def _require_room(self, user_id: str) -> None:
        sizes = [_size_of(kept.path) for kept in self._all() if kept.user_id == user_id]
        if len(sizes) < MAX_OF_ONE and sum(sizes) < MAX_BYTES_OF_ONE:
            return
        raise TooManyUploads(
            f"you have {len(sizes)} files here; the limits are {MAX_OF_ONE} files and"
            f" {MAX_BYTES_OF_ONE >> 20} MB; each file is deleted {LIFE_S // 86_400} days after its upload"
        )

    async def _receive(self, path: Path, content: AsyncIterator[bytes]) -> int:
        file = await asyncio.to_thread(self._create, path)
        size_bytes = 0
        try:
            async for piece in content:
                size_bytes += len(piece)
                await asyncio.to_thread(file.write, piece)
        finally:
            await asyncio.to_thread(_close, file)
        if not size_bytes:
            raise EmptyUpload("the file is empty")
        return size_bytes

    def _create(self, path: Path) -> BinaryIO:
        self._directory.mkdir(mode=0o700, exist_ok=True)
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")

    def _settle(self, arriving: Path, path: Path, about: dict[str, str | int]) -> None:
        """Put a file in its place, once it is described: so nothing lies there that is never tidied up."""
        file = self._create(path.with_suffix(_ABOUT))
        try:
            file.write(json.dumps(about).encode())
        finally:
            _close(file)
        arriving.rename(path)

    def _describe(self, user_id: str, handle: str) -> Attachment | None:
        try:
            kept = self._kept(self._path(handle))
            size_bytes = kept.path.stat().st_size
        except OSError:
            return None
        if kept.user_id != user_id or self._is_over(kept):
            return None
        return Attachment(handle, kept.name, kept.media_type, size_bytes, LIMIT_BYTES)

    def _read(self, handle: str) -> bytes:
        kept = self._kept(self._path(handle))
        if self._is_over(kept):
            raise FileNotFoundError(handle)
        return kept.path.read_bytes()

    def _tidy(self) -> None:
        over = {kept.path for kept in self._all() if self._is_over(kept)}
        for path in over:
            path.with_suffix(_ABOUT).unlink(missing_ok=True)
            path.unlink(missing_ok=True)
        for path in self._directory.glob(f"*{_ARRIVING}"):
            if time.time() - path.stat().st_mtime > TIDY_EVERY_S:
                path.unlink(missing_ok=True)

    def _is_over(self, kept: _Kept) -> bool:
        return self._clock.now() >= kept.at + LIFE_S * SECOND_US

    def _all(self) -> Iterator[_Kept]:
        for about in self._directory.glob(f"*{_ABOUT}"):
            try:
                yield self._kept(about.with_suffix(""))
            except FileNotFoundError:
                continue  # removed meanwhile

    def _kept(self, path: Path) -> _Kept:
        """Read a file's description. Raises FileNotFoundError also for one that cannot be read."""
        described = path.with_suffix(_ABOUT)
        try:
            about = json.loads(described.read_text())
            at = about.get("at") or int(described.stat().st_mtime * SECOND_US)
            return _Kept(path, about["user_id"], about["name"], about["media_type"], at)
        except (ValueError, KeyError) as error:
            raise FileNotFoundError(path) from error

    def _path(self, handle: str) -> Path:
        """Raise FileNotFoundError for a text that is no id."""
        try:
            return self._directory / str(uuid.UUID(handle))
        except ValueError as error:
            raise FileNotFoundError(handle) from error


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _close(file: BinaryIO) -> None:
    with file:
        file.flush()
        os.fsync(file.fileno())


def plain_name(name: str) -> str:
    """Return the last part of a path, without characters that steer or hide text."""
    last = re.split(r"[/\\]", name)[-1]
    kept = "".join(one for one in last if unicodedata.category(one)[0] != "C").strip(" .")
    return kept[:LONGEST_NAME] or "unnamed"


def _type_of(media_type: str) -> str:
    found = media_type.partition(";")[0].strip().lower()
    return found if _MEDIA_TYPE.fullmatch(found) else DEFAULT_TYPE


# Addresses of files that open without a key: each for one path, a minute, and as long as the key that it was
# asked for with is good.
#
# A browser that downloads a file sends no headers of ours, so the console asks for such an address first. It
# is signed with a key that lives as long as the hub, and nothing is kept of it.

LINK_LIFE_US = 60 * SECOND_US
_SEPARATOR = "&link="
"""Before the signature, which is the last parameter."""


def file_target(thread_id: str, seq: int, position: int) -> str:
    """Return the path and query of a file that was sent in a thread."""
    return f"/api/threads/{thread_id}/file?seq={seq}&position={position}"


class FileLinks:
    """Signatures of addresses, made and checked."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32)

    def link(self, target: str, key: str) -> str:
        """Return the address that opens `target`, a path with a query, for the holder of a key.

        `key`: see `Caller.key`."""
        until = self._clock.now() + LINK_LIFE_US
        return f"{target}{_SEPARATOR}{until}.{self._signature(target, key, until)}.{quote(key, '')}"

    def opened_by(self, path: str, query: str) -> tuple[str, str] | None:
        """Return the key that an address was signed for and its query without the signature; None if it was
        not signed, was changed, or is too old."""
        plain_query, found, given = query.rpartition(_SEPARATOR)
        until, _, rest = given.partition(".")
        signature, _, quoted = rest.partition(".")
        if not (found and until.isascii() and until.isdecimal() and len(until) < 19):
            return None
        key = unquote(quoted)
        known = self._signature(f"{path}?{plain_query}", key, int(until))
        if not hmac.compare_digest(known.encode(), signature.encode()):
            return None
        return (key, plain_query) if self._clock.now() < int(until) else None

    def _signature(self, target: str, key: str, until: int) -> str:
        signed = f"{until}\n{key}\n{target}"
        return hmac.new(self._key, signed.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()


# Removal of the files that belonged to deleted conversations.

REMOVE_EVERY_S = 10.0
AT_ONCE = 50
CALLS_AT_ONCE = 500
_OURS = re.compile(r"\d+-\d+\.md|\.hubbub-[0-9a-f-]+\.tmp")
"""The files that compaction makes, also those that it could not finish."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FilesNotRemoved(HubError):
    """Files of deleted conversations could not be removed; it is tried again."""


class DeletedFiles:
    """The files of deleted conversations: in the console's uploads, in the workspace, and among `outputs`."""

    def __init__(self, threads: DeletedThreads, uploads: FileUploads, workspace: Path, outputs: Path) -> None:
        self._threads = threads
        self._uploads = uploads
        self._workspace = workspace
        self._outputs = outputs

    async def look(self) -> None:
        """Remove what is noted. Raises FilesNotRemoved."""
        while noted := await self._threads.deleted_files(AT_ONCE):
            uploads = [file.name for file in noted if file.kind is FileKind.UPLOAD]
            with self._uploads.leaving(uploads) as free:
                # Read again: from here on, no message takes one of these uploads.
                found = await self._threads.deleted_files(AT_ONCE)
                files = [file for file in found if file.kind is not FileKind.UPLOAD or file.name in free]
                failed = await self._removed(files)
                await self._threads.files_removed([file for file in files if file not in failed])
            if failed:
                raise FilesNotRemoved("; ".join(map(str, failed.values())))
            if not files:
                return

    async def _removed(self, files: Sequence[DeletedFile]) -> Mapping[DeletedFile, OSError]:
        """Remove the files, and return those that could not be removed."""
        failed: dict[DeletedFile, OSError] = {}
        for file in files:
            try:
                if not file.wanted:
                    await self._remove(file)
            except OSError as error:
                failed[file] = error
        return failed

    async def _remove(self, file: DeletedFile) -> None:
        match file.kind:
            case FileKind.UPLOAD:
                await asyncio.to_thread(self._uploads.remove, file.name)
            case FileKind.ARCHIVE:
                await asyncio.to_thread(_remove_archive, self._workspace, file.name)
            case FileKind.OUTPUTS:
                await self._remove_outputs()
            case _:
                assert_never(file.kind)

    async def _remove_outputs(self) -> None:
        """Remove outputs of calls that are known no more, also of one whose result was never stored."""
        outputs = await asyncio.to_thread(lambda: list(self._outputs.glob("*.txt")))
        for begin in range(0, len(outputs), CALLS_AT_ONCE):
            some = {path.stem: path for path in outputs[begin : begin + CALLS_AT_ONCE]}
            for call_id in await self._threads.unknown_calls(list(some)):
                await asyncio.to_thread(some[call_id].unlink, missing_ok=True)


def _remove_archive(workspace: Path, name: str) -> None:
    """Remove what the hub wrote into the folder, and the folder unless it holds more. No link is followed."""
    try:
        archives = os.open(workspace / ARCHIVES, _FOLDER)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        folder = os.open(name, _FOLDER, dir_fd=archives)
    except (FileNotFoundError, NotADirectoryError):
        os.close(archives)
        return
    try:
        left = [one for one in os.listdir(folder) if not _unlinked(one, folder)]
        if not left:
            os.rmdir(name, dir_fd=archives)
        os.fsync(archives)
    finally:
        os.close(folder)
        os.close(archives)


def _unlinked(name: str, folder: int) -> bool:
    if not _OURS.fullmatch(name):
        return False
    os.unlink(name, dir_fd=folder)
    return True
