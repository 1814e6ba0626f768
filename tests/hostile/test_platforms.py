"""Hostile payloads of platforms take little of the loop's time: one mistake in a payload is
enough, and long payloads are parsed in a thread."""

import asyncio
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable
from typing import Any, cast

import pytest

from channels.channel import HttpRequest
from channels.discord import inbound as discord
from channels.slack import inbound as slack
from channels.slack.events import HttpReceiver
from channels.slack.handler import read_submission
from channels.telegram import inbound as telegram
from channels.telegram.updates import SECRET_HEADER, Webhook, WebhookReceiver
from core.clock import SECOND_US, SystemClock
from core.messages import Unreadable
from tests.channels.memory import MemoryInbox
from tests.hostile.works import DISCORD, SLACK, TELEGRAM

WRONG: list[Any] = [1] * 300_000
WRONG_INPUTS = {str(number): 1 for number in range(300_000)}
PERSON: dict[str, Any] = {"id": 7, "is_bot": False, "first_name": "Ada"}


def update(**message: Any) -> dict[str, Any]:
    said = {"message_id": 1, "date": 1, "chat": {"id": 7, "type": "private"}, "from": PERSON, **message}
    return {"update_id": 1, "message": said}


def slack_event(**message: Any) -> dict[str, Any]:
    return {"type": "event_callback", "event": {"type": "message", "channel": "C1", "ts": "1.2", **message}}


def slack_form(values: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "view_submission",
        "user": {"id": "U1"},
        "view": {"id": "V1", "state": {"values": values}},
    }


MISTAKES: dict[str, Callable[[], object]] = {
    "telegram entities": lambda: telegram.read_update(update(text="x", entities=WRONG), TELEGRAM, "t", 1),
    "telegram photo": lambda: telegram.read_update(update(photo=WRONG), TELEGRAM, "t", 1),
    "telegram photo sizes": lambda: telegram.read_update(
        update(photo=[{"file_id": "f"}] * 300_000), TELEGRAM, "t", 1
    ),
    "slack files": lambda: slack.read_event(slack_event(files=WRONG), SLACK, "s", 1),
    "slack form": lambda: read_submission(slack_form(WRONG_INPUTS), SLACK, "s", 1),
    "discord mentions": lambda: discord.read_event(
        {"id": "1", "channel_id": "1", "author": {"id": "1"}, "mentions": WRONG},
        DISCORD,
        "d",
        discord.Where(direct=True),
        1,
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_payload_full_of_mistakes_holds_the_loop_no_longer_than_one(name: str) -> None:
    begun_s = time.thread_time()
    MISTAKES[name]()
    assert time.thread_time() - begun_s < 0.1


class Text(str):
    """Notes the threads in which its beginning is looked at, as every parser does first."""

    def __new__(cls, text: str, _: set[int]) -> "Text":
        return super().__new__(cls, text)

    def __init__(self, _: str, threads: set[int]) -> None:
        self.threads = threads

    def startswith(self, *what: Any) -> bool:
        self.threads.add(threading.get_ident())
        return super().startswith(*what)


class Body(bytes):
    """Notes the threads in which it is read as text, and those in which that text is parsed."""

    def __init__(self, _: bytes) -> None:
        self.threads: set[int] = set()

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        self.threads.add(threading.get_ident())
        return Text(super().decode(encoding, errors), self.threads)

    def read_in_a_thread(self) -> bool:
        return bool(self.threads) and threading.get_ident() not in self.threads


async def test_a_long_request_of_a_platform_is_parsed_in_a_thread() -> None:
    clock = SystemClock()
    body = Body(json.dumps({"type": "url_verification", "challenge": "x" * 200_000}).encode())
    receiver = HttpReceiver("slack", "secret", clock)
    running = asyncio.create_task(receiver.run(cast("Any", object()), lambda: None))
    await asyncio.sleep(0)
    stamp = str(clock.now() // SECOND_US)
    signature = hmac.new(b"secret", b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    headers = {"x-slack-request-timestamp": stamp, "x-slack-signature": f"v0={signature}"}
    answer = await receiver.receive(HttpRequest("POST", "/events", headers, body))
    running.cancel()
    assert (answer.status, len(json.loads(answer.body)["challenge"])) == (200, 200_000)
    assert body.read_in_a_thread()


class SetsWebhooks:
    """As much of a client as a webhook takes."""

    async def set_webhook(self, *_: object) -> None:
        pass


async def test_a_long_webhook_call_of_telegrams_is_parsed_in_a_thread() -> None:
    webhook = WebhookReceiver(
        cast("Any", SetsWebhooks()), "tg", SystemClock(), Webhook("https://hub.example", "secret")
    )
    connected = asyncio.Event()
    running = asyncio.create_task(webhook.run(TELEGRAM, lambda *_: None, connected.set))
    await connected.wait()
    inbox = MemoryInbox()
    many = json.dumps(update(text="x", entities=[[[]]] * 100_000))
    for text in (json.dumps(update(text="x" * 200_000)), "x" * 200_000, many):
        body = Body(text.encode())
        request = HttpRequest("POST", "/webhook", {SECRET_HEADER: "secret"}, body)
        assert (await webhook.handle(request, inbox)).status == 200
        assert body.read_in_a_thread()
    running.cancel()
    assert [isinstance(event, Unreadable) for event in inbox.events.values()] == [False, True, True]
