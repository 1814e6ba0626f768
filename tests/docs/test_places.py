"""Pages name files, tests, commands and log events that exist."""

import re
from pathlib import Path

import pytest

from bot.cli.commands import app
from tests.docs.test_commands import known
from tests.docs.test_statements import names, rows
from tests.tree import ROOT, project_files

CONTRIBUTORS = (ROOT / "docs" / "architecture.md", ROOT / "CONTRIBUTING.md")
UNVERIFIED = (ROOT / "docs" / "unverified.md", *sorted((ROOT / "docs" / "unverified").glob("*.md")))
_PLACE = re.compile(r"`((?:bot|channels|core|tests|docs|benchmarks)/[\w./-]+)`")
_FILE = re.compile(r"`([\w-]+\.(?:py|md|toml|js))`")
_COMMAND = re.compile(r"`hubbub ([^`]+)`")
_LOGGED = re.compile(r"log\s+(?:says|shows)\s+`([^`]+)`")
WRITTEN_BY_PEOPLE = {"hubbub.toml"}


@pytest.mark.parametrize("page", CONTRIBUTORS + UNVERIFIED, ids=lambda page: page.name)
def test_every_place_a_page_names_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    places = [place for place in _PLACE.findall(text) if "NAME" not in place]
    assert places or page not in CONTRIBUTORS
    assert [place for place in places if not (ROOT / place).exists()] == []
    known_files = {file.name for file in project_files()} | WRITTEN_BY_PEOPLE
    assert [name for name in _FILE.findall(text) if name not in known_files] == []


@pytest.mark.parametrize("page", UNVERIFIED, ids=lambda page: page.name)
def test_documented_commands_and_outputs_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    commands = {
        command.name or command.callback.__name__ for command in app.registered_commands if command.callback
    }
    for typed in _COMMAND.findall(text):
        path, _ = known(typed.split())
        assert len(path) > 1 or path[0] in commands, typed
    events = {"".join(names(row["event"])) for row in rows(Path("docs/operating.md"), "event")}
    assert [logged for logged in _LOGGED.findall(text) if logged.split()[0] not in events] == []
