"""The store as far as prompts are looked after that nobody answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from core.messages import Message, MessageRef
from core.ports import OutboxRow
from core.prompts import Prompt
from core.store.rows import Draft, PromptView, TurnStart


@dataclass(frozen=True, slots=True)
class Expired:
    """Prompts that ran out: turns that go on, and card edits that go out."""

    started: tuple[TurnStart, ...]
    outbox: tuple[OutboxRow, ...]


class Tending(Protocol):
    """Units and views as in core.store.base; times are microseconds UTC."""

    async def prompt_shown_as(self, channel: str, ref: MessageRef) -> tuple[str, int] | None:
        """The id of the open prompt that a message on a channel is a card of, and the position of the first
        choice it had when it was sent: another one than the prompt's if that was changed since."""
        ...

    async def expire_prompts(
        self, now: int, outcome_text: Callable[[Prompt], str], card: Callable[[Prompt], Message]
    ) -> Expired:
        """Close every open prompt past its time: an approval counts as denied (by nobody), a question as
        skipped, a continue or budget prompt as stop; an unknown outcome stays unknown, with no answer."""
        ...

    async def remind_prompts(self, now: int, reminder: Callable[[Prompt], Message]) -> tuple[OutboxRow, ...]:
        """Say `reminder`, once, wherever a card of an open prompt stands whose `remind_at` has come."""
        ...

    async def prompts_to_escalate(self, now: int) -> Sequence[PromptView]:
        """Open prompts whose `escalate_at` has come."""
        ...

    async def escalate_prompt(
        self, prompt_id: str, cards: Sequence[Draft], told: Draft
    ) -> tuple[OutboxRow, ...]:
        """Let those named in its rule decide an open prompt, too: `cards` go out to them, and `told` to the
        prompt's thread. Does nothing if that was done before."""
        ...
