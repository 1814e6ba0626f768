"""Gates of a chat turn: approvals, questions, unknown outcomes, and budget extensions; and the outcomes that
people's answers give to calls."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from core.clock import SECOND_US
from core.consent import card_texts
from core.consent.cards import fitting, open_card, reminded_at, unknown_outcome_gate
from core.consent.rules import ApprovalRule
from core.errors import SignInFailed, SignInRequired
from core.events import Step, StepState
from core.gates import (
    AskedCall,
    Chose,
    Gate,
    GateKind,
    Offer,
    Option,
    Options,
    Replies,
    VoteRule,
    Wrote,
    joint_binding,
)
from core.ids import sign_in_name
from core.lazy import dataclass
from core.messages import quoted
from core.ports import OutboxRow
from core.runs.loop import Paused
from core.runs.services import ChatServices, ChatSettings
from core.runs.tool_calls import Asked
from core.store.facets import SealedSecret
from core.store.rows import CallRow, CallState, Draft, TurnStart
from core.store.units import committed, patiently
from core.tools.pipeline import PutsQuestion
from core.transcript import ResultStatus, ToolResult
from core.users import Role

# Results made from people's words: an answer to a question, no answer in time, or edited arguments.
#
# A person's own words are not tool output: the model reads them as it reads messages, unfenced.

SIGN_IN_IN_PRIVATE = (
    "the person must sign in first, which is only possible in a private conversation with me."
)
HELD_BACK = "Not answered: the reply was withheld ({reason}). Do not assume any answer."
NOT_ANSWERED = "Not answered: no one replied to the question in time. Do not assume any answer."


def reply_result(call: CallRow) -> ToolResult | None:
    """Return the result of an answered or expired question. None for other calls and open questions."""
    match call.state, call.answer:
        case CallState.APPROVED, Chose(_, label):
            return _replied(call, f"{_who(call)} chose: {label}")
        case CallState.APPROVED, Wrote(text):
            return _replied(call, f"{_who(call)} answered: {text}")
        case CallState.DENIED, Option.SKIP:
            return ToolResult(call.call_id, ResultStatus.CANCELLED, NOT_ANSWERED)
        case _:
            return None


def held_back(call: CallRow, reason: str) -> ToolResult:
    """Return the result of a question whose answer a hook refused."""
    return ToolResult(call.call_id, ResultStatus.CANCELLED, HELD_BACK.format(reason=reason))


def denied(call: CallRow) -> ToolResult:
    """Return the result of a call that a person denied."""
    why = "no one signed in" if call.answer is Option.NOT_SIGNED_IN else f"denied by {_who(call, 'no one')}"
    return ToolResult(call.call_id, ResultStatus.DENIED, f"Not run: {why}.")


def unknown(call: CallRow) -> ToolResult:
    """Return the result of an interrupted call, with a person's statement about it if there is one."""
    interrupted = f"The hub was interrupted while {call.tool} ran; it may or may not have taken effect."
    match call.answer:
        case Option.HAPPENED:
            status = ResultStatus.UNKNOWN
            said = f"{_who(call)} confirmed that it happened. Its output is lost."
        case Option.SKIP:
            status, said = ResultStatus.SKIPPED, f"{_who(call)} decided not to run it again."
        case _:
            status, said = ResultStatus.UNKNOWN, "No one has checked yet."
    return ToolResult(call.call_id, status, f"{interrupted} {said}")


def _replied(call: CallRow, text: str) -> ToolResult:
    return ToolResult(call.call_id, ResultStatus.OK, text)


def _who(call: CallRow, otherwise: str = "The person") -> str:
    return quoted(call.answered_by) if call.answered_by else otherwise


@dataclass(frozen=True, slots=True)
class _Card:
    """A gate to be opened, with its copies for other addresses."""

    gate: Gate
    copies: Sequence[Draft] = ()
    editable: bool = False


