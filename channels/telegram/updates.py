"""Updates from Telegram, by polling or a webhook: only those that the inbox has accepted are confirmed.

A polled update is confirmed by requesting the ones after it
(https://core.telegram.org/bots/api#getupdates). The offset therefore guarantees that no update is
lost: it never passes an update that was not accepted.
"""

import asyncio
import hashlib
import hmac
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from channels.channel import HttpRequest, HttpResponse
from channels.telegram.addresses import Account
from channels.telegram.client import BotClient
from channels.telegram.errors import AnswerTooLarge, WebhookSet
from channels.telegram.inbound import ALLOWED_UPDATES, press_id_of, read_update, unread_update, update_id_of
from core.clock import Clock
from core.errors import ChannelError, InboxUnavailable, Unanswered, Unavailable
from core.messages import InboundEvent, Unreadable
from core.off_loop import json_off_loop
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


# The webhook. Telegram repeats a call until it is answered with 2xx
# (https://core.telegram.org/bots/api#setwebhook). An update is therefore answered with 200 once it is
# accepted and durable, and with 503 while nothing can be accepted.

PATH = "/webhook"
SECRET_HEADER = "x-telegram-bot-api-secret-token"  # noqa: S105 - a header's name
CHECK_EVERY_S = 60.0
"""The interval at which the hub checks whether another program has taken the webhook."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """The URL at which Telegram reaches this bot, and the secret that authenticates Telegram."""

    url: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class WebhookInfo:
    """Telegram's information about a bot's webhook. `last_error`: of its newest failed call, if any."""

    url: str
    allowed_updates: tuple[str, ...]
    last_error: str | None


class WebhookReceiver:
    """The webhook of one bot. Calls are accepted as soon as the bot's account is known."""

    def __init__(self, client: BotClient, channel: str, clock: Clock, webhook: Webhook) -> None:
        self._client = client
        self._channel = channel
        self._clock = clock
        self._webhook = webhook
        self._account: Account | None = None
        self._on_press: OnPress | None = None
        self._was_set = False

    async def run(self, account: Account, on_press: OnPress, connected: Callable[[], None]) -> None:
        """Set the webhook and check that it stays, until cancelled.

        Raises ChannelError; the caller runs it again then. Until then, calls by Telegram are still
        accepted."""
        self._account, self._on_press = account, on_press
        try:
            await self._set()
            connected()
            while True:
                await self._clock.sleep(CHECK_EVERY_S)
                await self._check()
        finally:
            self._on_press = None

    async def _set(self) -> None:
        """Set the webhook if needed. The first run always sets it, because the secret cannot be checked."""
        if self._was_set and self._as_wanted(await self._info()):
            return
        await self._client.set_webhook(self._webhook.url, self._webhook.secret, ALLOWED_UPDATES)
        self._was_set = True
        logger.info("telegram.webhook_set url=%s channel=%s", self._webhook.url, self._channel)

    async def _check(self) -> None:
        info = await self._info()
        if not self._as_wanted(info):
            change = f"changed the webhook to {info.url}" if info.url else "removed the webhook"
            raise ChannelError(f"another program {change}")
        if info.last_error is not None:
            logger.warning(
                "telegram.webhook_delivery_failed channel=%s error=%s", self._channel, info.last_error
            )

    async def _info(self) -> WebhookInfo:
        url, allowed_updates, last_error = await self._client.webhook()
        return WebhookInfo(url, tuple(allowed_updates), last_error)

    def _as_wanted(self, info: WebhookInfo) -> bool:
        return info.url == self._webhook.url and set(info.allowed_updates) == set(ALLOWED_UPDATES)

    # --- calls by Telegram ----------------------------------------------------------------------------

    async def handle(self, request: HttpRequest, inbox: Inbox) -> HttpResponse:
        """Handle a call with one update."""
        given = request.headers.get(SECRET_HEADER, "")
        if not hmac.compare_digest(given.encode(), self._webhook.secret.encode()):
            logger.warning("telegram.webhook_secret_wrong channel=%s", self._channel)
            return HttpResponse(403)
        if self._account is None:
            return HttpResponse(503)
        try:
            await self._take(request.body, self._account, inbox)
        except InboxUnavailable as error:
            logger.warning("telegram.update_not_accepted channel=%s error=%s", self._channel, error)
            return HttpResponse(503)
        return HttpResponse(200)

    async def _take(self, body: bytes, account: Account, inbox: Inbox) -> None:
        now = self._clock.now()
        try:
            payload: object = await json_off_loop(body)
        except (ValueError, RecursionError):
            key = f"tg:{account.id}:u:{hashlib.sha256(body).hexdigest()}"
            await inbox.accept(Unreadable(key, self._channel, "not JSON", now))
            return
        event = read_update(payload, account, self._channel, now)
        if event is None:
            return
        acceptance = await inbox.accept(event)
        press_id = press_id_of(payload)
        if press_id is not None and self._on_press is not None:
            self._on_press(press_id, acceptance)
