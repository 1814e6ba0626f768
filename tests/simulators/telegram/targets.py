"""Targets of a request: chats the bot may write to, topics, messages to edit or to answer, keyboards."""

import json
from typing import Any

from tests.simulators.telegram.errors import ApiError, bad_request, forbidden
from tests.simulators.telegram.limits import MAX_BUTTONS, MAX_CALLBACK_DATA_BYTES
from tests.simulators.telegram.params import Params
from tests.simulators.telegram.registry import Call
from tests.simulators.telegram.world import CHANNEL, GROUP, PRESENT, PRIVATE, Bot, Chat, Message, User

Json = dict[str, Any]
_WORDS = {GROUP: "group", "supergroup": "supergroup", CHANNEL: "channel"}
MAX_KEYBOARD_BYTES = (
    10_240  # a larger keyboard is "reply markup is too long"; the exact size is not published
)


def readable_chat(call: Call, name: str = "chat_id") -> Chat:
    """A chat the bot knows and may at least look at."""
    chat_id = call.params.chat_id(name)
    chat = call.sim.world.find_chat(call.bot, chat_id)
    if chat is None:
        if isinstance(chat_id, int) and chat_id > 0:
            return _unmet_person(call, chat_id)
        raise bad_request("chat not found")
    if chat.kind in {"supergroup", CHANNEL}:
        _check_membership(call.bot, chat)
    return chat


def writable_chat(call: Call, *, edit: bool = False) -> Chat:
    """A chat the bot may write to (or, with ``edit``, change its own messages in)."""
    chat = readable_chat(call)
    if chat.kind == PRIVATE:
        _check_person(call, chat, edit=edit)
        return chat
    if chat.migrated_to is not None and not edit:
        raise bad_request("group chat was upgraded to a supergroup chat", migrate_to_chat_id=chat.migrated_to)
    _check_membership(call.bot, chat)
    if chat.kind == CHANNEL and chat.status_of(call.bot.id) not in {"administrator", "creator"}:
        raise bad_request("need administrator rights in the channel chat")
    return chat


def _unmet_person(call: Call, user_id: int) -> Chat:
    if call.sim.world.bot_by_id(user_id) is not None and user_id != call.bot.id:
        raise forbidden("bots can't send messages to bots")
    user = call.sim.world.users.get(user_id)
    if user is None or not _has_met(call, user):
        raise bad_request("chat not found")
    return call.sim.world.private_chat(call.bot, user)


def _has_met(call: Call, user: User) -> bool:
    """Return whether the bot has a reason to know this person: a started chat or a common group."""
    if user.id in call.bot.started_by:
        return True
    chats = call.sim.world.chats.values()
    return any(c.status_of(call.bot.id) in PRESENT and c.status_of(user.id) in PRESENT for c in chats)


def _check_person(call: Call, chat: Chat, *, edit: bool) -> None:
    if chat.status_of(chat.id) == "deactivated":
        raise forbidden("user is deactivated")
    if edit:
        return
    if chat.id in call.bot.blocked_by:
        raise forbidden("bot was blocked by the user")
    if chat.id not in call.bot.started_by:
        raise forbidden("bot can't initiate conversation with a user")


def _check_membership(bot: Bot, chat: Chat) -> None:
    status, word = chat.status_of(bot.id), _WORDS[chat.kind]
    if status == "kicked":
        raise forbidden(f"bot was kicked from the {word} chat")
    if status not in PRESENT and chat.migrated_to is None:
        raise forbidden(f"bot is not a member of the {word} chat")


def topic_for(call: Call, chat: Chat) -> int | None:
    """The topic a new message goes to.

    General has no id: asking for topic 1 is refused as on the platform.
    """
    topic_id = call.params.integer("message_thread_id")
    if topic_id <= 0:
        return None
    topic = chat.topics.get(topic_id)
    if topic is None or topic.deleted:
        raise bad_request("message thread not found")
    if topic.closed and chat.status_of(call.bot.id) not in {"administrator", "creator"}:
        raise bad_request("TOPIC_CLOSED")
    return topic_id


def reply_for(call: Call, chat: Chat) -> tuple[Message | None, Json | None]:
    """The message to answer and the quotation, from ``reply_parameters`` or ``reply_to_message_id``."""
    parameters = call.params.json("reply_parameters", "reply parameters")
    if parameters is None:
        parameters = {
            "message_id": call.params.integer("reply_to_message_id"),
            "allow_sending_without_reply": call.params.flag("allow_sending_without_reply"),
        }
    if not isinstance(parameters, dict):
        raise bad_request("object expected as reply parameters")
    inner = Params(parameters)
    message_id = inner.integer("message_id")
    if message_id <= 0:
        return None, None
    target = chat.messages.get(message_id)
    if target is None or target.deleted:
        if inner.flag("allow_sending_without_reply"):
            return None, None
        raise bad_request("message to be replied not found")
    quoted = inner.text("quote")
    if quoted and quoted not in target.text:
        raise bad_request("message quote not found")
    quote = (
        {"text": quoted, "position": inner.integer("quote_position"), "is_manual": True} if quoted else None
    )
    return target, quote


def own_message(call: Call, chat: Chat, what: str) -> Message:
    """A message of the bot to change. Raises ``ApiError`` if it is not there or not the bot's."""
    message = chat.messages.get(call.params.integer("message_id"))
    if message is None or message.deleted:
        raise bad_request(f"{what} not found")
    if message.sender is None or message.sender.id != call.bot.id:
        raise bad_request("message can't be edited")
    return message


def keyboard_of(call: Call) -> Json | None:
    """The ``reply_markup`` parameter, checked. An empty inline keyboard is none."""
    markup = call.params.json("reply_markup", "reply keyboard markup")
    if markup is None:
        return None
    if not isinstance(markup, dict):
        raise bad_request("object expected as reply markup")
    rows = markup.get("inline_keyboard")
    if rows is None:
        return markup
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise bad_request('field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays')
    kept = [[_button(button) for button in row] for row in rows if row]
    if sum(len(row) for row in kept) > MAX_BUTTONS:
        raise bad_request("reply markup is too long")
    if len(json.dumps(kept, ensure_ascii=False).encode()) > MAX_KEYBOARD_BYTES:
        raise bad_request("reply markup is too long")
    return {"inline_keyboard": kept} if kept else None


def _button(raw: Any) -> Json:
    if not isinstance(raw, dict):
        raise _bad_button("InlineKeyboardButton must be an Object")
    text = raw.get("text")
    if not isinstance(text, str):
        raise _bad_button('Can\'t find field "text"')
    if not text.strip():
        raise bad_request("BUTTON_TEXT_INVALID")
    button: Json = {"text": text}
    data = raw.get("callback_data")
    if raw.get("url"):
        return button | {"url": raw["url"]}
    if data:
        if len(str(data).encode()) > MAX_CALLBACK_DATA_BYTES:
            raise bad_request("BUTTON_DATA_INVALID")
        return button | {"callback_data": str(data)}
    others = {name: value for name, value in raw.items() if name != "callback_data" and value is not None}
    if len(others) > 1:
        return others
    raise _bad_button("Text buttons are unallowed in the inline keyboard")


def _bad_button(reason: str) -> ApiError:
    return bad_request(f"can't parse inline keyboard button: {reason}")
