"""Pressed buttons, used commands and submitted forms, from the press to the answer or the failure.

https://docs.discord.com/developers/interactions/receiving-and-responding.
"""

import asyncio
import secrets
from dataclasses import dataclass, field
from typing import Any

from tests.simulators.discord import intents, limits
from tests.simulators.discord.payloads import channel_json, member_json, user_json
from tests.simulators.discord.permissions import permissions_in
from tests.simulators.discord.places import Places
from tests.simulators.discord.sessions import Session
from tests.simulators.discord.world import Bot, Channel, Message, User

Json = dict[str, Any]
COMMAND, COMPONENT, MODAL_SUBMIT = 2, 3, 5
FAILED = "This interaction failed"
NO_RESPONSE = "The application did not respond"
"""What the client shows when nobody answers: the first under a message, the second for a command."""


@dataclass(slots=True, eq=False)
class Interaction:
    """One interaction, and what its person sees of it: ``failure``, a ``modal``, or the answers."""

    id: int
    token: str
    bot_id: int
    user: User
    channel: Channel
    type: int
    data: Json
    created_at: float
    message: Message | None = None
    callback_type: int | None = None
    acknowledged_at: float | None = None
    failure: str | None = None
    original: Message | None = None
    deferred: bool = False
    followups: list[Message] = field(default_factory=list)
    modal: Json | None = None
    timer: asyncio.TimerHandle | None = None

    @property
    def acknowledged(self) -> bool:
        return self.callback_type is not None

    def messages(self) -> list[Message]:
        """The answers that are there: the original first."""
        found = ([self.original] if self.original is not None else []) + self.followups
        return [message for message in found if not message.deleted]

    def state(self) -> Json:
        """Return what a judge asks of it; ids as text."""
        names = ("type", "data", "created_at", "callback_type", "acknowledged_at", "failure", "modal")
        return {name: getattr(self, name) for name in names} | {
            "id": str(self.id),
            "bot_id": str(self.bot_id),
            "user_id": str(self.user.id),
            "channel_id": str(self.channel.id),
            "message_id": None if self.message is None else str(self.message.id),
            "messages": [{"id": str(m.id), "content": m.content, "flags": m.flags} for m in self.messages()],
        }


class Interactions(Places):
    """The interactions of everybody."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.interactions: dict[int, Interaction] = {}

    def begin(
        self,
        bot: Bot,
        user: User,
        channel: Channel,
        kind: int,
        data: Json,
        message: Message | None = None,
    ) -> Interaction:
        """Tells the bot of it; it fails at once if no session is there, else after 3 s without an answer."""
        interaction = Interaction(
            id=self.ids.next(),
            token=secrets.token_urlsafe(96),
            bot_id=bot.id,
            user=user,
            channel=channel,
            type=kind,
            data=data,
            created_at=self.clock(),
            message=message,
        )
        self.interactions[interaction.id] = interaction
        guild_id = None if channel.guild is None else channel.guild.id
        sessions = [session for session in self.sessions.of(bot.id) if session.serves(guild_id)]
        if not sessions:
            self._fail(interaction)
            return interaction
        loop = asyncio.get_running_loop()
        interaction.timer = loop.call_later(self.interaction_limit_s, self._fail, interaction)
        for session in sessions:
            session.dispatch("INTERACTION_CREATE", self._payload(interaction, bot, session))
        self.changed()
        return interaction

    def _fail(self, interaction: Interaction) -> None:
        """The person sees that nothing came of it."""
        if not interaction.acknowledged:
            interaction.failure = NO_RESPONSE if interaction.type == COMMAND else FAILED
        self.changed()

    def acknowledge(self, interaction: Interaction, callback_type: int) -> None:
        """The bot's one answer has come in time."""
        interaction.callback_type = callback_type
        interaction.acknowledged_at = self.clock()
        if interaction.timer is not None:
            interaction.timer.cancel()
        self.changed()

    def end_interactions(self) -> None:
        """Stops every clock."""
        for interaction in self.interactions.values():
            if interaction.timer is not None:
                interaction.timer.cancel()

    def token_is_old(self, interaction: Interaction) -> bool:
        """Return whether its 15 minutes are over."""
        return self.clock() - interaction.created_at > self.interaction_token_ttl_s

    def _payload(self, interaction: Interaction, bot: Bot, session: Session) -> Json:
        """https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-object."""
        channel, user, guild = interaction.channel, interaction.user, interaction.channel.guild
        body: Json = {
            "id": str(interaction.id),
            "application_id": str(bot.id),
            "type": interaction.type,
            "data": interaction.data,
            "token": interaction.token,
            "version": 1,
            "channel_id": str(channel.id),
            "channel": channel_json(channel, bot.id) | {"permissions": str(permissions_in(channel, user.id))},
            "app_permissions": str(permissions_in(channel, bot.id)),
            "locale": user.locale,
            "entitlements": [],
            "authorizing_integration_owners": {"0": "0" if guild is None else str(guild.id)},
            "context": 1 if guild is None else 0,
            "attachment_size_limit": limits.MAX_FILE_BYTES,
        }
        if guild is None:
            body["user"] = user_json(user)
        else:
            permissions = {"permissions": str(permissions_in(channel, user.id))}
            body["member"] = member_json(guild.members[user.id]) | permissions
            body["guild_id"] = str(guild.id)
            body["guild"] = {"id": str(guild.id), "locale": "en-US", "features": []}
            body["guild_locale"] = "en-US"
        if interaction.message is not None:
            readable = bool(session.intents & intents.MESSAGE_CONTENT)
            body["message"] = self.message_json(interaction.message, bot, readable=readable)
        return body

    def metadata(self, interaction: Interaction) -> Json:
        """``interaction_metadata`` of the messages it brings forth."""
        owner = "0" if interaction.channel.guild is None else str(interaction.channel.guild.id)
        body: Json = {
            "id": str(interaction.id),
            "type": interaction.type,
            "user": user_json(interaction.user),
            "authorizing_integration_owners": {"0": owner},
        }
        if interaction.type == COMMAND:
            body |= {"name": interaction.data["name"], "command_type": 1}
        elif interaction.message is not None:
            body["interacted_message_id"] = str(interaction.message.id)
        return body

    def interaction_of_token(self, token: str) -> Interaction | None:
        """By its token."""
        return next((i for i in self.interactions.values() if i.token == token), None)
