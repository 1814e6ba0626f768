"""What a message of Telegram's holds, as the hub's values: its files, its sender."""

from channels.blocks import mend_surrogates
from channels.telegram.wire import Media, Message, User
from core.messages import (
    Attachment,
    Sender,
    as_taken,
)

DOWNLOAD_LIMIT_BYTES = 20 * 1024 * 1024
"""Bot API, getFile: "bots can download files of up to 20MB in size"."""


def attachments_of(message: Message) -> tuple[Attachment, ...]:
    """Its files, the largest size of a photo."""
    found: list[Attachment] = []
    if message.photo:  # the sizes of one photo, the largest last
        found.append(_attachment(message.photo[-1], "photo.jpg", "image/jpeg"))
    for media, name, media_type in (
        (message.document, "document", "application/octet-stream"),
        (message.audio, "audio.mp3", "audio/mpeg"),
        (message.voice, "voice.ogg", "audio/ogg"),
        (message.video, "video.mp4", "video/mp4"),
    ):
        if media is not None:
            found.append(_attachment(media, name, media_type))
    return tuple(found)


def _attachment(media: Media, name: str, media_type: str) -> Attachment:
    return Attachment(
        handle=clean(media.file_id),
        name=clean(media.file_name or name),
        media_type=clean(media.mime_type or media_type),
        size_bytes=media.file_size,
        limit_bytes=DOWNLOAD_LIMIT_BYTES,
    )


def sender_of(user: User) -> Sender:
    """Who wrote or pressed."""
    name = " ".join(part for part in (user.first_name, user.last_name) if part)
    return Sender(str(user.id), clean(name or str(user.id)), clean(user.username) if user.username else None)


def clean(text: str) -> str:
    """Without NUL and lone surrogates, which not every database keeps; as long as before, in UTF-16 units,
    unless it is too long to be taken."""
    return mend_surrogates(as_taken(text)).replace("\0", "\ufffd")
