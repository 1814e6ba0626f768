"""Telegram's updates as the hub's values. Pure; reading never raises, whatever the update.

Event keys: `tg:<bot>:m:<chat>:<message>`, with `:e<edit date>.<hash of the text>` for an edited
text, `tg:<bot>:cb:<query>` for a button press, `tg:<bot>:mv:<chat>:<chat>` for a group that became
a supergroup, and `tg:<bot>:u:<update>` for an unreadable update.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field, ValidationError

from channels.telegram.addresses import Account, address_of, order_key_of, ref_of
from channels.telegram.entities import MAX_ENTITIES
from channels.text.blocks import mend_surrogates
from core.clock import SECOND_US
from core.messages import (
    EDIT,
    Attachment,
    ChoiceAnswer,
    InboundEvent,
    InboundMessage,
    Moved,
    Sender,
    Unreadable,
    as_taken,
)

# The parts of https://core.telegram.org/bots/api#update that the hub reads, checked strictly.
#
# Everything else in an update is ignored, so that other additions and changes by the platform
# cannot make a message unreadable.

MAX_LISTED = 100
"""The limit on list items read. Telegram ignores entities after the hundredth, and a photo has only a
few sizes."""

Id = Annotated[int, Field(ge=-(2**53), le=2**53)]
"""Ids have at most 52 significant bits (Bot API, Chat)."""

MessageId = Annotated[int, Field(ge=0, le=2**53)]

Seconds = Annotated[int, Field(ge=0, le=253_402_300_799)]
"""Unix time, up to the year 9999."""


class Wire(BaseModel):
    """A model without coercion: a number in quotes is not a number."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class User(Wire):
    """A user or bot: https://core.telegram.org/bots/api#user."""

    id: Id
    is_bot: bool = False
    first_name: str = ""
    last_name: str | None = None
    username: str | None = None


class Chat(Wire):
    """A chat: https://core.telegram.org/bots/api#chat."""

    id: Id
    type: str


class Entity(Wire):
    """A message entity, with offset and length in UTF-16 code units:
    https://core.telegram.org/bots/api#messageentity."""

    type: str
    offset: Annotated[int, Field(ge=0)]
    length: Annotated[int, Field(ge=0)]
    user: User | None = None


class Media(Wire):
    """The common fields of Document, Audio, Voice, Video and PhotoSize."""

    file_id: str
    file_size: Annotated[int, Field(ge=0, le=2**53)] = 0
    file_name: str | None = None
    mime_type: str | None = None


class Replied(Wire):
    """The message replied to. A topic's first message names the topic's creation here, which is no reply."""

    message_id: MessageId
    sender: Annotated[User | None, Field(alias="from")] = None
    forum_topic_created: object = None


def _first(values: object) -> object:
    return cast("list[Any]", values)[:MAX_LISTED] if isinstance(values, list) else values


def _last(values: object) -> object:
    return cast("list[Any]", values)[-MAX_LISTED:] if isinstance(values, list) else values


Entities = Annotated[list[Entity], FailFast(), BeforeValidator(_first)]
PhotoSizes = Annotated[list[Media], FailFast(), BeforeValidator(_last)]  # the largest is the last


class Message(Wire):
    """A message: https://core.telegram.org/bots/api#message."""

    message_id: MessageId
    chat: Chat
    date: Seconds
    edit_date: Seconds | None = None
    media_group_id: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    migrate_to_chat_id: Id | None = None
    migrate_from_chat_id: Id | None = None
    sender: Annotated[User | None, Field(alias="from")] = None
    sender_chat: Chat | None = None
    message_thread_id: MessageId | None = None
    is_topic_message: bool = False
    reply_to_message: Replied | None = None
    text: str | None = None
    caption: str | None = None
    entities: Entities = []
    caption_entities: Entities = []
    photo: PhotoSizes = []
    document: Media | None = None
    audio: Media | None = None
    voice: Media | None = None
    video: Media | None = None

    @property
    def topic_id(self) -> int | None:
        """The forum topic. Without the flag, a thread id only marks a chain of replies."""
        return self.message_thread_id if self.is_topic_message else None


class Pressed(Wire):
    """The message whose button was pressed: a Message, or an InaccessibleMessage with few fields."""

    message_id: MessageId
    chat: Chat
    message_thread_id: MessageId | None = None
    is_topic_message: bool = False


class CallbackQuery(Wire):
    """A button press: https://core.telegram.org/bots/api#callbackquery."""

    id: Annotated[str, Field(min_length=1, max_length=64)]
    sender: Annotated[User, Field(alias="from")]
    message: Pressed | None = None
    data: str | None = None


class Update(Wire):
    """An update: https://core.telegram.org/bots/api#update."""

    update_id: Annotated[int, Field(ge=0, le=2**53)]
    message: Message | None = None
    edited_message: Message | None = None
    callback_query: CallbackQuery | None = None


