"""What the model sees of a conversation: a pure function of its live entries."""

from collections.abc import Sequence
from itertools import groupby

from core.transcript import (
    AssistantSaid,
    Entry,
    Note,
    OperatorSaid,
    Said,
    Summary,
    ToolCalled,
    ToolResult,
    UserSaid,
    total_chars,
)

DROPPED_NOTE = "Earlier parts of this conversation were left out because they are too long."
_OVERHEAD_TOKENS = 4
_CHARS_PER_TOKEN = 4


def build_conversation(entries: Sequence[Entry], limit_tokens: int) -> list[Said]:
    """The newest turns that fit, whole, oldest first; the newest turn is always kept.

    A call and its result are never separated, since a turn is kept or left out as one.
    """
    if _surely_fits(entries, limit_tokens):
        return [entry.said for entry in entries]
    turns = [list(group) for _, group in groupby(entries, key=lambda entry: entry.turn_id)]
    kept: list[list[Entry]] = []
    used_tokens = 0
    for turn in reversed(turns):
        tokens = sum(estimate_tokens(entry.said) for entry in turn)
        if kept and used_tokens + tokens > limit_tokens:
            break
        kept.append(turn)
        used_tokens += tokens
    conversation: list[Said] = [entry.said for turn in reversed(kept) for entry in turn]
    if len(kept) < len(turns):
        conversation.insert(0, Note(DROPPED_NOTE))
    return conversation


def _surely_fits(entries: Sequence[Entry], limit_tokens: int) -> bool:
    """Whether nothing has to be left out even if each character is a token: true for nearly every turn."""
    return total_chars(entries) + (_OVERHEAD_TOKENS + 1) * len(entries) <= limit_tokens


def estimate_tokens(said: Said) -> int:
    """A cautious guess: four characters a token, one where the script is written without spaces."""
    match said:
        case UserSaid() | AssistantSaid() | Summary() | Note() | ToolResult() | OperatorSaid():
            text = said.text
        case ToolCalled():
            text = said.tool + said.arguments
    if text.isascii():
        return _OVERHEAD_TOKENS + len(text) // _CHARS_PER_TOKEN + 1
    wide = sum(1 for character in text if character >= "\u2e80")
    return _OVERHEAD_TOKENS + wide + (len(text) - wide) // _CHARS_PER_TOKEN + 1
