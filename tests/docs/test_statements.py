"""Statements of the pages hold: tables are compared with the code, the example is run."""

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.cli.chat import LOG_NAME as CHAT_LOG_NAME
from bot.config.keys import KEY_NAME, VAULT_KEY_NAME
from bot.config.load import load
from bot.config.place import ACCESS_NAME, DATABASE_NAME
from bot.config.schema import Config
from bot.mcp.build import DIRECTORY_NAME
from bot.mcp.session import MAX_BLOCKS
from bot.ops.logs import LOG_NAME
from bot.runtime import ConfigError
from bot.terminal.terminal import HISTORY_NAME
from bot.tools import SPILL_NAME, build_policy, build_tools
from bot.web.files import UPLOADS_NAME
from core.approvals import Preset
from core.clock import SystemClock
from core.consent.decide import decide
from core.consent.rules import Allow, Ask, CallFacts, Interactive, Policy, ToolFacts
from core.errors import InvalidArguments, ToolFailed
from core.gates import Grant, GrantScope
from core.safety.fencing import RESULT_LIMIT_CHARS
from core.store.lease import LOCK_NAME
from core.tool import Data, Requirement, Risk, Tool
from core.tools.mcp.catalog import ALL_SPECS_BYTES, MAX_LISTED, MAX_TOOLS
from core.tools.mcp.connection import (
    ANSWER_LIMIT_BYTES,
    ANSWER_LIMIT_EVENTS,
    ANSWER_LIMIT_VALUES,
    LINE_LIMIT_BYTES,
    WINDOW_LIMIT_BYTES,
    WINDOW_LIMIT_LINES,
    WINDOW_S,
)
from core.tools.mcp.schemas import LIMIT_BYTES as SCHEMA_LIMIT_BYTES
from core.tools.mcp.schemas import MAX_STEPS
from core.users import Principal, Role
from tests.core.tools.support import NOWHERE, Call, place, run
from tests.docs.reading import code
from tests.tree import ROOT

OWNER = Principal("u1", Role.OWNER, "Olivia")
README, CONFIGURATION, SECURITY = Path("README.md"), Path("docs/configuration.md"), Path("docs/security.md")
TOOLS = Path("docs/tools.md")
COLUMNS = {
    "tool that never asks": (Requirement.NEVER, False),
    "tool that asks": (Requirement.ASK, False),
    "in `dangerous_tools`": (Requirement.ASK, True),
    "what always asks": (Requirement.ALWAYS_ASK, False),
}


