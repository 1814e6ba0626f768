"""Grants of command lines that run files: valid as long as the files are what they were."""

import os
from pathlib import Path

import pytest

from core.consent.decide import covered
from core.tool import Need
from core.tools.builtin.shell import shell_tool
from tests.core.tools.support import place

ONE = "#!/bin/sh\necho one\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name in ("build.sh", "data.csv"):
        (tmp_path / name).write_text(ONE)
    (tmp_path / "build.sh").chmod(0o755)
    (tmp_path / "Makefile").write_text("all:\n\techo one\n")
    (tmp_path / "python").symlink_to("/usr/bin/python3")
    return tmp_path


def fits(pattern: str | None, name: str | None) -> bool:
    return covered([pattern], () if name is None else (Need(name),), rated=True)


def name_of(workspace: Path, command: str) -> str | None:
    """Return what "always" would cover of it now."""
    shell = shell_tool({"PATH": os.defpath})
    assert shell.plan is not None
    return shell.plan(shell.validate({"command": command}), place(workspace)).risk.pattern


RUN_A_FILE = ("sh build.sh", "./build.sh --fast", "bash -x build.sh", "sh build.sh data.csv")


@pytest.mark.parametrize("command", RUN_A_FILE)
def test_always_ends_once_the_file_has_changed(workspace: Path, command: str) -> None:
    granted = name_of(workspace, command)
    assert granted is not None
    assert "build.sh unchanged" in granted
    assert fits(granted, name_of(workspace, command))
    (workspace / "build.sh").write_text("#!/bin/sh\necho two\n")
    assert not fits(granted, name_of(workspace, command))
    (workspace / "build.sh").unlink()
    assert not fits(granted, name_of(workspace, command))
    (workspace / "build.sh").write_text(ONE)
    assert fits(granted, name_of(workspace, command))


def test_files_that_build_tools_find_themselves_count(workspace: Path) -> None:
    granted = name_of(workspace, "make all")
    assert granted is not None
    (workspace / "GNUmakefile").write_text("all:\n\techo two\n")
    assert not fits(granted, name_of(workspace, "make all"))


@pytest.mark.parametrize("command", ["sh /tmp/build.sh", "sh ~/build.sh", "./python build.sh", "sh ../x.sh"])
def test_files_that_may_change_are_not_granted(workspace: Path, command: str) -> None:
    assert name_of(workspace, command) is None


@pytest.mark.parametrize("command", ["ls", "cat build.sh"])
def test_commands_without_files_are_granted_as_before(workspace: Path, command: str) -> None:
    granted = name_of(workspace, command)
    assert granted is not None
    assert "unchanged" not in granted


def test_a_grant_from_before_covers_no_file() -> None:
    """It named the line alone."""
    assert not fits("sh build.sh", "sh build.sh [build.sh unchanged, 0]")


def test_a_grant_stays_when_data_changes(workspace: Path) -> None:
    granted = name_of(workspace, "sh build.sh data.csv")
    (workspace / "data.csv").write_text("1,2\n")
    assert fits(granted, name_of(workspace, "sh build.sh data.csv"))


def test_a_line_cannot_be_written_like_another_with_its_files(workspace: Path) -> None:
    granted = name_of(workspace, "sh build.sh")
    assert granted is not None
    assert not fits(granted, name_of(workspace, granted))
