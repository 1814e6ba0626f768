"""getChat, getChatMember and forum topics."""

from typing import Any

from tests.simulators.telegram.chats import ChatActions, chat_member
from tests.simulators.telegram.errors import bad_request
from tests.simulators.telegram.limits import MAX_TOPIC_NAME_CHARS
from tests.simulators.telegram.registry import Call, method
from tests.simulators.telegram.targets import readable_chat, writable_chat
from tests.simulators.telegram.world import Chat, Topic

Json = dict[str, Any]
_NO_GIFTS = dict.fromkeys(
    ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels"), False
)


@method("getChat")
def get_chat(call: Call) -> Json:
    """https://core.telegram.org/bots/api#getchat."""
    chat = readable_chat(call)
    return chat.to_json() | {
        "accent_color_id": 1,
        "max_reaction_count": 11,
        "accepted_gift_types": _NO_GIFTS,
    }


@method("getChatMember")
def get_chat_member(call: Call) -> Json:
    """https://core.telegram.org/bots/api#getchatmember."""
    chat = readable_chat(call)
    user_id = call.params.integer("user_id")
    if user_id <= 0:
        raise bad_request("invalid user_id specified")
    bot = call.sim.world.bot_by_id(user_id)
    user = bot.user if bot else call.sim.world.users.get(user_id)
    if user is None:
        raise bad_request("PARTICIPANT_ID_INVALID")
    return chat_member(user, chat.status_of(user_id))


@method("createForumTopic")
def create_forum_topic(call: Call) -> Json:
    """https://core.telegram.org/bots/api#createforumtopic.

    Longer names are cut, as the Bot API server does.
    """
    chat = _managed_forum(call)
    name = " ".join(call.params.text("name").split())[:MAX_TOPIC_NAME_CHARS].strip()
    if not name:
        raise bad_request("title must be non-empty")
    sim = call.sim
    assert isinstance(sim, ChatActions)
    topic = sim.open_topic(chat, name, call.bot.user, request=call.record.number)
    call.touched(chat.messages[topic.id])
    return {"message_thread_id": topic.id, "name": topic.name, "icon_color": topic.icon_color}


@method("editForumTopic")
def edit_forum_topic(call: Call) -> bool:
    """https://core.telegram.org/bots/api#editforumtopic."""
    chat = _managed_forum(call)
    topic = _topic(call, chat)
    name = call.params.text("name").strip()
    if not name or name == topic.name:
        raise bad_request("TOPIC_NOT_MODIFIED")
    topic.name = name[:MAX_TOPIC_NAME_CHARS]
    _tell(call, chat, topic, {"forum_topic_edited": {"name": topic.name}})
    return True


@method("closeForumTopic")
def close_forum_topic(call: Call) -> bool:
    """https://core.telegram.org/bots/api#closeforumtopic."""
    return _switch(call, closed=True)


@method("reopenForumTopic")
def reopen_forum_topic(call: Call) -> bool:
    """https://core.telegram.org/bots/api#reopenforumtopic."""
    return _switch(call, closed=False)


@method("deleteForumTopic")
def delete_forum_topic(call: Call) -> bool:
    """https://core.telegram.org/bots/api#deleteforumtopic."""
    chat = _managed_forum(call)
    topic = _topic(call, chat)
    topic.deleted = True
    for message in chat.messages.values():
        if message.topic_id == topic.id:
            message.deleted = True
    return True


def _switch(call: Call, *, closed: bool) -> bool:
    chat = _managed_forum(call)
    topic = _topic(call, chat)
    if topic.closed == closed:
        raise bad_request("TOPIC_NOT_MODIFIED")
    topic.closed = closed
    _tell(call, chat, topic, {"forum_topic_closed" if closed else "forum_topic_reopened": {}})
    return True


def _tell(call: Call, chat: Chat, topic: Topic, content: Json) -> None:
    message = call.sim.world.add_message(
        chat, call.bot.user, call.sim.now(), content, topic_id=topic.id, request=call.record.number
    )
    call.touched(message)


def _managed_forum(call: Call) -> Chat:
    chat = writable_chat(call)
    if not chat.is_forum:
        raise bad_request("the chat is not a forum")
    if chat.status_of(call.bot.id) not in {"administrator", "creator"}:
        raise bad_request("not enough rights to create a topic")
    return chat


def _topic(call: Call, chat: Chat) -> Topic:
    topic = chat.topics.get(call.params.integer("message_thread_id"))
    if topic is None or topic.deleted:
        raise bad_request("TOPIC_ID_INVALID")
    return topic
