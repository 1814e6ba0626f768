"""The simulator's answers as OpenAI's own client reads them, whole and streamed.

Shapes: OpenAI API reference, Chat, "The chat completion object" and "The chat completion chunk object".
"""

import json

import httpx
import openai
from hypothesis import given
from hypothesis import strategies as st

from tests.simulators.model import ModelSimulator, Reply, ToolCall, Usage, text, tools
from tests.simulators.model.openai_wire import OpenAIWire
from tests.simulators.model.wire import Prompt, Provider
from tests.simulators_tests.model.talk import SHELL, ask, ask_text, finish_of, stream, streamed_text


async def test_a_whole_answer_echoes_the_user(client: openai.AsyncOpenAI) -> None:
    completion = await ask(client, "héllo 你好 🙂")
    assert completion.object == "chat.completion"
    assert completion.model == "sim-1"
    assert completion.choices[0].message.role == "assistant"
    assert completion.choices[0].message.content == "You said: héllo 你好 🙂"
    assert completion.choices[0].finish_reason == "stop"
    assert (
        completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens
    )


async def test_a_streamed_answer_arrives_in_pieces(model: ModelSimulator, client: openai.AsyncOpenAI) -> None:
    model.enqueue(text("one two three four", chunk_chars=5))
    chunks = await stream(client, "count")
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].delta.content for chunk in chunks[1:-1]] == ["one t", "wo th", "ree f", "our"]
    assert finish_of(chunks) == "stop"
    assert len({chunk.id for chunk in chunks}) == 1
    assert all(chunk.usage is None for chunk in chunks)


async def test_usage_comes_in_a_last_chunk_without_choices(
    model: ModelSimulator, client: openai.AsyncOpenAI
) -> None:
    model.enqueue(text("hi", usage=Usage(100, 7, cached_tokens=64, reasoning_tokens=3)))
    chunks = await stream(client, "count", stream_options={"include_usage": True})
    assert chunks[-1].choices == []
    assert chunks[-1].usage.prompt_tokens == 100
    assert chunks[-1].usage.completion_tokens == 7
    assert chunks[-1].usage.total_tokens == 107
    assert chunks[-1].usage.prompt_tokens_details.cached_tokens == 64
    assert chunks[-1].usage.completion_tokens_details.reasoning_tokens == 3
    assert all(chunk.usage is None for chunk in chunks[:-1])


async def test_a_whole_answer_can_have_parallel_calls(
    model: ModelSimulator, client: openai.AsyncOpenAI
) -> None:
    model.enqueue(tools(ToolCall("shell", {"command": "ls"}), ToolCall("shell", '{"broken', id="call_x")))
    completion = await ask(client, "go", tools=[SHELL])
    message = completion.choices[0].message
    assert completion.choices[0].finish_reason == "tool_calls"
    assert message.content is None
    assert [call.type for call in message.tool_calls] == ["function", "function"]
    assert json.loads(message.tool_calls[0].function.arguments) == {"command": "ls"}
    assert message.tool_calls[1].id == "call_x"
    assert message.tool_calls[1].function.arguments == '{"broken'


async def test_streamed_calls_name_first_then_arguments_in_fragments(
    model: ModelSimulator, client: openai.AsyncOpenAI
) -> None:
    model.enqueue(
        tools(ToolCall("shell", {"command": "ls"}), ToolCall("shell", {"command": "pwd"}), chunk_chars=6)
    )
    chunks = await stream(client, "go", tools=[SHELL])
    deltas = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or []]
    first = [delta for delta in deltas if delta.index == 0]
    assert first[0].id
    assert first[0].function.name == "shell"
    assert first[0].function.arguments == ""
    assert all(delta.id is None and delta.function.name is None for delta in first[1:])
    assert len(first) > 2
    for index, command in enumerate(("ls", "pwd")):
        arguments = "".join(delta.function.arguments for delta in deltas if delta.index == index)
        assert json.loads(arguments) == {"command": command}
    assert finish_of(chunks) == "tool_calls"


