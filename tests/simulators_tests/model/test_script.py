"""The choice of replies: queue, rules, built-in rules, and what happens to a reply that did not arrive."""

import asyncio
import json

import openai
import pytest

from tests.simulators.model import (
    Drop,
    HttpError,
    ModelSimulator,
    Prompt,
    Reply,
    StreamError,
    ToolCall,
    tools,
)
from tests.simulators_tests.model.talk import SHELL, ask, ask_text, assistant, called, result, stream, user


async def test_the_queue_comes_before_rules_and_rules_before_built_in_replies(
    model: ModelSimulator, client: openai.AsyncOpenAI
) -> None:
    model.enqueue("first", "second")
    model.rule("hel+o", "older rule")
    model.rule("hello", "newer rule")
    answers = [await ask_text(client, "hello") for _ in range(3)]
    assert answers == ["first", "second", "newer rule"]
    assert await ask_text(client, "hellllo") == "older rule"
    assert await ask_text(client, "bye") == "You said: bye"


async def test_a_queued_reply_waits_for_its_request(
    model: ModelSimulator, client: openai.AsyncOpenAI
) -> None:
    model.enqueue("for b", match="b")
    model.enqueue("for all")
    assert await ask_text(client, "a") == "for all"
    assert await ask_text(client, "a") == "You said: a"
    assert await ask_text(client, "b") == "for b"


async def test_rules_answer_people_not_tools(model: ModelSimulator, client: openai.AsyncOpenAI) -> None:
    """A rule that calls a tool would call it for ever if it also answered the result."""
    model.rule("look", tools(ToolCall("shell", {"command": "ls"})))
    model.rule("look", "seen", on="tool")
    first = (await ask(client, "look", tools=[SHELL])).choices[0].message
    assert first.tool_calls[0].function.name == "shell"
    assert await ask_text(client, "look", called("c1"), result("c1", "a b")) == "seen"


async def test_a_function_can_answer(model: ModelSimulator, client: openai.AsyncOpenAI) -> None:
    def count(prompt: Prompt) -> Reply:
        return Reply(text=f"{len(prompt.user_text)} characters for {prompt.model}")

    model.rule(".", count)
    assert await ask_text(client, "four") == "4 characters for sim-1"


async def test_the_user_text_is_what_was_said_since_the_model_spoke(client: openai.AsyncOpenAI) -> None:
    said = await ask_text(
        client, user("old"), assistant("x"), user("new"), {"role": "system", "content": "s"}, "er"
    )
    assert said == "You said: new\ner"


async def test_please_run_goes_through_the_tool(client: openai.AsyncOpenAI) -> None:
    asked = user("Hi.\nplease run: ls -l\nPlease run: date")
    message = (await ask(client, asked, tools=[SHELL])).choices[0].message
    commands = [json.loads(call.function.arguments) for call in message.tool_calls]
    assert commands == [{"command": "ls -l"}, {"command": "date"}]
    called_so = message.model_dump(exclude_none=True) | {"content": None}
    called_so.pop("annotations", None)
    results = [result(call.id, "r" * 150) for call in message.tool_calls]
    done = await ask_text(client, asked, called_so, *results, tools=[SHELL])
    assert done == "Done: " + ("r" * 150 + " | " + "r" * 150)[:200]


async def test_a_tool_that_is_not_offered_is_not_called(client: openai.AsyncOpenAI) -> None:
    assert await ask_text(client, "please run: ls") == "I have no tool named shell."
    assert await ask_text(client, "please call: clock", tools=[SHELL]) == "I have no tool named clock."


@pytest.mark.parametrize(
    "words,arguments",
    [('shell {"command": "ls"}', '{"command":"ls"}'), ("shell", "{}"), ("shell {no}", "{no}")],
)
async def test_please_call_makes_a_call_with_its_arguments(
    client: openai.AsyncOpenAI, words: str, arguments: str
) -> None:
    message = (await ask(client, f"please call: {words}", tools=[SHELL])).choices[0].message
    assert message.tool_calls[0].function.arguments == arguments


async def test_say_and_write_are_answered(client: openai.AsyncOpenAI) -> None:
    assert await ask_text(client, "say: two\nlines") == "two\nlines"
    written = await ask_text(client, "write 4097 characters")
    assert written is not None
    assert len(written) == 4097
    assert len(set(written.splitlines())) == len(written.splitlines())


async def test_slow_waits_until_released(model: ModelSimulator, client: openai.AsyncOpenAI) -> None:
    asking = asyncio.create_task(ask_text(client, "slow 600: worth it"))
    (held,) = await model.wait_requests(state="held")
    assert model.release(gate="other") == 0
    assert model.release(gate="slow") == 1
    assert await asking == "worth it"
    assert held.was_held
    assert held.state == "answered"


async def test_slow_ends_by_itself(client: openai.AsyncOpenAI) -> None:
    assert await ask_text(client, "slow 0.05: worth it") == "worth it"


async def test_an_undelivered_reply_comes_again(model: ModelSimulator, client: openai.AsyncOpenAI) -> None:
    model.enqueue("first", "second")
    for fault in (HttpError(500), Drop(), Drop("mid_stream"), StreamError()):
        model.fault(fault)
        with pytest.raises(openai.APIError):
            await stream(client, "go")
    assert [await ask_text(client, "go") for _ in range(3)] == ["first", "second", "You said: go"]


async def test_a_reply_with_its_own_fault_is_used_up(
    model: ModelSimulator, client: openai.AsyncOpenAI
) -> None:
    model.enqueue("never seen", fault=HttpError(500))
    model.enqueue("seen")
    with pytest.raises(openai.InternalServerError):
        await ask(client, "go")
    assert await ask_text(client, "go") == "seen"


async def test_a_refused_request_uses_nothing(model: ModelSimulator, client: openai.AsyncOpenAI) -> None:
    model.enqueue("kept")
    model.fault(HttpError(503))
    with pytest.raises(openai.BadRequestError):
        await ask(client, result("c1"))
    with pytest.raises(openai.InternalServerError):
        await ask(client, "go")
    assert await ask_text(client, "go") == "kept"


async def test_reset_forgets_all_and_releases(model: ModelSimulator, client: openai.AsyncOpenAI) -> None:
    model.rule("zebra", "rule")
    model.fault(HttpError(500), times=None, match="b")
    asking = asyncio.create_task(ask_text(client, "slow 600: done"))
    await model.wait_requests(state="held")
    model.reset()
    assert await asking == "done"
    assert await ask_text(client, "zebra b") == "You said: zebra b"
    assert [exchange.number for exchange in model.log.all()] == [2]
