"""The switches, and what the log says of each: was the request taken, and was it answered?"""

import asyncio
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError

from tests.simulators.slack import SlackSimulator
from tests.simulators.slack.log import RequestRecord
from tests.simulators_tests.slack.conftest import ANN, APP_TOKEN, Slack


def last(sim: SlackSimulator) -> RequestRecord:
    """The newest request."""
    return sim.requests()[-1]


async def test_429_says_how_long_to_wait(sim: SlackSimulator, client: Slack, dm: str) -> None:
    sim.fail("rate_limit", method="chat.postMessage", retry_after_s=7, count=1)
    with pytest.raises(SlackApiError) as refusal:
        await client.chat_postMessage(channel=dm, text="now")
    response = refusal.value.response
    assert (response.status_code, response.headers["Retry-After"]) == (429, "7")
    assert response.data == {"ok": False, "error": "ratelimited"}
    assert (last(sim).status, last(sim).taken, last(sim).outcome) == (429, False, "answered")
    await client.chat_postMessage(channel=dm, text="later")
    assert [message.text for message in sim.messages(dm)] == ["later"]


async def test_a_429_of_some_duration_asks_for_what_is_left_of_it(
    sim: SlackSimulator, client: Slack, dm: str
) -> None:
    sim.fail("rate_limit", method="chat.postMessage", duration_s=30)
    with pytest.raises(SlackApiError) as refusal:
        await client.chat_postMessage(channel=dm, text="now")
    assert 25 <= int(refusal.value.response.headers["Retry-After"]) <= 30


async def test_faults_can_be_narrowed_to_a_channel_skip_requests_and_run_out(
    sim: SlackSimulator, client: Slack, dm: str, general: str
) -> None:
    fault = sim.fail("error", error="fatal_error", channel=general, skip=1, count=1)
    await client.chat_postMessage(channel=dm, text="other channel")
    await client.chat_postMessage(channel=general, text="skipped")
    with pytest.raises(SlackApiError, match="fatal_error"):
        await client.chat_postMessage(channel=general, text="hit")
    await client.chat_postMessage(channel=general, text="spent")
    assert fault.hits == [3]
    assert [message.text for message in sim.messages(general)] == ["skipped", "spent"]


@pytest.mark.parametrize("html", [False, True])
async def test_the_server_can_fail(sim: SlackSimulator, client: Slack, dm: str, html: bool) -> None:
    sim.fail("server_error", status=503, html=html, count=1)
    with pytest.raises(SlackApiError) as refusal:
        await client.chat_postMessage(channel=dm, text="x")
    assert refusal.value.response.status_code == 503
    assert sim.messages(dm) == []


@pytest.mark.parametrize("when,taken", [("before", False), ("after", True)])
async def test_a_connection_can_be_cut_before_or_after_the_request_was_taken(
    sim: SlackSimulator, client: Slack, dm: str, when: str, taken: bool
) -> None:
    sim.fail("drop", method="chat.postMessage", when=when, count=1)
    with pytest.raises(aiohttp.ClientError):
        await client.chat_postMessage(channel=dm, text="lost?")
    record = last(sim)
    assert (record.taken, record.outcome) == (taken, "dropped")
    assert len(sim.messages(dm)) == int(taken)
    assert record.messages == [(dm, message.ts) for message in sim.messages(dm)]


async def test_an_answer_can_be_garbage(sim: SlackSimulator, client: Slack, dm: str) -> None:
    sim.fail("garbage", method="chat.postMessage", count=1)
    with pytest.raises(SlackApiError):
        await client.chat_postMessage(channel=dm, text="taken, but the answer is no JSON")
    assert (last(sim).taken, len(sim.messages(dm))) == (True, 1)


async def test_a_held_request_waits_for_its_release(sim: SlackSimulator, client: Slack, dm: str) -> None:
    sim.fail("hold", method="chat.postMessage", count=1)
    sending = asyncio.create_task(client.chat_postMessage(channel=dm, text="held"))
    (record,) = await sim.wait_held()
    assert (record.taken, record.outcome) == (True, "held")
    await client.auth_test()
    assert not sending.done()
    sim.release()
    assert (await sending)["ts"] == sim.messages(dm)[0].ts
    assert record.outcome == "answered"


