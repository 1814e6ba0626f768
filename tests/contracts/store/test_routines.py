"""Routines and their runs: claimed once, run within limits, ended once, told once."""

from dataclasses import replace

import pytest
import pytest_asyncio

from core.events import RunKind
from core.routine import RunStatus
from core.store.routine_rows import (
    BudgetDay,
    ClaimRefusal,
    NewRun,
    RoutineRow,
    RoutineText,
    RunEnd,
    StartedRun,
)
from tests.contracts.store.bench import ADA, BEN, SECOND, Bench
from tests.contracts.store.conftest import Database

HOURLY = RoutineText("hourly", "cron", '{"every": "1h"}', 0, next_slot_at=0)
ON_WORD = RoutineText("on word", "event", '{"pattern": "deploy"}', 300 * SECOND)


@pytest_asyncio.fixture(autouse=True)
async def people(world: Bench) -> None:
    for person in (ADA, BEN):
        await world.store.people.ensure_user(person.user_id, person.role, person.name)


async def kept(world: Bench, text: RoutineText = ON_WORD, owner: str = "ada") -> RoutineRow:
    row = await world.store.routines.save_routine(world.ids.row_id(), owner, text, None)
    assert row is not None
    return row


def new_run(world: Bench, routine: RoutineRow, key: str, **other: object) -> NewRun:
    run = NewRun(world.ids.row_id(), routine.id, key, routine.text.kind, '{"text": "x"}', world.clock.now())
    return replace(run, **other)


def today(world: Bench) -> BudgetDay:
    """The last 24 hours."""
    now = world.clock.now()
    return BudgetDay(now - 24 * 3600 * SECOND, lambda definition, why, _zone: (f"{definition}: {why}", now))


async def begin(world: Bench, most: int = 10) -> list[StartedRun]:
    return list(await world.store.runs.begin_runs(most=most, day=today(world)))


async def started(world: Bench, routine: RoutineRow, key: str = "event:1") -> str:
    claim = await world.store.runs.claim_run(new_run(world, routine, key, heeds_guardrails=False))
    (run,) = await begin(world)
    assert claim.run_id == run.run.id
    return run.run.id


# --- what they are --------------------------------------------------------------------------------------


async def test_names_are_unique_for_an_owner_and_paths_for_the_hub(world: Bench) -> None:
    hook = replace(ON_WORD, kind="webhook", webhook_path="github")
    mine = await kept(world, hook)
    assert await world.store.routines.save_routine("other", "ada", ON_WORD, None) is None
    assert await world.store.routines.save_routine("other", "ben", replace(hook, name="other"), None) is None
    theirs = await kept(world, ON_WORD, "ben")
    assert await world.store.routines.routines("ada") == (mine,)
    assert [row.id for row in await world.store.routines.routines()] == [mine.id, theirs.id]
    assert await world.store.routines.routine(mine.id) == mine


async def test_routines_are_read_in_pages_and_one_by_its_name_or_id(world: Bench) -> None:
    rows = [await kept(world, replace(ON_WORD, name=name)) for name in ("Alpha", "beta", "gamma ray")]
    alpha, beta, gamma = rows
    theirs = await kept(world, replace(ON_WORD, name="alpha"), "ben")
    assert await world.store.routines.routines("ada", limit=2) == (alpha, beta)
    assert await world.store.routines.routines("ada", after="beta", limit=2) == (gamma,)
    assert await world.store.routines.routines("ada", containing="ALPH") == (alpha,)
    assert await world.store.routines.routines("ada", containing="%") == ()
    assert await world.store.routines.routine_named("ada", "beta") == beta
    assert await world.store.routines.routine_named("ada", gamma.id) == gamma
    assert await world.store.routines.routine_named("ada", theirs.id) is None
    assert (
        await world.store.routines.count_routines("ada"),
        await world.store.routines.count_routines("ben"),
    ) == (3, 1)


