"""Schemas: made, upgraded, refused; and old databases that still open."""

import asyncio
import contextlib
import gzip
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from core.approvals import UNSAID, ApprovalSettings, Preset
from core.errors import SchemaTooNew, SchemaTooOld, StoreUnavailable
from core.events import RunKind
from core.gates import Chose, GateKind, Option, Replies, ToolSetting, Wrote
from core.messages import Address, Attachment, plain
from core.store.conversations import parse_search
from core.store.effects import CloseGate
from core.store.facets import NoticeAddress
from core.store.feed import CardShown
from core.store.port import Store
from core.store.routine_rows import BudgetDay
from core.store.rows import CallState, GateView
from core.store.sql.store import SqlStore
from core.store.sqlite.maintenance import Schema, check, current_schema, migrate, schema_version, upgrade
from core.store.sqlite.offline import Listings, open_listings
from core.store.sqlite.store import open_store
from core.transcript import UserSaid
from tests.contracts.store.bench import CHANNEL, Bench, CountingIds, StoppedClock, text_of
from tests.payloads.make_store_database import COLOURED, NOTICE, TOGETHER
from tests.plugins.profile import Profile
from tests.tree import ROOT

PAYLOADS = ROOT / "tests" / "payloads" / "store"
STORED = sorted(PAYLOADS.glob("sqlite-*.db.gz"))
SCHEMA_20 = PAYLOADS / "schema-20.sql"
"""A dump of an empty database that the scripts 1 to 20 made, before one script took their place."""


OPERATOR = "I will see to it"


async def opened(path: Path) -> SqlStore:
    return await open_store(path, StoppedClock(), CountingIds())


def load(dump: Path, path: Path) -> Path:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(dump.read_text(encoding="utf-8"))
    return path


