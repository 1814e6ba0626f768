"""The system prompt, assembled once per turn."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from core.clock import SECOND_US
from core.names import folded, quoted
from core.safety.fencing import FENCE_RULE
from core.users import Principal

DEFAULT_SYSTEM_PROMPT = (
    "You are a helpful assistant that people talk to from chat platforms. Answer briefly and to the point, "
    "in the language of the person. Use tools when they help; never claim to have done something that no "
    "tool result shows."
)


@dataclass(frozen=True, slots=True)
class PromptFacts:
    """What a turn's system prompt says about its situation. `now`: microseconds UTC; `timezone`: an IANA
    name; `tools`: the names of those on offer."""

    configured: str
    speaker: Principal
    channel: str
    now: int
    timezone: str
    tools: Sequence[str]


def system_prompt(facts: PromptFacts, *, with_tools: bool = True) -> str:
    """The system text; `with_tools=False` is the variant for final words."""
    speaker = f"{quoted(facts.speaker.name)} ({facts.speaker.role.value})"
    here, now = folded(facts.channel), _local_time(facts.now, facts.timezone)
    lines = [
        facts.configured or DEFAULT_SYSTEM_PROMPT,
        FENCE_RULE,
        f"You are talking with {speaker} on {here}. It is {now}.",
    ]
    if not with_tools:
        lines.append("You cannot use tools any more in this turn: say what was done, what is left, and stop.")
    elif facts.tools:
        lines.append(_on_offer(tuple(facts.tools)))
    return "\n\n".join(lines)


@lru_cache(32)  # the same few offers stand in every prompt
def _on_offer(names: tuple[str, ...]) -> str:
    return f"Tools on offer: {', '.join(map(folded, names))}. A call may need a person's consent."


def _local_time(now_us: int, timezone: str) -> str:
    moment = datetime.fromtimestamp(now_us / SECOND_US, ZoneInfo(timezone))
    return f"{moment:%A, %Y-%m-%d %H:%M} ({folded(timezone)})"
