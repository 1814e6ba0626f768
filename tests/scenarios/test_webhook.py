"""Telegram brings its updates to the hub: what is answered, what is asked for again, who is let in."""

import asyncio
import io
import json
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from tests.harness.bodies import LongBody, answer_to_a_part
from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN, Hub, open_hub, write_config
from tests.ports import free_port

SECRET = "a-secret_word"
PATH = "/channels/telegram/webhook"
HEADER = "X-Telegram-Bot-Api-Secret-Token"


def config_of(port: int, secret: str = SECRET) -> tuple[str, str]:
    """Return what goes into [http], and into the channel's section."""
    http = f'port = {port}\npublic_url = "http://127.0.0.1:{port}"'
    return http, f'mode = "webhook"\nwebhook_secret = "{secret}"'


@pytest.fixture
def port() -> int:
    return free_port()


@pytest_asyncio.fixture
async def house(tmp_path: Path, port: int) -> AsyncIterator[Hub]:
    http, extra = config_of(port)
    async with open_hub(tmp_path, http=http, extra=extra, start=False) as opened:
        await opened.start()
        await opened.channel_becomes("running")
        opened.telegram.bot().started_by.add(OWNER)
        yield opened


async def post(house: Hub, body: bytes | io.BytesIO, secret: str | None = SECRET) -> int:
    headers = {} if secret is None else {HEADER: secret}
    async with (
        aiohttp.ClientSession() as http,
        http.post(house.app.url + PATH, data=body, headers=headers) as answer,
    ):
        return answer.status


def update(n: int, text: str) -> bytes:
    sender = {"id": OWNER, "is_bot": False, "first_name": "Olivia"}
    message = {"message_id": n, "date": 1_700_000_000, "from": sender, "text": text}
    message["chat"] = {"id": OWNER, "type": "private"}
    return json.dumps({"update_id": n, "message": message}).encode()


async def outcomes(house: Hub) -> list[str]:
    return [explanation.outcome for explanation in await house.app.store.explanations.explain_recent(50)]


async def test_messages_and_presses_come_by_webhook_and_nothing_is_polled(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, "please run: echo x > made")
    card = await house.card(OWNER)
    assert await house.pressed(OWNER, card, 0)
    await house.telegram.wait_text(OWNER, "Done:")
    await house.telegram.wait_confirmed()
    assert (house.workspace / "made").exists()
    assert house.telegram.requests("getUpdates") == []
    (request,) = house.telegram.requests("setWebhook")
    assert request.params["secret_token"] == SECRET
    assert {"message", "edited_message", "callback_query"} <= set(request.params["allowed_updates"])


@pytest.mark.parametrize("secret", [None, "", "a-secret_wor", "a-secret_word2", "ä"])
async def test_requests_without_the_secret_are_refused(house: Hub, secret: str | None) -> None:
    assert await post(house, update(1, "let me in"), secret) == 403
    assert await post(house, update(1, "it is me")) == 200
    await house.telegram.wait_text(OWNER, "You said: it is me")
    assert house.says(OWNER) == ["You said: it is me"]


async def test_an_unreadable_update_is_recorded_and_answered_once(house: Hub) -> None:
    for body in (b"", b"{", b"[[", b"\xff", b"[" * 10_000, b'{"message": []}', b"null"):
        assert await post(house, body) == 200
        assert await post(house, body) == 200
    assert await post(house, b'{"update_id": 1, "poll": {}}') == 200
    assert await outcomes(house) == ["failed: unreadable"] * 7


async def test_a_body_beyond_the_limit_is_refused_unread(house: Hub) -> None:
    assert await post(house, io.BytesIO(b" " * (1024 * 1024 + 1))) == 413
    assert await LongBody().refused_by(house.app.url + PATH, {})
    assert await post(house, update(1, "x" * 4096)) == 200


@pytest.mark.slow
async def test_a_body_that_arrives_too_slowly_is_abandoned(house: Hub) -> None:
    assert (await answer_to_a_part(house.app.url + PATH)).startswith("HTTP/1.1 408")