# The addressee of a message, and its text without the bot's name. Pure; no entity raises an error.
#
# In a group, people must name the bot to reach it, but its name is not part of the text for it. It
# is therefore removed at the beginning and end of a message, so `@bot yes` answers a card as `yes`
# does.

_BEHIND_A_NAME = ",: \t\n"
"""The separators between a name and the text: `Hub, what time is it?`"""


def to_whom(text: str, entities: list[Entity], account: Account) -> tuple[str, bool]:
    """Return the text without the bot's name, and whether the text addresses the bot by name or command.

    The name is removed after the bot's command and at both ends. A text that is only the name stays."""
    first = next((e for e in entities if e.type == "bot_command" and e.offset == 0), None)
    if first is not None:
        said = _covered(text, first)
        command, _, to = said.partition("@")
        if to.casefold() in ("", account.username.casefold()):
            return command + text[len(said) :], True
    names = [entity for entity in entities if _is_name(text, entity, account)]
    return (_without(text, names), True) if names else (text, False)


def _is_name(text: str, entity: Entity, account: Account) -> bool:
    if entity.type == "text_mention":
        return entity.user is not None and entity.user.id == account.id
    return entity.type == "mention" and _covered(text, entity).casefold() == f"@{account.username.casefold()}"


def _without(text: str, names: list[Entity]) -> str:
    """Remove names at both ends of the text. Entities count in UTF-16 code units."""
    units = text.encode("utf-16-le")
    start, end = 0, len(units)
    for name in sorted(names, key=lambda entity: entity.offset):
        if not _text(units[start : 2 * name.offset]).strip(_BEHIND_A_NAME):
            start = max(start, 2 * (name.offset + name.length))
    for name in sorted(names, key=lambda entity: -entity.offset):
        if name.offset * 2 >= start and not _text(units[2 * (name.offset + name.length) : end]).strip():
            end = 2 * name.offset
    said = _text(units[start:end])
    return (said.lstrip(_BEHIND_A_NAME) if start else said).strip() or text


def _covered(text: str, entity: Entity) -> str:
    return _text(text.encode("utf-16-le")[2 * entity.offset : 2 * (entity.offset + entity.length)])


def _text(units: bytes) -> str:
    return units.decode("utf-16-le", "replace")


# The files and the sender of a Telegram message, as the hub's values.

DOWNLOAD_LIMIT_BYTES = 20 * 1024 * 1024
"""Bot API, getFile: "bots can download files of up to 20MB in size"."""


def attachments_of(message: Message) -> tuple[Attachment, ...]:
    """Return the message's files, with the largest size of a photo."""
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
    """Return the person who wrote or pressed."""
    name = " ".join(part for part in (user.first_name, user.last_name) if part)
    return Sender(str(user.id), clean(name or str(user.id)), clean(user.username) if user.username else None)


def clean(text: str) -> str:
    """Return the text without NUL and lone surrogates, which some databases reject.

    Its length in UTF-16 units stays the same, unless it is too long to be accepted."""
    return mend_surrogates(as_taken(text)).replace("\0", "\ufffd")


ALLOWED_UPDATES = ("message", "edited_message", "callback_query")
"""The updates that the hub requests: no channel posts, no reactions."""


_CHOICE = re.compile(r"p:([0-9A-Za-z]{1,32}):([0-9]{1,5}|e)")

_NOT_UNDERSTOOD = (
    "animation", "checklist", "contact", "dice", "game", "giveaway", "invoice", "live_photo", "location",
    "paid_media", "poll", "sticker", "story", "venue", "video_note",
)  # fmt: skip
"""Content that the hub cannot read. A message without such a field is a service message."""


def read_update(payload: object, account: Account, channel: str, now: int) -> InboundEvent | None:
    """Return the event in an update, or None for kinds that do not concern the hub.

    `now`: microseconds UTC."""
    try:
        update = Update.model_validate(payload)
    except ValidationError as error:
        return Unreadable(_update_key(payload, account), channel, _summary(error), now)
    if update.callback_query is not None:
        return _read_press(update.callback_query, account, channel, now)
    message = update.message or update.edited_message
    if message is not None and (moved := _read_move(message, account, channel)) is not None:
        return moved
    if message is None or message.sender is None or message.sender_chat is not None or message.sender.is_bot:
        return None
    key = f"tg:{account.id}:m:{message.chat.id}:{message.message_id}"
    event = _read_message(message, message.sender, key, account, channel)
    if update.message is None:
        return None if event is None else _as_edit(event, message)
    if event is None and (kind := _kind_of(payload)) is not None:
        return _read_message(message, message.sender, key, account, channel, not_understood=kind)
    return event


def moved(old_chat_id: int, chat_id: int, account: Account, channel: str, sent_at: int) -> Moved:
    """Return the event for a group that became a supergroup, where its conversations continue."""
    old, new = address_of(old_chat_id), address_of(chat_id)
    key = f"tg:{account.id}:mv:{old}:{new}"
    return Moved(key, channel, old, old, new, new, sent_at)


