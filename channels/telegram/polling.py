"""Polling of updates from Telegram, which confirms only updates that the inbox has accepted.

An update is confirmed by requesting the ones after it
(https://core.telegram.org/bots/api#getupdates). The offset therefore guarantees that no update is
lost: it never passes an update that was not accepted.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from channels.telegram.addresses import Account
from channels.telegram.client import BotClient
from channels.telegram.errors import AnswerTooLarge, WebhookSet
from channels.telegram.inbound import press_id_of, read_update, unread_update, update_id_of
from core.clock import Clock
from core.errors import ChannelError, InboxUnavailable, Unanswered, Unavailable
from core.messages import InboundEvent, Unreadable
from core.ports import Acceptance, Inbox

logger = logging.getLogger(__name__)

MAX_UPDATES: Final = 100
"""Bot API, getUpdates: limit. Fewer are requested while this many together are too large."""

_NO_ID: Final = "Telegram delivered updates without an ID"

OnPress = Callable[[str, Acceptance], None]
"""Called with the id of a pressed button and the result. Must not block."""


class UpdatePoller:
    """The long poll of one bot. It remembers the last accepted update across runs."""

    def __init__(self, client: BotClient, channel: str, clock: Clock) -> None:
        self._client = client
        self._channel = channel
        self._clock = clock
        self._offset: int | None = None
        self._most = MAX_UPDATES

    async def run(self, account: Account, inbox: Inbox, on_press: OnPress) -> None:
        """Poll until cancelled. Raises ChannelError or InboxUnavailable; the caller runs it again then.

        A single lost poll is repeated at once; two in a row are a failure.
        """
        resumed = False
        webhook_deleted = False
        while True:
            try:
                updates = await self._client.updates(self._offset, self._most)
            except AnswerTooLarge as error:
                await self._take_less(error, account, inbox)
                continue
            except (Unanswered, Unavailable) as error:
                if resumed:
                    raise
                logger.info("telegram.poll_failed channel=%s error=%s", self._channel, error)
                resumed = True
                continue
            except WebhookSet:
                if webhook_deleted:
                    raise
                logger.warning("telegram.webhook_replaced channel=%s", self._channel)
                await self._client.delete_webhook()
                webhook_deleted = True
                continue
            resumed = False
            self._most = min(self._most * 2, MAX_UPDATES)
            await self._take(updates, account, inbox, on_press)

    async def _take(
        self, updates: Sequence[object], account: Account, inbox: Inbox, on_press: OnPress
    ) -> None:
        """Accept a batch, in order within a chat and with chats in parallel (a batch has at most 100
        updates).

        Raises InboxUnavailable after confirming the updates before the first that was not accepted."""
        batch = Batch(updates, account, self._channel, self._clock.now())
        failure = await batch.accept(inbox, on_press)
        progress = False
        for payload in batch.accepted_prefix():
            update_id = update_id_of(payload)
            if update_id is not None:
                self._offset = update_id + 1
                progress = True
        if failure is not None:
            raise failure
        if updates and not progress:
            raise ChannelError(_NO_ID)

    async def _take_less(self, error: AnswerTooLarge, account: Account, inbox: Inbox) -> None:
        """Request fewer updates if they are too large together.

        One that is too large by itself is recorded by its id and skipped. Raises InboxUnavailable and
        ChannelError."""
        if self._most > 1:
            self._most //= 2
            return
        if error.update_id is None:
            raise ChannelError(_NO_ID)
        logger.warning(
            "telegram.update_skipped channel=%s update=%d size=%s", self._channel, error.update_id, error.size
        )
        await inbox.accept(
            unread_update(
                error.update_id, f"an update of {error.size}", account, self._channel, self._clock.now()
            )
        )
        self._offset = error.update_id + 1


class Batch:
    """Updates that arrived together. The updates of one chat form a lane."""

    def __init__(self, updates: Sequence[object], account: Account, channel: str, now: int) -> None:
        self._updates = updates
        self._accepted = [False] * len(updates)
        self._lanes: dict[str, list[tuple[int, InboundEvent]]] = {}
        for index, payload in enumerate(updates):
            event = read_update(payload, account, channel, now)
            if event is None:
                self._accepted[index] = True  # nothing to store
            else:
                self._lanes.setdefault(_lane(event), []).append((index, event))

    async def accept(self, inbox: Inbox, on_press: OnPress) -> InboxUnavailable | None:
        """Submit all updates. A lane ends at the first refused event; a refusal is returned."""
        refusals: list[InboxUnavailable] = []

        async def accept_lane(lane: Sequence[tuple[int, InboundEvent]]) -> None:
            try:
                for index, event in lane:
                    acceptance = await inbox.accept(event)
                    self._accepted[index] = True
                    press_id = press_id_of(self._updates[index])
                    if press_id is not None:
                        on_press(press_id, acceptance)
            except InboxUnavailable as refusal:
                refusals.append(refusal)

        if len(self._lanes) == 1:  # nothing to run in parallel
            await accept_lane(*self._lanes.values())
        else:
            async with asyncio.TaskGroup() as tasks:
                for name, lane in self._lanes.items():
                    tasks.create_task(accept_lane(lane), name=f"accept {name}")
        return refusals[0] if refusals else None

    def accepted_prefix(self) -> Sequence[object]:
        """Return the updates before the first that was not accepted."""
        end = self._accepted.index(False) if False in self._accepted else len(self._accepted)
        return self._updates[:end]


def _lane(event: InboundEvent) -> str:
    return event.key if isinstance(event, Unreadable) else event.address.partition(":")[0]
