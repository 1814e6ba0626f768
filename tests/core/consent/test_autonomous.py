"""decide(): runs with nobody there stay in their scope."""

import pytest

from core.approvals import AdminPolicy, Preset
from core.consent.roles import RolePolicy
from core.consent.rules import Autonomous, Deny, Policy, ScopeGrant
from core.tool import Requirement, Risk
from tests.core.consent.judged import MEMBER, grant, judge, tool, word

# requirement, scopes, denylisted, explicit grants: the answer
IN, OUT = frozenset({"tool", "x"}), frozenset({"x"})

AUTONOMOUS: list[tuple[str, tuple[frozenset[str], ...], bool, tuple[str, ...], str]] = [
    ("never", (), False, (), "run"),
    ("never", (), True, (), "no"),
    ("never", (IN,), False, (), "run"),
    ("never", (IN,), True, (), "no"),
    ("never", (OUT,), False, (), "no"),
    ("never", (IN, IN), False, (), "run"),
    ("never", (IN, OUT), False, (), "no"),
    ("never", (OUT, IN), False, (), "no"),
    ("never", (frozenset(),), False, (), "no"),
    ("ask", (), False, (), "no"),
    ("ask", (), False, ("*",), "no"),
    ("ask", (IN,), False, (), "run"),
    ("ask", (IN,), True, (), "no"),
    ("ask", (OUT,), False, (), "no"),
    ("ask", (IN, OUT), False, (), "no"),
    ("ask", (IN, IN), False, (), "run"),
    ("always_ask", (), False, ("*",), "no"),
    ("always_ask", (IN,), False, (), "no"),
    ("always_ask", (IN,), False, ("*",), "run"),
    ("always_ask", (IN,), False, ("rm a",), "run"),
    ("always_ask", (IN,), False, ("rm *",), "run"),
    ("always_ask", (IN,), False, ("rm b",), "no"),
    ("always_ask", (IN,), True, ("*",), "no"),
    ("always_ask", (OUT,), False, ("*",), "no"),
    ("always_ask", (IN, OUT), False, ("*",), "no"),
    ("always_ask", (IN, IN), False, ("*",), "run"),
]


@pytest.mark.parametrize("requirement,scopes,denylisted,patterns,answer", AUTONOMOUS)
def test_autonomous_runs_stay_in_scope_under_every_preset(
    requirement: str,
    scopes: tuple[frozenset[str], ...],
    denylisted: bool,
    patterns: tuple[str, ...],
    answer: str,
) -> None:
    mode = Autonomous(scopes, tuple(ScopeGrant("tool", pattern) for pattern in patterns))
    risk = Risk(Requirement.NEVER, pattern="rm a")
    for preset in Preset:
        policy = Policy(preset=preset, denylist=frozenset({"tool"} if denylisted else set[str]()))
        decision = judge(tool(requirement), risk=risk, mode=mode, policy=policy, grants=(grant(pattern="*"),))
        assert word(decision) == {"no": "autonomous_unavailable"}.get(answer, answer), preset


def test_an_explicit_grant_of_another_tool_does_not_count() -> None:
    mode = Autonomous((IN,), (ScopeGrant("x", "*"),))
    assert word(judge(tool("always_ask"), mode=mode)) == "autonomous_unavailable"


def test_an_autonomous_run_of_a_member_asks_no_owner() -> None:
    policy = Policy(roles=RolePolicy((), (), member_asks_owner=True))
    decision = judge(tool("never"), who=MEMBER, policy=policy, mode=Autonomous((IN,)))
    assert word(decision) == "autonomous_unavailable"


def test_a_refusal_names_the_tool_and_the_reason() -> None:
    decision = judge(tool("ask"), mode=Autonomous((OUT,)))
    assert isinstance(decision, Deny)
    assert decision.text == "tool is not available to an unattended run: it is not in the run's scope."


def test_out_of_scope_calls_are_denied_for_their_scope_first() -> None:
    decision = judge(tool("always_ask"), mode=Autonomous((OUT,)))
    assert isinstance(decision, Deny)
    assert decision.text.endswith("it is not in the run's scope.")


@pytest.mark.parametrize(
    "rated, risk, granted, answer",
    [
        (True, Risk(Requirement.ASK, "plan.md"), "plan.md", "run"),
        (True, Risk(Requirement.ASK, "plan.md"), "*", "autonomous_unavailable"),
        (True, Risk(Requirement.ASK, "git log"), "git *", "autonomous_unavailable"),
        (True, Risk(Requirement.ASK, "plan.md"), "other.md", "autonomous_unavailable"),
        (True, Risk(Requirement.ASK, "*"), "*", "autonomous_unavailable"),
        (True, Risk(Requirement.ASK), "*", "autonomous_unavailable"),
        (False, None, "*", "run"),
    ],
)
def test_outside_its_scope_a_run_has_exactly_what_it_was_granted(
    rated: bool, risk: Risk | None, granted: str, answer: str
) -> None:
    facts = tool("ask", rated=rated)
    mode = Autonomous((OUT,), (ScopeGrant("tool", granted),))
    standing = (grant(pattern="*"), grant(pattern="plan.md"))
    assert word(judge(facts, mode=mode, risk=risk, grants=standing)) == answer
    assert word(judge(facts, mode=Autonomous((OUT,)), risk=risk, grants=standing)) != "run"


def test_a_grant_does_not_give_what_may_not_be_granted() -> None:
    mode = Autonomous((OUT,), (ScopeGrant("tool", "*"),))
    assert word(judge(tool("always_ask"), mode=mode)) == "autonomous_unavailable"
    denylisted, disabled = Policy(denylist=frozenset({"tool"})), AdminPolicy(disabled=frozenset({"tool"}))
    for policy in (denylisted, Policy(admin=disabled)):
        refused = judge(tool("ask"), mode=mode, policy=policy)
        assert isinstance(refused, Deny)
        assert refused.grants == ()
    skills = Autonomous((OUT,), (ScopeGrant("tool", "*"),), only=frozenset({"x"}))
    narrowed = judge(tool("ask"), mode=skills)
    assert isinstance(narrowed, Deny)
    assert narrowed.grants == ()
