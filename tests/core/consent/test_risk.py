"""decide(): what the arguments of a call, dangerous tools and dangerous operations do to what is asked."""

import pytest

from core.approvals import Preset
from core.consent.rules import Ask, Autonomous, Policy
from core.gates import Grant
from core.tool import Requirement, Risk
from tests.core.consent.judged import grant, judge, tool, word


@pytest.mark.parametrize(
    "own,by_arguments,effective",
    [
        ("never", "never", "never"),
        ("never", "ask", "ask"),
        ("never", "always_ask", "always_ask"),
        ("ask", "never", "ask"),
        ("ask", "ask", "ask"),
        ("ask", "always_ask", "always_ask"),
        ("always_ask", "never", "always_ask"),
        ("always_ask", "ask", "always_ask"),
        ("always_ask", "always_ask", "always_ask"),
    ],
)
def test_arguments_raise_the_requirement_and_never_lower_it(
    own: str, by_arguments: str, effective: str
) -> None:
    """`never` shows in what a run without a scope may do, `always_ask` in asking despite a grant."""
    risk = Risk(Requirement(by_arguments), pattern="x")
    facts = tool(own, rated=True)
    alone = word(judge(facts, risk=risk, mode=Autonomous()))
    granted = word(judge(facts, risk=risk, grants=(grant(pattern="x"),)))
    assert (alone == "run") is (effective == "never")
    assert (granted == "ask") is (effective == "always_ask")


@pytest.mark.parametrize(
    "name,operation,raised",
    [
        ("delete_note", "", True),
        ("note_delete", "", True),
        ("DELETE-note", "", True),
        ("undelete_note", "", False),
        ("deleted_note", "", False),
        ("notes", "delete", True),
        ("notes", "Write", True),
        ("notes", "read", False),
        ("notes", "rewrite", False),
        ("notes", "bulk modify", True),
        ("overwritten", "", False),
    ],
)
def test_dangerous_operations_raise_risk_as_whole_words(name: str, operation: str, raised: bool) -> None:
    """An autonomous run without a scope runs exactly what needs nobody: there the difference shows."""
    decision = judge(tool("never", name), operation=operation, mode=Autonomous())
    assert word(decision) == ("autonomous_unavailable" if raised else "run")


def test_a_dangerous_operation_alone_does_not_require_approval() -> None:
    assert word(judge(tool("never", "memory_write"))) == "run"


@pytest.mark.parametrize("method,answer", [("GET", "run"), ("get", "run"), ("POST", "ask+"), (None, "ask+")])
def test_http_is_dangerous_with_another_method_than_get(method: str | None, answer: str) -> None:
    assert word(judge(tool("never", "http"), method=method)) == answer


@pytest.mark.parametrize("requirement,answer", [("never", "run"), ("ask", "ask+"), ("always_ask", "ask")])
def test_a_get_is_dangerous_where_its_arguments_carry_risk(requirement: str, answer: str) -> None:
    risk = Risk(Requirement(requirement), "GET https://example.org")
    for preset in (Preset.AUTO_LOOP, Preset.AUTO):
        facts = tool("never", "http", rated=True)
        assert word(judge(facts, method="GET", risk=risk, policy=Policy(preset=preset))) == answer


@pytest.mark.parametrize("name", ["shell", "write_file", "apply_patch", "delete_file", "http"])
def test_tools_that_are_dangerous_by_default_ask_under_every_preset(name: str) -> None:
    for preset in (Preset.WHITELIST, Preset.AUTO_LOOP, Preset.AUTO):
        policy = Policy(preset=preset, whitelist=frozenset({name}))
        assert word(judge(tool("never", name), policy=policy)) == "ask+"


@pytest.mark.parametrize(
    "granted,answer",
    [
        (grant("shell", "git status"), "run"),
        (grant("shell", "git *"), "run"),
        (grant("shell", "*"), "run"),
        (grant("shell", "git log"), "ask+"),
        (grant("shell", None), "ask+"),
        (grant("http", "git status"), "ask+"),
    ],
)
def test_a_rated_tool_is_granted_by_pattern(granted: Grant, answer: str) -> None:
    risk = Risk(Requirement.ASK, pattern="git status")
    assert word(judge(tool("ask", "shell", rated=True), risk=risk, grants=(granted,))) == answer


def test_always_covers_the_pattern_of_the_call() -> None:
    risk = Risk(Requirement.ASK, pattern="git status", reason="This command reads.")
    decision = judge(tool("ask", "shell", rated=True), risk=risk)
    assert decision == Ask("This command reads.", allow_always=True, pattern="git status")


def test_without_a_pattern_a_rated_tool_offers_no_always() -> None:
    risk = Risk(Requirement.ASK, pattern=None)
    assert word(judge(tool("ask", "shell", rated=True), risk=risk)) == "ask"


def test_a_dangerous_operation_never_lowers_what_is_required() -> None:
    granted = (grant("delete_note"),)
    assert word(judge(tool("always_ask", "delete_note"), operation="write", grants=granted)) == "ask"
