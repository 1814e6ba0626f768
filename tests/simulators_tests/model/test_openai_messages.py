"""Messages OpenAI does not take: their order, their content, their calls.

Documents: [ref] OpenAI API reference, Chat, "Create chat completion"; [fn] guide "Function calling".
"""

from contextlib import suppress
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulators.model.openai_messages import Conversation
from tests.simulators.model.wire import ApiError
from tests.simulators_tests.model.talk import JsonObject, assistant, called, post, request, result, user

ORDER: list[tuple[str, list[JsonObject], str, str]] = [
    ("a result with nothing before it", [result("c1")], "messages.[0].role", "must be a response to a prece"),
    (
        "a result after a plain answer",
        [user("a"), assistant("b"), result("c1")],
        "messages.[2].role",
        "must be a response to a prece",
    ),
    (
        "a result after the user spoke again",
        [user("a"), called("c1"), result("c1"), user("b"), result("c1")],
        "messages.[4].role",
        "must be a response to a prece",
    ),
    (
        "a result of a call that was not made",
        [user("a"), called("c1"), result("c2")],
        "messages.[2].tool_call_id",
        "'tool_call_id' of 'c2' not found in 'tool_calls' of previous message",
    ),
    (
        "two results of one call",
        [user("a"), called("c1"), result("c1"), result("c1")],
        "messages.[3].tool_call_id",
        "Duplicate value for 'tool_call_id' of 'c1'",
    ),
    (
        "the user speaks before the result",
        [user("a"), called("c1"), user("b"), result("c1")],
        "messages.[2].role",
        "did not have response messages: c1",
    ),
    (
        "one of two results is missing",
        [user("a"), called("c1", "c2"), result("c2"), assistant("b")],
        "messages.[3].role",
        "did not have response messages: c1",
    ),
    (
        "the conversation ends with an open call",
        [user("a"), called("c1", "c2")],
        "messages.[1].role",
        "did not have response messages: c1, c2",
    ),
]


@pytest.mark.parametrize("what,messages,param,words", ORDER, ids=[case[0] for case in ORDER])
async def test_calls_and_results_out_of_order_are_refused(
    http: httpx.AsyncClient, what: str, messages: list[JsonObject], param: str, words: str
) -> None:
    """[fn]: every call is answered by its own result before anything else is said."""
    status, error = await post(http, request(*messages))
    assert (status, error["param"], error["code"]) == (400, param, None)
    assert words in error["message"]


async def test_results_may_come_in_any_order(http: httpx.AsyncClient) -> None:
    calls = [user("a"), called("c1", "c2"), result("c2"), result("c1")]
    assert await post(http, request(*calls)) == (200, {})
    assert await post(http, request(*calls, assistant("b"), user("c"))) == (200, {})
    assert await post(http, request(*calls, called("c3"), result("c3"))) == (200, {})


CONTENTS: list[tuple[str, Any, str, str | None, str]] = [
    (
        "a field unknown in a message",
        request({**assistant("a"), "reasoning_content": "b"}),
        "messages[0].reasoning_content",
        "unknown_parameter",
        "Unknown parameter",
    ),
    ("a role that is none", request({"role": "bot"}), "messages[0].role", "invalid_value", "'bot'"),
    (
        "an image from the system",
        request({"role": "system", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}),
        "messages[0].content[0].type",
        "invalid_value",
        "'image_url'",
    ),
    (
        "an image without an address",
        request({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x.png"}}]}),
        "messages[0].content[0].image_url.url",
        "invalid_value",
        "valid URL",
    ),
    ("no role", request({"content": "a"}), "messages[0].role", "missing_required_parameter", "role"),
    ("no content", request({"role": "user"}), "messages.[0].content", None, "expected a string, got null"),
    (
        "null from the model",
        request(user("a"), {"role": "assistant", "content": None}),
        "messages.[1].content",
        None,
        "got null",
    ),
    (
        "a number as content",
        request({"role": "user", "content": 3}),
        "messages[0].content",
        "invalid_type",
        "an integer instead",
    ),
    ("no parts", request({"role": "user", "content": []}), "messages[0].content", "empty_array", "empty"),
    (
        "a part without a type",
        request({"role": "user", "content": [{"text": "a"}]}),
        "messages[0].content[0].type",
        "missing_required_parameter",
        "type",
    ),
    (
        "no calls in a list of calls",
        request(user("a"), called()),
        "messages[1].tool_calls",
        "empty_array",
        "empty",
    ),
    (
        "arguments that are no text",
        request(user("a"), called("c", arguments=3)),
        "messages[1].tool_calls[0].function.arguments",
        "invalid_type",
        "a string",
    ),
    (
        "a call's name that is none",
        request(user("a"), called("c", name="a b"), result("c")),
        "messages[1].tool_calls[0].function.name",
        "invalid_value",
        "pattern",
    ),
    (
        "a name with a blank",
        request({**user("a"), "name": "a b"}),
        "messages[0].name",
        "invalid_value",
        "pattern",
    ),
    (
        "a result of no call",
        request({"role": "tool", "content": "a"}),
        "messages[0].tool_call_id",
        "missing_required_parameter",
        "tool_call_id",
    ),
]


@pytest.mark.parametrize("what,body,param,code,words", CONTENTS, ids=[case[0] for case in CONTENTS])
async def test_a_message_out_of_shape_is_refused(
    http: httpx.AsyncClient, what: str, body: Any, param: str, code: str | None, words: str
) -> None:
    status, error = await post(http, body)
    assert (status, error["type"], error["param"], error["code"]) == (
        400,
        "invalid_request_error",
        param,
        code,
    )
    assert words in error["message"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system", "bot"])},
    optional={
        "content": st.text(max_size=5) | st.none() | JSON,
        "tool_calls": st.lists(st.sampled_from(["c1", "c2"]), max_size=2).map(
            lambda ids: called(*ids)["tool_calls"]
        )
        | JSON,
        "tool_call_id": st.sampled_from(["c1", "c2"]) | JSON,
        "name": JSON,
    },
)


@given(messages=st.lists(MESSAGE | JSON, max_size=6) | JSON)
def test_no_messages_break_the_reader(messages: Any) -> None:
    """Every request is either taken or refused in the provider's form; nothing else is raised."""
    conversation = Conversation()
    with suppress(ApiError):
        conversation.read(messages)
        assert isinstance(messages, list)
        assert messages
