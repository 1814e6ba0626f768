"""Rules of approval: which one a call falls under, and where people are asked by it."""

import pytest

from core.consent.facts import Ask
from core.consent.rules import DIRECT, HERE, ApprovalRule, ApprovalRules
from core.gates import VoteRule
from core.tool import Requirement
from core.users import Principal, Role

OWNER = Principal("owner", Role.OWNER, "Olivia")
ANN = Principal("ann", Role.MEMBER, "Ann")
ASK = Ask("", allow_always=True)
ALWAYS = Ask("", allow_always=False, requirement=Requirement.ALWAYS_ASK)
OPS = VoteRule(approvers=("owner", "ann"), quorum=2)


def named(name: str, **facts: object) -> ApprovalRule:
    """A rule that is told from others by whom it names."""
    return ApprovalRule(VoteRule(approvers=(name,)), **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "tool, ask, person, expected",
    [
        ("shell", ASK, ANN, ("member-shell",)),
        ("shell", ASK, OWNER, ("shell",)),
        ("shell", ALWAYS, ANN, ("always-shell",)),
        ("memory_write", ASK, ANN, ("memory",)),
        ("memorise", ASK, ANN, ()),
        ("http", ALWAYS, ANN, ()),
    ],
)
def test_the_first_rule_that_fits_counts(
    tool: str, ask: Ask, person: Principal, expected: tuple[str, ...]
) -> None:
    rules = ApprovalRules(
        ApprovalRule(VoteRule()),
        [
            named("always-shell", tool="shell", risk=Requirement.ALWAYS_ASK),
            named("member-shell", tool="shell", role=Role.MEMBER),
            named("shell", tool="shell"),
            named("memory", tool="memory_*"),
            named("late", tool="shell"),
        ],
        "owner",
    )
    assert rules.of(tool, ask, person).vote.approvers == expected


def test_only_the_owner_approves_tools_outside_a_role() -> None:
    rules = ApprovalRules(ApprovalRule(OPS), [], "owner")
    vote = rules.of("shell", Ask("", False, owner_only=True), ANN).vote
    assert (vote.approvers, vote.quorum) == (("owner",), 1)


@pytest.mark.parametrize(
    "rule, place",
    [
        (ApprovalRule(VoteRule()), HERE),
        (ApprovalRule(VoteRule(approvers=("ann",))), HERE),
        (ApprovalRule(VoteRule(not_requester=True)), DIRECT),
        (ApprovalRule(OPS), DIRECT),
        (ApprovalRule(OPS, ask_in=HERE), HERE),
        (ApprovalRule(VoteRule(), ask_in="slack:C1"), "slack:C1"),
    ],
)
def test_others_than_the_requester_are_asked_where_they_are(rule: ApprovalRule, place: str) -> None:
    assert rule.asked_in("ann") == place


def test_it_escalates_only_where_there_is_somebody_to_turn_to() -> None:
    assert ApprovalRule(VoteRule(), escalate_after_s=60).escalates_at(5) is None
    assert ApprovalRule(VoteRule(escalate_to=("owner",)), escalate_after_s=1.5).escalates_at(5) == 1_500_005
    assert ApprovalRule(VoteRule(escalate_to=("owner",))).escalates_at(5) is None
