"""Votes: the effects of a person's answer to a gate, decided inside the transaction that accepts it.

The answer counts, settles the gate, edits its call, or is refused with a message to the person.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import assert_never

from core.consent import card_texts
from core.consent.cards import form_message, open_card, settled_card
from core.consent.decide import Wanted, covering
from core.gates import (
    Answer,
    Chose,
    Gate,
    GateKind,
    GateState,
    Grant,
    GrantScope,
    Option,
    Options,
    Replies,
    Wrote,
)
from core.ids import Ids
from core.lazy import dataclass
from core.messages import EDIT, ChoiceAnswer, EditForm, Message, Plain, plain
from core.store.accept import AcceptView, Verdict, refused
from core.store.effects import (
    AwaitCode,
    CastVote,
    CloseGate,
    EditCall,
    EditedCall,
    EditRefused,
    Effect,
    RecordGrant,
    Say,
)
from core.store.rows import GateView
from core.tool import Need
from core.users import Principal, Role


@dataclass(frozen=True, slots=True)
class VoteRefused:
    """An answer that does not count. `reason` is shown to the person."""

    reason: str


@dataclass(frozen=True, slots=True)
class VoteCounts:
    """An answer that counts. `missing` more approvals are needed."""

    missing: int


@dataclass(frozen=True, slots=True)
class VoteCloses:
    """An answer that settles the gate."""

    outcome: Answer


VoteResult = VoteRefused | VoteCounts | VoteCloses


_AGREEING = frozenset({Option.APPROVE, Option.ALWAYS, Option.SESSION})


def may_decide(view: GateView, voter: Principal) -> str | None:
    """Return None if the voter may answer this gate, else why not. Uses the voter's current role."""
    gate = view.gate
    if gate.rule.not_requester and voter.user_id == gate.requester_id:
        return card_texts.REQUESTER_EXCLUDED
    return None if _entitled(gate, voter.user_id, voter.role) else _not_theirs(gate)


def expired(gate: Gate, now: int) -> bool:
    """Return True if a gate's time is over by the hub's clock. No answer counts from then on, even if
    the gate is not closed yet."""
    return now >= gate.expires_at


def judge_vote(view: GateView, voter: Principal, answer: Answer, now: int) -> VoteResult:
    """Judge one answer. Any entitled refusal closes the gate, as do enough approvals; each person has
    one answer.

    `now`: the hub's clock in the transaction that records the answer."""
    gate = view.gate
    if gate.state is GateState.CLOSED:
        return VoteRefused(card_texts.already_settled(gate.outcome_text or ""))
    refusal = may_decide(view, voter)
    if refusal is not None:
        return VoteRefused(refusal)
    if expired(gate, now):
        return VoteRefused(card_texts.TOO_LATE)
    if not gate.takes(answer):
        return VoteRefused(_not_offered(gate, answer))
    if any(vote.user_id == voter.user_id for vote in view.votes):
        return VoteRefused(card_texts.ALREADY_VOTED)
    if answer not in _AGREEING:
        return VoteCloses(answer)
    missing = gate.rule.quorum - 1 - _approvals(view)
    return VoteCloses(answer) if missing <= 0 else VoteCounts(missing)


def _not_theirs(gate: Gate) -> str:
    question = gate.kind in {GateKind.QUESTION, GateKind.AUTH}
    return card_texts.NOT_YOUR_QUESTION if question else card_texts.NOT_ALLOWED_HERE


def _not_offered(gate: Gate, answer: Answer) -> str:
    if gate.kind in {GateKind.QUESTION, GateKind.AUTH}:
        return card_texts.ANSWER_THE_QUESTION
    return card_texts.ALWAYS_NOT_OFFERED if answer in _GRANTING else card_texts.NO_SUCH_GATE


def _entitled(gate: Gate, user_id: str, role: Role) -> bool:
    """Return True if the rule allows a person of this role to decide. A guest decides only on their
    own requests."""
    if role is Role.GUEST and user_id != gate.requester_id:
        return False
    rule = gate.rule
    if rule.escalated and user_id in rule.escalate_to:
        return True
    if rule.approvers:
        return user_id in rule.approvers
    return user_id == gate.requester_id or role is Role.OWNER


def _approvals(view: GateView) -> int:
    """Return the number of approvals by people who may still decide. A person who lost their role
    since does not count."""
    return sum(
        1 for vote in view.votes if vote.answer in _AGREEING and _entitled(view.gate, vote.user_id, vote.role)
    )


_NOT_ENTITLED = frozenset({card_texts.NOT_ALLOWED_HERE, card_texts.NOT_YOUR_QUESTION})


_GRANTING = frozenset({Option.ALWAYS, Option.SESSION})


_NO_SUCH_GATE = Verdict("refused: no such request", answer=card_texts.NO_SUCH_GATE)


