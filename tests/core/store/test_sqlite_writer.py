"""Group commit: many units in one commit, none heard of before it, each failing alone."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from core.clock import SystemClock
from core.errors import StoreUnavailable
from core.ids import RandomIds
from core.store.sqlite.connection import SqliteTransaction
from core.store.sqlite.store import GROUP_LIMIT, LINGER_S, QUEUE_LIMIT, Writer
from core.store.units import Policy, Transaction, Unit

WAIT_S = 60


@dataclass
class Watched:
    """A writer whose statements are listened to."""

    path: Path
    writer: Writer
    statements: list[str] = field(default_factory=list)

    @property
    def commits(self) -> int:
        return self.statements.count("COMMIT")

    def kept(self) -> list[int]:
        """Return what another process would read now."""
        connection = sqlite3.connect(self.path)
        try:
            return [row[0] for row in connection.execute("SELECT number FROM kept ORDER BY rowid")]
        finally:
            connection.close()


@pytest.fixture
def linger_s() -> float:
    """Overridden by tests of units that nobody waits for."""
    return LINGER_S


@pytest.fixture
async def watched(tmp_path: Path, linger_s: float) -> AsyncIterator[Watched]:
    statements: list[str] = []

    def begin(connection: sqlite3.Connection) -> SqliteTransaction:
        connection.set_trace_callback(statements.append)
        return SqliteTransaction(connection, SystemClock(), RandomIds(), Policy())

    made = Watched(tmp_path / "hub.db", Writer(tmp_path / "hub.db", begin, linger_s), statements)
    await made.writer.open()
    await made.writer.run(lambda tx: tx.run("CREATE TABLE kept (number INTEGER UNIQUE) STRICT"))
    statements.clear()
    yield made
    await made.writer.close()


def keep(number: int) -> Unit[int]:
    def unit(tx: Transaction) -> int:
        tx.run("INSERT INTO kept VALUES (?)", number)
        return number

    return unit


class Gate:
    """A unit that holds the writer until it is let go, so that others gather behind it."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()

    def unit(self, tx: Transaction) -> None:
        self.entered.set()
        assert self.open.wait(WAIT_S)


@pytest.mark.parametrize("linger_s", [WAIT_S])
async def test_an_unawaited_unit_is_committed_with_the_next(watched: Watched) -> None:
    receipt = asyncio.create_task(watched.writer.run(keep(1), unhurried=True))
    await asyncio.sleep(0)
    async with asyncio.timeout(WAIT_S / 2):
        assert await watched.writer.run(keep(2)) == 2
        assert await receipt == 1
    assert (watched.commits, watched.kept()) == (1, [1, 2])


async def test_an_unawaited_unit_is_committed_alone_if_none_follows(watched: Watched) -> None:
    assert await watched.writer.run(keep(1), unhurried=True) == 1
    assert watched.kept() == [1]


@pytest.mark.parametrize("linger_s", [WAIT_S])
async def test_closing_does_not_wait_for_more_units(watched: Watched) -> None:
    receipt = asyncio.create_task(watched.writer.run(keep(1), unhurried=True))
    await asyncio.sleep(0)
    async with asyncio.timeout(WAIT_S / 2):
        await watched.writer.close()
    assert (await receipt, watched.kept()) == (1, [1])


async def test_units_that_gathered_are_committed_together(watched: Watched) -> None:
    gate = Gate()
    holding = asyncio.create_task(watched.writer.run(gate.unit))
    await asyncio.to_thread(gate.entered.wait, WAIT_S)
    callers = [asyncio.create_task(watched.writer.run(keep(number))) for number in range(100)]
    await asyncio.sleep(0)
    assert watched.kept() == []
    gate.open.set()
    assert await asyncio.gather(*callers) == list(range(100))
    await holding
    assert watched.commits == 2
    assert watched.kept() == list(range(100))


async def test_a_group_is_bounded(watched: Watched) -> None:
    gate = Gate()
    holding = asyncio.create_task(watched.writer.run(gate.unit))
    await asyncio.to_thread(gate.entered.wait, WAIT_S)
    callers = [asyncio.create_task(watched.writer.run(keep(number))) for number in range(GROUP_LIMIT + 1)]
    await asyncio.sleep(0)
    gate.open.set()
    await asyncio.gather(holding, *callers)
    assert watched.commits == 3


async def test_more_callers_than_the_queue_holds_are_all_answered_in_order(watched: Watched) -> None:
    count = QUEUE_LIMIT + 500
    answers = await asyncio.gather(*(watched.writer.run(keep(number)) for number in range(count)))
    assert answers == list(range(count))
    assert watched.kept() == list(range(count))


async def test_acknowledged_writes_are_in_the_file(watched: Watched) -> None:
    for number in range(5):
        await watched.writer.run(keep(number))
        assert watched.kept()[-1] == number


async def test_listeners_hear_of_a_unit_after_its_commit(watched: Watched) -> None:
    armed, committing, go_on = threading.Event(), threading.Event(), threading.Event()

    def hold_commit(statement: str) -> None:
        if statement == "COMMIT" and armed.is_set():
            committing.set()
            assert go_on.wait(WAIT_S)

    await watched.writer.run(
        lambda tx: cast(SqliteTransaction, tx).connection.set_trace_callback(hold_commit)
    )
    armed.set()
    caller = asyncio.create_task(watched.writer.run(keep(1)))
    await asyncio.to_thread(committing.wait, WAIT_S)
    for _ in range(10):  # whatever the writer told before its commit would be heard by now
        await asyncio.sleep(0)
    assert not caller.done()
    go_on.set()
    assert await caller == 1


