"""The context of a model call: the system prompt of its thread, and the part of the conversation it is shown.

That part is a pure function of the live entries and the room. Everything is shown as long as it fits. Above a
threshold the results of older calls are shortened, and what still doesn't fit is left out by whole turns, the
oldest first. Compaction (core.runs.compaction) makes sure that this is rarely needed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from zoneinfo import ZoneInfo

from core import users
from core.clock import SECOND_US
from core.consent.rules import Interactive
from core.lazy import dataclass, replace
from core.messages import folded, quoted
from core.model.base import ModelRequest, ToolSpec, entry_tokens, prompt_tokens, said_tokens
from core.model.visible_text import SILENT_REPLY
from core.runs.workspace_texts import Document, Skill, WorkspaceTexts, chosen, narrowed
from core.safety.fencing import FENCE_RULE
from core.transcript import Entry, Note, Said, Summary, ToolResult, UserSaid, by_turn, in_call_order
from core.users import Preferences, Principal

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

    The time is in none of them but in the conversation (core.runs.context). `with_tools=False` selects
    the variant for a final answer."""
    parts = documents_parts(facts.documents)
    parts.append(PromptPart("system_prompt", facts.configured or DEFAULT_SYSTEM_PROMPT))
    parts.append(PromptPart("fence rule", FENCE_RULE))
    if not with_tools:
        parts.append(PromptPart("tools", WITHOUT_TOOLS))
    elif facts.tools:
        parts.append(PromptPart("tools", _on_offer(facts.tools)))
    parts += skills_parts(facts.skills)
    parts.append(PromptPart("conversation", _conversation(facts)))
    if facts.version:
        model = f"You are the model {folded(facts.model)} in hubbub {folded(facts.version)}."
        parts.append(PromptPart("model", model))
    return parts


def documents_parts(documents: Sequence[Document]) -> list[PromptPart]:
    """Return identity documents as parts of a prompt."""
    return [PromptPart(one.name, f"# {folded(one.name)}\n\n{one.text}") for one in documents]


def skills_parts(skills: Sequence[Skill]) -> list[PromptPart]:
    """Return active skills as parts of a prompt."""
    names = [folded(skill.name) for skill in skills]
    return [
        PromptPart(f"skill {name}", f"# Active skill: {name}\n\n{skill.text}")
        for name, skill in zip(names, skills, strict=True)
    ]


@lru_cache(64)  # a thread's requests differ in none of the facts
def system_prompt(facts: PromptFacts, *, with_tools: bool = True) -> str:
    """Return the system text as one: strict providers take one system message, at the beginning."""
    return "\n\n".join(part.text for part in system_parts(facts, with_tools=with_tools))


WITHOUT_TOOLS = "You can't use tools any more in this turn: say what was done and what is left, then stop."


def _conversation(facts: PromptFacts) -> str:
    place = "group" if facts.group else "direct"
    speaker = f"{quoted(facts.speaker.name)} ({facts.speaker.role.value})"
    said = f"You are talking with {speaker} in a {place} conversation on {folded(facts.channel)}."
    others = _AMONG_OTHERS if facts.group else ""
    return " ".join(filter(None, (said, others, facts.hint)))


_AMONG_OTHERS = (
    "Others read along; each message begins with its sender's name. If nothing needs an answer, reply with "
    f"exactly {SILENT_REPLY}: nothing is sent then."
)


def _on_offer(names: tuple[str, ...]) -> str:
    return f"Available tools: {', '.join(map(folded, names))}. A call may need a person's approval."


# The prompts of chat turns, and the tools that active skills leave them.


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """The parts of prompts that the operator sets. `models`: the providers' names of the configured models,
    by their own. `timezone`: of people who chose none."""

    configured: str
    timezone: str
    version: str = ""
    models: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class TurnPrompt:
    """The prompt of one turn, with settings in the person's time zone. `mode`: its calls are judged in it."""

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

    async def of_turn(
        self, principal: Principal, channel: str, said: Sequence[UserSaid], preferences: Preferences
    ) -> TurnPrompt:
        """Return the prompt of a turn about these messages of a person."""
        settings = self.settings
        if preferences.timezone is not None:
            zone = users.timezone_in_force(preferences.timezone, settings.timezone)
            settings = replace(settings, timezone=zone)
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
        return TurnPrompt(settings, facts, Interactive(only))


