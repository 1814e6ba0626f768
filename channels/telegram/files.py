"""Files on their way to people: as photos where Telegram shows them, else as documents. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

PHOTO_LIMIT_BYTES = 10 * 1024 * 1024
"""Bot API, sendPhoto: "The photo must be at most 10 MB in size"."""

UPLOAD_LIMIT_BYTES = 50 * 1024 * 1024
"""Bot API, sendDocument: "Bots can currently send files of any type of up to 50 MB in size"."""

PHOTO_TYPES = frozenset({"image/jpeg", "image/png", "image/webp"})

ReadFile = Callable[[str, int], bytes]
"""The content of a file the hub may show, by its path, if it has at most so many bytes. Raises ValueError
with a reason for people; blocks."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file and how Telegram is to take it."""

    path: str
    name: str
    media_type: str
    as_photo: bool


class UploadMethod(NamedTuple):
    """A method of the Bot API and its parameter for the file."""

    method: str
    field: str


PHOTO = UploadMethod("send_Photo", "photo")
DOCUMENT = UploadMethod("send_Document", "document")


def methods_for(upload: Upload, size_bytes: int) -> tuple[UploadMethod, ...]:
    """What to try, in order: an image that Telegram cannot show as one is still a file."""
    if upload.as_photo and size_bytes <= PHOTO_LIMIT_BYTES:
        return PHOTO, DOCUMENT
    return (DOCUMENT,)
