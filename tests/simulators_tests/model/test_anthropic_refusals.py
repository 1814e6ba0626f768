"""Requests Anthropic refuses, with its words; where there is a limit, the request at the limit is taken.

Documents: [ref] Messages API reference; [tools] docs, "Tool use"; [think] docs, "Extended thinking"; [err]
docs, "Errors"; [ver] docs, "Versions". Words and limits that no document names come from error bodies the
API returned; docs/unverified/model.md lists them.
"""

import json
from contextlib import suppress
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulators.model import ModelSimulator
from tests.simulators.model.anthropic_messages import MESSAGES_LIMIT, Conversation
from tests.simulators.model.anthropic_request import BODY_LIMIT_BYTES
from tests.simulators.model.wire import ApiError
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


async def post(http: httpx.AsyncClient, body: Any) -> tuple[int, JsonObject]:
    """The status of a plain request and the error in its body, {} if there is none."""
    answer = await http.post(PATH, json=body, headers=HEADERS)
    return answer.status_code, answer.json().get("error", {})


def tool(name: str = "shell", schema: Any = None) -> JsonObject:
    return {"name": name, "input_schema": schema or {"type": "object"}}


def thinks(budget: int, max_tokens: int = 2000, **options: Any) -> JsonObject:
    return request(max_tokens=max_tokens, thinking={"type": "enabled", "budget_tokens": budget}, **options)


