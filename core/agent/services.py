"""What chat turns are made with: the hub's parts, and what the configuration says about turns."""

from dataclasses import dataclass

from core.clock import Clock
from core.consent.rules import ApprovalRules
from core.conversation.elsewhere import Elsewhere
from core.events import TurnListener
from core.ids import Ids
from core.model.base import Model
from core.ports import OutboxListener
from core.prompts import VoteRule
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


@dataclass(frozen=True, slots=True)
class ChatServices:
    """What every chat turn works with."""

    store: Store
    model: Model
    pipeline: CallPipeline
    outbox: OutboxListener
    turns: TurnListener
    clock: Clock
    ids: Ids
    leaks: LeakDetector
    elsewhere: Elsewhere
