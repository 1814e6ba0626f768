"""Socket Mode, by the SDK's own client: https://docs.slack.dev/apis/events-api/using-socket-mode."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from tests.patience import PATIENCE_S
from tests.simulators.slack import SlackSimulator
from tests.simulators_tests.slack.conftest import ANN, APP_TOKEN, BOB, BOT_TOKEN, Slack


class Hearing:
    """A socket client that keeps what it hears and acknowledges what it may."""

    def __init__(self, sim: SlackSimulator) -> None:
        self._web = AsyncWebClient(BOT_TOKEN, base_url=sim.api_url)
        self.socket = SocketModeClient(APP_TOKEN, web_client=self._web, ping_interval=0.5)
        self.socket.socket_mode_request_listeners.append(self._on)
        self.heard: list[SocketModeRequest] = []
        self.changed = asyncio.Event()
        self.ignore_next = 0
        self.answer: dict[str, Any] | None = None

    async def _on(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        self.heard.append(request)
        self.changed.set()
        if self.ignore_next > 0:
            self.ignore_next -= 1
            return
        response = SocketModeResponse(request.envelope_id, payload=self.answer)
        await client.send_socket_mode_response(response)

    async def hear(self, count: int) -> list[SocketModeRequest]:
        """Waits for this many envelopes."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.heard) < count:
                self.changed.clear()
                await self.changed.wait()
        return self.heard

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events heard so far."""
        return [request.payload["event"] for request in self.heard]


@asynccontextmanager
async def listening(sim: SlackSimulator) -> AsyncIterator[Hearing]:
    hearing = Hearing(sim)
    known = len(sim.connections())
    await hearing.socket.connect()
    await sim.wait_connected(known + 1)
    try:
        yield hearing
    finally:
        await hearing.socket.close()


@pytest.fixture
async def hearing(sim: SlackSimulator) -> AsyncIterator[Hearing]:
    async with listening(sim) as one:
        yield one


async def test_a_direct_message_arrives_and_is_acknowledged(
    sim: SlackSimulator, hearing: Hearing, dm: str
) -> None:
    sent = sim.user_sends_text(ANN, "a < b & https://x.y")
    (request,) = await hearing.hear(1)
    event = request.payload["event"]
    assert (request.type, request.accepts_response_payload, request.retry_attempt) == ("events_api", False, 0)
    assert request.payload["type"] == "event_callback"
    assert request.payload["authorizations"][0]["user_id"] == sim.app().user.id
    assert event["text"] == "a &lt; b &amp; <https://x.y>"
    assert (event["type"], event["channel"], event["channel_type"]) == ("message", dm, "im")
    assert (event["user"], event["ts"], event["event_ts"]) == (ANN, sent.ts, sent.ts)
    assert event["client_msg_id"]
    await sim.wait_acked()
    (delivery,) = sim.deliveries()[0].deliveries
    assert (delivery["via"], delivery["result"]) == ("socket", "acked")
    assert delivery["envelope_id"] == request.envelope_id


async def test_a_mention_is_two_events_of_one_message(
    sim: SlackSimulator, hearing: Hearing, general: str
) -> None:
    sent = sim.user_mentions(ANN, "ship it", general)
    await hearing.hear(2)
    assert [event["type"] for event in hearing.events] == ["message", "app_mention"]
    assert {event["ts"] for event in hearing.events} == {sent.ts}
    assert len({request.payload["event_id"] for request in hearing.heard}) == 2
    assert hearing.events[0]["text"] == f"<@{sim.app().user.id}> ship it"
    sim.configure(mention_first=True)
    sim.user_mentions(ANN, "again", general, thread_ts=sent.ts)
    await hearing.hear(4)
    assert [event["type"] for event in hearing.events[2:]] == ["app_mention", "message"]
    assert {event["thread_ts"] for event in hearing.events[2:]} == {sent.ts}


async def test_own_messages_edits_and_deletions_come_back_as_events(
    sim: SlackSimulator, hearing: Hearing, client: Slack, dm: str
) -> None:
    sent = await client.chat_postMessage(channel=dm, text="one")
    await client.chat_update(channel=dm, ts=sent["ts"], text="two")
    await client.chat_delete(channel=dm, ts=sent["ts"])
    await hearing.hear(3)
    own, changed, deleted = hearing.events
    assert (own["bot_id"], own["user"], own["text"]) == (sim.app().bot_id, sim.app().user.id, "one")
    assert (changed["subtype"], changed["hidden"]) == ("message_changed", True)
    assert (changed["message"]["text"], changed["previous_message"]["text"]) == ("two", "one")
    assert changed["message"]["edited"]["user"] == sim.app().user.id
    assert changed["ts"] != changed["message"]["ts"] == sent["ts"]
    assert (deleted["subtype"], deleted["deleted_ts"]) == ("message_deleted", sent["ts"])


async def test_an_app_that_names_itself_is_not_mentioned(
    sim: SlackSimulator, hearing: Hearing, client: Slack, general: str
) -> None:
    await client.chat_postMessage(channel=general, text=f"I am <@{sim.app().user.id}>")
    sim.user_sends_text(ANN, "I see", general)
    await hearing.hear(2)
    assert [event["type"] for event in hearing.events] == ["message", "message"]


async def test_people_edit_delete_react_and_send_files(
    sim: SlackSimulator, hearing: Hearing, dm: str
) -> None:
    sent = sim.user_sends_text(ANN, "hello")
    sim.user_edits(ANN, dm, sent.ts, "hello!")
    sim.user_reacts(ANN, dm, sent.ts, "eyes")
    sim.user_deletes(ANN, dm, sent.ts)
    sim.user_sends_file(ANN, "a.txt", b"12345", text="look")
    await hearing.hear(5)
    _, edit, reaction, deletion, shared = hearing.events
    assert edit["message"]["text"] == "hello!"
    assert (reaction["type"], reaction["reaction"], reaction["item"]["ts"]) == (
        "reaction_added",
        "eyes",
        sent.ts,
    )
    assert deletion["subtype"] == "message_deleted"
    assert (shared["subtype"], shared["text"], shared["files"][0]["size"]) == ("file_share", "look", 5)


async def test_an_app_hears_only_what_it_is_part_of_and_asked_for(
    sim: SlackSimulator, hearing: Hearing, dm: str
) -> None:
    sim.create_channel("elsewhere", [ANN, BOB], apps=[])
    sim.user_sends_text(ANN, "not for you", "elsewhere")
    sim.app().events = frozenset({"message.im"})
    sim.create_channel("here", [ANN])
    sim.user_sends_text(ANN, "nor this", "here")
    sim.user_sends_text(ANN, "but this")
    await hearing.hear(1)
    assert [event["text"] for event in hearing.events] == ["but this"]


async def test_unacknowledged_events_are_redelivered(sim: SlackSimulator, hearing: Hearing) -> None:
    sim.configure(ack_timeout_s=0.1, retry_delays_s=[0.0] * 20)
    hearing.ignore_next = 1
    sim.user_sends_text(ANN, "hello?")
    first, second, *_ = await hearing.hear(2)
    assert first.payload == second.payload
    assert (second.retry_attempt, second.retry_reason) == (1, "timeout")
    await sim.wait_acked()
    results = [d["result"] for d in sim.deliveries()[0].deliveries]
    assert (results[0], results[-1]) == ("timeout", "acked")


async def test_after_three_repetitions_an_event_is_given_up(sim: SlackSimulator, hearing: Hearing) -> None:
    sim.configure(ack_timeout_s=0.05, retry_delays_s=[0.0, 0.0, 0.0])
    hearing.ignore_next = 4
    sim.user_sends_text(ANN, "hello?")
    record = await sim.wait_settled(sim.deliveries()[0].id)
    assert (record.state, [d["retry"] for d in record.deliveries]) == ("failed", [0, 1, 2, 3])


async def test_a_known_event_can_be_delivered_again(sim: SlackSimulator, hearing: Hearing) -> None:
    sim.user_sends_text(ANN, "once")
    await hearing.hear(1)
    await sim.wait_acked()
    sim.redeliver(times=2)
    heard = await hearing.hear(3)
    assert len({request.payload["event_id"] for request in heard}) == 1
    assert len({request.envelope_id for request in heard}) == 3


async def test_envelopes_are_spread_over_connections(sim: SlackSimulator, hearing: Hearing) -> None:
    async with listening(sim) as second:
        assert len(sim.connections()) == 2
        for number in range(4):
            sim.user_sends_text(ANN, f"m{number}")
        await sim.wait_acked()
        assert (len(hearing.heard), len(second.heard)) == (2, 2)


async def test_a_refresh_moves_the_app_to_a_new_connection(sim: SlackSimulator, hearing: Hearing) -> None:
    (before,) = sim.connections()
    assert await sim.close_sockets("warning") == 1
    await sim.close_sockets("refresh_requested", after_s=0.05)
    await sim.wait_for(lambda: [c for c in sim.connections() if c["number"] > before["number"]])
    sim.user_sends_text(ANN, "on the new one")
    await hearing.hear(1)
    assert sim.deliveries()[0].deliveries[0]["connection"] > before["number"]


async def test_a_leaving_socket_takes_acknowledgements_and_no_new_envelope(
    sim: SlackSimulator, client: Slack
) -> None:
    sim.configure(retry_delays_s=[])
    url = (await client.apps_connections_open(app_token=APP_TOKEN))["url"]
    async with aiohttp.ClientSession() as http, http.ws_connect(url) as socket:
        await sim.wait_connected()
        sim.user_sends_text(ANN, "before")
        frames = [await socket.receive_json() for _ in range(2)]
        await sim.close_sockets("refresh_requested", after_s=30)
        assert (await socket.receive_json())["reason"] == "refresh_requested"
        sim.user_sends_text(ANN, "after")
        before, after = sim.deliveries()
        assert (await sim.wait_settled(after.id)).deliveries[0]["result"] == "connection_failed"
        await socket.send_json({"envelope_id": frames[1]["envelope_id"]})
        assert (await sim.wait_settled(before.id)).state == "acked"


async def test_a_cut_socket_loses_nothing_that_is_tried_again(sim: SlackSimulator, hearing: Hearing) -> None:
    sim.configure(retry_delays_s=[0.2] * 40)
    sim.cut_sockets(duration_s=0.5)
    await sim.wait_for(lambda: not sim.connections())
    sim.user_sends_text(ANN, "while it is cut")
    await hearing.hear(1)
    await sim.wait_acked()
    results = [d["result"] for d in sim.deliveries()[0].deliveries]
    assert results[0] == "connection_failed"
    assert results[-1] == "acked"


async def test_events_in_progress_at_a_disconnect_are_unacknowledged(
    sim: SlackSimulator, hearing: Hearing
) -> None:
    sim.configure(retry_delays_s=[])
    hearing.ignore_next = 1
    sim.user_sends_text(ANN, "half way")
    await hearing.hear(1)
    sim.cut_sockets()
    record = await sim.wait_settled(sim.deliveries()[0].id)
    assert (record.state, record.deliveries[0]["result"]) == ("failed", "closed")


async def test_a_ticket_is_good_once_and_sockets_are_counted(sim: SlackSimulator, client: Slack) -> None:
    async with aiohttp.ClientSession() as http:
        url = (await client.apps_connections_open(app_token=APP_TOKEN))["url"]
        hellos = []
        async with http.ws_connect(url) as first:
            hellos.append(await first.receive_json())
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await http.ws_connect(url)
            again = (await client.apps_connections_open(app_token=APP_TOKEN))["url"]
            async with http.ws_connect(again) as second:
                hellos.append(await second.receive_json())
        assert [hello["type"] for hello in hellos] == ["hello", "hello"]
        assert [hello["num_connections"] for hello in hellos] == [1, 2]
        assert hellos[0]["connection_info"] == {"app_id": sim.app().id}
        assert hellos[0]["debug_info"]["approximate_connection_time"] > 0


async def test_an_eleventh_connection_is_refused(sim: SlackSimulator, client: Slack) -> None:
    """/apis/events-api/using-socket-mode: up to 10 connections"""
    async with aiohttp.ClientSession() as http:
        sockets = []
        for _ in range(11):
            url = (await client.apps_connections_open(app_token=APP_TOKEN))["url"]
            sockets.append(await http.ws_connect(url))
        frames = [await socket.receive_json() for socket in sockets]
        assert [frame["type"] for frame in frames] == ["hello"] * 10 + ["disconnect"]
        assert frames[-1]["reason"] == "too_many_websockets"
        for socket in sockets:
            await socket.close()


async def test_an_app_without_socket_mode_gets_no_socket(sim: SlackSimulator, client: Slack) -> None:
    sim.app().mode = "http"
    with pytest.raises(SlackApiError, match="socket_mode_not_enabled"):
        await client.apps_connections_open(app_token=APP_TOKEN)


async def test_a_malformed_event_goes_out_as_it_is(sim: SlackSimulator, hearing: Hearing) -> None:
    sim.inject_event({"type": "message", "channel": 42, "text": None})
    sim.inject_event({"type": "surprise"})
    await hearing.hear(2)
    assert hearing.events == [{"type": "message", "channel": 42, "text": None}, {"type": "surprise"}]
