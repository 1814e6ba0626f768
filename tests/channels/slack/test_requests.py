"""Requests by HTTP: which are believed, and which answer tells Slack that nothing was kept."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest

from channels.channel import HttpRequest, HttpResponse
from channels.slack.client import SlackClient
from channels.slack.events import HttpReceiver
from channels.slack.handler import EventHandler
from channels.slack.inbound import Account
from core.clock import SECOND_US
from core.errors import InboxUnavailable
from core.messages import ChoiceAnswer, InboundEvent, Unreadable
from tests.channels.memory import MemoryInbox
from tests.clock import ManualClock

SECRET, STAMP = "8f742231b10e8888abcd99yyyzzz85a5", "1531420618"
PRESS = {
    "type": "block_actions",
    "user": {"id": "UANN", "name": "ann"},
    "container": {"channel_id": "D1", "message_ts": "1531420600.000100"},
    "actions": [{"action_id": "choice-0", "value": "p:ABC:0", "action_ts": "1531420617.5"}],
}
BUTTON = urlencode({"payload": json.dumps(PRESS)}).encode()


@dataclass(slots=True)
class Desk:
    """A receiver, the clock it goes by and the inbox it fills."""

    receiver: HttpReceiver
    clock: ManualClock
    inbox: MemoryInbox

    async def post(self, body: bytes, **headers: str) -> HttpResponse:
        signed = {"x-slack-request-timestamp": STAMP, "x-slack-signature": signature(body)}
        return await self.receiver.receive(HttpRequest("POST", "/events", signed | headers, body))


def signature(body: bytes) -> str:
    return f"v0={hmac.new(SECRET.encode(), f'v0:{STAMP}:'.encode() + body, hashlib.sha256).hexdigest()}"


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    clock, inbox = ManualClock(int(STAMP) * SECOND_US), MemoryInbox()
    client = SlackClient("xoxb-1", "http://127.0.0.1:9/api/", None)
    reader = EventHandler(client, "slack", Account("T1", "UBOT", "B1"), inbox, clock, lambda _: None)
    receiver = HttpReceiver("slack", SECRET, clock)
    connected = asyncio.Event()
    running = asyncio.create_task(receiver.run(reader, connected.set))
    await connected.wait()
    yield Desk(receiver, clock, inbox)
    running.cancel()


@pytest.mark.parametrize("late_s,expected", [(0, 200), (300, 200), (301, 401), (-301, 401)])
async def test_a_signature_covers_its_time(desk: Desk, late_s: int, expected: int) -> None:
    """Slack's own scheme; the digest was made with another program (openssl dgst -sha256 -hmac)."""
    digest = "v0=28ca0c2f0047edf84869a8600db835e3e786a787e0cfe151c3b284178252c3fe"
    desk.clock.advance(late_s)
    answer = await desk.post(b"token=x&text=94070", **{"x-slack-signature": digest})
    assert answer.status == expected
    assert len(desk.inbox.events) == (expected == 200)


@pytest.mark.parametrize(
    "signed", ["", signature(b"another"), "v0=\xe9"], ids=["none", "another", "no ASCII"]
)
async def test_a_signature_of_another_body_or_form_is_refused(desk: Desk, signed: str) -> None:
    assert (await desk.post(BUTTON, **{"x-slack-signature": signed})).status == 401
    assert not desk.inbox.offered


@pytest.mark.parametrize(
    "stamp",
    ["", "soon", "-1531420618", "9" * 5_000, "\uff11531420618"],
    ids=["none", "word", "negative", "long", "full-width"],
)
async def test_a_timestamp_that_is_not_a_plain_number_is_refused(desk: Desk, stamp: str) -> None:
    assert (await desk.post(BUTTON, **{"x-slack-request-timestamp": stamp})).status == 401
    assert not desk.inbox.offered


