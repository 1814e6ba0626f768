"""What a person's answer to a prompt does. Pure: the caller commits it."""

from dataclasses import dataclass

from core import texts
from core.prompts import Option, PromptState, Vote
from core.store.accept import PromptView
from core.users import Principal, Role


@dataclass(frozen=True, slots=True)
class VoteRefused:
    """The answer does not count; `reason` is told to the person."""

    reason: str


@dataclass(frozen=True, slots=True)
class VoteCounts:
    """The answer counts, and `missing` more approvals are needed."""

    missing: int


@dataclass(frozen=True, slots=True)
class VoteCloses:
    """The answer settles the prompt."""

    outcome: Option


VoteResult = VoteRefused | VoteCounts | VoteCloses

_AGREEING = frozenset({Option.APPROVE, Option.ALWAYS})


def may_decide(view: PromptView, voter: Principal) -> str | None:
    """None if the voter may answer this prompt, else why not. Looks at the voter's role as it is now."""
    prompt = view.prompt
    if prompt.rule.not_requester and voter.user_id == prompt.requester_id:
        return texts.REQUESTER_EXCLUDED
    if prompt.rule.approvers:
        return None if voter.user_id in prompt.rule.approvers else texts.NOT_ALLOWED_HERE
    if voter.user_id == prompt.requester_id or voter.role is Role.OWNER:
        return None
    return texts.NOT_ALLOWED_HERE


def judge_vote(view: PromptView, voter: Principal, option: Option) -> VoteResult:
    """Count one answer: any entitled refusal closes, as do enough approvals; one answer per person."""
    prompt = view.prompt
    if prompt.state is PromptState.CLOSED:
        return VoteRefused(texts.already_settled(prompt.outcome_text or ""))
    refusal = may_decide(view, voter)
    if refusal is not None:
        return VoteRefused(refusal)
    if option not in prompt.options:
        always = option is Option.ALWAYS
        return VoteRefused(texts.ALWAYS_NOT_OFFERED if always else texts.NO_SUCH_PROMPT)
    if any(vote.user_id == voter.user_id for vote in view.votes):
        return VoteRefused(texts.ALREADY_VOTED)
    if option not in _AGREEING:
        return VoteCloses(option)
    missing = prompt.rule.quorum - 1 - _approvals(view.votes)
    return VoteCloses(option) if missing <= 0 else VoteCounts(missing)


def _approvals(votes: tuple[Vote, ...]) -> int:
    return sum(1 for vote in votes if vote.option in _AGREEING)
