"""Requests as the JSON that is sent: the parts that an earlier request contained are not written again.

A conversation grows at its end, and the same few lists of tools are sent repeatedly.
"""

import base64
import json
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any, Protocol

from core.lazy_dataclass import dataclass
from core.model.base import ImagePart, ToolSpec
from core.model.lenient_json import as_object
from core.off_loop import json_encoder
from core.transcript import AssistantSaid, Origin, Said, ToolCalled, ToolResult, UserSaid

LISTS_KEPT = 32
CONVERSATIONS_LIMIT_CHARS = 4_000_000
"""The limit on all stored JSON together, equal to the limit on transcripts in core.runs.runner."""

to_json = json_encoder(ensure_ascii=False, separators=(",", ":"))


IMAGE_MARK = secrets.token_hex(16)
"""The place of an image's data in a request's text. It is never sent; nothing that is sent can contain it."""


def with_image_data(body: bytes, images: Sequence[ImagePart]) -> bytes:
    """Return the body with the images' data in Base64 in place of the marks, in order.

    Megabytes of text would take a hundred times as long in the JSON encoder."""
    shown = [image.data for image in images if image.data]
    if not shown:
        return body
    begun, *parts = body.split(IMAGE_MARK.encode("ascii"))
    pieces = [begun]
    for data, part in zip(shown, parts, strict=False):
        pieces += (base64.b64encode(data), part)
    return b"".join(pieces)


def replayable(origin: Origin | None, *, provider: str, model: str, host: str) -> Mapping[str, Any]:
    """Return the data that a reply's origin keeps for the provider: empty unless the same model at the same
    host wrote it."""
    if origin is None or not origin.opaque or (origin.provider, origin.model) != (provider, model):
        return {}
    try:
        opaque = as_object(json.loads(origin.opaque))
    except (ValueError, RecursionError):
        return {}
    return opaque if opaque.get("host") == host else {}


class Writer(Protocol):
    """A writer of parts of conversations. It equals any writer that would produce the same text."""

    def written(self, piece: Sequence[Said], images: Sequence[ImagePart] = ()) -> str:
        """Return the messages of `piece` in JSON, separated by commas."""
        ...


@dataclass(frozen=True, slots=True)
class _Kept:
    """The beginning of a conversation, and its text in JSON."""

    said: Sequence[Said]
    writer: Writer
    text: str


class ConversationTexts:
    """Conversations as JSON messages, separated by commas.

    Their beginnings are cached; the least recently used are dropped first."""

    def __init__(self, limit_chars: int = CONVERSATIONS_LIMIT_CHARS) -> None:
        self._limit_chars = limit_chars
        self._size_chars = 0
        # Keyed by the identity of the first entry. The entry is held here, so its id stays unique.
        self._kept: OrderedDict[int, _Kept] = OrderedDict()

    def of(self, conversation: Sequence[Said], writer: Writer, images: Sequence[ImagePart] = ()) -> str:
        """Return the whole conversation as written by `writer`. Images are in none of the cached beginnings,
        because the newest text of a person never is."""
        settled = _settled_length(conversation)
        if not settled:
            return writer.written(conversation, images)
        known = self._beginning(conversation, settled, writer)
        begun = len(known.said) if known is not None else 0
        middle, rest = conversation[begun:settled], conversation[settled:]
        if not (_stands_alone(middle) and _stands_alone(rest)):
            return writer.written(conversation, images)
        text = known.text if known is not None else ""
        if middle:
            further = writer.written(middle)
            text = f"{text},{further}" if text else further
            self._keep(_Kept(conversation[:settled], writer, text))
        return f"{text},{writer.written(rest, images)}"

    def _beginning(self, conversation: Sequence[Said], settled: int, writer: Writer) -> _Kept | None:
        kept = self._kept.get(id(conversation[0]))
        if kept is None or kept.writer != writer or len(kept.said) > settled:
            return None
        # Later entries may have been undone and replaced by others.
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
    """Return the length of the part that no later entry is merged into.

    It ends at the newest answer that a person replied to."""
    for place in range(len(conversation) - 1, 0, -1):
        before = conversation[place - 1]
        if isinstance(conversation[place], UserSaid) and _says(before):
            return place
    return 0


def _says(said: Said) -> bool:
    return isinstance(said, AssistantSaid) and bool(said.text.strip())


def _stands_alone(piece: Sequence[Said]) -> bool:
    """Return whether every result in `piece` belongs to a call in it."""
    called = {said.call_id for said in piece if isinstance(said, ToolCalled)}
    return all(said.call_id in called for said in piece if isinstance(said, ToolResult))


class ToolTexts:
    """Tools as the JSON that is sent. `shape` returns one of them in a provider's format."""

    def __init__(self, shape: Callable[[ToolSpec], Mapping[str, Any]]) -> None:
        self._shape = shape
        self._kept: dict[int, tuple[Sequence[ToolSpec], bytes]] = {}

    def of(self, tools: Sequence[ToolSpec]) -> bytes:
        """Return the tools as a JSON array in UTF-8. The same list object must always hold the same tools."""
        _, text = self._kept.get(id(tools), ((), b""))
        if not text:
            if len(self._kept) >= LISTS_KEPT:
                self._kept.clear()
            text = to_json([self._shape(tool) for tool in tools]).encode("utf-8", "replace")
            self._kept[id(tools)] = (tools, text)
        return text
