"""decide(): the table of access and consent, written out by hand."""

import itertools
import time

import pytest

from core.approvals import AdminPolicy, Preset
from core.consent.decide import decide
from core.consent.roles import RolePolicy
from core.consent.rules import (
    Ask,
    Autonomous,
    CallFacts,
    Deny,
    DenyReason,
    Interactive,
    Policy,
    ScopeGrant,
    ToolFacts,
)
from core.gates import ToolSetting
from core.tool import Data, Requirement, Risk
from core.users import Principal
from tests.core.consent.judged import ALWAYS_ALLOW, GUEST, MEMBER, NOW, OWNER, grant, judge, tool, word

# --- the presets -----------------------------------------------------------------------------------------

# preset, requirement, dangerous, listed: the answer without a grant, the answer with one
TABLE = """
manual     never       -          -        ask   ask
manual     never       -          listed   ask   ask
manual     never       dangerous  -        ask   ask
manual     never       dangerous  listed   ask   ask
manual     ask         -          -        ask   ask
manual     ask         -          listed   ask   ask
manual     ask         dangerous  -        ask   ask
manual     ask         dangerous  listed   ask   ask
manual     always_ask  -          -        ask   ask
manual     always_ask  -          listed   ask   ask
manual     always_ask  dangerous  -        ask   ask
manual     always_ask  dangerous  listed   ask   ask
whitelist  never       -          -        ask+  run
whitelist  never       -          listed   run   run
whitelist  never       dangerous  -        ask+  run
whitelist  never       dangerous  listed   ask+  run
whitelist  ask         -          -        ask+  run
whitelist  ask         -          listed   run   run
whitelist  ask         dangerous  -        ask+  run
whitelist  ask         dangerous  listed   ask+  run
whitelist  always_ask  -          -        ask   ask
whitelist  always_ask  -          listed   ask   ask
whitelist  always_ask  dangerous  -        ask   ask
whitelist  always_ask  dangerous  listed   ask   ask
auto_loop  never       -          -        run   run
auto_loop  never       -          listed   run   run
auto_loop  never       dangerous  -        ask+  run
auto_loop  never       dangerous  listed   ask+  run
auto_loop  ask         -          -        run   run
auto_loop  ask         -          listed   run   run
auto_loop  ask         dangerous  -        ask+  run
auto_loop  ask         dangerous  listed   ask+  run
auto_loop  always_ask  -          -        ask   ask
auto_loop  always_ask  -          listed   ask   ask
auto_loop  always_ask  dangerous  -        ask   ask
auto_loop  always_ask  dangerous  listed   ask   ask
auto       never       -          -        run   run
auto       never       -          listed   run   run
auto       never       dangerous  -        ask+  run
auto       never       dangerous  listed   ask+  run
auto       ask         -          -        run   run
auto       ask         -          listed   run   run
auto       ask         dangerous  -        ask+  run
auto       ask         dangerous  listed   ask+  run
auto       always_ask  -          -        ask   ask
auto       always_ask  -          listed   ask   ask
auto       always_ask  dangerous  -        ask   ask
auto       always_ask  dangerous  listed   ask   ask
"""
ROWS: list[list[str]] = [list[str](line.split()) for line in TABLE.strip().splitlines()]


def test_the_table_is_complete() -> None:
    presets = ["manual", "whitelist", "auto_loop", "auto"]
    requirements = ["never", "ask", "always_ask"]
    wanted = itertools.product(presets, requirements, ["-", "dangerous"], ["-", "listed"])
    assert [tuple(row[:4]) for row in ROWS] == list(wanted)


# role: what the table's answers become, by whether the role's list holds the tool
ROLES = [
    (OWNER, "in list", None),
    (OWNER, "not in list", None),
    (MEMBER, "in list", None),
    (MEMBER, "not in list", "not_in_role"),
    (MEMBER, "not in list, asks owner", "ask"),
    (GUEST, "in list", None),
    (GUEST, "not in list", "not_in_role"),
    (GUEST, "not in list, asks owner", "not_in_role"),
    (GUEST, "in list, shared data", "not_in_role"),
]


def preset_policy(row: list[str], roles: RolePolicy | None = None) -> Policy:
    preset, _, dangerous, listed, *_ = row
    return Policy(
        preset=Preset(preset),
        whitelist=frozenset({"tool"} if listed == "listed" else set[str]()),
        dangerous_tools=frozenset({"tool"} if dangerous == "dangerous" else set[str]()),
        roles=roles or RolePolicy(),
    )


