"""What "always" covers of a command line that runs files: as long as they are what they were."""

from pathlib import Path

import pytest

from core.consent.grants import pattern_fits
from core.safety.paths import PathGuard
from core.tools.builtin.shell import rate_shell


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name in ("build.sh", "Makefile", "data.csv"):
        (tmp_path / name).write_text("echo one\n")
    (tmp_path / "python").symlink_to("/usr/bin/python3")
    return tmp_path


def name_of(workspace: Path, command: str) -> str | None:
    """What "always" would cover of it now."""
    return rate_shell({"command": command}, None, PathGuard(workspace)).pattern


RUN_A_FILE = (
    "sh build.sh",
    "./build.sh --fast",
    "bash -x build.sh",
    "bash -O extglob build.sh",
    "python -W ignore build.sh",
    "source build.sh",
    "sh -- build.sh",
    "timeout 5 sh build.sh",
    "env A=1 sh build.sh",
    "bash -c 'sh build.sh'",
    "bash --rcfile build.sh later",
    "awk -f build.sh data.csv",
    "sed --file=build.sh data.csv",
    "make -f build.sh",
    "deno run build.sh",
    "uv run build.sh",
)


@pytest.mark.parametrize("command", RUN_A_FILE)
def test_always_ends_once_the_file_says_something_else(workspace: Path, command: str) -> None:
    granted = name_of(workspace, command)
    assert granted is not None
    assert "build.sh unchanged" in granted
    assert pattern_fits(granted, name_of(workspace, command), rated=True)
    (workspace / "build.sh").write_text("echo two\n")
    assert not pattern_fits(granted, name_of(workspace, command), rated=True)
    (workspace / "build.sh").unlink()
    assert not pattern_fits(granted, name_of(workspace, command), rated=True)
    (workspace / "build.sh").write_text("echo one\n")
    assert pattern_fits(granted, name_of(workspace, command), rated=True)


def test_always_ends_once_a_file_is_there_that_was_not(workspace: Path) -> None:
    granted = name_of(workspace, "python -m tool")
    (workspace / "tool").write_text("print(2)")
    assert not pattern_fits(granted, name_of(workspace, "python -m tool"), rated=True)


def test_what_a_builder_looks_for_by_itself_counts(workspace: Path) -> None:
    granted = name_of(workspace, "make all")
    assert granted is not None
    (workspace / "GNUmakefile").write_text("all:\n\techo two\n")
    assert not pattern_fits(granted, name_of(workspace, "make all"), rated=True)


@pytest.mark.parametrize("command", ["sh /tmp/build.sh", "sh ~/build.sh", "./python build.sh", "sh ../x.sh"])
def test_what_cannot_be_known_to_stay_is_not_granted(workspace: Path, command: str) -> None:
    assert name_of(workspace, command) is None


@pytest.mark.parametrize("command", ["ls", "cat build.sh", "git commit -m x", "/usr/bin/git status"])
def test_what_runs_no_file_is_granted_as_ever(workspace: Path, command: str) -> None:
    granted = name_of(workspace, command)
    assert granted is not None
    assert "unchanged" not in granted


def test_a_grant_from_before_covers_no_file() -> None:
    """It named the line alone."""
    assert not pattern_fits("sh build.sh", "sh build.sh [build.sh unchanged, 0]", rated=True)


def test_data_may_change(workspace: Path) -> None:
    granted = name_of(workspace, "sh build.sh data.csv")
    (workspace / "data.csv").write_text("1,2\n")
    assert pattern_fits(granted, name_of(workspace, "sh build.sh data.csv"), rated=True)


def test_a_line_cannot_be_written_like_another_with_its_files(workspace: Path) -> None:
    granted = name_of(workspace, "sh build.sh")
    assert granted is not None
    assert not pattern_fits(granted, name_of(workspace, granted), rated=True)
