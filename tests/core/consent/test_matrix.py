"""The decision about every kind of call, for everybody, in every mode, under every preset: one table, by
hand.

The expectations are in matrix.txt, one row for each mode, requirement, kind of tool and person, one column
for each preset. What they are written from is the product's constitution, not the code:

run          it runs                             ask          a person is asked, each time
ask+         asked, and "always" is offered      owner        the owner is asked, once
no           refused: not in the role's list     unavailable  refused: nobody could be asked

Modes: `interactive`, the same with a grant of the tool (`granted`); without a person: the tool in all scopes
of the run (`in_scope`), in one but not in all (`out_of_scope`), without any scope (`no_scope`), in scope and
on the denylist (`denylisted`), in scope and granted to the run by name and pattern (`explicit`).
"""

import itertools
from pathlib import Path

import pytest

from core.approvals import Preset
from core.consent.decide import decide
from core.consent.roles import RolePolicy
from core.consent.rules import (
    Allow,
    Ask,
    Autonomous,
    CallFacts,
    Decision,
    Deny,
    Interactive,
    Mode,
    Policy,
    ScopeGrant,
    ToolFacts,
    for_subtask,
)
from core.gates import Grant, GrantScope
from core.tool import Data, Requirement
from core.users import Principal, Role

ROWS = [
    line.split()
    for line in (Path(__file__).parent / "matrix.txt").read_text().splitlines()
    if not line.startswith("#")
]
HERE, ELSEWHERE = frozenset({"tool", "other"}), frozenset({"other"})
MODES: dict[str, Mode] = {
    "interactive": Interactive(),
    "granted": Interactive(),
    "in_scope": Autonomous((HERE, HERE)),
    "out_of_scope": for_subtask(Autonomous((HERE,)), ELSEWHERE),
    "no_scope": Autonomous(),
    "denylisted": Autonomous((HERE,), (ScopeGrant("tool", "*"),)),
    "explicit": Autonomous((HERE,), (ScopeGrant("tool", "*"),)),
}
WHO = [
    *("owner", "owner/unlisted", "member", "member/unlisted", "member/asks_owner"),
    *("guest", "guest/unlisted", "guest/shared"),
]


def test_the_table_is_complete() -> None:
    wanted = itertools.product(MODES, list(Requirement), ["-", "dangerous"], WHO)
    assert [tuple(row[:4]) for row in ROWS] == [
        (mode, str(need), kind, who) for mode, need, kind, who in wanted
    ]
    assert {len(row) for row in ROWS} == {4 + len(Preset)}


@pytest.mark.parametrize("mode", MODES)
def test_every_row_of(mode: str) -> None:
    for row in ROWS:
        if row[0] == mode:
            _, requirement, kind, who, *expected = row
            answers = [judged(mode, Requirement(requirement), kind, who, preset) for preset in Preset]
            assert answers == expected, row


def judged(mode: str, requirement: Requirement, kind: str, who: str, preset: Preset) -> str:
    """Return what becomes of the call, in the table's words."""
    role, _, listing = who.partition("/")
    names = () if listing in {"unlisted", "asks_owner"} else ("tool",)
    principal = Principal("u", Role(role), "U")
    tool = ToolFacts("tool", requirement, Data.SHARED if listing == "shared" else Data.OWN)
    policy = Policy(
        preset=preset,
        dangerous_tools=frozenset({"tool"} if kind == "dangerous" else ()),
        roles=RolePolicy(names, names, member_asks_owner=listing == "asks_owner"),
        denylist=frozenset({"tool"} if mode == "denylisted" else ()),
    )
    grants = (Grant("g", "u", "tool", None, GrantScope.USER, None, "u", 0),) if mode == "granted" else ()
    return word(decide(CallFacts(tool, "t", 1, grants=grants), principal, MODES[mode], policy))


def word(decision: Decision) -> str:
    match decision:
        case Allow():
            return "run"
        case Ask():
            always = "ask+" if decision.allow_always else "ask"
            return "owner" if decision.owner_only and not decision.allow_always else always
        case Deny():
            return {"not_in_role": "no", "autonomous_unavailable": "unavailable"}[decision.reason]
