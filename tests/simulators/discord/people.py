"""Actions of people: write, mention, reply, attach, edit, delete, react, open threads, block."""

import base64
from typing import Any

from tests.simulators.control import operation
from tests.simulators.discord.bodies import Upload
from tests.simulators.discord.interactions import Interactions
from tests.simulators.discord.mentions import pings
from tests.simulators.discord.permissions import VIEW_CHANNEL, can, needed_to_send
from tests.simulators.discord.state import BotName
from tests.simulators.discord.world import DEFAULT, FORUM, REPLY, Channel, Message, User

Json = dict[str, Any]
Id = int | str


class PeopleActions(Interactions):
    """Actions of people.

    ``channel_id=None`` is the direct conversation with ``bot`` (with the only bot if that is None too).
    Raises ``ValueError`` for what somebody may not do, ``LookupError`` for what does not exist.
    """

    def _place(self, user_id: Id, channel_id: Id | None, bot: BotName) -> tuple[User, Channel]:
        user = self.person(user_id)
        if channel_id is None:
            account = self.bot(bot)
            account.blocked_by.discard(user.id)
            return user, self.open_dm(account, user)
        channel = self.channel(channel_id)
        if not can(channel, user.id, VIEW_CHANNEL):
            raise ValueError(f"user {user_id} does not see channel {channel_id}")
        return user, channel

    def _own(self, user_id: Id, message_id: Id) -> Message:
        found = self.message(message_id)
        if found.author.id != int(user_id) or found.deleted:
            raise LookupError(f"user {user_id} has no message {message_id}")
        return found

    @operation
    def dm_channel(self, user_id: Id, bot: BotName = None) -> Channel:
        """The direct conversation of a person with a bot, opened if need be."""
        return self.open_dm(self.bot(bot), self.person(user_id))

    @operation
    def user_sends_text(
        self,
        user_id: Id,
        text: str,
        channel_id: Id | None = None,
        bot: BotName = None,
        reply_to: Id | None = None,
        ping: bool = True,
        files: list[Json] | None = None,
    ) -> Message:
        """A person writes; ``<@id>`` mentions, ``ping=False`` answers without notifying.

        ``files`` are ``{"name", "content" (bytes, over HTTP base64), "media_type"?}`` or, for a big one,
        ``{"name", "size_bytes"}``.
        """
        user, channel = self._place(user_id, channel_id, bot)
        if channel.kind == FORUM or not can(channel, user.id, needed_to_send(channel)):
            raise ValueError(f"user {user_id} may not write in channel {channel.id}")
        answered = None if reply_to is None else self.message(reply_to, channel.id)
        allowed = None if ping else {"parse": ["users", "roles", "everyone"], "replied_user": False}
        named = pings(text, channel, user, self.world.users, allowed=allowed, reply_to=answered)
        return self.post(
            channel,
            user,
            text.strip(),
            type=DEFAULT if answered is None else REPLY,
            reply_to=answered,
            reply_to_id=None if answered is None else answered.id,
            pings=named,
            attachments=[self.store(_upload(one)) for one in files or []],
        )

    @operation
    def user_mentions_bot(
        self, user_id: Id, text: str, channel_id: Id, bot: BotName = None, reply_to: Id | None = None
    ) -> Message:
        """A person writes to a bot in a channel: its mention, and then the text."""
        return self.user_sends_text(user_id, f"<@{self.bot(bot).id}> {text}", channel_id, reply_to=reply_to)

    @operation
    def user_edits_text(self, user_id: Id, message_id: Id, text: str) -> Message:
        """A person edits an own message."""
        message = self._own(user_id, message_id)
        named = pings(text, message.channel, message.author, self.world.users, reply_to=message.reply_to)
        self.change(message, content=text.strip(), pings=named)
        return message

    @operation
    def user_deletes(self, user_id: Id, message_id: Id) -> None:
        """A person deletes an own message."""
        self.remove(self._own(user_id, message_id))

    @operation
    def user_reacts(self, user_id: Id, message_id: Id, emoji: str, on: bool = True) -> Message:
        """A person sets (or takes back) a reaction."""
        user, message = self.person(user_id), self.message(message_id)
        self.react(message, user, emoji, on=on)
        return message

    @operation
    def user_starts_thread(
        self, user_id: Id, channel_id: Id, name: str, message_id: Id | None = None, text: str | None = None
    ) -> Channel:
        """A person opens a thread, on a message or alone, and may write its first message."""
        user, channel = self._place(user_id, channel_id, None)
        message = None if message_id is None else self.message(message_id, channel.id)
        thread = self.open_thread(channel, user, name, message=message)
        if text is not None:
            self.user_sends_text(user_id, text, thread.id)
        return thread

    @operation
    def user_posts_in_forum(self, user_id: Id, channel_id: Id, title: str, text: str) -> Channel:
        """A person opens a post in a forum: a thread whose first message has its id."""
        user, channel = self._place(user_id, channel_id, None)
        if channel.kind != FORUM:
            raise ValueError(f"channel {channel_id} is no forum")
        thread = self.open_thread(channel, user, title)
        named = pings(text, thread, user, self.world.users)
        self.post(thread, user, text.strip(), message_id=thread.id, pings=named)
        return thread

    @operation
    def user_archives_thread(self, thread_id: Id, locked: bool = False) -> Channel:
        """Somebody archives (and locks) a thread; it comes back when somebody writes, unless locked."""
        thread = self.channel(thread_id)
        thread.archived, thread.locked = True, locked
        self.announce_channel("THREAD_UPDATE", thread)
        return thread

    @operation
    def user_types(self, user_id: Id, channel_id: Id | None = None, bot: BotName = None) -> None:
        """A person types."""
        user, channel = self._place(user_id, channel_id, bot)
        self.types(channel, user)

    @operation
    def user_blocks_bot(self, user_id: Id, bot: BotName = None) -> None:
        """A person takes no direct messages of a bot any more: it gets 50007. It is told nothing."""
        self.bot(bot).blocked_by.add(self.person(user_id).id)
        self.changed()


def _upload(one: Json) -> Upload:
    content: Any = one.get("content", b"")
    if isinstance(content, str):
        content = base64.b64decode(content)
    if "size_bytes" in one:
        content = bytes(int(one["size_bytes"]))
    return Upload(str(one.get("name", "file.txt")), one.get("media_type", "text/plain"), content)
