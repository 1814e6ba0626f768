"""The platform's state: one workspace with people, apps, conversations and messages; no word about HTTP."""

from dataclasses import dataclass, field
from typing import Any

from tests.simulators.slack.files import File
from tests.simulators.slack.ids import Ids, Timestamps, ts_key

Json = dict[str, Any]
PUBLIC, PRIVATE, IM, MPIM = "channel", "group", "im", "mpim"
ALL_EVENTS = frozenset(
    {
        *("message.channels", "message.groups", "message.im", "message.mpim"),
        *("app_mention", "reaction_added", "reaction_removed", "member_joined_channel"),
    }
)


@dataclass(slots=True)
class User:
    """A person, or the face of an app's bot."""

    id: str
    team_id: str
    name: str
    real_name: str
    tz: str = "UTC"
    is_bot: bool = False
    deleted: bool = False
    app_id: str | None = None

    def to_json(self) -> Json:
        """The ``user`` object of ``users.info``."""
        profile: Json = {"real_name": self.real_name, "display_name": self.name, "team": self.team_id}
        if self.app_id is not None:
            profile["api_app_id"] = self.app_id
        return {
            "id": self.id,
            "team_id": self.team_id,
            "name": self.name,
            "real_name": self.real_name,
            "deleted": self.deleted,
            "tz": self.tz,
            "profile": profile,
            "is_admin": False,
            "is_owner": False,
            "is_restricted": False,
            "is_bot": self.is_bot,
            "is_app_user": False,
            "updated": 1_600_000_000,
        }


@dataclass(slots=True)
class App:
    """An installed app: its tokens, its bot and where it wants its events.

    ``mode`` is ``"socket"`` or ``"http"``; the URLs are for ``"http"``.
    """

    id: str
    name: str
    bot_id: str
    user: User
    bot_token: str
    app_token: str
    signing_secret: str
    scopes: set[str]
    mode: str = "socket"
    events: frozenset[str] = ALL_EVENTS
    commands: tuple[str, ...] = ()
    events_url: str = ""
    interactivity_url: str = ""
    commands_url: str = ""
    revoked: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> Json:
        """Return what a judge may know of it: no tokens."""
        return {
            "id": self.id,
            "name": self.name,
            "bot_id": self.bot_id,
            "user_id": self.user.id,
            "mode": self.mode,
            "commands": list(self.commands),
        }

    def profile(self) -> Json:
        """The ``bot_profile`` of its messages."""
        return {
            "id": self.bot_id,
            "app_id": self.id,
            "user_id": self.user.id,
            "name": self.name,
            "deleted": False,
            "updated": 1_600_000_000,
            "team_id": self.user.team_id,
        }


