"""Tools are found by name, and shown to those who may use them."""

import pytest

from core.approvals import AdminPolicy
from core.consent.roles import RolePolicy
from core.consent.rules import Autonomous, Interactive, Mode, Policy, for_subtask
from core.errors import ToolNotFound
from core.tool import CallContext, Data, Tool
from core.tools.definition import tool
from core.tools.registry import ToolRegistry
from core.users import Principal, Role


def make(name: str, data: Data = Data.OWN) -> Tool:
    @tool(name=name, data=data)
    async def act(call: CallContext, text: str = "") -> str:
        """Acts."""
        return text

    return act


TOOLS = (
    make("time", Data.NONE),
    make("memory_write"),
    make("memory-search"),
    make("shell", Data.SHARED),
)
REGISTRY = ToolRegistry(TOOLS)


def visible(
    role: Role,
    roles: RolePolicy,
    disabled: frozenset[str] = frozenset(),
    *,
    mode: Mode | None = None,
    admin: AdminPolicy | None = None,
) -> list[str]:
    policy = Policy(roles=roles, admin=admin or AdminPolicy(), denylist=frozenset({"shell"}))
    person = Principal("u", role, "U")
    return [one.name for one in REGISTRY.visible_tools(person, mode or Interactive(), policy, disabled)]


@pytest.mark.parametrize(
    "name,found",
    [
        ("time", "time"),
        ("memory_write", "memory_write"),
        ("memory-write", "memory_write"),
        ("memory_search", "memory-search"),
    ],
)
def test_a_tool_is_found_by_its_name_with_dashes_or_underscores(name: str, found: str) -> None:
    assert REGISTRY.lookup(name).name == found


@pytest.mark.parametrize("name", ["", "Time", "times", "memory", "shell "])
def test_no_other_name_finds_one(name: str) -> None:
    with pytest.raises(ToolNotFound) as missing:
        REGISTRY.lookup(name)
    assert repr(name) in str(missing.value)


def test_a_long_made_up_name_is_not_repeated_whole() -> None:
    with pytest.raises(ToolNotFound) as missing:
        REGISTRY.lookup("x" * 10_000)
    assert len(str(missing.value)) < 200


def test_names_that_could_be_confused_are_refused() -> None:
    with pytest.raises(ValueError) as refused:
        ToolRegistry([make("memory_write"), make("memory-write")])
    assert "memory-write" in str(refused.value)


def test_an_owner_sees_everything_in_order() -> None:
    assert visible(Role.OWNER, RolePolicy()) == ["time", "memory_write", "memory-search", "shell"]


def test_a_member_sees_their_list() -> None:
    assert visible(Role.MEMBER, RolePolicy(member=("memory_*", "time"))) == ["time", "memory_write"]
    assert visible(Role.MEMBER, RolePolicy(member=())) == []


def test_a_member_who_may_ask_an_owner_sees_what_can_be_asked_for() -> None:
    everything = ["time", "memory_write", "memory-search", "shell"]
    assert visible(Role.MEMBER, RolePolicy(member=(), member_asks_owner=True)) == everything


def test_a_guest_sees_no_shared_data_even_where_it_is_listed() -> None:
    policy = RolePolicy(guest=("time", "shell", "memory_*"), member_asks_owner=True)
    assert visible(Role.GUEST, policy) == ["time", "memory_write"]


@pytest.mark.parametrize("role", list(Role))
def test_a_disabled_tool_is_hidden_from_everyone(role: Role) -> None:
    policy = RolePolicy(member=("time",), guest=("time",))
    assert "time" not in visible(role, policy, frozenset({"time"}))


@pytest.mark.parametrize("role", list(Role))
def test_the_operators_policy_hides_from_everyone_or_from_one(role: Role) -> None:
    roles = RolePolicy(member=("time", "memory_*"), guest=("time", "memory_*"))
    admin = AdminPolicy(frozenset({"time"}), {"u": frozenset({"memory_write"}), "v": frozenset({"shell"})})
    assert set(visible(role, roles, admin=admin)).isdisjoint({"time", "memory_write"})
    assert ("shell" in visible(role, roles, admin=admin)) is (role is Role.OWNER)
    assert visible(role, roles, admin=AdminPolicy(unreadable="it is gone")) == []


def test_a_run_without_a_person_sees_what_its_scopes_hold() -> None:
    everything = frozenset({"time", "memory_write", "memory-search", "shell"})
    assert visible(Role.OWNER, RolePolicy(), mode=Autonomous((everything,))) == [
        "time",
        "memory_write",
        "memory-search",
    ]
    narrow = for_subtask(Autonomous((everything,)), frozenset({"time", "shell", "other"}))
    assert visible(Role.OWNER, RolePolicy(), mode=narrow) == ["time"]
    wishful = for_subtask(Autonomous((frozenset({"time"}),)), frozenset({"time", "memory_write"}))
    assert visible(Role.OWNER, RolePolicy(), mode=wishful) == ["time"]
    assert visible(Role.OWNER, RolePolicy(), mode=Autonomous()) == []
    asking = RolePolicy(member=("time",), member_asks_owner=True)
    assert visible(Role.MEMBER, asking, mode=Autonomous((everything,))) == ["time"]


def test_the_model_gets_name_description_and_schema() -> None:
    policy = Policy(roles=RolePolicy(member=("time",)))
    specs = REGISTRY.specs(Principal("u", Role.MEMBER, "U"), Interactive(), policy)
    assert [(spec.name, spec.description) for spec in specs] == [("time", "Acts.")]
    assert specs[0].parameters["properties"] == {"text": {"type": "string", "default": ""}}


def test_members_and_guests_have_the_built_in_lists() -> None:
    policy = RolePolicy()
    assert visible(Role.MEMBER, policy) == ["time", "memory_write"]
    assert visible(Role.GUEST, policy) == ["time"]
