"""How a conversation reads on OpenAI's wire: the messages a provider sees."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.conversation import NO_OUTCOME, wire_call_id
from core.model.openai import conversation_messages
from core.transcript import AssistantSaid, Note, ResultStatus, Said, Summary, ToolCalled, ToolResult, UserSaid

ID_A = "0190c6f2-7d0a-7cc3-98f4-3b1c5d2e6f70"
ID_B = "0190c6f2-7d0b-7cc3-98f4-3b1c5d2e6f71"


def messages(*said: Said) -> list[dict[str, Any]]:
    return conversation_messages(said)


def test_plain_turns_become_messages() -> None:
    assert messages(UserSaid("Hi"), AssistantSaid("Hello"), UserSaid("How are you?")) == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "How are you?"},
    ]


def test_model_text_and_calls_form_one_message_followed_by_results() -> None:
    got = messages(
        UserSaid("list"),
        AssistantSaid("Looking."),
        ToolCalled(ID_A, "shell", '{"command":"ls"}'),
        ToolCalled(ID_B, "time", "{}"),
        ToolResult(ID_B, ResultStatus.OK, "noon"),
        ToolResult(ID_A, ResultStatus.OK, "a.txt"),
        AssistantSaid("Done."),
    )
    assert [message["role"] for message in got] == ["user", "assistant", "tool", "tool", "assistant"]
    assert got[1]["content"] == "Looking."
    assert [call["function"] for call in got[1]["tool_calls"]] == [
        {"name": "shell", "arguments": '{"command":"ls"}'},
        {"name": "time", "arguments": "{}"},
    ]
    assert [(m["tool_call_id"], m["content"]) for m in got[2:4]] == [
        (got[1]["tool_calls"][0]["id"], "a.txt"),
        (got[1]["tool_calls"][1]["id"], "noon"),
    ]


def test_calls_without_words_have_no_content() -> None:
    got = messages(UserSaid("list"), AssistantSaid(""), ToolCalled(ID_A, "shell", "{}"))
    assert got[1]["content"] is None
    assert len(got[1]["tool_calls"]) == 1


def test_a_call_without_an_outcome_is_never_ok() -> None:
    got = messages(ToolCalled(ID_A, "shell", "{}"))
    assert got[-1] == {"role": "tool", "tool_call_id": wire_call_id(ID_A), "content": NO_OUTCOME}
    assert "may or may not have run" in NO_OUTCOME


@pytest.mark.parametrize("status", [status for status in ResultStatus if status is not ResultStatus.OK])
def test_a_result_that_is_not_ok_says_so_in_words(status: ResultStatus) -> None:
    word = {"error": "Error", "unknown": "Outcome unknown"}.get(status.value, status.value.capitalize())
    for text in ("why", ""):
        got = messages(ToolCalled(ID_A, "shell", "{}"), ToolResult(ID_A, status, text))
        assert got[-1]["content"].startswith(word)
        assert got[-1]["content"].endswith(text or ".")


def test_a_successful_result_is_sent_as_it_is() -> None:
    got = messages(ToolCalled(ID_A, "shell", "{}"), ToolResult(ID_A, ResultStatus.OK, "exit code: 0"))
    assert got[-1]["content"] == "exit code: 0"
    got = messages(ToolCalled(ID_A, "shell", "{}"), ToolResult(ID_A, ResultStatus.OK, ""))
    assert got[-1]["content"] == "(no output)"


def test_notes_and_summaries_are_distinct_from_people() -> None:
    got = messages(
        Summary("They met.", covers_to_seq=9), UserSaid("Go on"), AssistantSaid("."), Note("Hurry.")
    )
    assert {message["role"] for message in got} == {"user", "assistant"}
    assert got[0]["content"] == "[Summary of the conversation so far, made by the hub]\nThey met.\n\nGo on"
    assert got[-1]["content"] == "[Note from the hub, not from a person: Hurry.]"


def test_the_speakers_name_precedes_the_text() -> None:
    got = messages(UserSaid("Hi", sender="Ann\nBob"), AssistantSaid("?"), UserSaid("Hi"))
    assert [m["content"] for m in got] == ['"Ann Bob": Hi', "?", "Hi"]


def test_text_between_call_and_result_follows_the_result() -> None:
    got = messages(
        ToolCalled(ID_A, "shell", "{}"), UserSaid("wait"), ToolResult(ID_A, ResultStatus.CANCELLED, "stopped")
    )
    assert [message["role"] for message in got] == ["assistant", "tool", "user"]
    assert got[1]["content"].startswith("Cancelled")


def test_a_result_without_its_call_is_reported_in_words() -> None:
    (message,) = messages(ToolResult(ID_A, ResultStatus.DENIED, "no"))
    assert message["role"] == "user"
    assert "Denied" in message["content"]


def test_messages_without_words_are_not_sent_empty() -> None:
    got = messages(UserSaid(""), AssistantSaid(""), UserSaid("x"))
    assert [message["role"] for message in got] == ["user"]
    assert got[0]["content"].startswith("(a message without text)")


@pytest.mark.parametrize(
    "arguments", ['{"command": "l', "", "[1]", '"text"', "null", '{"x": NaN}', "[" * 100_000]
)
def test_arguments_no_server_could_parse_travel_inside_an_object(arguments: str) -> None:
    got = messages(ToolCalled(ID_A, "shell", arguments), ToolResult(ID_A, ResultStatus.ERROR, "not JSON"))
    sent = json.loads(got[0]["tool_calls"][0]["function"]["arguments"])
    assert sent == {"unreadable_arguments": arguments}


@pytest.mark.parametrize(
    "tool, sent", [("files.read", "files_read"), ("", "unnamed"), ("部署", "__"), ("a" * 99, "a" * 64)]
)
def test_a_tool_name_the_model_made_up_does_not_break_the_conversation(tool: str, sent: str) -> None:
    got = messages(ToolCalled(ID_A, tool, "{}"), ToolResult(ID_A, ResultStatus.ERROR, "no such tool"))
    assert got[0]["tool_calls"][0]["function"]["name"] == sent


@given(st.text())
def test_every_provider_accepts_our_call_ids(call_id: str) -> None:
    assert re.fullmatch("[a-zA-Z0-9]{9}", wire_call_id(call_id))
    assert wire_call_id(call_id) == wire_call_id(call_id)


def test_call_ids_differ() -> None:
    assert len({wire_call_id(f"{ID_A}{n}") for n in range(10_000)}) == 10_000


IDS = st.sampled_from([ID_A, ID_B, "c", "d"])
SAID = st.one_of(
    st.builds(UserSaid, st.text(max_size=5), st.sampled_from(["", "Ann"])),
    st.builds(AssistantSaid, st.text(max_size=5)),
    st.builds(ToolResult, IDS, st.sampled_from(ResultStatus), st.text(max_size=5)),
    st.builds(Summary, st.text(max_size=5), st.just(1)),
    st.builds(Note, st.text(max_size=5)),
)


@given(st.lists(SAID, max_size=12), st.permutations([ID_A, ID_B, "c", "d"]), st.lists(st.integers(0, 12)))
def test_any_journal_makes_a_conversation_that_providers_accept(
    said: list[Said], ids: list[str], places: list[int]
) -> None:
    for call_id, place in zip(ids, places, strict=False):
        said.insert(min(place, len(said)), ToolCalled(call_id, "shell", "{}"))
    open_calls: list[str] = []
    last = ""
    for message in conversation_messages(said):
        if message["role"] == "tool":
            assert open_calls.pop(0) == message["tool_call_id"]
        else:
            assert not open_calls, "a call without its result"
            assert message["role"] != last, "neighbours of one role"
            open_calls = [call["id"] for call in message.get("tool_calls", [])]
            assert message["content"] or open_calls
        last = message["role"]
    assert not open_calls
