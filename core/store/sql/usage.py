"""Rows of model calls: each is reserved before its call and settled after it, and all of them are held to
the budgets.

A row that is not settled counts with its reservation, for ever if its call got no answer.
"""

# ruff: noqa: S608 - names of columns are constants of this package, values are always bound

from collections.abc import Sequence

from core.clock import SECOND_US
from core.store.sql.mapping import not_held
from core.store.units import Transaction
from core.usage import MICRO_USD, CallEnd, CallKind, Payer, Reservation, day_start, token_bound

HOUR_US = 3600 * SECOND_US
ROOM_TOKENS = 1024
"""The allowance for what a request gains beyond the texts that are known when it is reserved in advance."""
TOKENS_PER_ANSWER_TOKEN = 8
"""The bound on the tokens, counted as bytes, that a token of the last answer takes in the next request."""

# Reserving and settling.


def reserve(tx: Transaction, payer: Payer, wanted: Reservation) -> None:
    """Insert the row of a call that is about to be made."""
    tx.run(
        "INSERT INTO usage (id, run_id, kind, thread_id, user_id, routine_id, job_id, model, provider,"
        " attempt, reserved_tokens, reserved_micro_usd, micro_usd, state, reserved_at, fence)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'reserved', ?, ?)",
        wanted.id,
        payer.run_id,
        payer.kind.value,
        payer.thread_id,
        payer.user_id,
        payer.routine_id,
        payer.run_id if payer.kind is CallKind.JOB else None,
        wanted.model,
        wanted.provider,
        wanted.attempt,
        wanted.tokens,
        wanted.micro_usd,
        wanted.micro_usd,
        tx.clock.now(),
        tx.lease.fence,
    )


