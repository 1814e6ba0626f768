"""`hubbub db`: checked, copied, put back and upgraded, beside a hub and without one."""

import gzip
import json
import re
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from core.store.lease import DataDirectoryLock
from core.store.sqlite import maintenance
from core.store.sqlite.maintenance import INVARIANTS, current_schema
from tests.bot.cli.in_process import command
from tests.harness.process import HubProcess, hubbub
from tests.harness.telegram_hub import LIMIT_S, OWNER, open_hub
from tests.payloads.make_store_database import DIRECTORY

CURRENT, OLDEST = current_schema().version, current_schema().oldest


def stored(tmp_path: Path, schema: int = CURRENT) -> Path:
    """A small database in the data directory."""
    data = tmp_path / "data"
    data.mkdir(mode=0o700, exist_ok=True)
    database = data / "hub.db"
    database.write_bytes(gzip.decompress((DIRECTORY / f"sqlite-{schema:04}.db.gz").read_bytes()))
    return database


def change(database: Path, *statements: str) -> None:
    connection = sqlite3.connect(database)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def threads(database: Path) -> int:
    connection = sqlite3.connect(database)
    (count,) = connection.execute("SELECT count(*) FROM threads WHERE channel <> 'routine'").fetchone()
    connection.close()
    return count


async def test_with_a_running_hub_check_and_backup_work_and_restore_is_refused(tmp_path: Path) -> None:
    async with open_hub(tmp_path, start=False) as house, HubProcess(tmp_path):
        house.telegram.user_sends_text(OWNER, "hello")
        await house.telegram.wait_text(OWNER, "You said: hello", timeout_s=LIMIT_S)
        sound = await hubbub(tmp_path, "db", "check")
        assert (sound.code, sound.err) == (0, "")
        # Of all of it: most is in the write-ahead log still.
        size, unit = re.fullmatch(rf".*: intact, ([\d.]+) (kB|MB), schema {CURRENT}\.\n", sound.out).groups()  # type: ignore[union-attr]
        assert float(size) * {"kB": 1, "MB": 1024}[unit] > 100
        copied = await hubbub(tmp_path, "db", "backup", "copy.db")
        assert (copied.code, copied.err) == (0, "")
        refused = await hubbub(tmp_path, "db", "restore", "copy.db")
        assert refused.code == 1
        assert "stop it, or set another [hub] data_dir" in refused.complaint
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    assert threads(tmp_path / "copy.db") == 1
    assert sorted(path.name for path in tmp_path.glob("copy.db*")) == ["copy.db"]


def test_restore_replaces_the_database_and_keeps_the_previous_one(tmp_path: Path) -> None:
    database = stored(tmp_path)
    before = threads(database)
    assert command(tmp_path, "db", "backup", "copy.db").code == 0
    change(database, "PRAGMA journal_mode = WAL", "PRAGMA foreign_keys = OFF", "DELETE FROM threads")
    assert threads(database) == 0
    page = json.loads(command(tmp_path, "db", "restore", "copy.db", "--json").out)
    assert threads(database) == before
    assert threads(Path(page["kept_as"])) == 0
    assert re.fullmatch(r"hub\.db\.before-\d{8}T\d{6}Z", Path(page["kept_as"]).name), "each has its own"
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    assert command(tmp_path, "db", "check").code == 0


@pytest.mark.parametrize("place", ["over a database", "on a fresh machine"])
def test_after_a_restore_tools_are_paused_and_doctor_says_so(tmp_path: Path, place: str) -> None:
    database = stored(tmp_path)
    change(database, "DELETE FROM tool_pause")
    assert command(tmp_path, "db", "backup", "copy.db").code == 0
    if place == "on a fresh machine":
        shutil.rmtree(database.parent)
    page = json.loads(command(tmp_path, "db", "restore", "copy.db", "--json").out)
    assert (page["tools"], page["kept_as"] is None) == ("paused", place == "on a fresh machine")
    for waits in ("3 open requests", "0 open requests"):
        said = {one["what"]: one["message"] for one in json.loads(command(tmp_path, "doctor", "--json").out)}
        assert said["tools"] == "all tools are paused; no tool runs"
        assert said["store"].endswith(f"is readable and up to date; {waits}")
        change(database, "UPDATE gates SET state = 'closed', closed_at = 1")
    change(database, "DELETE FROM tool_pause")
    said = {one["what"]: one["message"] for one in json.loads(command(tmp_path, "doctor", "--json").out)}
    assert said["tools"] == "tools are not paused"


