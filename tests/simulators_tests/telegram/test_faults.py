"""The switches, and what the log says of each: was the request taken, and was it answered?"""

import asyncio

import aiohttp
import pytest
from aiogram import Bot
from aiogram.exceptions import (
    ClientDecodeError,
    TelegramBadRequest,
    TelegramForbiddenError,
    TelegramNetworkError,
    TelegramRetryAfter,
    TelegramServerError,
)

from tests.simulators.telegram import TelegramSimulator
from tests.simulators.telegram.log import RequestRecord
from tests.simulators_tests.telegram.conftest import ANN, TOKEN


def last(sim: TelegramSimulator) -> RequestRecord:
    """The newest request."""
    return sim.requests()[-1]


async def test_429_says_how_long_to_wait(bot: Bot, met: TelegramSimulator) -> None:
    met.fail("rate_limit", method="sendMessage", retry_after_s=7, count=1)
    with pytest.raises(TelegramRetryAfter) as refusal:
        await bot.send_message(ANN, "now")
    assert refusal.value.retry_after == 7
    assert (last(met).status, last(met).taken, last(met).outcome) == (429, False, "answered")
    assert (await bot.send_message(ANN, "later")).text == "later"
    assert [m.text for m in met.bot_messages(ANN)] == ["later"]


async def test_the_body_of_a_429_is_the_platforms(met: TelegramSimulator) -> None:
    met.fail("rate_limit", retry_after_s=3)
    async with aiohttp.ClientSession() as client, client.get(f"{met.url}/bot{TOKEN}/getMe") as response:
        assert response.status == 429
        assert await response.json() == {
            "ok": False,
            "error_code": 429,
            "description": "Too Many Requests: retry after 3",
            "parameters": {"retry_after": 3},
        }


async def test_a_429_of_some_duration_asks_for_what_is_left_of_it(bot: Bot, met: TelegramSimulator) -> None:
    met.fail("rate_limit", method="sendMessage", duration_s=30)
    with pytest.raises(TelegramRetryAfter) as refusal:
        await bot.send_message(ANN, "now")
    assert 25 <= refusal.value.retry_after <= 30


async def test_faults_can_be_narrowed_to_a_chat_skip_requests_and_run_out(
    bot: Bot, met: TelegramSimulator
) -> None:
    met.add_user(8)
    met.user_sends_text(8, "/start")
    fault = met.fail("server_error", method="sendMessage", chat_id=8, skip=1, count=1)
    await bot.send_message(ANN, "other chat")
    await bot.send_message(8, "skipped")
    with pytest.raises(TelegramServerError, match="Bad Gateway"):
        await bot.send_message(8, "hit")
    await bot.send_message(8, "spent")
    assert fault.hits == [3]
    assert [m.text for m in met.bot_messages(8)] == ["skipped", "spent"]


async def test_faults_can_last_for_a_while(bot: Bot, met: TelegramSimulator) -> None:
    met.fail("server_error", status=500, description="Internal Server Error", duration_s=-1)
    assert (await bot.get_me()).id == 123456
    met.fail("server_error", status=503, description="Service Unavailable", html=True, duration_s=60)
    with pytest.raises(ClientDecodeError, match="503 Service Unavailable"):
        await bot.get_me()
    met.clear_faults()
    assert (await bot.get_me()).id == 123456


async def test_any_refusal_can_be_injected(bot: Bot, met: TelegramSimulator) -> None:
    met.fail("error", method="sendMessage", status=403, description="Forbidden: user is deactivated", count=1)
    with pytest.raises(TelegramForbiddenError, match="user is deactivated"):
        await bot.send_message(ANN, "?")
    met.fail("garbage", method="sendMessage", count=1)
    with pytest.raises(ClientDecodeError):
        await bot.send_message(ANN, "taken, but the answer is no JSON")
    assert len(met.bot_messages(ANN)) == 1


@pytest.mark.parametrize("when,taken", [("before", False), ("after", True)])
async def test_a_connection_can_be_cut_before_or_after_the_request_was_taken(
    bot: Bot, met: TelegramSimulator, when: str, taken: bool
) -> None:
    met.fail("drop", method="sendMessage", when=when, count=1)
    with pytest.raises(TelegramNetworkError):
        await bot.send_message(ANN, "lost?")
    record = last(met)
    assert (record.taken, record.outcome) == (taken, "dropped")
    assert len(met.bot_messages(ANN)) == int(taken)
    assert record.messages == [(ANN, m.id) for m in met.bot_messages(ANN)]


async def test_a_held_request_waits_for_its_release(bot: Bot, met: TelegramSimulator) -> None:
    met.fail("hold", method="sendMessage", count=1)
    sending = asyncio.create_task(bot.send_message(ANN, "held"))
    (record,) = await met.wait_held()
    assert (record.taken, record.outcome) == (True, "held")
    assert len(met.bot_messages(ANN)) == 1
    assert (await bot.get_me()).id == 123456
    assert not sending.done()
    met.release()
    assert (await sending).message_id == met.bot_messages(ANN)[0].id
    assert record.outcome == "answered"


async def test_a_request_held_before_it_is_taken_leaves_no_trace_if_the_client_dies(
    bot: Bot, met: TelegramSimulator
) -> None:
    met.fail("hold", method="sendMessage", when="before", count=1)
    sending = asyncio.create_task(bot.send_message(ANN, "never"))
    (record,) = await met.wait_held()
    sending.cancel()
    await met.wait_requests("sendMessage", outcome="gone")
    assert (record.taken, met.bot_messages(ANN)) == (False, [])


