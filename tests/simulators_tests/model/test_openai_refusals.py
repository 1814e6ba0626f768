"""Requests OpenAI refuses, with its words; where there is a limit, the request at the limit is taken.

Documents: [ref] OpenAI API reference, Chat, "Create chat completion"; [fn] guide "Function calling";
[so] guide "Structured Outputs", supported schemas; [err] guide "Error codes". A limit that no document
names comes from error bodies the API returned, and is listed in docs/unverified/model.md.
"""

from typing import Any

import httpx
import openai
import pytest

from tests.simulators.model import ModelSimulator
from tests.simulators_tests.model.talk import JsonObject, ask, function, post, request, user


def with_schema(schema: Any, **parts: Any) -> JsonObject:
    return request(tools=[function(parameters=schema, **parts)])


def of_strings(*names: str, **parts: Any) -> JsonObject:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, **parts}


SCHEMAS: list[tuple[str, JsonObject, str]] = [
    ("not an object", with_schema({"type": "string"}), "got 'type: \"string\"'"),
    ("no type", with_schema({"properties": {}}), "got 'type: \"None\"'"),
    ("no properties", with_schema({"type": "object"}), "In context=(), object schema missing properties."),
    (
        "an array of nothing",
        with_schema({"type": "object", "properties": {"a": {"type": "array"}}}),
        "In context=('properties', 'a'), array schema missing items.",
    ),
    (
        "a type that does not exist",
        with_schema({"type": "object", "properties": {"a": {"type": "str"}}}),
        "'str' is not valid under any of the given schemas",
    ),
    (
        "a property that is not a schema",
        with_schema({"type": "object", "properties": {"a": []}}),
        "[] is not of type 'object', 'boolean'",
    ),
    (
        "strict, open to more properties [so]",
        with_schema(of_strings("a", required=["a"]), strict=True),
        "'additionalProperties' is required to be supplied and to be false",
    ),
    (
        "strict, with an optional property [so]",
        with_schema(of_strings("a", "b", required=["a"], additionalProperties=False), strict=True),
        "Missing 'b'",
    ),
]


@pytest.mark.parametrize("what,body,words", SCHEMAS, ids=[case[0] for case in SCHEMAS])
async def test_an_invalid_tool_schema_is_refused(
    http: httpx.AsyncClient, what: str, body: JsonObject, words: str
) -> None:
    status, error = await post(http, body)
    assert (status, error["code"]) == (400, "invalid_function_parameters")
    assert error["message"].startswith("Invalid schema for function 'shell': ")
    assert words in error["message"]
    assert error["param"] == "tools[0].function.parameters"


async def test_valid_schemas_of_tools_are_accepted(http: httpx.AsyncClient) -> None:
    nested = of_strings("a", extra={"$ref": "#/$defs/b"})
    nested["properties"]["list"] = {"type": ["array", "null"], "items": {"anyOf": [{"type": "string"}, {}]}}
    nested["$defs"] = {"b": {"enum": [1, "two"]}}
    for schema in (of_strings(), of_strings("a"), nested, {"type": "object", "additionalProperties": True}):
        assert await post(http, with_schema(schema)) == (200, {}), schema
    strict = of_strings("a", "b", required=["a", "b"], additionalProperties=False)
    assert await post(http, with_schema(strict, strict=True)) == (200, {})
    assert await post(http, request(tools=[function()])) == (200, {})


