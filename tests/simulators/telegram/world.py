"""The platform's state: people, bots, chats, topics and messages, with no word about HTTP."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

PRIVATE, GROUP, SUPERGROUP, CHANNEL = "private", "group", "supergroup", "channel"
SERVICE_FIELDS = {
    "new_chat_members",
    "left_chat_member",
    "new_chat_title",
    "group_chat_created",
    "supergroup_chat_created",
    "migrate_to_chat_id",
    "migrate_from_chat_id",
    "forum_topic_created",
    "forum_topic_closed",
    "forum_topic_reopened",
    "forum_topic_edited",
    "pinned_message",
}
PRESENT = {"creator", "administrator", "member", "restricted"}


@dataclass(slots=True)
class User:
    """A person (or the face of a bot)."""

    id: int
    first_name: str
    last_name: str | None = None
    username: str | None = None
    language_code: str | None = "en"
    is_bot: bool = False

    def to_json(self) -> Json:
        """The ``User`` object as it appears in messages."""
        body: Json = {"id": self.id, "is_bot": self.is_bot, "first_name": self.first_name}
        for name in ("last_name", "username"):
            if getattr(self, name):
                body[name] = getattr(self, name)
        if self.language_code and not self.is_bot:
            body["language_code"] = self.language_code
        return body


@dataclass(slots=True)
class Bot:
    """A bot's account. ``user`` is how others see it; ``started_by`` are people it may write to first."""

    token: str
    user: User
    can_join_groups: bool = True
    can_read_all_group_messages: bool = False
    started_by: set[int] = field(default_factory=set)
    blocked_by: set[int] = field(default_factory=set)
    commands: dict[str, list[Json]] = field(default_factory=dict)

    @property
    def id(self) -> int:
        return self.user.id

    def to_json(self) -> Json:
        """The answer of ``getMe``."""
        return self.user.to_json() | {
            "can_join_groups": self.can_join_groups,
            "can_read_all_group_messages": self.can_read_all_group_messages,
            "supports_inline_queries": False,
            "can_connect_to_business": False,
            "has_main_web_app": False,
        }


@dataclass(slots=True)
class Topic:
    """A forum topic; its id is the id of the service message that created it (General is 1)."""

    id: int
    name: str
    icon_color: int = 0x6FB9F0
    closed: bool = False
    deleted: bool = False


