"""Values as databases store them: short JSON for values read as a whole, columns for values
searched.

Later versions of the hub read this format, so field names here change only together with a
migration.
"""

import json
from collections.abc import Sequence
from typing import Any, assert_never, cast

from core.approvals import SETTINGS, UNSAID, ApprovalSettings, Preset
from core.events import CandidateFailed, ContextUse, FailuresSpent, ModelTrace
from core.gates import Answer, AskedCall, Chose, Option, Wrote
from core.lazy import dataclass
from core.messages import (
    Attachment,
    Block,
    Choice,
    Code,
    File,
    InboundMessage,
    LinkButton,
    Markdown,
    Message,
    MessageRef,
    Plain,
)
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

encode = json_encoder(ensure_ascii=False, separators=(",", ":"))
"""An encoder for stored JSON: compact, with non-ASCII characters kept readable."""


def storable(text: str) -> str:
    """Return the text with lone surrogates replaced. Platforms deliver them, but no database accepts
    them."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


# --- messages -------------------------------------------------------------------------------------------


def message_to_json(message: Message) -> str:
    """Return a message as JSON for the outbox, without its empty fields."""
    stored: dict[str, Any] = {"blocks": [_block_to_json(block) for block in message.blocks]}
    if message.choices:
        stored |= _choices_to_json(message)
    if message.files:
        stored["files"] = [_file_to_json(file) for file in message.files]
    if message.link is not None:
        stored["link"] = [message.link.label, message.link.url]
    if message.editable:
        stored["editable"] = True
    if message.first_choice:
        stored["first_choice"] = message.first_choice
    more = {
        "gate_id": message.gate_id,
        "outcome": message.outcome,
        "reply_to": message.reply_to,
        "mark": message.mark,
    }
    stored.update((name, value) for name, value in more.items() if value is not None)
    return storable(encode(stored))


def message_from_json(text: str) -> Message:
    """Return the message stored by `message_to_json`."""
    stored = cast("dict[str, Any]", json.loads(text))
    return Message(
        blocks=tuple(_block_from_json(block) for block in stored["blocks"]),
        choices=_choices_from_json(stored),
        gate_id=stored.get("gate_id", stored.get("prompt_id")),  # its name up to schema 20
        outcome=stored.get("outcome"),
        files=tuple(File(*file) for file in stored.get("files", ())),
        reply_to=stored.get("reply_to"),
        editable=stored.get("editable", False),
        first_choice=stored.get("first_choice", 0),
        mark=stored.get("mark"),
        link=LinkButton(*stored["link"]) if "link" in stored else None,
    )


def _choices_to_json(message: Message) -> dict[str, Any]:
    stored: dict[str, Any] = {"choices": [choice.label for choice in message.choices]}
    if message.speaks:
        stored["says"] = [choice.says for choice in message.choices]
    if any(choice.writes for choice in message.choices):
        stored["writes"] = [choice.writes for choice in message.choices]
    return stored


def _choices_from_json(stored: dict[str, Any]) -> tuple[Choice, ...]:
    if "choices" not in stored:
        return ()
    labels: list[str] = stored["choices"]
    says, writes = stored.get("says", [""] * len(labels)), stored.get("writes", [False] * len(labels))
    return tuple(map(Choice, labels, says, writes))


def _file_to_json(file: File) -> list[str | int]:
    return [file.path, file.name, file.media_type, file.size_bytes, file.modified_ns]


def _block_to_json(block: Block) -> list[str]:
    match block:
        case Code():
            return [block.kind, block.text, block.language]
        case Markdown() | Plain():
            return [block.kind, block.text]
        case _:
            assert_never(block)


def _block_from_json(stored: list[str]) -> Block:
    kind, text = stored[0], stored[1]
    match kind:
        case "markdown":
            return Markdown(text)
        case "plain":
            return Plain(text)
        case "code":
            return Code(text, stored[2])
        case _:
            raise ValueError(f"unknown block kind {kind!r}")


def refs_to_json(refs: tuple[MessageRef, ...]) -> str:
    """Return the messages a row became, as JSON."""
    return encode(refs) if refs else "[]"


def refs_from_json(text: str) -> tuple[MessageRef, ...]:
    """Return the messages stored by `refs_to_json`."""
    return () if text == "[]" else tuple(MessageRef(ref) for ref in json.loads(text))


def strings_to_json(strings: tuple[str, ...]) -> str:
    """Return plain strings as a JSON list."""
    return encode(strings) if strings else "[]"


def strings_from_json(text: str) -> tuple[str, ...]:
    """Return the plain strings stored by `strings_to_json`."""
    return () if text == "[]" else tuple(json.loads(text))


# --- gates --------------------------------------------------------------------------------------------


def answer_to_text(answer: Answer) -> str:
    """Return a person's answer as text: an option as its own word, any other answer as a JSON list."""
    match answer:
        case Option():
            return answer.value
        case Chose(index, label):
            return storable(encode(["chose", index, label]))
        case Wrote(text):
            return storable(encode(["wrote", text]))
        case _:
            assert_never(answer)


def answer_from_text(text: str) -> Answer:
    """Return the answer stored by `answer_to_text`."""
    if not text.startswith("["):
        return Option(text)
    match json.loads(text):
        case ["chose", int(index), str(label)]:
            return Chose(index, label)
        case ["wrote", str(said)]:
            return Wrote(said)
        case _:
            raise ValueError("unknown kind of answer")


# The calls of a joint gate as stored: a JSON list with the fields of each call.