def schema_of(path: Path) -> list[tuple[str, str, str]]:
    """Its schema without comments, quotes of names and layout, which an upgrade doesn't change."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT type, name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name"
        )
        return [(kind, name, _normalized(sql)) for kind, name, sql in rows]


def _normalized(sql: str) -> str:
    bare = "\n".join(line.partition("--")[0] for line in sql.splitlines()).replace('"', "")
    for mark in "(),":
        bare = bare.replace(mark, f" {mark} ")
    return " ".join(bare.split())


def test_every_schema_has_a_stored_database() -> None:
    numbers = [int(path.name.removeprefix("sqlite-").removesuffix(".db.gz")) for path in STORED]
    assert numbers == list(range(current_schema().oldest, current_schema().version + 1))


@pytest.mark.parametrize("stored", STORED, ids=lambda path: path.name)
async def test_a_stored_database_opens_with_everything_in_it(stored: Path, tmp_path: Path) -> None:
    path, fresh = tmp_path / "hub.db", tmp_path / "fresh.db"
    path.write_bytes(gzip.decompress(stored.read_bytes()))
    clock, ids = StoppedClock(), CountingIds()
    store = await open_store(path, clock, ids)
    try:
        assert (await store.people.preferences("ada")).timezone == (
            "Asia/Tokyo" if stored.name >= "sqlite-0021" else None
        )
        await _what_was_said_is_found(store, indexed=stored.name < "sqlite-0026")
        await _how_people_want_to_be_asked_is_there(Bench(store, clock, ids))
        await _what_was_recorded_is_there(Bench(store, clock, ids))
        await _what_was_said_once_and_for_all_is_there(Bench(store, clock, ids))
        await _the_album_is_there(Bench(store, clock, ids))
        await _those_who_asked_are_there(Bench(store, clock, ids))
        await _the_notice_is_there(Bench(store, clock, ids))
        await _the_questions_are_there(Bench(store, clock, ids))
        await _what_was_asked_together_is_there(Bench(store, clock, ids))
        await _the_routine_is_there(Bench(store, clock, ids))
        await _everything_is_there(Bench(store, clock, ids))
    finally:
        await store.close()
    await (await opened(fresh)).close()
    assert schema_of(path) == schema_of(fresh)


async def _what_was_said_is_found(store: Store, *, indexed: bool) -> None:
    """An upgrade makes everything searchable; a hub does it by itself later."""
    if not indexed:
        await store.threads.index_said(100)
    (hit,) = await store.threads.search(parse_search("noon time"))
    assert (hit.seq, hit.excerpt) == (1, "what time is it")
    assert [hit.kind for hit in await store.threads.search(parse_search("I will see to it"))] == ["operator"]


async def _what_was_said_once_and_for_all_is_there(world: Bench) -> None:
    (said,) = await world.store.consents.tool_settings(None)
    assert (said.user_id, said.tool, said.setting) == ("ada", "shell", ToolSetting.DISABLED)
    (secret,) = await world.store.secrets.secrets()
    assert (secret.name, secret.key_id, secret.sealed) == ("token", "key-1", b"sealed")


async def _what_was_recorded_is_there(world: Bench) -> None:
    (paused,) = await world.store.audit.audit_of(["tools"])
    assert (paused.kind, paused.actor) == ("paused", "ada")
    assert paused.link is not None


async def _the_routine_is_there(world: Bench) -> None:
    (routine,) = await world.store.routines.routines()
    assert (routine.owner_id, routine.text.name, routine.run_count) == ("ada", "hourly", 1)
    (notice,) = await world.store.run_views.due_notices(world.clock.now())
    assert (notice.run_id, notice.text, notice.menu_id) == ("run-1", "look", "menu-1")


async def _what_was_asked_together_is_there(world: Bench) -> None:
    (thread,) = [thread for thread in await world.store.threads.threads(100) if thread.scope == "=together"]
    (card,) = [
        item.shown.gate
        for item in await world.store.feed.feed_after(thread.id, 0, 100)
        if isinstance(item.shown, CardShown)
    ]
    assert [(call.tool, call.detail) for call in card.calls] == [
        ("shell", "shell – whole"),
        ("http", "http – whole"),
    ]
    assert card.outcome is Option.DENY


async def _the_notice_is_there(world: Bench) -> None:
    waiting = [
        row for row in await world.store.outbox.pending_outbox(CHANNEL) if text_of(row.message) == NOTICE
    ]
    assert [row.address for row in waiting] == ["to somewhere"]
    again = NoticeAddress(CHANNEL, Address("to room"))
    assert await world.store.notices.add_notice("report", plain(NOTICE), [again]) == ()
    (ada,) = [
        one for one in (await world.store.notices.reach("ada")).identities if one.platform_user_id == "ada"
    ]
    assert ada.direct_address == "to room"


async def _how_people_want_to_be_asked_is_there(world: Bench) -> None:
    threads = await world.store.threads.threads(100)
    standings = [await world.store.consents.standing("ada", thread.id) for thread in threads]
    assert {standing.person for standing in standings} == {ApprovalSettings(Preset.WHITELIST)}
    chosen = ApprovalSettings(Preset.MANUAL, max_rounds=3, loop_timeout_s=60)
    assert {standing.thread for standing in standings} == {UNSAID, chosen}


async def _open_questions(world: Bench) -> list[GateView]:
    """Return what asks for a credential comes last."""
    questions = [one for one in await world.store.gates.open_gates() if one.gate.kind is GateKind.QUESTION]
    return sorted(questions, key=lambda one: _secret_of(one) is not None)


def _secret_of(view: GateView) -> str | None:
    assert isinstance(view.gate.offer, Replies)
    return view.gate.offer.secret


async def _the_questions_are_there(world: Bench) -> None:
    view, *wanted = await _open_questions(world)
    assert [_secret_of(one) for one in wanted] in ([], ["garden"])
    assert view.gate.offer == Replies(("red", "dark green"), free_text=True)
    assert [vote.answer for vote in view.votes] == [Chose(1, "dark green")]
    close = CloseGate(view.gate.id, Chose(1, "dark green"), "dark green", COLOURED)
    event = world.message("dark green", key="chat:closing")
    accepted = await world.store.inbound.accept_event(event, world.ruling(close), send_now=False)
    assert accepted.started is not None
    answers = [call.answer for call in (await world.store.turns.load_turn(accepted.started)).calls]
    assert answers == [Wrote("like the sea"), Chose(1, "dark green")]
    await world.finish(accepted.started)


async def _the_album_is_there(world: Bench) -> None:
    (thread,) = [thread for thread in await world.store.threads.threads(100) if thread.scope == "=album"]
    assert await world.store.recovery.start_waiting(thread.id, "too soon") is None
    world.clock.advance(1)
    started = await world.store.recovery.start_waiting(thread.id, "now")
    assert started is not None
    (entry,) = (await world.store.turns.load_turn(started)).entries
    assert entry.said == UserSaid(
        'look\n[Attached file: "a.jpg", image/jpeg, 3 bytes]',
        "Ada",
        (Attachment("handle", "a.jpg", "image/jpeg", 3, 4),),
    )
    await world.finish(started)


async def _those_who_asked_are_there(world: Bench) -> None:
    (waiting,) = await world.store.people.pairing_requests()
    assert (waiting.sender.name, waiting.code) == ("Dan", "CODEdan")
    accounts = {
        (account.platform_user_id, account.via): person.user.name
        for person in await world.store.people.people()
        for account in person.accounts
    }
    assert accounts == {
        ("ada", "config"): "Ada",
        ("ada too", "linked"): "Ada",
        ("ben", "config"): "Ben",
        ("cleo", "paired"): "Cleo",
    }
    events = await world.store.explanations.explain_recent(4)
    assert [event.outcome for event in reversed(events)] == [
        "refused: not paired",
        "refused: not paired",
        "command",
        "linked",
    ]


async def _everything_is_there(world: Bench) -> None:
    store = world.store
    events = await store.explanations.explain_recent(100)
    assert [event.outcome for event in reversed(events)][:8] == [
        "refused: not let in",
        "failed: unreadable",
        "turn 1",
        "turn 1",
        "waiting",
        "command",
        "turn 1",
        "command",
    ]
    answered = next(event for event in reversed(events) if event.outcome == "turn 1")
    assert [(one.state, one.parts) for one in answered.deliveries] == [("sent", 1)]
    (open_gate,) = [one for one in await store.gates.open_gates() if one.gate.kind is not GateKind.QUESTION]
    assert [vote.name for vote in open_gate.votes] == ["Ada"]
    assert [grant.pattern for grant in await store.consents.grants("ada")] == ["ls *"]
    assert [note.text for note in await store.memory.search_memory("ada", "服务 friday", 5)] == [
        "部署服务器在周五 deploy on Friday"
    ]
    answers = (
        "a code",
        "You are in.",
        "welcome",
        "I will see to it",
        "used",
        "Which colour?",
        NOTICE,
        TOGETHER,
        text_of(COLOURED),
    )
    pending = await store.outbox.pending_outbox(CHANNEL)
    assert len([row for row in pending if text_of(row.message) not in (*answers, OPERATOR)]) == 5
    (unfinished,) = (await store.recovery.recover()).runs
    resumed = await store.recovery.resume_turn(unfinished.run_id)
    (call,) = (await store.turns.load_turn(resumed)).calls
    assert (call.state, call.answered_by) == (CallState.UNKNOWN, "Ada")


@pytest.mark.parametrize("old", [1, 12, 19])
async def test_an_older_database_than_can_be_upgraded_is_refused_and_left_alone(
    tmp_path: Path, old: int
) -> None:
    path = load(SCHEMA_20, tmp_path / "hub.db")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {old}")
    before = schema_of(path)
    with pytest.raises(SchemaTooOld, match=f"has schema {old}, this version upgrades from 20 or later"):
        await (await opened(path)).close()
    with pytest.raises(SchemaTooOld, match="install the version with schema 20, run its hubbub db upgrade"):
        async with open_listings(path):
            pass
    assert schema_of(path) == before


async def test_an_upgraded_database_has_the_schema_of_a_new_one(tmp_path: Path) -> None:
    upgraded, fresh = load(SCHEMA_20, tmp_path / "upgraded.db"), tmp_path / "fresh.db"
    assert ("table", "prompts") in {(kind, name) for kind, name, _ in schema_of(upgraded)}
    await (await opened(upgraded)).close()
    await (await opened(fresh)).close()
    assert schema_of(upgraded) == schema_of(fresh)
    with contextlib.closing(sqlite3.connect(upgraded)) as connection:
        assert schema_version(connection) == current_schema().version == 26
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


RUN_UNDER_WAY = (
    "INSERT INTO routine_runs (id, routine_id, key, kind, input, state, due_at, not_before, attempts, fence,"
    " started_at, created_at) VALUES (?1, 'routine-1', ?1, 'manual', '{}', ?2, 1, 1, 1, ?3, 1, 1)"
)
JOURNAL_OF_BEFORE = (
    "INSERT INTO threads (id, owner_id, channel, scope, address, title, created_at, last_active_at, last_seq,"
    " last_turn, kind) VALUES (?1, 'ada', 'routine', 'routine-1', '', '', 1, 1, 1, 1, 'routine')",
    "INSERT INTO runs (id, thread_id, number, principal_id, state, attempts, first_seq, last_seq,"
    " budget_from, created_at, kind) VALUES (?1, ?1, 1, 'ada', 'waiting', 1, 1, 1, 1, 1, 'routine')",
)


async def test_running_routine_runs_are_taken_over_after_the_upgrade_to_one_recovery(
    tmp_path: Path,
) -> None:
    """One without tools had no journal then; one that was to go on waited for that."""
    path = tmp_path / "hub.db"
    path.write_bytes(gzip.decompress((PAYLOADS / "sqlite-0023.db.gz").read_bytes()))
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(RUN_UNDER_WAY, ("without", "running", 7))
        connection.execute(RUN_UNDER_WAY, ("waiting", "waiting", None))
        connection.execute(RUN_UNDER_WAY, ("unstarted", "waiting", None))
        for statement in JOURNAL_OF_BEFORE:
            connection.execute(statement, ("waiting",))
    store = await opened(path)
    try:
        found = (await store.recovery.recover()).runs
        runs = [run.run_id for run in found if run.kind is RunKind.ROUTINE]
        assert sorted(runs) == ["waiting", "without"]
        for run_id in runs:
            assert await store.runs.resume_run(run_id, day=BudgetDay(0, lambda *_: ("", 0)))
        await store.journal.open_run_journal("without", "{}", UserSaid("Look."))
        assert (await store.journal.run_steps("without")).said == (UserSaid("Look."),)
    finally:
        await store.close()
    assert check(path).problems == ()


def test_an_upgrade_killed_at_any_statement_changes_nothing_and_the_next_one_is_whole(
    tmp_path: Path, profile: Profile
) -> None:
    whole = load(SCHEMA_20, tmp_path / "hub.db")
    before = schema_of(whole)
    every = profile.pick(test=8, proof=1)
    first = profile.seed % every + 1
    program = [sys.executable, "-m", "tests.core.store.killed_upgrade", str(whole), str(first), str(every)]
    ended = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert ended.returncode == 0, ended.stderr
    killed = sorted(tmp_path.glob("killed-*.db"))
    assert len(killed) > 20
    upgrade(whole)
    for path in killed:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            assert schema_version(connection) == 20, path.name
        assert schema_of(path) == before
        upgrade(path)
        assert schema_of(path) == schema_of(whole)
    assert schema_of(whole) != before


async def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    await (await opened(path)).close()
    newer = current_schema().version + 1
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {newer}")
    connection.close()
    with pytest.raises(SchemaTooNew, match=str(newer)):
        await opened(path)
    with pytest.raises(SchemaTooNew, match=str(newer)):
        await Listings(path).open()


async def test_readers_create_and_upgrade_nothing(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    with pytest.raises(StoreUnavailable, match="not readable"):
        await Listings(path).open()
    assert not path.exists()
    path.touch()
    with pytest.raises(StoreUnavailable, match="hubbub db upgrade"):
        await Listings(path).open()
    assert schema_of(path) == []


async def test_a_hub_and_a_reader_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    store = await opened(path)
    world = Bench(store, StoppedClock(), CountingIds())
    async with open_listings(path) as reader:
        start = await world.turn()
        assert await reader.threads.thread(start.thread.id) == start.thread
        assert [event.outcome for event in await reader.explanations.explain_recent(5)] == ["turn 1"]
        await world.finish(start)
        assert [thread.active_turn_id for thread in await reader.threads.threads(5)] == [None]
    await store.close()
    async with open_listings(path) as reader:
        assert len(await reader.threads.threads(5)) == 1


async def test_two_that_open_a_new_database_at_once_make_it_once(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    stores = await asyncio.gather(opened(path), opened(path))
    for store in stores:
        await store.close()
    connection = sqlite3.connect(path)
    assert schema_version(connection) == current_schema().version
    connection.close()


def test_an_upgrade_is_whole_or_not_at_all(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "hub.db", isolation_level=None)
    first = "CREATE TABLE one (a TEXT); -- a comment\nINSERT INTO one VALUES ('kept; really');\n"
    migrate(connection, Schema(1, first, ()))
    broken = "CREATE TABLE two (a TEXT);\nCREATE TABLE one (again TEXT);\n"
    with pytest.raises(sqlite3.OperationalError, match="one already exists"):
        migrate(connection, Schema(2, "", (broken,)))
    assert schema_version(connection) == 1
    assert not connection.in_transaction
    migrate(connection, Schema(3, "", ("CREATE TABLE two (a TEXT);", "ALTER TABLE two ADD COLUMN b TEXT;")))
    assert schema_version(connection) == 3
    connection.execute("INSERT INTO two (a, b) SELECT a, 'new' FROM one")
    assert connection.execute("SELECT a, b FROM two").fetchall() == [("kept; really", "new")]
    connection.close()


async def test_only_their_owner_can_read_the_files(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    before = os.umask(0)
    try:
        store = await opened(path)
        await Bench(store, StoppedClock(), CountingIds()).turn()
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
        await store.close()
    finally:
        os.umask(before)
    assert modes == {"hub.db": 0o600, "hub.db-wal": 0o600, "hub.db-shm": 0o600}