@pytest.mark.parametrize("who,membership,instead", ROLES)
def test_requirement_preset_role_and_grant_decide_together(
    who: Principal, membership: str, instead: str | None
) -> None:
    tools = ("tool",) if membership.startswith("in list") else ("other",)
    roles = RolePolicy(tools, tools, member_asks_owner="asks owner" in membership)
    data = Data.SHARED if "shared" in membership else Data.OWN
    for row in ROWS:
        policy, facts = preset_policy(row, roles), tool(row[1], data=data)
        without = word(judge(facts, who=who, policy=policy))
        granted = word(judge(facts, who=who, policy=policy, grants=(grant(user=who),)))
        assert [without, granted] == ([instead] * 2 if instead else row[4:]), row


def test_a_persons_own_setting_beats_the_preset_but_not_always_ask() -> None:
    for row in ROWS:
        facts, policy = tool(row[1]), preset_policy(row)
        allow = "ask" if row[1] == "always_ask" else "run"
        assert word(judge(facts, policy=policy, setting=ToolSetting.ALWAYS_ALLOW)) == allow, row
        assert word(judge(facts, policy=policy, setting=ToolSetting.DISABLED)) == "disabled", row
        asks = judge(facts, policy=policy, setting=ToolSetting.ASK_EACH_TIME, grants=(grant(),))
        assert word(asks) == "ask", row


# --- who may not, and what may not -------------------------------------------------------------------------


def test_an_unknown_tool_is_refused() -> None:
    assert word(judge(None)) == "unknown_tool"


@pytest.mark.parametrize("who", [OWNER, MEMBER, GUEST])
@pytest.mark.parametrize("mode", [Interactive(), Autonomous((frozenset({"tool"}),))])
def test_a_disabled_tool_is_refused_to_everyone_in_every_mode(
    who: Principal, mode: Interactive | Autonomous
) -> None:
    roles = RolePolicy(("tool",), ("tool",))
    for admin in (
        AdminPolicy(disabled=frozenset({"tool"})),
        AdminPolicy(disabled_for={who.user_id: frozenset({"tool"})}),
    ):
        policy = Policy(admin=admin, roles=roles)
        assert word(judge(tool("never"), who=who, policy=policy, mode=mode)) == "disabled"
    for_another = AdminPolicy(frozenset({"other"}), {"somebody": frozenset({"tool"})})
    policy = Policy(admin=for_another, roles=roles)
    assert word(judge(tool("never"), who=who, policy=policy, mode=mode)) == "run"


@pytest.mark.parametrize("who", [OWNER, MEMBER, GUEST])
@pytest.mark.parametrize("mode", [Interactive(), Autonomous((frozenset({"tool"}),))])
def test_a_policy_that_cannot_be_read_disables_every_tool(
    who: Principal, mode: Interactive | Autonomous
) -> None:
    roles = RolePolicy(("tool",), ("tool",))
    policy = Policy(preset=Preset.AUTO, admin=AdminPolicy(unreadable="it is gone"), roles=roles)
    allowed = judge(
        tool("never"), who=who, policy=policy, mode=mode, grants=(grant(user=who),), setting=ALWAYS_ALLOW
    )
    assert word(allowed) == "policy_unreadable"


@pytest.mark.parametrize("preset", list(Preset))
@pytest.mark.parametrize("setting", [None, ToolSetting.ALWAYS_ALLOW])
def test_a_hard_block_beats_every_preset_grant_and_setting(
    preset: Preset, setting: ToolSetting | None
) -> None:
    risk = Risk(Requirement.ALWAYS_ASK, blocked="it would erase a disk")
    decision = judge(
        tool("never"),
        risk=risk,
        setting=setting,
        grants=(grant(pattern="*"), grant()),
        policy=Policy(preset=preset),
    )
    assert decision == Deny(DenyReason.BLOCKED, "tool is blocked: it would erase a disk")


def test_an_autonomous_run_with_every_grant_meets_the_hard_block_too() -> None:
    mode = Autonomous((frozenset({"tool"}),), (ScopeGrant("tool", "*"),))
    risk = Risk(Requirement.ALWAYS_ASK, blocked="no")
    assert word(judge(tool("never"), risk=risk, mode=mode)) == "blocked"


def test_an_owner_is_not_asked_about_a_call_that_would_be_refused_anyway() -> None:
    policy = Policy(roles=RolePolicy((), (), member_asks_owner=True))
    risk = Risk(Requirement.ALWAYS_ASK, blocked="no")
    assert word(judge(tool(), who=MEMBER, policy=policy, risk=risk)) == "blocked"


def test_tools_outside_a_members_list_are_granted_once_by_the_owner() -> None:
    policy = Policy(roles=RolePolicy((), (), member_asks_owner=True))
    decision = judge(tool(), who=MEMBER, policy=policy, grants=(grant(user=MEMBER),))
    assert isinstance(decision, Ask)
    assert decision.owner_only
    assert not decision.allow_always


