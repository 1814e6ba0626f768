"""The scenes that the page of prompts lists are there, and play where it says."""

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.docs.test_statements import names, rows
from tests.tree import ROOT

PAGE = Path("docs/approval-scenarios.md")
PLATFORMS = ("Telegram", "Slack", "Discord")
EVERYWHERE = {"platform", "cast"}
"""A test with such a parameter is played on all of them."""
ROWS = rows(PAGE, "scenario")


@cache
def parameters(path: str) -> dict[str, set[str]]:
    """The tests of a file, and what they are given."""
    tree = ast.parse((ROOT / "tests" / path).read_text())
    found = [one for one in tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {one.name: {argument.arg for argument in one.args.args} for one in found}


def played_on(test: str) -> set[str]:
    """Return where a test plays, by what it is given and by its name; what names no platform is on
    Telegram."""
    path, _, name = test.partition("::")
    if EVERYWHERE & parameters(path)[name]:
        return set(PLATFORMS)
    return {platform for platform in PLATFORMS if platform.lower() in name} or {"Telegram"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["scenario"])
def test_each_scene_is_played_where_the_page_says(row: dict[str, str]) -> None:
    tests = {name for name in names(row["tests, below `tests/`"]) if "::" in name}
    ticked = {platform for platform in PLATFORMS if row[platform] == "✓"}
    assert ticked == set().union(*map(played_on, tests))


def test_required_files_are_listed() -> None:
    listed = " ".join(row["scenario"] for row in ROWS)
    assert len(ROWS) >= 20
    for word in (
        "two must approve",
        "opposite",
        "edited",
        "no one decides",
        "revoked",
        "`yes`",
        "killed",
    ):
        assert word in listed