@pytest.mark.parametrize("at", [0, 1])
async def test_one_failing_unit_is_rolled_back_alone(watched: Watched, at: int) -> None:
    def fail_late(tx: Transaction) -> int:
        keep(100)(tx)
        raise LookupError("after a write")

    gate = Gate()
    holding = asyncio.create_task(watched.writer.run(gate.unit))
    await asyncio.to_thread(gate.entered.wait, WAIT_S)
    units = [keep(1), keep(2), keep(1), keep(3)]
    units.insert(at, fail_late)
    callers = [asyncio.create_task(watched.writer.run(unit)) for unit in units]
    await asyncio.sleep(0)
    gate.open.set()
    results = await asyncio.gather(*callers, return_exceptions=True)
    await holding
    assert isinstance(results.pop(at), LookupError)
    assert [type(result) for result in results] == [int, int, sqlite3.IntegrityError, int]
    assert watched.commits == 2
    assert watched.kept() == [1, 2, 3]
    assert watched.writer.healthy


async def test_a_cancelled_caller_does_not_undo_its_unit(watched: Watched) -> None:
    gate = Gate()
    holding = asyncio.create_task(watched.writer.run(gate.unit))
    await asyncio.to_thread(gate.entered.wait, WAIT_S)
    caller = asyncio.create_task(watched.writer.run(keep(1)))
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    gate.open.set()
    await holding
    await watched.writer.run(keep(2))
    assert watched.kept() == [1, 2]


async def test_a_closed_writer_accepts_nothing(watched: Watched) -> None:
    last = asyncio.create_task(watched.writer.run(keep(1)))
    await asyncio.sleep(0)
    await watched.writer.close()
    assert await last == 1
    with pytest.raises(StoreUnavailable):
        await watched.writer.run(keep(2))
    await watched.writer.close()
    assert watched.kept() == [1]


async def test_a_full_disk_fails_every_unit_of_the_group_and_the_writer_recovers(watched: Watched) -> None:
    def full(tx: Transaction) -> None:
        (pages,) = tx.one("PRAGMA page_count") or (0,)
        tx.one(f"PRAGMA max_page_count = {pages + 2}")

    def roomy(tx: Transaction) -> None:
        tx.one("PRAGMA max_page_count = 1000000")

    def large(tx: Transaction) -> None:
        tx.run("CREATE TABLE large (text TEXT)")
        tx.run("INSERT INTO large VALUES (?)", "x" * 100_000)

    await watched.writer.run(full)
    gate = Gate()
    holding = asyncio.create_task(watched.writer.run(gate.unit))
    await asyncio.to_thread(gate.entered.wait, WAIT_S)
    callers = [asyncio.create_task(watched.writer.run(unit)) for unit in (keep(1), large, keep(2))]
    await asyncio.sleep(0)
    gate.open.set()
    results = await asyncio.gather(*callers, return_exceptions=True)
    await holding
    assert [type(result) for result in results] == [StoreUnavailable] * 3
    assert not watched.writer.healthy
    assert watched.kept() == []

    await watched.writer.run(roomy)
    assert not watched.writer.healthy  # nothing was written yet
    await watched.writer.run(keep(3))
    assert watched.writer.healthy
    assert watched.kept() == [3]


async def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    def begin(connection: sqlite3.Connection) -> SqliteTransaction:
        raise AssertionError("never opened")

    writer = Writer(tmp_path / "missing" / "hub.db", begin)
    with pytest.raises(StoreUnavailable, match="missing"):
        await writer.open()
    await writer.close()


async def test_a_file_that_is_not_a_database_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    path.write_bytes(b"this is a text, and long enough to be told from a database" * 100)

    def begin(connection: sqlite3.Connection) -> SqliteTransaction:
        raise AssertionError("never opened")

    writer = Writer(path, begin)
    with pytest.raises(StoreUnavailable, match="not a database"):
        await writer.open()
    await writer.close()


async def test_meanwhile_callbacks_run_before_the_commit_is_announced(watched: Watched) -> None:
    """And it does not wait for the disk: the commit is held up until it was done."""
    order: list[str] = []
    done = threading.Event()

    def hold(statement: str) -> None:
        watched.statements.append(statement)
        if statement == "COMMIT":
            assert done.wait(WAIT_S)

    def unit(tx: Transaction) -> None:
        cast(SqliteTransaction, tx).connection.set_trace_callback(hold)
        tx.run("INSERT INTO kept VALUES (1)")

    def meanwhile() -> None:
        assert watched.kept() == []
        order.append("meanwhile")
        done.set()

    await asyncio.wait_for(watched.writer.run(unit, meanwhile=meanwhile), WAIT_S)
    order.append("heard")
    assert order == ["meanwhile", "heard"]
    assert watched.kept() == [1]


async def test_no_meanwhile_callback_runs_for_a_unit_that_failed(watched: Watched) -> None:
    called: list[str] = []

    def fails(tx: Transaction) -> None:
        raise ValueError

    with pytest.raises(ValueError):
        await watched.writer.run(fails, meanwhile=lambda: called.append("called"))
    await watched.writer.run(lambda tx: tx.run("INSERT INTO kept VALUES (1)"))
    assert called == []