@pytest.mark.parametrize(
    "own, raised, asked",
    [
        ("never", "never", "ask"),
        ("ask", "ask", "ask"),
        ("ask", "always_ask", "always_ask"),
        ("always_ask", "never", "always_ask"),
    ],
)
def test_an_owner_is_asked_by_the_higher_requirement_of_tool_and_call(
    own: str, raised: str, asked: str
) -> None:
    policy = Policy(roles=RolePolicy((), (), member_asks_owner=True))
    decision = judge(tool(own), who=MEMBER, policy=policy, risk=Risk(Requirement(raised)))
    assert isinstance(decision, Ask)
    assert (decision.owner_only, decision.requirement) == (True, Requirement(asked))


def test_a_member_asks_themselves_about_tools_on_their_list() -> None:
    policy = Policy(roles=RolePolicy(("tool",)), dangerous_tools=frozenset({"tool"}))
    decision = judge(tool(), who=MEMBER, policy=policy)
    assert isinstance(decision, Ask)
    assert not decision.owner_only


# --- how it is told, and how soon --------------------------------------------------------------------------


def test_ten_thousand_calls_are_judged_in_seconds() -> None:
    """The rate itself is measured in benchmarks/; this only catches a blunder of an order of magnitude."""
    grants = tuple(grant("shell", f"git {number}") for number in range(10))
    risk = Risk(Requirement.ASK, pattern="git 9")
    call = CallFacts(tool("ask", "shell", rated=True), "t1", NOW, risk=risk, grants=grants)
    policy, mode = Policy(), Interactive()
    started = time.process_time()
    for _ in range(10_000):
        decide(call, OWNER, mode, policy)
    assert time.process_time() - started < 5


MANUAL = Policy(preset=Preset.MANUAL)
OWNERS_WORD = Policy(roles=RolePolicy(member_asks_owner=True))
DANGEROUS = Policy(dangerous_tools=frozenset({"tool"}))


@pytest.mark.parametrize(
    "reason, requirement, who, policy, setting",
    [
        ("tool needs an owner's approval.", "ask", MEMBER, OWNERS_WORD, None),
        ("tool always needs approval.", "always_ask", OWNER, Policy(), None),
        ("tool is set to ask each time.", "ask", OWNER, Policy(), ToolSetting.ASK_EACH_TIME),
        ("Every tool call needs approval here.", "ask", OWNER, MANUAL, None),
        ("There is no grant for this call of tool.", "ask", OWNER, DANGEROUS, None),
    ],
)
def test_a_card_gives_reasons_and_those_of_the_arguments_come_first(
    reason: str, requirement: str, who: Principal, policy: Policy, setting: ToolSetting | None
) -> None:
    plain = judge(tool(requirement), who=who, policy=policy, setting=setting)
    assert isinstance(plain, Ask)
    assert plain.reason == reason
    silent = Risk(Requirement(requirement))
    said = judge(tool(requirement, rated=True), who=who, policy=policy, setting=setting, risk=silent)
    assert isinstance(said, Ask)
    assert said.reason == reason
    told = Risk(Requirement(requirement), reason="It deletes.")
    said = judge(tool(requirement, rated=True), who=who, policy=policy, setting=setting, risk=told)
    assert isinstance(said, Ask)
    assert said.reason == "It deletes."


# --- tools made ready for somebody -----------------------------------------------------------------------


def made_for(*people: Principal, data: Data = Data.SHARED) -> ToolFacts:
    return ToolFacts("srv__act", Requirement.NEVER, data, users=frozenset(one.user_id for one in people))


@pytest.mark.parametrize("who", [OWNER, MEMBER, GUEST], ids=["owner", "member", "guest"])
def test_a_tool_prepared_for_others_does_not_exist(who: Principal) -> None:
    others = [one for one in (OWNER, MEMBER, GUEST) if one is not who]
    roles = RolePolicy(member=("*",), guest=("*",), member_asks_owner=True)
    assert word(judge(made_for(*others), who=who, policy=Policy(roles=roles))) == "unknown_tool"
    assert judge(made_for(*others), who=who) == judge(None, who=who)


def test_prepared_tools_override_the_role_except_for_guests() -> None:
    everybody = made_for(OWNER, MEMBER, GUEST)
    assert word(judge(everybody)) == "run"
    assert word(judge(everybody, who=MEMBER)) == "run"
    assert word(judge(everybody, who=GUEST)) == "not_in_role"


def test_the_operators_policy_and_the_persons_own_setting_override_prepared_tools() -> None:
    admin = AdminPolicy(disabled=frozenset({"srv__act"}))
    assert word(judge(made_for(OWNER), policy=Policy(admin=admin))) == "disabled"
    assert word(judge(made_for(OWNER), setting=ToolSetting.DISABLED)) == "disabled"
    assert word(judge(made_for(OWNER), policy=Policy(preset=Preset.MANUAL))) == "ask"
