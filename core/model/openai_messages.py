"""A conversation as messages of OpenAI-compatible chat completions, as strict providers accept them."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, assert_never

from core.model.base import ModelRequest, ToolSpec
from core.model.lenient_json import as_array, as_text, is_object
from core.model.provider_errors import ProviderError
from core.names import quoted
from core.transcript import (
    AssistantSaid,
    Note,
    OperatorSaid,
    Origin,
    ResultStatus,
    Said,
    Summary,
    ToolCalled,
    ToolResult,
    UserSaid,
)

# The wording of journal entries for any model: the text around messages, tool results and notes.

NO_OUTCOME = "No recorded outcome: this call may or may not have run."

_STATUS_WORDS = {
    ResultStatus.ERROR: "Error",
    ResultStatus.DENIED: "Denied, the call was not run",
    ResultStatus.CANCELLED: "Cancelled, the call did not finish",
    ResultStatus.SKIPPED: "Skipped, the call was not run",
    ResultStatus.UNKNOWN: "Outcome unknown, the call may or may not have taken effect",
}


def user_text(said: UserSaid) -> str:
    """Return a person's text, preceded by the sender's name if several people speak."""
    text = said.text or "(a message without text)"
    return f"{quoted(said.sender)}: {text}" if said.sender else text


def note_text(note: Note) -> str:
    """Return a note from the hub, marked so that it cannot be taken for a person's text."""
    return f"[Note from the hub, not from a person: {note.text}]"


def operator_text(said: OperatorSaid) -> str:
    """Return a person's answer given in the model's place, marked as not written by the model."""
    return f"[Note from the hub: {quoted(said.by)} answered here instead of you: {said.text}]"


def summary_text(summary: Summary) -> str:
    """Return the summary that replaces the older part of the conversation."""
    return f"[Summary of the conversation so far, made by the hub]\n{summary.text}"


def result_text(result: ToolResult | None) -> str:
    """Return a call's outcome as text. Any status but `ok` is named; None means the outcome is missing."""
    if result is None:
        return NO_OUTCOME
    if result.status is ResultStatus.OK:
        return result.text or "(no output)"
    words = _STATUS_WORDS[result.status]
    return f"{words}: {result.text}" if result.text else f"{words}."


Json = dict[str, Any]
Kept = Callable[[Origin | None], Mapping[str, Any]]
"""A function that returns the data to replay with a reply (see ReplyAssembler): empty unless the same
model at the same provider wrote it."""

_ALPHANUMERICS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
CALL_ID_CHARS = 9
"""Mistral takes exactly nine letters and digits; OpenAI and others take any of up to 40 characters."""
TOOL_NAME_CHARS = 64


def conversation_messages(conversation: Sequence[Said], kept: Kept = lambda _: {}) -> list[Json]:
    """Return the messages of a conversation, in order.

    Every call has exactly one tool message, directly after the message that requested it, as
    providers require. This holds even if the outcome was journaled later, or never. Adjacent
    messages of one role are merged, because some models' templates require alternating turns.
    """
    messages = _Messages(conversation, kept)
    for said in conversation:
        messages.add(said)
    return messages.all()


class _Messages:
    """A builder of the list. Calls wait until no further call can belong to the same message."""

    def __init__(self, conversation: Sequence[Said], kept: Kept) -> None:
        self._kept = kept
        self._messages: list[Json] = []
        self._origin: Origin | None = None
        self._calls: list[ToolCalled] = []
        self._called = {said.call_id for said in conversation if isinstance(said, ToolCalled)}
        self._results: dict[str, ToolResult] = {}
        for said in conversation:
            if isinstance(said, ToolResult):
                self._results.setdefault(said.call_id, said)

    def add(self, said: Said) -> None:
        match said:
            case UserSaid():
                self.user(user_text(said))
            case AssistantSaid():
                self.assistant(said)
            case Note():
                self.user(note_text(said))
            case Summary():
                self.user(summary_text(said))
            case OperatorSaid():
                self.user(operator_text(said))
            case ToolCalled():
                self._calls.append(said)
            case ToolResult():
                if said.call_id not in self._called:  # providers reject a tool message without its call
                    self.user(f"[Result of an earlier tool call]\n{result_text(said)}")
            case _:
                assert_never(said)

    def user(self, text: str) -> None:
        self._flush()
        self._say("user", text)

    def assistant(self, said: AssistantSaid) -> None:
        self._flush()
        self._origin = said.origin
        if said.text:
            self._say("assistant", said.text)

    def all(self) -> list[Json]:
        self._flush()
        return self._messages

    def _say(self, role: str, text: str) -> None:
        last = self._messages[-1] if self._messages else None
        if last is not None and last["role"] == role and "tool_calls" not in last:
            last["content"] = f"{last['content']}\n\n{text}"
        else:
            self._messages.append({"role": role, "content": text})

    def _flush(self) -> None:
        calls, self._calls = self._calls, []
        origin, self._origin = self._origin, None
        if not calls:
            return
        kept = self._kept(origin)
        if not self._messages or self._messages[-1]["role"] != "assistant":
            self._messages.append({"role": "assistant", "content": None})
        message = self._messages[-1]
        message["tool_calls"] = [_call(call) for call in calls]
        if reasoning := as_text(kept.get("reasoning_content")):
            message["reasoning_content"] = reasoning
        for wire_call, extra in zip(message["tool_calls"], as_array(kept.get("extra_content")), strict=False):
            if extra:
                wire_call["extra_content"] = extra
        for call in calls:
            text = result_text(self._results.get(call.call_id))
            self._messages.append(
                {"role": "tool", "tool_call_id": wire_call_id(call.call_id), "content": text}
            )


