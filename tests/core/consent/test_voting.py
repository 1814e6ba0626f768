"""Votes: any entitled refusal closes, enough approvals close, one answer a person, roles checked live."""

from dataclasses import replace

import pytest

from core.consent import card_texts, presses
from core.consent.presses import VoteCloses, VoteCounts, VoteRefused, VoteResult
from core.gates import (
    Answer,
    Chose,
    Gate,
    GateKind,
    GateState,
    Option,
    Options,
    Replies,
    Vote,
    VoteRule,
    Wrote,
)
from core.messages import Address
from core.store.rows import GateView, ThreadRow
from core.users import Principal, Role

OWNER = Principal("owner", Role.OWNER, "Olivia")
ANN = Principal("ann", Role.MEMBER, "Ann")
BOB = Principal("bob", Role.MEMBER, "Bob")
CHOICES = (Option.APPROVE, Option.DENY, Option.ALWAYS)


def judge_vote(on: GateView, voter: Principal, answer: Answer, now: int = 0) -> VoteResult:
    return presses.judge_vote(on, voter, answer, now)


def view(
    rule: VoteRule,
    *votes: tuple[str, Option],
    options: tuple[Option, ...] = CHOICES,
    replies: Replies | None = None,
    outcome: Option | None = None,
) -> GateView:
    gate = Gate(
        id="p",
        kind=GateKind.APPROVAL if replies is None else GateKind.QUESTION,
        thread_id="t",
        turn_id="n",
        call_id="c",
        requester_id="ann",
        title="May I?",
        detail="",
        offer=replies or Options(options),
        rule=rule,
        binding="b",
        created_at=0,
        expires_at=1,
        state=GateState.CLOSED if outcome else GateState.OPEN,
        outcome=outcome,
        outcome_text="Approved by Ann" if outcome else None,
    )
    thread = ThreadRow("t", "ann", "chat", "=7", Address("7"), "", 0, 0)
    return GateView(gate, tuple(Vote(user, user, option, 0) for user, option in votes), thread)


@pytest.mark.parametrize("voter", [ANN, OWNER])
@pytest.mark.parametrize("option", CHOICES)
def test_requester_and_owner_decide_by_default(voter: Principal, option: Option) -> None:
    assert judge_vote(view(VoteRule()), voter, option) == VoteCloses(option)


@pytest.mark.parametrize("option", CHOICES)
def test_after_the_deadline_no_answer_counts(option: Option) -> None:
    assert judge_vote(view(VoteRule()), ANN, option, now=0) == VoteCloses(option)
    assert judge_vote(view(VoteRule()), ANN, option, now=1) == VoteRefused(card_texts.TOO_LATE)
    assert judge_vote(view(VoteRule()), BOB, option, now=1) == VoteRefused(card_texts.NOT_ALLOWED_HERE)


def test_other_people_do_not_decide_by_default() -> None:
    assert isinstance(judge_vote(view(VoteRule()), BOB, Option.APPROVE), VoteRefused)


def test_a_settled_gate_tells_who_decided() -> None:
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


def test_a_quorum_counts_one_answer_per_person() -> None:
    rule = VoteRule(approvers=("ann", "bob", "owner"), quorum=2)
    assert judge_vote(view(rule), ANN, Option.APPROVE) == VoteCounts(1)
    once = view(rule, ("ann", Option.APPROVE))
    assert isinstance(judge_vote(once, ANN, Option.APPROVE), VoteRefused)
    assert judge_vote(once, BOB, Option.APPROVE) == VoteCloses(Option.APPROVE)


def test_a_denial_by_any_approver_closes_the_gate() -> None:
    rule = VoteRule(approvers=("ann", "bob", "owner"), quorum=3)
    assert judge_vote(view(rule, ("ann", Option.APPROVE)), BOB, Option.DENY) == VoteCloses(Option.DENY)


def test_always_counts_only_if_it_was_offered() -> None:
    plain = view(VoteRule(), options=(Option.APPROVE, Option.DENY))
    assert isinstance(judge_vote(plain, ANN, Option.ALWAYS), VoteRefused)


COLOURS = Replies(("red", "blue"), free_text=False)
ASKED_ANN = VoteRule(approvers=("ann",))


def test_a_question_takes_its_own_answers_and_no_others() -> None:
    asked = view(ASKED_ANN, replies=COLOURS)
    assert judge_vote(asked, ANN, Chose(1, "blue")) == VoteCloses(Chose(1, "blue"))
    for other in (Chose(2, "green"), Chose(0, "blue"), Wrote("blue"), *Option):
        assert isinstance(judge_vote(asked, ANN, other), VoteRefused), other


