"""What people and the model said, as databases keep it; see core.store.codec."""

import json
from dataclasses import dataclass
from typing import Any, assert_never, cast

from core.messages import (
    Attachment,
    InboundMessage,
    MessageRef,
)
from core.store.codec import encode, storable
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

SaidColumns = tuple[str, str, str | None, str | None, str | None]
"""kind, text, call_id, name, extra: the columns of an entry that depend on its kind."""


def event_extra_to_json(event: InboundMessage) -> str | None:
    """What a message carries beside its text; None for most messages."""
    quotable = None if event.direct else event.ref
    if not event.attachments and event.reply_to is None and quotable is None:
        return None
    stored: dict[str, Any] = {}
    if quotable is not None:
        stored["ref"] = quotable
    if event.reply_to is not None:
        stored["reply_to"] = event.reply_to
    if event.attachments:
        stored["attachments"] = [_attachment_to_json(attachment) for attachment in event.attachments]
    return storable(encode(stored))


@dataclass(frozen=True, slots=True)
class EventExtra:
    """What `event_extra_to_json` kept of a message. `ref`: only of those that answers quote."""

    attachments: tuple[Attachment, ...] = ()
    ref: MessageRef | None = None


def event_extra_from_json(text: str | None) -> EventExtra:
    """What a message carried beside its text."""
    if text is None:
        return EventExtra()
    stored = cast("dict[str, Any]", json.loads(text))
    attachments = tuple(Attachment(*attachment) for attachment in stored.get("attachments", ()))
    return EventExtra(attachments, stored.get("ref"))


def _attachment_to_json(attachment: Attachment) -> list[str | int | None]:
    values = (attachment.handle, attachment.name, attachment.media_type, attachment.size_bytes)
    return [*values, attachment.limit_bytes] if attachment.limit_bytes is not None else [*values]


def said_to_columns(said: Said) -> SaidColumns:
    """An entry's own columns; see `SaidColumns`."""
    match said:
        case UserSaid():
            return said.kind, storable(said.text), None, storable(said.sender) or None, _files_to_json(said)
        case AssistantSaid():
            extra = None if said.origin is None else _origin_to_json(said.origin)
            return said.kind, storable(said.text), None, None, extra
        case ToolCalled():
            return said.kind, storable(said.arguments), said.call_id, storable(said.tool), None
        case ToolResult():
            return said.kind, storable(said.text), said.call_id, said.status.value, None
        case Summary():
            return said.kind, storable(said.text), None, None, str(said.covers_to_seq)
        case Note():
            return said.kind, storable(said.text), None, None, None
        case OperatorSaid():
            return said.kind, storable(said.text), None, storable(said.by), None
        case _:
            assert_never(said)


def said_from_columns(kind: str, text: str, call_id: str | None, name: str | None, extra: str | None) -> Said:
    """What `said_to_columns` stored."""
    match kind:
        case "user":
            return UserSaid(text, name or "", _files_from_json(extra))
        case "assistant":
            return AssistantSaid(text, None if extra is None else Origin(*json.loads(extra)))
        case "call":
            return ToolCalled(call_id or "", name or "", text)
        case "result":
            return ToolResult(call_id or "", ResultStatus(name or ""), text)
        case "summary":
            return Summary(text, int(extra or 0))
        case "note":
            return Note(text)
        case "operator":
            return OperatorSaid(text, name or "")
        case _:
            raise ValueError(f"unknown entry kind {kind!r}")


def _files_to_json(said: UserSaid) -> str | None:
    return (
        storable(encode([_attachment_to_json(file) for file in said.attachments]))
        if said.attachments
        else None
    )


def _files_from_json(text: str | None) -> tuple[Attachment, ...]:
    return () if text is None else tuple(Attachment(*file) for file in json.loads(text))


def _origin_to_json(origin: Origin) -> str:
    return storable(encode([origin.provider, origin.model, origin.opaque]))