async def test_listening_routines_are_read_in_pages_and_schedules_soonest_first(world: Bench) -> None:
    late = await kept(world, replace(HOURLY, name="a", next_slot_at=200))
    soon = await kept(world, replace(HOURLY, name="b", next_slot_at=100))
    mine, theirs = await kept(world), await kept(world, owner="ben")
    paused = await kept(world, replace(ON_WORD, name="paused"))
    await world.store.routines.switch_routine(paused.id, enabled=False, next_slot_at=None)
    assert await world.store.routines.listening_routines("", 1) == (mine,)
    assert await world.store.routines.listening_routines(mine.id, 5) == (theirs,)
    assert await world.store.routines.routines_due_first("ada", 5) == (soon, late)
    assert await world.store.routines.routines_due_first("ada", 1) == (soon,)
    assert await world.store.routines.routines_due_first("ben", 5) == ()


async def test_of_two_changes_made_on_one_version_the_first_wins(world: Bench) -> None:
    row = await kept(world)
    changed = await world.store.routines.rewrite_routine(
        row.id, replace(row.text, definition='{"a": 1}'), version=1
    )
    assert changed is not None
    assert (changed.text.definition, changed.version) == ('{"a": 1}', 2)
    assert (
        await world.store.routines.rewrite_routine(row.id, replace(row.text, definition="{}"), version=1)
        is None
    )


async def test_a_change_made_during_a_run_is_kept(world: Bench) -> None:
    row = await kept(world)
    run_id = await started(world, row)
    await world.store.routines.rewrite_routine(
        row.id, replace(row.text, definition="new"), version=row.version
    )
    assert await world.store.runs.finish_run(
        run_id, RunEnd(RunStatus.OK, "fine", document="seen 3", tested_as="f")
    )
    after = await world.store.routines.routine(row.id)
    assert after is not None
    assert (after.text.definition, after.state, after.run_count) == ("new", "seen 3", 1)
    assert after.tested_as == "f"


async def test_queued_runs_of_a_paused_routine_do_not_run(world: Bench) -> None:
    row = await kept(world)
    await world.store.runs.claim_run(new_run(world, row, "event:1"))
    paused = await world.store.routines.switch_routine(row.id, enabled=False, next_slot_at=5)
    assert paused is not None
    assert (paused.enabled, paused.text.next_slot_at) == (False, None)
    assert await begin(world) == []
    (run,) = await world.store.run_views.routine_runs(row.id, 10)
    assert (run.state, run.error) == (RunStatus.SKIPPED, "the routine was paused")
    refused = await world.store.runs.claim_run(new_run(world, row, "event:2"))
    assert refused.refusal is ClaimRefusal.PAUSED


async def test_a_deleted_routine_takes_its_runs_with_it(world: Bench) -> None:
    row = await kept(world)
    run_id = await started(world, row)
    assert await world.store.routines.delete_routine(row.id)
    assert not await world.store.routines.delete_routine(row.id)
    assert not await world.store.runs.finish_run(run_id, RunEnd(RunStatus.OK, notice="told"))
    assert await world.store.run_views.due_notices(world.clock.now()) == ()
    gone = await world.store.runs.claim_run(new_run(world, row, "event:2"))
    assert gone.refusal is ClaimRefusal.GONE


# --- claiming -------------------------------------------------------------------------------------------


async def test_a_one_time_routine_fires_once(world: Bench) -> None:
    row = await kept(world, replace(ON_WORD, cooldown_us=0))
    first = await world.store.runs.claim_run(new_run(world, row, "event:1"))
    again = await world.store.runs.claim_run(new_run(world, row, "event:1"))
    assert first.run_id is not None
    assert (again.run_id, again.repeated) == (first.run_id, True)
    assert len(await begin(world)) == 1


async def test_a_routine_cools_down_unless_a_person_asks(world: Bench) -> None:
    row, theirs = await kept(world), await kept(world, owner="ben")
    assert (await world.store.runs.claim_run(new_run(world, row, "event:1"))).run_id is not None
    world.clock.advance(299)
    cooling = await world.store.runs.claim_run(new_run(world, row, "event:2"))
    assert cooling.refusal is ClaimRefusal.COOLING_DOWN
    assert (await world.store.runs.claim_run(new_run(world, theirs, "event:2"))).run_id is not None
    for number in range(25):
        world.clock.at += 10_000
        await world.store.runs.claim_run(new_run(world, row, f"more:{number}"))
    found = await world.store.run_views.routine_runs(row.id, 100)
    assert [run.state for run in found] == [*[RunStatus.SKIPPED] * 20, RunStatus.WAITING], (
        "20 are kept, and what waits"
    )
    assert len(await world.store.run_views.routine_runs(theirs.id, 10)) == 1
    asked = new_run(world, row, "asked:1", kind="manual", heeds_guardrails=False)
    assert (await world.store.runs.claim_run(asked)).run_id is not None
    world.clock.advance(300)
    assert (await world.store.runs.claim_run(new_run(world, row, "event:3"))).run_id is not None


