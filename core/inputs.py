"""What a person sent as a model is told of it: their text, and what they attached."""

from collections.abc import Sequence

from core.messages import Attachment
from core.names import folded, quoted

_UNITS = ((1024 * 1024, "MB"), (1024, "kB"))


def as_told(texts: Sequence[str], attachments: Sequence[Attachment]) -> str:
    """One input: texts under each other, then a line for each file with its name, type and size."""
    lines = [text for text in texts if text.strip()] or ([] if attachments else list(texts[:1]))
    return "\n".join((*lines, *map(_line, attachments)))


def size_in_words(size_bytes: int) -> str:
    """As people write sizes."""
    for unit_bytes, name in _UNITS:
        if size_bytes >= unit_bytes:
            return f"{size_bytes / unit_bytes:.1f} {name}".replace(".0 ", " ")
    return f"{size_bytes} bytes"


def _line(attachment: Attachment) -> str:
    facts = [quoted(attachment.name), folded(attachment.media_type)]
    if attachment.size_bytes:
        facts.append(size_in_words(attachment.size_bytes))
    if attachment.out_of_reach:
        facts.append("too large to be read")
    return f"[Attached file: {', '.join(facts)}]"
