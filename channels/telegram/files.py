"""Outgoing files: photos if Telegram can show them as such, else documents. Pure."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

PHOTO_LIMIT_BYTES = 10 * 1024 * 1024
"""Bot API, sendPhoto: "The photo must be at most 10 MB in size"."""

UPLOAD_LIMIT_BYTES = 50 * 1024 * 1024
"""Bot API, sendDocument: "Bots can currently send files of any type of up to 50 MB in size"."""

PHOTO_TYPES = frozenset({"image/jpeg", "image/png", "image/webp"})

ReadFile = Callable[[str, int], Awaitable[bytes]]
"""Reads a file that the hub may show, by its path and up to a limit in bytes. Blocks; raises
ValueError with a reason for people."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file, and whether to send it as a photo."""

    path: str
    name: str
    media_type: str
    as_photo: bool


class UploadMethod(NamedTuple):
    """A method of the Bot API and its parameter for the file."""

    method: str
    field: str


PHOTO = UploadMethod("sendPhoto", "photo")
DOCUMENT = UploadMethod("sendDocument", "document")


def methods_for(upload: Upload, size_bytes: int) -> tuple[UploadMethod, ...]:
    """Return the methods to try, in order. An image that Telegram cannot show as a photo is still a file."""
    if upload.as_photo and size_bytes <= PHOTO_LIMIT_BYTES:
        return PHOTO, DOCUMENT
    return (DOCUMENT,)