async def test_the_cooldown_counts_from_the_end_of_the_last_run(world: Bench) -> None:
    row = await kept(world)
    assert (await world.store.runs.claim_run(new_run(world, row, "event:1"))).run_id is not None
    (started,) = await begin(world)
    world.clock.advance(200)
    await world.store.runs.finish_run(started.run.id, RunEnd(RunStatus.OK))
    world.clock.advance(299)
    cooling = await world.store.runs.claim_run(new_run(world, row, "event:2"))
    assert (cooling.refusal, cooling.rests_us) == (ClaimRefusal.COOLING_DOWN, SECOND)
    world.clock.advance(1)
    assert (await world.store.runs.claim_run(new_run(world, row, "event:3"))).run_id is not None


async def test_the_same_content_within_the_window_fires_once(world: Bench) -> None:
    row = await kept(world, replace(ON_WORD, cooldown_us=0, dedup_window_us=60 * SECOND))
    assert (await world.store.runs.claim_run(new_run(world, row, "event:1", content_hash="a"))).run_id
    again = await world.store.runs.claim_run(new_run(world, row, "event:2", content_hash="a"))
    assert again.refusal is ClaimRefusal.REPEATED
    theirs = await kept(world, row.text, "ben")
    assert (await world.store.runs.claim_run(new_run(world, theirs, "event:2", content_hash="a"))).run_id
    assert (await world.store.runs.claim_run(new_run(world, row, "event:3", content_hash="b"))).run_id
    world.clock.advance(61)
    assert (await world.store.runs.claim_run(new_run(world, row, "event:4", content_hash="a"))).run_id


async def test_a_slot_is_claimed_once_and_the_next_one_waits(world: Bench) -> None:
    slot = world.clock.now()
    row = await kept(world, replace(HOURLY, next_slot_at=slot))
    assert await world.store.runs.due_routines(slot - 1) == ()
    assert [due.id for due in await world.store.runs.due_routines(slot)] == [row.id]
    later = slot + 3600 * SECOND
    (claim,) = await world.store.runs.claim_slots(
        row.id, slot, [new_run(world, row, f"slot:{slot}")], next_slot_at=later, skipped=2
    )
    assert claim.run_id is not None
    second = [new_run(world, row, f"slot:{slot}")]
    assert await world.store.runs.claim_slots(row.id, slot, second, next_slot_at=later) == ()
    after = await world.store.routines.routine(row.id)
    assert after is not None
    assert (after.text.next_slot_at, after.skipped_slots) == (later, 2)
    assert (await world.store.run_views.next_due()).slot_at == later
    assert len(await world.store.run_views.routine_runs(row.id, 10)) == 1


async def test_a_slot_within_the_cooldown_is_late_and_only_the_newest_waits(world: Bench) -> None:
    slot = world.clock.now()
    row = await kept(world, replace(HOURLY, next_slot_at=slot, cooldown_us=300 * SECOND))
    theirs = await kept(world, replace(HOURLY, next_slot_at=slot, cooldown_us=9000 * SECOND), "ben")
    await started(world, theirs)
    late = [new_run(world, theirs, "slot:1")]
    await world.store.runs.claim_slots(theirs.id, slot, late, next_slot_at=slot + 1)
    for minute in range(4):
        due = slot + 60 * minute * SECOND
        run = new_run(world, row, f"slot:{due}", due_at=due)
        await world.store.runs.claim_slots(row.id, due, [run], next_slot_at=due + 60 * SECOND)
        if not minute:
            (first,) = await begin(world)
            await world.store.runs.finish_run(first.run.id, RunEnd(RunStatus.OK))
        world.clock.advance(60)
    runs = await world.store.run_views.routine_runs(row.id, 10)
    assert [run.state for run in runs] == [
        RunStatus.WAITING,
        RunStatus.SKIPPED,
        RunStatus.SKIPPED,
        RunStatus.OK,
    ]
    assert runs[0].not_before == slot + 300 * SECOND


