"""Removal of the files that belonged to deleted conversations."""

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, assert_never

from core.errors import HubError
from core.store.feed import ARCHIVES, DeletedFile, DeletedThreads, FileKind

REMOVE_EVERY_S = 10.0
AT_ONCE = 50
CALLS_AT_ONCE = 500
_OURS = re.compile(r"\d+-\d+\.md|\.hubbub-[0-9a-f-]+\.tmp")
"""The files that compaction makes, also those that it could not finish."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FilesNotRemoved(HubError):
    """Files of deleted conversations could not be removed; it is tried again."""


class Uploads(Protocol):
    """The files uploaded in the console (the part of bot.web.uploads.FileUploads that removes them)."""

    def leaving(self, handles: Sequence[str]) -> AbstractContextManager[Sequence[str]]:
        """Keep messages from taking these files until the block ends. Yields those that none takes now."""
        ...

    def remove(self, handle: str) -> None:
        """Remove a file, if it is still there."""
        ...


class DeletedFiles:
    """The files of deleted conversations: in the console's uploads, in the workspace, and among `outputs`."""

    def __init__(self, threads: DeletedThreads, uploads: Uploads, workspace: Path, outputs: Path) -> None:
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
