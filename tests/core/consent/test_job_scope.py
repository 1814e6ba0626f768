"""decide(): a job's call must be in the scope of the job and of its worker; a refusal says which."""

from dataclasses import replace

import pytest

from core.consent.decide import never_runs
from core.consent.rules import (
    Autonomous,
    Deny,
    Interactive,
    Mode,
    Policy,
    ScopeGrant,
    for_subtask,
    going_without,
    still_granted,
)
from tests.core.consent.judged import OWNER, judge, tool, word

IN, OUT = frozenset({"tool"}), frozenset[str]()


@pytest.mark.parametrize(
    "job, worker, words",
    [
        (IN, IN, None),
        (OUT, IN, "it is not in the job's scope, which was fixed when the job was created."),
        (IN, OUT, "the job's scope has it, but the policy in force does not give it to the worker."),
        (OUT, OUT, "it is neither in the job's scope nor in what the policy gives the worker."),
    ],
)
@pytest.mark.parametrize("requirement", ["never", "ask"])
def test_both_scopes_must_grant(
    job: frozenset[str], worker: frozenset[str], words: str | None, requirement: str
) -> None:
    decision = judge(tool(requirement), mode=Autonomous((job,), worker=worker))
    if words is None:
        assert word(decision) == "run"
    else:
        assert isinstance(decision, Deny)
        assert decision.text == f"tool is not available to an unattended run: {words}"


@pytest.mark.parametrize("mode", [Interactive(), Autonomous((IN, frozenset({"tool", "delegate"})))])
@pytest.mark.parametrize("given", [IN, OUT, frozenset({"tool", "delegate"})])
def test_a_subtask_has_what_it_was_given_and_never_delegates(mode: Mode, given: frozenset[str]) -> None:
    subtask = for_subtask(mode, given)
    decision = judge(tool("never"), mode=subtask)
    if "tool" in given:
        assert word(decision) == "run"
        policy = Policy(denylist=frozenset({"tool"}))
        refused = judge(tool("never"), mode=subtask, policy=policy)
        assert isinstance(refused, Deny)
        assert refused.text == "tool is not available to a subtask: it is on the denylist."
    else:
        assert isinstance(decision, Deny)
        text = "tool is not available to a subtask: it is not among the tools that it was given."
        assert decision.text == text
    again = judge(replace(tool("never"), name="delegate"), mode=subtask)
    assert isinstance(again, Deny)
    assert again.text == "delegate is not available to a subtask: it can't have subtasks of its own."


@pytest.mark.parametrize("mode", [Autonomous((IN,), worker=OUT), Autonomous((OUT,)), Interactive(only=OUT)])
def test_a_subtask_has_no_more_than_its_run(mode: Mode) -> None:
    assert isinstance(judge(tool("never"), mode=for_subtask(mode, IN)), Deny)


@pytest.mark.parametrize(
    "mode, hidden",
    [
        (Interactive(), False),
        (Interactive(only=IN), False),
        (Interactive(only=OUT), True),
        (Autonomous((IN,)), False),
        (Autonomous((OUT,)), True),
        (Autonomous((OUT,), grants=(ScopeGrant("tool", "ls"),)), False),
        (Autonomous((OUT,), grants=(ScopeGrant("other", "ls"),)), True),
    ],
)
def test_a_tool_no_call_of_which_could_run_is_not_offered(mode: Mode, hidden: bool) -> None:
    assert never_runs(tool(), OWNER, mode, Policy(), None) is hidden


def test_what_an_unattended_run_loses_while_it_runs_is_lost_to_no_other() -> None:
    granted = Autonomous((IN,), grants=(ScopeGrant("tool", "ls"), ScopeGrant("tool", "pwd")))
    assert still_granted(granted, None) == granted
    assert still_granted(granted, frozenset({("tool", "ls")})) == Autonomous((IN,), granted.grants[:1])
    assert going_without(granted, IN) == Autonomous((IN,), granted.grants, left_out=IN)
    attended = Interactive(only=IN)
    assert (still_granted(attended, frozenset()), going_without(attended, IN)) == (attended, attended)
