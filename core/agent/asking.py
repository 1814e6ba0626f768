"""How a chat turn asks people: for consent, for an answer, what became of a call, whether to go on."""

from collections.abc import Sequence
from dataclasses import replace

from core import texts
from core.agent.services import ChatServices, ChatSettings
from core.clock import SECOND_US
from core.consent.cards import open_card
from core.consent.opening import reminded_at, unknown_outcome_prompt
from core.events import Step, StepState
from core.ports import OutboxRow
from core.prompts import Offer, Option, Options, Prompt, PromptKind, VoteRule
from core.store.rows import CallRow, Draft, TurnStart
from core.store.units import committed, patiently
from core.tools.pipeline import NeedsPerson, PutsQuestion


class Asking:
    """The prompts of one turn. After each the turn waits in the store, and is no longer this run's."""

    def __init__(self, services: ChatServices, settings: ChatSettings, start: TurnStart) -> None:
        self._services = services
        self._settings = settings
        self._start = start
        self._thread = start.thread

    async def about(self, call: CallRow, asked: NeedsPerson) -> None:
        """A person must agree to the call."""
        ask, requester = asked.ask, self._start.principal
        rule = self._settings.approvals.of(asked.tool.name, ask, requester)
        offer = Options(ask.options(rule.vote.quorum))
        prompt = self._prompt(PromptKind.APPROVAL, texts.approval_title(asked.tool.name, ask.reason), offer)
        prompt = replace(
            prompt,
            call_id=call.call_id,
            detail=asked.detail,
            rule=rule.vote,
            binding=asked.binding,
            tool=asked.tool.name,
            pattern=ask.pattern,
            escalate_at=rule.escalates_at(prompt.created_at),
        )
        editable = bool(asked.detail) and not asked.tool.sensitive
        copies = await self._services.elsewhere.cards(
            prompt, rule.place(requester.user_id), self._thread, editable=editable
        )
        await self._open(prompt, copies, editable=editable)
        self._tell(Step(call.call_id, asked.tool.name, StepState.WAITING))

    async def put(self, call: CallRow, puts: PutsQuestion) -> None:
        """The call is a question. Only who the turn is run for may answer."""
        prompt = self._prompt(PromptKind.QUESTION, puts.question.text, puts.question.replies)
        rule = VoteRule(approvers=(self._start.principal.user_id,))
        await self._open(replace(prompt, call_id=call.call_id, rule=rule, tool=puts.tool.name))
        self._tell(Step(call.call_id, puts.tool.name, StepState.WAITING))

    async def what_happened(self, call: CallRow) -> None:
        """The call was started and its outcome never recorded: the journal could not be written."""
        services = self._services
        prompt = unknown_outcome_prompt(
            call, self._thread.id, self._start.principal.user_id, services.clock.now(), services.ids
        )

        async def ask() -> tuple[OutboxRow, ...]:
            return await services.store.mark_unknown(call.call_id, prompt, [self._card(prompt)])

        await committed(patiently(ask, services.clock), services.outbox.outbox_ready)

    async def whether_to_go_on(self, reason: str) -> None:
        """The budget is used up; `reason` is a sentence."""
        offer = Options((Option.CONTINUE, Option.STOP))
        await self._open(self._prompt(PromptKind.CONTINUE, texts.continue_title(reason), offer))

    def _prompt(self, kind: PromptKind, title: str, offer: Offer) -> Prompt:
        now = self._services.clock.now()
        expires_at = now + self._settings.prompt_expires_after_s * SECOND_US
        return Prompt(
            id=self._services.ids.prompt_id(),
            kind=kind,
            thread_id=self._thread.id,
            turn_id=self._start.turn_id,
            call_id=None,
            requester_id=self._start.principal.user_id,
            title=title,
            detail="",
            offer=offer,
            rule=self._settings.rule,
            binding="",
            created_at=now,
            expires_at=expires_at,
            remind_at=reminded_at(now, expires_at),
        )

    async def _open(self, prompt: Prompt, copies: Sequence[Draft] = (), *, editable: bool = False) -> None:
        services = self._services

        async def ask() -> tuple[OutboxRow, ...]:
            return await services.store.ask_person(prompt, [self._card(prompt, editable=editable), *copies])

        await committed(patiently(ask, services.clock), services.outbox.outbox_ready)

    def _card(self, prompt: Prompt, *, editable: bool = False) -> Draft:
        thread, nonce = self._thread, self._services.ids.row_id()
        return Draft(
            thread.channel, thread.address, open_card(prompt, editable=editable), nonce, prompt_id=prompt.id
        )

    def _tell(self, event: Step) -> None:
        self._services.turns.turn_event(self._thread.id, self._start.turn_id, event)