@dataclass(slots=True)
class Message:
    """A message as the platform keeps it.

    ``content`` holds the type-specific fields (text and entities, or media and caption, or a service field)
    exactly as they appear in the Bot API's ``Message`` object. ``request`` is the log's number of the request
    that made it (None for people's messages). ``history`` keeps every earlier content and keyboard, oldest
    first.
    """

    chat: "Chat"
    id: int
    sender: User | None
    date: int
    content: Json
    topic_id: int | None = None
    reply_to: "Message | None" = None
    quote: Json | None = None
    keyboard: Json | None = None
    album_id: str | None = None
    extra: Json = field(default_factory=dict)
    edit_date: int | None = None
    deleted: bool = False
    request: int | None = None
    history: list[Json] = field(default_factory=list)
    reactions: dict[int, list[Json]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text or caption."""
        return str(self.content.get("text", self.content.get("caption", "")))

    @property
    def is_service(self) -> bool:
        """Return whether it tells of an event instead of carrying something somebody wrote."""
        return not SERVICE_FIELDS.isdisjoint(self.content)

    def _topic_root(self) -> "Message | None":
        """The message that opened the topic: the platform shows it as answered by every other message
        there.
        """
        root = self.chat.messages.get(self.topic_id) if self.topic_id is not None else None
        return None if root is self else root

    def to_json(self, *, with_reply: bool = True) -> Json:
        """The ``Message`` object of the Bot API."""
        body: Json = {"message_id": self.id}
        if self.sender is not None:
            body["from"] = self.sender.to_json()
        if self.chat.kind == CHANNEL:
            body["sender_chat"] = self.chat.to_json()
        body["chat"] = self.chat.to_json()
        body["date"] = self.date
        if self.edit_date is not None:
            body["edit_date"] = self.edit_date
        if self.topic_id is not None:
            body["message_thread_id"] = self.topic_id
            body["is_topic_message"] = True
        answered = self.reply_to or self._topic_root()
        if with_reply and answered is not None and not answered.deleted:
            body["reply_to_message"] = answered.to_json(with_reply=False)
        if self.quote is not None:
            body["quote"] = self.quote
        if self.album_id is not None:
            body["media_group_id"] = self.album_id
        body.update(self.extra)
        body.update(self.content)
        if self.keyboard and "inline_keyboard" in self.keyboard:
            body["reply_markup"] = self.keyboard
        return body

    def state(self) -> Json:
        """Return what a judge wants to know: the message, who sent it, its edits, reactions, and whether it
        still
        exists.
        """
        return {
            "chat_id": self.chat.id,
            "message_id": self.id,
            "from_id": self.sender.id if self.sender else None,
            "from_bot": bool(self.sender and self.sender.is_bot),
            "date": self.date,
            "topic_id": self.topic_id,
            "reply_to": self.reply_to.id if self.reply_to else None,
            "text": self.text,
            "entities": self.content.get("entities", self.content.get("caption_entities", [])),
            "content": self.content,
            "keyboard": (self.keyboard or {}).get("inline_keyboard"),
            "album_id": self.album_id,
            "edits": self.history,
            "reactions": {str(user): reaction for user, reaction in self.reactions.items()},
            "deleted": self.deleted,
            "request": self.request,
        }


@dataclass(slots=True)
class Chat:
    """A chat. A private chat exists once per bot and person; ``id`` is then the person's id."""

    id: int
    kind: str
    title: str | None = None
    username: str | None = None
    person: User | None = None
    bot_id: int | None = None
    is_forum: bool = False
    migrated_to: int | None = None
    members: dict[int, str] = field(default_factory=dict)
    topics: dict[int, Topic] = field(default_factory=dict)
    messages: dict[int, Message] = field(default_factory=dict)
    last_bot_to_speak: int | None = None
    actions: list[tuple[float, int, str]] = field(default_factory=list)
    own_ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def is_group(self) -> bool:
        return self.kind in {GROUP, SUPERGROUP}

    def status_of(self, user_id: int) -> str:
        """Membership: creator, administrator, member, restricted, left or kicked."""
        return self.members.get(user_id, "left")

    def to_json(self) -> Json:
        """The ``Chat`` object as it appears in messages."""
        body: Json = {"id": self.id, "type": self.kind}
        if self.person is not None:
            body["first_name"] = self.person.first_name
            if self.person.last_name:
                body["last_name"] = self.person.last_name
        if self.title is not None:
            body["title"] = self.title
        username = self.person.username if self.person else self.username
        if username:
            body["username"] = username
        if self.is_forum:
            body["is_forum"] = True
        return body


class World:
    """Everything that exists.

    Message ids: one counter for all private chats and basic groups (ids grow, with gaps, as one account sees
    them), one counter per supergroup and channel.
    """

    def __init__(self) -> None:
        self.users: dict[int, User] = {}
        self.bots: dict[str, Bot] = {}
        self.chats: dict[int, Chat] = {}
        self.private: dict[tuple[int, int], Chat] = {}
        self.album_ids = itertools.count(13_500_000_000_000_000)
        self._account_ids = itertools.count(1)
        self._user_ids = itertools.count(1001)
        self._chat_ids = itertools.count(1)

    def add_user(self, user: User | None = None, **fields: Any) -> User:
        """Registers a person; without an id the next free one is taken."""
        if user is None:
            user_id = fields.pop("id", None) or next(i for i in self._user_ids if i not in self.users)
            user = User(id=user_id, **fields)
        if user.id in self.users:
            raise ValueError(f"user {user.id} exists already")
        self.users[user.id] = user
        return user

    def add_chat(self, kind: str, title: str, *, chat_id: int | None = None, **fields: Any) -> Chat:
        """Registers a group, supergroup or channel; ids have the platform's shape (``-N`` or ``-100N``)."""
        if chat_id is None:
            number = next(self._chat_ids)
            chat_id = -(4_000_000 + number) if kind == GROUP else -(1_000_000_000_000 + 2_000_000 + number)
        if chat_id in self.chats:
            raise ValueError(f"chat {chat_id} exists already")
        chat = Chat(id=chat_id, kind=kind, title=title, **fields)
        self.chats[chat_id] = chat
        return chat

    def private_chat(self, bot: Bot, user: User) -> Chat:
        """The chat of a bot and a person, made when it is first needed."""
        key = (bot.id, user.id)
        chat = self.private.get(key)
        if chat is None:
            chat = Chat(id=user.id, kind=PRIVATE, person=user, bot_id=bot.id)
            chat.members = {user.id: "member", bot.id: "member"}
            self.private[key] = chat
        return chat

    def find_chat(self, bot: Bot, chat_id: int | str) -> Chat | None:
        """The chat a bot means by an id or ``@username``."""
        if isinstance(chat_id, str):
            wanted = chat_id.removeprefix("@").lower()
            return next((c for c in self.chats.values() if (c.username or "").lower() == wanted), None)
        if chat_id > 0:
            return self.private.get((bot.id, chat_id))
        return self.chats.get(chat_id)

    def bot_by_id(self, bot_id: int) -> Bot | None:
        """The bot with this user id."""
        return next((bot for bot in self.bots.values() if bot.id == bot_id), None)

    def add_message(
        self, chat: Chat, sender: User | None, date: int, content: Json, **fields: Any
    ) -> Message:
        """Puts a message into a chat."""
        own = chat.kind in {SUPERGROUP, CHANNEL}
        message_id = next(chat.own_ids) if own else next(self._account_ids)
        message = Message(chat=chat, id=message_id, sender=sender, date=date, content=content, **fields)
        chat.messages[message_id] = message
        if sender is not None and sender.is_bot:
            chat.last_bot_to_speak = sender.id
        return message
