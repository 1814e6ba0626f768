"""Values as databases keep them: short JSON for what is read as a whole, columns for what is searched.

The stored form is a format of its own: it is read by later versions of the hub, so field names here change
only together with a migration.
"""

import json
from typing import Any, assert_never, cast

from core.messages import (
    Block,
    Choice,
    Code,
    File,
    Markdown,
    Message,
    MessageRef,
    Plain,
)
from core.prompts import Answer, Chose, Option, Wrote

encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""JSON as it is stored: short, and as readable as what it says."""


def storable(text: str) -> str:
    """The text with lone surrogates replaced: no database takes them, and platforms do deliver them."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


# --- messages -------------------------------------------------------------------------------------------


def message_to_json(message: Message) -> str:
    """A message for the outbox; what is empty is left out."""
    stored: dict[str, Any] = {"blocks": [_block_to_json(block) for block in message.blocks]}
    if message.choices:
        stored["choices"] = [choice.label for choice in message.choices]
    if message.prompt_id is not None:
        stored["prompt_id"] = message.prompt_id
    if message.outcome is not None:
        stored["outcome"] = message.outcome
    if message.files:
        stored["files"] = [_file_to_json(file) for file in message.files]
    if message.reply_to is not None:
        stored["reply_to"] = message.reply_to
    if message.editable:
        stored["editable"] = True
    if message.first_choice:
        stored["first_choice"] = message.first_choice
    return storable(encode(stored))


def message_from_json(text: str) -> Message:
    """The message that `message_to_json` stored."""
    stored = cast("dict[str, Any]", json.loads(text))
    return Message(
        blocks=tuple(_block_from_json(block) for block in stored["blocks"]),
        choices=tuple(Choice(label) for label in stored.get("choices", ())),
        prompt_id=stored.get("prompt_id"),
        outcome=stored.get("outcome"),
        files=tuple(File(*file) for file in stored.get("files", ())),
        reply_to=stored.get("reply_to"),
        editable=stored.get("editable", False),
        first_choice=stored.get("first_choice", 0),
    )


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
    """The messages a row became."""
    return encode(refs) if refs else "[]"


def refs_from_json(text: str) -> tuple[MessageRef, ...]:
    """The messages a row became."""
    return () if text == "[]" else tuple(MessageRef(ref) for ref in json.loads(text))


def strings_to_json(strings: tuple[str, ...]) -> str:
    """A list of plain strings."""
    return encode(strings) if strings else "[]"


def strings_from_json(text: str) -> tuple[str, ...]:
    """A list of plain strings."""
    return () if text == "[]" else tuple(json.loads(text))


# --- prompts --------------------------------------------------------------------------------------------


def answer_to_text(answer: Answer) -> str:
    """A person's answer: an option's own word, everything else as a JSON list."""
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
    """The answer that `answer_to_text` stored."""
    if not text.startswith("["):
        return Option(text)
    match json.loads(text):
        case ["chose", int(index), str(label)]:
            return Chose(index, label)
        case ["wrote", str(said)]:
            return Wrote(said)
        case _:
            raise ValueError("unknown kind of answer")
