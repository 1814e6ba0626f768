"""The Anthropic messages wire: requests in, messages and events out.

Shapes: Messages API reference; events: docs, "Streaming messages".
"""

import json
import uuid
from collections.abc import Mapping
from typing import Any

from tests.simulators.model import anthropic_errors as errors
from tests.simulators.model.anthropic_messages import signature_of
from tests.simulators.model.anthropic_request import RequestReader
from tests.simulators.model.faults import StreamError
from tests.simulators.model.replies import Reply, ToolCall, Usage
from tests.simulators.model.wire import Prompt, Provider, completion_tokens, cut_to, pieces

STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
    "model_context_window_exceeded": "model_context_window_exceeded",
}
DEFAULT_THINKING = "Let me think."
MESSAGE_STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class AnthropicWire:
    """Implements `Wire` for `POST /v1/messages`."""

    name = "anthropic"
    request_id_header = "request-id"
    malformed_event = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"del\n\n'

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._reader = RequestReader(provider)

    def authenticate(self, headers: Mapping[str, str]) -> None:
        self._reader.authenticate(headers)

    def read(self, headers: Mapping[str, str], raw: bytes) -> Prompt:
        self._reader.authenticate(headers)
        return self._reader.read(headers["anthropic-version"], raw)

    def models(self) -> dict[str, Any]:
        """The body of `GET /v1/models`."""
        names = self._provider.models
        return {
            "data": [self.model(name) for name in names],
            "has_more": False,
            "first_id": names[0] if names else None,
            "last_id": names[-1] if names else None,
        }

    def model(self, name: str) -> dict[str, Any]:
        """The body of `GET /v1/models/{name}`. Raises ApiError."""
        if name not in self._provider.models:
            raise errors.refusal(f"model: {name}", 404)
        return {"type": "model", "id": name, "display_name": name, "created_at": "2025-01-01T00:00:00Z"}

    def counted(self, reply: Reply, prompt: Prompt) -> tuple[int, int, int, int]:
        usage = _usage(reply, prompt, _limited(reply, prompt)[0])
        read, written = usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]
        return usage["input_tokens"] + read + written, usage["output_tokens"], read, written

    def body(self, reply: Reply, prompt: Prompt) -> bytes:
        content, stop_reason = _limited(reply, prompt)
        message = _message(prompt)
        message["content"] = [_parsed(block) for block in _blocks(reply, prompt, content)]
        message["stop_reason"] = stop_reason
        message["usage"] = _usage(reply, prompt, content)
        return _encode(message).encode()

    def events(self, reply: Reply, prompt: Prompt) -> list[bytes]:
        content, stop_reason = _limited(reply, prompt)
        usage = _usage(reply, prompt, content)
        message = _message(prompt) | {"usage": usage | {"output_tokens": 1}}
        events = [_event("message_start", message=message)]
        for index, block in enumerate(_blocks(reply, prompt, content)):
            events += _block_events(index, block, reply)
        events.insert(min(2, len(events)), _event("ping"))
        delta = {"stop_reason": stop_reason, "stop_sequence": None}
        events.append(_event("message_delta", delta=delta, usage={"output_tokens": usage["output_tokens"]}))
        events.append(MESSAGE_STOP)
        return events

    def failure(self, error: StreamError) -> dict[str, Any]:
        return errors.body(error.type or "overloaded_error", error.message or errors.MESSAGES[529])

    def error_event(self, error: StreamError) -> bytes:
        return f"event: error\ndata: {_encode(self.failure(error))}\n\n".encode()

    def http_error(self, status: int, code: str | None) -> dict[str, Any]:
        kind = errors.TYPES.get(status, errors.TYPES[500])
        return errors.body(code or kind, errors.MESSAGES.get(status, errors.MESSAGES[500]))

    def with_request_id(self, body: dict[str, Any], request_id: str) -> dict[str, Any]:
        return body | {"request_id": request_id}


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {_encode({'type': kind, **fields})}\n\n".encode()


def _message(prompt: Prompt) -> dict[str, Any]:
    """A message as it starts: nothing said, no reason to stop."""
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": prompt.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {},
    }


def _limited(reply: Reply, prompt: Prompt) -> tuple[str, str]:
    """The text as far as the request's token limit reaches, and the reason to stop."""
    content, was_cut = cut_to(reply.refusal or reply.text, prompt)
    if was_cut:
        return content, STOP_REASONS["length"]
    return content, "refusal" if reply.refusal else STOP_REASONS[reply.finish_reason]


def _blocks(reply: Reply, prompt: Prompt, content: str) -> list[dict[str, Any]]:
    """The whole content, in order: thinking, text, calls."""
    blocks: list[dict[str, Any]] = []
    thinking = reply.thinking or (DEFAULT_THINKING if prompt.thinking else "")
    if thinking:
        blocks.append({"type": "thinking", "thinking": thinking, "signature": signature_of(thinking)})
    if content:
        blocks.append({"type": "text", "text": content})
    for call in reply.calls:
        blocks += [{"type": "text", "text": call.said}] if call.said else []
        blocks.append(_tool_use(call))
    return blocks


def _tool_use(call: ToolCall) -> dict[str, Any]:
    """A call as a block. Arguments given as text stay text until they are streamed or parsed."""
    call_id = call.id or f"toolu_{uuid.uuid4().hex[:24]}"
    return {"type": "tool_use", "id": call_id, "name": call.name, "input": call.arguments}


def _parsed(block: dict[str, Any]) -> dict[str, Any]:
    """A block of a whole message, whose input is always an object: broken JSON leaves nothing of it."""
    if block["type"] != "tool_use" or not isinstance(block["input"], str):
        return block
    try:
        parsed = json.loads(block["input"])
    except ValueError:
        parsed = {}
    return block | {"input": parsed if isinstance(parsed, dict) else {}}


def _block_events(index: int, block: dict[str, Any], reply: Reply) -> list[bytes]:
    match block["type"]:
        case "text":
            start = {"type": "text", "text": ""}
            deltas = [
                {"type": "text_delta", "text": part} for part in pieces(block["text"], reply.chunk_chars)
            ]
        case "thinking":
            start = {"type": "thinking", "thinking": "", "signature": ""}
            parts = pieces(block["thinking"], reply.chunk_chars)
            deltas = [{"type": "thinking_delta", "thinking": part} for part in parts]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        case _:
            start = block | {"input": {}}
            arguments = block["input"] if isinstance(block["input"], str) else _encode(block["input"])
            parts = ["", *pieces(arguments, reply.chunk_chars)]
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
    return [
        _event("content_block_start", index=index, content_block=start),
        *(_event("content_block_delta", index=index, delta=delta) for delta in deltas),
        _event("content_block_stop", index=index),
    ]


def _usage(reply: Reply, prompt: Prompt, content: str) -> dict[str, Any]:
    usage = reply.usage or Usage(
        prompt.prompt_tokens, completion_tokens(reply, content), prompt.cached_tokens
    )
    written = 0 if reply.usage else prompt.cache_write_tokens
    return {
        "input_tokens": usage.prompt_tokens - usage.cached_tokens - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.completion_tokens,
        "service_tier": "standard",
    }
