"""decide(): calls with several needs, and which of them grants, presets and settings cover."""

import pytest

from core.consent.decide import needs_of
from core.consent.rules import Ask, Autonomous, Deny, ScopeGrant
from core.gates import Option, ToolSetting
from core.tool import Need, Requirement, Risk
from tests.core.consent.judged import grant, judge, tool, word

SHELL = tool("ask", "shell", rated=True)
NOTE = tool("never", "note", rated=True)
LS, SORT = Need("ls"), Need("sort")
FILE = Need("run make", granted_only=True)
EXACT = Need("rm $x", exactly=True)
IN = frozenset({"shell", "note"})


def risk(*needs: Need, pattern: str | None = "ls\nsort") -> Risk:
    return Risk(Requirement.ASK, pattern=pattern, needs=needs)


def test_a_call_needs_what_its_risk_names_or_else_its_pattern() -> None:
    assert needs_of(risk(LS, SORT)) == (LS, SORT)
    assert needs_of(risk(pattern="ls")) == (Need("ls"),)
    assert needs_of(risk(pattern=None)) == needs_of(None) == ()


def test_commands_that_run_files_need_a_grant() -> None:
    by_file, plain = risk(FILE, pattern="run make"), risk(LS, pattern="ls")
    assert word(judge(NOTE, risk=plain)) == "run"
    assert word(judge(NOTE, risk=by_file)) == "ask+"
    assert word(judge(NOTE, risk=by_file, setting=ToolSetting.ALWAYS_ALLOW)) == "ask+"
    assert word(judge(NOTE, risk=by_file, grants=(grant("note", "run make"),))) == "run"


@pytest.mark.parametrize(
    "needs, pattern, offered",
    [((LS, SORT), "ls\nsort", "ask+"), ((), "ls\nsort", "ask"), ((), "ls", "ask+"), ((LS,), None, "ask")],
)
def test_always_is_offered_for_what_a_grant_can_name(
    needs: tuple[Need, ...], pattern: str | None, offered: str
) -> None:
    assert word(judge(SHELL, risk=risk(*needs, pattern=pattern))) == offered


@pytest.mark.parametrize(
    "needs, run, own, answer",
    [
        ((FILE,), (), (), "no"),
        ((FILE,), ("run make",), (), "run"),
        ((FILE,), (), ("run make",), "run"),
        ((FILE,), (), ("ls",), "no"),
        ((FILE, LS), ("run make",), ("ls",), "run"),
        ((FILE, EXACT), ("run make",), ("rm $x",), "no"),
        ((FILE, EXACT), ("run make", "rm $x"), (), "run"),
        ((FILE, EXACT), ("rm $x",), ("run make",), "no"),
    ],
)
def test_an_unattended_run_is_covered_by_its_grants_and_those_of_its_owner(
    needs: tuple[Need, ...], run: tuple[str, ...], own: tuple[str, ...], answer: str
) -> None:
    mode = Autonomous((IN,), tuple(ScopeGrant("shell", pattern) for pattern in run))
    decision = judge(
        SHELL, risk=risk(*needs), mode=mode, grants=tuple(grant("shell", pattern) for pattern in own)
    )
    assert word(decision) == {"no": "autonomous_unavailable"}.get(answer, answer)


def test_a_refusal_names_the_grants_that_would_have_allowed_it() -> None:
    decision = judge(SHELL, risk=risk(FILE, LS), mode=Autonomous((IN,)))
    assert isinstance(decision, Deny)
    assert decision.grants == ("run make", "ls")
    assert decision.text.endswith("can grant exactly this: run make; ls")
    wide = judge(SHELL, risk=risk(FILE, Need("ls *", exactly=True)), mode=Autonomous((IN,)))
    assert isinstance(wide, Deny)
    assert wide.grants == ("run make", "ls *")
    bare = judge(tool("always_ask", "note"), mode=Autonomous((IN,)))
    assert isinstance(bare, Deny)
    assert bare.text.endswith("it needs a person's approval.")


@pytest.mark.parametrize("offered, quorum, always", [(True, 1, True), (True, 2, False), (False, 1, False)])
def test_always_is_an_option_where_one_person_decides(offered: bool, quorum: int, always: bool) -> None:
    assert (Option.ALWAYS in Ask("", allow_always=offered).options(quorum)) is always
