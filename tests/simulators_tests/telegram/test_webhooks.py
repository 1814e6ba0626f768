"""Deliveries by webhook: https://core.telegram.org/bots/api#setwebhook."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiogram import Bot
from aiogram.exceptions import TelegramBadRequest, TelegramConflictError
from aiogram.types import Update
from aiohttp import web

from tests.patience import PATIENCE_S
from tests.simulators.telegram import TelegramSimulator
from tests.simulators_tests.telegram.conftest import ANN

SECRET = "s3cret_TOKEN-1"


class Receiver:
    """A web server that keeps what it is sent and answers with the next of ``answers`` (then 200)."""

    def __init__(self) -> None:
        self.received: list[tuple[str | None, Update]] = []
        self.answers: list[int] = []
        self.changed = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self.held_chat: int | None = None
        self.url = ""

    async def handle(self, request: web.BaseRequest) -> web.Response:
        body: dict[str, Any] = await request.json()
        update = Update.model_validate(body)
        self.received.append((request.headers.get("X-Telegram-Bot-Api-Secret-Token"), update))
        self.changed.set()
        if update.message is not None and update.message.chat.id == self.held_chat:
            await self.gate.wait()
        return web.Response(status=self.answers.pop(0) if self.answers else 200)

    async def wait_count(self, count: int) -> list[str | None]:
        """Waits for this many deliveries; their texts."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.received) < count:
                self.changed.clear()
                await self.changed.wait()
        return [update.message.text for _, update in self.received if update.message is not None]


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    runner = web.ServerRunner(web.Server(receiver.handle), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}/telegram"
    yield receiver
    await runner.cleanup()


async def test_updates_are_posted_with_the_secret_and_confirmed_by_2xx(
    bot: Bot, met: TelegramSimulator, receiver: Receiver
) -> None:
    met.user_sends_text(ANN, "before")
    await bot.set_webhook(receiver.url, secret_token=SECRET)
    met.user_sends_text(ANN, "after")
    assert await receiver.wait_count(2) == ["before", "after"]
    await met.wait_confirmed()
    assert {secret for secret, _ in receiver.received} == {SECRET}
    deliveries = [delivery for update in met.updates() for delivery in update.deliveries]
    assert [(d["via"], d["status"]) for d in deliveries] == [("webhook", 200)] * 2


async def test_a_refused_delivery_is_repeated_and_keeps_the_order_of_its_chat(
    bot: Bot, met: TelegramSimulator, receiver: Receiver
) -> None:
    met.configure(webhook_retry_s=0.01)
    receiver.answers = [500, 403]
    await bot.set_webhook(receiver.url)
    met.user_sends_text(ANN, "one")
    met.user_sends_text(ANN, "two")
    assert await receiver.wait_count(4) == ["one", "one", "one", "two"]
    await met.wait_confirmed()
    info = await bot.get_webhook_info()
    assert info.last_error_message == "Wrong response from the webhook: 403 Forbidden"
    assert (info.url, info.pending_update_count) == (receiver.url, 0)


async def test_one_slow_chat_does_not_delay_another(
    bot: Bot, met: TelegramSimulator, receiver: Receiver
) -> None:
    met.add_user(8)
    receiver.held_chat = ANN
    receiver.gate.clear()
    await bot.set_webhook(receiver.url)
    met.user_sends_text(ANN, "slow")
    met.user_sends_text(ANN, "waits")
    met.user_sends_text(8, "quick")
    assert await receiver.wait_count(2) == ["slow", "quick"]
    receiver.gate.set()
    assert (await receiver.wait_count(3))[-1] == "waits"


async def test_polling_and_a_webhook_exclude_each_other(
    bot: Bot, met: TelegramSimulator, receiver: Receiver
) -> None:
    poll = asyncio.create_task(bot.get_updates(timeout=30))
    await met.wait_polling()
    await bot.set_webhook(receiver.url)
    with pytest.raises(TelegramConflictError, match="terminated by setWebhook request"):
        await poll
    met.configure(conflict_pause_s=0.0)
    with pytest.raises(TelegramConflictError, match="can't use getUpdates method while webhook is active"):
        await bot.get_updates()
    await bot.delete_webhook()
    met.user_sends_text(ANN, "by poll again")
    assert len(await bot.get_updates()) == 1
    assert receiver.received == []


async def test_pending_updates_can_be_dropped(bot: Bot, met: TelegramSimulator, receiver: Receiver) -> None:
    met.user_sends_text(ANN, "old")
    await bot.set_webhook(receiver.url, drop_pending_updates=True)
    met.user_sends_text(ANN, "new")
    assert await receiver.wait_count(1) == ["new"]
    assert [u.discarded for u in met.updates() if not u.deliveries][-1] == "dropped by setWebhook"


async def test_a_delivery_can_be_repeated_and_setting_the_same_webhook_again_changes_nothing(
    bot: Bot, met: TelegramSimulator, receiver: Receiver
) -> None:
    await bot.set_webhook(receiver.url)
    met.user_sends_text(ANN, "twice")
    await met.wait_confirmed()
    webhook = met.webhooks[123456]
    assert await bot.set_webhook(receiver.url)
    assert met.webhooks[123456] is webhook
    met.redeliver()
    assert await receiver.wait_count(2) == ["twice", "twice"]
    assert len({update.update_id for _, update in receiver.received}) == 1
    await met.wait_confirmed()


async def test_an_unreachable_webhook_keeps_its_updates(bot: Bot, met: TelegramSimulator) -> None:
    met.configure(webhook_retry_s=0.01)
    await bot.set_webhook("http://127.0.0.1:9/telegram")
    met.user_sends_text(ANN, "kept")
    await met.wait_for(lambda: len(met.updates()[-1].deliveries) >= 2)
    info = await bot.get_webhook_info()
    assert (info.pending_update_count, info.last_error_message) == (1, "Connection refused")
    await bot.delete_webhook()
    assert [u.message.text for u in await bot.get_updates() if u.message] == ["kept"]


@pytest.mark.parametrize("url", ["ftp://example.com/x", "nonsense", "http://"])
async def test_a_webhook_needs_a_web_address(bot: Bot, met: TelegramSimulator, url: str) -> None:
    with pytest.raises(TelegramBadRequest, match="invalid webhook URL specified"):
        await bot.set_webhook(url)
