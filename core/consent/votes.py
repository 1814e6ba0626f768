"""Votes: the effect of a person's answer on a gate. Pure; the caller commits it."""

from core.consent import card_texts
from core.gates import Answer, Gate, GateKind, GateState, Option
from core.lazy_dataclass import dataclass
from core.store.rows import GateView
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

_GRANTING = frozenset({Option.ALWAYS, Option.SESSION})
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
