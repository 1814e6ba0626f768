"""What commands do where things are not as they should be, and how what they print reads."""

import json
from pathlib import Path

import pytest

from bot.cli.commands import app
from bot.cli.printing import print_table
from tests.bot.in_process import command

NO_NAME_IS_SO_LONG = "n" * 300
"""A file of that name is refused by the system itself, to whomever: as one of another user is to us."""

LOOKING = [
    "threads list", "approvals decide x approve", "pair list", "grants list", "permissions list", "logs",
    "routines list", "audit verify", "db check", "db backup copy.db",
]  # fmt: skip


@pytest.mark.parametrize("words", LOOKING)
def test_files_that_cannot_be_used_are_one_line_and_no_trace(tmp_path: Path, words: str) -> None:
    ended = command(tmp_path, *words.split(), env={"HUBBUB__HUB__DATA_DIR": NO_NAME_IS_SO_LONG})
    assert (ended.code, ended.out) == (1, "")
    assert ended.complaint.startswith("hubbub: ")
    assert NO_NAME_IS_SO_LONG in ended.complaint
    assert len(ended.err.splitlines()) == 1


def test_doctor_goes_on_where_files_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "data" / "hub.db").parent.mkdir(mode=0o700)
    (tmp_path / "data" / "hub.db").symlink_to(NO_NAME_IS_SO_LONG)
    env = {"HUBBUB__HTTP__PORT": "0"}
    ended = command(tmp_path, "doctor", "--json", env=env)
    broken = {one["what"]: one for one in json.loads(ended.out) if one["health"] == "broken"}
    assert (ended.code, sorted(broken)) == (1, ["store", "vault"])
    assert broken["store"]["message"].endswith("hub.db cannot be read: File name too long")
    assert broken["store"]["fix"] == "run this as the user the hub runs as"


@pytest.mark.parametrize("words", ["list", "show x", "history x", "test x --text y"])
def test_looking_at_routines_makes_nothing(tmp_path: Path, words: str) -> None:
    ended = command(tmp_path, "routines", *words.split())
    assert (ended.code, ended.out) == (1, "")
    assert ended.complaint == f"There is no database in {tmp_path}/data yet; start the hub first."
    assert list(tmp_path.iterdir()) == []


def test_no_line_of_a_list_of_commands_is_cut(tmp_path: Path) -> None:
    groups = [str(group.name) for group in app.registered_groups]
    for words in ([], *([name] for name in groups)):
        ended = command(tmp_path, *words, "--help", env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"})
        listed = ended.out.partition("Commands:")[2]
        assert listed, words
        assert "..." not in listed, words


def test_columns_line_up_whatever_people_are_called(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("name", "role"), [("张伟张", "member"), ("Zoë", "guest")])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["name    role", "张伟张  member", "Zoë     guest"]
