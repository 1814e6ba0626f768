"""OpenAI-compatible replies, assembled from a stream's chunks or read whole (API reference, Chat).

Known deviations of providers are supported, too: calls without an index, several calls on one
index, arguments as an object, content in parts, no `[DONE]`, errors in a stream that began with
200.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.errors import ModelRejected, ModelReplyInvalid, ModelUnavailable
from core.model.base import CallRequest, ModelReply, StopReason, Usage
from core.model.lenient_json import as_array, as_count, as_object, as_text, parse, storable
from core.model.provider_errors import model_error, read_error
from core.transcript import Origin

PROVIDER = "openai"
DONE = "[DONE]"
REPLY_LIMIT_CHARS = 1024 * 1024
CALLS_LIMIT = 128
"""OpenAI's own limit on calls in one message, which therefore limits the calls that can be replayed."""
OPAQUE_LIMIT_CHARS = 256 * 1024
"""The limit on data replayed with every later request. Longer data is dropped."""

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


class ReplyAssembler:
    """One reply under construction. Every method raises only ModelError, for any input.

    `host` is stored with the data that the provider wants replayed to itself. Not reusable.
    """

    def __init__(self, *, name: str, model: str, host: str, api_key: str = "") -> None:
        self._name = name
        self._model = model
        self._host = host
        self._api_key = api_key
        self._text: list[str] = []
        self._half = ""
        self._reasoning: list[str] = []
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._usage = Usage()
        self._finish = ""
        self._size_chars = 0
        self.done = False
        """True once the provider said that nothing more will come."""

    def add(self, data: str) -> str:
        """Process one event of the stream and return the text that it adds to the reply."""
        if data == DONE:
            self.done = True
            return ""
        return self.add_object(parse(data, model=self._name))

    def add_object(self, value: Any) -> str:
        """Process one chunk, or a whole completion, and return the text that it adds to the reply."""
        chunk = as_object(value)
        if chunk.get("error") or chunk.get("object") == "error":
            raise model_error(read_error(chunk), model=self._name, api_key=self._api_key)
        if usage := as_object(chunk.get("usage")):
            self._usage = _usage(usage)
        for value in as_array(chunk.get("choices")):
            choice = as_object(value)
            if not as_count(choice.get("index")):
                return self._add_choice(choice)
        return ""

    def finish(self) -> ModelReply:
        """Return the whole reply after the end of the stream.

        The end mark is the finish reason, which arrives with the last content; `[DONE]` adds nothing.
        Raises ModelReplyInvalid if the end mark is missing, because the reply is then incomplete.
        """
        text = storable("".join([*self._text, self._half]))
        if not self._finish:
            raise ModelReplyInvalid(f"model {self._name}: the reply ended early")
        if self._finish in _FAILED_REASONS:
            raise ModelUnavailable(f"model {self._name}: the provider reported an error during the reply")
        if not text and not self._calls:
            self._refuse_empty()
        stop = _STOP.get(self._finish, StopReason.END)
        truncated = stop is not StopReason.END
        calls = tuple(self._call_request(n, call, truncated) for n, call in enumerate(self._calls))
        origin = Origin(PROVIDER, self._model, self._opaque())
        return ModelReply(text, calls, self._usage, origin, stop)

    def _refuse_empty(self) -> None:
        if self._finish in _FILTER_REASONS:
            raise ModelRejected(f"model {self._name}: the provider's content filter withheld the reply")
        if self._finish == "tool_calls":
            raise ModelReplyInvalid(f"model {self._name}: the reply announced tool calls but contained none")

    def _add_choice(self, choice: Mapping[str, Any]) -> str:
        delta = as_object(choice.get("delta")) or as_object(choice.get("message"))
        if delta.keys() <= _TEXT_ALONE and isinstance(text := delta.get("content"), str):
            self._finish = as_text(choice.get("finish_reason")) or self._finish
            return self._add_text(text)
        reasoning = as_text(delta.get("reasoning_content"))
        if reasoning:
            self._grow(reasoning)
            self._reasoning.append(reasoning)
        for call in as_array(delta.get("tool_calls")):
            self._add_call(as_object(call))
        self._finish = as_text(choice.get("finish_reason")) or self._finish
        return self._add_text(_content(delta.get("content")) + as_text(delta.get("refusal")))

    def _add_text(self, piece: str) -> str:
        if not piece:
            return ""
        self._grow(piece)
        piece = self._half + piece
        self._half = ""
        if "\ud800" <= piece[-1] <= "\udbff":  # the other half of this character arrives with the next chunk
            piece, self._half = piece[:-1], piece[-1]
        piece = storable(piece)
        self._text.append(piece)
        return piece

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
            if len(self._calls) >= CALLS_LIMIT:
                raise ModelReplyInvalid(f"model {self._name}: more than {CALLS_LIMIT} calls in one reply")
            known = _Call(call_id)
            self._calls.append(known)
        known.call_id = known.call_id or call_id
        if isinstance(index, int):
            self._by_index[index] = known
        return known

    def _call_request(self, position: int, call: _Call, truncated: bool) -> CallRequest:
        if not call.tool and not truncated:
            raise ModelReplyInvalid(f"model {self._name}: a tool call without a name")
        # No arguments mean "none", unless the reply was cut off: then they are missing.
        written = "".join(call.arguments)
        arguments = written if written.strip() or truncated else "{}"
        return CallRequest(
            storable(call.call_id) or f"call_{position}", storable(call.tool), storable(arguments)
        )

    def _opaque(self) -> str:
        """Return the data this provider expects back with its calls: its reasoning and its marks on the
        calls."""
        kept: dict[str, Any] = {}
        if self._calls and self._reasoning:
            kept["reasoning_content"] = storable("".join(self._reasoning))
        if any(call.extra for call in self._calls):
            kept["extra_content"] = [call.extra for call in self._calls]
        opaque = json.dumps({"host": self._host, **kept}) if kept else ""
        return opaque if len(opaque) <= OPAQUE_LIMIT_CHARS else ""

    def _grow(self, piece: str) -> None:
        self._size_chars += len(piece)
        if self._size_chars > REPLY_LIMIT_CHARS:
            raise ModelReplyInvalid(
                f"model {self._name}: a reply of more than {REPLY_LIMIT_CHARS} characters"
            )


def _content(content: Any) -> str:
    """Return the text, or the joined text parts of a list, as Mistral's reasoning models send."""
    if isinstance(content, str):
        return content
    parts = (as_object(part) for part in as_array(content))
    return "".join(as_text(part.get("text")) for part in parts if part.get("type") == "text")


def _as_json(arguments: Any) -> str:
    return json.dumps(arguments, ensure_ascii=False) if arguments else ""


def _usage(usage: Mapping[str, Any]) -> Usage:
    cached = as_object(usage.get("prompt_tokens_details")).get("cached_tokens")
    return Usage(
        input_tokens=as_count(usage.get("prompt_tokens")),
        output_tokens=as_count(usage.get("completion_tokens")),
        cached_input_tokens=as_count(cached) or as_count(usage.get("prompt_cache_hit_tokens")),
    )