async def test_while_nothing_can_be_stored_nothing_is_acknowledged(house: Hub) -> None:
    other = sqlite3.connect(house.directory / "data" / "hub.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        sent = house.telegram.user_sends_text(OWNER, "meanwhile")
        await house.telegram.wait_for(
            lambda: any(d["status"] == 503 for u in house.telegram.updates() for d in u.deliveries),
            2 * LIMIT_S,
        )
        assert not house.telegram.all_confirmed()
    finally:
        other.execute("ROLLBACK")
        other.close()
    await house.telegram.wait_text(OWNER, "You said: meanwhile")
    await house.telegram.wait_confirmed()
    explained = await house.app.store.explanations.explain(f"tg:123456:m:{OWNER}:{sent.id}")
    assert explained is not None
    assert explained.outcome == "turn 1"


async def test_the_same_update_twice_is_one_message(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, "once")
    await house.telegram.wait_text(OWNER, "You said: once")
    assert await post(house, update(house.telegram.messages(OWNER)[0].id, "once")) == 200
    house.telegram.user_sends_text(OWNER, "next")
    await house.telegram.wait_text(OWNER, "You said: next")
    assert house.says(OWNER) == ["You said: once", "You said: next"]


async def test_messages_sent_while_the_hub_was_down_are_delivered_later(house: Hub) -> None:
    await house.stop()
    house.telegram.user_sends_text(OWNER, "anybody there?")
    await house.telegram.wait_for(lambda: house.telegram.updates()[0].deliveries, LIMIT_S)
    await house.start()
    await house.telegram.wait_text(OWNER, "You said: anybody there?")
    await house.telegram.wait_confirmed()


async def test_polling_and_webhook_take_turns_without_losing_anything(house: Hub, port: int) -> None:
    await house.stop()
    write_config(house)
    house.telegram.user_sends_text(OWNER, "one")
    await house.start()
    await house.telegram.wait_text(OWNER, "You said: one")
    assert len(house.telegram.requests("deleteWebhook")) == 1
    await house.stop()
    http, extra = config_of(port, "another")
    write_config(house, http=http, extra=extra)
    house.telegram.user_sends_text(OWNER, "two")
    await house.start()
    await house.telegram.wait_text(OWNER, "You said: two")
    assert house.telegram.requests("setWebhook")[-1].params["secret_token"] == "another"


async def take_the_webhook_again_and_again(url: str, wanted: dict[str, str]) -> None:
    """So that the state it leads to is not over before somebody has looked."""
    async with aiohttp.ClientSession(f"{url}/bot{TOKEN}/") as thief:
        while True:
            async with thief.post("setWebhook", data=wanted) as answer:
                assert answer.status == 200
            await asyncio.sleep(0.05)  # the thief's pace, not a wait of the test


@pytest.mark.parametrize("narrowed", [False, True], ids=["to itself", "to messages alone"])
async def test_another_program_taking_the_webhook_is_named_and_it_is_taken_back(
    tmp_path: Path, port: int, *, narrowed: bool
) -> None:
    url = f"http://127.0.0.1:{port}{PATH}" if narrowed else "http://127.0.0.1:9/theirs"
    wanted = {"url": url, "secret_token": SECRET, "allowed_updates": '["message"]' if narrowed else "[]"}
    http, extra = config_of(port)
    async with open_hub(tmp_path, http=http, extra=extra, start=False, speed=60) as house:
        await house.start()
        await house.channel_becomes("running")
        thief = asyncio.create_task(take_the_webhook_again_and_again(house.telegram.url, wanted))
        reason = await house.channel_passes("backing off")
        thief.cancel()
        await asyncio.gather(thief, return_exceptions=True)
        assert reason == f"another program changed the webhook to {url}"
        house.telegram.user_sends_text(OWNER, "hello")
        await house.telegram.wait_text(OWNER, "You said: hello")
        await house.channel_becomes("running")