async def test_the_clients_own_assembly_of_a_stream_agrees(
    model: ModelSimulator, client: openai.AsyncOpenAI
) -> None:
    """`client.chat.completions.stream` checks each event and puts the message together itself."""
    model.enqueue(Reply(text="Let me look.", calls=(ToolCall("shell", {"command": "ls -l"}),), chunk_chars=3))
    async with client.chat.completions.stream(
        model="sim-1",
        messages=[{"role": "user", "content": "go"}],
        tools=[SHELL],  # type: ignore[list-item]
    ) as events:
        completion = await events.get_final_completion()
    message = completion.choices[0].message
    assert message.content == "Let me look."
    assert message.tool_calls is not None
    assert json.loads(message.tool_calls[0].function.arguments) == {"command": "ls -l"}


async def test_a_refusal_of_the_model_has_its_own_field(
    model: ModelSimulator, client: openai.AsyncOpenAI
) -> None:
    model.enqueue(Reply(refusal="I can't help with that."), Reply(refusal="I can't help with that."))
    message = (await ask(client, "go")).choices[0].message
    assert message.content is None
    assert message.refusal == "I can't help with that."
    chunks = await stream(client, "go")
    assert "".join(chunk.choices[0].delta.refusal or "" for chunk in chunks) == "I can't help with that."
    assert streamed_text(chunks) == ""


async def test_finish_reasons_that_end_an_answer_early(
    model: ModelSimulator, client: openai.AsyncOpenAI
) -> None:
    model.enqueue(text("half a sen", finish="length"), text("", finish="content_filter"))
    assert (await ask(client, "go")).choices[0].finish_reason == "length"
    assert finish_of(await stream(client, "go")) == "content_filter"


async def test_the_requests_token_limit_cuts_the_answer(client: openai.AsyncOpenAI) -> None:
    """Four characters are a token here: 3 tokens hold 12 characters, 13 do not fit."""
    whole = await ask(client, "say: twelve chars", max_completion_tokens=3)
    assert (whole.choices[0].message.content, whole.choices[0].finish_reason) == ("twelve chars", "stop")
    cut = await ask(client, "say: twelve chars!", max_completion_tokens=3)
    assert (cut.choices[0].message.content, cut.choices[0].finish_reason) == ("twelve chars", "length")


async def test_an_empty_answer_is_an_answer(model: ModelSimulator, client: openai.AsyncOpenAI) -> None:
    model.enqueue("", "")
    assert await ask_text(client, "go") == ""
    assert streamed_text(await stream(client, "go")) == ""


async def test_models_are_listed_and_shown(client: openai.AsyncOpenAI) -> None:
    assert [listed.id async for listed in client.models.list()] == ["sim-1", "sim-2"]
    assert (await client.models.retrieve("sim-2")).owned_by == "simulator"


async def test_a_stream_cut_anywhere_is_the_same_stream(
    model: ModelSimulator, client: openai.AsyncOpenAI, http: httpx.AsyncClient
) -> None:
    """Segments of one byte cut through events and through characters of several bytes."""
    model.enqueue(text("你好 🙂 done", segment_bytes=1), text("你好 🙂 done", segment_bytes=1))
    assert streamed_text(await stream(client, "go")) == "你好 🙂 done"
    body = {"model": "sim-1", "stream": True, "messages": [{"role": "user", "content": "go"}]}
    whole = await http.post("/v1/chat/completions", json=body)
    assert whole.headers["content-type"].startswith("text/event-stream")
    assert whole.text.endswith("data: [DONE]\n\n")
    assert model.log[-1].events_sent == len(whole.content)


@given(
    content=st.text(max_size=200), size=st.integers(1, 50), arguments=st.dictionaries(st.text(), st.text())
)
def test_no_text_is_lost_between_chunks(content: str, size: int, arguments: dict[str, str]) -> None:
    """The events join to the text again, each event being one line of JSON."""
    wire = OpenAIWire(Provider())
    prompt = Prompt("sim-1", True, "", (), (), 1)
    reply = Reply(text=content, calls=(ToolCall("shell", arguments),), chunk_chars=size)
    events = [event.decode() for event in wire.events(reply, prompt)]
    assert events.pop() == "data: [DONE]\n\n"
    assert all(event.startswith("data: ") and event.endswith("\n\n") for event in events)
    deltas = [json.loads(event.removeprefix("data: "))["choices"][0]["delta"] for event in events]
    assert "".join(delta.get("content") or "" for delta in deltas) == content
    calls = [call["function"] for delta in deltas for call in delta.get("tool_calls", ())]
    assert json.loads("".join(call["arguments"] for call in calls)) == arguments
