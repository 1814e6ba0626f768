"""Files that people attach in the console, kept in the data directory until their message is read."""

import asyncio
import json
import os
import re
import unicodedata
import uuid
from pathlib import Path

from core.ids import Ids
from core.messages import Attachment

UPLOADS_NAME = "uploads"
LIMIT_BYTES = 20 * 1024 * 1024
LONGEST_NAME = 200
DEFAULT_TYPE = "application/octet-stream"
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}")


class FileUploads:
    """Implements channels.webchat.Uploads. A file's handle is its id; the name given to it is never a
    path."""

    def __init__(self, directory: Path, ids: Ids) -> None:
        self._directory = directory
        self._ids = ids

    async def keep(self, user_id: str, name: str, media_type: str, content: bytes) -> tuple[str, Attachment]:
        """Keep a file for a person; its id, and what it is."""
        handle = self._ids.row_id()
        attachment = Attachment(handle, plain_name(name), _type_of(media_type), len(content), LIMIT_BYTES)
        await asyncio.to_thread(self._write, user_id, attachment, content)
        return handle, attachment

    async def of(self, user_id: str, handle: str) -> Attachment | None:
        """A file this person uploaded."""
        return await asyncio.to_thread(self._describe, user_id, handle)

    async def read(self, handle: str) -> bytes:
        """See channels.webchat.Uploads."""
        return await asyncio.to_thread(self._path(handle).read_bytes)

    def _write(self, user_id: str, attachment: Attachment, content: bytes) -> None:
        self._directory.mkdir(mode=0o700, exist_ok=True)
        about = {"user_id": user_id, "name": attachment.name, "media_type": attachment.media_type}
        path = self._path(attachment.handle)
        for target, data in ((path, content), (path.with_suffix(".json"), json.dumps(about).encode())):
            fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())

    def _describe(self, user_id: str, handle: str) -> Attachment | None:
        try:
            path = self._path(handle)
            about = json.loads(path.with_suffix(".json").read_text())
            size_bytes = path.stat().st_size
        except (OSError, ValueError):
            return None
        if about["user_id"] != user_id:
            return None
        return Attachment(handle, about["name"], about["media_type"], size_bytes, LIMIT_BYTES)

    def _path(self, handle: str) -> Path:
        """Raises FileNotFoundError for what is no id."""
        try:
            return self._directory / str(uuid.UUID(handle))
        except ValueError as error:
            raise FileNotFoundError(handle) from error


def plain_name(name: str) -> str:
    """The last part of a path, without what steers or hides."""
    last = re.split(r"[/\\]", name)[-1]
    kept = "".join(one for one in last if unicodedata.category(one)[0] != "C").strip(" .")
    return kept[:LONGEST_NAME] or "unnamed"


def _type_of(media_type: str) -> str:
    found = media_type.partition(";")[0].strip().lower()
    return found if _MEDIA_TYPE.fullmatch(found) else DEFAULT_TYPE