OTHERS: list[tuple[str, Any, str | None, str | None, str]] = [
    ("no model", {"messages": [user("a")]}, None, None, "you must provide a model parameter"),
    ("no messages", {"model": "sim-1"}, "messages", "missing_required_parameter", "'messages'"),
    ("messages of text", {"model": "sim-1", "messages": "a"}, "messages", "invalid_type", "a string instead"),
    ("an unknown field", request(reasoning={}), None, None, "argument supplied: reasoning"),
    (
        "a choice without tools",
        request(tool_choice="auto"),
        "tool_choice",
        None,
        "only allowed when 'tools' are",
    ),
    (
        "parallel calls without tools",
        request(parallel_tool_calls=True),
        "parallel_tool_calls",
        None,
        "only allowed when 'tools' are",
    ),
    (
        "a choice of no tool",
        request(tools=[function()], tool_choice=function("other")),
        "tool_choice",
        None,
        "'other'",
    ),
    (
        "a choice that is none",
        request(tools=[function()], tool_choice="must"),
        "tool_choice",
        "invalid_value",
        "'must'",
    ),
    (
        "a kind of tool that is none",
        request(tools=[{"type": "retrieval"}]),
        "tools[0].type",
        "invalid_value",
        "'retrieval'",
    ),
    (
        "a tool of nothing",
        request(tools=[{"type": "function"}]),
        "tools[0].function",
        "missing_required_parameter",
        "function",
    ),
    (
        "parameters as text",
        request(tools=[function(parameters="{}")]),
        "tools[0].function.parameters",
        "invalid_type",
        "a string instead",
    ),
    (
        "an unknown field of a function",
        request(tools=[function(required=True)]),
        "tools[0].function.required",
        "unknown_parameter",
        "required",
    ),
    (
        "stream options without a stream",
        request(stream_options={"include_usage": True}),
        "stream_options",
        None,
        "only allowed when 'stream'",
    ),
    (
        "both token limits",
        request(max_tokens=1, max_completion_tokens=1),
        "max_tokens",
        "invalid_parameter_combination",
        "same time",
    ),
    ("half a token", request(max_tokens=1.5), "max_tokens", "invalid_type", "a decimal instead"),
    ("a stream of yes", request(stream="yes"), "stream", "invalid_type", "a boolean"),
    (
        "an effort that is none",
        request(reasoning_effort="some"),
        "reasoning_effort",
        "invalid_value",
        "'some'",
    ),
]


@pytest.mark.parametrize("what,body,param,code,words", OTHERS, ids=[case[0] for case in OTHERS])
async def test_an_invalid_request_is_refused(
    http: httpx.AsyncClient, what: str, body: Any, param: str | None, code: str | None, words: str
) -> None:
    status, error = await post(http, body)
    assert (status, error["type"], error["param"], error["code"]) == (
        400,
        "invalid_request_error",
        param,
        code,
    )
    assert words in error["message"]


async def test_a_body_that_is_not_json_is_refused(model: ModelSimulator, http: httpx.AsyncClient) -> None:
    for content in (b"{", b"[]", b"\xff", b""):
        answer = await http.post("/v1/chat/completions", content=content)
        assert answer.status_code == 400
        assert "could not parse the JSON body" in answer.json()["error"]["message"]
    assert [exchange.state for exchange in model.log.all()] == ["refused"] * 4


async def test_refusals_become_the_clients_exceptions(
    model: ModelSimulator, client: openai.AsyncOpenAI
) -> None:
    """[err]: 401 for a key, 404 for a model, 400 for a request, each with its code."""
    with pytest.raises(openai.AuthenticationError) as wrong_key:
        await ask(client.with_options(api_key="sk-1234567890abcdef"), "a")
    assert wrong_key.value.code == "invalid_api_key"
    assert "sk-12345*******cdef" in wrong_key.value.message
    with pytest.raises(openai.NotFoundError) as no_model:
        await ask(client, "a", model="gpt-none")
    assert no_model.value.code == "model_not_found"
    with pytest.raises(openai.NotFoundError):
        await client.models.retrieve("gpt-none")
    model.provider.context_tokens = 10
    with pytest.raises(openai.BadRequestError) as too_long:
        await ask(client, "a" * 100, stream=True)
    assert too_long.value.code == "context_length_exceeded"
    assert too_long.value.type == "invalid_request_error"


async def test_a_request_without_a_key_is_refused(http: httpx.AsyncClient) -> None:
    for header in ("", "Bearer", "Basic test-key"):
        answer = await http.post("/v1/chat/completions", json=request(), headers={"Authorization": header})
        assert answer.status_code == 401
        assert "You didn't provide an API key" in answer.json()["error"]["message"]
    assert (await http.get("/v1/models", headers={"Authorization": ""})).status_code == 401


async def test_an_unknown_path_is_not_found(http: httpx.AsyncClient) -> None:
    answer = await http.post("/v1/v1/chat/completions", json=request())
    assert answer.status_code == 404
    assert answer.json()["error"]["message"] == "Invalid URL (POST /v1/v1/chat/completions)"
