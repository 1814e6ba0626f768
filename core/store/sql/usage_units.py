"""The units of model usage: reserving a call by itself, and what was used by day, model, person and kind."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Sequence
from dataclasses import replace

from core.clock import SECOND_US
from core.store.sql.turns import require_running
from core.store.sql.usage import over_budget, reserve, settle
from core.store.transaction import Row, Transaction
from core.store.units import Facet, writes
from core.usage import (
    Budget,
    CallEnd,
    CallKind,
    Expected,
    Payer,
    Reservation,
    UsageBy,
    UsageSum,
    day_start,
    folded_sums,
)

BUCKET_US = 900 * SECOND_US
"""A quarter of an hour: in every time zone, days are made of whole ones."""

_SUMS = (
    "count(*), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0),"
    " coalesce(sum(cached_input_tokens), 0), coalesce(sum(cache_write_tokens), 0),"
    " coalesce(sum(CASE WHEN state = 'settled' THEN micro_usd END), 0),"
    " coalesce(sum(CASE WHEN state <> 'settled' THEN 1 END), 0),"
    " coalesce(sum(CASE WHEN state <> 'settled' THEN reserved_tokens END), 0),"
    " coalesce(sum(CASE WHEN state <> 'settled' THEN micro_usd END), 0)"
)
_KEYS = {
    UsageBy.DAY: f"reserved_at / {BUCKET_US}",
    UsageBy.MODEL: "model",
    UsageBy.USER: "user_id",
    UsageBy.KIND: "kind",
    UsageBy.ROUTINE: "coalesce(routine_id, '')",
    UsageBy.THREAD: "coalesce(thread_id, '')",
    UsageBy.JOB: "coalesce(job_id, '')",
}


class UsageUnits(Facet):
    """The units of ModelUsage."""

    @writes
    def hold_to(self, tx: Transaction, budget: Budget, first_call: Expected) -> None:
        tx.policy.spending.budget, tx.policy.spending.first_call = budget, first_call

    @writes
    def reserve_call(
        self,
        tx: Transaction,
        payer: Payer,
        wanted: Reservation,
        ends: Sequence[CallEnd] = (),
        *,
        approved: bool = False,
    ) -> str | None:
        if payer.kind in {CallKind.CHAT, CallKind.ROUTINE, CallKind.JOB}:
            payer = replace(payer, thread_id=require_running(tx, payer.run_id, heed_stop=True))
        settle(tx, ends)
        refusal = None if approved else over_budget(tx, payer.user_id, wanted.micro_usd)
        if refusal is None:
            reserve(tx, payer, wanted)
        return refusal

    @writes
    def settle_calls(self, tx: Transaction, ends: Sequence[CallEnd]) -> None:
        settle(tx, ends)

    async def usage(self, by: UsageBy, since: int, until: int, timezone: str = "UTC") -> Sequence[UsageSum]:
        key = _KEYS[by]
        rows = await self.engine.ask(
            f"SELECT {key}, {_SUMS} FROM usage WHERE reserved_at >= ? AND reserved_at < ?"
            f" GROUP BY {key} ORDER BY 7 DESC, 1",
            since,
            until,
        )
        return _by_day(rows, timezone) if by is UsageBy.DAY else [UsageSum(*row) for row in rows]


def _by_day(rows: Sequence[Row], timezone: str) -> Sequence[UsageSum]:
    """Return the sums of quarters of an hour as sums of days, the newest first."""
    days: dict[int, list[UsageSum]] = {}
    for bucket, *sums in rows:
        days.setdefault(day_start(bucket * BUCKET_US, timezone), []).append(UsageSum("", *sums))
    return [folded_sums(str(start), days[start]) for start in sorted(days, reverse=True)]