def unread_update(update_id: int, why: str, account: Account, channel: str, now: int) -> Unreadable:
    """Return an event for an update of which only the id was read."""
    return Unreadable(_key_of(update_id, account), channel, why, now)


def update_id_of(payload: object) -> int | None:
    """Return the update's id, even if the rest is invalid."""
    value = _field(payload, "update_id")
    return value if type(value) is int and 0 <= value <= 2**53 else None


def press_id_of(payload: object) -> str | None:
    """Return the id by which a button press is answered, even if the rest is invalid."""
    value = _field(_field(payload, "callback_query"), "id")
    return value if isinstance(value, str) else None


# ---------------------------------------------------------------- messages


def _read_move(message: Message, account: Account, channel: str) -> Moved | None:
    """Return the group's migration to a supergroup. Telegram reports it in both chats, in any order."""
    sent_at = message.date * SECOND_US
    if message.migrate_to_chat_id is not None:
        return moved(message.chat.id, message.migrate_to_chat_id, account, channel, sent_at)
    if message.migrate_from_chat_id is not None:
        return moved(message.migrate_from_chat_id, message.chat.id, account, channel, sent_at)
    return None


def _as_edit(event: InboundMessage, message: Message) -> InboundMessage:
    """Return the event as an edit. The hash in its key distinguishes edits within one second."""
    says = hashlib.sha256(event.text.encode("utf-16-le", "surrogatepass")).hexdigest()[:12]
    return replace(event, key=f"{event.key}:e{message.edit_date or 0}.{says}", edits=event.key)


def _read_message(
    message: Message,
    sender: User,
    key: str,
    account: Account,
    channel: str,
    *,
    not_understood: str | None = None,
) -> InboundMessage | None:
    attachments = attachments_of(message)
    text = message.text if message.text is not None else message.caption
    if text is None and not attachments and not_understood is None:
        return None
    text = clean(text or "")  # as long as before, in the units that entities count
    entities = (message.entities or message.caption_entities)[:MAX_ENTITIES]
    direct = message.chat.type == "private"
    text, addressed = to_whom(text, entities, account)
    reply = message.reply_to_message if message.reply_to_message else None
    if reply is not None and reply.forum_topic_created is not None:
        reply = None
    replied_to_us = reply is not None and reply.sender is not None and reply.sender.id == account.id
    address = address_of(message.chat.id, message.topic_id)
    return InboundMessage(
        key=key,
        order_key=order_key_of(message.message_id),
        channel=channel,
        address=address,
        scope=address,
        sender=sender_of(sender),
        text=text,
        sent_at=(message.edit_date or message.date) * SECOND_US,
        direct=direct,
        addressed=direct or addressed or replied_to_us,
        attachments=attachments,
        reply_to=ref_of(message.chat.id, reply.message_id) if reply is not None else None,
        ref=ref_of(message.chat.id, message.message_id),
        album=f"tg:{account.id}:g:{clean(message.media_group_id)}" if message.media_group_id else None,
        not_understood=not_understood,
    )


# ---------------------------------------------------------------- presses


def _read_press(query: CallbackQuery, account: Account, channel: str, now: int) -> ChoiceAnswer | Unreadable:
    key = f"tg:{account.id}:cb:{clean(query.id)}"
    choice = _CHOICE.fullmatch(query.data or "")
    pressed = query.message
    if choice is None or pressed is None:
        return Unreadable(key, channel, "a button that is not the hub's", now)
    topic_id = pressed.message_thread_id if pressed.is_topic_message else None
    return ChoiceAnswer(
        key=key,
        channel=channel,
        address=address_of(pressed.chat.id, topic_id),
        sender=sender_of(query.sender),
        gate_id=choice[1],
        choice=EDIT if choice[2] == "e" else int(choice[2]),
        sent_at=now,
        direct=pressed.chat.type == "private",
        ref=ref_of(pressed.chat.id, pressed.message_id),
    )


# ---------------------------------------------------------------- unreadable updates


def _kind_of(payload: object) -> str | None:
    """Return the kind of a message without text, or None for a service message of the platform."""
    message = _field(payload, "message")
    kind = next((kind for kind in _NOT_UNDERSTOOD if _field(message, kind) is not None), None)
    return kind.replace("_", " ") if kind is not None else None


def _update_key(payload: object, account: Account) -> str:
    update_id = update_id_of(payload)
    if update_id is not None:
        return _key_of(update_id, account)
    content = json.dumps(payload, sort_keys=True, default=repr).encode()
    return f"tg:{account.id}:u:{hashlib.sha256(content).hexdigest()}"


def _key_of(update_id: int, account: Account) -> str:
    return f"tg:{account.id}:u:{update_id}"


def _summary(error: ValidationError) -> str:
    """Return the first error and its location, but never the content."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where or 'update'}: {first['msg']}"


def _field(value: object, name: str) -> object:
    return cast("Mapping[str, object]", value).get(name) if isinstance(value, Mapping) else None
