"""What chat turns are made with: the hub's parts, and what the configuration says about turns."""

from dataclasses import dataclass
from typing import Protocol

from core.agent.allowance import GuestAllowance
from core.clock import Clock
from core.consent.rules import ApprovalRules
from core.conversation.elsewhere import Elsewhere
from core.events import TurnListener
from core.ids import Ids
from core.model.base import Model
from core.ports import OutboxListener
from core.prompts import VoteRule, Wrote
from core.safety.leaks import LeakDetector
from core.store.base import Store
from core.tools.pipeline import CallPipeline


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """What the configuration says about chat turns."""

    system_prompt: str
    timezone: str
    context_tokens: int
    reserve_tokens: int
    prompt_expires_after_s: int
    rule: VoteRule
    approvals: ApprovalRules


class ReplyHook(Protocol):
    """Whatever has a say in what models say."""

    async def transformed(self, text: str, user_id: str | None, thread_id: str | None) -> str:
        """The text as it is kept and told."""
        ...


class AnswerHook(Protocol):
    """Whatever has a say in what people write."""

    async def heard(self, text: str, user_id: str, thread_id: str, channel: str) -> Wrote | str:
        """Words that answer a question, as models may have them; or, as text, why they may not."""
        ...


@dataclass(frozen=True, slots=True)
class ChatServices:
    """What every chat turn works with. `tells_text`: whether replies are told while they are written, which
    nobody may see before hooks did."""

    store: Store
    model: Model
    pipeline: CallPipeline
    outbox: OutboxListener
    turns: TurnListener
    clock: Clock
    ids: Ids
    leaks: LeakDetector
    elsewhere: Elsewhere
    guests: GuestAllowance
    reply_hook: ReplyHook | None = None
    answer_hook: AnswerHook | None = None
    tells_text: bool = True
