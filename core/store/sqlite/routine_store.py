"""The store's side for routines: implements core.store.routine_port.Routines."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.lazy_module import LazyModule
from core.store.sqlite.connection import ReaderThread, Transaction
from core.store.sqlite.writer import Writer

if TYPE_CHECKING:
    from core.store.routines import (
        BudgetDay,
        Claim,
        DueNotice,
        NewRun,
        NextDue,
        RoutineRow,
        RoutineRunRow,
        RoutineText,
        RunEnd,
        StartedRun,
    )

if TYPE_CHECKING:
    from core.store.sqlite import routine_runs, routine_views, routines
else:
    routine_runs = LazyModule("core.store.sqlite.routine_runs")
    routine_views = LazyModule("core.store.sqlite.routine_views")
    routines = LazyModule("core.store.sqlite.routines")


class RoutineUnits:
    """The units of Routines. Their implementation is imported on first use: a hub without routines
    never needs it."""

    _writer: Writer
    _reader: ReaderThread

    async def save_routine(
        self, routine_id: str, owner_id: str, text: "RoutineText", thread_id: str | None
    ) -> "RoutineRow | None":
        return await self._writer.run(lambda tx: routines.save(tx, routine_id, owner_id, text, thread_id))

    async def rewrite_routine(
        self, routine_id: str, text: "RoutineText", *, version: int
    ) -> "RoutineRow | None":
        return await self._writer.run(lambda tx: routines.rewrite(tx, routine_id, text, version))

    async def switch_routine(
        self, routine_id: str, *, enabled: bool, next_slot_at: int | None, because: str | None = None
    ) -> "RoutineRow | None":
        def unit(tx: Transaction) -> "RoutineRow | None":
            return routines.switch(
                tx, routine_id, enabled=enabled, next_slot_at=next_slot_at, because=because
            )

        return await self._writer.run(unit)

    async def delete_routine(self, routine_id: str) -> bool:
        return await self._writer.run(lambda tx: routines.delete(tx, routine_id))

    async def has_routines(self) -> bool:
        return await self._reader.run(lambda tx: tx.one("SELECT 1 FROM routines LIMIT 1")) is not None

    async def routine(self, routine_id: str) -> "RoutineRow | None":
        return await self._reader.run(lambda tx: routines.by_id(tx, routine_id))

    async def routines(
        self, owner_id: str | None = None, *, after: str = "", limit: int | None = None, containing: str = ""
    ) -> "Sequence[RoutineRow]":
        return await self._reader.run(lambda tx: routines.listed(tx, owner_id, after, limit, containing))

    async def routine_named(self, owner_id: str, named: str) -> "RoutineRow | None":
        return await self._reader.run(lambda tx: routines.named(tx, owner_id, named))

    async def count_routines(self, owner_id: str) -> int:
        return await self._reader.run(lambda tx: routines.count(tx, owner_id))

    async def routines_due_first(self, owner_id: str, limit: int) -> "Sequence[RoutineRow]":
        return await self._reader.run(lambda tx: routines.due_first(tx, owner_id, limit))

    async def listening_routines(self, after: str, limit: int) -> "Sequence[RoutineRow]":
        return await self._reader.run(lambda tx: routines.listening(tx, after, limit))

    async def event_routines(self, owner_id: str) -> "Sequence[RoutineRow]":
        return await self._reader.run(lambda tx: routines.told_of_events(tx, owner_id))

    async def claim_run(self, new: "NewRun") -> "Claim":
        return await self._writer.run(lambda tx: routine_runs.claim(tx, new))

    async def due_routines(self, now: int) -> "Sequence[RoutineRow]":
        return await self._reader.run(lambda tx: routines.due(tx, now))

    async def claim_slots(
        self,
        routine_id: str,
        slot_at: int,
        runs: "Sequence[NewRun]",
        *,
        next_slot_at: int | None,
        skipped: int = 0,
    ) -> "Sequence[Claim]":
        return await self._writer.run(
            lambda tx: routine_runs.claim_slots(tx, routine_id, slot_at, runs, next_slot_at, skipped)
        )

    async def begin_runs(self, *, most: int, lease_until: int, day: "BudgetDay") -> "Sequence[StartedRun]":
        return await self._writer.run(lambda tx: routine_runs.begin(tx, most, lease_until, day))

    async def extend_leases(self, run_ids: Sequence[str], until: int) -> None:
        await self._writer.run(lambda tx: routine_runs.extend_leases(tx, run_ids, until))

    async def finish_run(self, run_id: str, end: "RunEnd") -> bool:
        return await self._writer.run(lambda tx: routine_runs.finish(tx, run_id, end))

    async def lapsed_runs(self, before: int | None) -> "Sequence[StartedRun]":
        return await self._reader.run(lambda tx: routine_runs.lapsed(tx, before))

    async def requeue_run(self, run_id: str) -> bool:
        return await self._writer.run(lambda tx: routine_runs.requeue(tx, run_id))

    async def next_due(self) -> "NextDue":
        return await self._reader.run(routine_views.next_due)

    async def due_notices(self, now: int) -> "Sequence[DueNotice]":
        return await self._reader.run(lambda tx: routine_views.due_notices(tx, now))

    async def keep_own_place(self, routine_id: str, place: str) -> None:
        await self._writer.run(lambda tx: routine_views.keep_own_place(tx, routine_id, place))

    async def settle_notice(self, run_id: str, *, sent: bool) -> None:
        await self._writer.run(lambda tx: routine_views.settle_notice(tx, run_id, sent=sent))

    async def notices_sent(self, routine_id: str, since: int) -> int:
        return await self._reader.run(lambda tx: routine_views.notices_sent(tx, routine_id, since))

    async def routine_runs(self, routine_id: str, limit: int) -> "Sequence[RoutineRunRow]":
        return await self._reader.run(lambda tx: routine_views.newest(tx, routine_id, limit))