class ApprovalRequests:
    """The gates of one turn, as core.runs.tool_calls.CallPeople. After each of them the turn waits in the
    store and no longer runs here.

    `in_private`: returns whether no one else reads the conversation.
    `narrative`: returns the text that the model wrote with the call of that id.
    """

    def __init__(
        self,
        services: ChatServices,
        settings: ChatSettings,
        start: TurnStart,
        in_private: Callable[[], bool],
        narrative: Callable[[str], str],
    ) -> None:
        self._services = services
        self._settings = settings
        self._start = start
        self._thread = start.thread
        self._in_private = in_private
        self._narrative = narrative

    async def decided(self, call: CallRow) -> CallRow | ToolResult | Paused:
        # A hook may change or hold back a written answer first.
        if self._services.answer_hook is not None and isinstance(call.answer, Wrote):
            heard = await self._services.answer_hook.heard(
                call.answer.text, self._start.principal.user_id, self._thread.id, self._thread.channel
            )
            if isinstance(heard, str):
                return held_back(call, heard)
            call = replace(call, answer=heard)
        replied = reply_result(call)
        if replied is not None:
            return replied
        match call.state:
            case CallState.DENIED:
                return denied(call)
            case CallState.RUNNING:
                return await self.what_happened(call)
            case CallState.UNKNOWN if call.answer is not Option.RETRY:
                return unknown(call)
            case CallState.ENDED:
                return ToolResult(call.call_id, ResultStatus.CANCELLED, "Not run.")
            case _:
                return call

    async def approval(self, asked: Sequence[Asked]) -> Paused:
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
        return Paused()

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
        whole = fitting([_shown(one, self._narrative(one.call.call_id)) for one in (first, *same)])
        return [first, *same[: max(0, whole - 1)]]

    async def _joint(self, asked: Sequence[Asked]) -> _Card:
        reasons = [self._narrative(one.call.call_id) for one in asked]
        shared = len(set(reasons)) == 1
        calls = tuple(_shown(one, "" if shared else own) for one, own in zip(asked, reasons, strict=True))
        narrative = reasons[0] if shared else ""
        offer = Options((Option.APPROVE, Option.DENY, Option.ONE_BY_ONE))
        gate = self._gate(GateKind.APPROVAL, card_texts.joint_title(len(calls), narrative), offer)
        binding = joint_binding(call.binding for call in calls)
        return await self._ruled(replace(gate, calls=calls, binding=binding), self._rule(asked[0]))

    async def _single(self, asked: Asked) -> _Card:
        ask, tool = asked.needs.ask, asked.needs.tool
        rule = self._rule(asked)
        title = card_texts.approval_title(asked.needs.action, ask.reason, self._narrative(asked.call.call_id))
        offer = Options(ask.options(rule.vote.quorum))
        gate = replace(
            self._gate(GateKind.APPROVAL, title, offer),
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
        asked_in = rule.asked_in(self._start.principal.user_id)
        copies = await self._services.approver_copies.cards(gate, asked_in, self._thread, editable=editable)
        return _Card(gate, copies, editable)

    async def question(self, call: CallRow, puts: PutsQuestion) -> ToolResult | Paused:
        """Open the question that the call asks. Only the person for whom the turn runs may answer."""
        if puts.question.replies.secret is not None and (refusal := self._unfit_for_secrets()) is not None:
            return ToolResult(call.call_id, ResultStatus.DENIED, refusal)
        text = puts.question.text
        if puts.question.replies.secret in [kept.name for kept in await self._kept(puts)]:
            text = f"{text}\nIt replaces the secret stored under that name."
        gate = self._gate(GateKind.QUESTION, text, puts.question.replies)
        rule = VoteRule(approvers=(self._start.principal.user_id,))
        await self._open(_Card(replace(gate, call_id=call.call_id, rule=rule, tool=puts.tool.name)))
        self._tell(Step(call.call_id, puts.tool.name, StepState.WAITING))
        return Paused()

    async def sign_in(self, call: CallRow, tool: str, needed: SignInRequired) -> ToolResult | Paused:
        """Open the gate at which the person signs in: with a link, or for a token that they send."""
        services, server = self._services, needed.server
        user_id, lasts_s = self._start.principal.user_id, self._settings.gate_expires_after_s
        sign_ins = services.pipeline.sign_ins
        if sign_ins is None or not self._in_private():
            return _not_run(call, f"{SIGN_IN_IN_PRIVATE} Server: {server}.")
        if await services.store.sign_ins.signed_in_for(call.call_id):
            return _not_run(call, f"{server} refuses it although the person signed in.")
        try:
            begun = await sign_ins.begin(needed, user_id, lasts_s)
        except SignInFailed as error:
            return _not_run(call, f"signing in to {server} is not possible. {error}")
        labels = (card_texts.CANCEL,) if begun is None else (card_texts.HAVE_CODE, card_texts.CANCEL)
        replies = Replies(labels, free_text=True, secret=sign_in_name(server, user_id))
        gate = replace(
            self._gate(GateKind.AUTH, card_texts.sign_in_title(server, tool), replies),
            call_id=call.call_id,
            rule=VoteRule(approvers=(user_id,)),
            tool=tool,
        )
        if begun is not None:
            gate = replace(gate, id=begun.attempt.id, link=begun.link)
        attempt = None if begun is None else begun.attempt

        async def ask() -> tuple[OutboxRow, ...]:
            return await services.store.sign_ins.ask_to_sign_in(gate, [self._card(gate)], attempt)

        await committed(patiently(ask, services.clock), services.outbox.outbox_ready)
        self._tell(Step(call.call_id, tool, StepState.WAITING))
        return Paused()

    def _unfit_for_secrets(self) -> str | None:
        """Return the reason for not asking for a credential here, or None if it may be asked for."""
        if self._start.principal.role is not Role.OWNER:
            return "Not asked: only the owner has a vault."
        if not self._in_private():
            return (
                "Not asked: other people can read this conversation. The person can ask for this in private."
            )
        return None

    async def _kept(self, puts: PutsQuestion) -> Sequence[SealedSecret]:
        """Return the secrets in the vault if the question asks for one, else nothing."""
        return () if puts.question.replies.secret is None else await self._services.store.secrets.secrets()

    async def what_happened(self, call: CallRow) -> Paused:
        """Ask about a call that started but whose outcome was never recorded."""
        services = self._services
        requester_id, now = self._start.principal.user_id, services.clock.now()
        detail = services.pipeline.shown(call)
        gate = unknown_outcome_gate(call, detail, self._thread.id, requester_id, now, services.ids)

        async def ask() -> tuple[OutboxRow, ...]:
            return await services.store.recovery.mark_unknown(call.call_id, gate, [self._card(gate)])

        await committed(patiently(ask, services.clock), services.outbox.outbox_ready)
        return Paused()

    async def whether_to_go_on(self, reason: str) -> None:
        """Ask whether to continue after the budget is used up. `reason` is a sentence."""
        offer = Options((Option.CONTINUE, Option.STOP))
        await self._open(_Card(self._gate(GateKind.CONTINUE, card_texts.continue_title(reason), offer)))

    async def whether_to_spend(self, reason: str) -> None:
        """Ask the owner whether the turn may exceed a budget. `reason` is a sentence."""
        offer = Options((Option.CONTINUE, Option.STOP))
        gate = self._gate(GateKind.BUDGET, card_texts.budget_title(reason), offer)
        await self._open(await self._ruled(gate, self._settings.spending))

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


def _not_run(call: CallRow, why: str) -> ToolResult:
    return ToolResult(call.call_id, ResultStatus.DENIED, f"Not run: {why}")


def _shown(asked: Asked, models_reason: str) -> AskedCall:
    """Return one of several calls as people see it. `models_reason`: its own, if they differ."""
    needs = asked.needs
    reason = f"{needs.ask.reason}{card_texts.models_reason(models_reason)}"
    return AskedCall(asked.call.call_id, needs.tool.name, reason, needs.detail, needs.binding)
