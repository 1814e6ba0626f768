"""Anthropic's own client reads the same streams and comes to the same replies."""

import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, cast

import httpx
import pytest
from anthropic import AsyncAnthropic
from anthropic.types import Message
from anthropic.types.message_create_params import (
    MessageCreateParamsNonStreaming,
    MessageCreateParamsStreaming,
)

from core.clock import SystemClock
from core.model.anthropic import AnthropicModel, Dialect, RequestTexts
from core.model.base import ImagePart, ModelAbilities, ModelReply, ModelRequest, ThinkingStyle, ToolSpec
from core.model.provider_http import model_client
from core.transcript import AssistantSaid, Note, Origin, ResultStatus, ToolCalled, ToolResult, UserSaid
from core.users import Thinking
from tests.core.model.sdk_types import complaints
from tests.simulators.model import CutArguments, ModelSimulator, Reply, ToolCall, Usage
from tests.simulators.model.anthropic_messages import signature_of

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TOOLS = (
    ToolSpec("shell", "Run.", {"type": "object", "properties": {"command": {"type": "string"}}}),
    ToolSpec("time", "Tell the time.", {"type": "object", "properties": {}}),
)
CALL_ID = "0190c6f2-7d0a-7cc3-98f4-3b1c5d2e6f70"
KEPT = json.dumps(
    {
        "host": "127.0.0.1",
        "thinking": [
            {
                "block": {"type": "thinking", "thinking": "Hm.", "signature": signature_of("Hm.")},
                "calls": 0,
                "text": False,
            }
        ],
    }
)
REQUEST = ModelRequest(
    "Be kind.",
    [
        UserSaid("list the files", sender="Ann"),
        AssistantSaid("Looking.", Origin("anthropic", "sim-1", KEPT)),
        ToolCalled(CALL_ID, "shell", '{"command": "ls"}'),
        ToolResult(CALL_ID, ResultStatus.ERROR, "a.txt"),
        Note("Mind the time."),
        AssistantSaid("There is a.txt."),
        UserSaid("and now?"),
    ],
    TOOLS,
    thinking=Thinking.OFF,
)


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with model_client(tls=NO_TLS) as shared:
        yield shared


async def ours(
    client: httpx.AsyncClient,
    base_url: str,
    *,
    stream: bool = True,
    style: ThinkingStyle = ThinkingStyle.NONE,
) -> ModelReply:
    model = AnthropicModel(
        name="main",
        model="sim-1",
        base_url=base_url,
        api_key="test-key",
        client=client,
        clock=SystemClock(),
        stream=stream,
        abilities=ModelAbilities(thinking=style),
    )
    thinking = Thinking.OFF if style is ThinkingStyle.NONE else Thinking.MEDIUM
    async for piece in model.reply(replace(REQUEST, thinking=thinking)):
        if isinstance(piece, ModelReply):
            return piece
    raise AssertionError("no reply")


async def theirs(base_url: str, body: dict[str, Any], *, stream: bool = True) -> Message:
    """What the official client makes of the answer to the very request the adapter sends."""
    body = {name: value for name, value in body.items() if name != "stream"}
    # The version of the adapter's requests, which is not the client's own.
    headers = {"anthropic-version": "2023-06-01"}
    async with AsyncAnthropic(api_key="test-key", base_url=base_url, max_retries=0) as client:
        messages = cast("Any", client.messages)
        if not stream:
            return await messages.create(**body, extra_headers=headers)
        async with messages.stream(**body, extra_headers=headers) as events:
            return await events.get_final_message()


def compared(message: Message) -> dict[str, Any]:
    usage = message.usage
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    return {
        "text": "".join(block.text for block in message.content if block.type == "text"),
        "calls": [
            (block.id, block.name, block.input) for block in message.content if block.type == "tool_use"
        ],
        "thinking": [
            (block.thinking, block.signature) for block in message.content if block.type == "thinking"
        ],
        "stop": {"max_tokens": "length", "refusal": "filtered"}.get(message.stop_reason or "", "end"),
        "tokens": (usage.input_tokens + read + written, usage.output_tokens, read, written),
    }


def compared_ours(reply: ModelReply) -> dict[str, Any]:
    kept = json.loads(reply.origin.opaque)["thinking"] if reply.origin.opaque else []
    usage = reply.usage
    return {
        "text": reply.text,
        "calls": [(call.provider_call_id, call.tool, json.loads(call.arguments)) for call in reply.calls],
        "thinking": [(one["block"]["thinking"], one["block"]["signature"]) for one in kept],
        "stop": reply.stop.value,
        "tokens": (
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_input_tokens,
            usage.cache_write_tokens,
        ),
    }


