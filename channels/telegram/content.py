"""What a message of Telegram's holds, as the hub's values: whom it calls, its files, its sender."""

from channels.telegram.account import Account
from channels.telegram.wire import Entity, Media, Message, User
from core.messages import (
    Attachment,
    Sender,
)

DOWNLOAD_LIMIT_BYTES = 20 * 1024 * 1024
"""Bot API, getFile: "bots can download files of up to 20MB in size"."""


def to_whom(text: str, entities: list[Entity], account: Account) -> tuple[str, bool]:
    """The text without `@username` behind its command, and whether it calls the bot by name or command."""
    username = account.username.casefold()
    addressed = False
    for entity in entities:
        match entity.type:
            case "mention" if _covered(text, entity).casefold() == f"@{username}":
                addressed = True
            case "text_mention" if entity.user is not None and entity.user.id == account.id:
                addressed = True
            case _:
                pass
    first = next((e for e in entities if e.type == "bot_command" and e.offset == 0), None)
    if first is not None:
        said = _covered(text, first)
        command, _, to = said.partition("@")
        if to.casefold() in ("", username):
            return command + text[len(said) :], True
    return text, addressed


def _covered(text: str, entity: Entity) -> str:
    units = text.encode("utf-16-le")[2 * entity.offset : 2 * (entity.offset + entity.length)]
    return units.decode("utf-16-le", "replace")


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
    """Without NUL, which not every database keeps."""
    return text.replace("\0", "\ufffd")
