"""Rows of model calls: reserved before, settled after, held to budgets, and added up."""

from dataclasses import replace

import pytest

from core.errors import StaleTurn
from core.events import ModelTrace
from core.store.lease import LeaseTerms
from core.store.rows import TurnState
from core.transcript import ResultStatus, ToolResult
from core.usage import (
    Budget,
    CallEnd,
    CallKind,
    Expected,
    Payer,
    Reservation,
    Usage,
    UsageBy,
    UsageSum,
)
from tests.contracts.store.bench import ADA, BEN, SECOND, Bench
from tests.contracts.store.conftest import Database

HOUR_S = 3600
FIRST = Expected("main", "test", 1000, 500)
WORK = Payer(CallKind.SUMMARY, "work", ADA.user_id)


def wanted(world: Bench, micro_usd: int = 60) -> Reservation:
    return Reservation(world.ids.row_id(), "main", "test", 1, 100, micro_usd)


def ended(reserved: Reservation, cost: int) -> CallEnd:
    return CallEnd(reserved.id, 100, 60, Usage(10, 5, 2, cost, 1))


async def total(world: Bench, by: UsageBy = UsageBy.KIND) -> list[UsageSum]:
    return list(await world.store.usage.usage(by, 0, world.clock.now() + 1))


async def test_a_budget_counts_what_was_used_and_what_is_reserved(database: Database) -> None:
    world = await database.open(budget=Budget(daily_micro_usd=100))
    reserve, settle = world.store.usage.reserve_call, world.store.usage.settle_calls
    first, second = wanted(world), wanted(world)
    assert await reserve(WORK, first) is None
    assert await reserve(WORK, second) == "The hub's budget of $0.0001 a day is used up."
    assert await reserve(WORK, second, [ended(first, 40)]) is None, "40 used, 60 reserved"
    assert await reserve(WORK, wanted(world, 1)) is not None
    assert await reserve(WORK, wanted(world, 1), approved=True) is None
    await settle([CallEnd(second.id, 100, 60)])
    assert await reserve(WORK, wanted(world, 1)) is not None, "without an answer, what was reserved stays"
    world.clock.advance(24 * HOUR_S)
    assert await reserve(WORK, wanted(world, 100)) is None, "the next day"


