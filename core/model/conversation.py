"""A conversation in the order and the words that any provider takes; each adapter only writes its JSON.

A conversation grows at its end, and the same few lists of tools are sent repeatedly: the parts of a request
that an earlier one contained are not written again.
"""

import base64
import hashlib
import json
import re
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from operator import is_
from typing import Any, Protocol, assert_never, cast

from core.lazy import dataclass
from core.messages import quoted
from core.model.base import ImagePart, ToolSpec
from core.model.provider_data import as_object, is_object
from core.off_loop import json_encoder
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


@dataclass(frozen=True, slots=True)
class Heard:
    """Text for the model, and the images that came with it."""

    text: str
    images: Sequence[ImagePart] = ()


@dataclass(slots=True)
class Replied:
    """The model's text with the calls that belong to it, each with its outcome (see `result_text`)."""

    text: str = ""
    origin: Origin | None = None
    calls: list[tuple[ToolCalled, ToolResult | None]] = field(
        default_factory=list[tuple[ToolCalled, ToolResult | None]]
    )


def steps(conversation: Sequence[Said], images: Sequence[ImagePart] = ()) -> list[Heard | Replied]:
    """Return the conversation with every call and its outcome in the reply that requested it.

    This holds even if the outcome was journaled later, or never. `images` came with the newest text of
    a person; those without data are described in words."""
    called = {said.call_id for said in conversation if isinstance(said, ToolCalled)}
    results: dict[str, ToolResult] = {}
    newest = -1
    for place, said in enumerate(conversation):
        if isinstance(said, ToolResult):
            results.setdefault(said.call_id, said)
        elif isinstance(said, UserSaid):
            newest = place
    found: list[Heard | Replied] = []
    for place, said in enumerate(conversation):
        match said:
            case AssistantSaid():
                found.append(Replied(said.text, said.origin))
            case ToolCalled():
                if not (found and isinstance(found[-1], Replied)):
                    found.append(Replied())
                cast("Replied", found[-1]).calls.append((said, results.get(said.call_id)))
            case ToolResult(call_id) if call_id in called:
                pass
            case _:
                found.append(_heard(said, images if place == newest else ()))
    return found


def _heard(said: UserSaid | Note | Summary | OperatorSaid | ToolResult, images: Sequence[ImagePart]) -> Heard:
    lines = [_heard_text(said)]
    lines += [
        f"[You can't see the image {quoted(image.name)}: {image.problem or 'it was not loaded'}]"
        for image in images
        if not image.data
    ]
    return Heard("\n".join(lines), tuple(image for image in images if image.data))


def _heard_text(said: UserSaid | Note | Summary | OperatorSaid | ToolResult) -> str:
    match said:
        case UserSaid():
            return user_text(said)
        case Note():
            return note_text(said)
        case Summary():
            return summary_text(said)
        case OperatorSaid():
            return operator_text(said)
        case ToolResult():  # providers reject a result without its call
            return f"[Result of an earlier tool call]\n{result_text(said)}"
        case _:
            assert_never(said)


# The wording of journal entries: the text around messages, tool results and notes.

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
    text = said.text if said.text.strip() else "(a message without text)"
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
        return result.text if result.text.strip() else "(no output)"
    words = _STATUS_WORDS[result.status]
    return f"{words}: {result.text}" if result.text else f"{words}."


# Ids, names and arguments of calls.

_ALPHANUMERICS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
CALL_ID_CHARS = 9
"""Mistral takes exactly nine letters and digits; OpenAI and others take any of up to 40 characters."""
TOOL_NAME_CHARS = 64


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


def wire_tool_name(tool: str) -> str:
    """Return a tool name that providers accept, even if the model invented the tool. One invalid name
    would make the provider reject the whole thread."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", tool)[:TOOL_NAME_CHARS] or "unnamed"


def wire_arguments(arguments: str) -> str:
    """Return the arguments if they are a JSON object, else an object that wraps them, since some servers
    parse them."""
    if is_object(arguments):
        return arguments
    return json.dumps({"unreadable_arguments": arguments}, ensure_ascii=False)


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
