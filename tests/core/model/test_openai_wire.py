"""The request's JSON, and what is left out of it once a provider has refused it."""

import json
from dataclasses import replace
from typing import Any

import pytest

from core.model.base import ImagePart, ModelRequest, ToolSpec
from core.model.conversation import ToolTexts, wire_call_id
from core.model.openai import Dialect, RequestTexts, tool_object
from core.model.provider_http import read_error_body
from core.transcript import AssistantSaid, Origin, ResultStatus, ToolCalled, ToolResult, UserSaid
from core.users import Thinking
from tests.core.model.support import SHELL, asking

HOST = "api.example.org"


def body(
    request: ModelRequest, dialect: Dialect | None = None, *, host: str = HOST, stream: bool = True
) -> Any:
    texts = RequestTexts(model="m-1", host=host)
    return json.loads(texts.encoded(request, dialect or Dialect(stream=stream)))


def after(dialect: Dialect, status: int, message: str, **error: str) -> Dialect | None:
    body = json.dumps({"error": {"message": message, **error}}).encode()
    image = ImagePart("a.png", "image/png", b"\x89PNG")
    return dialect.after(read_error_body(status, body), replace(asking("Hi"), images=[image]))


def test_the_text_of_tools_is_cached_only_for_the_same_tools() -> None:
    texts = ToolTexts(tool_object)
    other = ToolSpec(SHELL.name, "Something else under this name.", SHELL.parameters)
    assert texts.of([SHELL]) == texts.of((SHELL,))
    assert b"Something else" in texts.of([other])
    assert b"Something else" not in texts.of([SHELL])


def test_a_streamed_request_has_the_documented_form() -> None:
    assert body(asking("Hi 部", tools=[SHELL])) == {
        "model": "m-1",
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi 部"}],
        "max_tokens": 4096,
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "shell",
                    "description": "Run a command.",
                    "parameters": {
                        "type": "object",
                        "properties": {"command": {"type": "string"}},
                        "required": ["command"],
                    },
                },
            }
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_optional_request_fields_are_omitted() -> None:
    sent = body(asking("Hi", tools=(), system=""), stream=False)
    assert set(sent) == {"model", "messages", "max_tokens"}
    assert [message["role"] for message in sent["messages"]] == ["user"]


def test_the_temperature_is_sent_where_the_model_accepts_one() -> None:
    request = ModelRequest("", [UserSaid("Hi")], temperature=0.0)
    assert body(request)["temperature"] == 0.0
    assert "temperature" not in body(request, Dialect(temperature=False))


def test_half_characters_do_not_break_a_request() -> None:
    assert body(asking("a\ud83d"))["messages"][1]["content"] == "a?"


# --- learning --------------------------------------------------------------------------------------------

OPENAI_TOKENS = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. "
    "Use 'max_completion_tokens' instead."
)


NO_STREAM = (
    "Your organization must be verified to stream this model. Please go to: https://example.org/verify"
)


@pytest.mark.parametrize(
    "status, message, error, learned",
    [
        (
            400,
            "Unknown parameter: 'stream_options'.",
            {"param": "stream_options"},
            Dialect(include_usage=False),
        ),
        (422, "extra_forbidden: body.stream_options", {}, Dialect(include_usage=False)),
        (
            400,
            OPENAI_TOKENS,
            {"param": "max_tokens", "code": "unsupported_parameter"},
            Dialect(output_limit="max_completion_tokens"),
        ),
        (
            400,
            "Unsupported value: 'temperature' does not support 0.2 with this model.",
            {"param": "temperature", "code": "unsupported_value"},
            Dialect(temperature=False),
        ),
        (400, "messages.1.reasoning_content: not permitted", {}, Dialect(replay=False)),
        (400, "Unexpected role 'user' after role 'tool'", {}, Dialect(user_after_tool=False)),
        (400, NO_STREAM, {"param": "stream", "code": "unsupported_value"}, Dialect(stream=False)),
        (403, NO_STREAM, {}, Dialect(stream=False)),
        (400, "Unrecognized request argument supplied: max_tokens", {}, Dialect(output_limit="")),
        (400, "Unrecognized request argument supplied: reasoning_effort", {}, Dialect(reasoning=False)),
        (400, "registry.ollama.ai/library/gemma:2b does not support tools", {}, Dialect(tools=False)),
        (404, "No endpoints found that support tool use.", {}, Dialect(tools=False)),
        (400, '"auto" tool choice requires --enable-auto-tool-choice', {}, Dialect(tools=False)),
        (500, "tools param requires --jinja flag", {}, Dialect(tools=False)),
        (400, "unknown variant `image_url`, expected `text`", {}, Dialect(images=False)),
        (404, "No endpoints found that support image input", {}, Dialect(images=False)),
        (500, "image input is not supported", {}, Dialect(images=False)),
    ],
)
def test_a_parameter_that_a_refusal_names_is_left_out_from_then_on(
    status: int, message: str, error: dict[str, str], learned: Dialect
) -> None:
    assert after(Dialect(), status, message, **error) == learned
    assert after(learned, status, message, **error) is None, "the same lesson would be learned for ever"


