"""Queries of a judge: the log, the state of channels, and whether something has come to pass."""

from typing import Any

from tests.patience import PATIENCE_S
from tests.simulators.control import operation
from tests.simulators.discord.interactions import Interaction
from tests.simulators.discord.log import EventRecord, GatewayRecord, Log, RequestRecord
from tests.simulators.discord.people import Id
from tests.simulators.discord.people_interactions import InteractionActions
from tests.simulators.discord.state import BotName
from tests.simulators.discord.world import Message
from tests.simulators.platform import Platform

Json = dict[str, Any]


class Inspection(Platform, InteractionActions):
    """Questions about what has happened so far. ``channel_id=None`` means all channels."""

    log: Log

    @operation
    def requests(
        self,
        method: str | None = None,
        channel_id: Id | None = None,
        bot: BotName = None,
        outcome: str | None = None,
        ok: bool | None = None,
        since: int = 0,
    ) -> list[RequestRecord]:
        """Requests in order, filtered; ``ok`` means taken and accepted, ``since`` a number to start after."""
        return self.log.select(
            method=method,
            channel_id=None if channel_id is None else int(channel_id),
            bot_id=None if bot is None else self.bot(bot).id,
            outcome=outcome,
            ok=ok,
            since=since,
        )

    @operation
    def events(self, name: str | None = None, bot: BotName = None) -> list[EventRecord]:
        """Gateway events in order of creation, with the times they went out."""
        bot_id = None if bot is None else self.bot(bot).id
        return [e for e in self.log.events if name in {None, e.name} and bot_id in {None, e.bot_id}]

    @operation
    def gateway_log(self, what: str | None = None) -> list[GatewayRecord]:
        """Return what happened on the gateway: connected, identified, resumed, resume refused, heartbeat,
        disconnected (with the close code).
        """
        return [record for record in self.log.gateway if what in {None, record.what}]

    @operation
    def messages(self, channel_id: Id, by: str | None = None, deleted: bool = False) -> list[Message]:
        """A channel's messages in order, ephemeral ones included; ``by`` "bot" or "user"."""
        return [
            message
            for message in self.channel(channel_id).messages.values()
            if (deleted or not message.deleted)
            and (by is None or (by == "bot") == message.author.is_bot)
            and not (by is not None and message.is_system)
        ]

    def bot_messages(self, channel_id: Id) -> list[Message]:
        """The messages bots have put into a channel, in order."""
        return self.messages(channel_id, by="bot")

    @operation
    def visible_messages(self, user_id: Id, channel_id: Id) -> list[Message]:
        """Return what one person sees in a channel: everybody's messages, and the ephemeral ones for this
        person."""
        return [m for m in self.messages(channel_id) if m.ephemeral_for in {None, int(user_id)}]

    @operation
    def ephemeral_messages(self, user_id: Id) -> list[Message]:
        """Every ephemeral message for a person, in order."""
        found = [m for c in self.world.channels.values() for m in c.messages.values()]
        return sorted((m for m in found if m.ephemeral_for == int(user_id)), key=lambda m: m.id)

    @operation
    def message_state(self, message_id: Id) -> Json:
        """All of a message: content, visible text, buttons, files, whom it pinged, edits."""
        return self.message(message_id).state()

    @operation
    def channel_state(self, channel_id: Id) -> Json:
        """A channel with who typed when and all messages, deleted and ephemeral ones included."""
        return self.channel(channel_id).state()

    @operation
    def all_interactions(self) -> list[Interaction]:
        """Every interaction in order, with its failure or its answers."""
        return list(self.interactions.values())

    @operation
    def commands(self, guild_id: Id | None = None, bot: BotName = None) -> list[Json]:
        """A bot's commands: global ones, or a guild's."""
        return self.bot(bot).commands.get(None if guild_id is None else int(guild_id), [])

    @operation
    def is_connected(self, bot: BotName = None) -> bool:
        """Return whether a session of this bot has a live connection."""
        return bool(self.sessions.connected(self.bot(bot).id))

    @operation
    def whole_log(self, since: int = 0) -> Json:
        """Requests after number ``since``, all events, all of the gateway; the control API says ``log``."""
        return {
            "requests": self.requests(since=since),
            "events": self.events(),
            "gateway": self.gateway_log(),
        }

    # -- waiting

    @operation
    async def wait_bot_messages(
        self, channel_id: Id, count: int = 1, timeout_s: float = PATIENCE_S
    ) -> list[Message]:
        """Waits until bots have put at least ``count`` messages into a channel."""
        return await self.wait_count(lambda: self.bot_messages(channel_id), count, timeout_s)

    @operation
    async def wait_text(self, channel_id: Id, contains: str, timeout_s: float = PATIENCE_S) -> Message:
        """Waits until a bot's message in a channel shows this text (after edits)."""
        return await self.wait_for(
            lambda: next((m for m in self.bot_messages(channel_id) if contains in m.text), None), timeout_s
        )

    @operation
    async def wait_connected(self, bot: BotName = None, timeout_s: float = PATIENCE_S) -> bool:
        """Waits until a session of this bot has a live connection."""
        return await self.wait_for(lambda: self.is_connected(bot), timeout_s)

    @operation
    async def wait_disconnected(self, bot: BotName = None, timeout_s: float = PATIENCE_S) -> bool:
        """Waits until no session of this bot has a live connection."""
        return await self.wait_for(lambda: not self.is_connected(bot), timeout_s)

    @operation
    async def wait_gateway(
        self, what: str, count: int = 1, timeout_s: float = PATIENCE_S
    ) -> list[GatewayRecord]:
        """Waits until something has happened on the gateway at least ``count`` times."""
        return await self.wait_count(lambda: self.gateway_log(what), count, timeout_s)

    @operation
    async def wait_interaction(self, interaction_id: Id, timeout_s: float = PATIENCE_S) -> Interaction:
        """Waits until an interaction is answered or has failed."""
        wanted = self.interactions[int(interaction_id)]
        return await self.wait_for(
            lambda: wanted if wanted.acknowledged or wanted.failure is not None else None, timeout_s
        )
