"""OpenAI-compatible chat completion requests, as strict providers accept them (API reference, Chat).

Pure: a ModelRequest in, the request's JSON object out.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from core.model.base import ModelRequest, ToolSpec
from core.model.openai_messages import Json, conversation_messages
from core.model.openai_reply import PROVIDER
from core.model.provider_errors import ProviderError
from core.model.reading import as_object
from core.transcript import Origin

LISTS_KEPT = 32


@dataclass(frozen=True, slots=True)
class Dialect:
    """Which optional parts of the API a provider takes; learned from its refusals."""

    include_usage: bool = True
    output_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    replay: bool = True
    user_after_tool: bool = True

    def after(self, error: ProviderError) -> "Dialect | None":
        """The dialect without the part this error objects to; None if it is about something else."""
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


def request_body(request: ModelRequest, dialect: Dialect, *, model: str, host: str, stream: bool) -> Json:
    """The JSON object of `POST {base_url}/chat/completions`, but for the tools (see `encoded`)."""

    def kept(origin: Origin | None) -> Mapping[str, Any]:
        return _kept(origin, model, host) if dialect.replay else {}

    messages = conversation_messages(request.conversation, kept)
    if not dialect.user_after_tool:
        messages = _answered(messages)
    if request.system:
        messages.insert(0, {"role": "system", "content": request.system})
    body: Json = {"model": model, "messages": messages, dialect.output_limit: request.max_output_tokens}
    if request.temperature is not None and dialect.temperature:
        body["temperature"] = request.temperature
    if stream:
        body["stream"] = True
        if dialect.include_usage:
            body["stream_options"] = {"include_usage": True}
    return body


class ToolTexts:
    """Tools as the JSON they are sent as; the same few lists are sent again and again, so it is kept."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, ...], tuple[Sequence[ToolSpec], str]] = {}

    def of(self, tools: Sequence[ToolSpec]) -> str:
        """A JSON array."""
        names = tuple(tool.name for tool in tools)
        kept, text = self._kept.get(names, ((), ""))
        if kept != tuple(tools):
            if len(self._kept) >= LISTS_KEPT:
                self._kept.clear()
            text = _json([_tool(tool) for tool in tools])
            self._kept[names] = (tuple(tools), text)
        return text


def encoded(body: Json, tools: str = "") -> bytes:
    """The body as UTF-8 JSON, with the tools' JSON array in it if there is one; half characters, which no
    provider takes, become question marks."""
    text = _json(body)
    whole = f'{text[:-1]},"tools":{tools}}}' if tools else text
    return whole.encode("utf-8", "replace")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _tool(tool: ToolSpec) -> Json:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _answered(messages: Sequence[Json]) -> list[Json]:
    """The messages with a placeholder wherever tool results got no answer, as Mistral wants it."""
    bridged: list[Json] = []
    for message in messages:
        if message["role"] == "user" and bridged and bridged[-1]["role"] == "tool":
            bridged.append({"role": "assistant", "content": "(no answer was given)"})
        bridged.append(message)
    return bridged


def _kept(origin: Origin | None, model: str, host: str) -> Mapping[str, Any]:
    """What this very model at this very provider left to be replayed; nothing to anyone else."""
    if origin is None or not origin.opaque or (origin.provider, origin.model) != (PROVIDER, model):
        return {}
    try:
        opaque = as_object(json.loads(origin.opaque))
    except (ValueError, RecursionError):
        return {}
    return opaque if opaque.get("host") == host else {}
