"""decide(): the table of access and consent, written out by hand."""

import itertools
import time

import pytest

from core.approvals import AdminPolicy, Preset
from core.consent.access import RolePolicy
from core.consent.decide import decide
from core.consent.facts import (
    Allow,
    Ask,
    Autonomous,
    CallFacts,
    Decision,
    Deny,
    DenyReason,
    Interactive,
    Policy,
    ScopeGrant,
    ToolFacts,
)
from core.prompts import Grant, GrantScope, ToolSetting
from core.tool import Data, Requirement, Risk
from core.users import Principal, Role

OWNER = Principal("u-owner", Role.OWNER, "Olivia")
MEMBER = Principal("u-member", Role.MEMBER, "Milan")
GUEST = Principal("u-guest", Role.GUEST, "Gus")
NOW = 1_000_000
ALWAYS_ALLOW = ToolSetting.ALWAYS_ALLOW


def tool(
    requirement: str = "ask", name: str = "tool", *, data: Data = Data.OWN, rated: bool = False
) -> ToolFacts:
    return ToolFacts(name, Requirement(requirement), data, rated)


def grant(name: str = "tool", pattern: str | None = None, user: Principal = OWNER) -> Grant:
    return Grant("g1", user.user_id, name, pattern, GrantScope.USER, None, user.user_id, 0)


def judge(
    facts: ToolFacts | None,
    *,
    who: Principal = OWNER,
    policy: Policy | None = None,
    mode: Interactive | Autonomous | None = None,
    grants: tuple[Grant, ...] = (),
    setting: ToolSetting | None = None,
    risk: Risk | None = None,
    operation: str = "",
    method: str | None = None,
) -> Decision:
    call = CallFacts(
        facts, "t1", NOW, risk=risk, operation=operation, method=method, grants=grants, setting=setting
    )
    return decide(call, who, mode or Interactive(), policy or Policy())


def word(decision: Decision) -> str:
    """A decision as the tables below write it; `ask+`: "always" is offered."""
    match decision:
        case Allow():
            return "run"
        case Ask():
            return "ask+" if decision.allow_always else "ask"
        case Deny():
            return decision.reason.value


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
def test_requirement_preset_role_and_grant(who: Principal, membership: str, instead: str | None) -> None:
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
def test_a_policy_that_cannot_be_read_leaves_no_tool(who: Principal, mode: Interactive | Autonomous) -> None:
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
    assert decision == Deny(DenyReason.BLOCKED, "tool is refused: it would erase a disk")


def test_an_autonomous_run_with_every_grant_meets_the_hard_block_too() -> None:
    mode = Autonomous((frozenset({"tool"}),), (ScopeGrant("tool", "*"),))
    risk = Risk(Requirement.ALWAYS_ASK, blocked="no")
    assert word(judge(tool("never"), risk=risk, mode=mode)) == "blocked"


def test_an_owner_is_not_asked_for_what_would_be_refused_anyway() -> None:
    policy = Policy(roles=RolePolicy((), (), member_asks_owner=True))
    risk = Risk(Requirement.ALWAYS_ASK, blocked="no")
    assert word(judge(tool(), who=MEMBER, policy=policy, risk=risk)) == "blocked"


def test_what_a_member_wants_outside_their_list_only_an_owner_may_grant_once() -> None:
    policy = Policy(roles=RolePolicy((), (), member_asks_owner=True))
    decision = judge(tool(), who=MEMBER, policy=policy, grants=(grant(user=MEMBER),))
    assert isinstance(decision, Ask)
    assert decision.owner_only
    assert not decision.allow_always


def test_a_member_asks_themselves_about_tools_on_their_list() -> None:
    policy = Policy(roles=RolePolicy(("tool",)), dangerous_tools=frozenset({"tool"}))
    decision = judge(tool(), who=MEMBER, policy=policy)
    assert isinstance(decision, Ask)
    assert not decision.owner_only


# --- risk --------------------------------------------------------------------------------------------------


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


def test_a_dangerous_operation_alone_does_not_make_a_person_be_asked() -> None:
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
def test_what_is_dangerous_by_default(name: str) -> None:
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


