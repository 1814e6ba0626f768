"""The Anthropic adapter on the wire: what it sends, what it learns, what it makes of failures."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import (
    ContextOverflow,
    ModelAuthRejected,
    ModelError,
    ModelMisconfigured,
    ModelRejected,
    ModelReplyInvalid,
    ModelUnavailable,
)
from core.model.anthropic import AnthropicModel, Dialect, RequestTexts, conversation_messages
from core.model.anthropic_reply import ReplyAssembler
from core.model.base import ModelAbilities, ModelReply, ModelRequest, ThinkingStyle
from core.model.provider_http import model_client
from core.transcript import AssistantSaid, Note, Said, ToolCalled, UserSaid
from core.usage import Usage
from core.users import Thinking
from tests.core.model.odd_servers import A_FIRST, A_START, A_STOP, A_TEXT, a_end, delta, start
from tests.core.model.recorded_server import RecordedServer, answer
from tests.core.model.support import TestClock, asking, collect
from tests.core.model.test_openai import KEY, NO_TLS
from tests.core.model.test_openai_texts import SAID, called_once
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
    Reply,
    StreamError,
    ToolCall,
    text,
    tools,
)
from tests.simulators.model import Usage as SimulatedUsage
from tests.simulators.model.anthropic_messages import Conversation

CALL = ToolCall("shell", {"command": "ls"}, id="toolu_1")


@pytest.fixture
async def provider() -> AsyncIterator[ModelSimulator]:
    async with ModelSimulator(api_key=KEY) as simulator:
        yield simulator


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with model_client(tls=NO_TLS) as shared:
        yield shared


def claude(
    client: httpx.AsyncClient,
    base_url: str,
    *,
    key: str = KEY,
    model: str = "sim-1",
    stream: bool = True,
    thinking: Thinking = Thinking.OFF,
    style: ThinkingStyle = ThinkingStyle.NONE,
    **able: Any,
) -> AnthropicModel:
    return AnthropicModel(
        name="main",
        model=model,
        base_url=base_url,
        api_key=key,
        client=client,
        clock=TestClock(),
        stream=stream,
        abilities=ModelAbilities(thinking=style, **able),
        thinking=thinking,
    )


@pytest.fixture(params=[True, False], ids=["streamed", "whole"])
def model(
    request: pytest.FixtureRequest, provider: ModelSimulator, client: httpx.AsyncClient
) -> AnthropicModel:
    return claude(client, provider.anthropic_base_url, stream=request.param)


# --- replies ---------------------------------------------------------------------------------------------


async def test_a_reply_has_text_and_usage(provider: ModelSimulator, model: AnthropicModel) -> None:
    provider.enqueue(
        text("Grüße 部署 🚀", chunk_chars=1, segment_bytes=3, usage=SimulatedUsage(70, 6, cached_tokens=64))
    )
    deltas, reply = await collect(model, asking("Hi"))
    assert reply.text == "Grüße 部署 🚀"
    assert "".join(deltas) in ("", reply.text)
    assert reply.usage == Usage(70, 6, 64)
    assert (reply.origin.provider, reply.origin.model, reply.truncated) == ("anthropic", "sim-1", False)


def test_what_is_read_from_the_cache_and_written_to_it_counts_as_input() -> None:
    counted = {"input_tokens": 7, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 30}
    assembler = ReplyAssembler(name="main", model="sim-1", host="127.0.0.1")
    said = [{"type": "text", "text": "hi"}]
    assembler.add_object(
        {
            "type": "message",
            "content": said,
            "stop_reason": "end_turn",
            "usage": {**counted, "output_tokens": 5},
        }
    )
    whole = Usage(input_tokens=237, output_tokens=5, cached_input_tokens=200, cache_write_tokens=30)
    assert assembler.finish().usage == whole


async def test_a_call_truncated_at_the_limit_is_marked(
    provider: ModelSimulator, client: httpx.AsyncClient
) -> None:
    provider.enqueue(tools(CALL), fault=CutArguments(keep_chars=6))
    _, reply = await collect(claude(client, provider.anthropic_base_url), asking("Hi"))
    assert (reply.truncated, reply.calls[0].arguments) == (True, '{"comm')


async def test_a_character_split_by_the_provider_is_joined_again() -> None:
    assembler = ReplyAssembler(name="main", model="m", host="h")
    halves = [delta(0, "text_delta", text=half) for half in ("a\ud83d", "\ude80b")]
    stream = [A_START, start(0, {"type": "text", "text": ""}), *halves, a_end("end_turn"), A_STOP]
    told = "".join(assembler.add(json.dumps(event)) for event in stream)
    assert (told, assembler.finish().text) == ("a🚀b", "a🚀b")


# --- failures --------------------------------------------------------------------------------------------

FAULTS: list[tuple[Fault, type[ModelError]]] = [
    (HttpError(429), ModelUnavailable),
    (HttpError(500), ModelUnavailable),
    (HttpError(502), ModelUnavailable),
    (HttpError(529), ModelUnavailable),
    (HttpError(401), ModelAuthRejected),
    (HttpError(403), ModelAuthRejected),
    (HttpError(413), ContextOverflow),
    (HttpError(404), ModelMisconfigured),
    (HttpError(400, body="[" * 100_000), ModelRejected),
    (Drop(at="before_headers"), ModelUnavailable),
    (Drop(at="in_headers"), ModelUnavailable),
    (Drop(at="after_headers"), ModelUnavailable),
    (Drop(at="mid_stream", reset=True), ModelUnavailable),
    (MalformedEvent(), ModelReplyInvalid),
    (EndEarly(after_events=3), ModelReplyInvalid),
    (EmptyBody(), ModelReplyInvalid),
    (StreamError(), ModelUnavailable),
    (StreamError(type="invalid_request_error", message="prompt is too long: 9 > 8"), ContextOverflow),
    (StreamError(type="invalid_request_error", message="no"), ModelRejected),
]


@pytest.mark.parametrize("fault, kind", FAULTS)
async def test_every_fault_raises_its_error(
    provider: ModelSimulator, model: AnthropicModel, fault: Fault, kind: type[ModelError]
) -> None:
    provider.fault(fault)
    provider.enqueue(text("a text of several pieces, long enough to break", chunk_chars=4))
    with pytest.raises(kind) as caught:
        await collect(model, asking("Hi"))
    assert KEY not in str(caught.value)
    assert (await collect(model, asking("say: fine")))[1].text, "the next call suffers from the last"


async def test_a_prompt_that_is_too_long_is_an_overflow(
    provider: ModelSimulator, model: AnthropicModel
) -> None:
    provider.provider.context_tokens = 5000
    with pytest.raises(ContextOverflow, match="exceed context limit"):
        await collect(model, asking("x" * 10_000))
    with pytest.raises(ContextOverflow, match="prompt is too long"):
        await collect(model, asking("x" * 30_000))


async def test_cancelling_ends_the_request_at_the_provider(
    provider: ModelSimulator, client: httpx.AsyncClient
) -> None:
    provider.fault(Hold(at="mid_stream"))
    task = asyncio.create_task(collect(claude(client, provider.anthropic_base_url), asking("Hi")))
    await provider.wait_requests(state="held")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await provider.wait_requests(state="client_gone")


@pytest.mark.parametrize("key", ["", " k \n"])
@pytest.mark.parametrize("slash", ["", "/", "/v1", "/v1/"])
async def test_the_key_travels_in_its_header_only(client: httpx.AsyncClient, key: str, slash: str) -> None:
    body = b'{"type": "message", "content": [], "stop_reason": "end_turn"}'
    async with RecordedServer(lambda _: answer(body)) as server:
        await collect(claude(client, server.base_url.removesuffix("/v1") + slash, key=key), asking("Hi"))
    (seen,) = server.seen
    assert seen.head.startswith("POST /v1/messages HTTP/1.1\r\n")
    assert seen.header("x-api-key") == ("k" if key else None)
    assert seen.header("authorization") is None
    assert seen.header("anthropic-version") == "2023-06-01"


# --- thinking --------------------------------------------------------------------------------------------


def after_calls(reply: ModelReply) -> list[Said]:
    """A conversation that goes on after the calls of a reply."""
    called = [ToolCalled(f"call{n}", call.tool, call.arguments) for n, call in enumerate(reply.calls)]
    return [UserSaid("go"), AssistantSaid(reply.text, reply.origin), *called]


def blocks(body: dict[str, Any]) -> list[list[str]]:
    return [[block["type"] for block in message["content"]] for message in body["messages"]]


@pytest.mark.parametrize("style", [ThinkingStyle.ADAPTIVE, ThinkingStyle.BUDGET])
async def test_thinking_is_returned_only_to_the_model_it_came_from(
    provider: ModelSimulator, client: httpx.AsyncClient, style: ThinkingStyle
) -> None:
    provider.enqueue(tools(CALL, thinking="First this,\nthen 部."))
    thinks = claude(client, provider.anthropic_base_url, thinking=Thinking.MEDIUM, style=style)
    _, reply = await collect(thinks, asking("go"))
    conversation = after_calls(reply)
    assert (await collect(thinks, asking(*conversation)))[1].text.startswith("Done: ")
    body = provider.log[-1].body
    assert blocks(body) == [["text"], ["thinking", "tool_use"], ["tool_result"]]
    assert body["messages"][1]["content"][0]["thinking"] == "First this,\nthen 部."
    other = claude(client, provider.anthropic_base_url, model="sim-2", thinking=Thinking.MEDIUM, style=style)
    await collect(other, asking(*conversation))
    body = provider.log[-1].body
    assert blocks(body) == [["text"], ["tool_use"], ["tool_result"]]
    assert ("thinking" in body) == (style is ThinkingStyle.ADAPTIVE), (
        "a budget needs the thinking it began with"
    )


async def test_thinking_between_text_and_calls_stays_where_it_was(
    provider: ModelSimulator, client: httpx.AsyncClient
) -> None:
    assembler = ReplyAssembler(name="main", model="sim-1", host="127.0.0.1")
    thought = {"type": "thinking", "thinking": "", "signature": ""}
    signed = delta(9, "signature_delta", signature="s")
    hidden = start(4, {"type": "redacted_thinking", "data": "x"})
    for event in (
        A_START,
        start(9, thought),
        signed,
        *A_TEXT,
        hidden,
        *A_FIRST,
        start(9, thought),
        delta(9, "thinking_delta", thinking="Now."),
        signed,
        start(5, {"type": "tool_use", "id": "b", "name": "time", "input": {}}),
        a_end("tool_use"),
        A_STOP,
    ):
        assembler.add(json.dumps(event))
    reply = assembler.finish()
    request = asking(*after_calls(reply))
    body = json.loads(RequestTexts(model="sim-1", host="127.0.0.1").encoded(request, Dialect()))
    assert blocks(body)[1] == ["thinking", "text", "redacted_thinking", "tool_use", "thinking", "tool_use"]
    elsewhere = json.loads(RequestTexts(model="sim-1", host="elsewhere").encoded(request, Dialect()))
    assert blocks(elsewhere)[1] == ["text", "tool_use", "tool_use"]


async def test_thinking_gets_its_own_tokens_and_no_temperature_is_sent(
    provider: ModelSimulator, client: httpx.AsyncClient
) -> None:
    able: dict[str, Any] = {"max_temperature": 1.0, "max_output_tokens": 10_000}
    for style in ThinkingStyle:
        asked = claude(client, provider.anthropic_base_url, style=style, **able)
        for thinking in (Thinking.OFF, Thinking.LOW, Thinking.HIGH):
            request = replace(asking("Hi"), thinking=thinking, temperature=1.7, max_output_tokens=4000)
            await collect(asked, request)
    sent = [one.body for one in provider.log.all()]
    assert [(one["max_tokens"], one.get("temperature")) for one in sent] == [
        *[(4000, 1.0)] * 3,
        *[(4000, 1.0), (6048, None), (10_000, None)] * 3,
    ]
    assert [one.get("output_config", {}).get("effort") for one in sent[3:9]] == [None, "low", "high"] * 2
    budgets = [one.get("thinking", {}).get("budget_tokens") for one in sent[9:]]
    assert budgets == [None, 2048, 5000]


async def test_a_model_that_writes_less_thinks_within_the_room_for_the_answer(
    provider: ModelSimulator, client: httpx.AsyncClient
) -> None:
    provider.provider.max_output_tokens = 8192
    asked = claude(client, provider.anthropic_base_url, style=ThinkingStyle.BUDGET)
    for _ in range(2):
        request = replace(asking("Hi"), thinking=Thinking.HIGH, max_output_tokens=4096)
        assert (await collect(asked, request))[1].text == "You said: Hi"
    sent = [(one.body["max_tokens"], one.body["thinking"]["budget_tokens"]) for one in provider.log.all()]
    assert sent == [(20_480, 10_240), (4096, 2048), (4096, 2048)]


# --- learning --------------------------------------------------------------------------------------------


def refusal(message: str) -> HttpError:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    return HttpError(400, body=json.dumps(error))


LESSONS: list[tuple[str, str, dict[str, Any]]] = [
    ("`temperature` is deprecated for this model.", "takes no temperature", {}),
    ("temperature: Extra inputs are not permitted", "takes no temperature", {}),
    ("cache_control: Extra inputs are not permitted", "takes no cache mark on the whole request", {}),
    ("messages.1.content.0: Invalid `signature` in `thinking` block", "takes no thinking back", {}),
    (
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.',
        "thinks adaptively",
        {"thinking": ThinkingStyle.BUDGET},
    ),
    (
        "adaptive thinking is not supported on this model",
        "thinks within a budget",
        {"thinking": ThinkingStyle.ADAPTIVE},
    ),
    ("thinking: Extra inputs are not permitted", "takes no thinking", {"thinking": ThinkingStyle.ADAPTIVE}),
    ("Streaming is not supported for this model", "does not stream", {}),
]


@pytest.mark.parametrize("message, lesson, able", LESSONS)
async def test_parameters_a_provider_refuses_are_omitted_from_then_on(
    provider: ModelSimulator, client: httpx.AsyncClient, message: str, lesson: str, able: dict[str, Any]
) -> None:
    style = able.get("thinking", ThinkingStyle.NONE)
    effort = Thinking.OFF if style is ThinkingStyle.NONE else Thinking.LOW
    asked = claude(client, provider.anthropic_base_url, style=style, thinking=effort, max_temperature=1.0)
    provider.fault(refusal(message))
    for _ in range(2):
        assert (await collect(asked, replace(asking("Hi"), temperature=0.5)))[1].text == "You said: Hi"
    first, second, third = (one.body for one in provider.log.all())
    assert asked.abilities.learned == (lesson,)
    assert second == third
    assert first != second or "signature" in message


async def test_other_refusals_change_no_later_request(
    provider: ModelSimulator, client: httpx.AsyncClient
) -> None:
    asked = claude(client, provider.anthropic_base_url, style=ThinkingStyle.ADAPTIVE)
    for message in ("max_tokens: 9 > 8", "messages.0.content: Field required", "`temperature` is too high"):
        provider.fault(refusal(message))
        with pytest.raises(ModelRejected):
            await collect(asked, asking("Hi"))
    assert asked.abilities.learned == ()
    assert provider.log.taken == 3


# --- any journal, any JSON -------------------------------------------------------------------------------


@given(st.lists(SAID, min_size=1, max_size=12))
def test_any_journal_makes_a_conversation_that_the_api_accepts(said: list[Said]) -> None:
    body = json.loads(
        RequestTexts(model="m-1", host="h").encoded(ModelRequest("", called_once(said)), Dialect())
    )
    Conversation(thinking=False).read(body["messages"])


def test_a_conversation_ends_with_a_person() -> None:
    for said in ([], [AssistantSaid("I spoke.")], [UserSaid("a"), AssistantSaid("b")], [AssistantSaid(" ")]):
        body = json.loads(RequestTexts(model="m", host="h").encoded(ModelRequest("", said), Dialect()))
        assert body["messages"][-1]["content"] == [{"type": "text", "text": "Continue."}]
    assert conversation_messages([UserSaid(" "), Note("x")])[0]["content"][0]["text"].startswith("(a message")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_EVENT = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["message_start", "content_block_start", "content_block_delta", "message_delta"]
        )
    },
    optional={
        "message": _JSON,
        "index": _JSON,
        "content_block": st.fixed_dictionaries(
            {"type": st.sampled_from(["text", "tool_use", "thinking", "redacted_thinking"])},
            optional={key: _JSON for key in ("text", "id", "name", "input", "thinking", "signature", "data")},
        )
        | _JSON,
        "delta": st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(
                    ["text_delta", "input_json_delta", "thinking_delta", "signature_delta"]
                ),
                **{key: _JSON for key in ("text", "partial_json", "thinking", "signature", "stop_reason")},
            },
        ),
        "usage": _JSON,
    },
)


@given(st.lists(_EVENT | _JSON, max_size=8), st.booleans())
def test_any_json_gives_a_reply_or_a_model_error(events: list[Any], whole: bool) -> None:
    assembler = ReplyAssembler(name="main", model="m", host="h")
    try:
        told = "".join(assembler.add(json.dumps(event)) for event in events)
        if whole:
            told += assembler.add(json.dumps(a_end("end_turn")))
        reply = assembler.finish()
    except ModelError:
        return
    assert told == reply.text
    (reply.text + reply.origin.opaque + "".join(call.arguments for call in reply.calls)).encode()


def test_an_empty_answer_is_an_answer() -> None:
    assembler = ReplyAssembler(name="main", model="m", host="h")
    assembler.add(json.dumps(a_end("end_turn")))
    assert assembler.finish().text == ""


async def test_a_reply_shown_in_pieces_is_reported_once(
    provider: ModelSimulator, client: httpx.AsyncClient
) -> None:
    provider.enqueue(Reply("one two three", thinking="hidden", chunk_chars=4))
    deltas, reply = await collect(claude(client, provider.anthropic_base_url), asking("Hi"))
    assert "".join(deltas) == reply.text == "one two three"
