"""The simulator as one object: world, people, faults, log and the two HTTP servers."""

import base64
from typing import Any

from tests.simulators.control import ControlApi, operation
from tests.simulators.discord.people import Id
from tests.simulators.discord.server import API, ApiServer
from tests.simulators.discord.state import BotName
from tests.simulators.discord.weather import Weather
from tests.simulators.discord.world import FORUM, TEXT, Bot, Channel, Guild, Member, Overwrite, Role, User
from tests.simulators.listener import Listener

Json = dict[str, Any]
KINDS = {"text": TEXT, "forum": FORUM, "category": 4, "announcement": 5}


class DiscordSimulator(Weather):
    """A whole Discord."""

    def _listener(self, control: ControlApi, host: str, port: int) -> Listener:
        return ApiServer(self, control, host, port).listener

    async def start(self) -> None:
        """Listens on both ports."""
        await super().start()
        self.base_url = self.url

    async def _end(self) -> None:
        self.end_interactions()

    def _aimed(self, details: Json) -> Json:
        bot, channel = details.pop("bot", None), details.pop("channel_id", None)
        ids = {"bot_id": None if bot is None else self.bot(bot).id}
        return details | ids | {"channel_id": None if channel is None else int(channel)}

    @property
    def api_base_url(self) -> str:
        """The base of the REST API, as libraries take it: it ends in ``/api/v10``."""
        return self.url + API

    @property
    def gateway_url(self) -> str:
        """Return where the gateway takes websockets."""
        return "ws" + self.url.removeprefix("http") + "/gateway"

    # -- the world

    @operation
    def add_bot(
        self,
        token: str,
        username: str = "hub_bot",
        bot_id: Id | None = None,
        message_content: bool = True,
        members_intent: bool = False,
        presences_intent: bool = False,
    ) -> Bot:
        """Registers a bot; by default with the id that its token's first part says in base64."""
        number = _id_of_token(token) if bot_id is None else int(bot_id)
        if number in self.world.users:
            raise ValueError("this bot exists already")
        user = self.world.users[number] = User(number, username, is_bot=True)
        bot = self.world.bots[number] = Bot(
            token,
            user,
            message_content=message_content,
            members_intent=members_intent,
            presences_intent=presences_intent,
        )
        return bot

    @operation
    def add_user(
        self, user_id: Id | None = None, username: str | None = None, global_name: str | None = None
    ) -> User:
        """Registers a person."""
        number = self.ids.next() if user_id is None else int(user_id)
        self.world.users[number] = User(number, username or f"user{number}", global_name)
        return self.world.users[number]

    @operation
    def create_guild(
        self, name: str, members: list[Id], bots: list[BotName] | None = None, guild_id: Id | None = None
    ) -> Guild:
        """A guild; the first member owns it, ``bots=None`` takes the only bot in, ``[]`` none."""
        owner = self.person(members[0])
        guild = self.found_guild(name, owner, None if guild_id is None else int(guild_id))
        for member in members[1:]:
            self.join(guild, self.person(member))
        for bot in [None] if bots is None else bots:
            self.join(guild, self.bot(bot).user)
        return guild

    @operation
    def create_role(self, guild_id: Id, name: str, permissions: int = 0, mentionable: bool = False) -> Role:
        """A role of a guild."""
        guild = self.guild(guild_id)
        role = Role(self.ids.next(), name, permissions, mentionable)
        guild.roles[role.id] = role
        return role

    @operation
    def set_everyone(self, guild_id: Id, permissions: int) -> None:
        """Return what @everyone may do in a guild."""
        guild = self.guild(guild_id)
        guild.roles[guild.id].permissions = permissions

    @operation
    def join_guild(self, guild_id: Id, user_id: Id, roles: list[int] | None = None) -> Member:
        """Somebody (or a bot) joins a guild."""
        return self.join(self.guild(guild_id), self.person(user_id), roles)

    @operation
    def leave_guild(self, guild_id: Id, user_id: Id) -> None:
        """Somebody (or a bot) leaves or is thrown out."""
        self.leave(self.guild(guild_id), self.person(user_id))

    @operation
    def create_channel(
        self, guild_id: Id, name: str, kind: str = "text", overwrites: list[Json] | None = None
    ) -> Channel:
        """A channel: text, forum, category or announcement.

        ``overwrites`` are ``{"id", "type": 0 role | 1 member, "allow"?, "deny"?}``.
        """
        if kind not in KINDS:
            raise ValueError(f"kind is one of {', '.join(KINDS)}")
        rules = [Overwrite(**{key: int(value) for key, value in one.items()}) for one in overwrites or []]
        return self.add_channel(self.guild(guild_id), name, KINDS[kind], rules)

    @operation
    def set_overwrite(self, channel_id: Id, target_id: Id, type: int, allow: int = 0, deny: int = 0) -> None:
        """Allows and denies one role (type 0) or member (type 1) in a channel."""
        channel = self.channel(channel_id)
        channel.overwrites = [o for o in channel.overwrites if o.id != int(target_id)]
        channel.overwrites.append(Overwrite(int(target_id), type, allow, deny))
        self.announce_channel("CHANNEL_UPDATE", channel)

    @operation
    def delete_channel(self, channel_id: Id) -> None:
        """Deletes a channel or thread."""
        self.remove_channel(self.channel(channel_id))

    # -- tokens and settings

    @operation
    def revoke_token(self, bot: BotName = None, token: str | None = None) -> None:
        """The bot's token is worth nothing any more: 401, and close code 4004. ``token`` is its new one."""
        account = self.bot(bot)
        account.revoked = token is None
        account.token = token or account.token
        for session in self.sessions.of(account.id):
            self.sessions.forget(session)
            if session.wire is not None:
                session.wire.close(4004, "Authentication failed.")
        self.changed()

    @operation
    def set_message_content(self, on: bool, bot: BotName = None) -> None:
        """The application's setting for the message content intent; sessions keep what they asked for."""
        self.bot(bot).message_content = on

    @operation
    def configure(
        self,
        heartbeat_interval_s: float | None = None,
        session_ttl_s: float | None = None,
        interaction_limit_s: float | None = None,
        interaction_token_ttl_s: float | None = None,
        nonce_window_s: float | None = None,
        attachment_url_ttl_s: float | None = None,
        enforce_rate_limits: bool | None = None,
        route_limits: dict[str, list[float]] | None = None,
    ) -> None:
        """Changes how long things live, and the buckets: ``route_limits={"createMessage": [5, 5.0]}``."""
        given = {name: value for name, value in locals().items() if name.endswith("_s") and value is not None}
        self.sessions.ttl_s = given.pop("session_ttl_s", self.sessions.ttl_s)
        for name, value in given.items():
            setattr(self, name, value)
        if enforce_rate_limits is not None:
            self.rates.enforce = enforce_rate_limits
        for name, (limit, per_s) in (route_limits or {}).items():
            self.rates.overrides[name] = (int(limit), per_s)


def _id_of_token(token: str) -> int:
    """A token's first part is the bot's id in base64."""
    part = token.partition(".")[0]
    try:
        return int(base64.b64decode(part + "=" * (-len(part) % 4)))
    except ValueError:
        raise ValueError("the token's first part is the bot's id in base64; or name bot_id") from None