@pytest.mark.parametrize(
    "body",
    [b"{", b"[" * 100_000, b"{" + b'"a":[' * 100_000, b"\xff", b""],
    ids=["broken", "no form", "deep", "no text", "empty"],
)
async def test_a_body_is_parsed_only_if_it_is_signed(desk: Desk, body: bytes) -> None:
    assert (await desk.post(body, **{"x-slack-signature": signature(b"another")})).status == 401
    assert (await desk.post(body)).status in (400, 401)
    assert not desk.inbox.offered


async def test_a_press_is_accepted_with_any_other_headers(desk: Desk) -> None:
    lazy = {"x-slack-bolt-lazy-only": "1", "x-slack-bolt-lazy-function-name": "press"}
    assert (await desk.post(BUTTON, **lazy)).status == 200
    assert [type(event) for event in desk.inbox.events.values()] == [ChoiceAnswer]


@pytest.mark.parametrize(
    "error,expected",
    [(InboxUnavailable("full"), 503), (RuntimeError("a defect"), 500), (None, 200)],
    ids=["unavailable", "defect", "accepted"],
)
async def test_only_what_is_accepted_is_acknowledged(
    desk: Desk, error: Exception | None, expected: int
) -> None:
    def failure(_: InboundEvent) -> Exception | None:
        return error

    desk.inbox.failure = failure
    assert (await desk.post(BUTTON)).status == expected


async def test_nothing_is_acknowledged_before_the_inbox_returns(desk: Desk) -> None:
    desk.inbox.close_chat("D1")
    posting = asyncio.create_task(desk.post(BUTTON))
    await desk.inbox.until(lambda: bool(desk.inbox.offered))
    assert not posting.done()
    desk.inbox.open_chat("D1")
    assert (await posting).status == 200


@pytest.mark.parametrize(
    "payload",
    [
        {"type": "event_callback", "event": {"type": "reaction_added"}},
        {"type": "event_callback", "event": {"type": "app_uninstalled"}},
        {"type": "event_callback", "event": {"type": "message", "bot_id": "B1", "text": "Done."}},
        {"type": "shortcut", "callback_id": "x"},
        {"type": "view_closed", "view": {"type": "modal", "callback_id": "x"}},
        {
            "type": "view_submission",
            "view": {"id": "V1", "type": "modal", "callback_id": "x"},
            "user": {"id": "UANN"},
        },
        {**PRESS, "actions": [{"value": "p:ABC:0"}]},
    ],
    ids=lambda payload: payload["type"],
)
async def test_requests_of_no_interest_are_acknowledged(desk: Desk, payload: dict[str, Any]) -> None:
    assert (await desk.post(json.dumps(payload).encode())).status == 200
    assert not desk.inbox.offered


@pytest.mark.parametrize(
    "payload",
    [
        {"type": "event_callback", "event_id": "Ev1", "event": {"type": "message"}},
        {"type": "event_callback", "event_id": "Ev1", "event": [1]},
        {"type": "event_callback", "event_id": "Ev1", "event": None},
        {**PRESS, "actions": []},
        {"command": 7},
    ],
    ids=["message", "list", "nothing", "press", "command"],
)
async def test_a_request_that_cannot_be_read_is_recorded(desk: Desk, payload: dict[str, Any]) -> None:
    assert (await desk.post(json.dumps(payload).encode())).status == 200
    assert [type(event) for event in desk.inbox.events.values()] == [Unreadable]


async def test_slack_may_check_the_certificate(desk: Desk) -> None:
    assert (await desk.post(b"ssl_check=1&token=x")).status == 200
    assert not desk.inbox.offered


async def test_requests_before_the_channel_runs_are_answered_with_a_retry() -> None:
    desk = Desk(HttpReceiver("slack", SECRET, ManualClock()), ManualClock(), MemoryInbox())
    answer = await desk.post(BUTTON)
    assert (answer.status, answer.headers) == (503, {"Retry-After": "5"})
