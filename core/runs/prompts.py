"""The prompts of chat turns: what one turn is told, and the tools its skills leave it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from core.consent.facts import Interactive
from core.runs.context import PromptFacts, PromptPart, system_parts, system_prompt
from core.runs.skills import chosen, narrowed
from core.runs.workspace_texts import WorkspaceTexts
from core.tools.pipeline import INTERACTIVE
from core.transcript import UserSaid
from core.users import Principal


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
        return TurnPrompt(self.settings, facts, INTERACTIVE if only is None else Interactive(only))