def test_a_question_may_take_any_text() -> None:
    asked = view(ASKED_ANN, replies=Replies((), free_text=True))
    assert judge_vote(asked, ANN, Wrote("approve")) == VoteCloses(Wrote("approve"))
    assert isinstance(judge_vote(asked, ANN, Option.APPROVE), VoteRefused)


@pytest.mark.parametrize("voter", [BOB, OWNER])
def test_only_the_person_asked_answers_a_question_and_others_see_why(voter: Principal) -> None:
    refused = judge_vote(view(ASKED_ANN, replies=COLOURS), voter, Chose(0, "red"))
    assert refused == VoteRefused("This question is for someone else.")


def test_an_approval_takes_no_text() -> None:
    assert isinstance(judge_vote(view(VoteRule()), ANN, Wrote("approve")), VoteRefused)


# --- roles as they are now ------------------------------------------------------------------------------

TEAM = VoteRule(approvers=("ann", "bob", "owner"), quorum=2)


def test_a_person_demoted_to_guest_cannot_decide_for_others() -> None:
    demoted = Principal("bob", Role.GUEST, "Bob")
    assert judge_vote(view(TEAM), demoted, Option.DENY) == VoteRefused(card_texts.NOT_ALLOWED_HERE)
    guest = Principal("ann", Role.GUEST, "Ann")
    assert judge_vote(view(VoteRule()), guest, Option.DENY) == VoteCloses(Option.DENY)  # their own call


def test_a_vote_of_a_person_who_has_lost_their_role_does_not_count() -> None:
    asked = view(TEAM, ("bob", Option.APPROVE))
    assert judge_vote(asked, ANN, Option.APPROVE) == VoteCloses(Option.APPROVE)
    demoted = replace(asked, votes=(replace(asked.votes[0], role=Role.GUEST),))
    assert judge_vote(demoted, ANN, Option.APPROVE) == VoteCounts(1)


# --- escalation -----------------------------------------------------------------------------------------

LATER_BOB = VoteRule(approvers=("ann",), escalate_to=("bob",))


def test_others_decide_once_the_gate_is_escalated() -> None:
    assert judge_vote(view(LATER_BOB), BOB, Option.APPROVE) == VoteRefused(card_texts.NOT_ALLOWED_HERE)
    escalated = replace(LATER_BOB, escalated=True)
    assert judge_vote(view(escalated), BOB, Option.APPROVE) == VoteCloses(Option.APPROVE)
    assert judge_vote(view(escalated), ANN, Option.DENY) == VoteCloses(Option.DENY)
    assert isinstance(judge_vote(view(escalated), OWNER, Option.DENY), VoteRefused)


def test_escalation_does_not_let_the_requester_decide() -> None:
    rule = VoteRule(approvers=("bob",), not_requester=True, escalate_to=("ann",), escalated=True)
    assert judge_vote(view(rule), ANN, Option.APPROVE) == VoteRefused(card_texts.REQUESTER_EXCLUDED)


def test_each_of_several_approvers_counts_once() -> None:
    rule = VoteRule(approvers=("ann", "bob", "owner"), quorum=3)
    assert judge_vote(view(rule), ANN, Option.APPROVE) == VoteCounts(2)
    assert judge_vote(view(rule, ("bob", Option.APPROVE)), ANN, Option.APPROVE) == VoteCounts(1)
    agreed = view(rule, ("bob", Option.APPROVE), ("owner", Option.APPROVE))
    assert judge_vote(agreed, ANN, Option.APPROVE) == VoteCloses(Option.APPROVE)


def test_a_denial_does_not_count_towards_the_quorum() -> None:
    """Such as one given before the question was another."""
    rule = VoteRule(approvers=("ann", "bob"), quorum=2)
    assert judge_vote(view(rule, ("bob", Option.DENY)), ANN, Option.APPROVE) == VoteCounts(1)


@pytest.mark.parametrize("answer", [Option.ALWAYS, Option.SESSION])
def test_tools_without_always_say_so(answer: Option) -> None:
    asked = view(VoteRule(), options=(Option.APPROVE, Option.DENY))
    assert judge_vote(asked, ANN, answer) == VoteRefused(card_texts.ALWAYS_NOT_OFFERED)


def test_an_answer_that_is_not_offered_is_refused() -> None:
    asked = view(VoteRule(), options=(Option.APPROVE, Option.DENY))
    assert judge_vote(asked, ANN, Option.CONTINUE) == VoteRefused(card_texts.NO_SUCH_GATE)
    assert judge_vote(asked, ANN, Wrote("yes")) == VoteRefused(card_texts.NO_SUCH_GATE)
    question = view(VoteRule(), replies=Replies(("red",), free_text=False))
    assert judge_vote(question, ANN, Option.ALWAYS) == VoteRefused(card_texts.ANSWER_THE_QUESTION)
