"""The built-in model: what it understands, and that it never makes an outcome better than it was."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.base import ModelRequest, ToolSpec
from core.model.demo import DemoModel, answer
from core.safety.fencing import fence_tool_output
from core.transcript import AssistantSaid, Note, ResultStatus, Said, Summary, ToolCalled, ToolResult, UserSaid
from tests.core.model.support import collect

BASE = ("time", "memory_write", "memory_search", "shell")
EVERYTHING = (*BASE, "http", "write_file", "read_file", "ask_user", "routine_create")


def tools(*names: str) -> list[ToolSpec]:
    return [ToolSpec(name, name, {"type": "object", "properties": {}}) for name in names]


def request(*said: Said | str, offered: tuple[str, ...] = BASE) -> ModelRequest:
    conversation = [UserSaid(entry) if isinstance(entry, str) else entry for entry in said]
    return ModelRequest("Be kind.", conversation, tools(*offered))


def asked_for(text: str, *offered: str) -> tuple[str, dict[str, object]] | None:
    reply = answer(request(text, offered=offered or BASE))
    if not reply.calls:
        return None
    (call,) = reply.calls
    assert reply.text == ""
    return call.tool, json.loads(call.arguments)


def after(text: str, tool: str, status: ResultStatus, result: str) -> str:
    """Return what it says once the call it asked for has come to something."""
    first = answer(request(text, offered=EVERYTHING))
    (call,) = first.calls
    assert call.tool == tool
    said = [UserSaid(text), AssistantSaid("", first.origin), ToolCalled("c1", call.tool, call.arguments)]
    said.append(ToolResult("c1", status, result))
    reply = answer(request(*said, offered=EVERYTHING))
    assert reply.calls == ()
    # At a limit the model is asked for its last words without any tool.
    assert answer(request(*said, offered=())).text == reply.text
    return reply.text


@pytest.mark.parametrize(
    "text, tool, arguments",
    [
        ("what time is it", "time", {}),
        ("  What TIME is it now?? ", "time", {}),
        ("note: milk, eggs", "memory_write", {"text": "milk, eggs"}),
        ("Remember the key is under the mat", "memory_write", {"text": "the key is under the mat"}),
        ("what do you remember about the key?", "memory_search", {"query": "the key"}),
        ("What do you remember?", "memory_search", {"query": ""}),
        ("run: echo hi && ls", "shell", {"command": "echo hi && ls"}),
        ("RUN: printf 'a\nb'", "shell", {"command": "printf 'a\nb'"}),
        ("note: 部署 🚀", "memory_write", {"text": "部署 🚀"}),
    ],
)
def test_the_demo_understands_these_requests(text: str, tool: str, arguments: dict[str, str]) -> None:
    assert asked_for(text) == (tool, arguments)


@pytest.mark.parametrize(
    "text, tool, arguments",
    [
        ("fetch https://example.org/a", "http", {"method": "GET", "url": "https://example.org/a"}),
        ("write notes.txt: one\ntwo", "write_file", {"path": "notes.txt", "content": "one\ntwo"}),
        ("read notes.txt", "read_file", {"path": "notes.txt"}),
        ("ask: Which one? | a |b c| ", "ask_user", {"question": "Which one?", "choices": ["a", "b c"]}),
        (
            "every weekday at 9: what is on today?",
            "routine_create",
            {
                "name": "what is on today?",
                "prompt": "what is on today?",
                "kind": "cron",
                "schedule": "0 9 * * 1-5",
            },
        ),
        (
            "Every Sunday at 18:30: sum up",
            "routine_create",
            {"name": "sum up", "prompt": "sum up", "kind": "cron", "schedule": "30 18 * * 0"},
        ),
        (
            "when someone says deploy (\\w+): look into it",
            "routine_create",
            {"name": "look into it", "prompt": "look into it", "kind": "event", "pattern": "deploy (\\w+)"},
        ),
        (
            "routine tidy: look around",
            "routine_create",
            {"name": "tidy", "prompt": "look around", "kind": "manual"},
        ),
        ("Ask:\nwhy?\n", "ask_user", {"question": "why?"}),
    ],
)
def test_the_demo_understands_these_requests_only_with_their_tool(
    text: str, tool: str, arguments: dict[str, object]
) -> None:
    assert asked_for(text, *BASE, tool) == (tool, arguments)
    reply = answer(request(text))
    assert reply.calls == ()
    assert reply.text.startswith(f"You said: {text}")


@pytest.mark.parametrize(
    "text",
    ["hello", "what time is it in the story?", "remembered", "run", "note:", "please run: ls", "", "🚀"],
)
def test_the_demo_repeats_other_text_with_a_hint(text: str) -> None:
    reply = answer(request(text))
    assert reply.calls == ()
    assert text in reply.text
    assert "hubbub init" in reply.text


@pytest.mark.parametrize(
    "text, tool", [("what time is it", "time"), ("run: ls", "shell"), ("note: x", "memory_write")]
)
def test_a_tool_that_is_not_offered_is_named(text: str, tool: str) -> None:
    reply = answer(request(text, offered=()))
    assert reply.calls == ()
    assert reply.text == f"This needs the tool `{tool}`, which is not available to me here."


@pytest.mark.parametrize(
    "text, tool, result, answered",
    [
        ("what time is it", "time", "Friday, 2025-11-21 (UTC)", "It is Friday, 2025-11-21 (UTC)."),
        ("note: milk", "memory_write", "Noted: milk", "Noted: milk"),
        (
            "what do you remember about milk",
            "memory_search",
            "- 2025-11-21: buy milk",
            "This is what I remember:\n\n- 2025-11-21: buy milk",
        ),
        ("what do you remember about x", "memory_search", "No note contains 'x'.", "No note contains 'x'."),
        (
            "run: ls",
            "shell",
            "exit code: 0\na.txt\n",
            "I ran `ls`. Result:\n\n```\nexit code: 0\na.txt\n```",
        ),
        (
            "fetch https://example.org/",
            "http",
            "200 OK\nhello",
            "I fetched `https://example.org/`. Response:\n\n```\n200 OK\nhello\n```",
        ),
        ("write a.txt: x", "write_file", "Wrote 1 byte to a.txt (new).", "Wrote 1 byte to a.txt (new)."),
        ("read a.txt", "read_file", "x", "I read `a.txt`:\n\n```\nx\n```"),
        ("ask: Which? | a | b", "ask_user", "Ann chose: b", "Ann chose: b"),
        ("routine tidy: look", "routine_create", "Made: tidy, manual, on", "Made: tidy, manual, on"),
        ("run: echo `a`", "shell", "```", "I ran `` echo `a` ``. Result:\n\n````\n```\n````"),
    ],
)
def test_results_are_reported(text: str, tool: str, result: str, answered: str) -> None:
    assert after(text, tool, ResultStatus.OK, result) == answered
    assert after(text, tool, ResultStatus.OK, fence_tool_output(tool, result)) == answered


def test_an_edit_is_stated_above_the_result() -> None:
    note = "[owner changed the arguments before agreeing]"
    told = after("run: ls", "shell", ResultStatus.OK, f"{note}\n{fence_tool_output('shell', 'exit code: 0')}")
    assert told == f"I ran `ls`. Result:\n\n```\n{note}\nexit code: 0\n```"


@pytest.mark.parametrize(
    "status, words",
    [
        (ResultStatus.ERROR, "I tried `ls`, and it failed: WHY"),
        (ResultStatus.DENIED, "I did not run `ls`, because it was denied. WHY"),
        (ResultStatus.CANCELLED, "I did not finish `ls`, because it was cancelled. WHY"),
        (ResultStatus.SKIPPED, "I did not run `ls`; it was skipped. WHY"),
        (ResultStatus.UNKNOWN, "I do not know whether `ls` took effect. WHY"),
    ],
)
def test_the_demo_reports_failures(status: ResultStatus, words: str) -> None:
    assert after("run: ls", "shell", status, "WHY") == words


def test_a_call_without_an_outcome_is_reported_as_such() -> None:
    reply = answer(request("run: ls", AssistantSaid(""), ToolCalled("c", "shell", '{"command":"ls"}')))
    assert reply.text == "No outcome of `ls` was recorded; I do not know whether it ran."


def test_several_messages_become_several_calls_and_one_answer() -> None:
    first = answer(request("note: a", "hello", "what time is it"))
    assert [(call.provider_call_id, call.tool) for call in first.calls] == [
        ("demo-1", "memory_write"),
        ("demo-2", "time"),
    ]
    second = answer(
        request(
            "note: a",
            "hello",
            "what time is it",
            AssistantSaid(""),
            ToolCalled("1", "memory_write", '{"text":"a"}'),
            ToolCalled("2", "time", "{}"),
            ToolResult("1", ResultStatus.OK, "Noted: a"),
            ToolResult("2", ResultStatus.DENIED, "not now"),
        )
    )
    assert second.calls == ()
    assert [line for line in second.text.split("\n\n")[:3]] == [
        "Noted: a",
        "I did not run the tool `time`, because it was denied. not now",
        "You said: hello",
    ]


def test_the_demo_reports_unavailable_tools_with_its_results() -> None:
    conversation = ["note: a", "run: ls"]
    first = answer(request(*conversation, offered=("memory_write",)))
    assert [call.tool for call in first.calls] == ["memory_write"]
    done = [
        AssistantSaid(""),
        ToolCalled("1", "memory_write", '{"text":"a"}'),
        ToolResult("1", ResultStatus.OK, "Noted: a"),
    ]
    text = answer(request(*conversation, *done, offered=("memory_write",))).text
    assert text == "Noted: a\n\nThis needs the tool `shell`, which is not available to me here."


def test_an_old_request_is_not_repeated() -> None:
    reply = answer(request("run: rm x", AssistantSaid("I would not."), Note("Be brief."), "hello"))
    assert reply.calls == ()
    assert "rm x" not in reply.text


def test_text_after_a_result_is_read_with_it() -> None:
    said = [UserSaid("run: ls"), AssistantSaid(""), ToolCalled("1", "shell", '{"command":"ls"}')]
    reply = answer(request(*said, ToolResult("1", ResultStatus.UNKNOWN, "killed"), "note: b"))
    assert [call.tool for call in reply.calls] == ["memory_write"]
    assert "killed" in reply.text


def test_a_message_after_a_stopped_call_is_answered_by_itself() -> None:
    said = [UserSaid("run: ls"), AssistantSaid(""), ToolCalled("1", "shell", '{"command":"ls"}')]
    stopped = [*said, ToolResult("1", ResultStatus.CANCELLED, "stopped")]
    assert answer(request(*stopped, "hello")).text == answer(request("hello")).text
    assert answer(request(*stopped, "note: b")).text == ""


def test_only_the_calls_made_for_the_last_request_are_reported() -> None:
    old = ToolCalled("0", "shell", '{"command":"old"}')
    new = [AssistantSaid(""), ToolCalled("1", "time", "{}"), ToolResult("1", ResultStatus.OK, "noon")]
    assert answer(request(old, "what time is it", *new)).text == "It is noon."


def test_a_conversation_without_a_question_gets_an_introduction() -> None:
    assert "demo model" in answer(request()).text
    assert "demo model" in answer(request(Summary("x", 1), Note("y"))).text


def test_the_introduction_names_only_what_can_be_asked_for() -> None:
    everything = (*BASE, "http", "write_file", "read_file")
    told = answer(request(offered=everything)).text
    phrases = [
        "what time is it",
        "note: …",
        "remember about …",
        "run: …",
        "fetch https",
        "write NAME",
        "read NAME",
    ]
    assert [phrase for phrase in phrases if phrase in told] == phrases
    assert "“run: …” and “read NAME”." in answer(request(offered=("shell", "read_file"))).text
    assert "I understand “what time is it”." in answer(request(offered=("time",))).text
    assert "I understand" not in answer(request(offered=())).text


async def test_the_text_of_the_demo_arrives_in_a_few_pieces() -> None:
    deltas, reply = await collect(DemoModel(), request("hello"))
    assert 2 <= len(deltas) <= 10
    assert "".join(deltas) == reply.text
    assert DemoModel("mine").name == "mine"


def test_long_texts_are_repeated_in_part() -> None:
    assert len(answer(request("x" * 100_000)).text) < 3000
    assert len(after("run: " + "y" * 100_000, "shell", ResultStatus.OK, "z" * 100_000)) < 5000


SAID = st.one_of(
    st.builds(
        UserSaid, st.sampled_from(["run: ls", "note: x", "hello", "what time is it"]) | st.text(max_size=5)
    ),
    st.builds(AssistantSaid, st.text(max_size=5)),
    st.builds(ToolCalled, st.text(max_size=2), st.sampled_from(BASE), st.text(max_size=5)),
    st.builds(ToolResult, st.text(max_size=2), st.sampled_from(ResultStatus), st.text(max_size=5)),
    st.builds(Note, st.text(max_size=5)),
)


@given(st.lists(SAID, max_size=10), st.sets(st.sampled_from(BASE)))
def test_any_conversation_gets_the_same_answer_twice_and_only_offered_calls(
    said: list[Said], offered: set[str]
) -> None:
    conversation = request(*said, offered=tuple(offered))
    reply = answer(conversation)
    assert reply == answer(conversation)
    assert reply.text or reply.calls
    assert {call.tool for call in reply.calls} <= offered