LIMITS: list[tuple[str, JsonObject, JsonObject, str]] = [
    (
        "128 characters of a tool's name (error bodies)",
        request(tools=[tool("n" * 128)]),
        request(tools=[tool("n" * 129)]),
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    (
        "letters, digits, _ and - in a tool's name [tools]",
        request(tools=[tool("a-Z_9")]),
        request(tools=[tool("memory.write")]),
        "tools.0.custom.name: String should match pattern",
    ),
    (
        "1 token [ref]",
        request(max_tokens=1),
        request(max_tokens=0),
        "max_tokens: must be greater than or equal",
    ),
    (
        "the model's output tokens [ref]",
        request(max_tokens=16_384),
        request(max_tokens=16_385),
        "max_tokens: 16385 > 16384, which is the maximum allowed number of output tokens for sim-1",
    ),
    (
        "temperature up to 1 [ref]",
        request(temperature=1),
        request(temperature=1.01),
        "temperature: range: 0..1",
    ),
    ("temperature from 0 [ref]", request(temperature=0), request(temperature=-1), "temperature: range: 0..1"),
    ("1024 tokens to think [think]", thinks(1024), thinks(1023), "greater than or equal to 1024"),
    (
        "fewer tokens to think than to speak [think]",
        thinks(1999),
        thinks(2000),
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
]


@pytest.mark.parametrize("what,taken,refused,words", LIMITS, ids=[case[0] for case in LIMITS])
async def test_a_value_at_its_limit_is_accepted_and_one_more_is_refused(
    http: httpx.AsyncClient, what: str, taken: JsonObject, refused: JsonObject, words: str
) -> None:
    assert await post(http, taken) == (200, {})
    status, error = await post(http, refused)
    assert (status, error["type"]) == (400, "invalid_request_error")
    assert words in error["message"]


async def test_the_context_is_limited(model: ModelSimulator, http: httpx.AsyncClient) -> None:
    """[err] A message counts 4 tokens and one per four characters; the answer's room counts too."""
    model.provider.context_tokens = 104
    assert await post(http, request(user("x" * 396), max_tokens=1)) == (200, {})
    _, error = await post(http, request(user("x" * 401), max_tokens=1))
    assert error["message"] == "prompt is too long: 105 tokens > 104 maximum"
    _, error = await post(http, request(user("x" * 396), max_tokens=2))
    assert "`max_tokens` exceed context limit: 103 + 2 > 104" in error["message"]
    _, error = await post(http, request(user("x" * 396), max_tokens=1, system="more"))
    assert "104 + 1 > 104" in error["message"]


async def test_the_size_of_a_request_is_limited(http: httpx.AsyncClient) -> None:
    """[err]: 32 MB."""
    body = json.dumps(request()).encode()
    for extra, status in ((0, 200), (1, 413)):
        padded = body + b" " * (BODY_LIMIT_BYTES - len(body) + extra)
        answer = await http.post(PATH, content=padded, headers=HEADERS)
        assert answer.status_code == status
    assert answer.json()["error"]["type"] == "request_too_large"


def test_the_number_of_messages_is_limited() -> None:
    """[ref]: 100,000."""
    messages = [user("a")] * MESSAGES_LIMIT
    Conversation(thinking=False).read(messages)
    with pytest.raises(ApiError, match="at most 100000 items"):
        Conversation(thinking=False).read([*messages, user("a")])


MESSAGES: list[tuple[str, list[JsonObject], str]] = [
    (
        "a call without its result",
        [user("a"), assistant(use("c1")), user("b")],
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: c1.",
    ),
    (
        "one of two results is missing",
        [user("a"), assistant(use("c1"), use("c2")), user(result("c2"))],
        "immediately after: c1.",
    ),
    ("a call at the end", [user("a"), assistant(use("c1"))], "immediately after: c1."),
    (
        "a result behind other words",
        [user("a"), assistant(use("c1")), user(text("b"), result("c1"))],
        "messages.1: `tool_use` ids were found without `tool_result`",
    ),
    (
        "a result in the next but one message",
        [user("a"), assistant(use("c1")), user("b"), user(result("c1"))],
        "messages.1: `tool_use` ids were found without `tool_result`",
    ),
    (
        "a result of no call",
        [user("a"), assistant("b"), user(result("c1"))],
        "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: c1.",
    ),
    (
        "two results of one call",
        [user("a"), assistant(use("c1")), user(result("c1"), result("c1"))],
        "messages.2.content.1: each tool_use must have a single result.",
    ),
    (
        "two calls of one id",
        [user("a"), assistant(use("c1")), user(result("c1")), assistant(use("c1")), user(result("c1"))],
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    (
        "an id with a dot",
        [user("a"), assistant(use("c.1")), user(result("c.1"))],
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    ("the model speaks last", [user("a"), assistant("b")], "does not support assistant message prefill"),
    ("the model speaks first", [assistant("b"), user("a")], 'first message must use the "user" role'),
    ("the system speaks first", [{"role": "system", "content": "a"}, user("b")], 'Unexpected role "system"'),
    ("a role that is none", [{"role": "tool", "content": "a"}], "messages.0.role: Input should be"),
    ("no words of the user", [user("")], "messages.0: user messages must have non-empty content"),
    (
        "no words of the model",
        [user("a"), assistant(""), user("b")],
        "messages.1: all messages must have non",
    ),
    ("an empty text", [user(text(""))], "messages: text content blocks must be non-empty"),
    ("a blank text", [user(text(" \n"))], "messages: text content blocks must contain non-whitespace text"),
    ("a result from the model", [user("a"), assistant(result("c1")), user("b")], "Input tag 'tool_result'"),
    ("a call without input", [user("a"), assistant(use("c1") | {"input": "{}"})], "valid dictionary"),
    ("an unknown field", [user("a") | {"name": "b"}], "messages.0.name: Extra inputs are not permitted"),
]


@pytest.mark.parametrize("what,messages,words", MESSAGES, ids=[case[0] for case in MESSAGES])
async def test_messages_the_api_does_not_accept_are_refused(
    http: httpx.AsyncClient, what: str, messages: list[JsonObject], words: str
) -> None:
    status, error = await post(http, request(*messages))
    assert (status, error["type"]) == (400, "invalid_request_error")
    assert words in error["message"]


async def test_messages_the_api_accepts_are_accepted(http: httpx.AsyncClient) -> None:
    calls = [user("a"), assistant(text("b"), use("c1"), use("c2"))]
    for messages in (
        [user("a"), user("b")],
        [user("a"), {"role": "system", "content": "c"}, user("b")],
        [*calls, user(result("c2"), result("c1"))],
        [*calls, user(result("c2", None), result("c1", [text("d")]), text("and?"))],
        [*calls, user(result("c1"), result("c2")), assistant(use("c3")), user(result("c3"))],
    ):
        assert await post(http, request(*messages)) == (200, {}), messages


OTHERS: list[tuple[str, Any, str]] = [
    ("no model", {"max_tokens": 1, "messages": [user("a")]}, "model: Field required"),
    ("no max_tokens", {"model": "sim-1", "messages": [user("a")]}, "max_tokens: Field required"),
    ("no messages", {"model": "sim-1", "max_tokens": 1}, "messages: Field required"),
    ("an empty conversation", {**request(), "messages": []}, "messages: at least one message is required"),
    ("messages of text", {**request(), "messages": "a"}, "messages: Input should be a valid list"),
    ("an unknown field", request(stream_options={}), "stream_options: Extra inputs are not permitted"),
    ("half a token", request(max_tokens=1.5), "max_tokens: Input should be a valid integer"),
    ("no schema", request(tools=[{"name": "a"}]), "tools.0.custom.input_schema: Field required"),
    (
        "a schema of text",
        request(tools=[tool("a", {"type": "string"})]),
        "input_schema.type: Input should be 'o",
    ),
    (
        "a type that is none",
        request(tools=[tool("a", {"type": "object", "properties": {"b": {"type": "str"}}})]),
        "It must match JSON Schema draft 2020-12",
    ),
    ("two tools of one name", request(tools=[tool(), tool()]), "tools: Tool names must be unique."),
    (
        "a choice without tools",
        request(tool_choice={"type": "auto"}),
        "only be specified while providing `tools`",
    ),
    (
        "a choice of no tool",
        request(tools=[SHELL], tool_choice={"type": "tool", "name": "other"}),
        "Tool 'other' not found",
    ),
    (
        "thought before a forced call [think]",
        thinks(1024, tools=[SHELL], tool_choice={"type": "any"}),
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    (
        "a cool thought [think]",
        thinks(1024, temperature=0.5),
        "`temperature` may only be set to 1 when thinking",
    ),
    (
        "a system prompt of nothing",
        request(system=[text("")]),
        "system: text content blocks must be non-empty",
    ),
]


@pytest.mark.parametrize("what,body,words", OTHERS, ids=[case[0] for case in OTHERS])
async def test_an_invalid_request_is_refused(
    http: httpx.AsyncClient, what: str, body: Any, words: str
) -> None:
    status, error = await post(http, body)
    assert (status, error["type"]) == (400, "invalid_request_error")
    assert words in error["message"]


@pytest.mark.parametrize(
    "headers,status,kind,words",
    [
        ({"x-api-key": "", "Authorization": ""}, 401, "authentication_error", "x-api-key header is required"),
        ({"x-api-key": "other"}, 401, "authentication_error", "invalid x-api-key"),
        ({"anthropic-version": "2020-01-01"}, 400, "invalid_request_error", "is not a valid version"),
    ],
)
async def test_wrong_headers_are_refused(
    http: httpx.AsyncClient, headers: dict[str, str], status: int, kind: str, words: str
) -> None:
    """[err]: the body names the request as the header does."""
    answer = await http.post(PATH, json=request(), headers=HEADERS | headers)
    assert (answer.status_code, answer.json()["type"]) == (status, "error")
    assert answer.json()["error"]["type"] == kind
    assert words in answer.json()["error"]["message"]
    assert answer.json()["request_id"] == answer.headers["request-id"]


async def test_sampling_is_gone_in_the_newer_version(http: httpx.AsyncClient) -> None:
    """[ver]: since 2026-10-21 `temperature`, `top_p` and `top_k` are refused, even at their defaults."""
    newer = HEADERS | {"anthropic-version": "2026-10-21"}
    for field in ("temperature", "top_p", "top_k"):
        assert await post(http, request(**{field: 1})) == (200, {})
        answer = await http.post(PATH, json=request(**{field: 1}), headers=newer)
        assert answer.status_code == 400
        assert answer.json()["error"]["message"] == f"{field}: Extra inputs are not permitted"
    assert (await http.post(PATH, json=request(), headers=newer)).status_code == 200


async def test_the_key_may_be_a_bearer_token(http: httpx.AsyncClient) -> None:
    version = {"anthropic-version": "2026-10-21"}
    for token, status in (("test-key", 200), ("other", 401)):
        bearer = version | {"Authorization": f"Bearer {token}"}
        assert (await http.post(PATH, json=request(), headers=bearer)).status_code == status
    both = HEADERS | {"Authorization": "Bearer other"}
    assert (await http.post(PATH, json=request(), headers=both)).status_code == 200


async def test_a_request_without_a_version_is_refused(http: httpx.AsyncClient) -> None:
    answer = await http.post(PATH, json=request(), headers={"x-api-key": "test-key"})
    assert answer.json()["error"]["message"] == "anthropic-version: header is required"


async def test_an_unknown_model_is_refused(http: httpx.AsyncClient) -> None:
    assert await post(http, request(model="claude-none")) == (
        404,
        {"type": "not_found_error", "message": "model: claude-none"},
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
BLOCK = st.sampled_from([text("a"), use("c1"), use("c2"), result("c1"), result("c2")]) | JSON
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]), "content": st.lists(BLOCK, max_size=3) | JSON}
)


@given(messages=st.lists(MESSAGE | JSON, max_size=6) | JSON, thinking=st.booleans())
def test_no_messages_break_the_reader(messages: Any, thinking: bool) -> None:
    """Every request is either taken or refused in the provider's form; nothing else is raised."""
    conversation = Conversation(thinking)
    with suppress(ApiError):
        conversation.read(messages)
        assert isinstance(messages, list)
        assert messages[-1]["role"] == "user"
