"""The webhook for updates from Telegram, which confirms only updates that the inbox has accepted.

Telegram repeats a call until it is answered with 2xx
(https://core.telegram.org/bots/api#setwebhook). An update is therefore answered with 200 once it is
accepted and durable, and with 503 while nothing can be accepted.
"""

import hashlib
import hmac
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from channels.channel import HttpRequest, HttpResponse
from channels.telegram.addresses import Account
from channels.telegram.client import BotClient
from channels.telegram.inbound import ALLOWED_UPDATES, press_id_of, read_update
from channels.telegram.polling import OnPress
from core.clock import Clock
from core.errors import ChannelError, InboxUnavailable
from core.messages import Unreadable
from core.off_loop import off_loop
from core.ports import Inbox

logger = logging.getLogger(__name__)

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
            payload: object = await off_loop(len(body), partial(json.loads, body))
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
