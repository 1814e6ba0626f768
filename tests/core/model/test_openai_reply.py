"""Replies assembled from what OpenAI-compatible servers really send, and from what nobody should."""

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ContextOverflow, ModelError, ModelRejected, ModelReplyInvalid, ModelUnavailable
from core.model.base import CallRequest, ModelReply
from core.model.openai_reply import ReplyAssembler
from core.model.provider import CALLS_LIMIT, REPLY_LIMIT_CHARS
from core.model.provider_data import SseParser
from core.transcript import Origin
from core.usage import Usage
from tests.core.model.support import recorded


def assembler() -> ReplyAssembler:
    return ReplyAssembler(name="main", model="m-1", host="api.example.org")


def assembled(*chunks: bytes) -> tuple[str, ModelReply]:
    """The text as it became visible, and the reply."""
    parser, reply = SseParser(), assembler()
    text = "".join(reply.add(data) for chunk in chunks for data in parser.feed(chunk))
    return text, reply.finish()


def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def of(*data: str) -> ModelReply:
    reply = assembler()
    for event in data:
        reply.add(event)
    return reply.finish()


def events(texts: Iterable[str], before: str, after: str, *, spaced: bool) -> Iterator[str]:
    """Chunks of a stream that differ in their text alone. `before`, `after`: more of its members."""
    for text in texts:
        choice = json.dumps(
            {"index": 0, "delta": {"content": text}, "finish_reason": None}, ensure_ascii=False
        )
        said = f'{{"object": "chat.completion.chunk", {before}"choices": [{choice}]{after}}}'
        yield said if spaced else said.replace('": ', '":')
    yield chunk({}, "stop")


MEMBERS = [
    "",
    '"content": "a"',
    '"id": "{\\"content\\": \\"b\\"}"',
    '"choices": [{"delta": {"content": "c"}}]',
]


@given(
    st.lists(st.text(st.sampled_from('ab"\\\n{}:, \u00e9\U0001f600')), min_size=1),
    st.sampled_from(MEMBERS),
    st.sampled_from(MEMBERS[:3]),
    st.booleans(),
)
def test_pieces_that_differ_in_their_text_alone_are_read_as_any_other(
    texts: list[str], before: str, after: str, spaced: bool
) -> None:
    joined = "".join(texts)
    before, after = before and f"{before}, ", after and f", {after}"
    assert of(*events(texts, before, after, spaced=spaced)).text == joined


def test_an_event_of_another_kind_among_pieces_of_text_is_not_taken_for_text() -> None:
    said = [*events(["Blue", " sky"], "", "", spaced=False)]
    error = said[0].replace('"choices"', '"error":{"message":"x"},"choices"')
    with pytest.raises(ModelError):
        of(said[0], error)
    assert of(said[0], said[1].replace('"index":0', '"index":1'), *said[1:]).text == "Blue sky"
    with pytest.raises(ModelReplyInvalid):
        of(*said[:2], said[1][:-1])


# --- recorded streams ------------------------------------------------------------------------------------


def test_a_reply_has_text_and_usage() -> None:
    text, reply = assembled(recorded("text.sse"))
    assert text == reply.text == "Grüße aus 部署 🚀"
    assert reply.usage == Usage(input_tokens=1200, output_tokens=9, cached_input_tokens=1024)
    assert reply.calls == ()
    assert reply.truncated is False
    assert reply.origin == Origin("openai", "m-1")


def test_parallel_calls_are_assembled_from_streamed_arguments() -> None:
    _, reply = assembled(recorded("tool_calls.sse"))
    assert reply.calls == (
        CallRequest("call_aaaa", "shell", '{"command":"echo \\"hi\\""}'),
        CallRequest("call_bbbb", "time", "{}"),
    )
    assert reply.text == ""


def test_a_call_truncated_at_the_output_limit_is_marked_and_left_as_it_is() -> None:
    _, reply = assembled(recorded("length_in_call.sse"))
    assert reply.truncated is True
    assert reply.text == "I will write the file."
    assert reply.calls == (CallRequest("call_cccc", "write_file", '{"path":"a.txt","cont'),)


def test_several_calls_on_one_index_are_distinguished_by_id() -> None:
    _, reply = assembled(recorded("same_index.sse"))
    assert [call.arguments for call in reply.calls] == [
        '{"timezone":"Asia/Tokyo"}',
        '{"timezone":"Europe/Oslo"}',
    ]
    assert json.loads(reply.origin.opaque) == {
        "host": "api.example.org",
        "extra_content": [{"google": {"thought_signature": "c2lnbmF0dXJl"}}, None],
    }


