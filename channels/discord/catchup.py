"""What was said while nobody listened: read from Discord's history, each conversation from the last message
the hub has seen of it.

Bounded by age and count, and in order; what came live as well is known by its key. Only a hub that has heard
something before has missed anything. Private conversations that never reached the hub are not found: Discord
lists none to bots.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from channels.discord.client import DiscordClient
from channels.discord.inbound import Where, where_of
from channels.discord.pending import Pending
from channels.discord.places import person_of, snowflake_at, snowflake_of
from channels.discord.reading import Reader
from channels.discord.wire import Channel
from channels.lanes import Held
from core.clock import SECOND_US, Clock
from core.errors import AddressGone, MessageRejected
from core.ports import Inbox, Seen

logger = logging.getLogger(__name__)

MAX_AGE_S = 3 * 24 * 3600
MAX_CONVERSATIONS = 100
MAX_MESSAGES = 500
"""Of one conversation, the newest."""


class Guilds(Protocol):
    """What the gateway tells of the servers the bot is in."""

    async def known(self) -> None:
        """Until each of them was told of, or it takes too long."""
        ...

    def where(self, channel_id: str) -> Where | None:
        """The kind of one of their channels."""
        ...

    def spoken_in(self, since: int) -> Iterable[str]:
        """Their channels and threads with messages after an id."""
        ...


class CatchUp:
    """Reads the history of one bot's conversations. `guilds` None: private conversations only."""

    def __init__(
        self,
        client: DiscordClient,
        reader: Reader,
        pending: Pending,
        guilds: Guilds,
        name: str,
        clock: Clock,
        *,
        groups: bool,
    ) -> None:
        self._client = client
        self._reader = reader
        self._pending = pending
        self._guilds = guilds
        self._name = name
        self._clock = clock
        self._groups = groups

    async def run(self, inbox: Inbox, held: Held) -> None:
        """Bring every conversation up to date and release it. Raises ChannelError and InboxUnavailable: what
        is still held then was not brought."""
        seen = await inbox.last_seen(self._name)
        oldest = snowflake_at(self._clock.now() - MAX_AGE_S * SECOND_US)
        since = _since(seen, self._pending.before())
        for channel_id in sorted(since, key=lambda channel_id: since[channel_id], reverse=True)[
            :MAX_CONVERSATIONS
        ]:
            await self._conversation(channel_id, max(since[channel_id], oldest), held)
        if since and self._groups:
            await self._guilds.known()
            newest = max(since.values())
            others = [one for one in self._guilds.spoken_in(newest) if one not in since]
            for channel_id in others[: max(MAX_CONVERSATIONS - len(since), 0)]:
                await self._conversation(channel_id, max(newest, oldest), held)
        held.release_all()

    async def _conversation(self, channel_id: str, since: int, held: Held) -> None:
        try:
            async with self._reader.lane(channel_id):
                newest = await self._bring(channel_id, since)
                self._pending.caught_up(channel_id, newest)
        except (AddressGone, MessageRejected) as error:
            logger.warning("%s: %s could not be caught up with: %s", self._name, channel_id, error)
        held.release(channel_id)

    async def _bring(self, channel_id: str, since: int) -> int:
        messages = await self._client.after(channel_id, since, MAX_MESSAGES)
        if not messages:
            return since
        where = await self._where(channel_id)
        for message in messages:
            await self._reader.missed(message, where)
        return int(messages[-1]["id"])

    async def _where(self, channel_id: str) -> Where:
        if (known := self._guilds.where(channel_id)) is not None:
            return known
        return where_of(Channel.model_validate(await self._client.channel(channel_id)))


def _since(seen: Sequence[Seen], waiting: Mapping[str, int]) -> dict[str, int]:
    """By conversation, the id after which everything may be missing."""
    since = {str(one.address): snowflake_of(one.order_key) for one in seen if person_of(one.address) is None}
    return since | {
        channel_id: min(before, since.get(channel_id, before)) for channel_id, before in waiting.items()
    }