def test_always_would_cover_the_pattern_of_the_call() -> None:
    risk = Risk(Requirement.ASK, pattern="git status", reason="This command reads.")
    decision = judge(tool("ask", "shell", rated=True), risk=risk)
    assert decision == Ask("This command reads.", allow_always=True, pattern="git status")


def test_without_a_pattern_a_rated_tool_offers_no_always() -> None:
    risk = Risk(Requirement.ASK, pattern=None)
    assert word(judge(tool("ask", "shell", rated=True), risk=risk)) == "ask"


# --- nobody there ----------------------------------------------------------------------------------------

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
def test_autonomous_runs_stay_in_scope_whatever_the_preset(
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
    assert decision.text == "tool is not available to a run without a person: it is not in the run's scope."


def test_a_hundred_thousand_calls_are_judged_in_far_less_than_a_minute() -> None:
    """The rate itself is measured in benchmarks/; this only catches a blunder of an order of magnitude."""
    grants = tuple(grant("shell", f"git {number}") for number in range(10))
    risk = Risk(Requirement.ASK, pattern="git 9")
    call = CallFacts(tool("ask", "shell", rated=True), "t1", NOW, risk=risk, grants=grants)
    policy, mode = Policy(), Interactive()
    started = time.process_time()
    for _ in range(10_000):
        decide(call, OWNER, mode, policy)
    assert time.process_time() - started < 5


def test_a_dangerous_operation_never_lowers_what_is_required() -> None:
    granted = (grant("delete_note"),)
    assert word(judge(tool("always_ask", "delete_note"), operation="write", grants=granted)) == "ask"


def test_what_is_out_of_scope_is_refused_for_that_whatever_else_it_needs() -> None:
    decision = judge(tool("always_ask"), mode=Autonomous((OUT,)))
    assert isinstance(decision, Deny)
    assert decision.text.endswith("it is not in the run's scope.")


MANUAL = Policy(preset=Preset.MANUAL)
OWNERS_WORD = Policy(roles=RolePolicy(member_asks_owner=True))
DANGEROUS = Policy(dangerous_tools=frozenset({"tool"}))


@pytest.mark.parametrize(
    "reason, requirement, who, policy, setting",
    [
        ("tool needs an owner's word.", "ask", MEMBER, OWNERS_WORD, None),
        ("tool always needs a person's word.", "always_ask", OWNER, Policy(), None),
        ("You want to be asked each time about tool.", "ask", OWNER, Policy(), ToolSetting.ASK_EACH_TIME),
        ("You want to be asked about every tool.", "ask", OWNER, MANUAL, None),
        ("tool was not granted yet.", "ask", OWNER, DANGEROUS, None),
    ],
)
def test_a_card_says_why_and_what_the_arguments_say_goes_first(
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
def test_a_tool_made_ready_for_others_does_not_exist(who: Principal) -> None:
    others = [one for one in (OWNER, MEMBER, GUEST) if one is not who]
    roles = RolePolicy(member=("*",), guest=("*",), member_asks_owner=True)
    assert word(judge(made_for(*others), who=who, policy=Policy(roles=roles))) == "unknown_tool"
    assert judge(made_for(*others), who=who) == judge(None, who=who)


def test_those_it_was_made_ready_for_have_it_whatever_their_role_says_but_no_guest() -> None:
    everybody = made_for(OWNER, MEMBER, GUEST)
    assert word(judge(everybody)) == "run"
    assert word(judge(everybody, who=MEMBER)) == "run"
    assert word(judge(everybody, who=GUEST)) == "not_in_role"


def test_the_operators_policy_and_the_persons_own_word_go_over_it() -> None:
    admin = AdminPolicy(disabled=frozenset({"srv__act"}))
    assert word(judge(made_for(OWNER), policy=Policy(admin=admin))) == "disabled"
    assert word(judge(made_for(OWNER), setting=ToolSetting.DISABLED)) == "disabled"
    assert word(judge(made_for(OWNER), policy=Policy(preset=Preset.MANUAL))) == "ask"
