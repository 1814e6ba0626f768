"""Anthropic replies, assembled from a stream's events or read whole (API reference, Messages, Streaming)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from core.errors import ModelRejected
from core.lazy import dataclass
from core.model.base import CallRequest, ModelReply, StopReason
from core.model.provider import Assembler
from core.model.provider_data import as_array, as_count, as_object, as_text, parse, storable
from core.transcript import Origin
from core.usage import Usage

PROVIDER = "anthropic"

_STOP = {
    "max_tokens": StopReason.LENGTH,
    "refusal": StopReason.FILTERED,
    "model_context_window_exceeded": StopReason.OVERFLOW,
}
_PIECES = {"text_delta": "text", "input_json_delta": "partial_json", "thinking_delta": "thinking"}
_BEGUN = {"text_delta": "text", "input_json_delta": "tool_use", "thinking_delta": "thinking"}


@dataclass(frozen=True, slots=True)
class Thought:
    """A thinking block as the provider wants it back.

    `calls`, `text`: the number of calls before it, and whether text was."""

    block: dict[str, Any]
    calls: int
    text: bool


def thinking_blocks(kept: Mapping[str, Any]) -> list[Thought]:
    """Return the thinking in the data that a reply kept (see ReplyAssembler)."""
    thoughts = map(as_object, as_array(kept.get("thinking")))
    return [
        Thought(dict(as_object(one.get("block"))), as_count(one.get("calls")), bool(one.get("text")))
        for one in thoughts
    ]


@dataclass(slots=True)
class _Block:
    """A block of the reply under construction. `given`: the block as it started; `pieces`: its text."""

    kind: str
    given: Mapping[str, Any]
    pieces: list[str] = field(default_factory=list[str])
    signature: str = ""


class ReplyAssembler(Assembler):
    """One reply under construction."""

    def __init__(self, *, name: str, model: str, host: str, api_key: str = "") -> None:
        super().__init__(name=name, model=model, host=host, api_key=api_key)
        self._blocks: list[_Block] = []
        self._by_index: dict[int, _Block] = {}
        self._usage: dict[str, int] = {}
        self._stop = ""
        self._stopped = False

    @property
    def ended(self) -> bool:
        return bool(self._stop) or self._stopped

    @property
    def done(self) -> bool:
        return self._stopped

    def add(self, data: str) -> str:
        return self.add_object(parse(data, model=self._name))

    def add_object(self, value: Any) -> str:
        event = as_object(value)
        if event.get("error") or event.get("type") == "error":
            raise self._error(event)
        match event.get("type"):
            case "content_block_delta":
                return self._add_delta(event.get("index"), as_object(event.get("delta")))
            case "content_block_start":
                return self._add_block(event.get("index"), as_object(event.get("content_block")))
            case "message_start":
                return self._add_message(as_object(event.get("message")))
            case "message_delta":
                self._stop = as_text(as_object(event.get("delta")).get("stop_reason")) or self._stop
                self._read_usage(as_object(event.get("usage")))
            case "message_stop":
                self._stopped = True
            case "message":
                return self._add_message(event)
            case _:
                pass
        return ""

    def finish(self) -> ModelReply:
        text = self._text.whole()
        asked = [block for block in self._blocks if block.kind == "tool_use"]
        if not self._stop and not (self._stopped and (text or asked)):
            raise self._invalid("the reply ended early")
        stop = _STOP.get(self._stop, StopReason.END)
        if not text and not asked and stop is StopReason.FILTERED:
            raise ModelRejected(f"model {self._name}: the provider's content filter withheld the reply")
        if not asked and self._stop == "tool_use":
            raise self._invalid("the reply announced tool calls but contained none")
        reasons = _reasons(self._blocks)
        calls = tuple(self._call(place, block, stop, reasons) for place, block in enumerate(asked))
        kept = {"thinking": list(_thoughts(self._blocks))} if asked else {}
        opaque = self._opaque(kept if kept.get("thinking") else {})
        return ModelReply(text, calls, self._counted(), Origin(PROVIDER, self._model, opaque), stop)

    def _add_message(self, message: Mapping[str, Any]) -> str:
        """Process a whole message, or one as it starts, which usually says nothing yet."""
        blocks = as_array(message.get("content"))
        texts = [self._add_block(index, as_object(block)) for index, block in enumerate(blocks)]
        self._read_usage(as_object(message.get("usage")))
        self._stop = as_text(message.get("stop_reason")) or self._stop
        return "".join(texts)

    def _add_block(self, index: Any, given: Mapping[str, Any]) -> str:
        block = _Block(as_text(given.get("type")), given, signature=as_text(given.get("signature")))
        self._grow(as_text(given.get("id")) + as_text(given.get("data")) + block.signature)
        self._check_calls(len(self._blocks))
        self._blocks.append(block)
        if isinstance(index, int):
            self._by_index[index] = block
        return self._add_piece(block, as_text(given.get("thinking" if block.kind == "thinking" else "text")))

    def _add_delta(self, index: Any, delta: Mapping[str, Any]) -> str:
        kind = as_text(delta.get("type"))
        block = self._by_index.get(index) if isinstance(index, int) else None
        if block is None and not isinstance(index, int) and self._blocks:
            block = self._blocks[-1]
        if block is None:
            self._add_block(index, {"type": _BEGUN.get(kind, "")})
            block = self._blocks[-1]
        if kind == "signature_delta":
            signature = as_text(delta.get("signature"))
            self._grow(signature)
            block.signature += signature
            return ""
        return self._add_piece(block, as_text(delta.get(_PIECES.get(kind, ""))))

    def _add_piece(self, block: _Block, piece: str) -> str:
        if block.kind == "text":
            block.pieces.append(piece)
            return self._add_text(piece)
        self._grow(piece)
        block.pieces.append(piece)
        return ""

    def _call(self, place: int, block: _Block, stop: StopReason, reasons: Sequence[str]) -> CallRequest:
        tool = as_text(block.given.get("name"))
        if not tool and stop is StopReason.END:
            raise self._invalid("a tool call without a name")
        # No arguments mean "none", unless the reply was cut off: then they are missing.
        written, given = "".join(block.pieces), block.given.get("input")
        if not written.strip() and isinstance(given, str):
            written = given
        elif not written.strip() and (given or stop is StopReason.END):
            written = json.dumps(as_object(given), ensure_ascii=False)
        call_id = storable(as_text(block.given.get("id"))) or f"call_{place}"
        return CallRequest(call_id, storable(tool), storable(written), storable(reasons[place]))

    def _read_usage(self, usage: Mapping[str, Any]) -> None:
        """Read totals. Some servers send 0 for those they do not know yet."""
        for key, value in usage.items():
            self._usage[key] = max(as_count(value), self._usage.get(key, 0))

    def _counted(self) -> Usage:
        count = self._usage.get
        cached, written = count("cache_read_input_tokens", 0), count("cache_creation_input_tokens", 0)
        return Usage(
            input_tokens=count("input_tokens", 0) + cached + written,
            output_tokens=count("output_tokens", 0),
            cached_input_tokens=cached,
            cache_write_tokens=written,
        )


def _reasons(blocks: list[_Block]) -> list[str]:
    """Return the text directly before each call, empty for calls that all text of the reply stands before:
    it is about all of them."""
    reasons: list[str] = []
    said: list[str] = []
    for block in blocks:
        if block.kind == "text":
            said += block.pieces
        elif block.kind == "tool_use":
            reasons.append("".join(said).strip())
            said = []
    return reasons if any(reasons[1:]) else [""] * len(reasons)


def _thoughts(blocks: list[_Block]) -> Iterator[dict[str, Any]]:
    calls, text = 0, False
    for block in blocks:
        if block.kind == "tool_use":
            calls += 1
        elif block.kind == "text":
            text = text or any(block.pieces)
        elif block.kind == "redacted_thinking":
            yield {"block": dict(block.given), "calls": calls, "text": text}
        elif block.kind == "thinking" and block.signature:
            thinking = "".join(block.pieces)
            kept = {"type": "thinking", "thinking": thinking, "signature": block.signature}
            yield {"block": kept, "calls": calls, "text": text}
