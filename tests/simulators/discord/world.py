"""The platform's state: people, bots, guilds, channels and messages, with no word about HTTP."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.simulators.discord.markdown import visible_text

Json = dict[str, Any]

TEXT, DM, VOICE, CATEGORY, ANNOUNCEMENT = 0, 1, 2, 4, 5
ANNOUNCEMENT_THREAD, PUBLIC_THREAD, PRIVATE_THREAD, FORUM = 10, 11, 12, 15
THREADS = {ANNOUNCEMENT_THREAD, PUBLIC_THREAD, PRIVATE_THREAD}
"""Kinds of channel: https://docs.discord.com/developers/resources/channel#channel-object-channel-types."""
DEFAULT, THREAD_CREATED, REPLY, COMMAND_ANSWER, THREAD_STARTER = 0, 18, 19, 20, 21
SYSTEM_TYPES = {THREAD_CREATED, THREAD_STARTER}
"""Kinds of message: https://docs.discord.com/developers/resources/message#message-object-message-types."""
SUPPRESS_EMBEDS, HAS_THREAD, EPHEMERAL, LOADING, SUPPRESS_NOTIFICATIONS = (1 << n for n in (2, 5, 6, 7, 12))
"""Flags: https://docs.discord.com/developers/resources/message#message-object-message-flags."""


@dataclass(slots=True)
class User:
    """A person (or the face of a bot)."""

    id: int
    username: str
    global_name: str | None = None
    is_bot: bool = False
    locale: str = "en-US"

    @property
    def shown_name(self) -> str:
        return self.global_name or self.username

    def to_json(self) -> Json:
        return {"id": str(self.id), "username": self.username, "global_name": self.global_name}


@dataclass(slots=True)
class Bot:
    """A bot's account; the application has the same id. The intents are what its settings allow."""

    token: str
    user: User
    message_content: bool = True
    members_intent: bool = False
    presences_intent: bool = False
    revoked: bool = False
    commands: dict[int | None, list[Json]] = field(default_factory=dict)
    blocked_by: set[int] = field(default_factory=set)

    @property
    def id(self) -> int:
        return self.user.id

    def to_json(self) -> Json:
        return self.user.to_json() | {"token": self.token}


@dataclass(slots=True)
class Role:
    """A role of a guild; the one with the guild's id is @everyone."""

    id: int
    name: str
    permissions: int
    mentionable: bool = False

    def to_json(self) -> Json:
        return {"id": str(self.id), "name": self.name, "permissions": self.permissions}


@dataclass(slots=True)
class Member:
    """Somebody in a guild."""

    user: User
    joined_at: float
    roles: list[int] = field(default_factory=list)
    nick: str | None = None

    def to_json(self) -> Json:
        return {"user": self.user.to_json(), "roles": [str(role) for role in self.roles]}


@dataclass(slots=True)
class Guild:
    """A server with its members, roles and channels (threads included)."""

    id: int
    name: str
    owner_id: int
    members: dict[int, Member] = field(default_factory=dict)
    roles: dict[int, Role] = field(default_factory=dict)
    channels: dict[int, "Channel"] = field(default_factory=dict)

    def to_json(self) -> Json:
        return {"id": str(self.id), "name": self.name, "members": [str(user_id) for user_id in self.members]}


@dataclass(slots=True)
class Overwrite:
    """The permissions that a channel allows and denies one role (type 0) or member (type 1)."""

    id: int
    type: int
    allow: int = 0
    deny: int = 0


@dataclass(slots=True, eq=False)
class Channel:
    """A channel, a thread (``parent`` is its channel) or a direct conversation (``recipients``)."""

    id: int
    kind: int
    name: str | None = None
    guild: Guild | None = None
    parent: "Channel | None" = None
    recipients: list[User] = field(default_factory=list)
    topic: str | None = None
    overwrites: list[Overwrite] = field(default_factory=list)
    owner_id: int | None = None
    archived: bool = False
    locked: bool = False
    auto_archive_minutes: int = 1440
    created_at: float = 0.0
    thread_members: dict[int, float] = field(default_factory=dict)
    messages: dict[int, "Message"] = field(default_factory=dict)
    typing: list[tuple[float, int]] = field(default_factory=list)
    deleted: bool = False

    @property
    def is_thread(self) -> bool:
        return self.kind in THREADS

    @property
    def is_dm(self) -> bool:
        return self.kind == DM

    def shown(self) -> list["Message"]:
        """The messages everybody sees, oldest first."""
        return [m for m in self.messages.values() if not m.deleted and m.ephemeral_for is None]

    def shown_name(self, kind: str, number: int) -> str:
        """Return what a mention of this kind and id shows here."""
        people = {user.id: user.shown_name for user in self.recipients}
        named: dict[str, dict[int, str]] = {"user": people, "role": {}, "channel": {}}
        if self.guild is not None:
            people |= {m.user.id: m.nick or m.user.shown_name for m in self.guild.members.values()}
            named["role"] = {role.id: role.name for role in self.guild.roles.values()}
            named["channel"] = {c.id: c.name or "" for c in self.guild.channels.values()}
        return named.get(kind, {}).get(number, f"unknown-{kind}")

    def state(self) -> Json:
        """Return what a judge asks of it: who typed when, and all messages, deleted and ephemeral ones
        included."""
        return {
            "id": str(self.id),
            "kind": self.kind,
            "name": self.name,
            "parent_id": None if self.parent is None else str(self.parent.id),
            "archived": self.archived,
            "typing": [{"at": at, "user_id": str(user_id)} for at, user_id in self.typing],
            "messages": [message.state() for message in self.messages.values()],
        }


