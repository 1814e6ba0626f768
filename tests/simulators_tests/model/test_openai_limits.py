"""OpenAI's limits: the request at the limit is taken, one more is refused.

Documents: [ref] OpenAI API reference, Chat, "Create chat completion"; [err] guide "Error codes". A limit
that no document names comes from error bodies the API returned; docs/unverified/model.md lists it.
"""

import httpx
import pytest

from tests.simulators.model import ModelSimulator
from tests.simulators_tests.model.talk import JsonObject, called, function, post, request, result, user

LIMITS: list[tuple[str, JsonObject, JsonObject, str, str]] = [
    # what and where from, at the limit, over it, param, code
    (
        "128 tools [ref]",
        request(tools=[function(f"t{i}") for i in range(128)]),
        request(tools=[function(f"t{i}") for i in range(129)]),
        "tools",
        "array_above_max_length",
    ),
    (
        "1 tool [ref]",
        request(tools=[function()]),
        request(tools=[]),
        "tools",
        "empty_array",
    ),
    (
        "64 characters of a tool's name [ref]",
        request(tools=[function("n" * 64)]),
        request(tools=[function("n" * 65)]),
        "tools[0].function.name",
        "string_above_max_length",
    ),
    (
        "1 character of a tool's name [ref]",
        request(tools=[function("n")]),
        request(tools=[function("")]),
        "tools[0].function.name",
        "empty_string",
    ),
    (
        "a tool's name of letters, digits, _ and - [ref]",
        request(tools=[function("a-Z_9")]),
        request(tools=[function("memory.write")]),
        "tools[0].function.name",
        "invalid_value",
    ),
    (
        "1024 characters of a tool's description (error bodies)",
        request(tools=[function(description="d" * 1024)]),
        request(tools=[function(description="d" * 1025)]),
        "tools[0].function.description",
        "string_above_max_length",
    ),
    (
        "1 message [ref]",
        request(user("a")),
        {"model": "sim-1", "messages": []},
        "messages",
        "empty_array",
    ),
    (
        "128 tool calls in a message (error bodies)",
        request(user("a"), called(*map(str, range(128))), *[result(str(i)) for i in range(128)]),
        request(user("a"), called(*map(str, range(129))), *[result(str(i)) for i in range(129)]),
        "messages[1].tool_calls",
        "array_above_max_length",
    ),
    (
        "40 characters of a call's id (error bodies)",
        request(user("a"), called("c" * 40), result("c" * 40)),
        request(user("a"), called("c" * 41), result("c" * 41)),
        "messages[1].tool_calls[0].id",
        "string_above_max_length",
    ),
    (
        "64 characters of a participant's name (error bodies)",
        request({**user("a"), "name": "n" * 64}),
        request({**user("a"), "name": "n" * 65}),
        "messages[0].name",
        "string_above_max_length",
    ),
    (
        "4 stop sequences [ref]",
        request(stop=["a", "b", "c", "d"]),
        request(stop=["a", "b", "c", "d", "e"]),
        "stop",
        "array_above_max_length",
    ),
    (
        "temperature up to 2 [ref]",
        request(temperature=2),
        request(temperature=2.01),
        "temperature",
        "decimal_above_max_value",
    ),
    (
        "temperature from 0 [ref]",
        request(temperature=0),
        request(temperature=-0.01),
        "temperature",
        "decimal_below_min_value",
    ),
    ("top_p up to 1 [ref]", request(top_p=1), request(top_p=1.1), "top_p", "decimal_above_max_value"),
    (
        "1 completion token [ref]",
        request(max_completion_tokens=1),
        request(max_completion_tokens=0),
        "max_completion_tokens",
        "integer_below_min_value",
    ),
    (
        "the model's completion tokens (error bodies)",
        request(max_completion_tokens=16_384),
        request(max_completion_tokens=16_385),
        "max_completion_tokens",
        "invalid_value",
    ),
    (
        "16 pairs of metadata [ref]",
        request(metadata={str(i): "v" for i in range(16)}),
        request(metadata={str(i): "v" for i in range(17)}),
        "metadata",
        "object_above_max_properties",
    ),
]


@pytest.mark.parametrize("what,taken,refused,param,code", LIMITS, ids=[case[0] for case in LIMITS])
async def test_a_value_at_its_limit_is_accepted_and_one_more_is_refused(
    http: httpx.AsyncClient, what: str, taken: JsonObject, refused: JsonObject, param: str, code: str
) -> None:
    assert await post(http, taken) == (200, {})
    status, error = await post(http, refused)
    assert (status, error["type"], error["param"], error["code"]) == (
        400,
        "invalid_request_error",
        param,
        code,
    )


async def test_the_context_limit_counts_messages_and_tools(
    model: ModelSimulator, http: httpx.AsyncClient
) -> None:
    """[err] context_length_exceeded. A message counts 4 tokens and one per four characters."""
    model.provider.context_tokens = 104
    assert await post(http, request(user("x" * 400))) == (200, {})
    status, error = await post(http, request(user("x" * 401)))
    assert (status, error["param"], error["code"]) == (400, "messages", "context_length_exceeded")
    assert "maximum context length is 104 tokens" in error["message"]
    assert "your messages resulted in 105 tokens" in error["message"]
    _, error = await post(http, request(user("x" * 400), tools=[function()]))
    assert "in the functions" in error["message"]
    assert await post(http, request(user("x" * 360), max_completion_tokens=10)) == (200, {})
    _, error = await post(http, request(user("x" * 360), max_completion_tokens=11))
    assert "(94 in the messages, 11 in the completion)" in error["message"]
