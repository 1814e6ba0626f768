"""A database with a chained audit, somebody who tampers with it, and what is found."""

import contextlib
import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from core.audit.linker import HEADS_NAME, AuditLinker, Head, HeadFile
from core.audit.verification import Verified, verify
from core.audit_chain import ChainKey, ChainKeys, PassingKeys
from core.store.effects import PauseTools
from core.store.lease import LeaseTerms
from core.store.sqlite.offline import audit_in
from core.store.sqlite.store import open_store
from core.transcript import ResultStatus, ToolResult
from tests.contracts.store.bench import Bench, CountingIds, StoppedClock
from tests.databases import lay_database

LEASE_US = 30_000_000


class Office:
    """One data directory. `keys`: the hub's, which a tamperer does not have."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "hub.db"
        self.heads = HeadFile(directory / HEADS_NAME)
        self.keys: ChainKeys = PassingKeys()
        self.clock = StoppedClock()
        self.ids = CountingIds()

    def copied(self, directory: Path) -> "Office":
        """The same in another directory, while nobody works there."""
        other = Office(directory)
        shutil.copy(self.path, other.path)
        shutil.copy(self.heads.path, other.heads.path)
        other.keys, other.clock.at = self.keys, self.clock.at
        for _ in range(1000):  # ids that were not given out yet
            other.ids.number()
        return other

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[Bench]:
        store = await open_store(lay_database(self.path), self.clock, self.ids, chain=self.keys)
        try:
            yield Bench(store, self.clock, self.ids)
        finally:
            await store.close()

    @contextlib.asynccontextmanager
    async def hubs(self, count: int) -> AsyncIterator[list[Bench]]:
        """So many hubs with leases, on one database."""
        async with contextlib.AsyncExitStack() as opened:
            worlds = [await opened.enter_async_context(self.opened()) for _ in range(count)]
            for world in worlds:
                await world.store.leases.take_lease(LeaseTerms("host", LEASE_US, alone=False))
            yield worlds

    def linker(self, world: Bench, keep_days: int = 0) -> AuditLinker:
        return AuditLinker(
            world.store.audit,
            self.heads,
            self.clock,
            lambda: {"preset": "auto"},
            keep_days=keep_days,
            linger_s=0,
        )

    async def work(self, days: int = 3, *, keep_days: int = 0) -> None:
        """On each day a tool runs and is paused; its records are chained in the evening."""
        async with self.opened() as world:
            for _ in range(days):
                await self.a_day(world)
                linker = self.linker(world, keep_days)
                await linker.prune()
                await linker.catch_up()
                self.clock.advance(24 * 3600)

    async def a_day(self, world: Bench) -> None:
        start = await world.turn(scope=f"day {self.clock.now()}")
        (call_id,) = await world.call(start)
        await world.store.turns.mark_running(start.turn_id, call_id, lambda *_: None)
        await world.store.turns.finish_calls(start.turn_id, [ToolResult(call_id, ResultStatus.OK, "done")])
        await world.finish(start)
        await world.rule(PauseTools(paused=True), PauseTools(paused=False))

    @contextlib.contextmanager
    def tampering(self) -> Iterator[sqlite3.Connection]:
        """Somebody who can write to the database and knows how it works."""
        with contextlib.closing(sqlite3.connect(self.path)) as connection:
            yield connection
            connection.commit()

    def verified(self, given: str | None = None, *, noted: bool = True) -> Verified:
        key = self.keys.newest()
        with audit_in(self.path) as snapshot:
            return verify(
                snapshot.checkpoint(),
                snapshot.rows(),
                snapshot.counts(),
                {key.id: key},
                self.heads.heads() if noted else [],
                noted_in=HEADS_NAME,
                given=None if given is None else Head.parse(given),
                arguments=snapshot.arguments,
            )

    def findings(self, given: str | None = None) -> list[tuple[int | None, str]]:
        """Each record something is said about, and the last words of it."""
        told = self.verified(given).findings
        return [(finding.record, finding.problem) for finding in told]

    def wrong(self, given: str | None = None) -> set[int | None]:
        return {record for record, _ in self.findings(given)}


def relink(connection: sqlite3.Connection, key: ChainKey, first: int) -> None:
    """Seal and chain everything anew from a record on, with this key."""
    (before,) = connection.execute("SELECT link FROM audit WHERE position = ?", (first - 1,)).fetchone()
    said = "writer, number, at, kind, actor, subject, thread_id, detail"
    rows = connection.execute(
        f"SELECT position, {said} FROM audit WHERE position >= ? ORDER BY position", (first,)
    ).fetchall()
    for position, *row in rows:
        seal = key.seal(*row)
        before = key.link(before, seal)
        connection.execute(
            "UPDATE audit SET key_id = ?, seal = ?, link = ? WHERE position = ?",
            (key.id, seal, before, position),
        )


def unkeyed(name: str) -> ChainKey:
    """Somebody's own key under the name of the hub's."""
    made = PassingKeys().newest()
    return ChainKey(name, made.sealing, made.linking, made.hiding)
