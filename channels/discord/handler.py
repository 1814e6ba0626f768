"""Delivery of payloads to the inbox, in order within each conversation, and responses to presses and
commands. Responses are sent after the hub accepts the event, within Discord's 3 s."""

import asyncio
import logging
from collections.abc import Mapping

from channels.channel import CatchUpBarrier, HeldConversations, KeyedLock, KeyedLocks
from channels.discord.addresses import snowflake_of
from channels.discord.client import DiscordClient
from channels.discord.inbound import (
    COMMAND,
    COMPONENT,
    MODAL_SUBMIT,
    TOO_LONG,
    Account,
    Interaction,
    Message,
    Where,
    modal_of,
    read_change,
    read_command,
    read_event,
    read_interaction,
    read_message,
    read_press,
)
from channels.discord.outbound import aside
from core import texts
from core.clock import Clock
from core.errors import ChannelError, InboxUnavailable
from core.messages import InboundMessage
from core.ports import Acceptance, Inbox

# Received messages that have not been accepted yet. Discord does not deliver them again by itself.


class Pending:
    """The order keys of pending messages by conversation.

    They outlive a run, so that the next one catches up from there, including in conversations unknown
    to the inbox."""

    def __init__(self) -> None:
        self._keys: dict[str, set[str]] = {}

    def came(self, channel_id: str, order_key: str) -> None:
        """Add a received message."""
        self._keys.setdefault(channel_id, set()).add(order_key)

    def taken(self, channel_id: str, order_key: str) -> None:
        """Remove an accepted message."""
        keys = self._keys.get(channel_id)
        if keys is not None:
            keys.discard(order_key)
            if not keys:
                del self._keys[channel_id]

    def caught_up(self, channel_id: str, newest: int) -> None:
        """Remove all of a conversation's messages up to this id, which its history has delivered."""
        for key in [key for key in self._keys.get(channel_id, ()) if snowflake_of(key) <= newest]:
            self.taken(channel_id, key)

    def before(self) -> Mapping[str, int]:
        """Return, by conversation, the id just before the first pending message."""
        return {channel_id: snowflake_of(min(keys)) - 1 for channel_id, keys in self._keys.items()}

    def __len__(self) -> int:
        return sum(len(keys) for keys in self._keys.values())


logger = logging.getLogger(__name__)

Json = Mapping[str, object]

PATIENCE_S = 1.5
"""The longest wait of a command for earlier missed messages."""

_SAY, _DEFER_UPDATE, _MODAL = 4, 6, 9
"""Interaction callback types: a message; none (the message with the button stays unchanged); a modal."""


class EventHandler:
    """A handler that passes events to the inbox during one run.

    A message that is not accepted ends the run with `InboxUnavailable`, because Discord does not
    deliver it again. No message after it is accepted."""

    def __init__(
        self,
        client: DiscordClient,
        name: str,
        account: Account,
        inbox: Inbox,
        pending: Pending,
        clock: Clock,
    ) -> None:
        self._client = client
        self._name = name
        self._account = account
        self._inbox = inbox
        self._pending = pending
        self._clock = clock
        self._lanes = KeyedLocks()
        self._gate = CatchUpBarrier()
        self._is_broken = False

    def hold(self) -> HeldConversations:
        """Hold the live messages of each conversation until it is released, so that missed ones
        come first."""
        return self._gate.hold()

    def lane(self, channel_id: str) -> KeyedLock:
        """Return the lock that gives exclusive access to a conversation."""
        return self._lanes.lane(channel_id)

    # --- messages ----------------------------------------------------------------------------------------

    async def message(self, payload: Json, where: Where) -> None:
        """Handle MESSAGE_CREATE. Raises InboxUnavailable."""
        event = read_event(payload, self._account, self._name, where, self._clock.now())
        if isinstance(event, InboundMessage):
            await self._in_turn(event)
        elif event is not None:
            await self._inbox.accept(event)

    async def change(self, payload: Json, where: Where) -> None:
        """Handle MESSAGE_UPDATE. Raises InboxUnavailable."""
        if (event := read_change(payload, self._account, self._name, where)) is not None:
            await self._in_turn(event)

    async def missed(self, message: Json, where: Where) -> None:
        """Handle a message of the history. The caller holds the conversation's lock. Raises
        InboxUnavailable."""
        try:
            event = Message.model_validate(message)
        except ValueError as error:
            logger.warning("catch_up.message_unreadable channel=%s error=%s", self._name, error)
            return
        if (read := read_message(event, self._account, self._name, where)) is not None:
            await self._inbox.accept(read)

    async def _in_turn(self, event: InboundMessage) -> Acceptance:
        channel_id = event.address
        self._pending.came(channel_id, event.order_key)
        await self._gate.passed(channel_id)
        async with self.lane(channel_id):
            if self._is_broken:
                raise InboxUnavailable("an earlier message was not accepted")
            try:
                acceptance = await self._inbox.accept(event)
            except InboxUnavailable:
                self._is_broken = True
                raise
        self._pending.taken(channel_id, event.order_key)
        return acceptance

    # --- interactions ------------------------------------------------------------------------------------

    async def interaction(self, payload: Json) -> None:
        """Handle INTERACTION_CREATE. If it is not accepted, the person is notified."""
        interaction = read_interaction(payload)
        if interaction is None:
            logger.warning("discord.interaction_unreadable channel=%s", self._name)
            return
        if interaction.type in (COMPONENT, MODAL_SUBMIT):
            await self._press(interaction)
        elif interaction.type == COMMAND:
            await self._command(interaction)

    async def _press(self, pressed: Interaction) -> None:
        event = read_press(pressed, self._account, self._name)
        if event is None:
            await self._answer(pressed, None)
            return
        try:
            acceptance = await self._inbox.accept(event)
        except InboxUnavailable as error:
            logger.warning("inbox.button_not_accepted channel=%s error=%s", self._name, error)
            await self._answer(pressed, texts.NOT_NOW)
            return
        if acceptance.form is None:
            await self._answer(pressed, None if acceptance.plain else acceptance.answer)
            return
        modal = modal_of(event.gate_id, acceptance.form)
        if modal is None:
            await self._answer(pressed, TOO_LONG)
        else:
            await self._respond(pressed, {"type": _MODAL, "data": modal})

    async def _command(self, used: Interaction) -> None:
        event = read_command(used, self._account, self._name)
        if event is None:
            return
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._gate.passed(event.address)
            async with self.lane(event.address):
                said = (await self._inbox.accept(event)).answer or texts.COMMAND_TAKEN
        except (InboxUnavailable, TimeoutError) as error:
            logger.warning("inbox.command_not_accepted channel=%s error=%r", self._name, error)
            said = texts.NOT_NOW
        await self._answer(used, said)

    async def _answer(self, interaction: Interaction, said: str | None) -> None:
        body: dict[str, object] = (
            {"type": _DEFER_UPDATE} if said is None else {"type": _SAY, "data": aside(said)}
        )
        await self._respond(interaction, body)

    async def _respond(self, interaction: Interaction, body: dict[str, object]) -> None:
        try:
            await self._client.answer(interaction.id, interaction.token, body)
        except ChannelError as error:  # too late, or already answered: decisions stay in force
            logger.info(
                "discord.reply_failed channel=%s interaction=%s error=%s", self._name, interaction.id, error
            )
