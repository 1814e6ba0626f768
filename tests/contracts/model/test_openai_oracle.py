"""OpenAI's own client reads the same streams and comes to the same replies."""

import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, cast

import httpx
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)

from core.clock import SystemClock
from core.model.base import ImagePart, ModelReply, ModelRequest, ToolSpec
from core.model.openai import Dialect, OpenAIModel, RequestTexts
from core.model.provider_http import model_client
from core.transcript import AssistantSaid, ResultStatus, ToolCalled, ToolResult, UserSaid
from core.users import Thinking
from tests.core.model.recorded_server import RecordedServer, answer
from tests.core.model.sdk_types import complaints
from tests.core.model.support import recorded
from tests.simulators.model import CutArguments, ModelSimulator, Reply, ToolCall, Usage

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TOOLS = (
    ToolSpec("shell", "Run.", {"type": "object", "properties": {"command": {"type": "string"}}}),
    ToolSpec("time", "Tell the time.", {"type": "object", "properties": {}}),
)
REQUEST = ModelRequest(
    "Be kind.",
    [
        UserSaid("list the files", sender="Ann"),
        AssistantSaid("Looking."),
        ToolCalled("0190c6f2-7d0a-7cc3-98f4-3b1c5d2e6f70", "shell", '{"command": "ls"}'),
        ToolResult("0190c6f2-7d0a-7cc3-98f4-3b1c5d2e6f70", ResultStatus.OK, "a.txt"),
        AssistantSaid("There is a.txt."),
        UserSaid("and now?"),
    ],
    TOOLS,
)


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with model_client(tls=NO_TLS) as shared:
        yield shared


async def ours(client: httpx.AsyncClient, base_url: str, *, stream: bool = True) -> ModelReply:
    model = OpenAIModel(
        name="main",
        model="sim-1",
        base_url=base_url,
        api_key="test-key",
        client=client,
        clock=SystemClock(),
        stream=stream,
    )
    async for piece in model.reply(REQUEST):
        if isinstance(piece, ModelReply):
            return piece
    raise AssertionError("no reply")


async def theirs(base_url: str, *, stream: bool = True) -> ChatCompletion:
    """Return what the official client makes of the answer to the very request the adapter sends."""
    texts = RequestTexts(model="sim-1", host="127.0.0.1")
    body = json.loads(texts.encoded(REQUEST, Dialect(stream=False)))
    async with AsyncOpenAI(api_key="test-key", base_url=base_url, max_retries=0) as client:
        completions = cast("Any", client.chat.completions)
        if not stream:
            return await completions.create(**body)
        async with completions.stream(**body, stream_options={"include_usage": True}) as events:
            async for _ in events:
                pass
            return await events.get_final_completion()


def compared(completion: ChatCompletion) -> dict[str, Any]:
    (choice,) = completion.choices
    usage = completion.usage
    details = usage.prompt_tokens_details if usage else None
    return {
        "text": (choice.message.content or "") + (choice.message.refusal or ""),
        "calls": [
            (call.id, call.function.name, call.function.arguments or "{}")
            for call in choice.message.tool_calls or []
            if call.type == "function"
        ],
        "truncated": choice.finish_reason == "length",
        "input": usage.prompt_tokens if usage else 0,
        "output": usage.completion_tokens if usage else 0,
        "cached": (details.cached_tokens or 0) if details else 0,
    }


def compared_ours(reply: ModelReply) -> dict[str, Any]:
    return {
        "text": reply.text,
        "calls": [(call.provider_call_id, call.tool, call.arguments) for call in reply.calls],
        "truncated": reply.truncated,
        "input": reply.usage.input_tokens,
        "output": reply.usage.output_tokens,
        "cached": reply.usage.cached_input_tokens,
    }


REPLIES = [
    Reply("Grüße 部署 🚀", chunk_chars=1, usage=Usage(900, 12, cached_tokens=512)),
    Reply("one\ntwo\r\nthree \u2028 four", segment_bytes=1),
    Reply(refusal="I cannot help with that."),
    Reply(
        "Both.",
        calls=(ToolCall("shell", {"command": 'echo "ü"'}, id="call_1"), ToolCall("time", {}, id="call_2")),
    ),
    Reply(calls=(ToolCall("shell", "not JSON {", id="call_1"),), chunk_chars=2, segment_bytes=7),
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
        own = compared_ours(await ours(client, provider.openai_base_url, stream=stream))
        if reply.finish == "length" and stream:  # the official helper raises instead of returning it
            assert own["truncated"] is True
            return
        assert own == compared(await theirs(provider.openai_base_url, stream=stream))


@pytest.mark.parametrize("name", ["text.sse", "tool_calls.sse", "reasoning.sse", "no_done.sse"])
async def test_the_official_client_reads_the_same_recorded_stream(
    client: httpx.AsyncClient, name: str
) -> None:
    async with RecordedServer(lambda _: answer(recorded(name))) as server:
        own = compared_ours(await ours(client, server.base_url))
        assert own | {"cached": 0} == compared(await theirs(server.base_url)) | {"cached": 0}


async def test_both_send_the_same_request(client: httpx.AsyncClient) -> None:
    async with ModelSimulator() as provider:
        await ours(client, provider.openai_base_url)
        await theirs(provider.openai_base_url)
        own, official = (exchange.body for exchange in provider.log.all())
    assert own == official


async def test_truncated_arguments_are_the_same_for_both(client: httpx.AsyncClient) -> None:
    async with ModelSimulator() as provider:
        call = Reply(calls=(ToolCall("shell", {"command": "ls"}, id="call_1"),))
        provider.enqueue(call, call, fault=CutArguments(keep_chars=6))
        own = compared_ours(await ours(client, provider.openai_base_url, stream=False))
        assert own == compared(await theirs(provider.openai_base_url, stream=False))


# --- requests, judged by the client's types --------------------------------------------------------------

IMAGE = ImagePart("cat.png", "image/png", b"\x89PNG\r\n\x1a\n")
DIALECTS = [
    Dialect(),
    Dialect(stream=False),
    Dialect(include_usage=False),
    Dialect(output_limit="max_completion_tokens"),
    Dialect(output_limit=""),
    Dialect(tools=False),
    Dialect(reasoning=False),
    Dialect(user_after_tool=False),
]
REQUESTS = [
    REQUEST,
    replace(REQUEST, images=[IMAGE, ImagePart("b", "image/png", problem="it is too large")]),
    replace(REQUEST, tools=(), temperature=0.5),
    replace(REQUEST, thinking=Thinking.HIGH),
    replace(REQUEST, conversation=[AssistantSaid("I speak first."), AssistantSaid(" ")], system=""),
    replace(REQUEST, conversation=REQUEST.conversation[:4]),
]


@pytest.mark.parametrize("dialect", DIALECTS, ids=range(len(DIALECTS)))
@pytest.mark.parametrize("request_", REQUESTS, ids=range(len(REQUESTS)))
def test_every_request_matches_the_clients_types(request_: ModelRequest, dialect: Dialect) -> None:
    body = json.loads(RequestTexts(model="sim-1", host="127.0.0.1").encoded(request_, dialect))
    kind: Any = CompletionCreateParamsStreaming if dialect.stream else CompletionCreateParamsNonStreaming
    assert complaints(body, kind) == []
    assert complaints(body | {"top_k": 1}, kind) == ["body.top_k: is not known"]
