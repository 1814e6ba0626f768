"""Updates of one bot: the queue with the documented offset rules, and long polls that overlap as in reality.

https://core.telegram.org/bots/api#getupdates. An update with an id below the requested ``offset`` is
confirmed and forgotten; a negative offset keeps that many from the end; types not in ``allowed_updates`` are
not queued at all.
"""

import asyncio
import bisect
import time
from collections.abc import Callable
from typing import Any

from tests.simulators.telegram.errors import ApiError
from tests.simulators.telegram.limits import (
    CALLBACK_UPDATE_TTL_S,
    MAX_POLL_TIMEOUT_S,
    MAX_UPDATES,
    MESSAGE_UPDATE_TTL_S,
    POLL_CONFLICT_PAUSE_S,
)
from tests.simulators.telegram.log import Log, RequestRecord, UpdateRecord

Json = dict[str, Any]

OPT_IN = {"chat_member", "message_reaction", "message_reaction_count"}
UPDATE_TYPES = OPT_IN | {
    "message",
    "edited_message",
    "channel_post",
    "edited_channel_post",
    "inline_query",
    "chosen_inline_result",
    "callback_query",
    "shipping_query",
    "pre_checkout_query",
    "poll",
    "poll_answer",
    "my_chat_member",
    "chat_join_request",
    "chat_boost",
    "removed_chat_boost",
    "business_connection",
    "business_message",
    "edited_business_message",
    "deleted_business_messages",
    "purchased_paid_media",
}
OTHER_POLL = (
    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
)
BY_SET_WEBHOOK = "Conflict: terminated by setWebhook request"
WEBHOOK_ACTIVE = (
    "Conflict: can't use getUpdates method while webhook is active;"
    " use deleteWebhook to delete the webhook first"
)


class UpdateQueue:
    """Undelivered and unconfirmed updates of one bot, in order of id."""

    def __init__(self, bot_id: int, log: Log, clock: Callable[[], float], first_id: int) -> None:
        self.bot_id = bot_id
        self.pending: list[UpdateRecord] = []
        self.again: list[UpdateRecord] = []
        self.default_allowed = UPDATE_TYPES - OPT_IN
        self.allowed = self.default_allowed
        self.on_push: Callable[[UpdateRecord], None] = lambda _record: None
        self.ttl_s = {"callback_query": float(CALLBACK_UPDATE_TTL_S)}
        self.default_ttl_s = float(MESSAGE_UPDATE_TTL_S)
        self._log = log
        self._clock = clock
        self._next_id = first_id

    def allow(self, kinds: list[str] | None) -> None:
        """Sets the update types to queue from now on.

        An empty list restores the default, None changes nothing.
        """
        if kinds is not None:
            known = {kind for kind in kinds if kind in UPDATE_TYPES}
            self.allowed = known or self.default_allowed

    def push(self, kind: str, body: Json) -> UpdateRecord | None:
        """Queues an update of a known kind; None if the bot does not want this type."""
        return self.push_raw(kind, {kind: body}) if kind in self.allowed else None

    def push_raw(self, kind: str, payload: Json, *, update_id: int | None = None) -> UpdateRecord:
        """Queues an update as it is; ``update_id`` overrides the next id."""
        if update_id is None:
            update_id = self._next_id
        self._next_id = max(self._next_id, update_id + 1)
        now = self._clock()
        record = UpdateRecord(
            update_id, self.bot_id, kind, payload, now, now + self.ttl_s.get(kind, self.default_ttl_s)
        )
        self._log.updates.append(record)
        bisect.insort(self.pending, record, key=lambda item: item.update_id)
        self.on_push(record)
        return record

    def push_again(self, record: UpdateRecord) -> None:
        """Delivers a known update once more under its old id, whatever offset the bot asks with."""
        self.again.append(record)
        self.on_push(record)

    def read(self, offset: int, limit: int, request: RequestRecord) -> list[UpdateRecord]:
        """Applies the offset, then lists what a poll gets. Repeated updates come first and once."""
        if offset < 0:
            self._confirm(self.pending[:offset], request, "skipped by a negative offset")
        elif offset > 0:
            cut = bisect.bisect_left(self.pending, offset, key=lambda item: item.update_id)
            self._confirm(self.pending[:cut], request, None)
        self._expire()
        repeated, self.again = self.again[:limit], self.again[limit:]
        return repeated + self.pending[: limit - len(repeated)]

    def drop_all(self, reason: str) -> None:
        """Forgets everything that waits (``drop_pending_updates``)."""
        for record in self.pending:
            record.discarded = reason
        self.pending.clear()
        self.again.clear()

    def confirm_one(self, record: UpdateRecord) -> None:
        """Confirms one update (a webhook answered 2xx)."""
        record.confirmed_at = self._clock()
        for queue in (self.pending, self.again):
            if record in queue:
                queue.remove(record)
                break

    def _confirm(self, records: list[UpdateRecord], request: RequestRecord, discarded: str | None) -> None:
        for record in records:
            record.confirmed_at, record.confirmed_by = self._clock(), request.number
            if discarded and not record.deliveries:
                record.discarded = discarded
        del self.pending[: len(records)]

    def _expire(self) -> None:
        now = self._clock()
        if any(record.expires_at <= now for record in self.pending):
            for record in self.pending:
                if record.expires_at <= now:
                    record.discarded = "expired"
            self.pending = [record for record in self.pending if record.expires_at > now]


