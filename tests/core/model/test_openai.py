"""The adapter on the wire: what it sends, what it makes of every way an answer can go wrong."""

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest

from core.errors import (
    ContextOverflow,
    ModelAuthRejected,
    ModelError,
    ModelMisconfigured,
    ModelRateLimited,
    ModelRejected,
    ModelReplyInvalid,
    ModelUnavailable,
)
from core.model.base import ModelAbilities, ModelReply, ReplyDelta, ThinkingStyle
from core.model.openai import OpenAIModel
from core.model.provider_http import model_client
from core.transcript import AssistantSaid, ResultStatus, ToolCalled, ToolResult
from core.usage import Usage
from core.users import Thinking
from tests.core.model.recorded_server import RecordedServer, answer
from tests.core.model.support import TestClock, asking, collect, recorded
from tests.patience import PATIENCE_S
from tests.simulators.model import (
    CutArguments,
    Drop,
    EmptyBody,
    EndEarly,
    Fault,
    Hold,
    HttpError,
    MalformedEvent,
    ModelSimulator,
    StreamError,
    ToolCall,
    text,
    tools,
)
from tests.simulators.model import Usage as SimulatedUsage

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Trusts nobody; the servers here speak plain HTTP. Reading the authorities takes a tenth of a second."""
KEY = "sk-test-0123456789abcdef"


@pytest.fixture
async def provider() -> AsyncIterator[ModelSimulator]:
    async with ModelSimulator(api_key=KEY) as simulator:
        yield simulator


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with model_client(tls=NO_TLS) as shared:
        yield shared


def openai(
    client: httpx.AsyncClient,
    base_url: str,
    *,
    key: str = KEY,
    model: str = "sim-1",
    stream: bool = True,
    able: ModelAbilities | None = None,
) -> OpenAIModel:
    return OpenAIModel(
        name="main",
        model=model,
        base_url=base_url,
        api_key=key,
        client=client,
        clock=TestClock(),
        stream=stream,
        abilities=able or ModelAbilities(),
    )


@pytest.fixture(params=[True, False], ids=["streamed", "whole"])
def model(request: pytest.FixtureRequest, provider: ModelSimulator, client: httpx.AsyncClient) -> OpenAIModel:
    return openai(client, provider.openai_base_url, stream=request.param)


# --- replies ---------------------------------------------------------------------------------------------


async def test_a_reply_has_text_and_usage(provider: ModelSimulator, model: OpenAIModel) -> None:
    provider.enqueue(
        text("Grüße 部署 🚀", chunk_chars=1, segment_bytes=3, usage=SimulatedUsage(70, 6, cached_tokens=64))
    )
    deltas, reply = await collect(model, asking("Hi"))
    assert reply.text == "Grüße 部署 🚀"
    assert "".join(deltas) in ("", reply.text)
    assert reply.usage == Usage(70, 6, 64)
    assert (reply.origin.provider, reply.origin.model, reply.truncated) == ("openai", "sim-1", False)


@pytest.mark.parametrize("style", ThinkingStyle)
async def test_thinking_gets_its_own_tokens_and_no_temperature_is_sent(
    provider: ModelSimulator, client: httpx.AsyncClient, style: ThinkingStyle
) -> None:
    able = ModelAbilities(thinking=style, max_temperature=2.0, max_output_tokens=5000)
    for asked in (openai(client, provider.openai_base_url, able=one) for one in (able, ModelAbilities())):
        for thinking in (Thinking.OFF, Thinking.LOW):
            request = replace(asking("Hi"), thinking=thinking, temperature=1.7, max_output_tokens=4000)
            await collect(asked, request)
    sent = [(one.body["max_tokens"], one.body.get("temperature")) for one in provider.log.all()]
    thought = (4000, 1.7) if style is ThinkingStyle.NONE else (5000, None)
    assert sent == [(4000, 1.7), thought, (4000, None), (4000, None)]


async def test_a_model_that_writes_less_is_asked_for_the_answer_without_room_for_thinking(
    provider: ModelSimulator, client: httpx.AsyncClient
) -> None:
    provider.provider.max_output_tokens = 8192
    asked = openai(client, provider.openai_base_url, able=ModelAbilities(thinking=ThinkingStyle.EFFORT))
    for _ in range(2):
        request = replace(asking("Hi"), thinking=Thinking.HIGH, max_output_tokens=4096)
        assert (await collect(asked, request))[1].text == "You said: Hi"
    sent = [(one.body["max_tokens"], one.body["reasoning_effort"]) for one in provider.log.all()]
    assert sent == [(20_480, "high"), (4096, "high"), (4096, "high")]
    with pytest.raises(ModelRejected):
        await collect(asked, replace(asking("Hi"), max_output_tokens=9000))


async def test_text_arrives_while_the_provider_is_still_writing(
    provider: ModelSimulator, client: httpx.AsyncClient
) -> None:
    provider.enqueue(text("one two three", chunk_chars=4), fault=Hold(at="mid_stream", after_events=3))
    pieces = openai(client, provider.openai_base_url).reply(asking("Hi"))
    async with asyncio.timeout(PATIENCE_S):
        seen = ""
        while seen != "one two ":
            piece = await anext(pieces)
            assert isinstance(piece, ReplyDelta)
            seen += piece.text
        await provider.wait_requests(state="held")
        provider.release()
        rest = [piece async for piece in pieces]
    assert isinstance(rest[-1], ModelReply)
    assert rest[-1].text == "one two three"


async def test_parallel_calls_arrive_with_arguments_in_pieces(
    provider: ModelSimulator, model: OpenAIModel
) -> None:
    calls = (ToolCall("shell", {"command": 'echo "部署"\n'}, id="call_1"), ToolCall("time", {}, id="call_2"))
    provider.enqueue(tools(*calls, text="Looking.", chunk_chars=3))
    _, reply = await collect(model, asking("Hi"))
    assert reply.text == "Looking."
    assert [(call.provider_call_id, call.tool, json.loads(call.arguments)) for call in reply.calls] == [
        ("call_1", "shell", {"command": 'echo "部署"\n'}),
        ("call_2", "time", {}),
    ]


async def test_a_call_truncated_at_the_limit_is_marked(provider: ModelSimulator, model: OpenAIModel) -> None:
    provider.enqueue(tools(ToolCall("shell", {"command": "ls"})), fault=CutArguments(keep_chars=6))
    _, reply = await collect(model, asking("Hi"))
    assert reply.truncated is True
    assert reply.calls[0].arguments == '{"comm'


async def test_a_whole_conversation_is_accepted(provider: ModelSimulator, model: OpenAIModel) -> None:
    conversation = [
        "please run: ls",
        AssistantSaid("Looking."),
        ToolCalled("0190c6f2-7d0a-7cc3-98f4-3b1c5d2e6f70", "shell", '{"command": "l'),
        ToolCalled("0190c6f2-7d0a-7cc3-98f4-3b1c5d2e6f71", "no.such tool", "{}"),
        ToolCalled("0190c6f2-7d0a-7cc3-98f4-3b1c5d2e6f72", "shell", '{"command": "rm x"}'),
        ToolResult("0190c6f2-7d0a-7cc3-98f4-3b1c5d2e6f70", ResultStatus.ERROR, "not JSON"),
        ToolResult("0190c6f2-7d0a-7cc3-98f4-3b1c5d2e6f72", ResultStatus.DENIED, "by Ann"),
    ]
    _, reply = await collect(model, asking(*conversation))
    (exchange,) = provider.log.all()
    assert exchange.tool_results == (
        "Error: not JSON",
        "No recorded outcome: this call may or may not have run.",
        "Denied, the call was not run: by Ann",
    )
    assert reply.text.startswith("Done: Error: not JSON")


# --- failures --------------------------------------------------------------------------------------------

FAULTS: list[tuple[Fault, type[ModelError]]] = [
    (HttpError(429), ModelRateLimited),
    (HttpError(500), ModelUnavailable),
    (HttpError(502), ModelUnavailable),
    (HttpError(503), ModelUnavailable),
    (HttpError(529), ModelUnavailable),
    (HttpError(403), ModelAuthRejected),
    (HttpError(413), ContextOverflow),
    (HttpError(418), ModelRejected),
    (HttpError(404, body="<html>not here</html>"), ModelMisconfigured),
    (HttpError(200, body=" <!doctype html><title>Log in</title>"), ModelMisconfigured),
    (HttpError(400, body="[" * 100_000), ModelRejected),
    (Drop(at="before_headers"), ModelUnavailable),
    (Drop(at="before_headers", reset=True), ModelUnavailable),
    (Drop(at="in_headers"), ModelUnavailable),
    (Drop(at="after_headers"), ModelUnavailable),
    (Drop(at="mid_stream"), ModelUnavailable),
    (Drop(at="mid_stream", reset=True), ModelUnavailable),
    (MalformedEvent(), ModelReplyInvalid),
    (EndEarly(after_events=3), ModelReplyInvalid),
    (EmptyBody(), ModelReplyInvalid),
    (StreamError(), ModelUnavailable),
    (StreamError(type="invalid_request_error", code="context_length_exceeded"), ContextOverflow),
]


@pytest.mark.parametrize("fault, kind", FAULTS)
async def test_every_fault_raises_its_error(
    provider: ModelSimulator, model: OpenAIModel, fault: Fault, kind: type[ModelError]
) -> None:
    provider.fault(fault)
    provider.enqueue(text("a text of several pieces, long enough to break", chunk_chars=4))
    with pytest.raises(ModelError) as caught:
        await collect(model, asking("Hi"))
    assert type(caught.value) is kind, repr(caught.value)
    assert "main" in str(caught.value) or kind is ModelReplyInvalid
    assert KEY not in str(caught.value)
    assert (await collect(model, asking("say: fine")))[1].text, "the next call suffers from the last"


@pytest.mark.parametrize("form", ["seconds", "date"])
async def test_retry_after_is_read(provider: ModelSimulator, client: httpx.AsyncClient, form: str) -> None:
    provider.fault(HttpError(429, retry_after_s=17, retry_after_form="date" if form == "date" else "seconds"))
    started = provider.log.taken
    asked = OpenAIModel(
        name="main",
        model="sim-1",
        base_url=provider.openai_base_url,
        api_key=KEY,
        client=client,
        clock=TestClock() if form == "seconds" else _wall_clock(),
    )
    with pytest.raises(ModelUnavailable, match="Rate limit reached") as caught:
        await collect(asked, asking("Hi"))
    assert caught.value.retry_after_s == pytest.approx(17, abs=2)
    assert provider.log.taken == started + 1, "the adapter itself repeats nothing"


def _wall_clock() -> TestClock:
    import time

    return TestClock(now_us=time.time_ns() // 1000)


async def test_a_wrong_key_is_reported_without_showing_it(
    provider: ModelSimulator, client: httpx.AsyncClient
) -> None:
    wrong = "sk-wrong-9876543210fedcba"
    with pytest.raises(ModelAuthRejected, match="Incorrect API key") as caught:
        await collect(openai(client, provider.openai_base_url, key=wrong), asking("Hi"))
    shown = str(caught.value)
    assert wrong[:8] not in shown
    assert wrong[-4:] not in shown


async def test_an_unknown_model_is_named(provider: ModelSimulator, client: httpx.AsyncClient) -> None:
    with pytest.raises(ModelMisconfigured, match="`sim-9` does not exist"):
        await collect(openai(client, provider.openai_base_url, model="sim-9"), asking("Hi"))


async def test_a_prompt_that_is_too_long_is_an_overflow(provider: ModelSimulator, model: OpenAIModel) -> None:
    provider.provider.context_tokens = 5000
    with pytest.raises(ContextOverflow, match="maximum context length is 5000 tokens"):
        await collect(model, asking("x" * 10_000))


async def test_a_silent_provider_is_given_up(provider: ModelSimulator, client: httpx.AsyncClient) -> None:
    client.timeout = httpx.Timeout(**(client.timeout.as_dict() | {"read": 0.2}))
    for fault in (Hold(at="before_headers"), Hold(at="in_headers"), Hold(at="mid_stream")):
        provider.fault(fault)
        with pytest.raises(ModelUnavailable, match="ReadTimeout"):
            await collect(openai(client, provider.openai_base_url), asking("Hi"))
    await provider.wait_requests(3, state="client_gone|dropped")


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:1/v1", "http://no-such-host.invalid/v1"])
async def test_a_provider_that_cannot_be_reached_is_unavailable(
    client: httpx.AsyncClient, base_url: str
) -> None:
    with pytest.raises(ModelUnavailable, match="model main: "):
        await collect(openai(client, base_url), asking("Hi"))


@pytest.mark.parametrize(
    "base_url, key",
    [
        ("localhost:1234/v1", KEY),
        ("ftp://x/v1", KEY),
        ("", KEY),
        ("http://", KEY),
        ("http://x/v1", "a\nb"),
        ("http://x/v1", "ключ"),
    ],
)
async def test_unusable_model_settings_are_refused_at_once(
    client: httpx.AsyncClient, base_url: str, key: str
) -> None:
    with pytest.raises(ValueError, match="model main: ") as caught:
        openai(client, base_url, key=key)
    assert key not in str(caught.value)


# --- leaving ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", ["before_headers", "after_headers", "mid_stream"])
async def test_cancelling_ends_the_request_at_the_provider(
    provider: ModelSimulator, client: httpx.AsyncClient, at: str
) -> None:
    provider.fault(Hold(at=at))  # type: ignore[arg-type]
    task = asyncio.create_task(collect(openai(client, provider.openai_base_url), asking("Hi")))
    await provider.wait_requests(state="held")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await provider.wait_requests(state="client_gone")


async def test_closing_the_iterator_ends_the_request_at_the_provider(
    provider: ModelSimulator, client: httpx.AsyncClient
) -> None:
    provider.fault(Hold(at="mid_stream"))
    pieces = openai(client, provider.openai_base_url).reply(asking("Hi"))
    assert isinstance(await anext(pieces), ReplyDelta)
    await provider.wait_requests(state="held")
    await pieces.aclose()  # type: ignore[attr-defined]
    await provider.wait_requests(state="client_gone")


# --- what else servers do ---------------------------------------------------------------------------------

NO_USAGE = json.dumps(
    {"error": {"message": "Unknown parameter: 'stream_options'.", "param": "stream_options"}}
)


async def test_a_provider_that_does_not_take_stream_options_is_asked_without_from_then_on(
    provider: ModelSimulator, client: httpx.AsyncClient
) -> None:
    asked = openai(client, provider.openai_base_url)
    provider.fault(HttpError(400, body=NO_USAGE))
    for _ in range(2):
        assert (await collect(asked, asking("Hi")))[1].text == "You said: Hi"
    assert ["stream_options" in exchange.body for exchange in provider.log.all()] == [True, False, False]


async def test_a_provider_that_refuses_everything_is_asked_only_once_more(
    provider: ModelSimulator, client: httpx.AsyncClient
) -> None:
    provider.fault(HttpError(400, body=NO_USAGE), times=None)
    with pytest.raises(ModelRejected, match="stream_options"):
        await collect(openai(client, provider.openai_base_url), asking("Hi"))
    assert provider.log.taken == 2


@pytest.mark.parametrize("name", ["whole.json", "text.sse"])
async def test_compressed_and_whole_answers_are_understood(client: httpx.AsyncClient, name: str) -> None:
    media_type = "application/json" if name.endswith("json") else "text/event-stream"
    body = answer(gzip.compress(recorded(name)), media_type=media_type, headers="Content-Encoding: gzip\r\n")
    async with RecordedServer(lambda _: body) as server:
        _, reply = await collect(openai(client, server.base_url), asking("Hi"))
    assert reply.text in ("Looking.", "Grüße aus 部署 🚀")
    assert server.seen[0].header("accept-encoding") == "identity"


async def test_an_error_with_status_200_is_an_error(client: httpx.AsyncClient) -> None:
    body = answer(b'{"error": {"message": "busy", "code": 503}}', media_type="application/json")
    async with RecordedServer(lambda _: body) as server:
        with pytest.raises(ModelUnavailable, match="503 Service Unavailable: busy"):
            await collect(openai(client, server.base_url), asking("Hi"))


@pytest.mark.parametrize("headers", ["Content-Encoding: gzip\r\n", "Content-Encoding: deflate\r\n"])
async def test_a_body_that_is_not_what_its_headers_say_is_a_model_error(
    client: httpx.AsyncClient, headers: str
) -> None:
    async with RecordedServer(lambda _: answer(recorded("text.sse"), headers=headers)) as server:
        with pytest.raises(ModelUnavailable):
            await collect(openai(client, server.base_url), asking("Hi"))


@pytest.mark.parametrize(
    "garbage", [b"SSH-2.0-OpenSSH_9.2\r\n\r\n", b"\x00" * 100 + b"\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n"]
)
async def test_a_server_that_speaks_something_else_is_a_model_error(
    client: httpx.AsyncClient, garbage: bytes
) -> None:
    async with RecordedServer(lambda _: garbage) as server:
        with pytest.raises(ModelUnavailable):
            await collect(openai(client, server.base_url), asking("Hi"))


async def test_the_reply_does_not_wait_for_a_server_that_never_ends_its_body(
    client: httpx.AsyncClient,
) -> None:
    unended = answer(recorded("text.sse")).removesuffix(b"0\r\n\r\n")
    async with RecordedServer(lambda _: unended) as server, asyncio.timeout(PATIENCE_S):
        _, reply = await collect(openai(client, server.base_url), asking("Hi"))
    assert reply.text == "Grüße aus 部署 🚀"


@pytest.mark.parametrize("key", ["", " k \n"])
async def test_the_key_travels_in_its_header_only(client: httpx.AsyncClient, key: str) -> None:
    async with RecordedServer(lambda _: answer(recorded("text.sse"))) as server:
        await collect(openai(client, server.base_url + "/", key=key), asking("Hi"))
    (seen,) = server.seen
    assert seen.head.startswith("POST /v1/chat/completions HTTP/1.1\r\n")
    assert seen.header("authorization") == ("Bearer k" if key else None)
    assert seen.header("content-type") == "application/json"


def test_no_representation_shows_the_key() -> None:
    asked = openai(httpx.AsyncClient(), "http://x/v1")
    assert KEY not in repr(asked)
    assert KEY not in str(asked)
