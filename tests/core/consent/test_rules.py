"""Rules of approval: which one a call falls under, and where people are asked by it."""

import math
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.approvals import AdminPolicy, ApprovalSettings, LoopLimits, Preset
from core.consent.rules import DIRECT, HERE, ApprovalRule, ApprovalRules, Ask, EffectivePolicy, Policy
from core.gates import ConsentSettings, VoteRule
from core.tool import Requirement
from core.users import Principal, Role
from tests.core.consent.judged import judge, tool, word

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
        ("memoryless", ASK, ANN, ()),
        ("http", ALWAYS, ANN, ("always",)),
    ],
)
def test_the_first_rule_that_matches_counts(
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
            named("always", risk=Requirement.ALWAYS_ASK),
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
def test_approvers_are_asked_where_the_rule_says(rule: ApprovalRule, place: str) -> None:
    assert rule.asked_in("ann") == place


def test_a_gate_escalates_only_if_there_is_someone_to_ask() -> None:
    assert ApprovalRule(VoteRule(), escalate_after_s=60).escalates_at(5) is None
    assert ApprovalRule(VoteRule(escalate_to=("owner",)), escalate_after_s=1.5).escalates_at(5) == 1_500_005
    assert ApprovalRule(VoteRule(escalate_to=("owner",))).escalates_at(5) is None


# --- people's own settings are never looser than the admin policy ------------------------------------------

TOOLS = ("echo", "shell", "time")
tool_lists = st.frozensets(st.sampled_from(TOOLS))
limits = st.integers(1, 9)


settings = st.builds(
    ApprovalSettings,
    st.none() | st.sampled_from(Preset),
    st.none() | limits,
    st.none() | limits,
    st.none() | limits,
    st.none() | tool_lists,
    st.none() | tool_lists,
    st.none() | st.dictionaries(st.sampled_from(TOOLS), limits),
)
configured = st.builds(Policy, st.sampled_from(Preset), tool_lists, tool_lists)
OWN_S = {"echo": 3.0, "shell": 9.0, "time": 9.0}
USUAL_S = OWN_S | {"shell": 5.0}


class Laid:
    """An admin policy that does not change by itself."""

    def __init__(self, policy: AdminPolicy) -> None:
        self.policy = policy

    def current(self) -> AdminPolicy:
        return self.policy


def test_rules_in_force_follow_the_admin_policy_and_the_configuration_and_report_each_change() -> None:
    laid, told = Laid(AdminPolicy()), list[str]()
    rules = EffectivePolicy(Policy(), LoopLimits(), laid)
    rules.configure(Policy(), LoopLimits())  # nobody watches
    laid.policy = AdminPolicy(disabled=frozenset({"http"}))
    assert rules.policy().admin is laid.policy
    rules.watch(lambda: told.append("changed"))
    rules.policy()
    assert told == []
    laid.policy = AdminPolicy(disabled=frozenset({"shell"}))
    for _ in range(2):
        assert rules.policy().admin is laid.policy
        assert told == ["changed"]
    rules.configure(Policy(whitelist=frozenset({"shell"})), LoopLimits())
    assert rules.policy().whitelist == {"shell"}
    assert told == ["changed", "changed"]


def test_a_setting_that_stays_as_loose_as_it_was_is_not_refused() -> None:
    loose, strict = ApprovalSettings(preset=Preset.AUTO), ApprovalSettings(preset=Preset.MANUAL)
    rules = EffectivePolicy(Policy(), LoopLimits(), Laid(AdminPolicy(ceiling=strict)))
    assert rules.too_loose(OWNER, loose, loose) is None
    assert rules.too_loose(OWNER, loose, strict) == ("preset", Preset.MANUAL)


@given(configured, settings, settings, settings, settings, st.booleans())
def test_no_setting_of_a_person_or_conversation_is_looser_than_the_policy(
    policy: Policy,
    admin: ApprovalSettings,
    for_ann: ApprovalSettings,
    person: ApprovalSettings,
    thread: ApprovalSettings,
    member: bool,
) -> None:
    who, ceilings = (ANN, (for_ann, admin)) if member else (OWNER, (admin,))
    laid = Laid(AdminPolicy(ceiling=admin, ceiling_for={"ann": for_ann}))
    rules = EffectivePolicy(policy, LoopLimits(5, 5, 5), laid, {"shell": 5})
    standing = ConsentSettings(person=person, thread=thread)
    held = rules.in_force(who, standing)

    def loosest(name: str, usual: Any, any_value: Any) -> Any:
        said = (getattr(one, name) for one in ceilings)
        return next((one for one in said if one is not None), usual if member else any_value)

    preset = loosest("preset", policy.preset, Preset.AUTO)
    whitelist = loosest("whitelist", policy.whitelist, frozenset(TOOLS))
    dangerous = loosest("dangerous_tools", policy.dangerous_tools, frozenset())
    assert list(Preset).index(held.preset) <= list(Preset).index(preset)
    assert held.whitelist <= whitelist
    assert held.dangerous_tools >= dangerous
    for name in ("max_rounds", "max_tools", "loop_timeout_s"):
        assert getattr(held.limits, name) <= loosest(name, 5, math.inf)
    bound = Policy(preset, whitelist, dangerous)
    for name in TOOLS:
        said = [timeouts[name] for one in ceilings if name in (timeouts := one.tool_timeouts or {})]
        assert held.timeout_s(name, OWN_S[name]) <= [*said, USUAL_S[name] if member else math.inf][0]
        for requirement in Requirement:
            asked = partial(judge, tool(requirement, name), who=who)
            if word(asked(policy=rules.policy_for(who, standing))) == "run":
                assert word(asked(policy=bound)) == "run"
