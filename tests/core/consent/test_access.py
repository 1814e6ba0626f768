"""Which tools a role may use at all, and which can never run for somebody."""

import pytest

from core.approvals import AdminPolicy
from core.consent.decide import decide, never_runs
from core.consent.roles import Access, RolePolicy
from core.consent.rules import (
    Allow,
    Autonomous,
    CallFacts,
    Decision,
    Deny,
    DenyReason,
    Interactive,
    Policy,
    ToolFacts,
)
from core.gates import ToolSetting
from core.tool import Data, Requirement
from core.users import Principal, Role

OWNER = Principal("u-owner", Role.OWNER, "Olivia")
MEMBER = Principal("u-member", Role.MEMBER, "Milan")
GUEST = Principal("u-guest", Role.GUEST, "Gus")


@pytest.mark.parametrize(
    "tool, allowed",
    [
        ("memory_read", True),
        ("memory_", True),
        ("memory", False),
        ("time", True),
        ("timer", False),
        ("tim", False),
        ("memory_*", True),
        ("xmemory_read", False),
    ],
)
@pytest.mark.parametrize("role", [Role.MEMBER, Role.GUEST])
def test_a_list_names_tools_or_prefixes_of_their_names(role: Role, tool: str, allowed: bool) -> None:
    lists = RolePolicy(member=("time", "memory_*"), guest=("time", "memory_*"))
    expected = Access.ALLOWED if allowed else Access.REFUSED
    assert lists.access(role, tool, Data.OWN) is expected


def test_tools_outside_a_role_are_denied_unless_the_owner_is_asked() -> None:
    assert RolePolicy().access(Role.MEMBER, "shell", Data.OWN) is Access.REFUSED
    assert RolePolicy(member_asks_owner=True).access(Role.MEMBER, "shell", Data.OWN) is Access.ASK_OWNER
    assert RolePolicy(member_asks_owner=True).access(Role.GUEST, "shell", Data.OWN) is Access.REFUSED


def test_a_guest_never_reaches_shared_data() -> None:
    lists = RolePolicy(member=("files",), guest=("files",))
    assert lists.access(Role.GUEST, "files", Data.SHARED) is Access.REFUSED
    assert lists.access(Role.GUEST, "files", Data.OWN) is Access.ALLOWED
    assert lists.access(Role.MEMBER, "files", Data.SHARED) is Access.ALLOWED
    assert lists.access(Role.OWNER, "anything", Data.SHARED) is Access.ALLOWED


SCOPED = Autonomous(scopes=(frozenset({"tool"}),))


def hidden(
    requirement: str = "ask",
    *,
    who: Principal = OWNER,
    mode: Interactive | Autonomous | None = None,
    policy: Policy | None = None,
    setting: ToolSetting | None = None,
) -> bool:
    facts = ToolFacts("tool", Requirement(requirement), Data.OWN)
    return never_runs(facts, who, mode or Interactive(), policy or Policy(), setting)


def test_tools_that_may_be_approved_are_offered() -> None:
    assert not hidden("always_ask")
    assert not hidden(who=MEMBER, policy=Policy(roles=RolePolicy(member_asks_owner=True)))
    assert not hidden(setting=ToolSetting.ASK_EACH_TIME)


def test_tools_no_one_can_approve_are_not_offered() -> None:
    assert hidden(who=MEMBER)
    assert hidden(setting=ToolSetting.DISABLED)
    assert hidden(policy=Policy(admin=AdminPolicy(disabled=frozenset({"tool"}))))
    assert hidden(mode=SCOPED, setting=ToolSetting.DISABLED)


def test_a_run_without_a_person_is_offered_the_tools_in_its_scopes() -> None:
    assert not hidden(mode=SCOPED)
    assert not hidden("always_ask", mode=SCOPED), "its arguments may have been granted"
    assert not hidden("never", mode=Autonomous())
    assert hidden("ask", mode=Autonomous())
    assert hidden(mode=Autonomous(scopes=(frozenset({"tool"}), frozenset({"other"}))))
    assert hidden(mode=SCOPED, policy=Policy(denylist=frozenset({"tool"})))


def made_ready(who: Principal, mode: Interactive | Autonomous | None = None) -> Decision:
    """A call of a tool that was made ready for the owner, the member and a guest."""
    users = frozenset({OWNER.user_id, MEMBER.user_id, GUEST.user_id})
    facts = ToolFacts("tool", Requirement.NEVER, Data.OWN, users=users)
    return decide(CallFacts(facts, "t", 1), who, mode or Interactive(), Policy(roles=RolePolicy(member=())))


def test_a_tool_prepared_for_some_people_is_theirs_without_a_list_and_unknown_to_others() -> None:
    assert isinstance(made_ready(OWNER), Allow)
    assert isinstance(made_ready(MEMBER), Allow)
    guest = made_ready(GUEST)
    assert isinstance(guest, Deny)
    assert guest.reason is DenyReason.NOT_IN_ROLE
    other = made_ready(Principal("u-other", Role.OWNER, "Otto"))
    assert isinstance(other, Deny)
    assert other.reason is DenyReason.UNKNOWN_TOOL
