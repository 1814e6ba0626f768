"""Guilds, channels, threads and direct conversations come and go."""

from typing import Any

from tests.simulators.discord import permissions
from tests.simulators.discord.payloads import guild_create_json, member_json
from tests.simulators.discord.posting import Posting
from tests.simulators.discord.world import (
    DM,
    FORUM,
    HAS_THREAD,
    PUBLIC_THREAD,
    TEXT,
    THREAD_CREATED,
    THREAD_STARTER,
    Bot,
    Channel,
    Guild,
    Member,
    Message,
    Overwrite,
    Role,
    User,
)

Json = dict[str, Any]


class Places(Posting):
    """The places that people and bots share."""

    def open_dm(self, bot: Bot, user: User) -> Channel:
        """The direct conversation of a bot and a person; bots get no event for a new one."""
        found = self.world.dm(bot.id, user.id)
        if found is None:
            found = Channel(self.ids.next(), DM, recipients=[bot.user, user], created_at=self.clock())
            self.world.channels[found.id] = found
        return found

    def found_guild(self, name: str, owner: User, guild_id: int | None = None) -> Guild:
        """A new guild with its @everyone and its owner."""
        guild = Guild(guild_id or self.ids.next(), name, owner.id)
        guild.roles[guild.id] = Role(guild.id, "@everyone", permissions.EVERYONE)
        self.world.guilds[guild.id] = guild
        guild.members[owner.id] = Member(owner, self.clock())
        return guild

    def join(self, guild: Guild, user: User, roles: list[int] | None = None) -> Member:
        """Somebody joins; a bot hears GUILD_CREATE, the other bots GUILD_MEMBER_ADD."""
        member = guild.members[user.id] = Member(user, self.clock(), roles or [])
        for bot in self.world.bots.values():
            if bot.id not in guild.members:
                continue
            for session in self.sessions.of(bot.id):
                if bot.id == user.id:
                    session.dispatch("GUILD_CREATE", guild_create_json(guild, bot.id))
                elif session.intents & 2:
                    body = member_json(member) | {"guild_id": str(guild.id)}
                    session.dispatch("GUILD_MEMBER_ADD", body)
        self.changed()
        return member

    def leave(self, guild: Guild, user: User) -> None:
        """Somebody is out; a bot hears GUILD_DELETE, without ``unavailable``: that would be an outage."""
        guild.members.pop(user.id, None)
        if user.id in self.world.bots:
            for session in self.sessions.of(user.id):
                session.dispatch("GUILD_DELETE", {"id": str(guild.id)})
        self.changed()

    def add_channel(
        self,
        guild: Guild,
        name: str,
        kind: int = TEXT,
        overwrites: list[Overwrite] | None = None,
        channel_id: int | None = None,
    ) -> Channel:
        """A new channel of a guild."""
        channel = Channel(
            channel_id or self.ids.next(),
            kind,
            name,
            guild,
            overwrites=overwrites or [],
            created_at=self.clock(),
        )
        guild.channels[channel.id] = self.world.channels[channel.id] = channel
        self.announce_channel("CHANNEL_CREATE", channel)
        return channel

    def remove_channel(self, channel: Channel) -> None:
        """A channel or thread is gone."""
        event = "THREAD_DELETE" if channel.is_thread else "CHANNEL_DELETE"
        self.announce_channel(event, channel)
        channel.deleted = True
        self.changed()

    def open_thread(
        self,
        parent: Channel,
        owner: User,
        name: str,
        *,
        message: Message | None = None,
        kind: int = PUBLIC_THREAD,
        minutes: int = 1440,
    ) -> Channel:
        """A new thread: on a message (it has the message's id), alone, or as a forum's post."""
        thread = Channel(
            self.ids.next() if message is None else message.id,
            kind,
            name,
            parent.guild,
            parent=parent,
            owner_id=owner.id,
            auto_archive_minutes=minutes,
            created_at=self.clock(),
            thread_members={owner.id: self.clock()},
        )
        assert parent.guild is not None
        parent.guild.channels[thread.id] = self.world.channels[thread.id] = thread
        self.announce_channel("THREAD_CREATE", thread, newly_created=True)
        if message is not None:
            message.thread = thread
            message.flags |= HAS_THREAD
            self.announce_message("MESSAGE_UPDATE", message)
            self.post(thread, owner, type=THREAD_STARTER, reply_to=message, reply_to_id=message.id)
        elif parent.kind != FORUM and kind == PUBLIC_THREAD:
            self.post(parent, owner, name, type=THREAD_CREATED)
        return thread
