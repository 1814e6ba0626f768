"""The simulator's answers as Anthropic's own client reads them, whole and streamed.

Shapes: Messages API reference; docs, "Streaming messages", "Extended thinking", "Errors".
"""

import asyncio
import json
from typing import Any

import anthropic
import httpx
import pytest

from tests.simulators.model import (
    CutArguments,
    Drop,
    EndEarly,
    Hold,
    HttpError,
    MalformedEvent,
    ModelSimulator,
    Reply,
    StreamError,
    ToolCall,
    Usage,
    tools,
)
from tests.simulators.model import text as say
from tests.simulators_tests.model.anthropic_talk import (
    HEADERS,
    PATH,
    SHELL,
    assistant,
    request,
    result,
    text,
    use,
    user,
)
from tests.simulators_tests.model.talk import JsonObject


async def ask(claude: anthropic.AsyncAnthropic, *messages: JsonObject | str, **options: Any) -> Any:
    return await claude.messages.create(
        **request(*[user(m) if isinstance(m, str) else m for m in messages], **options)
    )


async def assemble(claude: anthropic.AsyncAnthropic, *messages: JsonObject | str, **options: Any) -> Any:
    """The message as the client's own assembly of the stream has it."""
    body = request(*[user(m) if isinstance(m, str) else m for m in messages], **options)
    async with claude.messages.stream(**body) as stream:
        return await stream.get_final_message()


async def test_a_whole_answer_echoes_the_user(claude: anthropic.AsyncAnthropic) -> None:
    message = await ask(claude, "héllo 你好 🙂", system="Be brief.")
    assert (message.type, message.role, message.model) == ("message", "assistant", "sim-1")
    assert [block.text for block in message.content] == ["You said: héllo 你好 🙂"]
    assert message.stop_reason == "end_turn"
    assert message.usage.input_tokens > 0
    assert message.usage.output_tokens > 0


async def test_a_stream_is_its_whole_answer(model: ModelSimulator, claude: anthropic.AsyncAnthropic) -> None:
    model.enqueue(
        Reply(
            text="Let me look 你好.",
            calls=(ToolCall("shell", {"command": "ls"}), ToolCall("shell", {"command": "pwd"})),
            chunk_chars=3,
            segment_bytes=7,
            usage=Usage(100, 9, cached_tokens=60),
        )
    )
    message = await assemble(claude, "go", tools=[SHELL])
    spoken, first, second = message.content
    assert spoken.text == "Let me look 你好."
    assert (first.name, first.input) == ("shell", {"command": "ls"})
    assert (second.name, second.input) == ("shell", {"command": "pwd"})
    assert message.stop_reason == "tool_use"
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens) == (40, 60)
    assert message.usage.output_tokens == 9


async def test_the_events_are_those_of_the_docs(model: ModelSimulator, http: httpx.AsyncClient) -> None:
    model.enqueue(Reply(text="hi", calls=(ToolCall("shell", {}),)))
    answer = await http.post(PATH, json=request(stream=True, tools=[SHELL]), headers=HEADERS)
    assert answer.headers["request-id"] == "req_1"
    events = [block.split("\n") for block in answer.text.strip().split("\n\n")]
    assert [name.removeprefix("event: ") for name, _ in events] == [
        "message_start", "content_block_start", "ping", "content_block_delta", "content_block_stop",
        "content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
        "message_delta", "message_stop",
    ]  # fmt: skip
    for name, data in events:
        assert json.loads(data.removeprefix("data: "))["type"] == name.removeprefix("event: ")


async def test_thinking_is_signed_and_must_come_back(claude: anthropic.AsyncAnthropic) -> None:
    """Docs, "Extended thinking": the last turn's thinking is returned with the results, unchanged."""
    thinking = {"type": "enabled", "budget_tokens": 1024}
    options = {"tools": [SHELL], "thinking": thinking, "max_tokens": 2000}
    message = await assemble(claude, "please run: ls", **options)
    first, call = message.content
    assert (first.type, call.type) == ("thinking", "tool_use")
    asked, back = user("please run: ls"), user(result(call.id, "files"))
    kept = [block.model_dump(include={"type", "thinking", "signature"}) for block in message.content[:1]]
    done = await ask(claude, asked, assistant(*kept, use(call.id)), back, **options)
    assert done.content[-1].text == "Done: files"
    with pytest.raises(anthropic.BadRequestError, match="Expected `thinking` or `redacted_thinking`"):
        await ask(claude, asked, assistant(use(call.id)), back, **options)
    kept[0]["thinking"] = "Something else."
    with pytest.raises(anthropic.BadRequestError, match="Invalid `signature` in `thinking` block"):
        await ask(claude, asked, assistant(*kept, use(call.id)), back, **options)


