"""Short names for what the tests say on the Anthropic wire."""

from typing import Any

from tests.simulators_tests.model.talk import JsonObject

HEADERS = {"x-api-key": "test-key", "anthropic-version": "2023-06-01"}
PATH = "/v1/messages"
SHELL: JsonObject = {
    "name": "shell",
    "description": "Runs a command.",
    "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
}


def user(*content: Any) -> JsonObject:
    """A user's message: one text, or blocks."""
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else list(content)}


def assistant(*content: Any) -> JsonObject:
    return {"role": "assistant", "content": content[0] if isinstance(content[0], str) else list(content)}


def text(words: str) -> JsonObject:
    return {"type": "text", "text": words}


def use(call_id: str) -> JsonObject:
    return {"type": "tool_use", "id": call_id, "name": "shell", "input": {"command": "ls"}}


def result(call_id: str, words: Any = "ok") -> JsonObject:
    return {"type": "tool_result", "tool_use_id": call_id, "content": words}


def request(*messages: JsonObject, **options: Any) -> JsonObject:
    return {"model": "sim-1", "max_tokens": 1000, "messages": list(messages) or [user("hello")], **options}