CALL = ToolCall("shell", {"command": 'echo "ü"', "n": 1.5}, id="toolu_1")
REPLIES = [
    Reply("Grüße 部署 🚀", chunk_chars=1, usage=Usage(900, 12, cached_tokens=512)),
    Reply("one\ntwo\r\nthree \u2028 four", segment_bytes=1),
    Reply(refusal="I cannot help with that."),
    Reply("Both.", calls=(CALL, ToolCall("time", {}, id="toolu_2"))),
    Reply("Wait.", thinking="First this,\nthen 部.", calls=(CALL,), chunk_chars=2, segment_bytes=7),
    Reply(thinking="Hm.", calls=(CALL,)),
    Reply("x" * 5000, chunk_chars=1000),
    Reply("cut off", finish="length"),
]


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("reply", REPLIES, ids=range(len(REPLIES)))
async def test_the_official_client_reads_the_same_reply(
    client: httpx.AsyncClient, reply: Reply, stream: bool
) -> None:
    async with ModelSimulator() as provider:
        provider.enqueue(reply, reply)
        own = compared_ours(await ours(client, provider.anthropic_base_url, stream=stream))
        body = provider.log[-1].body
        assert own == compared(await theirs(provider.anthropic_base_url, body, stream=stream))


@pytest.mark.parametrize("style", list(ThinkingStyle))
async def test_both_send_the_same_request(client: httpx.AsyncClient, style: ThinkingStyle) -> None:
    async with ModelSimulator() as provider:
        await ours(client, provider.anthropic_base_url, style=style)
        await theirs(provider.anthropic_base_url, provider.log[-1].body)
        own, official = (exchange.body for exchange in provider.log.all())
    assert own == official
    assert [block["type"] for block in own["messages"][1]["content"]] == ["thinking", "text", "tool_use"]


async def test_truncated_arguments_make_a_truncated_reply_for_both(client: httpx.AsyncClient) -> None:
    async with ModelSimulator() as provider:
        call = Reply(calls=(CALL,))
        provider.enqueue(call, call, fault=CutArguments(keep_chars=6))
        own = await ours(client, provider.anthropic_base_url, stream=False)
        official = await theirs(provider.anthropic_base_url, provider.log[-1].body, stream=False)
        assert (own.truncated, compared(official)["stop"]) == (True, "length")
        streamed = await ours(client, provider.anthropic_base_url)
        provider.fault(CutArguments(keep_chars=6))
        provider.enqueue(call)
        streamed = await ours(client, provider.anthropic_base_url)
    assert (streamed.truncated, streamed.calls[0].arguments) == (True, '{"comm')


# --- requests, judged by the client's types --------------------------------------------------------------

IMAGE = ImagePart("cat.png", "image/png", b"\x89PNG\r\n\x1a\n")
DIALECTS = [
    Dialect(),
    Dialect(stream=False),
    Dialect(cache="system"),
    Dialect(cache=""),
    Dialect(replay=False),
    *(Dialect(thinking=style) for style in ThinkingStyle),
]
REQUESTS = [
    REQUEST,
    replace(REQUEST, images=[IMAGE, ImagePart("b", "image/png", problem="it is too large")]),
    replace(REQUEST, tools=(), temperature=0.5),
    replace(REQUEST, thinking=Thinking.HIGH, max_output_tokens=20_000),
    replace(REQUEST, conversation=[AssistantSaid("I speak first."), AssistantSaid(" ")], system=" "),
    replace(REQUEST, conversation=REQUEST.conversation[:4]),
    replace(REQUEST, conversation=[]),
]


@pytest.mark.parametrize("dialect", DIALECTS, ids=range(len(DIALECTS)))
@pytest.mark.parametrize("request_", REQUESTS, ids=range(len(REQUESTS)))
def test_every_request_matches_the_clients_types(request_: ModelRequest, dialect: Dialect) -> None:
    body = json.loads(RequestTexts(model="sim-1", host="127.0.0.1").encoded(request_, dialect))
    kind: Any = MessageCreateParamsStreaming if dialect.stream else MessageCreateParamsNonStreaming
    # The client's types are those of a later version, which takes no temperature any more.
    assert body.pop("temperature", None) == request_.temperature
    assert complaints(body, kind) == []
    assert complaints(body | {"logprobs": True}, kind) == ["body.logprobs: is not known"]
