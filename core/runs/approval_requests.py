"""Gates of a chat turn: approvals, questions, unknown outcomes, and budget extensions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.clock import SECOND_US
from core.consent import card_texts
from core.consent.cards import fitting, open_card, reminded_at, unknown_outcome_gate
from core.consent.rules import ApprovalRule
from core.events import Step, StepState
from core.gates import AskedCall, Gate, GateKind, Offer, Option, Options, VoteRule, joint_binding
from core.ports import OutboxRow
from core.runs.services import ChatServices, ChatSettings
from core.store.engine import committed, patiently
from core.store.facets import SealedSecret
from core.store.rows import CallRow, Draft, TurnStart
from core.tools.pipeline import NeedsPerson, PutsQuestion


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that needs a person's decision, and the request for it."""

    call: CallRow
    needs: NeedsPerson


@dataclass(frozen=True, slots=True)
class _Card:
    """A gate to be opened, with its copies for other addresses."""

    gate: Gate
    copies: Sequence[Draft] = ()
    editable: bool = False


class ApprovalRequests:
    """The gates of one turn. After each of them the turn waits in the store and no longer runs here."""

    def __init__(self, services: ChatServices, settings: ChatSettings, start: TurnStart) -> None:
        self._services = services
        self._settings = settings
        self._start = start
        self._thread = start.thread

    async def about(self, asked: Sequence[Asked]) -> None:
        """Request approval of the first call.

        Later calls of the same reply share its card if the same people decide them by the same rule
        and the card can show each in full. Once someone chooses to decide one by one, each call gets a
        separate card."""
        first, *others = asked
        if first.call.answer is Option.ONE_BY_ONE:
            put = [first, *(one for one in others if one.call.answer is Option.ONE_BY_ONE)]
            await self._open(*[await self._single(one) for one in put])
        else:
            put = self._together(first, others)
            await self._open(await self._joint(put) if len(put) > 1 else await self._single(first))
        for one in put:
            self._tell(Step(one.call.call_id, one.needs.tool.name, StepState.WAITING))

    def _together(self, first: Asked, others: Sequence[Asked]) -> Sequence[Asked]:
        """Return the calls of a joint card. All of them share one rule and one approval requirement."""
        rule, requirement = self._rule(first), first.needs.ask.requirement
        same = [
            one
            for one in others
            if one.call.answer is None
            and one.needs.ask.requirement is requirement
            and self._rule(one) == rule
        ]
        whole = fitting([_shown(one) for one in (first, *same)])
        return [first, *same[: max(0, whole - 1)]]

    async def _joint(self, asked: Sequence[Asked]) -> _Card:
        calls = tuple(_shown(one) for one in asked)
        offer = Options((Option.APPROVE, Option.DENY, Option.ONE_BY_ONE))
        gate = self._gate(GateKind.APPROVAL, card_texts.joint_title(len(calls)), offer)
        binding = joint_binding(call.binding for call in calls)
        return await self._ruled(replace(gate, calls=calls, binding=binding), self._rule(asked[0]))

    async def _single(self, asked: Asked) -> _Card:
        ask, tool = asked.needs.ask, asked.needs.tool
        rule = self._rule(asked)
        offer = Options(ask.options(rule.vote.quorum))
        gate = replace(
            self._gate(GateKind.APPROVAL, card_texts.approval_title(tool.name, ask.reason), offer),
            call_id=asked.call.call_id,
            detail=asked.needs.detail,
            binding=asked.needs.binding,
            tool=tool.name,
            pattern=ask.pattern,
        )
        editable = bool(asked.needs.detail) and not tool.sensitive
        return await self._ruled(gate, rule, editable=editable)

    def _rule(self, asked: Asked) -> ApprovalRule:
        return self._settings.approvals.of(asked.needs.tool.name, asked.needs.ask, self._start.principal)

    async def _ruled(self, gate: Gate, rule: ApprovalRule, *, editable: bool = False) -> _Card:
        """Return the card of a gate under that rule, with its copies for other addresses."""
        gate = replace(gate, rule=rule.vote, escalate_at=rule.escalates_at(gate.created_at))
        place = rule.place(self._start.principal.user_id)
        copies = await self._services.elsewhere.cards(gate, place, self._thread, editable=editable)
        return _Card(gate, copies, editable)

    async def put(self, call: CallRow, puts: PutsQuestion) -> None:
        """Open the question that the call asks. Only the person for whom the turn runs may answer."""
        text = puts.question.text
        if puts.question.replies.secret in [kept.name for kept in await self._kept(puts)]:
            text = f"{text}\nIt replaces the secret stored under that name."
        gate = self._gate(GateKind.QUESTION, text, puts.question.replies)
        rule = VoteRule(approvers=(self._start.principal.user_id,))
        await self._open(_Card(replace(gate, call_id=call.call_id, rule=rule, tool=puts.tool.name)))
        self._tell(Step(call.call_id, puts.tool.name, StepState.WAITING))

    async def _kept(self, puts: PutsQuestion) -> Sequence[SealedSecret]:
        """Return the secrets in the vault if the question asks for one, else nothing."""
        return () if puts.question.replies.secret is None else await self._services.store.secrets.secrets()

    async def what_happened(self, call: CallRow) -> None:
        """Ask about a call that started but whose outcome was never recorded."""
        services = self._services
        requester_id, now = self._start.principal.user_id, services.clock.now()
        detail = services.pipeline.shown(call)
        gate = unknown_outcome_gate(call, detail, self._thread.id, requester_id, now, services.ids)

        async def ask() -> tuple[OutboxRow, ...]:
            return await services.store.recovery.mark_unknown(call.call_id, gate, [self._card(gate)])

        await committed(patiently(ask, services.clock), services.outbox.outbox_ready)

    async def whether_to_go_on(self, reason: str) -> None:
        """Ask whether to continue after the budget is used up. `reason` is a sentence."""
        offer = Options((Option.CONTINUE, Option.STOP))
        await self._open(_Card(self._gate(GateKind.CONTINUE, card_texts.continue_title(reason), offer)))

    def _gate(self, kind: GateKind, title: str, offer: Offer) -> Gate:
        now = self._services.clock.now()
        expires_at = now + self._settings.gate_expires_after_s * SECOND_US
        return Gate(
            id=self._services.ids.gate_id(),
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

    async def _open(self, first: _Card, *others: _Card) -> None:
        """Open all cards in one transaction."""
        services, cards = self._services, (first, *others)

        async def ask() -> tuple[OutboxRow, ...]:
            shown = [
                draft
                for card in cards
                for draft in (self._card(card.gate, editable=card.editable), *card.copies)
            ]
            beside = [card.gate for card in others]
            return await services.store.turns.ask_person(first.gate, shown, beside=beside)

        await committed(patiently(ask, services.clock), services.outbox.outbox_ready)

    def _card(self, gate: Gate, *, editable: bool = False) -> Draft:
        thread, nonce = self._thread, self._services.ids.row_id()
        return Draft(
            thread.channel, thread.address, open_card(gate, editable=editable), nonce, gate_id=gate.id
        )

    def _tell(self, event: Step) -> None:
        self._services.turns.turn_event(self._thread.id, self._start.turn_id, event)


def _shown(asked: Asked) -> AskedCall:
    needs = asked.needs
    return AskedCall(asked.call.call_id, needs.tool.name, needs.ask.reason, needs.detail, needs.binding)
