"""OpenAI-compatible replies, assembled from a stream's chunks or read whole (API reference, Chat).

Known deviations of providers are supported, too: calls without an index, several calls on one
index, arguments as an object, content in parts, no `[DONE]`, errors in a stream that began with
200.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.errors import ModelRejected, ModelUnavailable
from core.model.base import CallRequest, ModelReply, StopReason
from core.model.provider import Assembler
from core.model.provider_data import (
    TextSlot,
    as_array,
    as_count,
    as_object,
    as_text,
    is_object,
    parse,
    storable,
    text_slot,
)
from core.transcript import Origin
from core.usage import Usage

PROVIDER = "openai"
DONE = "[DONE]"
_SLOT_LOOKS = 3
"""The number of events of a stream that are compared with the others."""
_TEXT_ALONE = frozenset({"role", "content"})
"""The keys of a text-only delta, the most common kind of chunk."""
_FILTER_REASONS = frozenset({"content_filter", "sensitive"})
_STOP = {
    "length": StopReason.LENGTH,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.OVERFLOW,
} | dict.fromkeys(_FILTER_REASONS, StopReason.FILTERED)
_FAILED_REASONS = frozenset({"error", "network_error"})


@dataclass(slots=True)
class _Call:
    call_id: str
    tool: str = ""
    arguments: list[str] = field(default_factory=list[str])
    extra: Mapping[str, Any] | None = None


class ReplyAssembler(Assembler):
    """One reply under construction."""

    def __init__(self, *, name: str, model: str, host: str, api_key: str = "") -> None:
        super().__init__(name=name, model=model, host=host, api_key=api_key)
        self._reasoning: list[str] = []
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._usage: Usage | None = None
        self._finish = ""
        self._said_done = False
        self._slot: TextSlot | None = None
        self._looks_left = _SLOT_LOOKS

    @property
    def ended(self) -> bool:
        return bool(self._finish) or self._said_done

    @property
    def done(self) -> bool:
        return self._said_done or bool(self._finish and self._usage)

    def add(self, data: str) -> str:
        if self._slot is not None and (text := self._slot.text_in(data)) is not None:
            return self._add_text(text)
        if data == DONE:
            self._said_done = True
            return ""
        value = parse(data, model=self._name)
        text = _only_text(value)
        if text is None:
            return self._add_chunk(as_object(value))
        if self._looks_left:
            self._looks_left -= 1
            self._slot = text_slot(data, "content", lambda other: _only_text(parse(other, model=self._name)))
        return self._add_text(text)

    def add_object(self, value: Any) -> str:
        return self._add_chunk(as_object(value))

    def _add_chunk(self, chunk: Mapping[str, Any]) -> str:
        if chunk.get("error") or chunk.get("object") == "error":
            raise self._error(chunk)
        if (usage := chunk.get("usage")) and (usage := as_object(usage)):
            self._usage = _usage(usage)
        for value in as_array(chunk.get("choices")):
            choice = as_object(value)
            if not (index := choice.get("index")) or not as_count(index):
                return self._add_choice(choice)
        return ""

    def finish(self) -> ModelReply:
        text = self._text.whole()
        if not self._finish and not (self._said_done and (text or self._calls)):
            raise self._invalid("the reply ended early")
        if self._finish in _FAILED_REASONS:
            raise ModelUnavailable(f"model {self._name}: the provider reported an error during the reply")
        if not text and not self._calls:
            self._refuse_empty()
        stop = _STOP.get(self._finish, StopReason.END)
        if not self._finish and not all(is_object("".join(call.arguments) or "{}") for call in self._calls):
            stop = StopReason.LENGTH  # some gateways write [DONE] wherever the provider broke off
        truncated = stop is not StopReason.END
        calls = tuple(self._call_request(n, call, truncated) for n, call in enumerate(self._calls))
        origin = Origin(PROVIDER, self._model, self._opaque(self._replayed()))
        return ModelReply(text, calls, self._usage or Usage(), origin, stop)

    def _refuse_empty(self) -> None:
        if self._finish in _FILTER_REASONS:
            raise ModelRejected(f"model {self._name}: the provider's content filter withheld the reply")
        if self._finish == "tool_calls":
            raise self._invalid("the reply announced tool calls but contained none")

    def _add_choice(self, choice: Mapping[str, Any]) -> str:
        delta = as_object(choice.get("delta")) or as_object(choice.get("message"))
        if reason := choice.get("finish_reason"):
            self._finish = as_text(reason) or self._finish
        if delta.keys() <= _TEXT_ALONE and isinstance(text := delta.get("content"), str):
            return self._add_text(text)
        reasoning = as_text(delta.get("reasoning_content"))
        if reasoning:
            self._grow(reasoning)
            self._reasoning.append(reasoning)
        for call in as_array(delta.get("tool_calls")):
            self._add_call(as_object(call))
        return self._add_text(_content(delta.get("content")) + as_text(delta.get("refusal")))

    def _add_call(self, delta: Mapping[str, Any]) -> None:
        function = as_object(delta.get("function"))
        tool = as_text(function.get("name"))
        call = self._call_for(delta.get("index"), as_text(delta.get("id")), tool)
        arguments = function.get("arguments")
        piece = arguments if isinstance(arguments, str) else _as_json(arguments)
        self._grow(tool + piece)
        call.tool = call.tool or tool
        call.arguments.append(piece)
        call.extra = as_object(delta.get("extra_content")) or call.extra

    def _call_for(self, index: Any, call_id: str, tool: str) -> _Call:
        """Return the call that a delta belongs to.

        Its index decides, unless the delta carries a different id than the call of that index."""
        if isinstance(index, int):
            known = self._by_index.get(index)
        else:
            known = None if call_id or tool or not self._calls else self._calls[-1]
            known = known or next((c for c in self._calls if call_id and c.call_id == call_id), None)
        if known is None or (call_id and known.call_id and call_id != known.call_id):
            self._check_calls(len(self._calls) + 1)
            known = _Call(call_id)
            self._calls.append(known)
        known.call_id = known.call_id or call_id
        if isinstance(index, int):
            self._by_index[index] = known
        return known

    def _call_request(self, position: int, call: _Call, truncated: bool) -> CallRequest:
        if not call.tool and not truncated:
            raise self._invalid("a tool call without a name")
        # No arguments mean "none", unless the reply was cut off: then they are missing.
        written = "".join(call.arguments)
        arguments = written if written.strip() or truncated else "{}"
        return CallRequest(
            storable(call.call_id) or f"call_{position}", storable(call.tool), storable(arguments)
        )

    def _replayed(self) -> dict[str, Any]:
        """Return the data this provider expects back with its calls: its reasoning and its marks on the
        calls."""
        kept: dict[str, Any] = {}
        if self._calls and self._reasoning:
            kept["reasoning_content"] = storable("".join(self._reasoning))
        if any(call.extra for call in self._calls):
            kept["extra_content"] = [call.extra for call in self._calls]
        return kept


def _only_text(chunk: Any) -> str | None:
    """Return the text of a chunk that is nothing but a piece of text, as nearly all of a stream are; None for
    any other. A pattern would take several times as long: it copies all that it leaves open."""
    try:
        if chunk["object"] != "chat.completion.chunk" or "error" in chunk or chunk.get("usage"):
            return None
        (choice,) = chunk["choices"]
        if choice["index"] != 0 or choice["finish_reason"] is not None:
            return None
        ((name, text),) = choice["delta"].items()
    except (LookupError, TypeError, ValueError, AttributeError):
        return None
    return text if name == "content" and isinstance(text, str) else None


def _content(content: Any) -> str:
    """Return the text, or the joined text parts of a list, as Mistral's reasoning models send."""
    if isinstance(content, str):
        return content
    parts = (as_object(part) for part in as_array(content))
    return "".join(as_text(part.get("text")) for part in parts if part.get("type") == "text")


def _as_json(arguments: Any) -> str:
    return json.dumps(arguments, ensure_ascii=False) if arguments else ""


def _usage(usage: Mapping[str, Any]) -> Usage:
    details = as_object(usage.get("prompt_tokens_details"))
    cached = as_count(details.get("cached_tokens")) or as_count(usage.get("prompt_cache_hit_tokens"))
    return Usage(
        input_tokens=as_count(usage.get("prompt_tokens")),
        output_tokens=as_count(usage.get("completion_tokens")),
        cached_input_tokens=cached,
        cache_write_tokens=as_count(details.get("cache_write_tokens")),
    )