async def test_a_late_request_arrives_when_its_client_is_gone(bot: Bot, met: TelegramSimulator) -> None:
    late = met.fail("late", method="sendMessage", count=1)
    sending = asyncio.create_task(bot.send_message(ANN, "late"))
    (record,) = await met.wait_held()
    sending.cancel()
    await met.wait_requests("sendMessage", outcome="gone")
    assert (await bot.send_message(ANN, "after it")).message_id < 10
    assert not record.taken
    met.release(late.id)
    await met.wait_for(lambda: record.taken)
    assert [m.text for m in met.bot_messages(ANN)] == ["after it", "late"]


async def test_a_held_request_can_end_in_a_cut_connection(bot: Bot, met: TelegramSimulator) -> None:
    met.fail("hold", method="sendMessage", then="drop", count=1)
    sending = asyncio.create_task(bot.send_message(ANN, "held"))
    await met.wait_held()
    met.release()
    with pytest.raises(TelegramNetworkError):
        await sending
    assert last(met).outcome == "dropped"


async def test_a_slow_answer_outlasts_an_impatient_client(bot: Bot, met: TelegramSimulator) -> None:
    met.fail("slow", method="sendMessage", delay_s=30.0, count=1)
    with pytest.raises(TelegramNetworkError):
        await bot.send_message(ANN, "slow", request_timeout=1)
    (record,) = await met.wait_requests("sendMessage", outcome="gone")
    assert record.taken
    met.fail("slow", method="sendMessage", delay_s=0.01, count=1)
    assert (await bot.send_message(ANN, "slowish")).text == "slowish"


async def test_a_poll_can_go_silent(bot: Bot, met: TelegramSimulator) -> None:
    met.fail("silent", method="getUpdates", count=1)
    poll = asyncio.create_task(bot.get_updates(timeout=1))
    (record,) = await met.wait_requests("getUpdates", outcome="silent")
    met.user_sends_text(ANN, "the silent poll does not hear this")
    assert len(await bot.get_updates()) == 1
    assert not poll.done()
    assert not record.taken
    poll.cancel()
    await met.wait_for(lambda: record.finished_at is not None)
    assert record.outcome == "silent"


async def test_the_whole_server_can_be_down(bot: Bot, met: TelegramSimulator) -> None:
    poll = asyncio.create_task(bot.get_updates(timeout=30))
    await met.wait_polling()
    url = met.url
    await met.go_down()
    with pytest.raises(TelegramNetworkError):
        await poll
    with pytest.raises(TelegramNetworkError):
        await bot.get_me()
    met.user_sends_text(ANN, "while it is down")
    await met.come_up()
    assert met.url == url
    assert len(await bot.get_updates()) == 1


async def test_requests_are_numbered_in_order_with_what_they_carried(
    bot: Bot, met: TelegramSimulator
) -> None:
    await bot.get_me()
    await bot.send_message(ANN, "one")
    with pytest.raises(TelegramBadRequest):
        await bot.send_message(404, "two")
    records = met.requests()
    assert [r.number for r in records] == [1, 2, 3]
    assert [r.method for r in records] == ["getMe", "sendMessage", "sendMessage"]
    assert [r.error for r in records] == [None, None, "Bad Request: chat not found"]
    assert [r.number for r in met.requests(since=2)] == [3]
    assert [r.number for r in met.requests("sendmessage", ok=True)] == [2]
    assert all(r.finished_at is not None and r.finished_at >= r.received_at for r in records)


async def test_the_log_can_be_bounded() -> None:
    async with TelegramSimulator(log_limit=2) as sim:
        sim.add_bot("5:AA")
        async with aiohttp.ClientSession() as client:
            for _ in range(5):
                async with client.get(f"{sim.url}/bot5:AA/getMe") as response:
                    assert response.status == 200
        assert [r.number for r in sim.requests()] == [4, 5]


async def test_a_malformed_update_goes_out_as_it_is(met: TelegramSimulator) -> None:
    met.inject_update({"message": {"text": 42}})
    met.inject_update({"update_id": "not a number", "surprise": [None]})
    url = f"{met.url}/bot{TOKEN}/getUpdates"
    async with aiohttp.ClientSession() as client, client.get(url) as response:
        first, second = (await response.json())["result"]
    assert first == {"update_id": met.updates()[-2].update_id, "message": {"text": 42}}
    assert second == {"update_id": "not a number", "surprise": [None]}


async def test_an_unknown_fault_is_a_mistake_of_the_test(met: TelegramSimulator) -> None:
    with pytest.raises(ValueError, match="unknown fault 'explode'"):
        met.fail("explode")
    with pytest.raises(TypeError, match="retry_afer"):
        met.fail("rate_limit", retry_afer=1)


async def test_published_rate_limits_are_enforced_on_request(bot: Bot, met: TelegramSimulator) -> None:
    """https://core.telegram.org/bots/faq: one message a second in a chat, 20 a minute in a group."""
    met.configure(enforce_rate_limits=True)
    await bot.send_message(ANN, "one")
    with pytest.raises(TelegramRetryAfter) as refusal:
        await bot.send_message(ANN, "two")
    assert 1 <= refusal.value.retry_after <= 2
    met.add_user(8)
    met.user_sends_text(8, "/start")
    await bot.send_message(8, "another chat")