def rows(page: Path, first_heading: str) -> list[Mapping[str, str]]:
    """The rows of the page's table whose first column has this heading."""
    lines = (ROOT / page).read_text().splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(f"| {first_heading} |"))
    headings = _cells(lines[start])
    body = itertools.takewhile(lambda line: line.startswith("|"), lines[start + 2 :])
    return [dict(zip(headings, _cells(line), strict=True)) for line in body]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def names(text: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", text))


# --- configuration ---------------------------------------------------------------------------------------


def test_every_section_of_the_configuration_is_explained() -> None:
    told = {name for row in rows(CONFIGURATION, "section") for name in names(row["section"])}
    assert {re.split(r"[\].]", name.strip("["))[0] for name in told} == set(Config.model_fields)


def test_mistakes_look_as_the_page_shows_them(tmp_path: Path) -> None:
    (tmp_path / "hubbub.toml").write_text('[hub]\ntimezone = "Mars/Base"\n')
    with pytest.raises(ConfigError) as refused:
        load(environ={"HUBBUB__HTTP__PORT": "high"}, cwd=tmp_path)
    shown = [written.text for language, written in code(CONFIGURATION) if language == "text"]
    assert shown == [f"{refused.value}\n"]


# --- security --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", rows(SECURITY, "preset"), ids=lambda row: row["preset"])
def test_presets_ask_as_the_page_says(row: Mapping[str, str]) -> None:
    preset = Preset(next(iter(names(row["preset"]))))
    for column, (requirement, dangerous) in COLUMNS.items():
        says = row[column]
        assert says in {"asks", "runs", "runs if granted", "runs if listed or granted"}
        bare, listed, granted = (
            decided(preset, requirement, dangerous=dangerous, listed=listed, granted=granted)
            for listed, granted in ((False, False), (True, False), (False, True))
        )
        assert bare is (Allow if says == "runs" else Ask), column
        if preset is Preset.WHITELIST:
            assert listed is (Allow if "listed" in says else Ask), column
        assert granted is (Ask if says == "asks" else Allow), column


def decided(
    preset: Preset, requirement: Requirement, *, dangerous: bool, listed: bool, granted: bool
) -> type[object]:
    """Return what becomes of a call under the preset."""
    policy = Policy(
        preset=preset,
        whitelist=frozenset({"tool"} if listed else ()),
        dangerous_tools=frozenset({"tool"} if dangerous else ()),
    )
    grant = Grant("g1", OWNER.user_id, "tool", None, GrantScope.USER, None, OWNER.user_id, 0)
    facts = CallFacts(
        tool=ToolFacts("tool", requirement, Data.OWN),
        thread_id="t1",
        now=1,
        grants=(grant,) if granted else (),
    )
    return type(decide(facts, OWNER, Interactive(), policy))


def test_every_tool_is_listed_with_what_it_asks(tmp_path: Path) -> None:
    loaded = load(environ={"HUBBUB__WEB_SEARCH__BASE_URL": "https://search.example"}, cwd=tmp_path)
    policy = build_policy(loaded.config)
    tools = {tool.name: tool for tool in build_tools(loaded, None, SystemClock()).all()}
    told = {name: row["asks"] for row in rows(SECURITY, "tool") for name in names(row["tool"])}
    assert set(told) == set(tools)
    for name, asks in told.items():
        assert asks.split(";")[0].split(" for ")[0] == says(tools[name], policy), name


def says(tool: Tool, policy: Policy) -> str:
    """How the page puts it."""
    if tool.requirement is Requirement.ALWAYS_ASK:
        return "always"
    raised = not policy.dangerous_operations.isdisjoint(tool.name.split("_"))
    if tool.requirement is Requirement.NEVER and not raised:
        return "never"
    if tool.requirement is Requirement.ALWAYS_ASK:
        return "always"
    return "dangerous" if tool.name in policy.dangerous_tools else "unless something allows it"


def test_every_file_of_the_data_directory_is_documented() -> None:
    kept = {
        DATABASE_NAME,
        KEY_NAME,
        VAULT_KEY_NAME,
        ACCESS_NAME,
        LOG_NAME,
        CHAT_LOG_NAME,
        HISTORY_NAME,
        LOCK_NAME,
    }
    told = {name for row in rows(SECURITY, "file in `data_dir`") for name in names(row["file in `data_dir`"])}
    assert kept | {f"{SPILL_NAME}/", f"{UPLOADS_NAME}/", f"{DIRECTORY_NAME}/"} <= told


# --- tools ------------------------------------------------------------------------------------------------


async def test_the_tool_of_the_tools_page_works(tmp_path: Path) -> None:
    (source,) = [written.text for language, written in code(TOOLS) if language == "python"]
    page: dict[str, Any] = {}
    exec(compile(source, str(TOOLS), "exec"), page)  # noqa: S102 - it is what the page tells people to write
    add_note = page["add_note"]
    assert isinstance(add_note, Tool)
    call = Call(workspace=place(tmp_path))
    assert await run(add_note, {"book": "shopping", "text": "milk"}, call) == "Noted in shopping."
    assert (tmp_path / "shopping.txt").read_text() == "milk\n"
    with pytest.raises(InvalidArguments, match="book"):
        add_note.validate({"book": "../etc", "text": "x"})
    with pytest.raises(ToolFailed, match="not writable"):
        await run(add_note, {"book": "b", "text": "x"}, Call(workspace=place(tmp_path / "missing")))
    assert add_note.rate is not None
    assert add_note.rate({"book": "a", "text": "5 EUR"}, NOWHERE).requirement is Requirement.ALWAYS_ASK
    assert add_note.rate({"book": "a", "text": "5"}, NOWHERE) == Risk(Requirement.ASK, pattern="a")


def test_the_servers_of_the_tools_page_are_configured_so(tmp_path: Path) -> None:
    (source,) = [written.text for language, written in code(TOOLS) if language == "toml"]
    (tmp_path / "hubbub.toml").write_text(source)
    config = load(tmp_path / "hubbub.toml", environ={"GITHUB_TOKEN": "t"}, secrets=False).config
    assert config.mcp["github"].only == ("get_issue", "add_issue_comment")
    assert config.mcp["search"].url == "https://mcp.example/mcp"


def test_the_bounds_of_the_tools_page_are_those_in_force() -> None:
    text = (ROOT / TOOLS).read_text()
    for bound in (
        f"over {LINE_LIMIT_BYTES >> 20} MB at once",
        f"{WINDOW_LIMIT_BYTES >> 20} MB or {WINDOW_LIMIT_LINES:,} lines within {WINDOW_S:g} s",
        f"(HTTP: {ANSWER_LIMIT_BYTES >> 20} MB or {ANSWER_LIMIT_EVENTS:,} events in one answer)",
        f"{ANSWER_LIMIT_VALUES:,} JSON values in one answer",
        f"the first {MAX_BLOCKS:,} parts of a result",
        f"first {MAX_TOOLS} tools and {ALL_SPECS_BYTES >> 10} KB",
        f"of the first {MAX_LISTED} listed",
        f"over {SCHEMA_LIMIT_BYTES >> 10} KB",
        f"more than {MAX_STEPS:,} steps",
        f"cut to {RESULT_LIMIT_CHARS:,} characters",
    ):
        assert bound in text


# --- the README ------------------------------------------------------------------------------------------


async def test_the_tool_of_the_readme_works() -> None:
    (source,) = [written.text for language, written in code(README) if language == "python"]
    page: dict[str, Any] = {}
    exec(compile(source, str(README), "exec"), page)  # noqa: S102 - it is what the page tells people to write
    count_words = page["count_words"]
    assert isinstance(count_words, Tool)
    assert await run(count_words, {"text": "one typed function"}) == "3 words"
    assert count_words.parameters["required"] == ["text"]


def test_every_place_of_the_house_is_there() -> None:
    for row in rows(README, "place"):
        (place,) = names(row["place"])
        assert (ROOT / place).is_dir(), place
        for name in names(row["contents"]):
            if not name.startswith("python"):
                assert (ROOT / place / name).exists(), f"{place}{name}"