def wire_call_id(call_id: str) -> str:
    """Return the id that a call has in requests. It is stable for each call and accepted by all
    providers."""
    if len(call_id) == CALL_ID_CHARS and call_id.isascii() and call_id.isalnum():
        return call_id
    number = int.from_bytes(hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).digest()[:8])
    digits: list[str] = []
    for _ in range(CALL_ID_CHARS):
        number, digit = divmod(number, len(_ALPHANUMERICS))
        digits.append(_ALPHANUMERICS[digit])
    return "".join(digits)


def _call(call: ToolCalled) -> Json:
    function = {"name": _tool_name(call.tool), "arguments": _arguments(call.arguments)}
    return {"id": wire_call_id(call.call_id), "type": "function", "function": function}


def _tool_name(tool: str) -> str:
    """Return a tool name that providers accept, even if the model invented the tool. One invalid name
    would make the provider reject the whole thread."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", tool)[:TOOL_NAME_CHARS] or "unnamed"


def _arguments(arguments: str) -> str:
    """Return the arguments if they are a JSON object, else an object that wraps them, since some servers
    parse them."""
    if is_object(arguments):
        return arguments
    return json.dumps({"unreadable_arguments": arguments}, ensure_ascii=False)


# The parts of OpenAI-compatible chat completion requests, as strict providers accept them (API
# reference, Chat). Providers differ in the parts they accept; see Dialect.


@dataclass(frozen=True, slots=True)
class Dialect:
    """The optional parts of the API that a provider accepts, learned from its errors."""

    include_usage: bool = True
    output_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    replay: bool = True
    user_after_tool: bool = True

    def after(self, error: ProviderError) -> "Dialect | None":
        """Return the dialect without the part that this error rejects, or None if the error is about
        something else."""
        if error.status not in (400, 422):
            return None
        if self.include_usage and error.names("stream_options", "include_usage"):
            return replace(self, include_usage=False)
        if self.output_limit == "max_tokens" and error.names("max_completion_tokens"):
            return replace(self, output_limit="max_completion_tokens")
        if self.temperature and error.param == "temperature" and "unsupported" in " ".join(error.codes):
            return replace(self, temperature=False)
        if self.replay and error.names("reasoning_content", "extra_content"):
            return replace(self, replay=False)
        if self.user_after_tool and "after role 'tool'" in error.message:
            return replace(self, user_after_tool=False)
        return None


def options(request: ModelRequest, dialect: Dialect, *, model: str, stream: bool) -> Json:
    """Return the JSON object of a request, without its messages and tools."""
    body: Json = {"model": model, dialect.output_limit: request.max_output_tokens}
    if request.temperature is not None and dialect.temperature:
        body["temperature"] = request.temperature
    if stream:
        body["stream"] = True
        if dialect.include_usage:
            body["stream_options"] = {"include_usage": True}
    return body


def tool_object(tool: ToolSpec) -> Json:
    """Return a tool in the API's format."""
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def answered(messages: Sequence[Json]) -> list[Json]:
    """Return the messages with a placeholder after tool results that got no answer, as Mistral requires."""
    bridged: list[Json] = []
    for message in messages:
        if message["role"] == "user" and bridged and bridged[-1]["role"] == "tool":
            bridged.append({"role": "assistant", "content": "(no answer was given)"})
        bridged.append(message)
    return bridged