async def test_a_request_held_before_it_is_taken_continues_when_released(
    sim: SlackSimulator, client: Slack, dm: str
) -> None:
    sim.fail("hold", method="chat.postMessage", when="before", count=1)
    sending = asyncio.create_task(client.chat_postMessage(channel=dm, text="late"))
    (record,) = await sim.wait_held()
    assert (record.taken, sim.messages(dm)) == (False, [])
    sim.release()
    assert (await sending)["ts"] == sim.messages(dm)[0].ts
    assert (record.taken, record.outcome) == (True, "answered")


async def test_a_request_held_before_it_is_taken_leaves_no_trace_if_the_client_dies(
    sim: SlackSimulator, client: Slack, dm: str
) -> None:
    sim.fail("hold", method="chat.postMessage", when="before", count=1)
    sending = asyncio.create_task(client.chat_postMessage(channel=dm, text="never"))
    (record,) = await sim.wait_held()
    sending.cancel()
    await sim.wait_requests("chat.postMessage", outcome="gone")
    assert (record.taken, sim.messages(dm)) == (False, [])


async def test_a_slow_answer_outlasts_an_impatient_client(
    sim: SlackSimulator, client: Slack, dm: str
) -> None:
    sim.fail("slow", method="chat.postMessage", delay_s=30.0, count=1)
    sending = asyncio.create_task(client.chat_postMessage(channel=dm, text="slow"))
    await sim.wait_requests("chat.postMessage", ok=None, outcome="pending")
    sending.cancel()
    (record,) = await sim.wait_requests("chat.postMessage", outcome="gone")
    assert record.taken


async def test_the_whole_platform_can_be_down(sim: SlackSimulator, client: Slack, dm: str) -> None:
    url = sim.url
    await sim.go_down()
    with pytest.raises(aiohttp.ClientConnectorError):
        await client.auth_test()
    await sim.come_up()
    assert sim.url == url
    assert (await client.auth_test())["ok"]


async def test_sockets_can_be_refused_for_a_while(sim: SlackSimulator, client: Slack) -> None:
    sim.cut_sockets(duration_s=30)
    url = (await client.apps_connections_open(app_token=APP_TOKEN))["url"]
    async with aiohttp.ClientSession() as http:
        with pytest.raises(aiohttp.ClientError):
            await http.ws_connect(url)
        sim.cut_sockets()
        async with http.ws_connect(url) as socket:
            assert (await socket.receive_json())["type"] == "hello"


async def test_requests_are_numbered_in_order_with_what_they_carried(
    sim: SlackSimulator, client: Slack, dm: str
) -> None:
    await client.auth_test()
    await client.chat_postMessage(channel=dm, text="one", blocks=[{"type": "divider"}])
    with pytest.raises(SlackApiError):
        await client.chat_postMessage(channel="C0NONE", text="two")
    records = sim.requests()
    assert [r.number for r in records] == [1, 2, 3]
    assert [r.error for r in records] == [None, None, "channel_not_found"]
    assert records[1].params == {"channel": dm, "text": "one", "blocks": [{"type": "divider"}]}
    assert [r.number for r in sim.requests(since=2)] == [3]
    assert [r.number for r in sim.requests("chat.postmessage", ok=True)] == [2]
    assert all(r.finished_at is not None and r.finished_at >= r.received_at for r in records)


async def test_the_log_can_be_bounded() -> None:
    async with SlackSimulator(log_limit=2) as sim, aiohttp.ClientSession() as http:
        for _ in range(5):
            async with http.post(f"{sim.api_url}auth.test") as response:
                assert response.status == 200
        assert [record.number for record in sim.requests()] == [4, 5]


async def test_mistakes_of_a_test_are_reported(sim: SlackSimulator, dm: str) -> None:
    mistakes: list[tuple[type[Exception], str, Any]] = [
        (ValueError, "unknown fault 'explode'", lambda: sim.fail("explode")),
        (TypeError, "retry_afer", lambda: sim.fail("rate_limit", retry_afer=1)),
        (LookupError, "no user U0X", lambda: sim.user_sends_text("U0X", "hi")),
        (LookupError, "is not in", lambda: sim.user_sends_text("U0BOB", "hi", dm)),
        (LookupError, "no message", lambda: sim.user_edits(ANN, dm, "1.000001", "x")),
    ]
    for kind, words, act in mistakes:
        with pytest.raises(kind, match=words):
            act()
