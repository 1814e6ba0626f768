"""sendMessage, editMessageText, editMessageReplyMarkup, deleteMessage, sendChatAction, setMessageReaction."""

from typing import Any

from tests.simulators.telegram.content import text_content
from tests.simulators.telegram.errors import bad_request
from tests.simulators.telegram.reactions import is_reaction
from tests.simulators.telegram.registry import Call, method
from tests.simulators.telegram.targets import (
    keyboard_of,
    own_message,
    readable_chat,
    reply_for,
    topic_for,
    writable_chat,
)
from tests.simulators.telegram.world import PRIVATE, Chat, Message

Json = dict[str, Any]

ACTIONS = {
    "typing",
    "upload_photo",
    "record_video",
    "upload_video",
    "record_voice",
    "upload_voice",
    "upload_document",
    "choose_sticker",
    "find_location",
    "record_video_note",
    "upload_video_note",
}


@method("sendMessage")
def send_message(call: Call) -> Json:
    """https://core.telegram.org/bots/api#sendmessage."""
    content = text_content(call.params)
    return post(call, content).to_json()


def post(call: Call, content: Json, **fields: Any) -> Message:
    """Puts a bot's message into the chat the request names, with topic, reply and keyboard."""
    chat = writable_chat(call)
    topic_id = topic_for(call, chat)
    reply_to, quote = reply_for(call, chat)
    keyboard = keyboard_of(call)
    if topic_id is None and reply_to is not None and reply_to.topic_id is not None:
        topic_id = reply_to.topic_id
    message = call.sim.world.add_message(
        chat,
        None if chat.kind == "channel" else call.bot.user,
        call.sim.now(),
        content,
        topic_id=topic_id,
        reply_to=reply_to,
        quote=quote,
        keyboard=keyboard,
        request=call.record.number,
        **fields,
    )
    return call.touched(message)


@method("editMessageText")
def edit_message_text(call: Call) -> Json:
    """https://core.telegram.org/bots/api#editmessagetext. Without ``reply_markup`` the keyboard goes away."""
    content = text_content(call.params, too_long="MESSAGE_TOO_LONG")
    message = _editable(call)
    if "text" not in message.content:
        raise bad_request("there is no text in the message to edit")
    return change(call, message, content, keyboard_of(call))


@method("editMessageReplyMarkup")
def edit_message_reply_markup(call: Call) -> Json:
    """https://core.telegram.org/bots/api#editmessagereplymarkup."""
    return change(call, _editable(call), None, keyboard_of(call))


def _editable(call: Call) -> Message:
    return own_message(call, writable_chat(call, edit=True), "message to edit")


def change(call: Call, message: Message, content: Json | None, keyboard: Json | None) -> Json:
    """Gives a message a new content (None: the old one) and keyboard.

    Refuses a change that changes nothing.
    """
    content = message.content if content is None else content
    if content == message.content and keyboard == message.keyboard:
        raise bad_request(
            "message is not modified: specified new message content and reply markup are exactly the same"
            " as a current content and reply markup of the message"
        )
    message.history.append(
        {
            "at": call.sim.clock(),
            "request": call.record.number,
            "content": message.content,
            "keyboard": (message.keyboard or {}).get("inline_keyboard"),
        }
    )
    message.content, message.keyboard, message.edit_date = content, keyboard, call.sim.now()
    return call.touched(message).to_json()


@method("deleteMessage")
def delete_message(call: Call) -> bool:
    """https://core.telegram.org/bots/api#deletemessage."""
    chat = writable_chat(call, edit=True)
    message = chat.messages.get(call.params.integer("message_id"))
    if message is None or message.deleted:
        raise bad_request("message to delete not found")
    own = message.sender is not None and message.sender.id == call.bot.id
    if not own and chat.kind != PRIVATE and not _is_admin(call, chat):
        raise bad_request("message can't be deleted")
    if call.sim.now() - message.date >= 48 * 3600:
        raise bad_request("message can't be deleted for everyone")
    message.deleted = True
    call.touched(message)
    return True


def _is_admin(call: Call, chat: Chat) -> bool:
    return chat.status_of(call.bot.id) in {"administrator", "creator"}


@method("sendChatAction")
def send_chat_action(call: Call) -> bool:
    """https://core.telegram.org/bots/api#sendchataction.

    Takes any topic, even a deleted one, as the platform.
    """
    action = call.params.text("action").lower()
    if action not in ACTIONS:
        raise bad_request("wrong parameter action in request")
    chat = writable_chat(call)
    chat.actions.append((call.sim.clock(), call.bot.id, action))
    return True


@method("setMessageReaction")
def set_message_reaction(call: Call) -> bool:
    """https://core.telegram.org/bots/api#setmessagereaction: a bot sets at most one reaction per message."""
    raw = call.params.json("reaction", "reaction types") or []
    if not isinstance(raw, list):
        raise bad_request("expected an Array of ReactionType")
    chat = readable_chat(call)
    message = chat.messages.get(call.params.integer("message_id"))
    if message is None or message.deleted:
        raise bad_request("message to react not found")
    if len(raw) > 1:
        raise bad_request("REACTIONS_TOO_MANY")
    for reaction in raw:
        if not isinstance(reaction, dict) or reaction.get("type") != "emoji":
            raise bad_request("REACTION_INVALID")
        if not is_reaction(reaction.get("emoji")):
            raise bad_request("REACTION_INVALID")
    if raw:
        message.reactions[call.bot.id] = raw
    else:
        message.reactions.pop(call.bot.id, None)
    call.touched(message)
    return True
