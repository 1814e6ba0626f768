"""A server's list of tools: names, bounds, requirements, and that hints count for nothing."""

import string
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidArguments
from core.tool import Data, Effect, Requirement, Tool
from core.tools.definition import NAME
from core.tools.mcp.catalog import (
    DESCRIPTION_CHARS,
    MAX_TOOLS,
    Listed,
    Offer,
    Terms,
    ToolTerms,
    offer,
    own_name,
)
from core.tools.registry import ToolRegistry
from tests.core.tools.support import NOWHERE, run
from tests.simulators.mcp.raw import ODD

NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
PEOPLE = frozenset({"u1"})


async def carried_out(tool: Tool, listed: Listed, *_: object) -> str:
    return f"{tool.name} is {listed.name}"


def offered(listed: Sequence[Listed], **terms: Any) -> Offer:
    return offer(listed, Terms("srv", PEOPLE, **terms), carried_out)


def one(name: str = "act", description: str = "Acts.", **more: Any) -> Listed:
    return Listed(name, description, more.pop("parameters", NOTHING), **more)


@pytest.mark.parametrize(
    "theirs,ours",
    [
        ("get_issue", "srv__get_issue"),
        ("getIssue", "srv__get_issue"),
        ("Get Issue!", "srv__get_issue"),
        ("a__b", "srv__a_b"),
        ("repo.file/read", "srv__repo_file_read"),
        ("dash-ed", "srv__dash-ed"),
        ("…", None),
        ("", None),
    ],
)
def test_tools_are_named_after_their_server(theirs: str, ours: str | None) -> None:
    assert own_name("srv", theirs) == ours


@given(st.text(max_size=200), st.text(string.ascii_lowercase, min_size=1, max_size=24))
def test_a_name_is_one_that_models_and_settings_accept(theirs: str, server: str) -> None:
    name = own_name(server, theirs)
    if name is not None:
        assert NAME.fullmatch(name)
        assert name == name.lower()
        assert name.split("__")[0] == server
        assert name.count("__") == 1


def test_long_names_with_the_same_beginning_stay_distinct() -> None:
    names = {own_name("srv", "x" * 100 + end) for end in "abc"}
    assert len(names) == 3
    assert all(name is not None and len(name) <= 64 for name in names)


async def test_a_tool_asks_is_not_repeated_and_is_only_for_its_people() -> None:
    (tool,) = offered([one()]).tools
    assert (tool.requirement, tool.effect, tool.data) == (Requirement.ASK, Effect.EFFECT, Data.SHARED)
    assert tool.users == PEOPLE
    assert tool.description == "Acts. (from srv)"
    assert await run(tool, {}) == "srv__act is act"


def test_the_configuration_overrides_requirement_effect_and_timeout() -> None:
    terms = {"act": ToolTerms(Requirement.NEVER, Effect.NONE, 7.0)}
    act, other = offered(
        [one(), one("other")], requirement=Requirement.ALWAYS_ASK, timeout_s=3.0, tools=terms
    ).tools
    assert (act.requirement, act.effect, act.timeout_s) == (Requirement.NEVER, Effect.NONE, 7.0)
    assert (other.requirement, other.effect, other.timeout_s) == (Requirement.ALWAYS_ASK, Effect.EFFECT, 3.0)


def test_only_configured_tools_are_offered() -> None:
    found = offered([one("getIssue"), one("other")], only=frozenset({"get_issue"}))
    assert [tool.name for tool in found.tools] == ["srv__get_issue"]


def test_odd_tools_are_refused_and_the_others_stay() -> None:
    listed = [one(tool["name"], tool["description"], parameters=tool["inputSchema"]) for tool in ODD]
    found = offered(listed)
    assert [tool.name.split("__")[1][:12] for tool in found.tools] == ["create_issue", "slow", "wordy_xxxxxx"]
    assert set(found.refused) == {"create-issue", "…", "typo", "elsewhere", "large"}
    assert [kept.name for kept in found.listed] == ["createIssue", "slow", "wordy " + "x" * 200]


def test_tools_and_descriptions_are_limited() -> None:
    found = offered([one(f"t{n}") for n in range(500)])
    assert len(found.tools) == MAX_TOOLS
    assert found.refused["…"] == f"and {500 - MAX_TOOLS - 20} more"
    wordy = {"type": "object", "properties": {"a": {"description": "x" * 15_000}}}
    assert len(offered([one(f"t{n}", parameters=wordy) for n in range(9)]).tools) == 4
    (long,) = offered([one(description="x" * 5_000)]).tools
    assert len(long.description) <= DESCRIPTION_CHARS + 20


def test_control_characters_of_a_server_are_removed() -> None:
    parameters = {"type": "object", "properties": {"a": {"description": "\x1b[31mred\u202e"}}}
    (tool,) = offered([one(description="\x1b]0;title\x07Acts.\x00", parameters=parameters)]).tools
    assert tool.description == "Acts. (from srv)"
    assert tool.parameters["properties"]["a"]["description"] == "red"


@pytest.mark.parametrize(
    "change",
    [
        {"description": "Sends it to everybody."},
        {"parameters": {"type": "object", "properties": {"to": {"type": "string"}}}},
        {"output": {"type": "object", "properties": {"password": {"type": "string"}}}},
    ],
    ids=lambda change: "".join(change),
)
def test_consent_is_for_the_tool_as_it_is_described(change: dict[str, Any]) -> None:
    (before,) = offered([one(output=NOTHING)]).tools
    (same,) = offered([one(output=NOTHING)]).tools
    (after,) = offered([one(**{"output": NOTHING, **change})]).tools
    assert before.version == same.version != after.version
    assert before.rate is not None
    assert after.rate is not None
    assert before.rate({}, NOWHERE).pattern != after.rate({}, NOWHERE).pattern
    assert before.rate({}, NOWHERE).requirement is Requirement.ASK


def test_arguments_are_judged_by_the_servers_schema() -> None:
    parameters = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    (tool,) = offered([one(parameters=parameters)]).tools
    assert tool.validate({"n": 1}) == {"n": 1}
    with pytest.raises(InvalidArguments, match="n required but missing"):
        tool.validate({})


def test_a_source_replaces_only_its_own_tools() -> None:
    (own,) = offered([one("own")]).tools
    registry = ToolRegistry([own])
    registry.replace("a", offered([one("x")]).tools)
    registry.replace("b", offered([one("y")]).tools)
    registry.replace("a", offered([one("z")]).tools)
    assert registry.names == ("srv__own", "srv__z", "srv__y")
    with pytest.raises(ValueError, match="two tools"):
        registry.replace("b", offered([one("own")]).tools)
    assert registry.names == ("srv__own", "srv__z", "srv__y")


def test_two_descriptions_whose_digests_begin_the_same_are_two_tools() -> None:
    """A server can find such a pair in seconds for any few digits; it can't for all of them."""
    (before,) = offered([one(description="Acts 1197e.")]).tools
    (after,) = offered([one(description="Acts 22b04.")]).tools
    assert before.rate is not None
    assert after.rate is not None
    agreed, now = before.rate({}, NOWHERE).pattern, after.rate({}, NOWHERE).pattern
    assert agreed is not None
    assert now is not None
    assert agreed[: -64 + 8] == now[: -64 + 8]
    assert agreed != now
    assert before.version != after.version
    assert min(before.version, after.version).bit_length() > 240