class LongPolls:
    """At most one waiting poll of one bot; a newer one ends the older with 409."""

    def __init__(self, queue: UpdateQueue, *, pacing: bool, changed: Callable[[], None]) -> None:
        self.queue = queue
        self.pacing = pacing
        self._changed = changed
        self.webhook_active = False
        self.conflict_pause_s = POLL_CONFLICT_PAUSE_S
        self._waiting: asyncio.Future[None] | None = None
        self._last: tuple[int | None, float] = (None, 0.0)
        self._next_conflict_at = 0.0

    @property
    def is_waiting(self) -> bool:
        """Return whether a poll is open right now."""
        return self._waiting is not None

    async def get_updates(
        self, offset: int, limit: int, timeout_s: int, request: RequestRecord
    ) -> list[UpdateRecord]:
        """Return what ``getUpdates`` answers. Raises ``ApiError`` 409 on a conflict."""
        if self.webhook_active:
            raise await self._conflict(WEBHOOK_ACTIVE)
        limit = min(max(limit, 1), MAX_UPDATES)
        timeout_s = min(max(timeout_s, 0), MAX_POLL_TIMEOUT_S)
        limit, timeout_s = self._paced(offset, limit, timeout_s)
        records = self.queue.read(offset, limit, request)
        if records or timeout_s == 0:
            return records
        self.abort(OTHER_POLL)
        waiting = self._waiting = asyncio.get_running_loop().create_future()
        self._changed()
        try:
            async with asyncio.timeout(timeout_s):
                await waiting
        except TimeoutError:
            return []
        except ApiError as error:
            raise await self._conflict(error.description) from None
        finally:
            if self._waiting is waiting:
                self._waiting = None
        return self.queue.read(offset, limit, request)

    def wake(self) -> None:
        """Lets the waiting poll read the queue again."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def abort(self, reason: str) -> None:
        """Ends the waiting poll with 409."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ApiError(409, reason))

    def _paced(self, offset: int, limit: int, timeout_s: int) -> tuple[int, int]:
        """The server slows a bot that asks again with the same offset: it waits 3 s, and gets one update."""
        last_offset, at = self._last
        now = time.monotonic()
        self._last = (offset, now)
        if self.pacing and offset == last_offset:
            if timeout_s < 3 and now < at + 3:
                timeout_s = 3
            if now < at + 0.5:
                limit = 1
        return limit, timeout_s

    async def _conflict(self, reason: str) -> ApiError:
        now = time.monotonic()
        if now < self._next_conflict_at:
            await asyncio.sleep(self.conflict_pause_s)
        else:
            self._next_conflict_at = now + self.conflict_pause_s
        return ApiError(409, reason)
