"""A conversation as the messages of OpenAI-compatible chat completions, as strict providers accept them."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

from core.model.phrasing import note_text, operator_text, result_text, summary_text, user_text
from core.model.reading import as_array, as_text, is_object
from core.transcript import (
    AssistantSaid,
    Note,
    OperatorSaid,
    Origin,
    Said,
    Summary,
    ToolCalled,
    ToolResult,
    UserSaid,
)

Json = dict[str, Any]
Kept = Callable[[Origin | None], Mapping[str, Any]]
"""What the writer of a reply left to be replayed with it (see ReplyAssembler); empty for anyone else."""

_ALPHANUMERICS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
CALL_ID_CHARS = 9
"""Mistral takes exactly nine letters and digits; OpenAI and others take any of up to 40 characters."""
TOOL_NAME_CHARS = 64


def conversation_messages(conversation: Sequence[Said], kept: Kept = lambda _: {}) -> list[Json]:
    """The messages of a conversation, in its order.

    Every call has exactly one tool message, right behind the message that asked for it, as providers demand:
    also where the outcome was journalled later, or never. Neighbours of one role become one message, since
    some models' templates take only turns that alternate.
    """
    messages = _Messages(conversation, kept)
    for said in conversation:
        messages.add(said)
    return messages.all()


class _Messages:
    """Builds the list; calls wait until it is known that no further one belongs to the same message."""

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
                if said.call_id not in self._called:  # a tool message without its call would be refused
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
    """The id a call has on the wire: always the same for the same call, and acceptable everywhere."""
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
    """A name providers take, also for a tool the model made up: one bad name would spoil the whole thread."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", tool)[:TOOL_NAME_CHARS] or "unnamed"


def _arguments(arguments: str) -> str:
    """The arguments if they are a JSON object, else wrapped into one, since some servers parse them."""
    if is_object(arguments):
        return arguments
    return json.dumps({"unreadable_arguments": arguments}, ensure_ascii=False)
