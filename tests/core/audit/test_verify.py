"""Every change of the records is found: edits, deletions, insertions, moves, cuts and rewrites."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
import pytest_asyncio

from core.audit.linker import Head
from core.audit_chain import ChainKey, PassingKeys
from tests.core.audit.chain import Office, relink, unkeyed

ROW = "at, kind, actor, subject, thread_id, detail, key_id, seal, link"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def three_days(tmp_path_factory: pytest.TempPathFactory) -> Office:
    made = Office(tmp_path_factory.mktemp("three days"))
    await made.work()
    return made


@pytest.fixture
def office(three_days: Office, tmp_path: Path) -> Office:
    """One of one's own, three days old."""
    return three_days.copied(tmp_path)


def edit(column: str, value: object) -> Callable[[sqlite3.Connection], None]:
    return lambda db: db.execute(f"UPDATE audit SET {column} = ? WHERE position = 5", (value,)) and None


def swap(db: sqlite3.Connection) -> None:
    """Their places and their numbers."""
    db.execute("UPDATE audit SET position = -1, number = -1 WHERE position = 4")
    db.execute("UPDATE audit SET position = 4, number = 4 WHERE position = 5")
    db.execute("UPDATE audit SET position = 5, number = 5 WHERE position = -1")


def swap_places(db: sqlite3.Connection) -> None:
    """In the chain alone."""
    db.execute("UPDATE audit SET position = -1 WHERE position = 4")
    db.execute("UPDATE audit SET position = 4 WHERE position = 5")
    db.execute("UPDATE audit SET position = 5 WHERE position = -1")


def insert(db: sqlite3.Connection) -> None:
    """In between: what comes behind makes room."""
    db.execute("UPDATE audit SET position = -position - 1, number = -number - 1 WHERE position >= 5")
    db.execute("UPDATE audit SET position = -position, number = -number WHERE position < 0")
    db.execute(f"INSERT INTO audit (writer, number, position, {ROW}) SELECT 0, 5, 5, {ROW} FROM audit"
               " WHERE position = 3")  # fmt: skip


