"""Messages written while the hub was not connected: read from Slack's history, each conversation from the
last message the hub has seen of it.

Bounded by age and count, and in order. A message that came live as well is known by its key. A hub that has
received nothing before has missed nothing.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from channels.channel import HeldConversations
from channels.slack.addresses import is_person, parse_address, ts_of
from channels.slack.client import Json, SlackClient
from channels.slack.handler import EventHandler
from core.clock import SECOND_US, Clock
from core.errors import AuthRejected, ChannelError, RateLimited, Unanswered, Unavailable
from core.ports import Seen

logger = logging.getLogger(__name__)

MAX_AGE_S = 3 * 24 * 3600
MAX_CONVERSATIONS = 100
MAX_MESSAGES = 500
"""Of one conversation, the newest."""
PATIENCE_S = 120.0
"""The longest wait for Slack and its rate limit; a conversation that can't be read by then is left out."""
AGAIN_AFTER_S = 2.0

T = TypeVar("T")


@dataclass(slots=True)
class _Known:
    """The newest `ts` seen of a conversation, and of each of its threads."""

    newest: str = ""
    threads: dict[str, str] = field(default_factory=dict[str, str])


class CatchUp:
    """Reads the history of one bot's conversations."""

    def __init__(self, client: SlackClient, reader: EventHandler, name: str, clock: Clock) -> None:
        self._client = client
        self._reader = reader
        self._name = name
        self._clock = clock

    async def run(self, seen: Sequence[Seen], held: HeldConversations) -> None:
        """Bring every conversation up to date and release it. Raises AuthRejected and InboxUnavailable."""
        try:
            if seen:
                await self._all(seen, held)
        finally:
            held.release_all()

    async def _all(self, seen: Sequence[Seen], held: HeldConversations) -> None:
        oldest_ts = _ts(self._clock.now() - MAX_AGE_S * SECOND_US)
        known = _known(seen)
        newest = max(ts_of(one.order_key) for one in seen)
        for channel_id in await self._conversations(known):
            there = known.get(channel_id, _Known(newest))
            try:
                async with self._reader.lane(channel_id):
                    await self._conversation(channel_id, there, oldest_ts)
            except AuthRejected:
                raise
            except ChannelError as error:
                logger.warning(
                    "catch_up.conversation_failed channel=%s conversation=%s error=%s",
                    self._name,
                    channel_id,
                    error,
                )
            held.release(channel_id)

    async def _conversations(self, known: Mapping[str, _Known]) -> Sequence[str]:
        """Return conversations with known messages, most recent first, then the others the bot is
        in."""
        found = sorted(known, key=lambda channel_id: known[channel_id].newest, reverse=True)
        try:
            joined = await self._patiently(lambda: self._client.conversations(MAX_CONVERSATIONS))
        except AuthRejected:
            raise
        except ChannelError as error:
            logger.warning("catch_up.list_failed channel=%s error=%s", self._name, error)
            joined = ()
        found += [channel_id for channel_id in joined if channel_id not in known]
        return [channel_id for channel_id in found if not is_person(channel_id)][:MAX_CONVERSATIONS]

    async def _conversation(self, channel_id: str, there: _Known, oldest_ts: str) -> None:
        since = max(there.newest, oldest_ts)
        messages = await self._history(channel_id, None, since)
        threads = {root: ts for root, ts in there.threads.items() if ts > oldest_ts}
        for message in messages:
            if message.get("reply_count"):
                threads.setdefault(str(message.get("ts")), str(message.get("ts")))
            await self._reader.missed(channel_id, message)
        for root, last in threads.items():
            for message in await self._history(channel_id, root, max(last, oldest_ts)):
                await self._reader.missed(channel_id, message)

    async def _history(self, channel_id: str, thread_ts: str | None, since: str) -> Sequence[Json]:
        return await self._patiently(
            lambda: self._client.history(channel_id, oldest=since, thread_ts=thread_ts, limit=MAX_MESSAGES)
        )

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        waited_s = 0.0
        while True:
            try:
                return await ask()
            except (RateLimited, Unavailable, Unanswered) as error:
                pause_s = error.retry_after_s if isinstance(error, RateLimited) else AGAIN_AFTER_S
                waited_s += pause_s
                if waited_s > PATIENCE_S:
                    raise
                await self._clock.sleep(pause_s)


def _known(seen: Sequence[Seen]) -> dict[str, _Known]:
    known: dict[str, _Known] = {}
    for one in seen:
        target, ts = parse_address(one.address), ts_of(one.order_key)
        there = known.setdefault(target.channel, _Known())
        if target.thread_ts is None or target.thread_ts == ts:  # a message that opened its thread
            there.newest = max(there.newest, ts)
        if target.thread_ts is not None:
            there.threads[target.thread_ts] = max(there.threads.get(target.thread_ts, ""), ts)
            there.newest = max(there.newest, target.thread_ts)
    return known


def _ts(micros: int) -> str:
    return f"{max(micros, 0) // SECOND_US}.{max(micros, 0) % SECOND_US:06d}"
