"""The rules OpenAI applies to `messages`, and what a script may read from them.

API reference, Chat, "Create chat completion", `messages`; the order of calls and results: guide "Function
calling". Limits: a call's id has at most 40 characters, a message at most 128 tool calls, a participant's
name at most 64 characters of `^[^\\s<|\\\\/>]+$`.
"""

import re
from collections.abc import Callable
from typing import Any

from tests.simulators.model import openai_errors as errors
from tests.simulators.model.openai_tools import check_function_name
from tests.simulators.model.replies import tokens_in

ROLES = ("system", "assistant", "user", "function", "tool", "developer")
PARTS = {
    "system": ("text",),
    "developer": ("text",),
    "tool": ("text",),
    "function": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
}
CALL_ID_LIMIT_CHARS = 40
CALLS_LIMIT = 128
NAME_LIMIT_CHARS = 64
NAME_PATTERN = r"^[^\s<|\\/>]+$"
TOKENS_PER_MESSAGE = 4
"""What the simulator counts for a message besides its text."""

_NAME = re.compile(NAME_PATTERN)
_FIELDS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "tool": {"role", "content", "tool_call_id"},
    "function": {"role", "content", "name"},
    "assistant": {
        "role",
        "content",
        "name",
        "refusal",
        "tool_calls",
        "function_call",
        "audio",
        "annotations",
    },
}


class Conversation:
    """Reads messages in order. Raises ApiError at the first one the API would not take."""

    def __init__(self, tokenizer: Callable[[str], int] = tokens_in) -> None:
        self._tokenizer = tokenizer
        self.tokens = 0
        self.user_texts: list[str] = []
        """The user's messages since the model last spoke to the user's own words."""
        self.tool_results: list[str] = []
        """The results the conversation ends with."""
        self._offered: set[str] = set()
        self._answered: set[str] = set()
        self._open = False
        self._model_spoke = False

    def read(self, messages: Any) -> None:
        if not isinstance(messages, list):
            raise errors.wrong_type("messages", "an array of objects", messages)
        if not messages:
            raise errors.empty_array("messages")
        for i, message in enumerate(messages):
            self._read_one(i, message)
        self._close_calls(len(messages) - 1)

    def _read_one(self, i: int, message: Any) -> None:
        where = f"messages[{i}]"
        if not isinstance(message, dict):
            raise errors.wrong_type(where, "an object", message)
        role = message.get("role")
        if role is None:
            raise errors.missing(f"{where}.role")
        if role not in ROLES:
            raise errors.not_one_of(f"{where}.role", role, ROLES)
        if unknown := message.keys() - _FIELDS[role]:
            raise errors.unknown(f"{where}.{min(unknown)}")
        _check_name(message.get("name"), f"{where}.name")
        text = _content(i, role, message)
        self.tokens += TOKENS_PER_MESSAGE + self._tokenizer(text)
        if role == "tool":
            self._read_result(i, message, text)
            return
        self._close_calls(i)
        self.tool_results.clear()
        if role == "assistant":
            self._model_spoke = True
            self._read_calls(where, message.get("tool_calls"))
        elif role == "user":
            if self._model_spoke:
                self.user_texts.clear()
                self._model_spoke = False
            self.user_texts.append(text)

    def _read_calls(self, where: str, calls: Any) -> None:
        if calls is None:
            return
        param = f"{where}.tool_calls"
        if not isinstance(calls, list):
            raise errors.wrong_type(param, "an array of objects", calls)
        if not calls:
            raise errors.empty_array(param)
        if len(calls) > CALLS_LIMIT:
            raise errors.long_array(param, CALLS_LIMIT, len(calls))
        self._offered = {self._read_call(f"{param}[{i}]", call) for i, call in enumerate(calls)}
        self._answered = set()
        self._open = True

    def _read_call(self, where: str, call: Any) -> str:
        if not isinstance(call, dict):
            raise errors.wrong_type(where, "an object", call)
        call_id = _required_string(call, "id", where)
        if len(call_id) > CALL_ID_LIMIT_CHARS:
            raise errors.long_string(f"{where}.id", CALL_ID_LIMIT_CHARS, len(call_id))
        kind = _required_string(call, "type", where)
        if kind not in ("function", "custom"):
            raise errors.not_one_of(f"{where}.type", kind, ("function", "custom"))
        part = call.get(kind)
        if not isinstance(part, dict):
            raise errors.missing(f"{where}.{kind}")
        check_function_name(part.get("name"), f"{where}.{kind}.name")
        given = _required_string(part, "arguments" if kind == "function" else "input", f"{where}.{kind}")
        self.tokens += self._tokenizer(part["name"]) + self._tokenizer(given)
        return call_id

    def _read_result(self, i: int, message: dict[str, Any], text: str) -> None:
        call_id = _required_string(message, "tool_call_id", f"messages[{i}]")
        if not self._open:
            raise errors.refusal(
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
                "with 'tool_calls'.",
                f"messages.[{i}].role",
            )
        if len(call_id) > CALL_ID_LIMIT_CHARS:
            raise errors.long_string(f"messages[{i}].tool_call_id", CALL_ID_LIMIT_CHARS, len(call_id))
        if call_id not in self._offered:
            raise errors.refusal(
                f"Invalid parameter: 'tool_call_id' of '{call_id}' not found in 'tool_calls' of previous "
                "message.",
                f"messages.[{i}].tool_call_id",
            )
        if call_id in self._answered:
            raise errors.refusal(
                f"Duplicate value for 'tool_call_id' of '{call_id}' in message[{i}]",
                f"messages.[{i}].tool_call_id",
            )
        self._answered.add(call_id)
        self.tool_results.append(text)

    def _close_calls(self, i: int) -> None:
        """At message `i`, or at the end, every call of the assistant must have its result."""
        if left := sorted(self._offered - self._answered):
            raise errors.refusal(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                "'tool_call_id'. The following tool_call_ids did not have response messages: "
                f"{', '.join(left)}",
                f"messages.[{i}].role",
            )
        self._offered = set()
        self._open = False


