"""Several hubs write records: each numbers its own, one chains all, and whatever goes missing is missed."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
import pytest_asyncio

from core.audit_chain import PassingKeys
from core.store.port import KeyKind
from core.users import Role
from tests.contracts.store.bench import Bench
from tests.core.audit.chain import Office
from tests.core.store.test_sqlite_schema import SCHEMA_20, load

KEPT_BY_BOTH = 4


async def writes(world: Bench) -> None:
    """Two records."""
    await world.store.people.ensure_user("ada", Role.OWNER, "Ada")
    for _ in range(2):
        await world.store.keys.keep_key(f"hash {world.ids.number()}", KeyKind.TOKEN, "ada", None)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def two_hubs(tmp_path_factory: pytest.TempPathFactory) -> Office:
    """Two hubs have written four records each that are chained, and two each that are not."""
    made = Office(tmp_path_factory.mktemp("two hubs"))
    async with made.hubs(2) as (one, two):
        for _ in range(KEPT_BY_BOTH // 2):
            await writes(one)
            await writes(two)
            made.clock.advance(1)
        await made.linker(one).catch_up()
        await writes(one)
        await writes(two)
    return made


@pytest.fixture
def office(two_hubs: Office, tmp_path: Path) -> Office:
    return two_hubs.copied(tmp_path)


def problems(office: Office) -> list[str]:
    return [problem for _, problem in office.findings()]


def changes(sql: str) -> Callable[[sqlite3.Connection], None]:
    return lambda db: db.execute(sql) and None


async def test_the_records_of_two_hubs_are_one_chain(office: Office) -> None:
    verified = office.verified()
    assert (verified.findings, verified.records, verified.waiting) == ((), 13, 4)  # with the policy
    with office.tampering() as db:
        rows = db.execute("SELECT position, writer, number FROM audit WHERE link IS NOT NULL ORDER BY 1")
        placed = rows.fetchall()
    assert [position for position, _, _ in placed] == list(range(1, 10))
    for writer in (1, 2):
        numbers = [number for _, by, number in placed if by == writer]
        assert numbers == list(range(1, len(numbers) + 1))
    assert {by for _, by, _ in placed[:4]} == {1, 2}, "by time, not hub by hub"


@pytest.mark.parametrize(
    "sql, said",
    [
        ("DELETE FROM audit WHERE writer = 2 AND number = 6", "record 2/6 is missing: deleted"),
        ("DELETE FROM audit WHERE writer = 2 AND number = 5", "record 2/5 is missing: deleted"),
        (
            "DELETE FROM audit WHERE link IS NULL AND writer = 2",
            "record 2/5 and others, up to 2/6, are missing: deleted",
        ),
        (
            "UPDATE audit_writers SET number = 5 WHERE writer = 2",
            "the count of writer 2's records is not the hub's",
        ),
        ("DELETE FROM audit_writers WHERE writer = 2", "the count of writer 2's records is missing: deleted"),
        (
            "UPDATE audit_writers SET key_id = '', seal = x'' WHERE writer = 2",
            "the count of writer 2's records was made with a missing key ():"
            " restore vault.key or HUBBUB_VAULT_KEY",
        ),
        ("DELETE FROM audit WHERE writer = 2", "the record is missing (up to 4): deleted"),
        (
            "UPDATE audit SET writer = 3 WHERE writer = 2 AND number = 6",
            'record 3/6 ("token_made" of ada) was changed, moved here, or not written by the hub',
        ),
    ],
)  # fmt: skip
async def test_missing_records_of_one_writer_are_reported(office: Office, sql: str, said: str) -> None:
    with office.tampering() as db:
        changes(sql)(db)
    assert said in problems(office)


async def test_a_missing_chained_record_is_reported_once(office: Office) -> None:
    with office.tampering() as db:
        (position,) = db.execute("SELECT position FROM audit WHERE writer = 2 AND number = 2").fetchone()
        db.execute("DELETE FROM audit WHERE position = ?", (position,))
    assert office.findings() == [(position, "the record is missing: deleted")]


async def test_a_missing_end_is_reported_without_any_head(office: Office) -> None:
    with office.tampering() as db:
        db.execute("DELETE FROM audit WHERE position >= 8 OR link IS NULL")
    office.heads.path.write_text("".join(office.heads.path.read_text().splitlines(keepends=True)[:1]))
    assert len([problem for problem in problems(office) if problem.endswith("missing: deleted")]) == 2


async def test_records_that_two_writers_exchanged_are_named(office: Office) -> None:
    with office.tampering() as db:
        db.execute("UPDATE audit SET writer = 9 WHERE writer = 1 AND number = 5")
        db.execute("UPDATE audit SET writer = 1 WHERE writer = 2 AND number = 5")
        db.execute("UPDATE audit SET writer = 2 WHERE writer = 9 AND number = 5")
    assert len([problem for problem in problems(office) if "not written by the hub" in problem]) == 2


async def test_a_number_is_not_reused_after_the_last_record_was_deleted(office: Office) -> None:
    async with office.hubs(1) as (world,):
        await writes(world)
        with office.tampering() as db:
            db.execute("DELETE FROM audit WHERE writer = 3 AND number = 2")
        await writes(world)
        await office.linker(world).catch_up()
    assert problems(office) == ["record 3/2 is missing: deleted"]


async def test_a_writers_records_stay_in_order_when_its_clock_is_set_back(office: Office) -> None:
    office.clock.advance(31)
    async with office.hubs(1) as (world,):
        await writes(world)
        office.clock.advance(-1)
        await writes(world)
        await office.linker(world).catch_up()
    with office.tampering() as db:
        placed = db.execute("SELECT number FROM audit WHERE writer = 3 AND position > 0 ORDER BY position")
        numbers = placed.fetchall()
    assert numbers == [(1,), (2,), (3,), (4,)]


async def test_one_hub_chains_and_the_other_notes_the_heads(office: Office) -> None:
    office.clock.advance(31)
    async with office.hubs(2) as (one, two):
        await writes(two)
        await office.linker(two).catch_up()
        assert office.verified().waiting == 4 + 2
        await office.linker(one).catch_up()
        assert office.verified().waiting == 0
        (office.heads.path.parent / "elsewhere").mkdir()
        office.heads = type(office.heads)(office.heads.path.parent / "elsewhere" / "audit.heads")
        await office.linker(two).catch_up()
    assert str(office.heads.newest()) == office.verified().head
    assert office.findings() == []


async def test_after_all_records_of_an_ended_hub_were_dropped_nothing_is_reported_as_missing(
    office: Office,
) -> None:
    office.clock.advance(31)
    async with office.hubs(1) as (world,):
        await world.store.recovery.recover()  # it ends the leases that have lapsed
        await office.linker(world).catch_up()
        office.clock.advance(1)
        assert await world.store.audit.prune_audit(office.clock.now(), 5) == 5
        assert office.findings() == []
        assert await world.store.audit.prune_audit(office.clock.now(), 1) == 1
        assert office.findings() == [], "of each writer it is known what was dropped, also earlier"
        assert await world.store.audit.prune_audit(office.clock.now(), 100) == 7
        assert office.findings() == []
        with office.tampering() as db:
            assert db.execute("SELECT writer, number FROM audit_writers").fetchall() == [(3, 3)]
        await office.linker(world).catch_up()
        office.clock.advance(1)
        assert await world.store.audit.prune_audit(office.clock.now(), 100) == 4, (
            "its own ones, with the policy"
        )
        assert office.findings() == []
        await writes(world)
        await office.linker(world).catch_up()
        assert office.findings() == []
        with office.tampering() as db:
            db.execute("DELETE FROM audit WHERE position = (SELECT min(position) FROM audit)")
    assert len(office.findings()) == 1


async def test_what_an_upgrade_counted_is_sealed_by_the_first_lease(tmp_path: Path) -> None:
    office = Office(tmp_path)
    load(SCHEMA_20, office.path)
    key = office.keys.newest()
    seal = key.seal(0, 1, 5, "paused", "ada", "tools", None, "{}")
    with office.tampering() as db:
        row = (1, 5, "paused", "ada", "tools", None, "{}", key.id, seal, None)
        db.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    async with office.opened():
        assert (office.verified().findings, office.verified().waiting) == ((), 1)
    with office.tampering() as db:
        assert db.execute("SELECT writer, number, key_id FROM audit_writers").fetchall() == [(0, 1, "")]
    async with office.hubs(1) as (world,):
        await writes(world)
    assert office.findings() == []
    with office.tampering() as db:
        db.execute("UPDATE audit_writers SET number = 0, key_id = '', seal = x'' WHERE writer = 0")
        db.execute("DELETE FROM audit WHERE writer = 0")
    assert any("the count of writer 0's records" in problem for problem in problems(office))


async def test_the_keys_of_someone_else_do_not_count(office: Office) -> None:
    made = PassingKeys().newest()
    with office.tampering() as db:
        db.execute("DELETE FROM audit WHERE writer = 2 AND number = 6")
        db.execute("UPDATE audit_writers SET number = 5, seal = ? WHERE writer = 2", (made.count(2, 5),))
    assert problems(office) == ["the count of writer 2's records is not the hub's"]
