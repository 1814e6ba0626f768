"""Telegram's updates as the hub's values. Pure; whatever an update holds, reading it does not raise.

Event keys: `tg:<bot>:m:<chat>:<message>`, with `:e<edit date>.<what it says>` for an edited text,
`tg:<bot>:cb:<query>` for a pressed button, `tg:<bot>:mv:<chat>:<chat>` for a group that became a supergroup,
and `tg:<bot>:u:<update>` for an update in which none of these can be made out.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from pydantic import ValidationError

from channels.telegram.account import Account
from channels.telegram.addressing import to_whom
from channels.telegram.content import attachments_of, clean, sender_of
from channels.telegram.entities import MAX_ENTITIES
from channels.telegram.places import address_of, order_key_of, ref_of
from channels.telegram.wire import CallbackQuery, Message, Update, User
from core.clock import SECOND_US
from core.messages import (
    EDIT,
    ChoiceAnswer,
    InboundEvent,
    InboundMessage,
    Moved,
    Unreadable,
)

ALLOWED_UPDATES = ("message", "edited_message", "callback_query")
"""What the hub asks Telegram for: no posts of channels, no reactions."""


_CHOICE = re.compile(r"p:([0-9A-Za-z]{1,32}):([0-9]{1,5}|e)")

_NOT_UNDERSTOOD = (
    "animation", "checklist", "contact", "dice", "game", "giveaway", "invoice", "live_photo", "location",
    "paid_media", "poll", "sticker", "story", "venue", "video_note",
)  # fmt: skip
"""Things people send that the hub cannot read; what is in no such field either is a service message."""


def read_update(payload: object, account: Account, channel: str, now: int) -> InboundEvent | None:
    """The event in an update; None for kinds nobody here is interested in. `now`: microseconds UTC."""
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
    """A group became a supergroup; its conversations go on there."""
    old, new = address_of(old_chat_id), address_of(chat_id)
    key = f"tg:{account.id}:mv:{old}:{new}"
    return Moved(key, channel, old, old, new, new, sent_at)


def unread_update(update_id: int, why: str, account: Account, channel: str, now: int) -> Unreadable:
    """An update of which nothing but its id was read."""
    return Unreadable(_key_of(update_id, account), channel, why, now)


def update_id_of(payload: object) -> int | None:
    """The update's id, however broken the rest is."""
    value = _field(payload, "update_id")
    return value if type(value) is int and 0 <= value <= 2**53 else None


def press_id_of(payload: object) -> str | None:
    """The id under which a pressed button waits for an answer, however broken the rest is."""
    value = _field(_field(payload, "callback_query"), "id")
    return value if isinstance(value, str) else None


# ---------------------------------------------------------------- messages


def _read_move(message: Message, account: Account, channel: str) -> Moved | None:
    """Both chats are told, in any order."""
    sent_at = message.date * SECOND_US
    if message.migrate_to_chat_id is not None:
        return moved(message.chat.id, message.migrate_to_chat_id, account, channel, sent_at)
    if message.migrate_from_chat_id is not None:
        return moved(message.migrate_from_chat_id, message.chat.id, account, channel, sent_at)
    return None


def _as_edit(event: InboundMessage, message: Message) -> InboundMessage:
    """Two edits within a second differ in what they say."""
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
    text = clean(text or "")  # as long as it was, in the units that entities count
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
        return Unreadable(key, channel, "a button that is not ours", now)
    topic_id = pressed.message_thread_id if pressed.is_topic_message else None
    return ChoiceAnswer(
        key=key,
        channel=channel,
        address=address_of(pressed.chat.id, topic_id),
        sender=sender_of(query.sender),
        prompt_id=choice[1],
        choice=EDIT if choice[2] == "e" else int(choice[2]),
        sent_at=now,
        direct=pressed.chat.type == "private",
        ref=ref_of(pressed.chat.id, pressed.message_id),
    )


# ---------------------------------------------------------------- what cannot be read


def _kind_of(payload: object) -> str | None:
    """What a message is whose sender said nothing in words; None: a message of the platform's own."""
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
    """What is wrong and where; never what was there."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where or 'update'}: {first['msg']}"


def _field(value: object, name: str) -> object:
    return cast("Mapping[str, object]", value).get(name) if isinstance(value, Mapping) else None
