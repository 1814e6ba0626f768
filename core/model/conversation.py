"""A conversation in the order and the words that any provider takes; each adapter only writes its JSON."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import field
from typing import assert_never, cast

from core.lazy_dataclass import dataclass
from core.model.base import ImagePart
from core.model.lenient_json import is_object
from core.names import quoted
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