async def test_a_budget_begins_anew_at_midnight_in_the_hubs_time_zone(database: Database) -> None:
    """There it is 18:15 in UTC."""
    world = await database.open(budget=Budget(daily_micro_usd=60, timezone="Asia/Kathmandu"))
    reserve, midnight_s = world.store.usage.reserve_call, (18 * 60 + 15) * 60
    day_s = 24 * HOUR_S
    world.clock.advance((midnight_s - world.clock.now() // SECOND) % day_s + day_s - 60)
    assert await reserve(WORK, wanted(world)) is None
    world.clock.advance(60)
    assert await reserve(WORK, wanted(world)) is None, "midnight in Kathmandu"
    world.clock.advance(6 * HOUR_S)
    assert await reserve(WORK, wanted(world)) is not None, "midnight in UTC is over, the day is not"


async def test_each_person_has_a_budget_and_calls_are_limited_per_hour(database: Database) -> None:
    world = await database.open(budget=Budget(per_user_daily_micro_usd=100, hourly_calls=3))
    reserve = world.store.usage.reserve_call
    assert await reserve(WORK, wanted(world)) is None
    assert await reserve(WORK, wanted(world)) == "The budget of $0.0001 a day for each person is used up."
    bens = replace(WORK, user_id=BEN.user_id)
    assert await reserve(bens, wanted(world, 50)) is None
    assert await reserve(bens, wanted(world, 50)) is None
    assert await reserve(bens, wanted(world, 0)) == "The limit of 3 model calls per hour is reached."
    world.clock.advance(HOUR_S)
    assert await reserve(bens, wanted(world, 0)) is None


async def test_a_turn_is_reserved_when_it_starts_and_settled_when_it_ends(database: Database) -> None:
    world = await database.open(first_call=FIRST, budget=Budget(daily_micro_usd=10**9))
    start = await world.turn()
    reserved = start.reserved
    assert reserved is not None
    assert (reserved.model, reserved.provider, reserved.attempt) == ("main", "test", 1)
    assert reserved.tokens > FIRST.tokens
    assert reserved.micro_usd > FIRST.micro_usd
    (call_id,) = await world.call(start)
    trace = ModelTrace("main", calls=(ended(reserved, 7),))
    await world.store.journal.keep_models(start.turn_id, trace)
    done = ToolResult(call_id, ResultStatus.OK, "x" * 3000)
    following = await world.store.turns.finish_calls(start.turn_id, [done])
    assert following is not None, "no call is left: the model is next"
    assert following.tokens > 100 + 3000, "what the last request needed, and the result"
    await world.store.turns.finish_turn_and_enqueue(
        start.turn_id,
        TurnState.FAILED,
        None,
        (),
        next_turn_id=world.ids.row_id(),
        models=ModelTrace("main", calls=(CallEnd(following.id, made=False),)),
    )
    (row,) = await total(world)
    assert row == UsageSum("chat", 1, 10, 5, 2, 1, 7, 0, 0, 0)
    assert [one.key for one in await total(world, UsageBy.THREAD)] == [start.thread.id]


async def test_beyond_a_budget_a_turn_starts_without_a_reservation(database: Database) -> None:
    world = await database.open(first_call=FIRST, budget=Budget(daily_micro_usd=100))
    start = await world.turn()
    assert start.reserved is None
    payer = Payer(CallKind.CHAT, start.turn_id, ADA.user_id)
    assert await world.store.usage.reserve_call(payer, wanted(world, 99)) is None
    await world.finish(start)
    with pytest.raises(StaleTurn):
        await world.store.usage.reserve_call(payer, wanted(world, 1))
    (row,) = await total(world)
    assert (row.calls, row.estimated_calls, row.estimated_micro_usd) == (1, 1, 99), "how it ended isn't known"


async def test_a_turn_that_waits_reserves_nothing_and_one_left_by_its_hub_is_estimated(
    database: Database,
) -> None:
    world = await database.open(first_call=FIRST)
    await world.store.leases.take_lease(LeaseTerms("here", 60 * SECOND, alone=True))
    start = await world.turn()
    (call_id,) = await world.call(start)
    await world.ask(start, call_id)
    assert await total(world) == []
    await world.turn(scope="other")
    world = await database.open(first_call=FIRST)
    await world.store.leases.take_lease(LeaseTerms("here", 60 * SECOND, alone=True))
    await world.store.recovery.recover()
    (row,) = await total(world)
    assert (row.calls, row.estimated_calls) == (1, 1)
    assert row.estimated_tokens > FIRST.tokens


async def test_usage_is_added_up_by_days_of_a_time_zone(world: Bench) -> None:
    reserve = world.store.usage.reserve_call
    for cost in (3, 4):
        reserved = wanted(world)
        await reserve(WORK, reserved)
        await world.store.usage.settle_calls([ended(reserved, cost)])
        world.clock.advance(24 * HOUR_S)
    days = await world.store.usage.usage(UsageBy.DAY, 0, world.clock.now(), "Asia/Kathmandu")
    assert [(day.calls, day.micro_usd) for day in days] == [(1, 4), (1, 3)]
    starts = [int(day.key) for day in days]
    assert starts[0] - starts[1] == 24 * HOUR_S * SECOND
    assert starts[0] // SECOND % (24 * HOUR_S) == (24 - 5.75) * HOUR_S, "midnight, 5:45 ahead of UTC"
    (by_user,) = await total(world, UsageBy.USER)
    assert (by_user.key, by_user.micro_usd) == (ADA.user_id, 7)
