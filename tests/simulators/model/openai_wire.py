"""The OpenAI chat completions wire: requests in, completions and chunks out.

Shapes: API reference, Chat, "The chat completion object" and "The chat completion chunk object".
"""

import json
import time
import uuid
from collections.abc import Mapping
from typing import Any

from tests.simulators.model import openai_errors as errors
from tests.simulators.model.faults import StreamError
from tests.simulators.model.openai_request import RequestReader
from tests.simulators.model.replies import Reply, ToolCall, Usage
from tests.simulators.model.wire import Prompt, Provider, completion_tokens, cut_to, pieces

FINGERPRINT = "fp_simulator"
DONE = b"data: [DONE]\n\n"

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode

HTTP_ERRORS: dict[int, tuple[str, str, str | None]] = {
    429: (
        "Rate limit reached for this model on requests per min (RPM). Please try again later.",
        "requests",
        "rate_limit_exceeded",
    ),
    500: ("The server had an error while processing your request. Sorry about that!", "server_error", None),
    503: ("The engine is currently overloaded, please try again later.", "server_error", None),
}
QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. For more information on "
    "this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."
)


class OpenAIWire:
    """Implements `Wire` for `POST /v1/chat/completions`."""

    name = "openai"
    request_id_header = "x-request-id"
    malformed_event = b'data: {"id":"broken","choices":[{"del\n\n'

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._reader = RequestReader(provider)

    def authenticate(self, headers: Mapping[str, str]) -> None:
        self._reader.authenticate(headers)

    def read(self, headers: Mapping[str, str], raw: bytes) -> Prompt:
        self._reader.authenticate(headers)
        return self._reader.read(raw)

    def models(self) -> dict[str, Any]:
        """The body of `GET /v1/models`."""
        return {"object": "list", "data": [self.model(name) for name in self._provider.models]}

    def model(self, name: str) -> dict[str, Any]:
        """The body of `GET /v1/models/{name}`. Raises ApiError."""
        if name not in self._provider.models:
            raise errors.refusal(f"The model '{name}' does not exist", "model", "model_not_found", status=404)
        return {"id": name, "object": "model", "created": 1_700_000_000, "owned_by": "simulator"}

    def counted(self, reply: Reply, prompt: Prompt) -> tuple[int, int, int, int]:
        usage = _usage(reply, prompt, _limited(reply, prompt)[0])
        cached: int = usage["prompt_tokens_details"]["cached_tokens"]
        return usage["prompt_tokens"], usage["completion_tokens"], cached, 0

    def body(self, reply: Reply, prompt: Prompt) -> bytes:
        content, finish = _limited(reply, prompt)
        message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": reply.refusal or None}
        if reply.calls or reply.refusal:
            message["content"] = content or None
        if reply.calls:
            message["tool_calls"] = [_call(call) for call in reply.calls]
        else:
            message["annotations"] = []
        completion = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": prompt.model,
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
            "usage": _usage(reply, prompt, content),
            "service_tier": "default",
            "system_fingerprint": FINGERPRINT,
        }
        return _encode(completion).encode()

    def events(self, reply: Reply, prompt: Prompt) -> list[bytes]:
        content, finish = _limited(reply, prompt)
        head = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": prompt.model,
            "service_tier": "default",
            "system_fingerprint": FINGERPRINT,
        }
        before = f"data: {_encode(head)[:-1]},"
        after = ',"usage":null}\n\n' if prompt.include_usage else "}\n\n"
        events = [
            f'{before}"choices":[{{"index":0,"delta":{_encode(delta)},"logprobs":null,"finish_reason":null}}]'
            f"{after}".encode()
            for delta in _deltas(reply, content)
        ]
        end = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": finish}
        events.append(f'{before}"choices":[{_encode(end)}]{after}'.encode())
        if prompt.include_usage:
            usage = _encode(_usage(reply, prompt, content))
            events.append(f'{before}"choices":[],"usage":{usage}}}\n\n'.encode())
        events.append(DONE)
        return events

    def failure(self, error: StreamError) -> dict[str, Any]:
        message, kind, _ = HTTP_ERRORS[500]
        return errors.body(error.message or message, error.type or kind, None, error.code)

    def error_event(self, error: StreamError) -> bytes:
        return f"data: {_encode(self.failure(error))}\n\n".encode()

    def http_error(self, status: int, code: str | None) -> dict[str, Any]:
        if code == "insufficient_quota":
            return errors.body(QUOTA, "insufficient_quota", None, code)
        message, kind, usual_code = HTTP_ERRORS.get(status, HTTP_ERRORS[500])
        return errors.body(message, kind, None, code or usual_code)

    def with_request_id(self, body: dict[str, Any], request_id: str) -> dict[str, Any]:
        del request_id  # only the header names it
        return body


def _limited(reply: Reply, prompt: Prompt) -> tuple[str, str]:
    """The text as far as the request's token limit reaches, and the finish reason."""
    content, was_cut = cut_to(reply.text, prompt)
    return content, "length" if was_cut else reply.finish_reason


def _deltas(reply: Reply, content: str) -> list[dict[str, Any]]:
    first: dict[str, Any] = {"role": "assistant", "content": None if reply.calls else "", "refusal": None}
    deltas = [first]
    deltas += [{"content": part} for part in pieces(content, reply.chunk_chars)]
    deltas += [{"refusal": part} for part in pieces(reply.refusal, reply.chunk_chars)]
    for index, call in enumerate(reply.calls):
        whole = _call(call)
        arguments = whole["function"]["arguments"]
        whole["function"]["arguments"] = ""
        deltas.append({"tool_calls": [{"index": index, **whole}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": part}}]}
            for part in pieces(arguments, reply.chunk_chars)
        ]
    return deltas


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = call.arguments if isinstance(call.arguments, str) else _encode(call.arguments)
    call_id = call.id or f"call_{uuid.uuid4().hex[:24]}"
    return {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _usage(reply: Reply, prompt: Prompt, content: str) -> dict[str, Any]:
    usage = reply.usage or Usage(
        prompt.prompt_tokens, completion_tokens(reply, reply.refusal or content), prompt.cached_tokens
    )
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