@dataclass(slots=True)
class Attachment:
    """A file of a message."""

    id: int
    name: str
    media_type: str | None
    content: bytes = field(repr=False)
    description: str | None = None


@dataclass(slots=True, eq=False)
class Message:
    """A message as the platform keeps it.

    ``pings`` is whom it notified: ``{"users": [ids], "roles": [ids], "everyone": bool}``. ``request`` is the
    log's number of the request that made it (None for people's messages). ``history`` keeps every earlier
    content, oldest first. ``ephemeral_for`` is the only person who sees it.
    """

    id: int
    channel: Channel
    author: User
    sent_at: float
    content: str = ""
    type: int = DEFAULT
    embeds: list[Json] = field(default_factory=list)
    components: list[Json] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    pings: Json = field(default_factory=lambda: {"users": [], "roles": [], "everyone": False})
    reply_to: "Message | None" = None
    reply_to_id: int | None = None
    nonce: str | int | None = None
    flags: int = 0
    edited_at: float | None = None
    deleted: bool = False
    thread: Channel | None = None
    request: int | None = None
    application_id: int | None = None
    interaction: Json | None = None
    ephemeral_for: int | None = None
    reactions: dict[str, list[int]] = field(default_factory=dict)
    history: list[Json] = field(default_factory=list)

    @property
    def is_system(self) -> bool:
        return self.type in SYSTEM_TYPES

    @property
    def text(self) -> str:
        """The content as a person reads it."""
        return visible_text(self.content, self.channel.shown_name)

    def buttons(self) -> list[Json]:
        """Every component in a row, from left to right and top to bottom."""
        return [part for row in self.components for part in row.get("components", [])]

    def state(self) -> Json:
        """Return what a judge asks of it; ids as text."""
        plain = ("type", "content", "text", "embeds", "pings", "nonce", "flags", "reactions", "sent_at")
        more = ("edited_at", "deleted", "request")
        return {name: getattr(self, name) for name in (*plain, *more)} | {
            "id": str(self.id),
            "channel_id": str(self.channel.id),
            "author_id": str(self.author.id),
            "buttons": self.buttons(),
            "files": [
                {"name": a.name, "size_bytes": len(a.content), "media_type": a.media_type}
                for a in self.attachments
            ],
            "reply_to": None if self.reply_to_id is None else str(self.reply_to_id),
            "ephemeral_for": None if self.ephemeral_for is None else str(self.ephemeral_for),
            "edits": [{"at": old["at"], "content": old["content"]} for old in self.history],
        }


class World:
    """Everything there is."""

    def __init__(self) -> None:
        self.users: dict[int, User] = {}
        self.bots: dict[int, Bot] = {}
        self.guilds: dict[int, Guild] = {}
        self.channels: dict[int, Channel] = {}

    def bot_of_token(self, token: str) -> Bot | None:
        """The bot with this token, revoked ones left out."""
        return next((b for b in self.bots.values() if b.token == token and not b.revoked), None)

    def guilds_of(self, user_id: int) -> list[Guild]:
        """The guilds somebody is a member of."""
        return [guild for guild in self.guilds.values() if user_id in guild.members]

    def dm(self, bot_id: int, user_id: int) -> Channel | None:
        """The direct conversation of a bot with a person, if there is one."""
        pair = {bot_id, user_id}
        dms = (channel for channel in self.channels.values() if channel.is_dm)
        return next((dm for dm in dms if {user.id for user in dm.recipients} == pair), None)

    def threads_of(self, channel: Channel) -> Iterator[Channel]:
        """A channel's threads, oldest first."""
        return (c for c in self.channels.values() if c.parent is channel and c.is_thread and not c.deleted)