def test_reasoning_is_not_text_and_is_kept_for_the_provider() -> None:
    text, reply = assembled(recorded("reasoning.sse"))
    assert text == reply.text == ""
    assert json.loads(reply.origin.opaque)["reasoning_content"] == "The person wants the time."
    assert reply.usage.cached_input_tokens == 256


def test_calls_without_an_index_and_content_in_parts_are_read() -> None:
    text, reply = assembled(recorded("whole_calls.sse"))
    assert text == "Both at once."
    assert [call.provider_call_id for call in reply.calls] == ["D681PevKs", "x9Y8z7W6v"]


def test_a_finish_reason_ends_a_reply_even_without_done() -> None:
    assert assembled(recorded("no_done.sse"))[1].text == "Fine."


def test_an_error_inside_the_stream_is_raised() -> None:
    with pytest.raises(ModelUnavailable, match="502 Bad Gateway: Provider disconnected"):
        assembled(recorded("comments_then_error.sse"))


def test_a_whole_completion_is_read() -> None:
    reply = assembler()
    reply.add_object(json.loads(recorded("whole.json")))
    whole = reply.finish()
    assert whole.text == "Looking."
    assert [(call.provider_call_id, call.tool) for call in whole.calls] == [
        ("call_a", "shell"),
        ("call_b", "time"),
    ]
    assert whole.usage == Usage(10, 5)


# --- the end ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["text.sse", "tool_calls.sse", "same_index.sse", "no_done.sse"])
def test_a_reply_that_breaks_off_is_never_a_short_success(name: str) -> None:
    stream = recorded(name)
    end = stream.rindex(b'"finish_reason":"')
    for cut in range(0, end, 97):
        with pytest.raises(ModelReplyInvalid):
            assembled(stream[:cut])


def test_done_alone_ends_a_reply_but_not_an_empty_one_or_half_a_call() -> None:
    assert of(chunk({"content": "Hello"}), "[DONE]").truncated is False
    with pytest.raises(ModelReplyInvalid, match="ended early"):
        of("[DONE]")
    half = call({"name": "shell", "arguments": '{"comm'}, index=0, id="call_1")
    assert of(chunk(half), "[DONE]").truncated is True


@pytest.mark.parametrize("reason", ["error", "network_error"])
def test_a_provider_that_gives_up_is_unavailable(reason: str) -> None:
    with pytest.raises(ModelUnavailable):
        of(chunk({"content": "Hel"}, reason))


def test_a_filter_that_withholds_everything_is_a_refusal_and_one_that_cuts_makes_a_cut_reply() -> None:
    with pytest.raises(ModelRejected, match="content filter"):
        of(chunk({}, "content_filter"))
    assert of(chunk({"content": "So"}, "content_filter")).truncated is True


def test_announced_calls_that_do_not_come_are_invalid() -> None:
    with pytest.raises(ModelReplyInvalid):
        of(chunk({}, "tool_calls"))


def test_an_empty_answer_is_an_answer() -> None:
    assert of(chunk({"content": ""}, "stop")).text == ""


def test_a_refusal_of_the_model_is_its_text() -> None:
    assert of(chunk({"refusal": "I can't "}), chunk({"refusal": "help."}, "stop")).text == "I can't help."


# --- calls -----------------------------------------------------------------------------------------------


def call(function: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"function": function, **more}]}


def test_interleaved_indices_are_assembled_separately() -> None:
    reply = of(
        chunk(call({"name": "a", "arguments": ""}, index=0, id="1")),
        chunk(call({"name": "b", "arguments": ""}, index=1, id="2")),
        chunk(call({"arguments": '{"x"'}, index=0)),
        chunk(call({"arguments": "[2]"}, index=1)),
        chunk(call({"arguments": ":1}"}, index=0), "tool_calls"),
    )
    assert reply.calls == (CallRequest("1", "a", '{"x":1}'), CallRequest("2", "b", "[2]"))


def test_an_id_or_name_repeated_in_every_piece_is_still_one_call() -> None:
    piece = chunk(call({"name": "a", "arguments": "12"}, index=0, id="1"))
    assert of(piece, piece, chunk({}, "tool_calls")).calls == (CallRequest("1", "a", "1212"),)


def test_arguments_as_an_object_become_text() -> None:
    reply = of(chunk(call({"name": "a", "arguments": {"x": "部"}}, index=0), "tool_calls"))
    assert reply.calls == (CallRequest("call_0", "a", '{"x": "部"}'),)


