"""Messages come, change and go, and every session that may know hears of it."""

from collections.abc import Callable
from typing import Any

from tests.simulators.discord import intents
from tests.simulators.discord.bodies import Upload
from tests.simulators.discord.log import EventRecord
from tests.simulators.discord.payloads import channel_json, member_json, message_json
from tests.simulators.discord.permissions import VIEW_CHANNEL, can
from tests.simulators.discord.sessions import Session
from tests.simulators.discord.state import SimulatorState
from tests.simulators.discord.world import Attachment, Bot, Channel, Message, User

Json = dict[str, Any]


class Posting(SimulatorState):
    """Changes of the world that the gateway tells of."""

    # -- who hears of it

    def listeners(self, channel: Channel) -> list[tuple[Bot, Session]]:
        """Every session of a bot that may look into this channel, connected or to be resumed."""
        guild_id = None if channel.guild is None else channel.guild.id
        return [
            (bot, session)
            for bot in self.world.bots.values()
            if can(channel, bot.id, VIEW_CHANNEL)
            for session in self.sessions.of(bot.id)
            if session.serves(guild_id)
        ]

    def announce(
        self, event: str, channel: Channel, data: Callable[[Bot, Session], Json]
    ) -> list[EventRecord]:
        """Dispatches an event about a channel to the sessions that asked for its kind."""
        in_guild = channel.guild is not None
        sent = [
            session.dispatch(event, data(bot, session))
            for bot, session in self.listeners(channel)
            if intents.wants(session.intents, event, in_guild=in_guild)
        ]
        self.changed()
        return sent

    def announce_message(self, event: str, message: Message) -> list[EventRecord]:
        """MESSAGE_CREATE or MESSAGE_UPDATE."""

        def data(bot: Bot, session: Session) -> Json:
            body = self.message_event(message, bot, session)
            named = event == "MESSAGE_CREATE" and message.nonce is not None
            return body | {"nonce": message.nonce} if named else body

        return self.announce(event, message.channel, data)

    def message_event(self, message: Message, bot: Bot, session: Session) -> Json:
        """The message as this session gets it: with guild and member, and content if it may read it."""
        readable = bool(session.intents & intents.MESSAGE_CONTENT)
        body = self.message_json(message, bot, readable=readable)
        guild = message.channel.guild
        if guild is None:
            return body
        body["guild_id"] = str(guild.id)
        if message.author.id in guild.members:
            body["member"] = member_json(guild.members[message.author.id], with_user=False)
        for user in body["mentions"]:
            if int(user["id"]) in guild.members:
                user["member"] = member_json(guild.members[int(user["id"])], with_user=False)
        return body

    def message_json(self, message: Message, bot: Bot, *, readable: bool | None = None) -> Json:
        """A message for a bot; by default as REST shows it (by the application's settings)."""
        may_read = bot.message_content if readable is None else readable
        exempt = message.channel.is_dm or bot.id in {message.author.id, message.application_id}
        exempt = exempt or bot.id in message.pings["users"]
        return message_json(
            message,
            self.world.users,
            self.attachment_url,
            viewer_id=bot.id,
            readable=may_read or exempt,
        )

    # -- messages

    def post(
        self, channel: Channel, author: User, content: str = "", message_id: int | None = None, **fields: Any
    ) -> Message:
        """Puts a message into a channel and tells of it (of ephemeral ones nobody but its author hears)."""
        message = Message(message_id or self.ids.next(), channel, author, self.clock(), content, **fields)
        channel.messages[message.id] = message
        if message.nonce is not None:
            self.nonces[author.id, str(message.nonce)] = message
        if channel.is_thread and not channel.locked:
            channel.archived = False
        if message.ephemeral_for is None:
            self.announce_message("MESSAGE_CREATE", message)
        self.changed()
        return message

    def change(self, message: Message, request: int | None = None, **fields: Any) -> None:
        """Gives a message new fields; keeps the old ones in its history."""
        old = {name: getattr(message, name) for name in ("content", "embeds", "components", "attachments")}
        message.history.append({"at": self.clock(), "request": request, **old})
        for name, value in fields.items():
            setattr(message, name, value)
        message.edited_at = self.clock()
        if message.ephemeral_for is None:
            self.announce_message("MESSAGE_UPDATE", message)
        self.changed()

    def remove(self, message: Message) -> None:
        """Deletes a message."""
        message.deleted = True
        channel = message.channel
        body = {"id": str(message.id), "channel_id": str(channel.id)}
        if channel.guild is not None:
            body["guild_id"] = str(channel.guild.id)
        if message.ephemeral_for is None:
            self.announce("MESSAGE_DELETE", channel, lambda _bot, _session: body)
        self.changed()

    def store(self, upload: Upload, description: str | None = None) -> Attachment:
        """Keeps an uploaded file."""
        name = "_".join(upload.name.split()) or "unknown"
        return Attachment(self.ids.next(), name, upload.media_type, upload.content, description)

    # -- reactions, typing, channels

    def react(self, message: Message, user: User, emoji: str, *, on: bool) -> None:
        """Adds or takes back a reaction."""
        by = message.reactions.setdefault(emoji, [])
        if on == (user.id in by):
            return
        (by.append if on else by.remove)(user.id)
        if not by:
            del message.reactions[emoji]
        channel = message.channel
        body: Json = {
            "user_id": str(user.id),
            "channel_id": str(channel.id),
            "message_id": str(message.id),
            "emoji": {"id": None, "name": emoji},
            "burst": False,
            "type": 0,
        }
        if channel.guild is not None:
            body["guild_id"] = str(channel.guild.id)
            if on and user.id in channel.guild.members:
                body["member"] = member_json(channel.guild.members[user.id])
        if on:
            body["message_author_id"] = str(message.author.id)
        event = "MESSAGE_REACTION_ADD" if on else "MESSAGE_REACTION_REMOVE"
        self.announce(event, channel, lambda _bot, _session: body)

    def types(self, channel: Channel, user: User) -> None:
        """Somebody types."""
        channel.typing.append((self.clock(), user.id))
        body: Json = {
            "channel_id": str(channel.id),
            "user_id": str(user.id),
            "timestamp": int(self.clock()),
        }
        if channel.guild is not None:
            body["guild_id"] = str(channel.guild.id)
            body["member"] = member_json(channel.guild.members[user.id])
        self.announce("TYPING_START", channel, lambda _bot, _session: body)

    def announce_channel(self, event: str, channel: Channel, **more: Any) -> None:
        """CHANNEL_* and THREAD_*: the channel as each bot sees it."""
        self.announce(event, channel, lambda bot, _session: channel_json(channel, bot.id) | more)