def test_a_backup_never_overwrites_a_file(tmp_path: Path) -> None:
    stored(tmp_path)
    (tmp_path / "mine").write_text("precious")
    refused = command(tmp_path, "db", "backup", "mine")
    assert (refused.code, refused.complaint) == (2, "mine already exists; choose another file")
    assert (tmp_path / "mine").read_text() == "precious"
    into = json.loads(command(tmp_path, "db", "backup", str(tmp_path), "--json").out)
    assert Path(into["backup"]).parent == tmp_path
    nowhere = command(tmp_path, "db", "backup", "no/such/place")
    assert (nowhere.code, nowhere.complaint) == (
        1,
        "can't write no/such/place: No such file or directory; choose another file",
    )


@pytest.mark.parametrize("damage", [b"no database at all", b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_file_that_is_not_a_database_is_not_restored(tmp_path: Path, damage: bytes) -> None:
    database = stored(tmp_path)
    before = database.read_bytes()
    (tmp_path / "copy.db").write_bytes(damage)
    refused = command(tmp_path, "db", "restore", "copy.db")
    assert refused.code == 1
    assert "copy.db is not an intact database" in refused.complaint
    assert database.read_bytes() == before
    assert command(tmp_path, "db", "restore", "nothing").code == 2


def test_a_backup_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    stored(tmp_path)
    command(tmp_path, "db", "backup", "copy.db")
    change(tmp_path / "copy.db", f"PRAGMA user_version = {CURRENT + 1}")
    refused = command(tmp_path, "db", "restore", "copy.db")
    assert (refused.code, "install a newer version" in refused.complaint) == (1, True)


# ---------------------------------------------------------------- checking

FAULTS = {
    "a thread's last position is lower than an entry's": "UPDATE threads SET last_seq = 0",
    "a waiting turn has no open gate": "UPDATE gates SET state = 'closed', closed_at = 1",
    "an open gate belongs to a turn that is not waiting": (
        "UPDATE runs SET state = 'running', running_since = 1 WHERE state = 'waiting'"
    ),
    "a secret is asked about for a job that has ended": (
        "UPDATE gates SET kind = 'credential' WHERE state = 'open'"
    ),
    "changes are asked about that no job submits": "UPDATE gates SET kind = 'changes' WHERE state = 'open'",
    "a call is running in a turn that is not": "UPDATE calls SET state = 'running', status = NULL",
    "a call has an outcome and no result": "DELETE FROM entries WHERE kind = 'result'",
    "a sent message has no platform ID": "UPDATE outbox SET refs = '[]' WHERE state = 'sent'",
    "a message cannot be read": "UPDATE outbox SET message = '{'",
    "audit records of a writer are missing": (
        "DELETE FROM audit WHERE number = (SELECT max(number) FROM audit)"
    ),
    "the audit chain has gaps": "DELETE FROM audit WHERE number = (SELECT min(number) + 1 FROM audit)",
    "queued input has no thread": "UPDATE inbox SET thread_id = NULL WHERE outcome = 'waiting'",
    "an entry is in another thread than its turn": (
        "UPDATE entries SET turn_id ="
        " (SELECT tn.id FROM runs tn WHERE tn.thread_id <> entries.thread_id LIMIT 1)"
    ),
    "a call has two results": (
        "INSERT INTO entries (thread_id, seq, turn_id, at, kind, text, call_id, name)"
        " SELECT thread_id, seq + 1000, turn_id, at, kind, text, call_id, name FROM entries"
        " WHERE kind = 'result'"
    ),
    "a routine's run is running without a journal or a job": (
        "UPDATE routine_runs SET state = 'running', ended_at = NULL"
    ),
    "an undo and an entry have one position": "UPDATE entries SET undone = 1",
    "a running turn was undone": "UPDATE entries SET undone = 100000",
    "a thread can undo more turns than it has": "UPDATE threads SET checkpoints = 21",
    "row ": "DELETE FROM users WHERE id = 'ada'",
}


@pytest.mark.parametrize("schema", range(OLDEST, CURRENT + 1))
def test_every_schema_that_can_be_upgraded_is_sound(tmp_path: Path, schema: int) -> None:
    stored(tmp_path, schema)
    checked = command(tmp_path, "db", "check")
    assert (checked.code, checked.err) == (0, "")
    assert ("hubbub db upgrade" in checked.out) == (schema < CURRENT)


def test_every_rule_has_a_fault_that_breaks_it() -> None:
    assert {rule for rule, _ in INVARIANTS} | {"row "} == set(FAULTS)


@pytest.mark.parametrize("rule", FAULTS)
def test_doctor_finds_each_problem(tmp_path: Path, rule: str) -> None:
    database = stored(tmp_path)
    change(database, "PRAGMA foreign_keys = OFF", FAULTS[rule])
    checked = command(tmp_path, "db", "check", "--json")
    problems = json.loads(checked.out)["problems"]
    assert checked.code == 1
    assert "restore a backup" in checked.complaint
    assert [problem for problem in problems if problem.startswith(rule)], problems
    assert command(tmp_path, "db", "check").out.splitlines() == problems


def test_a_damaged_page_is_found(tmp_path: Path) -> None:
    database = stored(tmp_path)
    content = bytearray(database.read_bytes())
    for page in range(5, len(content) // 4096, 3):
        content[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    database.write_bytes(content)
    checked = command(tmp_path, "db", "check")
    assert checked.code == 1
    assert "intact" in checked.complaint


# ---------------------------------------------------------------- upgrading


def test_an_old_database_is_upgraded_and_its_backup_kept(tmp_path: Path) -> None:
    database = stored(tmp_path, OLDEST)
    listed = command(tmp_path, "threads", "list")
    assert (listed.code, "hubbub db upgrade" in listed.complaint) == (1, True)
    upgraded = command(tmp_path, "db", "upgrade")
    kept = tmp_path / "data" / f"hub.db.schema-{OLDEST}"
    assert (
        upgraded.out
        == f"{database}: upgraded from schema {OLDEST} to {CURRENT}. The previous one is kept as {kept}.\n"
    )
    assert threads(kept) == threads(database)
    assert command(tmp_path, "threads", "list").code == 0
    assert "is up to date" in command(tmp_path, "db", "upgrade").out


def test_a_backup_of_an_earlier_upgrade_is_left_unchanged(tmp_path: Path) -> None:
    stored(tmp_path, OLDEST)
    earlier = tmp_path / "data" / f"hub.db.schema-{OLDEST}"
    earlier.write_text("of another day")
    page = json.loads(command(tmp_path, "db", "upgrade", "--json").out)
    assert earlier.read_text() == "of another day"
    assert Path(page["kept_as"]) != earlier
    assert threads(Path(page["kept_as"])) == threads(tmp_path / "data" / "hub.db")


@pytest.mark.parametrize(
    "words", ["db upgrade", "db check", "db restore hub.db", "threads list", "users list"]
)
def test_a_database_that_is_too_old_is_refused_with_the_schema_it_needs_first(
    tmp_path: Path, words: str
) -> None:
    database = stored(tmp_path, OLDEST)
    change(database, f"PRAGMA user_version = {OLDEST - 1}")
    (tmp_path / "hub.db").write_bytes(database.read_bytes())
    refused = command(tmp_path, *words.split())
    assert refused.code == 1
    assert f"the database has schema {OLDEST - 1}, this version upgrades from {OLDEST}" in refused.complaint
    assert f"install the version with schema {OLDEST}, run its hubbub db upgrade" in refused.complaint
    assert [file.name for file in database.parent.glob("hub.db*")] == ["hub.db"]  # no copy either


def test_adding_a_user_reports_an_account_not_linked(tmp_path: Path) -> None:
    stored(tmp_path, CURRENT)
    nowhere = command(tmp_path, "users", "add", "Di", "--account", "nowhere:9")
    assert nowhere.code == 1
    wanted = (
        r"Di was added as \S+, but without that account: "
        r"there is no channel named nowhere; configured: none yet"
    )
    assert re.fullmatch(wanted, nowhere.complaint)


def test_an_upgrade_is_refused_while_a_hub_runs(tmp_path: Path) -> None:
    stored(tmp_path, OLDEST)
    with DataDirectoryLock(tmp_path / "data"):
        refused = command(tmp_path, "db", "upgrade")
    assert (refused.code, "stop it" in refused.complaint) == (1, True)


def test_a_failed_restore_replaces_nothing_and_leaves_no_files(
    tmp_path: Path,
) -> None:
    database, kept_as = stored(tmp_path), tmp_path / "kept.db"
    before = database.read_bytes()
    assert command(tmp_path, "db", "backup", "copy.db").code == 0

    def killed(copy: Path) -> None:
        copy.with_name(f"{copy.name}-wal").write_bytes(b"of another database")
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        maintenance.restore(tmp_path / "copy.db", database, kept_as, lambda _done, _pages: None, killed)
    assert (database.read_bytes(), kept_as.exists()) == (before, False)
    assert command(tmp_path, "db", "restore", "copy.db").code == 0
    assert command(tmp_path, "db", "check").code == 0
    assert list(database.parent.glob("hub.db.restoring*")) == []
