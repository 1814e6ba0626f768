"""Images that people attach, for models that see: downloaded for their own turn, and kept in no journal."""

import asyncio
from collections.abc import Sequence

from core.errors import AttachmentTooLarge, ChannelError
from core.messages import Attachment, size_in_words
from core.model.base import ImagePart
from core.ports import AttachmentSource
from core.transcript import Entry, UserSaid

MAX_IMAGES = 4
MAX_IMAGE_BYTES = 3_900_000
"""Anthropic takes 5 MB of an image in Base64."""
DOWNLOAD_TIMEOUT_S = 30.0

TOO_MANY = f"only {MAX_IMAGES} images of a message are shown"
TOO_LARGE = f"it is larger than {size_in_words(MAX_IMAGE_BYTES)}"
NOT_DOWNLOADED = "it could not be downloaded"
OF_ANOTHER_KIND = "it is not a PNG, JPEG, GIF or WebP image"


class TurnImages:
    """The images of a turn's newest input. `source`: None if no model sees, so that nothing is downloaded."""

    def __init__(self, source: AttachmentSource | None, channel: str, turn_id: str) -> None:
        self._source = source
        self._channel = channel
        self._turn_id = turn_id
        self._loaded: tuple[UserSaid | None, Sequence[ImagePart]] = (None, ())

    async def newest(self, entries: Sequence[Entry]) -> Sequence[ImagePart]:
        """Return the images that came with the newest input, also those that can't be shown.

        They are downloaded once."""
        said = next(
            (
                entry.said
                for entry in reversed(entries)
                if entry.turn_id == self._turn_id and isinstance(entry.said, UserSaid)
            ),
            None,
        )
        if said is None or not said.attachments:
            return ()
        if self._loaded[0] is not said:
            images = [file for file in said.attachments if file.media_type.startswith("image/")]
            self._loaded = (said, await asyncio.gather(*map(self._part, range(len(images)), images)))
        return self._loaded[1]

    async def _part(self, place: int, file: Attachment) -> ImagePart:
        if self._source is None:
            return ImagePart(file.name, file.media_type)
        if place >= MAX_IMAGES:
            return ImagePart(file.name, file.media_type, problem=TOO_MANY)
        if file.size_bytes > MAX_IMAGE_BYTES or file.out_of_reach:
            return ImagePart(file.name, file.media_type, problem=TOO_LARGE)
        try:
            async with asyncio.timeout(DOWNLOAD_TIMEOUT_S):
                data = await self._source.fetch(self._channel, file, MAX_IMAGE_BYTES)
        except AttachmentTooLarge:
            return ImagePart(file.name, file.media_type, problem=TOO_LARGE)
        except (ChannelError, TimeoutError):
            return ImagePart(file.name, file.media_type, problem=NOT_DOWNLOADED)
        media_type = image_type(data)
        if not media_type:
            return ImagePart(file.name, file.media_type, problem=OF_ANOTHER_KIND)
        return ImagePart(file.name, media_type, data)


def image_type(data: bytes) -> str:
    """Return the media type of an image, told by its first bytes: the kinds that models take, or nothing."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return ""