async def test_a_slot_does_not_replace_a_run_that_a_person_asked_for(world: Bench) -> None:
    slot = world.clock.now()
    row = await kept(world, replace(HOURLY, next_slot_at=slot, cooldown_us=300 * SECOND))
    first = await started(world, row, "slot:0")
    asked = new_run(world, row, "asked:1", kind="manual", heeds_guardrails=False)
    await world.store.runs.claim_run(asked)
    await world.store.runs.claim_slots(row.id, slot, [new_run(world, row, "slot:1")], next_slot_at=slot + 1)
    await world.store.runs.finish_run(first, RunEnd(RunStatus.OK))
    assert [run.run.id for run in await begin(world)] == [asked.id]


# --- running --------------------------------------------------------------------------------------------


async def test_no_more_run_than_allowed_and_the_longest_overdue_run_first(world: Bench) -> None:
    rows = [await kept(world, replace(HOURLY, name=f"r{n:02}")) for n in range(5)]
    for number, row in enumerate(rows):
        due = world.clock.now() - number
        await world.store.runs.claim_run(new_run(world, row, "slot:1", due_at=due, heeds_guardrails=False))
    first = await begin(world, most=2)
    assert [run.routine.id for run in first] == [rows[4].id, rows[3].id]
    assert await begin(world, most=2) == []
    await world.store.runs.finish_run(first[0].run.id, RunEnd(RunStatus.OK))
    assert [run.routine.id for run in await begin(world, most=2)] == [rows[2].id]


async def test_a_routine_has_as_many_runs_at_a_time_as_it_allows(world: Bench) -> None:
    row = await kept(world, replace(ON_WORD, cooldown_us=0))
    for number in range(3):
        await world.store.runs.claim_run(new_run(world, row, f"event:{number}"))
    (first,) = await begin(world)
    assert await begin(world) == []
    await world.store.runs.finish_run(first.run.id, RunEnd(RunStatus.OK))
    assert len(await begin(world)) == 1


async def test_a_run_ends_once(world: Bench) -> None:
    run_id = await started(world, await kept(world))
    assert await world.store.runs.finish_run(run_id, RunEnd(RunStatus.ATTENTION, "look", notice="look"))
    assert not await world.store.runs.finish_run(run_id, RunEnd(RunStatus.FAILED, error="no"))
    assert await world.store.runs.resume_run(run_id, day=today(world)) is None


async def test_a_dead_hubs_runs_are_found_and_start_again_or_end(database: Database) -> None:
    world = await database.open()
    row = await kept(world)
    other = await kept(world, replace(HOURLY, max_concurrent=1))
    run_id, lost = await started(world, row), await started(world, other)
    world = await database.open()
    found = (await world.store.recovery.recover()).runs
    assert {(run.run_id, run.kind) for run in found} == {
        (run_id, RunKind.ROUTINE),
        (lost, RunKind.ROUTINE),
    }
    assert await world.store.runs.finish_run(lost, RunEnd(RunStatus.INTERRUPTED, error="the hub went away"))
    again = await world.store.runs.resume_run(run_id, day=today(world))
    assert again is not None
    assert (again.run.id, again.run.attempts) == (run_id, 2)
    assert await begin(world) == []


async def test_failures_back_off_and_finally_pause_the_routine(world: Bench) -> None:
    row = await kept(world)
    end = RunEnd(
        RunStatus.FAILED,
        error="no answer",
        notice="failed",
        backoff_us=60 * SECOND,
        pause_after=3,
        pause_reason="it failed 3 times",
        pause_notice="paused",
    )
    for number in range(3):
        await world.store.runs.finish_run(await started(world, row, f"asked:{number}"), end)
    after = await world.store.routines.routine(row.id)
    assert after is not None
    assert (after.failures, after.enabled, after.paused_because) == (3, False, "it failed 3 times")
    assert after.backoff_until == world.clock.now() + 60 * SECOND
    told = await world.store.run_views.due_notices(world.clock.now())
    assert [notice.text for notice in told] == ["failed", "failed", "paused"]
    on = await world.store.routines.switch_routine(row.id, enabled=True, next_slot_at=None)
    assert on is not None
    assert (on.failures, on.backoff_until, on.paused_because) == (0, 0, None)