def reserve_ahead(
    tx: Transaction, payer: Payer, texts: Sequence[str], attempt: int = 1
) -> Reservation | None:
    """Reserve the call that follows this commit, so that it needs no commit of its own.

    The request is expected to be the thread's last one with `texts` added. Return None if that is beyond a
    budget: the run finds out by itself whether the real one is."""
    last = tx.one(
        "SELECT model, provider, reserved_tokens, reserved_micro_usd, coalesce(output_tokens, 0)"
        " FROM usage WHERE thread_id = ? ORDER BY id DESC LIMIT 1",
        payer.thread_id,
    )
    if last is None:
        first = tx.policy.spending.first_call
        if first is None:
            return None
        last = (first.model, first.provider, first.tokens, first.micro_usd, 0)
    model, provider, tokens, micro_usd, answered = last
    more = ROOM_TOKENS + TOKENS_PER_ANSWER_TOKEN * answered + sum(map(token_bound, texts))
    # Input costs no more than output, so it may be taken at the price of both together.
    cost = -(-micro_usd * (tokens + more) // tokens) if tokens else micro_usd
    wanted = Reservation(tx.ids.row_id(), model, provider, attempt, tokens + more, cost)
    if over_budget(tx, payer.user_id, cost) is not None:
        return None
    reserve(tx, payer, wanted)
    return wanted


def settle(tx: Transaction, ends: Sequence[CallEnd]) -> int:
    """Record the ends of calls. Return how many were reserved until now."""
    settled = 0
    for end in ends:
        if not end.made:
            settled += tx.run("DELETE FROM usage WHERE id = ? AND state = 'reserved'", end.id)
            continue
        used = end.usage
        settled += tx.run(
            "UPDATE usage SET state = ?, reserved_tokens = ?, reserved_micro_usd = ?, micro_usd = ?,"
            " input_tokens = ?, output_tokens = ?, cached_input_tokens = ?, cache_write_tokens = ?,"
            " plan_step = ?, settled_at = ?, fence = NULL WHERE id = ? AND state = 'reserved'",
            "estimated" if used is None else "settled",
            end.tokens,
            end.micro_usd,
            end.micro_usd if used is None else used.cost_micro_usd,
            None if used is None else used.input_tokens,
            None if used is None else used.output_tokens,
            None if used is None else used.cached_input_tokens,
            None if used is None else used.cache_write_tokens,
            end.plan_step,
            tx.clock.now(),
            end.id,
        )
    return settled


def unanswered(tx: Transaction, run_id: str) -> None:
    """Mark the calls of an ended run whose ends are not known as estimated."""
    tx.run(
        "UPDATE usage SET state = 'estimated', fence = NULL WHERE run_id = ? AND state = 'reserved'", run_id
    )


def unanswered_of_ended_hubs(tx: Transaction) -> None:
    """Mark calls that no hub waits for any more as estimated."""
    tx.run(
        f"UPDATE usage SET state = 'estimated', fence = NULL WHERE state = 'reserved' AND {not_held('usage')}"
    )


def not_made(tx: Transaction, run_id: str) -> None:
    """Remove the reservations of a run that waits for a person: it calls no model meanwhile."""
    tx.run("DELETE FROM usage WHERE run_id = ? AND state = 'reserved'", run_id)


def used_by_run(column: str) -> str:
    """Return the sum of a column over the calls of the routine run `r` and of its job, as an expression."""
    whose = "SELECT r.id UNION ALL SELECT w.id FROM jobs w WHERE w.run_id = r.id"
    used = f"FROM usage u WHERE u.routine_id IS NOT NULL AND u.run_id IN ({whose})"
    return f"(SELECT coalesce(sum(u.{column}), 0) {used})"


def used_by_job(column: str) -> str:
    """Return the sum of a column over the calls of the job `j`, as an expression."""
    return f"(SELECT coalesce(sum(u.{column}), 0) FROM usage u WHERE u.job_id = j.id)"


_USED = (
    "SELECT coalesce(sum(coalesce(input_tokens + output_tokens, reserved_tokens)), 0),"
    " coalesce(sum(micro_usd), 0) FROM usage WHERE state <> 'reserved'"
)


def used_by_job_so_far(tx: Transaction, job_id: str) -> tuple[int, int]:
    """Return the tokens and micro-USD that a job's ended calls have used."""
    row = tx.one(f"{_USED} AND job_id = ?", job_id)
    return (0, 0) if row is None else (row[0], row[1])


def used_by_routine(tx: Transaction, routine_id: str, since: int) -> tuple[int, int]:
    """Return the tokens and micro-USD that a routine's ended calls have used since then."""
    row = tx.one(f"{_USED} AND routine_id = ? AND reserved_at >= ?", routine_id, since)
    return (0, 0) if row is None else (row[0], row[1])


# Budgets.


def over_budget(tx: Transaction, user_id: str, micro_usd: int) -> str | None:
    """Return the budget that another call at that cost would exceed, as a sentence, or None.

    Calls count with their costs, and with their reservations until these are known."""
    budget, now = tx.policy.spending.budget, tx.clock.now()
    if budget.hourly_calls:
        row = tx.one("SELECT count(*) FROM usage WHERE reserved_at > ?", now - HOUR_US)
        if row is not None and row[0] >= budget.hourly_calls:
            return f"The limit of {budget.hourly_calls} model calls per hour is reached."
    if not budget.limits_money:
        return None
    row = tx.one(
        "SELECT coalesce(sum(micro_usd), 0), coalesce(sum(CASE WHEN user_id = ? THEN micro_usd END), 0)"
        " FROM usage WHERE reserved_at >= ?",
        user_id,
        day_start(now, budget.timezone),
    )
    spent, by_user = (0, 0) if row is None else (row[0], row[1])
    if budget.daily_micro_usd and spent + micro_usd > budget.daily_micro_usd:
        return f"The hub's budget of {_usd(budget.daily_micro_usd)} a day is used up."
    if budget.per_user_daily_micro_usd and by_user + micro_usd > budget.per_user_daily_micro_usd:
        return f"The budget of {_usd(budget.per_user_daily_micro_usd)} a day for each person is used up."
    return None


def _usd(micro_usd: int) -> str:
    return f"${micro_usd / MICRO_USD:,.2f}" if micro_usd >= MICRO_USD // 100 else f"${micro_usd / MICRO_USD}"
