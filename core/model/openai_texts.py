"""Requests as the JSON they are sent as. What an earlier request had in it already is not written again:
a conversation grows at its end, and the same few lists of tools are offered again and again."""

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any, Protocol

from core.model.base import ModelRequest, ToolSpec
from core.model.openai_messages import conversation_messages
from core.model.openai_reply import PROVIDER
from core.model.openai_wire import Dialect, answered, options, tool_object
from core.model.reading import as_object
from core.transcript import AssistantSaid, Origin, Said, ToolCalled, ToolResult, UserSaid

LISTS_KEPT = 32
CONVERSATIONS_LIMIT_CHARS = 4_000_000
"""Of JSON kept altogether, as much as core.agent.journals keeps of transcripts."""


class RequestTexts:
    """Writes the requests to one model at one host."""

    def __init__(self, *, model: str, host: str) -> None:
        self._model = model
        self._host = host
        self._tools = ToolTexts()
        self._conversations = ConversationTexts()

    def encoded(self, request: ModelRequest, dialect: Dialect, *, stream: bool) -> bytes:
        """The body of `POST {base_url}/chat/completions`, UTF-8; half characters, which no provider takes,
        become question marks."""
        messages = self._conversations.of(
            request.conversation, MessageWriter(self._model, self._host, dialect)
        )
        if request.system:
            system = _json({"role": "system", "content": request.system})
            messages = f"{system},{messages}" if messages else system
        begun = _json(options(request, dialect, model=self._model, stream=stream))[:-1]
        text = f'{begun},"messages":[{messages}]'
        if request.tools:
            text = f'{text},"tools":{self._tools.of(request.tools)}'
        return f"{text}}}".encode("utf-8", "replace")


class Writer(Protocol):
    """Writes pieces of conversations; equal to another that would write them alike."""

    def written(self, piece: Sequence[Said]) -> str:
        """The piece's messages in JSON, between commas."""
        ...


@dataclass(frozen=True, slots=True)
class MessageWriter:
    """Implements Writer for one model."""

    model: str
    host: str
    dialect: Dialect

    def written(self, piece: Sequence[Said]) -> str:
        """See Writer."""
        messages = conversation_messages(piece, self._kept)
        if not self.dialect.user_after_tool:
            messages = answered(messages)
        return _json(messages)[1:-1]

    def _kept(self, origin: Origin | None) -> Mapping[str, Any]:
        """What this very model at this very provider left to be replayed; nothing to anyone else."""
        if not self.dialect.replay or origin is None or not origin.opaque:
            return {}
        if (origin.provider, origin.model) != (PROVIDER, self.model):
            return {}
        try:
            opaque = as_object(json.loads(origin.opaque))
        except (ValueError, RecursionError):
            return {}
        return opaque if opaque.get("host") == self.host else {}


@dataclass(frozen=True, slots=True)
class _Kept:
    """The beginning of a conversation, and what it was written as."""

    said: Sequence[Said]
    writer: Writer
    text: str


class ConversationTexts:
    """Conversations as messages in JSON, between commas. Their beginnings are kept, those used longest ago
    are dropped first."""

    def __init__(self, limit_chars: int = CONVERSATIONS_LIMIT_CHARS) -> None:
        self._limit_chars = limit_chars
        self._size_chars = 0
        # By the identity of the first thing said, which is held here and so nobody else's.
        self._kept: OrderedDict[int, _Kept] = OrderedDict()

    def of(self, conversation: Sequence[Said], writer: Writer) -> str:
        """What `writer` makes of the whole conversation."""
        settled = _settled_length(conversation)
        if not settled:
            return writer.written(conversation)
        known = self._beginning(conversation, settled, writer)
        begun = len(known.said) if known is not None else 0
        middle, rest = conversation[begun:settled], conversation[settled:]
        if not (_stands_alone(middle) and _stands_alone(rest)):
            return writer.written(conversation)
        text = known.text if known is not None else ""
        if middle:
            text = f"{text},{writer.written(middle)}" if text else writer.written(middle)
            self._keep(_Kept(conversation[:settled], writer, text))
        return f"{text},{writer.written(rest)}"

    def _beginning(self, conversation: Sequence[Said], settled: int, writer: Writer) -> _Kept | None:
        kept = self._kept.get(id(conversation[0]))
        if kept is None or kept.writer != writer or len(kept.said) > settled:
            return None
        # What followed may have been undone, and something else been said in its place.
        if not isinstance(conversation[len(kept.said)], UserSaid):
            return None
        if not all(map(is_, kept.said, conversation)):
            return None
        self._kept.move_to_end(id(conversation[0]))
        return kept

    def _keep(self, kept: _Kept) -> None:
        before = self._kept.pop(id(kept.said[0]), None)
        self._size_chars += len(kept.text) - (len(before.text) if before is not None else 0)
        self._kept[id(kept.said[0])] = kept
        while self._size_chars > self._limit_chars:
            _, dropped = self._kept.popitem(last=False)
            self._size_chars -= len(dropped.text)


def _settled_length(conversation: Sequence[Said]) -> int:
    """How much of the conversation nothing said later is put together with: up to the newest answer that a
    person replied to."""
    for place in range(len(conversation) - 1, 0, -1):
        before = conversation[place - 1]
        if isinstance(conversation[place], UserSaid) and isinstance(before, AssistantSaid) and before.text:
            return place
    return 0


def _stands_alone(piece: Sequence[Said]) -> bool:
    """Whether no result in it belongs to a call before it."""
    called = {said.call_id for said in piece if isinstance(said, ToolCalled)}
    return all(said.call_id in called for said in piece if isinstance(said, ToolResult))


class ToolTexts:
    """Tools as the JSON they are sent as."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Sequence[ToolSpec], str]] = {}

    def of(self, tools: Sequence[ToolSpec]) -> str:
        """A JSON array. The same object is taken to hold the same tools."""
        _, text = self._kept.get(id(tools), ((), ""))
        if not text:
            if len(self._kept) >= LISTS_KEPT:
                self._kept.clear()
            text = _json([tool_object(tool) for tool in tools])
            self._kept[id(tools)] = (tools, text)
        return text


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
