"""Events, interactivity and commands over HTTP: https://docs.slack.dev/apis/events-api/using-http-request-urls."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs

import pytest
from aiohttp import web
from slack_sdk.signature import SignatureVerifier

from tests.patience import PATIENCE_S
from tests.simulators.slack import SlackSimulator
from tests.simulators_tests.slack.conftest import ANN, SECRET, Slack


class Receiver:
    """A web server of an app: keeps what it is sent and answers with the next of ``answers`` (then 200)."""

    def __init__(self) -> None:
        self.received: list[tuple[str, dict[str, str], bytes]] = []
        self.answers: list[web.Response] = []
        self.slow = asyncio.Event()
        self.slow.set()
        self.changed = asyncio.Event()
        self.url = ""

    async def handle(self, request: web.BaseRequest) -> web.Response:
        body = await request.read()
        self.received.append((request.path, {k.lower(): v for k, v in request.headers.items()}, body))
        self.changed.set()
        await self.slow.wait()
        if b"url_verification" in body:
            return web.json_response({"challenge": json.loads(body)["challenge"]})
        return self.answers.pop(0) if self.answers else web.Response()

    async def wait_count(self, count: int) -> list[tuple[str, dict[str, str], bytes]]:
        """Waits for this many requests."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.received) < count:
                self.changed.clear()
                await self.changed.wait()
        return self.received

    def is_signed(self, index: int) -> bool:
        """Return whether the SDK's verifier accepts a request."""
        _, headers, body = self.received[index]
        return SignatureVerifier(SECRET).is_valid_request(body, headers)


@pytest.fixture
async def receiver(sim: SlackSimulator) -> AsyncIterator[Receiver]:
    receiver = Receiver()
    runner = web.ServerRunner(web.Server(receiver.handle), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    sim.app().mode = "http"
    yield receiver
    await runner.cleanup()


@pytest.fixture
async def wired(sim: SlackSimulator, receiver: Receiver) -> Receiver:
    """The receiver with its URLs registered, and nothing left to read."""
    base = receiver.url
    assert await sim.set_request_urls(f"{base}/events", f"{base}/interactive", f"{base}/commands")
    receiver.received.clear()
    return receiver


async def test_a_request_url_is_kept_only_if_it_gives_the_challenge_back(
    sim: SlackSimulator, receiver: Receiver
) -> None:
    assert await sim.set_request_urls(f"{receiver.url}/events")
    assert receiver.is_signed(0)
    assert sim.app().events_url == f"{receiver.url}/events"
    assert not await sim.set_request_urls("http://127.0.0.1:9/nobody")
    assert sim.app().events_url == f"{receiver.url}/events"


async def test_an_event_is_posted_signed(sim: SlackSimulator, wired: Receiver, dm: str) -> None:
    sent = sim.user_sends_text(ANN, "grüß dich")
    ((path, headers, body),) = await wired.wait_count(1)
    assert path == "/events"
    assert wired.is_signed(0)
    assert headers["content-type"] == "application/json"
    assert "x-slack-retry-num" not in headers
    payload = json.loads(body)
    assert (payload["event"]["ts"], payload["event"]["channel"]) == (sent.ts, dm)
    await sim.wait_acked()


async def test_a_forged_signature_does_not_match(wired: Receiver, sim: SlackSimulator) -> None:
    sim.app().signing_secret = "another"
    sim.user_sends_text(ANN, "hello")
    await wired.wait_count(1)
    assert not wired.is_signed(0)


async def test_a_failure_is_tried_again_with_its_reason(sim: SlackSimulator, wired: Receiver) -> None:
    sim.configure(retry_delays_s=[0.0, 0.0, 0.0])
    wired.answers = [web.Response(status=500), web.Response(status=503)]
    sim.user_sends_text(ANN, "hello")
    received = await wired.wait_count(3)
    retries = [
        (headers.get("x-slack-retry-num"), headers.get("x-slack-retry-reason")) for _, headers, _ in received
    ]
    assert retries == [(None, None), ("1", "http_error"), ("2", "http_error")]
    assert len({body for _, _, body in received}) == 1
    await sim.wait_acked()


async def test_an_app_can_decline_repetitions(sim: SlackSimulator, wired: Receiver) -> None:
    sim.configure(retry_delays_s=[0.0, 0.0, 0.0])
    wired.answers = [web.Response(status=500, headers={"X-Slack-No-Retry": "1"})]
    sim.user_sends_text(ANN, "hello")
    record = await sim.wait_settled(sim.deliveries()[0].id)
    assert (record.state, len(wired.received)) == ("failed", 1)


async def test_a_slow_answer_is_a_timeout(sim: SlackSimulator, wired: Receiver) -> None:
    sim.configure(ack_timeout_s=0.1, retry_delays_s=[0.0])
    wired.slow.clear()
    sim.user_sends_text(ANN, "hello")
    received = await wired.wait_count(2)
    wired.slow.set()
    assert received[1][1]["x-slack-retry-reason"] == "http_timeout"


async def test_a_missing_listener_is_a_failed_connection(sim: SlackSimulator, wired: Receiver) -> None:
    sim.configure(retry_delays_s=[])
    sim.app().events_url = "http://127.0.0.1:9/nobody"
    sim.user_sends_text(ANN, "hello")
    record = await sim.wait_settled(sim.deliveries()[0].id)
    assert (record.state, record.deliveries[0]["result"]) == ("failed", "connection_failed")


async def test_a_press_and_a_command_are_forms(
    sim: SlackSimulator, wired: Receiver, client: Slack, dm: str
) -> None:
    sim.app().events = frozenset()
    element = {"type": "button", "text": {"type": "plain_text", "text": "Go"}, "value": "p:1"}
    card = [{"type": "actions", "elements": [element]}]
    sent = await client.chat_postMessage(channel=dm, text="card", blocks=card)
    press = sim.user_presses_button(ANN, dm, sent["ts"], "Go")
    await sim.wait_settled(press.id)
    wired.answers = [web.json_response({"text": "*done*"})]
    command = sim.user_runs_command(ANN, "/hubbub", "status & more")
    await sim.wait_settled(command.id)
    (path, _, body), (command_path, headers, command_body) = wired.received
    assert (path, command_path) == ("/interactive", "/commands")
    assert wired.is_signed(0)
    assert wired.is_signed(1)
    assert headers["content-type"] == "application/x-www-form-urlencoded"
    payload: dict[str, Any] = json.loads(parse_qs(body.decode())["payload"][0])
    assert payload["actions"][0]["value"] == "p:1"
    form = {name: values[0] for name, values in parse_qs(command_body.decode()).items()}
    assert (form["command"], form["text"], form["user_id"]) == ("/hubbub", "status & more", ANN)
    (shown,) = sim.ephemerals(ANN)
    assert sim.look(shown).text == "done"


async def test_an_unanswered_press_fails_permanently(
    sim: SlackSimulator, wired: Receiver, client: Slack, dm: str
) -> None:
    sim.app().events = frozenset()
    element = {"type": "button", "text": {"type": "plain_text", "text": "Go"}}
    card = [{"type": "actions", "elements": [element]}]
    sent = await client.chat_postMessage(channel=dm, text="card", blocks=card)
    wired.answers = [web.Response(status=500)]
    press = await sim.wait_settled(sim.user_presses_button(ANN, dm, sent["ts"]).id)
    assert (press.state, len(press.deliveries)) == ("failed", 1)
