"""The system prompt of a thread's model calls."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from core.consent.rules import Interactive
from core.lazy_dataclass import dataclass
from core.lazy_module import LazyModule
from core.model.visible_text import SILENT_REPLY
from core.names import folded, quoted
from core.runs.skills import Skill, chosen, narrowed
from core.runs.workspace_texts import Document, WorkspaceTexts
from core.safety.fencing import FENCE_RULE
from core.transcript import UserSaid
from core.users import Preferences, Principal

if TYPE_CHECKING:
    from core import timezones
else:
    timezones = LazyModule("core.timezones")

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

    The time is in none of them but in the conversation (core.runs.window). `with_tools=False` selects
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
            zone = timezones.in_force(preferences.timezone, settings.timezone)
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
