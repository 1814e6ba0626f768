"""The services and settings that chat turns use."""

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
from core.people.notices import ApproverCopies
from core.ports import AttachmentSource, OutboxListener
from core.runs.context import ChatPrompts
from core.runs.model_list import ModelList
from core.safety.leaks import LeakDetector
from core.store.port import People, Store
from core.store.units import patiently
from core.tools.pipeline import CallPipeline
from core.users import Principal, Role

# The daily limit on guests' use of the model.


class GuestAllowance:
    """The daily limit on each guest's model calls: `most` a day in `timezone`, or unlimited if 0.

    A call is counted before it is made, so repeated kills of the hub cannot raise the limit.
    """

    def __init__(self, people: People, clock: Clock, timezone: str, most: int) -> None:
        self._people = people
        self._clock = clock
        self._zone = ZoneInfo(timezone)
        self._most = most

    async def take(self, principal: Principal) -> None:
        """Count one call for this person. Raises AllowanceUsedUp if they have none left."""
        if principal.role is not Role.GUEST or not self._most:
            return
        now = datetime.fromtimestamp(self._clock.now() / SECOND_US, UTC)
        day = now.astimezone(self._zone).date().isoformat()
        count = self._people.count_model_call
        if not await patiently(lambda: count(principal.user_id, day, self._most), self._clock):
            raise AllowanceUsedUp(f"this guest has used the daily limit of {self._most} model calls")


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """The configuration of chat turns.

    `context_tokens`: conversations are kept below it, also where a model's window is larger."""

    context_tokens: int
    reserve_tokens: int
    temperature: float
    gate_expires_after_s: int
    rule: VoteRule
    approvals: ApprovalRules


class ReplyHook(Protocol):
    """A hook that may change model replies."""

    async def transformed(self, text: str, user_id: str | None, thread_id: str | None) -> str:
        """Return the text as it is stored and shown."""
        ...


class AnswerHook(Protocol):
    """A hook that may change or refuse people's answers."""

    async def heard(self, text: str, user_id: str, thread_id: str, channel: str) -> Wrote | str:
        """Return an answer as the model may see it, or, as a string, the reason for refusing it."""
        ...


@dataclass(frozen=True, slots=True)
class ChatServices:
    """The services of every chat turn.

    `images`: the source of attached images; None if no model sees them.
    `tells_text`: whether text is streamed as it is written. It must be False if hooks need to see the
    text first."""

    store: Store
    models: ModelList
    pipeline: CallPipeline
    outbox: OutboxListener
    turns: TurnListener
    clock: Clock
    ids: Ids
    leaks: LeakDetector
    approver_copies: ApproverCopies
    guests: GuestAllowance
    prompts: ChatPrompts
    images: AttachmentSource | None = None
    reply_hook: ReplyHook | None = None
    answer_hook: AnswerHook | None = None
    tells_text: bool = True