DROPPED_NOTE = "Earlier parts of this conversation were left out because it is too long."
MINUTE_US = 60 * SECOND_US
VERBATIM_TURNS = 10
"""The newest turns that are not summarized as long as they fit, and not shortened if that is enough."""
SHORTENED_EVERY_TURNS = 5
"""The steps in which older turns are shortened, so that most requests begin as the one before."""
RESULT_HEAD_CHARS, RESULT_TAIL_CHARS = 400, 200
"""The parts of an older call's result that stay."""


@dataclass(frozen=True, slots=True)
class Room:
    """The estimated tokens that a conversation may take in a request.

    `limit_tokens`: all of the room. `compact_tokens`: from here on the conversation is made shorter."""

    limit_tokens: int
    compact_tokens: int


NO_LIMIT = Room(10**12, 10**12)


@dataclass(frozen=True, slots=True)
class Window:
    """The lines that a model is shown. `tokens`: their estimate. `whole_tokens`: that of all lines, with
    older results shortened if there is a need to."""

    said: list[Said]
    tokens: int
    whole_tokens: int


def build_window(entries: Sequence[Entry], room: Room, timezone: str) -> Window:
    """Return the conversation as far as it fits, oldest first. The newest turn is always kept.

    A call and its result are never separated, because a turn is kept or left out as a whole. What people
    said in a turn is followed by the time of its arrival: it is the newest turn's variable fact, and stays
    as it is, so that the next request begins with all of this one."""
    tokens = whole_tokens = total_tokens(entries)
    if tokens > min(room.limit_tokens, room.compact_tokens):
        summary, turns = split(entries)
        turns = shortened(turns)
        whole_tokens = total_tokens(summary) + sum(map(total_tokens, turns))
        if whole_tokens > room.compact_tokens:
            turns = shortened(turns, whole=1)
            whole_tokens = total_tokens(summary) + sum(map(total_tokens, turns))
        leaves_out = whole_tokens > room.limit_tokens and len(turns) > 1
        note = [Entry(0, None, 0, Note(DROPPED_NOTE))] if leaves_out else []
        limit_tokens = room.limit_tokens - total_tokens([*summary, *note])
        turns = turns[len(turns) - (newest_that_fit(turns, limit_tokens) or 1) :]
        if len(turns) == 1:
            turns = [_squeezed(turns[0], limit_tokens)]
        entries = [*summary, *note, *(entry for turn in turns for entry in turn)]
        tokens = total_tokens(entries)
    return Window(in_call_order(_dated(entries, timezone)), tokens, whole_tokens)


_TOKENS = attrgetter("tokens")


def total_tokens(entries: Sequence[Entry]) -> int:
    """Return the estimated tokens of entries. Each entry is counted once."""
    for entry in entries:
        if not entry.tokens:
            entry_tokens(entry)
    return sum(map(_TOKENS, entries))


Turn = Sequence[Entry]


def split(entries: Sequence[Entry]) -> tuple[Sequence[Entry], list[Turn]]:
    """Return the summary that the entries begin with, if any, and their turns."""
    first = 1 if entries and isinstance(entries[0].said, Summary) else 0
    return entries[:first], list[Turn](by_turn(entries[first:]))


def newest_that_fit(turns: Sequence[Turn], limit_tokens: int, most: int = 10**9) -> int:
    """Return the number of newest turns that together take at most this number of tokens."""
    kept = used = 0
    for turn in reversed(turns[-most:]):
        used += total_tokens(turn)
        if used > limit_tokens:
            break
        kept += 1
    return kept


def shortened(turns: Sequence[Turn], whole: int = VERBATIM_TURNS) -> list[Turn]:
    """Return the turns with shorter results in those before the newest `whole`."""
    older = max(len(turns) - whole, 0) // SHORTENED_EVERY_TURNS * SHORTENED_EVERY_TURNS
    return [[*map(_shortened, turn)] for turn in turns[:older]] + list(turns[older:])


