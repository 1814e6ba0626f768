"""Changes of chats: groups and channels appear, members come and go, topics open and close."""

from typing import Any

from tests.simulators.control import operation
from tests.simulators.telegram.people import PeopleActions
from tests.simulators.telegram.world import CHANNEL, GROUP, SUPERGROUP, Bot, Chat, Message, Topic, User

Json = dict[str, Any]
BotName = int | str


class ChatActions(PeopleActions):
    """Events of groups, supergroups with topics, and channels. ``bots=None`` means the only bot."""

    @operation
    def create_group(
        self,
        title: str,
        members: list[int],
        bots: list[BotName] | None = None,
        admins: list[int] | None = None,
        chat_id: int | None = None,
    ) -> Chat:
        """The first member makes a basic group with bots in it."""
        chat = self.world.add_chat(GROUP, title, chat_id=chat_id)
        self._fill(chat, members, admins)
        for bot in self._bots(bots):
            self.set_member(chat.id, bot.id, "member", by=members[0])
        self._service(chat, self.person(members[0]), {"group_chat_created": True})
        return chat

    @operation
    def create_supergroup(
        self,
        title: str,
        members: list[int],
        bots: list[BotName] | None = None,
        admins: list[int] | None = None,
        is_forum: bool = False,
        username: str | None = None,
        chat_id: int | None = None,
    ) -> Chat:
        """The first member makes a supergroup with bots in it; ``is_forum`` gives it topics."""
        chat = self.world.add_chat(SUPERGROUP, title, chat_id=chat_id, is_forum=is_forum, username=username)
        self._fill(chat, members, admins)
        for bot in self._bots(bots):
            self.set_member(chat.id, bot.id, "member", by=members[0])
            self._service(chat, self.person(members[0]), {"new_chat_members": [bot.user.to_json()]})
        return chat

    @operation
    def create_channel(
        self,
        title: str,
        owner: int,
        bots: list[BotName] | None = None,
        username: str | None = None,
        chat_id: int | None = None,
    ) -> Chat:
        """A person makes a channel; the bots are administrators of it."""
        chat = self.world.add_chat(CHANNEL, title, chat_id=chat_id, username=username)
        self._fill(chat, [owner], None)
        for bot in self._bots(bots):
            self.set_member(chat.id, bot.id, "administrator", by=owner)
        return chat

    @operation
    def channel_posts(self, chat_id: int, text: str) -> Message:
        """The owner of a channel posts a text."""
        owner = next(user for user, status in self.chat(chat_id).members.items() if status == "creator")
        return self.user_sends_text(owner, text, chat_id=chat_id)

    # -- members

    @operation
    def set_member(self, chat_id: int, user_id: int, status: str, by: int | None = None) -> Chat:
        """Gives a person or bot a status: member, administrator, restricted, left or kicked.

        A bot whose own status changes hears ``my_chat_member``; administrators that asked hear
        ``chat_member``.
        """
        chat = self.chat(chat_id)
        old = chat.status_of(user_id)
        chat.members[user_id] = status
        bot = self.world.bot_by_id(user_id)
        member = bot.user if bot else self.person(user_id)
        actor = self.person(by) if by is not None else self._creator(chat)
        body = {
            "chat": chat.to_json(),
            "from": (actor or member).to_json(),
            "date": self.now(),
            "old_chat_member": chat_member(member, old),
            "new_chat_member": chat_member(member, status),
        }
        if bot is not None:
            self.push_update(bot, "my_chat_member", body)
        for other in self.world.bots.values():
            if other is not bot and chat.status_of(other.id) == "administrator":
                self.push_update(other, "chat_member", body)
        self.changed()
        return chat

    @operation
    def user_joins(self, user_id: int, chat_id: int) -> Chat:
        """A person comes into a group, with the service message everyone sees."""
        user = self.person(user_id)
        chat = self.set_member(chat_id, user_id, "member", by=user_id)
        if chat.is_group:
            self._service(chat, user, {"new_chat_members": [user.to_json()]})
        return chat

    @operation
    def user_leaves(self, user_id: int, chat_id: int) -> Chat:
        """A person leaves a group."""
        user = self.person(user_id)
        chat = self.set_member(chat_id, user_id, "left", by=user_id)
        if chat.is_group:
            self._service(chat, user, {"left_chat_member": user.to_json()})
        return chat

    @operation
    def bot_is_kicked(self, chat_id: int, bot: BotName | None = None) -> Chat:
        """A bot is thrown out; it hears ``my_chat_member`` and gets 403 from now on."""
        return self.set_member(chat_id, self.bot(bot).id, "kicked")

    @operation
    def bot_is_added(self, chat_id: int, bot: BotName | None = None) -> Chat:
        """A bot is put (back) into a chat."""
        return self.set_member(chat_id, self.bot(bot).id, "member")

    # -- what happens to a whole chat

    @operation
    def group_migrates(self, chat_id: int, is_forum: bool = False) -> Chat:
        """A basic group becomes a supergroup with a new id; both sides get their service message."""
        old = self.chat(chat_id)
        if old.kind != GROUP or old.migrated_to is not None:
            raise ValueError(f"chat {chat_id} is no basic group")
        new = self.world.add_chat(SUPERGROUP, old.title or "", is_forum=is_forum)
        new.members = dict(old.members)
        creator = self._creator(old)
        self._service(old, creator, {"migrate_to_chat_id": new.id})
        old.migrated_to = new.id
        self._service(new, creator, {"migrate_from_chat_id": old.id})
        return new

    @operation
    def topic_created(self, chat_id: int, name: str, by: int | None = None) -> Topic:
        """A person opens a topic; its id is the id of the service message."""
        chat = self._forum(chat_id)
        return self.open_topic(chat, name, self.person(by) if by is not None else self._creator(chat))

    def open_topic(self, chat: Chat, name: str, sender: User | None, **fields: Any) -> Topic:
        """Opens a topic on behalf of a person or a bot."""
        topic = Topic(id=0, name=name)
        content = {"forum_topic_created": {"name": name, "icon_color": topic.icon_color}}
        message = self.world.add_message(chat, sender, self.now(), content, **fields)
        message.topic_id = topic.id = message.id
        chat.topics[topic.id] = topic
        self.changed()
        self.deliver(message)
        return topic

    @operation
    def topic_closed(self, chat_id: int, topic_id: int, by: int | None = None) -> Topic:
        """A topic is closed: bots that are no administrators get TOPIC_CLOSED."""
        return self._switch_topic(chat_id, topic_id, closed=True, by=by)

    @operation
    def topic_reopened(self, chat_id: int, topic_id: int, by: int | None = None) -> Topic:
        """A closed topic is opened again."""
        return self._switch_topic(chat_id, topic_id, closed=False, by=by)

    def _switch_topic(self, chat_id: int, topic_id: int, *, closed: bool, by: int | None) -> Topic:
        chat = self._forum(chat_id)
        topic = self._topic(chat, topic_id)
        topic.closed = closed
        actor = self.person(by) if by is not None else self._creator(chat)
        name = "forum_topic_closed" if closed else "forum_topic_reopened"
        self._service(chat, actor, {name: {}}, topic_id=topic_id)
        return topic

    @operation
    def topic_deleted(self, chat_id: int, topic_id: int) -> Topic:
        """A topic is deleted with all its messages; bots are not told."""
        chat = self._forum(chat_id)
        topic = self._topic(chat, topic_id)
        topic.deleted = True
        for message in chat.messages.values():
            if message.topic_id == topic_id:
                message.deleted = True
        self.changed()
        return topic

    @operation
    def message_deleted(self, chat_id: int, message_id: int, bot: BotName | None = None) -> Message:
        """Somebody deletes a message; bots are not told."""
        message = self.message(chat_id, message_id, bot)
        message.deleted = True
        self.changed()
        return message

    # -- parts

    def _fill(self, chat: Chat, members: list[int], admins: list[int] | None) -> None:
        for number, user_id in enumerate(members):
            self.person(user_id)
            chat.members[user_id] = "creator" if number == 0 else "member"
        for user_id in admins or []:
            chat.members[user_id] = "administrator"

    def _bots(self, bots: list[BotName] | None) -> list[Bot]:
        return [self.bot(None)] if bots is None else [self.bot(bot) for bot in bots]

    def _creator(self, chat: Chat) -> User | None:
        creators = [user for user, status in chat.members.items() if status == "creator"]
        return self.world.users.get(creators[0]) if creators else None

    def _forum(self, chat_id: int) -> Chat:
        chat = self.chat(chat_id)
        if not chat.is_forum:
            raise ValueError(f"chat {chat_id} is no forum")
        return chat

    def _topic(self, chat: Chat, topic_id: int) -> Topic:
        if topic_id not in chat.topics:
            raise LookupError(f"no topic {topic_id} in chat {chat.id}")
        return chat.topics[topic_id]

    def _service(self, chat: Chat, sender: User | None, content: Json, **fields: Any) -> Message:
        message = self.world.add_message(chat, sender, self.now(), content, **fields)
        self.changed()
        self.deliver(message)
        return message


_RIGHTS = """
can_be_edited is_anonymous can_manage_chat can_delete_messages can_manage_video_chats can_restrict_members
can_promote_members can_change_info can_invite_users can_post_stories can_edit_stories can_delete_stories
can_pin_messages can_manage_topics can_post_messages can_edit_messages can_send_welcome_messages
"""
_PERMISSIONS = """
can_send_messages can_send_audios can_send_documents can_send_photos can_send_videos can_send_video_notes
can_send_voice_notes can_send_polls can_send_other_messages can_add_web_page_previews can_change_info
can_invite_users can_pin_messages can_manage_topics can_react_to_messages can_edit_tag
"""


def chat_member(user: User, status: str) -> Json:
    """A ``ChatMember`` object with all the fields its status has."""
    body: Json = {"user": user.to_json(), "status": status}
    if status == "creator":
        body["is_anonymous"] = False
    elif status == "administrator":
        body |= dict.fromkeys(_RIGHTS.split(), True) | {"is_anonymous": False, "can_be_edited": False}
    elif status == "restricted":
        body |= dict.fromkeys(_PERMISSIONS.split(), True) | {"is_member": True, "until_date": 0}
    elif status == "kicked":
        body["until_date"] = 0
    return body