def close_the_gap(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM audit WHERE position = 5")
    db.execute("UPDATE audit SET position = -position + 1, number = -number + 1 WHERE position > 5")
    db.execute("UPDATE audit SET position = -position, number = -number WHERE position < 0")


async def test_an_untouched_chain_verifies(office: Office) -> None:
    verified = office.verified()
    assert verified.findings == ()
    assert (verified.records, verified.first, verified.waiting) == (17, 1, 0)
    heads = office.heads.heads()
    assert len(heads) == 1 + 3, "the start, and each day's end"
    assert str(heads[-1]) == verified.head
    for head in heads:
        assert office.findings(str(head)) == []


@pytest.mark.parametrize(
    "column, value",
    [
        ("at", 0),
        ("kind", "granted"),
        ("actor", None),
        ("actor", "ben"),
        ("subject", "another"),
        ("thread_id", "another"),
        ("detail", '{"a":1}'),
        ("seal", b"another"),
    ],
)
async def test_a_changed_record_is_named(office: Office, column: str, value: object) -> None:
    with office.tampering() as db:
        edit(column, value)(db)
    assert office.wrong() == {5}


@pytest.mark.parametrize("column, value", [("key_id", "another"), ("link", "another:link")])
async def test_a_record_under_another_key_is_named(office: Office, column: str, value: object) -> None:
    with office.tampering() as db:
        edit(column, value)(db)
    assert 5 in office.wrong()
    assert any("a missing key (another)" in problem for _, problem in office.findings())


async def test_a_deleted_record_is_reported_as_missing(office: Office) -> None:
    with office.tampering() as db:
        db.execute("DELETE FROM audit WHERE position = 5")
    assert office.findings() == [(5, "the record is missing: deleted")]
    with office.tampering() as db:
        db.execute("DELETE FROM audit WHERE position BETWEEN 4 AND 7")
    assert office.findings()[0] == (4, "the record is missing (up to 7): deleted")


@pytest.mark.parametrize("touch, first", [(swap, 4), (insert, 5), (close_the_gap, 5)])
async def test_moved_and_inserted_records_are_named(
    office: Office, touch: Callable[[sqlite3.Connection], None], first: int
) -> None:
    with office.tampering() as db:
        touch(db)
    found = office.findings()
    assert found[0][0] == first
    assert "was changed, moved here, or not written by the hub" in found[0][1]


async def test_records_that_changed_places_are_named(office: Office) -> None:
    with office.tampering() as db:
        swap_places(db)
    assert {4, 5, 6} <= office.wrong()
    assert any("is out of its writer's order" in problem for _, problem in office.findings())


async def test_a_forged_record_at_the_end_is_named_before_and_after_it_is_chained(office: Office) -> None:
    made_up = "at, kind, 'ben', subject, thread_id, detail, key_id, seal, NULL"
    with office.tampering() as db:
        db.execute(f"INSERT INTO audit (writer, number, {ROW}) SELECT 0, 18, {made_up} FROM audit"
                   " WHERE position = 17")  # fmt: skip
    assert office.findings() == [
        (None, 'record 0/18 ("resumed" of tools) was changed, moved here, or not written by the hub'),
        (None, "writer 0 wrote 17 records, not 18: inserted"),
    ]
    async with office.opened() as world:
        await office.linker(world).catch_up()
    assert office.wrong() == {18, None}


async def test_a_missing_end_is_reported(office: Office) -> None:
    head = office.verified().head
    with office.tampering() as db:
        db.execute("DELETE FROM audit WHERE position > 15")
    ((record, problem),) = office.findings()
    assert record == 17
    assert "records 16 to 17 are missing: the end was cut off" in problem
    office.heads.path.unlink()
    assert office.wrong(head) == {None, 17}, "the file of heads is missing, and the head given is, too"


async def test_a_missing_end_is_reported_even_after_the_hub_continued(office: Office) -> None:
    with office.tampering() as db:
        db.execute("DELETE FROM audit WHERE position > 9")
    await office.work(1)
    assert any("is not the one of the head noted in audit.heads" in told for _, told in office.findings())


async def test_a_head_is_compared_even_if_the_file_of_heads_was_cut_as_well(office: Office) -> None:
    head = office.verified().head
    lines = office.heads.path.read_text().splitlines(keepends=True)
    number = Head.parse(lines[-2].split()[1]).number
    office.heads.path.write_text("".join(lines[:-1]))
    with office.tampering() as db:
        db.execute("DELETE FROM audit WHERE position > ?", (number,))
    assert office.findings() == [(None, "record 0/13 and others, up to 0/17, are missing: deleted")]
    with office.tampering() as db:  # the count of that day, which somebody kept
        db.execute(
            "UPDATE audit_writers SET number = ?, seal = ?", (number, office.keys.newest().count(0, number))
        )
    assert office.findings() == []
    assert office.wrong(head) == {17}


async def test_links_removed_from_the_end_are_reported_as_missing(office: Office) -> None:
    with office.tampering() as db:
        db.execute("UPDATE audit SET position = NULL, link = NULL WHERE position >= 16")
    assert office.wrong() == {17}
    with office.tampering() as db:
        db.execute("UPDATE audit SET position = NULL, link = NULL WHERE position = 7")
    assert 7 in office.wrong()


async def test_a_chain_rewritten_without_the_key_is_detected(office: Office) -> None:
    with office.tampering() as db:
        db.execute("UPDATE audit SET actor = 'ben' WHERE position = 6")
        relink(db, unkeyed(office.keys.newest().id), 6)
    assert {*range(6, 15)} <= office.wrong()


async def test_a_chain_rewritten_with_the_key_is_detected_by_its_heads(office: Office) -> None:
    """By somebody who has database and key, but neither the file of heads nor a head noted elsewhere."""
    heads = [head.number for head in office.heads.heads()]
    with office.tampering() as db:
        db.execute("UPDATE audit SET actor = 'ben' WHERE position = 6")
        relink(db, office.keys.newest(), 6)
    assert office.wrong() == {head for head in heads if head >= 6}
    assert all("the chain was rewritten" in problem for _, problem in office.findings())


async def test_another_database_is_detected(office: Office, tmp_path: Path) -> None:
    """As a whole, in the place of the hub's own."""
    (tmp_path / "other").mkdir()
    other = Office(tmp_path / "other")
    other.keys = office.keys
    other.clock.advance(7)
    await other.work()
    shutil.copy(other.path, office.path)
    assert office.wrong() != set()


async def test_arguments_changed_in_the_conversation_are_detected(office: Office) -> None:
    with office.tampering() as db:
        db.execute("UPDATE entries SET text = '[]' WHERE kind = 'call'")
    told = office.findings()
    assert len(told) == 6
    assert all("the arguments in the conversation are not those recorded here" in said for _, said in told)


async def test_the_rest_verifies_after_old_records_are_dropped(tmp_path: Path) -> None:
    office = Office(tmp_path)
    await office.work(6, keep_days=2)
    verified = office.verified()
    assert verified.findings == ()
    assert (verified.first or 0) > 10
    kept = [str(head) for head in office.heads.heads() if head.number >= (verified.first or 0) - 1]
    assert [office.findings(head) for head in kept] == [[]] * len(kept)
    assert "older than the oldest stored record" in office.findings(str(office.heads.heads()[0]))[0][1]
    with office.tampering() as db:
        db.execute("DELETE FROM audit WHERE position = ?", (verified.first,))
    assert office.wrong() == {verified.first}


async def test_records_dropped_by_someone_else_are_reported_as_missing(tmp_path: Path) -> None:
    office = Office(tmp_path)
    await office.work(6, keep_days=2)
    first = office.verified().first or 0
    with office.tampering() as db:
        db.execute(
            "UPDATE audit_checkpoint SET (last_id, link) ="
            " (SELECT position, link FROM audit WHERE position = ?)",
            (first,),
        )
        db.execute("DELETE FROM audit WHERE position = ?", (first,))
    assert office.findings() == [(None, f"the checkpoint at record {first} is not the hub's")]


async def test_the_chain_continues_from_a_lone_checkpoint(office: Office) -> None:
    office.clock.advance(24 * 3600)
    async with office.opened() as world:
        assert await world.store.audit.prune_audit(office.clock.now(), 1000) == 17
        await world.store.audit.link_audit(1000)
    verified = office.verified()
    assert (verified.findings, verified.first, verified.records) == ((), 18, 1)


async def test_many_findings_are_counted(office: Office) -> None:
    await office.work(6)
    with office.tampering() as db:
        db.execute("UPDATE audit SET actor = 'eve'")
    verified = office.verified()
    assert (len(verified.findings), verified.more) == (20, verified.records - 20)


async def test_without_the_key_nothing_is_reported_as_sound(office: Office) -> None:
    office.keys = PassingKeys()
    assert any("restore vault.key" in problem for _, problem in office.findings())


def test_records_written_before_keep_their_seals_and_links() -> None:
    """Bytes as they lie in databases: another seal or link for the same record would break every chain."""
    key = ChainKey.of(b"k" * 32)
    detail = '{"arguments":"9f","run":null,"tool":"shell"}'
    seal = key.seal(0, 7, 1_700_000_000_000_000, "started", "ada", "call", "thread", detail)
    assert seal.hex() == "66e423bc5022f1d2120cb512ee278576f387592f1683c65583f9e381bec8cbac"
    assert (
        key.link("before", seal)
        == "efd60be38579597c:80e21d61a606e910cf5c3c13e3546a4aaea84de17d760e390efb052dbecb0939"
    )