@pytest.mark.parametrize(
    "status, message",
    [
        (400, "Invalid 'messages[0].content'"),
        (400, "max_tokens is too large"),
        (500, "stream_options"),
        (401, "x"),
        (400, "Invalid schema for function 'shell': unsupported keyword in tools[0].function.parameters"),
        (400, "temperature must be between 0 and 2"),
        (429, "This model does not support tools"),
    ],
)
def test_other_refusals_change_no_later_request(status: int, message: str) -> None:
    assert after(Dialect(), status, message) is None


def test_a_refusal_of_a_parameter_that_was_not_sent_changes_nothing() -> None:
    for message in ("does not support tools", "image input is not supported"):
        error = read_error_body(400, json.dumps({"error": {"message": message}}).encode())
        assert Dialect().after(error, asking("Hi", tools=())) is None


def test_calls_are_written_as_text_for_a_model_without_tools() -> None:
    request = asking(
        "run it",
        AssistantSaid("Yes."),
        ToolCalled("a", "shell", '{"command": "ls"}'),
        ToolResult("a", ResultStatus.DENIED, "by Ann"),
        "next",
    )
    sent = body(request, Dialect(tools=False))
    assert "tools" not in sent
    assert sent["messages"][2:] == [
        {"role": "assistant", "content": 'Yes.\n[I called the tool shell with {"command": "ls"}]'},
        {"role": "user", "content": "[Result of shell]\nDenied, the call was not run: by Ann\n\nnext"},
    ]


def test_parameters_a_model_refused_are_omitted() -> None:
    request = asking("Hi")
    assert "stream" not in body(request, Dialect(stream=False))
    assert not {"max_tokens", "max_completion_tokens"} & set(body(request, Dialect(output_limit="")))
    thinks = replace(request, thinking=Thinking.LOW)
    assert body(thinks)["reasoning_effort"] == "low"
    assert "reasoning_effort" not in body(thinks, Dialect(reasoning=False))
    assert "stream_options" not in body(request, Dialect(include_usage=False))
    sent = body(request, Dialect(output_limit="max_completion_tokens"))
    assert sent["max_completion_tokens"] == 4096
    assert "max_tokens" not in sent


def test_a_placeholder_answers_results_where_a_provider_wants_one() -> None:
    request = asking(
        "run it",
        AssistantSaid(""),
        ToolCalled("a", "shell", "{}"),
        ToolResult("a", ResultStatus.OK, "x"),
        "next",
    )
    assert [m["role"] for m in body(request)["messages"]] == ["system", "user", "assistant", "tool", "user"]
    sent = body(request, Dialect(user_after_tool=False))["messages"]
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "tool", "assistant", "user"]


# --- replay ----------------------------------------------------------------------------------------------

KEPT = json.dumps(
    {"host": HOST, "reasoning_content": "Because.", "extra_content": [None, {"google": {"s": "1"}}]}
)


def with_calls(origin: Origin | None) -> ModelRequest:
    return asking(
        "go",
        AssistantSaid("", origin),
        ToolCalled("a", "shell", "{}"),
        ToolCalled("b", "shell", "{}"),
        ToolResult("a", ResultStatus.OK, "x"),
        ToolResult("b", ResultStatus.OK, "x"),
    )


def test_a_provider_gets_back_its_own_data_on_its_calls() -> None:
    message = body(with_calls(Origin("openai", "m-1", KEPT)))["messages"][2]
    assert message["reasoning_content"] == "Because."
    assert [call.get("extra_content") for call in message["tool_calls"]] == [None, {"google": {"s": "1"}}]


@pytest.mark.parametrize(
    "origin, host, dialect",
    [
        (Origin("anthropic", "m-1", KEPT), HOST, Dialect()),
        (Origin("openai", "m-2", KEPT), HOST, Dialect()),
        (Origin("openai", "m-1", KEPT), "other.example.org", Dialect()),
        (Origin("openai", "m-1", KEPT), HOST, Dialect(replay=False)),
        (Origin("openai", "m-1", "not JSON"), HOST, Dialect()),
        (Origin("openai", "m-1", ""), HOST, Dialect()),
        (None, HOST, Dialect()),
    ],
)
def test_opaque_data_goes_to_its_own_provider_only(
    origin: Origin | None, host: str, dialect: Dialect
) -> None:
    message = body(with_calls(origin), dialect, host=host)["messages"][2]
    assert set(message) == {"role", "content", "tool_calls"}
    assert [set(call) for call in message["tool_calls"]] == [{"id", "type", "function"}] * 2
    assert message["tool_calls"][0]["id"] == wire_call_id("a")
