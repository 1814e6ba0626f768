"""Several hubs on one database: what a live one has in hand is its own, what a lapsed one had is taken over
once."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from core.errors import LeaseLost, StaleTurn
from core.events import RunKind
from core.messages import MessageRef
from core.ports import Posted, SendState
from core.routine import RunStatus
from core.store.lease import LeaseTerms
from core.store.port import KeyKind
from core.store.routine_rows import RunEnd
from core.store.rows import TurnState
from core.tool import Effect
from core.transcript import AssistantSaid, UserSaid
from core.users import Role
from tests.contracts.store.bench import ADA, CHANNEL, SECOND, Bench
from tests.contracts.store.calls import go
from tests.contracts.store.conftest import Database
from tests.contracts.store.test_routines import ON_WORD, begin, kept, started, today
from tests.patience import PATIENCE_S

LASTS_S = 30


async def hub(database: Database, *, alone: bool = False) -> Bench:
    """One more hub on the database, beside those that have it open."""
    store = await database.open_store(database.clock, database.ids, "merge", False)
    database.opened.append(store)
    await store.leases.take_lease(LeaseTerms("host", LASTS_S * SECOND, alone))
    return Bench(store, database.clock, database.ids)


@pytest.fixture
async def first(database: Database) -> Bench:
    return await hub(database)


async def test_no_work_of_a_live_hub_is_taken_over(database: Database, first: Bench) -> None:
    start, idle = await first.turn(scope="one"), await first.turn(scope="two")
    call, quiet = await first.call(start), await first.call(idle, effect=Effect.NONE)
    await first.store.turns.mark_running(start.turn_id, call[0], go)
    await first.store.turns.mark_running(idle.turn_id, quiet[0], go)
    shown = await first.turn(scope="three")
    await first.store.outbox.begin_preview(shown.turn_id, CHANNEL, shown.thread.address)
    sending = await first.store.outbox.claim_outbox((await first.put_out()).id)
    await started(first, await kept(first))
    database.clock.advance(LASTS_S - 1)
    await first.store.leases.renew_lease()
    database.clock.advance(LASTS_S - 1)

    second = await hub(database)
    assert not await second.store.leases.has_lapsed()
    found = await second.store.recovery.recover()
    assert (found.running_calls, found.runs, found.previews) == ((), (), ())
    assert await second.store.outbox.pending_outbox(CHANNEL) == ()
    await first.store.outbox.record_part_sent(sending.id, Posted(MessageRef("1"), "1"), last=True)
    for mine, call_id in ((start, call[0]), (idle, quiet[0])):
        assert (await first.call_row(mine, call_id)).state == "running"


async def test_the_work_of_a_lapsed_hub_is_taken_over_once(database: Database, first: Bench) -> None:
    start, working = await first.turn(scope="one"), await first.turn(scope="two")
    (call_id,) = await first.call(working)
    await first.store.turns.mark_running(working.turn_id, call_id, go)
    await first.store.outbox.begin_preview(start.turn_id, CHANNEL, start.thread.address)
    sending = await first.store.outbox.claim_outbox((await first.put_out()).id)
    run_id = await started(first, await kept(first))
    database.clock.advance(LASTS_S - 1)
    second, third = await hub(database), await hub(database)
    assert not await second.store.leases.has_lapsed()
    database.clock.advance(2)
    assert await second.store.leases.has_lapsed()

    found = await second.store.recovery.recover()
    assert [(run.run_id, run.kind, run.attempts, run.crashes) for run in found.runs] == [
        (start.turn_id, RunKind.CHAT, 1, 0),
        (working.turn_id, RunKind.CHAT, 0, 0),
        (run_id, RunKind.ROUTINE, 1, 0),
    ]
    assert [running.call.call_id for running in found.running_calls] == [call_id]
    assert [row.state for row in found.previews] == [SendState.STREAMING]
    assert (await second.row(sending.id)).state is SendState.AMBIGUOUS
    assert not await third.store.leases.has_lapsed()
    again = await third.store.recovery.recover()
    assert (again.running_calls, again.runs) == ((), ())
    await second.store.recovery.resume_turn(start.turn_id)
    await second.finish(start)


async def test_a_run_that_two_hubs_could_take_is_taken_by_one(database: Database, first: Bench) -> None:
    await first.store.people.ensure_user(ADA.user_id, ADA.role, ADA.name)
    run_id = await started(first, await kept(first, replace(ON_WORD, reruns=True)))
    database.clock.advance(LASTS_S - 1)
    second, third = await hub(database), await hub(database)
    database.clock.advance(2)
    (taken,) = (await second.store.recovery.recover()).runs
    assert (taken.run_id, taken.kind) == (run_id, RunKind.ROUTINE)
    assert (await third.store.recovery.recover()).runs == ()
    assert await third.store.runs.resume_run(run_id, day=today(third)) is None
    assert await second.store.runs.resume_run(run_id, day=today(second))
    assert await third.store.runs.resume_run(run_id, day=today(third)) is None, "another hub is at it"
    assert not await third.store.runs.finish_run(run_id, RunEnd(RunStatus.FAILED, error="late"))
    assert await begin(third) == []
    assert await second.store.runs.finish_run(run_id, RunEnd(RunStatus.OK))


async def test_a_turn_is_resumed_by_the_hub_that_took_it_alone(database: Database, first: Bench) -> None:
    turn_id = (await first.turn()).turn_id
    database.clock.advance(LASTS_S - 1)
    second, third = await hub(database), await hub(database)
    database.clock.advance(2)
    await second.store.recovery.recover()
    with pytest.raises(StaleTurn):
        await third.store.recovery.resume_turn(turn_id)
    await second.store.recovery.resume_turn(turn_id)


async def after_a_crash(database: Database) -> tuple[Bench, dict[str, int]]:
    """The hub that takes over once the last one is gone, and the crashes put down to each turn."""
    database.clock.advance(LASTS_S + 1)
    taking = await hub(database)
    found = await taking.store.recovery.recover()
    return taking, {run.run_id: run.crashes for run in found.runs}


async def test_a_crash_is_blamed_on_a_turn_that_ran_alone(database: Database, first: Bench) -> None:
    turn = (await first.turn()).turn_id
    for crashes in (1, 2, 3):
        world, blamed = await after_a_crash(database)
        assert blamed == {turn: crashes}
        await world.store.recovery.resume_turn(turn)
    await replies(world, turn)
    world, blamed = await after_a_crash(database)
    assert blamed == {turn: 0}, "it had got on"
    await world.store.recovery.resume_turn(turn)
    assert (await after_a_crash(database))[1] == {turn: 1}


async def test_a_crash_is_not_blamed_on_concurrent_work(database: Database, first: Bench) -> None:
    turns = [(await first.turn(scope=scope)).turn_id for scope in ("one", "two")]
    world, blamed = await after_a_crash(database)
    assert blamed == dict.fromkeys(turns, 0)
    for turn in turns:
        await world.store.recovery.resume_turn(turn)
    assert (await after_a_crash(database))[1] == dict.fromkeys(turns, 0)


async def test_of_several_suspects_the_last_one_started_is_blamed(database: Database, first: Bench) -> None:
    one, two = [(await first.turn(scope=scope)).turn_id for scope in ("one", "two")]
    world, _ = await after_a_crash(database)
    for turn in (one, two):
        await world.store.recovery.resume_turn(turn)
    world, blamed = await after_a_crash(database)
    assert blamed == {one: 0, two: 0}
    await world.store.recovery.resume_turn(one)
    world, blamed = await after_a_crash(database)
    assert blamed == {one: 1, two: 0}
    await world.store.recovery.resume_turn(one)
    world.clock.advance(1)
    await world.store.recovery.resume_turn(two)
    assert (await after_a_crash(database))[1] == {one: 1, two: 1}


async def test_a_crash_is_blamed_on_runs_of_every_kind(database: Database, first: Bench) -> None:
    await first.store.people.ensure_user(ADA.user_id, ADA.role, ADA.name)
    run_id = await started(first, await kept(first, replace(ON_WORD, reruns=True)))
    turn_id = (await first.turn()).turn_id
    world, blamed = await after_a_crash(database)
    assert blamed == {run_id: 0, turn_id: 0}, "neither ran alone"
    await world.store.recovery.resume_turn(turn_id)
    await world.store.turns.finish_turn_and_enqueue(
        turn_id, TurnState.DONE, None, [], next_turn_id=world.ids.row_id()
    )
    for crashes in (1, 2, 3):
        assert await world.store.runs.resume_run(run_id, day=today(world))
        world, blamed = await after_a_crash(database)
        assert blamed == {run_id: crashes}
    assert await world.store.runs.resume_run(run_id, day=today(world))
    await world.store.journal.open_run_journal(run_id, "{}", UserSaid("Look."))
    await world.store.turns.record_reply_and_intents(run_id, AssistantSaid("I look."), [])
    assert (await after_a_crash(database))[1] == {run_id: 0}, "it had got on"


async def test_a_stopped_hub_does_not_count_as_crashed(database: Database, first: Bench) -> None:
    turn = (await first.turn()).turn_id
    world, _ = await after_a_crash(database)
    await world.store.recovery.resume_turn(turn)
    await world.store.recovery.release_runs([turn])
    assert (await after_a_crash(database))[1] == {turn: 1}


async def accepts(world: Bench, turn_id: str) -> None:
    del turn_id
    await world.say(scope="new")


async def replies(world: Bench, turn_id: str) -> None:
    await world.store.turns.record_reply_and_intents(turn_id, AssistantSaid("late"), [])


async def pauses(world: Bench, turn_id: str) -> None:
    del turn_id
    await world.store.kill_switch.pause_tools("ada", paused=True)


async def renews(world: Bench, turn_id: str) -> None:
    del turn_id
    await world.store.leases.renew_lease()


async def holds_run(world: Bench, turn_id: str) -> None:
    del turn_id
    await world.store.turns.hold_lease()


async def holds_row(world: Bench, turn_id: str) -> None:
    del turn_id
    await world.store.outbox.hold_lease()


@pytest.mark.parametrize("act", [accepts, replies, pauses, renews, holds_run, holds_row])
async def test_a_hub_whose_lease_was_ended_writes_nothing(
    database: Database, first: Bench, act: Callable[[Bench, str], Awaitable[None]]
) -> None:
    start = await first.turn()
    database.clock.advance(LASTS_S + 1)
    second = await hub(database)
    await second.store.recovery.recover()
    before = await second.store.threads.entries(start.thread.id, 100)
    with pytest.raises(LeaseLost):
        await act(first, start.turn_id)
    assert await second.store.threads.entries(start.thread.id, 100) == before
    async with asyncio.timeout(PATIENCE_S):
        await first.store.leases.lease_lost()


async def test_a_hub_that_missed_its_renewals_continues_if_no_other_took_over(
    database: Database, first: Bench
) -> None:
    start = await first.turn()
    database.clock.advance(LASTS_S * 10)
    await first.store.turns.hold_lease()
    second = await hub(database)
    assert not await second.store.leases.has_lapsed()
    await first.finish(start)


async def test_a_hub_that_is_alone_ends_all_other_leases(database: Database, first: Bench) -> None:
    start = await first.turn()
    second = await hub(database, alone=True)
    found = await second.store.recovery.recover()
    assert [run.run_id for run in found.runs] == [start.turn_id]
    with pytest.raises(LeaseLost):
        await first.finish(start)


async def test_waiting_turns_hold_no_lease(database: Database, first: Bench) -> None:
    start = await first.turn()
    await first.ask(start, *await first.call(start))
    database.clock.advance(LASTS_S + 1)
    second = await hub(database)
    found = await second.store.recovery.recover()
    assert (found.running_calls, found.runs) == ((), ())


async def test_hubs_that_write_at_once_number_their_own_audit_records(
    database: Database, first: Bench
) -> None:
    hubs = [first, await hub(database), await hub(database)]

    async def works(world: Bench) -> None:
        for _ in range(40):
            await writes_one(world)

    await first.store.people.ensure_user("ada", Role.OWNER, "Ada")
    await asyncio.gather(*map(works, hubs))
    rows = await first.store.audit.audit_of(["ada"])
    assert len(rows) == 120
    for writer in (1, 2, 3):
        assert [row.number for row in rows if row.writer == writer] == list(range(1, 41))
    assert await first.store.audit.link_audit(50) == (await head_of(first), True)
    await first.store.audit.link_audit(100)
    chained = await first.store.audit.audit_of(["ada"])
    assert [row.position for row in chained] == list(range(1, 121))
    for writer in (1, 2, 3):
        assert [row.number for row in chained if row.writer == writer] == list(range(1, 41))


async def writes_one(world: Bench) -> None:
    await world.store.keys.keep_key(f"hash {world.ids.number()}", KeyKind.TOKEN, "ada", None)


async def head_of(world: Bench) -> str | None:
    return (await world.store.audit.link_audit(0))[0]


async def test_audit_records_are_chained_by_one_hub(database: Database, first: Bench) -> None:
    second = await hub(database)
    await first.store.people.ensure_user("ada", Role.OWNER, "Ada")
    await writes_one(second)
    assert await second.store.audit.link_audit(10) == (None, False)
    database.clock.advance(1)
    assert await second.store.audit.prune_audit(database.clock.now(), 10) == 0
    head, _ = await first.store.audit.link_audit(10)
    assert head is not None
    assert await second.store.audit.link_audit(10) == (head, False)
    await writes_one(second)
    database.clock.advance(LASTS_S - 2)
    await second.store.leases.renew_lease()
    assert await second.store.audit.link_audit(10) == (head, False), "the first's lease is still in force"
    database.clock.advance(2)
    assert (await second.store.audit.link_audit(10))[0] != head
    await first.store.leases.renew_lease()
    assert await second.store.audit.prune_audit(database.clock.now(), 10) == 0, "the first is back"
    assert await first.store.audit.prune_audit(database.clock.now(), 10) == 2


async def test_a_hubs_own_policy_is_recorded_once(database: Database, first: Bench) -> None:
    second = await hub(database)
    assert await first.store.audit.record_policy({"preset": "auto"})
    assert not await second.store.audit.record_policy({"preset": "auto"})
    assert await second.store.audit.record_policy({"preset": "manual"})
    assert not await first.store.audit.record_policy({"preset": "auto"})
    assert await first.store.audit.record_policy({"preset": "manual"})
