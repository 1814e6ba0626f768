"""Commands in unusual surroundings, and the form of their output."""

import asyncio
import errno
import gzip
import json
import os
from pathlib import Path

import pytest

from bot.app import serve
from bot.cli.commands import app
from bot.cli.conventions import print_table
from bot.config.load import load
from bot.runtime import StartError, needed_to_start, version
from core.store.sqlite.maintenance import current_schema
from tests.bot.cli.in_process import command
from tests.payloads.make_store_database import DIRECTORY

NO_NAME_IS_SO_LONG = "n" * 300
"""A file of that name is refused by the system itself, to whomever: as one of another user is to us."""

LOOKING = [
    "threads list", "approvals decide x approve", "pair list", "grants list", "permissions list", "logs",
    "routines list", "audit verify", "db check", "db backup copy.db",
]  # fmt: skip
LOOKING_AT_DAMAGE = ["users list", "threads list", "approvals list", "why", "pair list", "db check"]


@pytest.mark.parametrize("words", LOOKING)
def test_an_unusable_data_directory_is_reported_in_one_line_without_a_traceback(
    tmp_path: Path, words: str
) -> None:
    ended = command(tmp_path, *words.split(), env={"HUBBUB__HUB__DATA_DIR": NO_NAME_IS_SO_LONG})
    assert (ended.code, ended.out) == (1, "")
    assert ended.complaint.startswith("hubbub: ")
    assert NO_NAME_IS_SO_LONG in ended.complaint
    assert len(ended.err.splitlines()) == 1


def test_doctor_continues_where_files_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "data" / "hub.db").parent.mkdir(mode=0o700)
    (tmp_path / "data" / "hub.db").symlink_to(NO_NAME_IS_SO_LONG)
    env = {"HUBBUB__HTTP__PORT": "0"}
    ended = command(tmp_path, "doctor", "--json", env=env)
    broken = {one["what"]: one for one in json.loads(ended.out) if one["health"] == "broken"}
    assert (ended.code, sorted(broken)) == (1, ["store", "vault"])
    assert broken["store"]["message"].endswith("hub.db is not readable: File name too long")
    assert broken["store"]["fix"] == "run this as the hub's user"


@pytest.mark.parametrize("words", [*LOOKING_AT_DAMAGE, "users add Di", "run"])
def test_a_damaged_database_is_one_line_that_says_what_to_do(damaged: Path, words: str) -> None:
    ended = command(damaged, *words.split(), env={"HUBBUB__HTTP__PORT": "0"})
    assert (ended.code, ended.out) == (1, "")
    complaint = ended.err.splitlines()[-1]
    assert complaint.startswith("hubbub: ")
    assert "malformed" in complaint
    assert complaint.count("; stop the hub and restore a backup: hubbub db restore FILE") == 1
    assert "Traceback" not in ended.err


def test_doctor_says_what_to_do_about_a_damaged_database(damaged: Path) -> None:
    ended = command(damaged, "doctor", "--json", env={"HUBBUB__HTTP__PORT": "0"})
    found = {one["what"]: one for one in json.loads(ended.out)}
    assert (ended.code, found["store"]["health"]) == (1, "broken")
    assert "hubbub db restore FILE" in found["store"]["message"]


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A data directory whose database has lost all but its first page."""
    (tmp_path / "data").mkdir(mode=0o700)
    sound = gzip.decompress((DIRECTORY / f"sqlite-{current_schema().version:04}.db.gz").read_bytes())
    (tmp_path / "data" / "hub.db").write_bytes(sound[:4096] + b"\xa5" * (len(sound) - 4096))
    return tmp_path


async def test_a_hub_does_not_start_with_an_invalid_vault_key(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "vault.key").write_text("12ab")
    stop = asyncio.Event()
    stop.set()  # one that starts all the same ends
    advice = r"vault\.key must contain keys of 64 hexadecimal digits; restore it from a backup$"
    with pytest.raises(StartError, match=advice):
        await serve(load(environ={"HUBBUB__HTTP__PORT": "0"}, cwd=tmp_path), stop=stop)


@pytest.mark.parametrize("why", [errno.ENOSPC, errno.EDQUOT], ids=["no room", "none left for its user"])
def test_a_full_disk_is_not_reported_as_a_permission_problem(tmp_path: Path, why: int) -> None:
    told = f"^can't use {tmp_path}: .*; free up space on its disk$"
    with pytest.raises(StartError, match=told), needed_to_start(tmp_path, "make it writable"):
        raise OSError(why, os.strerror(why))


def test_the_version_is_printed(tmp_path: Path) -> None:
    told = command(tmp_path, "--version")
    assert (told.code, told.out) == (0, f"hubbub {version()}\n")
    assert "--version" in command(tmp_path, "--help").out


@pytest.mark.parametrize("words", ["list", "show x", "history x", "test x --text y"])
def test_listing_routines_creates_no_files(tmp_path: Path, words: str) -> None:
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


def test_columns_line_up_with_any_names(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("name", "role"), [("张伟张", "member"), ("Zoë", "guest")])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["name    role", "张伟张  member", "Zoë     guest"]


def test_lines_of_a_cell_stand_next_to_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("what", "id"), [("Run `ls`?\nThere is no grant for this call of shell.", "\x1b[1m")])
    assert (
        capsys.readouterr().out.splitlines()[1]
        == "Run `ls`? There is no grant for this call of shell.  \ufffd[1m"
    )