def is_due(entries: Sequence[Entry], room: Room) -> bool:
    """Return whether a conversation that takes too much of its room is to be made shorter now.

    As long as all of it fits, that is tried in the first, second, fourth, eighth … turn of those that are
    too many: after the first, a summary could not be had, and each try costs a model call."""
    summary, turns = split(entries)
    used, too_many = total_tokens(summary), 0
    for turn in shortened(turns, whole=1):
        used += total_tokens(turn)
        too_many += used > room.compact_tokens
    return used > room.limit_tokens or too_many & (too_many - 1) == 0


def _squeezed(turn: Turn, limit_tokens: int) -> Turn:
    """Return a turn with its older results shortened as far as it takes to fit."""
    lines, used = list(turn), total_tokens(turn)
    for place, entry in enumerate(lines):
        if used <= limit_tokens:
            break
        lines[place] = _shortened(entry)
        used -= entry.tokens - entry_tokens(lines[place])
    return lines


def _shortened(entry: Entry) -> Entry:
    said = entry.said
    short = RESULT_HEAD_CHARS + RESULT_TAIL_CHARS
    if not isinstance(said, ToolResult) or len(said.text) <= short + short // 2:
        return entry
    return _short_result(entry)


@lru_cache(512)  # the same object each time, so that it is counted and written once
def _short_result(entry: Entry) -> Entry:
    said = entry.said
    assert isinstance(said, ToolResult)  # noqa: S101 - its only caller has looked
    return replace(entry, said=replace(said, text=cut_in_the_middle(said.text)))


def cut_in_the_middle(
    text: str, head_chars: int = RESULT_HEAD_CHARS, tail_chars: int = RESULT_TAIL_CHARS
) -> str:
    """Return the beginning and the end of a longer text, with the number of characters left out."""
    left_out = len(text) - head_chars - tail_chars
    if left_out <= 0:
        return text
    mark = f"\n[{left_out:,} characters left out here by the hub]\n"
    return text[:head_chars] + mark + text[len(text) - tail_chars :]


def _dated(entries: Sequence[Entry], timezone: str) -> list[Said]:
    """Return the lines, with a note of the time after what people said in a row in one turn."""
    dated: list[Said] = []
    arrived: Entry | None = None
    for entry in entries:
        by_person = type(entry.said) is UserSaid
        if arrived is not None and (not by_person or entry.turn_id != arrived.turn_id):
            dated.append(time_note(arrived.at // MINUTE_US, timezone))
        arrived = entry if by_person else None
        dated.append(entry.said)
    if arrived is not None:
        dated.append(time_note(arrived.at // MINUTE_US, timezone))
    return dated


@lru_cache(4096)  # the same object each time, so that adapters recognize what they have written before
def time_note(minute: int, timezone: str) -> Note:
    """Return the note about the time when a turn took a message. `minute`: since the epoch, UTC."""
    moment = datetime.fromtimestamp(minute * 60, ZoneInfo(timezone))
    return Note(f"time: {moment:%A, %Y-%m-%d %H:%M} ({folded(timezone)})")


def tool_tokens(tools: Sequence[ToolSpec]) -> int:
    """Estimate the context tokens that the tools' descriptions take."""
    return sum(map(_TOKENS, tools))


def request_tokens(request: ModelRequest) -> int:
    """Estimate the tokens of a whole request."""
    said = request.conversation_tokens or sum(map(said_tokens, request.conversation))
    return prompt_tokens(request.system) + said + tool_tokens(request.tools)


# The command that makes a conversation shorter at once: the text that its turn begins with.

COMMAND = "/compact"


def compaction_focus(text: str) -> str | None:
    """Return what `/compact` is to keep above all, empty if the person named nothing; None for any other
    text. Commands are never input for the assistant, so no other turn begins with one."""
    if not text.lstrip().startswith("/"):
        return None
    command, *focus = text.split(maxsplit=1) or [""]
    return "".join(focus).strip() if command.lower().partition("@")[0] == COMMAND else None