def _content(i: int, role: str, message: dict[str, Any]) -> str:
    """The message's text; parts are joined, what is not text counts as nothing."""
    content = message.get("content")
    if content is None:
        if role == "assistant" and any(
            message.get(key) for key in ("tool_calls", "function_call", "refusal")
        ):
            return ""
        if role == "assistant" and isinstance(message.get("tool_calls"), list):
            return ""  # an empty array is reported by the check of the calls
        raise errors.refusal(
            "Invalid value for 'content': expected a string, got null.", f"messages.[{i}].content"
        )
    if isinstance(content, str):
        return content
    where = f"messages[{i}].content"
    if not isinstance(content, list):
        raise errors.wrong_type(where, "one of a string or array of objects", content)
    if not content:
        raise errors.empty_array(where)
    return "\n".join(_part(f"{where}[{k}]", role, part) for k, part in enumerate(content))


def _part(where: str, role: str, part: Any) -> str:
    if not isinstance(part, dict):
        raise errors.wrong_type(where, "an object", part)
    kind = part.get("type")
    if kind is None:
        raise errors.missing(f"{where}.type")
    if kind not in PARTS[role]:
        raise errors.not_one_of(f"{where}.type", kind, PARTS[role])
    if part.get(kind) is None:
        raise errors.missing(f"{where}.{kind}")
    if kind in ("text", "refusal"):
        return _required_string(part, kind, where)
    if kind == "image_url":
        _check_image(f"{where}.image_url", part["image_url"])
    return ""


def _check_image(where: str, image: Any) -> None:
    if not isinstance(image, dict):
        raise errors.wrong_type(where, "an object", image)
    url = _required_string(image, "url", where)
    if not url.startswith(("https://", "http://", "data:image/")):
        message = f"Invalid '{where}.url'. Expected a valid URL, but got a value with an invalid format."
        raise errors.refusal(message, f"{where}.url", "invalid_value")


def _check_name(name: Any, param: str) -> None:
    if name is None:
        return
    if not isinstance(name, str):
        raise errors.wrong_type(param, "a string", name)
    if not name:
        raise errors.empty_string(param)
    if len(name) > NAME_LIMIT_CHARS:
        raise errors.long_string(param, NAME_LIMIT_CHARS, len(name))
    if not _NAME.fullmatch(name):
        raise errors.wrong_pattern(param, NAME_PATTERN)


def _required_string(holder: dict[str, Any], key: str, where: str) -> str:
    value = holder.get(key)
    if value is None:
        raise errors.missing(f"{where}.{key}")
    if not isinstance(value, str):
        raise errors.wrong_type(f"{where}.{key}", "a string", value)
    return value
