"""The suites of the file tools once more, as these work where tools of chats are in containers: on the files
of one person, which belong to the user of that person's containers. The tests are those of the host.

What is left out declares tools, or makes workspaces of its own.
"""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from core.sandbox.policy import container_user
from core.tool import Tool
from core.tools.builtin.file_changes import writing_tools
from core.tools.builtin.files import reading_tools, searching_tools
from tests.core.tools import test_changing_files, test_files
from tests.core.tools.support import in_place, place

SUITES = (test_files, test_changing_files)
LEFT_OUT = {
    "test_the_file_tools_have_their_declarations",
    "test_tools_that_change_files_declare_it",
    "test_any_arguments_give_a_text_or_a_tool_error",
}
REPEATED = {
    name: test
    for suite in SUITES
    for name, test in vars(suite).items()
    if name.startswith("test_") and name not in LEFT_OUT
}
globals().update(REPEATED)
tree = test_changing_files.tree


def test_every_other_scenario_of_the_host_is_repeated() -> None:
    assert {name for suite in SUITES for name in vars(suite)} >= LEFT_OUT
    assert len(REPEATED) >= 26


@pytest.fixture
def work(tmp_path: Path) -> Path:
    if os.geteuid() != 0:
        pytest.skip("only a hub of root's gives files to others")
    user = container_user(0, 0, 7)
    (tmp_path / "work").mkdir()
    os.chown(tmp_path / "work", user.uid, user.gid)
    return tmp_path / "work"


@pytest.fixture
def tools(work: Path) -> dict[str, Tool]:
    owner = (work.stat().st_uid, work.stat().st_gid)
    files = replace(place(work), owner=owner)
    found = (*reading_tools(), *writing_tools(), *searching_tools())
    return {tool.name: in_place(tool, files) for tool in found}
