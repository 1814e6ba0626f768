"""Leases of hubs. The engine refuses every write of a hub whose lease another has ended."""

from core.store.lease import LeaseTerms
from core.store.sql.audit import seal_counts
from core.store.units import Engine, Facet, Transaction, reads, writes


def not_held(table: str) -> str:
    """Return the condition that no hub with a lease has a row of that table, or alias, in hand."""
    return f"({table}.fence IS NULL OR {table}.fence NOT IN (SELECT l.fence FROM leases l))"  # noqa: S608


def end_lapsed(tx: Transaction) -> None:
    """End the leases of others that have lapsed: their hubs write nothing any more."""
    tx.run("DELETE FROM leases WHERE lease_until < ? AND fence <> ?", tx.clock.now(), tx.lease.fence)


async def hold(engine: Engine) -> None:
    """Return once this hub surely has its lease. Raises LeaseLost.

    Call it right before an effect outside: a process may have been suspended since its last write."""
    if engine.lease.fence and engine.clock.now() >= engine.lease.sure_until:
        await LeaseUnits(engine).renew_lease()


class LeaseUnits(Facet):
    """The units of Leases."""

    async def take_lease(self, terms: LeaseTerms) -> None:
        fence, now = await self._take(terms)
        self.engine.lease.taken(fence, terms, now)

    @writes
    def _take(self, tx: Transaction, terms: LeaseTerms) -> tuple[int, int]:
        if terms.alone:
            tx.run("DELETE FROM leases")
        now = tx.clock.now()
        until = now + terms.lasts_us
        row = tx.one(
            "INSERT INTO leases (host, taken_at, lease_until) VALUES (?, ?, ?) RETURNING fence",
            terms.host,
            now,
            until,
        )
        assert row is not None  # noqa: S101 - an insert returns its row
        seal_counts(tx)  # before this hub writes its first record
        return row[0], now

    async def renew_lease(self) -> None:
        self.engine.lease.renewed(await self._renew())

    @writes
    def _renew(self, tx: Transaction) -> int:
        now = tx.clock.now()
        tx.run("UPDATE leases SET lease_until = ? WHERE fence = ?", now + tx.lease.lasts_us, tx.lease.fence)
        tx.run("DELETE FROM undos WHERE expires_at <= ?", now)  # a promise of a moment, and one to forget
        return now

    @reads
    def has_lapsed(self, tx: Transaction) -> bool:
        lapsed = tx.one(
            "SELECT 1 FROM leases WHERE lease_until < ? AND fence <> ?", tx.clock.now(), tx.lease.fence
        )
        return lapsed is not None

    async def lease_lost(self) -> None:
        await self.engine.lease.lost.wait()
