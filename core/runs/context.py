"""A thread's context for one model call: the system prompt, and as much of the conversation as fits."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from zoneinfo import ZoneInfo

from core.clock import SECOND_US
from core.model.base import ModelRequest, ToolSpec
from core.names import folded, quoted
from core.safety.fencing import FENCE_RULE
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
    in_call_order,
    total_chars,
)
from core.users import Principal

DEFAULT_SYSTEM_PROMPT = (
    "You are a helpful assistant that people reach from chat platforms. Answer briefly and to the point, "
    "in the person's language. Use tools when they help; never claim to have done something that no "
    "tool result shows."
)


@dataclass(frozen=True, slots=True)
class PromptFacts:
    """The facts in a turn's system prompt.

    `now`: microseconds UTC.
    `timezone`: an IANA name.
    `tools`: the names of the available tools."""

    configured: str
    speaker: Principal
    channel: str
    now: int
    timezone: str
    tools: Sequence[str]


def system_prompt(facts: PromptFacts, *, with_tools: bool = True) -> str:
    """Return the system text. `with_tools=False` selects the variant for a final answer."""
    speaker = f"{quoted(facts.speaker.name)} ({facts.speaker.role.value})"
    here, now = folded(facts.channel), _local_time(facts.now, facts.timezone)
    lines = [
        facts.configured or DEFAULT_SYSTEM_PROMPT,
        FENCE_RULE,
        f"You are talking with {speaker} on {here}. It is {now}.",
    ]
    if not with_tools:
        lines.append(
            "You can't use tools any more in this turn: say what was done and what is left, then stop."
        )
    elif facts.tools:
        lines.append(_on_offer(tuple(facts.tools)))
    return "\n\n".join(lines)


@lru_cache(32)  # the same few tool lists occur in every prompt
def _on_offer(names: tuple[str, ...]) -> str:
    return f"Available tools: {', '.join(map(folded, names))}. A call may need a person's approval."


def _local_time(now_us: int, timezone: str) -> str:
    moment = datetime.fromtimestamp(now_us / SECOND_US, ZoneInfo(timezone))
    return f"{moment:%A, %Y-%m-%d %H:%M} ({folded(timezone)})"


# The model's view of a conversation: a pure function of its live entries.

DROPPED_NOTE = "Earlier parts of this conversation were left out because it is too long."
_OVERHEAD_TOKENS = 4
CHARS_PER_TOKEN = 4


def build_conversation(entries: Sequence[Entry], limit_tokens: int) -> list[Said]:
    """Return the newest whole turns that fit, oldest first. The newest turn is always kept.

    A call and its result are never separated, because a turn is kept or left out as a whole.
    """
    if _surely_fits(entries, limit_tokens):
        return in_call_order(entry.said for entry in entries)
    turns = [list(group) for _, group in groupby(entries, key=lambda entry: entry.turn_id)]
    kept: list[list[Entry]] = []
    used_tokens = 0
    for turn in reversed(turns):
        tokens = sum(estimate_tokens(entry.said) for entry in turn)
        if kept and used_tokens + tokens > limit_tokens:
            break
        kept.append(turn)
        used_tokens += tokens
    conversation = in_call_order(entry.said for turn in reversed(kept) for entry in turn)
    if len(kept) < len(turns):
        conversation.insert(0, Note(DROPPED_NOTE))
    return conversation


def _surely_fits(entries: Sequence[Entry], limit_tokens: int) -> bool:
    """Return whether all entries fit even at one token per character, as nearly every turn does."""
    return total_chars(entries) + (_OVERHEAD_TOKENS + 1) * len(entries) <= limit_tokens


def estimate_tokens(said: Said) -> int:
    """Return a cautious estimate: four characters per token, or one in scripts written without spaces."""
    match said:
        case UserSaid() | AssistantSaid() | Summary() | Note() | ToolResult() | OperatorSaid():
            text = said.text
        case ToolCalled():
            text = said.tool + said.arguments
    if text.isascii():
        return _OVERHEAD_TOKENS + len(text) // CHARS_PER_TOKEN + 1
    wide = sum(1 for character in text if character >= "\u2e80")
    return _OVERHEAD_TOKENS + wide + (len(text) - wide) // CHARS_PER_TOKEN + 1


_SIZE = attrgetter("size_chars")


def tool_tokens(tools: Sequence[ToolSpec]) -> int:
    """Estimate the context tokens that the tools' descriptions take."""
    return sum(map(_SIZE, tools)) // 4


def request_tokens(request: ModelRequest) -> int:
    """Estimate the tokens of a whole request."""
    said = sum(map(estimate_tokens, request.conversation))
    return len(request.system) // CHARS_PER_TOKEN + said + tool_tokens(request.tools)
