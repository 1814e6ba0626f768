"""What a routine's runs may use a day: asked before each of them starts."""

# ruff: noqa: S608 - only a constant of this module, values are always bound

from core.store.codec import storable
from core.store.routines import BudgetDay, DayLeft
from core.store.sqlite.transaction import Transaction

MICRO_USD = 1_000_000
_ITS = "WHERE id = (SELECT routine_id FROM routine_runs WHERE id = ?1)"


def day_left(tx: Transaction, routine_id: str, since: int) -> DayLeft | str:
    """What is left of the day that began then; or why nothing is."""
    row = tx.one("SELECT daily_runs, daily_tokens, daily_micro_usd FROM routines WHERE id = ?", routine_id)
    if row is None or row == (None, None, None):
        return DayLeft()
    most_runs, most_tokens, most_micro_usd = row
    runs, tokens, micro_usd = _used(tx, routine_id, since)
    if most_runs is not None and runs >= most_runs:
        return f"it has run {runs} times today, which is its limit"
    if most_tokens is not None and tokens >= most_tokens:
        return f"it has used {tokens} tokens today, and its limit is {most_tokens}"
    if most_micro_usd is not None and micro_usd >= most_micro_usd:
        spent, most = micro_usd / MICRO_USD, most_micro_usd / MICRO_USD
        return f"it has cost {spent:.2f} USD today, and its limit is {most:.2f}"
    return DayLeft(
        None if most_tokens is None else most_tokens - tokens,
        None if most_micro_usd is None else most_micro_usd - micro_usd,
    )


def skip_for_budget(tx: Transaction, run_id: str, why: str, day: BudgetDay) -> None:
    """The run is not started; its owner is told so once a day, and whenever a person had asked for it."""
    tx.run(
        "UPDATE routine_runs SET state = 'skipped', ended_at = ?, error = ? WHERE id = ?",
        tx.clock.now(),
        why,
        run_id,
    )
    if not tell_of_budget(tx, run_id, day.since):
        return
    (definition,) = tx.one(f"SELECT definition FROM routines {_ITS}", run_id) or ("",)
    notice, notice_at = day.told(definition, why)
    tx.run(
        "UPDATE routine_runs SET notice = ?, notice_state = 'due', notice_at = ? WHERE id = ?",
        storable(notice),
        notice_at,
        run_id,
    )


def tell_of_budget(tx: Transaction, run_id: str, since: int) -> bool:
    """Whether the owner is still to be told on the day that began then; from now on they were."""
    told = tx.run(
        f"UPDATE routines SET budget_told_at = ?2 {_ITS} AND (coalesce(budget_told_at, 0) < ?3"
        " OR (SELECT kind FROM routine_runs WHERE id = ?1) = 'manual')",
        run_id,
        tx.clock.now(),
        since,
    )
    return told > 0


def _used(tx: Transaction, routine_id: str, since: int) -> tuple[int, int, int]:
    """Runs, tokens and micro-USD since then."""
    row = tx.one(
        "SELECT count(*), coalesce(sum(input_tokens + output_tokens), 0), coalesce(sum(cost_micro_usd), 0)"
        " FROM routine_runs WHERE routine_id = ? AND started_at >= ?",
        routine_id,
        since,
    )
    return (0, 0, 0) if row is None else (row[0], row[1], row[2])
