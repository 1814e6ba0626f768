"""What chat turns are made with: the hub's parts, and what the configuration says about turns."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol
from zoneinfo import ZoneInfo

from core.clock import SECOND_US, Clock
from core.consent.rules import ApprovalRules
from core.errors import AllowanceUsedUp
from core.events import TurnListener
from core.gates import VoteRule, Wrote
from core.ids import Ids
from core.model.base import Model
from core.people.notices import ApproverCopies
from core.ports import OutboxListener
from core.safety.leaks import LeakDetector
from core.store.port import Store
from core.store.units import patiently
from core.tools.pipeline import CallPipeline
from core.users import Principal, Role

# How much of the model those may use whom nobody knows.


class GuestAllowance:
    """Model calls of guests: `most` a day for each (0: any number), days being those of `timezone`.

    Counted before the call is made, so that a hub that is killed over and over gives away no more of them.
    """

    def __init__(self, store: Store, clock: Clock, timezone: str, most: int) -> None:
        self._store = store
        self._clock = clock
        self._zone = ZoneInfo(timezone)
        self._most = most

    async def take(self, principal: Principal) -> None:
        """Count one call for this person. Raises AllowanceUsedUp."""
        if principal.role is not Role.GUEST or not self._most:
            return
        now = datetime.fromtimestamp(self._clock.now() / SECOND_US, UTC)
        day = now.astimezone(self._zone).date().isoformat()
        count = self._store.count_model_call
        if not await patiently(lambda: count(principal.user_id, day, self._most), self._clock):
            raise AllowanceUsedUp(f"{self._most} model calls were made for this guest today")


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """What the configuration says about chat turns."""

    system_prompt: str
    timezone: str
    context_tokens: int
    reserve_tokens: int
    gate_expires_after_s: int
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
    elsewhere: ApproverCopies
    guests: GuestAllowance
    reply_hook: ReplyHook | None = None
    answer_hook: AnswerHook | None = None
    tells_text: bool = True
