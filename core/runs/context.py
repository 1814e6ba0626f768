"""A thread's context for one model call: the system prompt, and as much of the conversation as fits."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from zoneinfo import ZoneInfo

from core.clock import SECOND_US
from core.consent.facts import Interactive
from core.model.base import ModelRequest, ToolSpec
from core.names import folded, quoted
from core.runs.skills import Skill, chosen, narrowed
from core.runs.workspace_texts import Document, WorkspaceTexts
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

    `group`: others read the conversation.
    `hint`: the channel's own, on how replies are shown there.
    `model`, `version`: of the model that is asked, and of the hub.
    `tools`: the names of the available tools.
    `documents`, `skills`: the identity documents, and the active skills."""

    configured: str
    speaker: Principal
    channel: str
    tools: tuple[str, ...]
    group: bool = False
    hint: str = ""
    model: str = ""
    version: str = ""
    documents: tuple[Document, ...] = ()
    skills: tuple[Skill, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptPart:
    """A part of a system prompt, by the name that operators know it by."""

    name: str
    text: str


def system_parts(facts: PromptFacts, *, with_tools: bool = True) -> list[PromptPart]:
    """Return the parts of the system text: the most stable first, so that requests share their beginning.

    The time is in none of them but in the conversation (`build_conversation`). `with_tools=False` selects
    the variant for a final answer."""
    parts = documents_parts(facts.documents)
    parts.append(PromptPart("system_prompt", facts.configured or DEFAULT_SYSTEM_PROMPT))
    parts.append(PromptPart("fence rule", FENCE_RULE))
    if not with_tools:
        parts.append(PromptPart("tools", WITHOUT_TOOLS))
    elif facts.tools:
        parts.append(PromptPart("tools", _on_offer(facts.tools)))
    for skill in facts.skills:
        text = f"# Active skill: {folded(skill.name)}\n\n{skill.text}"
        parts.append(PromptPart(f"skill {folded(skill.name)}", text))
    parts.append(PromptPart("conversation", _conversation(facts)))
    if facts.version:
        model = f"You are the model {folded(facts.model)} in hubbub {folded(facts.version)}."
        parts.append(PromptPart("model", model))
    return parts


def documents_parts(documents: Sequence[Document]) -> list[PromptPart]:
    """Return identity documents as parts of a prompt."""
    return [PromptPart(one.name, f"# {folded(one.name)}\n\n{one.text}") for one in documents]


@lru_cache(64)  # a thread's requests differ in none of the facts
def system_prompt(facts: PromptFacts, *, with_tools: bool = True) -> str:
    """Return the system text as one: strict providers take one system message, at the beginning."""
    return "\n\n".join(part.text for part in system_parts(facts, with_tools=with_tools))


WITHOUT_TOOLS = "You can't use tools any more in this turn: say what was done and what is left, then stop."


def _conversation(facts: PromptFacts) -> str:
    place = "group" if facts.group else "direct"
    speaker = f"{quoted(facts.speaker.name)} ({facts.speaker.role.value})"
    said = f"You are talking with {speaker} in a {place} conversation on {folded(facts.channel)}."
    others = "Others read along; each message begins with its sender's name." if facts.group else ""
    return " ".join(filter(None, (said, others, facts.hint)))


def _on_offer(names: tuple[str, ...]) -> str:
    return f"Available tools: {', '.join(map(folded, names))}. A call may need a person's approval."


@lru_cache(4096)  # the same object each time, so that adapters recognize what they have written before
def time_note(minute: int, timezone: str) -> Note:
    """Return the note about the time when a turn took a message. `minute`: since the epoch, UTC."""
    moment = datetime.fromtimestamp(minute * 60, ZoneInfo(timezone))
    return Note(f"time: {moment:%A, %Y-%m-%d %H:%M} ({folded(timezone)})")


# The prompts of chat turns, and the tools that active skills leave them.


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """The parts of prompts that the operator sets. `models`: the providers' names of the configured models,
    by their own."""

    configured: str
    timezone: str
    version: str = ""
    models: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class TurnPrompt:
    """The prompt of one turn. `mode`: its calls are judged in it."""

    settings: PromptSettings
    facts: PromptFacts
    mode: Interactive

    def system(self, tools: tuple[str, ...], model: str, *, with_tools: bool) -> str:
        """Return the system text for a configured model."""
        return system_prompt(self._facts(tools, model), with_tools=with_tools)

    def parts(self, tools: tuple[str, ...], model: str) -> list[PromptPart]:
        """Return the parts of the same text."""
        return system_parts(self._facts(tools, model))

    def _facts(self, tools: tuple[str, ...], model: str) -> PromptFacts:
        return replace(self.facts, tools=tools, model=self.settings.models.get(model, model))


class ChatPrompts:
    """Maker of turns' prompts.

    `unattended`: the tools that need no approval, by person.
    `hint`: how a channel shows replies."""

    def __init__(
        self,
        settings: PromptSettings,
        texts: WorkspaceTexts,
        unattended: Callable[[Principal], Sequence[str]],
        hint: Callable[[str], str],
    ) -> None:
        self.settings = settings
        self._texts = texts
        self._unattended = unattended
        self._hint = hint

    async def of_turn(self, principal: Principal, channel: str, said: Sequence[UserSaid]) -> TurnPrompt:
        """Return the prompt of a turn about these messages of a person."""
        texts = await self._texts.current()
        skills = texts.skills_for(principal)
        active = chosen(skills, "\n".join(one.text for one in said)) if skills else ()
        only = narrowed(active, self._unattended(principal)) if active else None
        facts = PromptFacts(
            configured=self.settings.configured,
            speaker=principal,
            channel=channel,
            tools=(),
            group=any(one.sender for one in said),
            hint=self._hint(channel),
            version=self.settings.version,
            documents=texts.documents_for(principal),
            skills=active,
        )
        return TurnPrompt(self.settings, facts, Interactive(only))


# The model's view of a conversation: a pure function of its live entries.

DROPPED_NOTE = "Earlier parts of this conversation were left out because it is too long."
_OVERHEAD_TOKENS = 4
TIME_NOTE_TOKENS = 32
MINUTE_US = 60 * SECOND_US
CHARS_PER_TOKEN = 4


def build_conversation(entries: Sequence[Entry], limit_tokens: int, timezone: str) -> list[Said]:
    """Return the newest whole turns that fit, oldest first. The newest turn is always kept.

    A call and its result are never separated, because a turn is kept or left out as a whole. What people
    said in a turn is followed by the time of its arrival: it is the newest turn's variable fact, and stays
    as it is, so that the next request begins with all of this one.
    """
    if _surely_fits(entries, limit_tokens):
        return in_call_order(_dated(entries, timezone))
    turns = [list(group) for _, group in groupby(entries, key=lambda entry: entry.turn_id)]
    kept: list[list[Entry]] = []
    used_tokens = 0
    for turn in reversed(turns):
        tokens = TIME_NOTE_TOKENS + sum(estimate_tokens(entry.said) for entry in turn)
        if kept and used_tokens + tokens > limit_tokens:
            break
        kept.append(turn)
        used_tokens += tokens
    conversation = in_call_order(_dated([entry for turn in reversed(kept) for entry in turn], timezone))
    if len(kept) < len(turns):
        conversation.insert(0, Note(DROPPED_NOTE))
    return conversation


def _surely_fits(entries: Sequence[Entry], limit_tokens: int) -> bool:
    """Return whether all entries fit even at one token per character, as nearly every turn does."""
    return total_chars(entries) + (_OVERHEAD_TOKENS + 1 + TIME_NOTE_TOKENS) * len(entries) <= limit_tokens


def _dated(entries: Sequence[Entry], timezone: str) -> Iterator[Said]:
    """Yield the lines, with a note of the time after what people said in a row in one turn."""
    arrived: Entry | None = None
    for entry in entries:
        if arrived is not None and (not isinstance(entry.said, UserSaid) or entry.turn_id != arrived.turn_id):
            yield time_note(arrived.at // MINUTE_US, timezone)
        arrived = entry if isinstance(entry.said, UserSaid) else None
        yield entry.said
    if arrived is not None:
        yield time_note(arrived.at // MINUTE_US, timezone)


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