def asked_to_json(calls: Sequence[AskedCall]) -> str | None:
    """Return the calls as JSON, or None if there are none."""
    if not calls:
        return None
    listed = [[call.call_id, call.tool, call.reason, call.detail, call.binding] for call in calls]
    return storable(json.dumps(listed, ensure_ascii=False))


def asked_from_json(text: str) -> tuple[AskedCall, ...]:
    """Return the calls stored by `asked_to_json`."""
    return tuple(AskedCall(*fields) for fields in json.loads(text))


# Transcript entries as databases store them; see core.store.codecs.

SaidColumns = tuple[str, str, str | None, str | None, str | None]
"""The columns of an entry that depend on its kind: kind, text, call_id, name, extra."""


def event_extra_to_json(event: InboundMessage) -> str | None:
    """Return a message's content other than its text as JSON. None for most messages."""
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
    """The content stored by `event_extra_to_json`. `ref`: stored only for messages that answers quote."""

    attachments: tuple[Attachment, ...] = ()
    ref: MessageRef | None = None


def event_extra_from_json(text: str | None) -> EventExtra:
    """Return the content stored by `event_extra_to_json`."""
    if text is None:
        return EventExtra()
    stored = cast("dict[str, Any]", json.loads(text))
    attachments = tuple(Attachment(*attachment) for attachment in stored.get("attachments", ()))
    return EventExtra(attachments, stored.get("ref"))


def _attachment_to_json(attachment: Attachment) -> list[str | int | None]:
    values = (attachment.handle, attachment.name, attachment.media_type, attachment.size_bytes)
    return [*values, attachment.limit_bytes] if attachment.limit_bytes is not None else [*values]


def said_to_columns(said: Said) -> SaidColumns:
    """Return the columns specific to an entry's kind; see `SaidColumns`."""
    match said:
        case UserSaid():
            return said.kind, storable(said.text), None, storable(said.sender) or None, _files_to_json(said)
        case AssistantSaid():
            return said.kind, storable(said.text), None, None, _origin_to_json(said)
        case ToolCalled():
            reason = storable(said.reason) or None
            return said.kind, storable(said.arguments), said.call_id, storable(said.tool), reason
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
    """Return the entry stored by `said_to_columns`."""
    match kind:
        case "user":
            return UserSaid(text, name or "", _files_from_json(extra))
        case "assistant":
            return _assistant_from_json(text, extra)
        case "call":
            return ToolCalled(call_id or "", name or "", text, extra or "")
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


def _origin_to_json(said: AssistantSaid) -> str | None:
    origin = said.origin
    if origin is None:
        return None
    suggestions = [said.suggestions, said.menu_id] if said.suggestions else []
    return storable(encode([origin.provider, origin.model, origin.opaque, *suggestions]))


def _assistant_from_json(text: str, extra: str | None) -> AssistantSaid:
    if extra is None:
        return AssistantSaid(text)
    provider, model, opaque, *more = json.loads(extra)
    suggestions, menu_id = more or ((), "")
    return AssistantSaid(text, Origin(provider, model, opaque), tuple(suggestions), menu_id)


# Presets and limits as databases store them; see core.store.codecs.


def limits_to_json(settings: ApprovalSettings) -> str | None:
    """Return the limits set for a person or conversation as JSON, or None if none are set. The preset
    has its own column."""
    limits = settings_to_json(settings)
    limits.pop("preset", None)
    return json.dumps(limits, separators=(",", ":")) if limits else None


def settings_to_json(settings: ApprovalSettings) -> dict[str, Any]:
    """Return the settings that are set as plain JSON values, tools in order."""
    said = {name: value for name in SETTINGS if (value := getattr(settings, name)) is not None}
    for name in _TOOL_LISTS & said.keys():
        said[name] = sorted(said[name])
    if "tool_timeouts" in said:
        said["tool_timeouts"] = dict(sorted(said["tool_timeouts"].items()))
    return said


_TOOL_LISTS = {"whitelist", "dangerous_tools"}


def settings_from_columns(preset: str | None, limits: str | None) -> ApprovalSettings:
    """Return the settings from their two columns: the preset and the JSON of `limits_to_json`."""
    if preset is None and limits is None:
        return UNSAID
    stored = {} if limits is None else cast("dict[str, Any]", json.loads(limits))
    for name in _TOOL_LISTS & stored.keys():
        stored[name] = frozenset(stored[name])
    return ApprovalSettings(None if preset is None else Preset(preset), **stored)


# The models of a run as databases store them.


def trace_to_json(trace: ModelTrace) -> str | None:
    """Return a run's models as JSON, or None if none was called."""
    if not trace.selected:
        return None
    failures = [_fields(one) for one in trace.failures]
    kept = (trace.selected, failures, _fields(trace.spent), _fields(trace.context), trace.chosen)
    # `calls` end rows of their own.
    return encode(dict(zip(("selected", "failures", "spent", "context", "chosen"), kept, strict=True)))


def _fields(value: CandidateFailed | FailuresSpent | ContextUse) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__match_args__}


def trace_from_json(text: str | None) -> ModelTrace:
    """Return the models that `trace_to_json` wrote."""
    if text is None:
        return ModelTrace()
    stored = json.loads(text)
    spent = stored.get("spent", {})  # schema 24 had none
    for name in ("room_made", "given_up"):
        spent[name] = tuple(spent.get(name, ()))
    spent["faults"] = tuple((model, fault) for model, fault in spent.get("faults", ()))
    failures = tuple(CandidateFailed(**one) for one in stored["failures"])
    context = ContextUse(**stored.get("context", {}))  # schema 25 had none
    return ModelTrace(stored["selected"], failures, FailuresSpent(**spent), context, stored.get("chosen", ""))