class Decisions:
    """A judge of answers to gates. Pure except for new ids.

    `now`: microseconds UTC.
    `edit`: the event's edit of the call, if it changes its arguments."""

    def __init__(self, ids: Ids, now: int, edit: EditedCall | EditRefused | EditForm | None) -> None:
        self._ids = ids
        self._now = now
        self._edit = edit

    def press(self, event: ChoiceAnswer, view: AcceptView) -> Verdict:
        """Judge a pressed choice or a submitted form."""
        on = view.gate
        if on is None:
            return _NO_SUCH_GATE
        if event.choice == EDIT and event.form is None:
            return self._form(event, on, view)
        if _outdated(event, on.gate):
            return _stale(on.gate, by_form=event.form is not None)
        answer = _pressed(event, on.gate)
        if answer is None:
            return _NO_SUCH_GATE
        if event.form is not None and isinstance(on.gate.offer, Options):
            return self._edited(on, view, answer, by_text=False)
        return self.vote(on, view, answer, by_text=False)

    def replied(self, on: GateView, view: AcceptView) -> Verdict | None:
        """Judge a text that replies to a card. None if it is not about the call's arguments."""
        edit = self._edit
        if edit is None or isinstance(edit, EditForm):
            return None
        may = may_decide(on, view.principal) is None and not expired(on.gate, view.now)
        if isinstance(edit, EditRefused) and edit.outdated and may:
            return Verdict(f"refused: answer to {on.gate.id}", (Say(_anew(on.gate, edit.reason)),))
        return self._edited(on, view, Option.APPROVE, by_text=True)

    def _form(self, event: ChoiceAnswer, on: GateView, view: AcceptView) -> Verdict:
        """Answer a wish to edit the call with the form to fill in."""
        refusal = _edit_refusal(on, view, Option.APPROVE, self._edit)
        if refusal is not None or not isinstance(self._edit, EditForm):
            return Verdict(f"refused: change of {on.gate.id}", answer=refusal)
        outcome, form = f"form: {on.gate.id}", self._edit
        if event.opens_form:
            return Verdict(outcome, form=form)
        return Verdict(outcome, (Say(form_message(on.gate, form)),), answer=card_texts.REPLY_TO_CHANGE)

    def _edited(self, on: GateView, view: AcceptView, answer: Answer, *, by_text: bool) -> Verdict:
        """Edit the call and approve the result; earlier answers were to another call. If the call stays
        the same, it is approved as by its button."""
        edit = self._edit
        refusal = _edit_refusal(on, view, answer, edit)
        if refusal is not None or not isinstance(edit, EditedCall):
            said = (Say(plain(refusal)),) if by_text and refusal is not None else ()
            return Verdict(f"refused: answer to {on.gate.id}", said, answer=refusal)
        if edit.gate.binding == on.gate.binding:
            return self.vote(on, view, answer, by_text=by_text)
        changed = GateView(edit.gate, (), on.thread)
        verdict = self.vote(changed, view, answer, by_text=by_text, asked=on.gate.detail)
        closes = any(isinstance(effect, CloseGate) for effect in verdict.effects)
        if verdict.outcome.startswith("refused"):
            return verdict
        change = EditCall(edit, None if closes else open_card(edit.gate, editable=True))
        return replace(verdict, effects=(change, *verdict.effects))

    def named(self, view: AcceptView, option: Option, sent_at: int) -> Verdict:
        """Judge an answer that names its gate by id. `sent_at`: see InboundMessage."""
        # The answer must not reveal that another person's gate exists.
        if view.gate is None or may_decide(view.gate, view.principal) in _NOT_ENTITLED:
            return refused("no such request", card_texts.NO_SUCH_GATE)
        gate = view.gate.gate
        if option is not Option.DENY and _changed_after(gate, sent_at):
            return refused(f"answer to {gate.id}", card_texts.CHANGED_MEANWHILE)
        return self.vote(view.gate, view, option, by_text=True)

    def vote(
        self, on: GateView, view: AcceptView, answer: Answer, *, by_text: bool, asked: str | None = None
    ) -> Verdict:
        """Judge an answer to a gate.

        `by_text`: the result is sent as a message instead of shown at the pressed button.
        `asked`: the call's detail before the answer changed it."""
        result = judge_vote(on, view.principal, answer, view.now)
        gate = on.gate
        if isinstance(result, VoteCloses) and gate.link is not None and answer == gate.answer_at(0):
            said = (Say(plain(card_texts.SEND_CODE)),) if on.thread.id == _thread_id(view) else ()
            return Verdict(f"form: {gate.id}", (AwaitCode(gate.id), *said), answer=card_texts.SEND_CODE)
        match result:
            case VoteRefused(reason):
                said: tuple[Effect, ...] = (Say(plain(reason)),) if by_text else ()
                return Verdict(f"refused: answer to {gate.id}", said, answer=reason)
            case VoteCounts(missing):
                word = card_texts.vote_counted(missing)
                said = (Say(plain(word)),) if by_text else ()
                return Verdict(f"answer: {gate.id}", (CastVote(gate.id, answer), *said), answer=word)
            case VoteCloses(outcome):
                return self._close(on, view, outcome, by_text=by_text, asked=asked)
            case _:
                assert_never(result)

    def _close(
        self, on: GateView, view: AcceptView, outcome: Answer, *, by_text: bool, asked: str | None = None
    ) -> Verdict:
        gate = on.gate
        text = _outcome_line(outcome, view.principal.name)
        text = card_texts.edited_line(text) if asked is not None else text
        close = CloseGate(gate.id, outcome, text, settled_card(gate, text, asked))
        effects: tuple[Effect, ...] = (close,)
        # The answering person may not see a card in another conversation change.
        if by_text and (view.thread is None or view.thread.id != gate.thread_id):
            effects = (close, Say(plain(text)))
        if outcome in _GRANTING and gate.kind is GateKind.APPROVAL and gate.tool is not None:
            here = outcome is Option.SESSION
            grants = [
                Grant(
                    id=self._ids.row_id(),
                    user_id=gate.requester_id,
                    tool=gate.tool,
                    pattern=pattern,
                    scope=GrantScope.THREAD if here else GrantScope.USER,
                    thread_id=gate.thread_id if here else None,
                    granted_by=view.principal.user_id,
                    created_at=self._now,
                )
                for pattern in _patterns(gate)
            ]
            effects = (*map(RecordGrant, grants), *effects, *self._covered(grants, gate, view, outcome))
        return Verdict(f"answer: {gate.id}", effects, answer=text, plain=True)

    def _covered(
        self, grants: Sequence[Grant], settled: Gate, view: AcceptView, outcome: Answer
    ) -> Iterator[CloseGate]:
        """Return closings for the conversation's other open gates that the new grants cover."""
        text = _outcome_line(outcome, view.principal.name)
        for other in view.open_gates:
            gate = other.gate
            if gate.id == settled.id or not gate.takes(Option.ALWAYS) or gate.tool is None:
                continue
            needs = tuple(Need(pattern) for pattern in _patterns(gate) if pattern is not None)
            wanted = Wanted(gate.tool, bool(needs), needs, gate.requester_id, gate.thread_id)
            if covering(grants, wanted, self._now) and may_decide(other, view.principal) is None:
                yield CloseGate(gate.id, outcome, text, settled_card(gate, text))


