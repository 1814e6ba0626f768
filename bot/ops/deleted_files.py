"""Removal of the files that belonged to deleted conversations."""

import asyncio
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from core.errors import HubError
from core.store.feed import ARCHIVES, DeletedFile, FileKind

REMOVE_EVERY_S = 10.0
AT_ONCE = 50
_OURS = re.compile(r"\d+-\d+\.md|\.hubbub-[0-9a-f-]+\.tmp")
"""The files that compaction makes, also those that it could not finish."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FilesNotRemoved(HubError):
    """Files of deleted conversations could not be removed; it is tried again."""


class DeletedThreads(Protocol):
    """The deleted threads (the part of core.store.feed.Threads that names their files)."""

    async def deleted_files(self, limit: int) -> Sequence[DeletedFile]:
        """Return files of deleted threads that are still to be removed."""
        ...

    async def files_removed(self, files: Sequence[DeletedFile]) -> None:
        """Forget files that are removed, or still wanted."""
        ...


class DeletedFiles:
    """The files of deleted conversations. `remove_upload`: removes a file of the console by its id."""

    def __init__(
        self, threads: DeletedThreads, remove_upload: Callable[[str], None], workspace: Path
    ) -> None:
        self._threads = threads
        self._remove_upload = remove_upload
        self._workspace = workspace

    async def look(self) -> None:
        """Remove what is noted. Raises FilesNotRemoved."""
        while files := await self._threads.deleted_files(AT_ONCE):
            failed = await asyncio.to_thread(self._remove, files)
            await self._threads.files_removed([file for file in files if file not in failed])
            if failed:
                raise FilesNotRemoved("; ".join(map(str, failed.values())))

    def _remove(self, files: Sequence[DeletedFile]) -> dict[DeletedFile, OSError]:
        failed: dict[DeletedFile, OSError] = {}
        for file in files:
            try:
                if file.wanted:
                    continue
                if file.kind is FileKind.UPLOAD:
                    self._remove_upload(file.name)
                else:
                    _remove_archive(self._workspace, file.name)
            except OSError as error:
                failed[file] = error
        return failed


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
        left = [one for one in os.listdir(folder) if not _removed(one, folder)]
        if not left:
            os.rmdir(name, dir_fd=archives)
        os.fsync(archives)
    finally:
        os.close(folder)
        os.close(archives)


def _removed(name: str, folder: int) -> bool:
    if not _OURS.fullmatch(name):
        return False
    os.unlink(name, dir_fd=folder)
    return True