def test_a_truncated_call_without_arguments_is_not_given_any() -> None:
    reply = of(chunk(call({"name": "delete_file", "arguments": ""}, index=0, id="1"), "length"))
    assert reply.calls[0].arguments == ""


def test_a_call_without_a_name_is_invalid() -> None:
    with pytest.raises(ModelReplyInvalid, match="without a name"):
        of(chunk(call({"arguments": "{}"}, index=0, id="1"), "tool_calls"))


def test_endless_calls_and_endless_text_are_refused() -> None:
    with pytest.raises(ModelReplyInvalid, match=f"more than {CALLS_LIMIT} calls"):
        of(*(chunk(call({"name": "a"}, index=n)) for n in range(CALLS_LIMIT + 1)))
    piece = chunk({"content": "x" * (REPLY_LIMIT_CHARS // 4)})
    with pytest.raises(ModelReplyInvalid, match="characters"):
        of(*[piece] * 5)


# --- characters ------------------------------------------------------------------------------------------


def test_an_emoji_split_by_the_provider_is_joined_again() -> None:
    reply = assembler()
    seen = [reply.add(chunk({"content": piece})) for piece in ("go \ud83d", "\ude80!")]
    reply.add(chunk({}, "stop"))
    assert seen == ["go ", "🚀!"]
    assert reply.finish().text == "go 🚀!"


def test_half_characters_and_nul_are_never_passed_on() -> None:
    reply = of(chunk({"content": "a\ud83d"}), chunk({"content": "\x00b\udc00c\ud800"}, "stop"))
    assert reply.text.encode().decode() == reply.text
    assert "\x00" not in reply.text
    assert [c for c in reply.text if c.isascii()] == ["a", "b", "c"]


# --- anything --------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["stop", "error", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "message",
                    "content",
                    "tool_calls",
                    "function",
                    "name",
                    "arguments",
                    "index",
                    "id",
                    "finish_reason",
                    "usage",
                    "prompt_tokens",
                    "error",
                    "code",
                    "type",
                    "extra_content",
                ]
            )
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
CHOICE = st.fixed_dictionaries(
    {},
    optional={
        "index": JSON,
        "finish_reason": JSON,
        "delta": st.fixed_dictionaries(
            {},
            optional={
                "content": JSON,
                "reasoning_content": JSON,
                "tool_calls": JSON
                | st.lists(
                    st.fixed_dictionaries(
                        {},
                        optional={
                            "index": JSON,
                            "id": JSON,
                            "extra_content": JSON,
                            "function": st.fixed_dictionaries({}, optional={"name": JSON, "arguments": JSON}),
                        },
                    ),
                    max_size=3,
                ),
            },
        ),
    },
)
CHUNK = JSON | st.fixed_dictionaries(
    {"choices": st.lists(CHOICE | JSON, max_size=2)}, optional={"usage": JSON, "error": JSON}
)


def check(data: list[str]) -> None:
    reply = assembler()
    try:
        shown = "".join(reply.add(event) for event in data)
        whole = reply.finish()
    except ModelError:
        return
    assert whole.text.startswith(shown)
    for text in (
        whole.text,
        whole.origin.opaque,
        *(c.tool + c.arguments + c.provider_call_id for c in whole.calls),
    ):
        text.encode()


@given(st.lists(CHUNK, max_size=5))
def test_any_json_gives_a_reply_or_a_model_error(chunks: list[Any]) -> None:
    check([json.dumps(value) for value in chunks])


@given(st.lists(st.text() | st.binary().map(lambda b: b.decode("latin-1")), max_size=5))
def test_any_text_gives_a_model_error(data: list[str]) -> None:
    check(data)


@pytest.mark.parametrize("data", ["[" * 100_000, '{"a":' * 100_000, "1" * 5000, "{} {}", "", "\ud800"])
def test_hostile_json_is_a_model_error(data: str) -> None:
    with pytest.raises(ModelReplyInvalid):
        of(data)


@given(st.sampled_from(["text.sse", "tool_calls.sse", "reasoning.sse", "whole_calls.sse"]), st.data())
def test_a_recorded_stream_cut_anywhere_gives_the_same_reply(name: str, data: st.DataObject) -> None:
    stream = recorded(name)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    places = [0, *cuts, len(stream)]
    chunks = [stream[a:b] for a, b in itertools.pairwise(places)]
    assert assembled(*chunks) == assembled(stream)


def test_overflow_inside_a_stream_is_reported_as_such() -> None:
    error = {
        "error": {"message": "too much", "type": "invalid_request_error", "code": "context_length_exceeded"}
    }
    with pytest.raises(ContextOverflow):
        of(json.dumps(error))