async def test_queued_runs_of_a_self_paused_routine_do_not_run(world: Bench) -> None:
    row = await kept(world, replace(ON_WORD, cooldown_us=0))
    failing = await started(world, row)
    await world.store.runs.claim_run(new_run(world, row, "asked:1", kind="manual", heeds_guardrails=False))
    await world.store.runs.finish_run(failing, RunEnd(RunStatus.FAILED, error="x", pause_after=1))
    assert await begin(world) == []
    (waited, _) = await world.store.run_views.routine_runs(row.id, 10)
    assert waited.state is RunStatus.SKIPPED


async def test_a_failure_holds_back_no_run_that_a_person_asked_for(world: Bench) -> None:
    row = await kept(world, replace(ON_WORD, cooldown_us=0))
    failing = await started(world, row)
    asked = new_run(world, row, "asked:1", kind="manual", heeds_guardrails=False)
    await world.store.runs.claim_run(asked)
    await world.store.runs.claim_run(new_run(world, row, "event:2", heeds_guardrails=False))
    await world.store.runs.finish_run(failing, RunEnd(RunStatus.FAILED, error="x", backoff_us=60 * SECOND))
    assert [run.run.id for run in await begin(world)] == [asked.id]


@pytest.mark.parametrize("well", [RunStatus.OK, RunStatus.ATTENTION])
async def test_a_success_ends_a_series_of_failures_and_an_interruption_does_not_count(
    world: Bench, well: RunStatus
) -> None:
    row = await kept(world)
    spent = RunEnd(RunStatus.FAILED, budget_since=world.clock.now())
    ends = (RunEnd(RunStatus.FAILED), RunEnd(RunStatus.INTERRUPTED), spent, RunEnd(well))
    for number, end in enumerate(ends):
        await world.store.runs.finish_run(await started(world, row, f"asked:{number}"), end)
        after = await world.store.routines.routine(row.id)
        assert after is not None
        assert after.failures == (1, 1, 1, 0)[number]


async def test_only_the_newest_runs_are_kept(world: Bench) -> None:
    row = await kept(world)
    for number in range(3):
        await world.store.runs.finish_run(await started(world, row, f"asked:{number}"), RunEnd(RunStatus.OK))
    world.clock.advance(48 * 3600)
    for number in range(3, 504):
        await world.store.runs.finish_run(await started(world, row, f"asked:{number}"), RunEnd(RunStatus.OK))
    keys = [run.key for run in await world.store.run_views.routine_runs(row.id, 1000)]
    assert keys == [f"asked:{number}" for number in reversed(range(3, 504))]


# --- telling --------------------------------------------------------------------------------------------


async def test_a_notice_waits_for_its_time_and_is_sent_once(world: Bench) -> None:
    row = await kept(world)
    later = world.clock.now() + 10 * SECOND
    run_id = await started(world, row)
    await world.store.runs.finish_run(run_id, RunEnd(RunStatus.ATTENTION, "x", notice="x", notice_at=later))
    assert await world.store.run_views.due_notices(world.clock.now()) == ()
    assert (await world.store.run_views.next_due()).notice_at == later
    (notice,) = await world.store.run_views.due_notices(later)
    assert (notice.run_id, notice.owner_id, notice.text) == (run_id, "ada", "x")
    await world.store.run_views.settle_notice(run_id, sent=True)
    assert await world.store.run_views.due_notices(later) == ()
    (run,) = await world.store.run_views.routine_runs(row.id, 1)
    assert run.notice_state == "sent"


async def test_notices_are_counted_by_when_they_were_handed_over(world: Bench) -> None:
    row = await kept(world)
    due_at = world.clock.now()
    for number, sent in enumerate((True, True, False)):
        run_id = await started(world, row, f"asked:{number}")
        await world.store.runs.finish_run(run_id, RunEnd(RunStatus.OK, "x", notice="x", notice_at=due_at))
        world.clock.advance(60)
        await world.store.run_views.settle_notice(run_id, sent=sent)
    since = due_at + 60 * SECOND
    counted = [await world.store.run_views.notices_sent(row.id, since - age) for age in (1, 0)]
    assert counted == [2, 1]
    assert await world.store.run_views.notices_sent("another", 0) == 0
