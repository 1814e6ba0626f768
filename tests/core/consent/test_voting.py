"""Votes: any entitled refusal closes, enough approvals close, one answer a person, roles checked live."""

import pytest

from core.consent.voting import VoteCloses, VoteCounts, VoteRefused, judge_vote
from core.messages import Address
from core.prompts import Option, Prompt, PromptKind, PromptState, Vote, VoteRule
from core.store.accept import PromptView
from core.store.rows import ThreadRow
from core.users import Principal, Role

OWNER = Principal("owner", Role.OWNER, "Olivia")
ANN = Principal("ann", Role.MEMBER, "Ann")
BOB = Principal("bob", Role.MEMBER, "Bob")
CHOICES = (Option.APPROVE, Option.DENY, Option.ALWAYS)


def view(
    rule: VoteRule,
    *votes: tuple[str, Option],
    options: tuple[Option, ...] = CHOICES,
    outcome: Option | None = None,
) -> PromptView:
    prompt = Prompt(
        id="p",
        kind=PromptKind.APPROVAL,
        thread_id="t",
        turn_id="n",
        call_id="c",
        requester_id="ann",
        title="May I?",
        detail="",
        options=options,
        rule=rule,
        binding="b",
        created_at=0,
        expires_at=1,
        state=PromptState.CLOSED if outcome else PromptState.OPEN,
        outcome=outcome,
        outcome_text="Approved by Ann" if outcome else None,
    )
    thread = ThreadRow("t", "ann", "chat", "=7", Address("7"), "", 0, 0)
    return PromptView(prompt, tuple(Vote(user, user, option, 0) for user, option in votes), thread)


@pytest.mark.parametrize("voter", [ANN, OWNER])
@pytest.mark.parametrize("option", CHOICES)
def test_requester_and_owner_decide_by_default(voter: Principal, option: Option) -> None:
    assert judge_vote(view(VoteRule()), voter, option) == VoteCloses(option)


def test_others_do_not() -> None:
    assert isinstance(judge_vote(view(VoteRule()), BOB, Option.APPROVE), VoteRefused)


def test_a_settled_prompt_tells_who_decided() -> None:
    refused = judge_vote(view(VoteRule(), outcome=Option.APPROVE), ANN, Option.DENY)
    assert isinstance(refused, VoteRefused)
    assert "Approved by Ann" in refused.reason


def test_named_approvers_replace_requester_and_owner() -> None:
    rule = VoteRule(approvers=("bob",))
    assert judge_vote(view(rule), BOB, Option.APPROVE) == VoteCloses(Option.APPROVE)
    assert isinstance(judge_vote(view(rule), ANN, Option.APPROVE), VoteRefused)
    assert isinstance(judge_vote(view(rule), OWNER, Option.APPROVE), VoteRefused)


def test_the_requester_can_be_excluded() -> None:
    rule = VoteRule(approvers=("ann", "bob"), not_requester=True)
    assert isinstance(judge_vote(view(rule), ANN, Option.APPROVE), VoteRefused)
    assert judge_vote(view(rule), BOB, Option.DENY) == VoteCloses(Option.DENY)


def test_a_quorum_is_counted_one_answer_a_person() -> None:
    rule = VoteRule(approvers=("ann", "bob", "owner"), quorum=2)
    assert judge_vote(view(rule), ANN, Option.APPROVE) == VoteCounts(1)
    once = view(rule, ("ann", Option.APPROVE))
    assert isinstance(judge_vote(once, ANN, Option.APPROVE), VoteRefused)
    assert judge_vote(once, BOB, Option.APPROVE) == VoteCloses(Option.APPROVE)


def test_any_entitled_refusal_closes() -> None:
    rule = VoteRule(approvers=("ann", "bob", "owner"), quorum=3)
    assert judge_vote(view(rule, ("ann", Option.APPROVE)), BOB, Option.DENY) == VoteCloses(Option.DENY)


def test_always_must_be_offered() -> None:
    plain = view(VoteRule(), options=(Option.APPROVE, Option.DENY))
    assert isinstance(judge_vote(plain, ANN, Option.ALWAYS), VoteRefused)