def _thread_id(view: AcceptView) -> str | None:
    return None if view.thread is None else view.thread.id


def _patterns(gate: Gate) -> Sequence[str | None]:
    """Return the patterns that "always" would grant, each by itself. None: the whole tool."""
    return gate.pattern.split("\n") if gate.pattern else [None]


def _edit_refusal(
    on: GateView, view: AcceptView, answer: Answer, edit: EditedCall | EditRefused | EditForm | None
) -> str | None:
    """Return why the call may not be edited, or None if it may."""
    gate = on.gate
    if gate.state is GateState.CLOSED:
        return card_texts.already_settled(gate.outcome_text or "")
    refusal = may_decide(on, view.principal)
    if refusal is not None:
        return refusal
    if expired(gate, view.now):
        return card_texts.TOO_LATE
    if answer not in {Option.APPROVE, *_GRANTING}:
        return card_texts.EDIT_NEEDS_APPROVAL
    match edit:
        case None:
            return card_texts.NOTHING_TO_EDIT
        case EditRefused(reason):
            return reason
        case EditForm():
            return None
        case EditedCall():
            return None if edit.based_on == gate.binding else card_texts.CHANGED_MEANWHILE


def _changed_after(gate: Gate, sent_at: int) -> bool:
    """Return True if the gate was changed after the message was sent."""
    return gate.state is GateState.OPEN and not gate.was_asked_at(sent_at)


def _anew(gate: Gate, word: str) -> Message:
    """Return the current gate as a new card that begins with `word`. Replies to it refer to the
    current call."""
    card = open_card(gate, editable=True)
    return replace(card, blocks=(Plain(word), *card.blocks))


def _outdated(event: ChoiceAnswer, gate: Gate) -> bool:
    """Return True if the press answers an earlier version of the gate. A form without a choice cannot
    show which version it was for."""
    return event.choice == EDIT or gate.asked_something_else(event.choice)


def _stale(gate: Gate, *, by_form: bool) -> Verdict:
    """Refuse a button or form for a call that was changed since."""
    is_open = gate.state is GateState.OPEN
    changed = card_texts.FORM_OUTDATED if by_form else card_texts.CHANGED_MEANWHILE
    word = changed if is_open else card_texts.already_settled(gate.outcome_text or "")
    return Verdict(f"refused: answer to {gate.id}", answer=word)


def _pressed(event: ChoiceAnswer, gate: Gate) -> Answer | None:
    """Return the choice, or the words that a question accepts instead of one."""
    if event.form is not None and isinstance(gate.offer, Replies):
        return Wrote(event.form.strip()) if gate.offer.free_text and event.form.strip() else None
    return gate.answer_at(event.choice)


def _outcome_line(answer: Answer, name: str) -> str:
    """Return a gate's outcome as its cards and late answers show it."""
    match answer:
        case Option():
            return card_texts.outcome_line(answer, name)
        case Chose(_, label):
            return card_texts.chosen_line(label, name)
        case Wrote(text):
            return card_texts.written_line(text, name)
        case _:
            assert_never(answer)
