"""Both adapters read the same reply however a server gives it, and never half a reply as a whole one."""

import asyncio
import json
from typing import Any

import pytest

from core.errors import (
    ContextOverflow,
    ModelError,
    ModelMisconfigured,
    ModelRejected,
    ModelReplyInvalid,
    ModelUnavailable,
)
from core.model.base import ModelReply, StopReason
from core.model.provider_http import model_client
from tests.core.model.odd_servers import (
    A_START,
    A_STOP,
    A_TEXT,
    ALL,
    JSON,
    ROLE,
    SSE,
    TEXT,
    Answer,
    a_end,
    adapter,
    chunk,
    client,
    events,
)
from tests.core.model.recorded_server import read_request, serving
from tests.core.model.support import asking, collect
from tests.core.model.test_openai import NO_TLS
from tests.patience import PATIENCE_S
from tests.plugins.profile import Profile

EXPECTED = ("Grüße 🚀", [("shell", {"command": "ls 部"}), ("time", {})], StopReason.END)


def read(reply: ModelReply) -> tuple[str, list[tuple[str, Any]], StopReason]:
    return reply.text, [(call.tool, json.loads(call.arguments)) for call in reply.calls], reply.stop


@pytest.mark.parametrize("name", ALL)
async def test_the_same_reply_is_read_however_it_comes(name: str) -> None:
    wire, answer = ALL[name]
    for stream in (True, False):
        model = adapter(wire, client(answer), stream=stream)
        deltas, reply = await collect(model, asking("Hi"))
        assert read(reply) == EXPECTED
        assert "".join(deltas) in ("", reply.text)
        assert all(call.provider_call_id for call in reply.calls)
        if "usage missing" not in name and "no usage" not in name:
            assert (reply.usage.input_tokens, reply.usage.output_tokens > 0) == (9, True)


STREAMS = ["openai: usual", "openai: CRLF", "openai: whole", "anthropic: usual", "anthropic: CRLF"]


@pytest.mark.parametrize("name", STREAMS)
async def test_a_body_split_in_two_at_any_byte_is_the_same_reply(name: str, profile: Profile) -> None:
    wire, answer = ALL[name]
    step = profile.pick(test=17, ci=5, proof=1)
    for at in range(profile.seed % step, len(answer.body), step):
        model = adapter(wire, client(answer, lambda body, at=at: [body[:at], body[at:]]))
        assert read((await collect(model, asking("Hi")))[1]) == EXPECTED, at
    bytewise = adapter(wire, client(answer, lambda body: [body[at : at + 1] for at in range(len(body))]))
    assert read((await collect(bytewise, asking("Hi")))[1]) == EXPECTED


@pytest.mark.parametrize("name", STREAMS)
async def test_a_body_that_ends_at_any_byte_is_a_complete_reply_or_an_error(
    name: str, profile: Profile
) -> None:
    wire, answer = ALL[name]
    step = profile.pick(test=11, ci=3, proof=1)
    whole = 0
    for at in range(profile.seed % step, len(answer.body), step):
        model = adapter(wire, client(answer, lambda body, at=at: [body[:at]]))
        try:
            reply = (await collect(model, asking("Hi")))[1]
        except (ModelReplyInvalid, ModelUnavailable):
            assert not whole, "more of the body is less of a reply"
            continue
        whole += 1
        assert read(reply) == EXPECTED, at


CUT = Answer(events(ROLE, TEXT, chunk("length")))
FILTERED = Answer(events(ROLE, TEXT, chunk("content_filter")))
FULL = Answer(events(ROLE, TEXT, chunk("model_context_window_exceeded")))
STOPS: list[tuple[str, Answer, StopReason]] = [
    ("openai", CUT, StopReason.LENGTH),
    ("openai", FILTERED, StopReason.FILTERED),
    ("openai", FULL, StopReason.OVERFLOW),
    ("openai", Answer(events(ROLE, TEXT, chunk("eos"))), StopReason.END),
    *(
        ("anthropic", Answer(events(A_START, *A_TEXT, a_end(reason), A_STOP)), stop)
        for reason, stop in (
            ("max_tokens", StopReason.LENGTH),
            ("refusal", StopReason.FILTERED),
            ("model_context_window_exceeded", StopReason.OVERFLOW),
            ("stop_sequence", StopReason.END),
            ("pause_turn", StopReason.END),
        )
    ),
]


@pytest.mark.parametrize("wire, answer, stop", STOPS)
async def test_the_reasons_a_reply_ended_are_told_apart(wire: str, answer: Answer, stop: StopReason) -> None:
    reply = (await collect(adapter(wire, client(answer)), asking("Hi")))[1]
    assert (reply.text, reply.stop) == ("Grüße 🚀", stop)


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
TOO_LONG = {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long"}}
PAGE = Answer(b"<!doctype html><title>Log in</title>", "text/html")
FAILURES: list[tuple[str, Answer, type[ModelError]]] = [
    ("openai", Answer(events(ROLE, TEXT, {"error": {"message": "busy", "code": 502}})), ModelUnavailable),
    ("openai", Answer(events(ROLE, TEXT)), ModelReplyInvalid),
    ("openai", Answer(events(ROLE, TEXT, '{"choices')), ModelReplyInvalid),
    (
        "openai",
        Answer(json.dumps({"error": {"message": "busy", "code": 503}}).encode(), SSE),
        ModelUnavailable,
    ),
    ("openai", Answer(b"", SSE), ModelReplyInvalid),
    ("openai", Answer(b"", JSON, status=204), ModelReplyInvalid),
    ("openai", PAGE, ModelMisconfigured),
    ("anthropic", Answer(events(A_START, *A_TEXT, OVERLOADED)), ModelUnavailable),
    ("anthropic", Answer(events(TOO_LONG)), ContextOverflow),
    ("anthropic", Answer(json.dumps(OVERLOADED).encode(), JSON), ModelUnavailable),
    ("anthropic", Answer(events(A_START, *A_TEXT)), ModelReplyInvalid),
    ("anthropic", Answer(events(A_START, a_end("refusal"), A_STOP)), ModelRejected),
    ("anthropic", Answer(events(A_START, a_end("tool_use"), A_STOP)), ModelReplyInvalid),
    ("anthropic", PAGE, ModelMisconfigured),
]


@pytest.mark.parametrize("wire, answer, kind", FAILURES)
async def test_an_invalid_reply_is_an_error(wire: str, answer: Answer, kind: type[ModelError]) -> None:
    with pytest.raises(kind):
        await collect(adapter(wire, client(answer)), asking("Hi"))


@pytest.mark.parametrize(
    "name", ["openai: no [DONE] and no usage", "openai: usual", "anthropic: no message_stop"]
)
async def test_a_connection_left_open_after_the_end_delays_nothing(name: str) -> None:
    wire, answer = ALL[name]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(1, reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + answer.body)
        await writer.drain()
        await reader.read()  # until the client leaves

    async with serving(serve) as base_url, model_client(tls=NO_TLS) as shared, asyncio.timeout(PATIENCE_S):
        model = adapter(wire, shared, base_url)
        assert read((await collect(model, asking("Hi")))[1]) == EXPECTED


async def test_a_failure_after_the_end_of_a_reply_changes_nothing() -> None:
    for wire, answer in (ALL["openai: no [DONE]"], ALL["anthropic: no message_stop"]):
        broken = Answer(answer.body + b'data: {"error": {"message": "gone"}}\n\ndata: {"cho')
        assert read((await collect(adapter(wire, client(broken)), asking("Hi")))[1]) == EXPECTED