async def test_replies_have_their_stop_reasons(
    model: ModelSimulator, claude: anthropic.AsyncAnthropic
) -> None:
    model.enqueue(say("half", finish="length"), Reply(refusal="I can't."), tools(ToolCall("shell", {})))
    reasons = [(await ask(claude, "go", tools=[SHELL])).stop_reason for _ in range(3)]
    assert reasons == ["max_tokens", "refusal", "tool_use"]
    assert (await ask(claude, "say: twelve chars", max_tokens=3)).stop_reason == "end_turn"
    cut = await assemble(claude, "say: twelve chars!", max_tokens=3)
    assert (cut.content[0].text, cut.stop_reason) == ("twelve chars", "max_tokens")


async def test_an_empty_answer_has_no_blocks(model: ModelSimulator, claude: anthropic.AsyncAnthropic) -> None:
    model.enqueue("", "")
    assert (await ask(claude, "go")).content == []
    assert (await assemble(claude, "go")).content == []


async def test_the_script_is_the_same_on_both_wires(
    model: ModelSimulator, claude: anthropic.AsyncAnthropic
) -> None:
    model.rule("hello", "by rule")
    assert (await ask(claude, "hello")).content[0].text == "by rule"
    spoken = await ask(claude, user("old"), assistant("x"), user(text("a"), text("b")))
    assert spoken.content[0].text == "You said: a\nb"
    called = [user("please run: ls"), assistant(use("c1"))]
    assert (await ask(claude, *called, user(result("c1", [text("out")])))).content[0].text == "Done: out"
    more = await ask(claude, *called, user(result("c1"), text("and now?")))
    assert more.content[0].text == "You said: and now?"


async def test_models_are_listed_to_both(claude: anthropic.AsyncAnthropic, http: httpx.AsyncClient) -> None:
    assert [listed.id async for listed in claude.models.list()] == ["sim-1", "sim-2"]
    assert (await claude.models.retrieve("sim-2")).type == "model"
    with pytest.raises(anthropic.NotFoundError):
        await claude.models.retrieve("claude-none")
    assert (await http.get("/v1/models")).json()["object"] == "list"


@pytest.mark.parametrize(
    "status,raised,kind",
    [
        (429, anthropic.RateLimitError, "rate_limit_error"),
        (500, anthropic.InternalServerError, "api_error"),
        (529, anthropic.InternalServerError, "overloaded_error"),
    ],
)
async def test_statuses_become_the_clients_exceptions(
    model: ModelSimulator,
    claude: anthropic.AsyncAnthropic,
    status: int,
    raised: type[anthropic.APIStatusError],
    kind: str,
) -> None:
    model.fault(HttpError(status))
    with pytest.raises(raised) as failure:
        await ask(claude, "go")
    assert failure.value.status_code == status
    assert failure.value.body["error"]["type"] == kind  # type: ignore[index]
    assert failure.value.body["request_id"] == failure.value.request_id == "req_1"  # type: ignore[index]


async def test_an_error_can_come_inside_a_stream(
    model: ModelSimulator, claude: anthropic.AsyncAnthropic
) -> None:
    """Docs, "Streaming messages", error events."""
    model.fault(StreamError(after_events=4))
    with pytest.raises(anthropic.APIStatusError, match="overloaded_error"):
        await assemble(claude, "go")
    assert model.log[-1].events_sent == 5


async def test_other_faults_work_on_this_wire(
    model: ModelSimulator, claude: anthropic.AsyncAnthropic, http: httpx.AsyncClient
) -> None:
    model.fault(Drop())
    with pytest.raises(anthropic.APIConnectionError):
        await assemble(claude, "go")
    model.fault(Drop("mid_stream"))
    with pytest.raises(httpx.RemoteProtocolError):
        await http.post(PATH, json=request(stream=True), headers=HEADERS)
    model.fault(MalformedEvent())
    with pytest.raises(json.JSONDecodeError):
        await assemble(claude, "go")
    model.fault(EndEarly())
    assert "message_stop" not in (await http.post(PATH, json=request(stream=True), headers=HEADERS)).text
    model.fault(Hold())
    asking = asyncio.create_task(ask(claude, "go"))
    await model.wait_requests(state="held")
    model.release()
    assert (await asking).content[0].text == "You said: go"
    assert [exchange.wire for exchange in model.log.all()] == ["anthropic"] * 5


async def test_arguments_can_be_cut(model: ModelSimulator, http: httpx.AsyncClient) -> None:
    """A stream shows the broken JSON; a whole message has an object, with nothing in it."""
    model.enqueue(tools(ToolCall("shell", {"command": "ls"})))
    model.fault(CutArguments(keep_chars=5), times=2)
    streamed = await http.post(PATH, json=request(stream=True, tools=[SHELL]), headers=HEADERS)
    assert '"partial_json":"{\\"com"' in streamed.text
    assert '"stop_reason":"max_tokens"' in streamed.text
    whole = (await http.post(PATH, json=request(tools=[SHELL]), headers=HEADERS)).json()
    assert (whole["content"][0]["input"], whole["stop_reason"]) == ({}, "max_tokens")