@dataclass(slots=True)
class Message:
    """A message as the platform keeps it; ``body`` holds text, blocks, files and who sent it.

    ``request`` is the log's number of the request that made it (None for people's messages), ``history``
    every earlier body, oldest first. ``stream`` is the mode of a message that is being streamed.
    """

    channel: "Channel"
    ts: str
    user_id: str
    body: Json
    app_id: str | None = None
    thread_ts: str | None = None
    metadata: Json | None = None
    edited: Json | None = None
    deleted: bool = False
    hidden_in_thread: bool = False
    stream: str | None = None
    request: int | None = None
    history: list[Json] = field(default_factory=list)
    reactions: dict[str, list[str]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The top-level text."""
        return str(self.body.get("text", ""))

    @property
    def blocks(self) -> list[Json]:
        """The layout blocks."""
        blocks: list[Json] = self.body.get("blocks", [])
        return blocks

    @property
    def is_reply(self) -> bool:
        """Return whether it stands in a thread under another message."""
        return self.thread_ts is not None and self.thread_ts != self.ts

    def to_json(self, *, metadata: str = "type") -> Json:
        """The message object. ``metadata``: ``"all"``, ``"type"`` (only ``event_type``) or ``"none"``."""
        body: Json = {"type": "message", "user": self.user_id, "ts": self.ts, **self.body}
        if self.edited is not None:
            body["edited"] = self.edited
        if self.thread_ts is not None:
            body["thread_ts"] = self.thread_ts
            body.update(self._thread())
        if self.reactions:
            body["reactions"] = [
                {"name": name, "users": users, "count": len(users)} for name, users in self.reactions.items()
            ]
        if self.metadata is not None and metadata != "none":
            kept = self.metadata if metadata == "all" else {"event_type": self.metadata["event_type"]}
            body["metadata"] = kept
        return body

    def _thread(self) -> Json:
        if self.is_reply:
            parent = self.channel.messages.get(self.thread_ts or "")
            return {} if parent is None else {"parent_user_id": parent.user_id}
        replies = self.channel.replies(self.ts)
        if not replies:
            return {}
        users = list(dict.fromkeys(reply.user_id for reply in replies))
        return {
            "reply_count": len(replies),
            "reply_users_count": len(users),
            "latest_reply": replies[-1].ts,
            "reply_users": users,
            "is_locked": False,
            "subscribed": False,
        }

    def state(self) -> Json:
        """Return what a judge wants to know: the message, its edits, and whether it still exists."""
        return {
            **self.to_json(metadata="all"),
            "channel": self.channel.id,
            "from_bot": self.app_id is not None,
            "deleted": self.deleted,
            "streaming": self.stream is not None,
            "edits": self.history,
            "request": self.request,
        }


@dataclass(slots=True)
class Channel:
    """A conversation of any kind; ``kind`` is the ``channel_type`` of its events."""

    id: str
    kind: str
    name: str
    created: int
    creator: str
    team_id: str
    members: list[str] = field(default_factory=list)
    archived: bool = False
    messages: dict[str, Message] = field(default_factory=dict)

    def replies(self, ts: str) -> list[Message]:
        """The living replies of a thread, oldest first."""
        found = [m for m in self.messages.values() if m.is_reply and m.thread_ts == ts and not m.deleted]
        return sorted(found, key=lambda message: ts_key(message.ts))

    def living(self, ts: str) -> Message | None:
        """A message that still exists."""
        message = self.messages.get(ts)
        return None if message is None or message.deleted else message

    def to_json(self, viewer: str = "") -> Json:
        """The conversation object as a member or outsider (by default) sees it."""
        body: Json = {
            "id": self.id,
            "created": self.created,
            "is_archived": self.archived,
            "is_im": self.kind == IM,
            "is_mpim": self.kind == MPIM,
            "is_channel": self.kind == PUBLIC,
            "is_group": self.kind == PRIVATE,
            "is_private": self.kind != PUBLIC,
            "is_org_shared": False,
            "context_team_id": self.team_id,
            "updated": self.created * 1000,
        }
        if self.kind == IM:
            return body | {"user": next((m for m in self.members if m != viewer), viewer), "is_open": True}
        return body | {
            "name": self.name,
            "name_normalized": self.name,
            "is_general": False,
            "is_member": viewer in self.members,
            "creator": self.creator,
            "topic": {"value": "", "creator": "", "last_set": 0},
            "purpose": {"value": "", "creator": "", "last_set": 0},
            "num_members": len(self.members),
        }


class World:
    """Everything that exists in the workspace."""

    def __init__(self, ids: Ids) -> None:
        self.ids = ids
        self.timestamps = Timestamps()
        self.team_id = "T0SIM00001"
        self.team_name = "Simulated"
        self.team_domain = "simulated"
        self.users: dict[str, User] = {}
        self.apps: dict[str, App] = {}
        self.channels: dict[str, Channel] = {}
        self.files: dict[str, File] = {}

    def find_channel(self, name: str) -> Channel | None:
        """A conversation by id or (``#``) name."""
        if name in self.channels:
            return self.channels[name]
        wanted = name.removeprefix("#")
        return next((c for c in self.channels.values() if c.name == wanted and c.kind != IM), None)

    def direct(self, users: list[str], now_s: float) -> tuple[Channel, bool]:
        """The direct conversation of exactly these people and whether it was there already."""
        kind = IM if len(users) <= 2 else MPIM
        for channel in self.channels.values():
            if channel.kind == kind and set(channel.members) == set(users):
                return channel, True
        name = "directmessage" if kind == IM else f"mpdm-{'--'.join(sorted(users)).lower()}-1"
        prefix = "D" if kind == IM else "C"
        return self.add_channel(self.ids.object(prefix), kind, name, users, now_s), False

    def add_channel(self, channel_id: str, kind: str, name: str, members: list[str], now_s: float) -> Channel:
        """Makes a conversation; its first member made it."""
        if channel_id in self.channels:
            raise ValueError(f"conversation {channel_id} exists already")
        creator = members[0] if members else ""
        channel = Channel(channel_id, kind, name, int(now_s), creator, self.team_id, list(members))
        self.channels[channel_id] = channel
        return channel

    def app_of_user(self, user_id: str) -> App | None:
        """The app whose bot this is."""
        return next((app for app in self.apps.values() if app.user.id == user_id), None)

    def add_message(
        self,
        channel: Channel,
        user_id: str,
        body: Json,
        *,
        now_s: float,
        thread_ts: str | None = None,
        **more: Any,
    ) -> Message:
        """Puts a message into a conversation; a reply makes its parent the head of a thread."""
        message = Message(channel, self.timestamps.next(now_s), user_id, body, thread_ts=thread_ts, **more)
        channel.messages[message.ts] = message
        if thread_ts is not None and thread_ts in channel.messages:
            channel.messages[thread_ts].thread_ts = thread_ts
        return message
