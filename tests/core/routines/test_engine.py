"""The engine: limits, clocks that jump, hubs that were down or died. Each slot once, whatever happens."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from core.clock import SECOND_US
from core.routine import ManualInput, RunStatus, SlotInput
from core.routine_json import RoutineRefused, input_from_json
from core.routines.engine import budget_day
from core.routines.notices import MAX_AN_HOUR
from core.runs.recovery import CRASH_LIMIT
from core.store.routine_rows import NewRun, RoutineRow, RoutineRunRow
from core.transcript import AssistantSaid, Origin, UserSaid
from tests.core.routines.engine_world import OLIVIA, Works, open_works
from tests.patience import PATIENCE_S
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord

MINUTE, HOUR, DAY = 60, 3600, 86_400


@pytest_asyncio.fixture
async def works(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Works]:
    async with open_works(tmp_path_factory.mktemp("works")) as opened:
        yield opened


def slots(runs: list[RoutineRunRow]) -> list[int]:
    """The slots of runs that did their work, the earliest first."""
    fired_by = [input_from_json(run.input) for run in runs if run.state is RunStatus.OK]
    return sorted(one.slot_at // SECOND_US for one in fired_by if isinstance(one, SlotInput))


# --- the journal ----------------------------------------------------------------------------------------


async def test_a_run_without_tools_is_journalled_from_its_question_to_its_reply(works: Works) -> None:
    row = await works.make("watch", trigger={"type": "manual"})
    works.model.answer = "Look at this.\nROUTINE_STATE:\nseen: 1"
    await works.desk.fire(OLIVIA, row.id, "first")
    await works.settled()
    (run,) = await works.runs(row)
    question, reply = (await works.store.journal.run_steps(run.id)).said
    assert isinstance(question, UserSaid)
    assert question.text.startswith("watch\n")
    assert reply == AssistantSaid(works.model.answer, Origin("held", "held"))


async def test_an_interrupted_run_without_tools_continues_with_the_question_it_began_with(
    works: Works,
) -> None:
    row = await works.make("watch", trigger={"type": "manual"}, guardrails=RERUNS)
    await cut_off(works, row)
    await works.desk.change(OLIVIA, row.id, {"action": {"type": "lightweight", "prompt": "something else"}})
    works.model.open()
    await works.start()
    await works.settled()
    (run,) = await works.runs(row)
    assert (run.state, works.model.asked) == (RunStatus.OK, ["watch", "watch"])
    assert [said.kind for said in (await works.store.journal.run_steps(run.id)).said] == ["user", "assistant"]


# --- limits ---------------------------------------------------------------------------------------------


@pytest.mark.timeout(600)
async def test_many_slots_at_once_run_each_once_and_never_more_than_the_limit(
    works: Works, profile: Profile, proof_record: ProofRecord
) -> None:
    count = profile.pick(test=25, ci=200, proof=1000)
    rows = [await works.make(f"routine {number}") for number in range(count)]
    works.model.hold()
    works.clock.advance(MINUTE)
    await works.until(lambda: works.model.asking == 10)
    for _ in range(3):
        await works.looked()
    assert works.store.running() == 10
    works.model.open()
    await works.settled()
    assert Counter(works.model.asked) == Counter(row.text.name for row in rows)
    for row in rows:
        (run,) = await works.runs(row)
        assert (run.state, run.attempts) == (RunStatus.OK, 1)
    assert works.store.runs.most_running == 10
    proof_record("routines-engine", slots_at_once=count, most_running=works.store.runs.most_running)


async def test_a_running_routine_does_not_start_again_and_keeps_its_newest_slot(works: Works) -> None:
    row = await works.make("slow")
    works.model.hold()
    for minutes in range(3):
        works.clock.advance(MINUTE)
        await works.looked()
        await works.until(lambda: works.model.asking == 1)
        states = Counter(run.state for run in await works.runs(row))
        assert states[RunStatus.RUNNING] == 1
        assert states[RunStatus.WAITING] == min(minutes, 1)
    works.model.open()
    await works.settled()
    states = Counter(run.state for run in await works.runs(row))
    assert states == {RunStatus.OK: 2, RunStatus.SKIPPED: 1}


# --- clocks and downtime --------------------------------------------------------------------------------


async def test_a_clock_set_back_fires_no_slot_again(works: Works, proof_record: ProofRecord) -> None:
    row = await works.make("minutely")
    for _ in range(3):
        await works.passes(MINUTE)
    before = slots(await works.runs(row))
    assert len(before) == 3
    works.clock.jump(-HOUR)
    for _ in range(2):
        await works.passes(MINUTE)
    # The next slot is where it was; it comes when the clock says so again.
    assert slots(await works.runs(row)) == before
    works.clock.jump(HOUR)
    await works.passes(MINUTE)
    after = slots(await works.runs(row))
    assert after[:3] == before
    assert len(after) == 4
    proof_record("routines-engine", set_back_s=HOUR, slots_fired_again=len(after) - len(set(after)))


async def test_a_routine_fires_only_new_slots_after_the_clock_goes_back(
    works: Works,
) -> None:
    row = await works.make("minutely")
    for _ in range(3):
        await works.passes(MINUTE)
    before = slots(await works.runs(row))
    works.clock.jump(-5 * MINUTE)
    await works.desk.switch(OLIVIA, row.id, enabled=False)
    await works.desk.switch(OLIVIA, row.id, enabled=True)
    for _ in range(7):
        await works.passes(MINUTE)
    after = slots(await works.runs(row))
    assert len(after) == len(set(after))
    assert set(before) < set(after)
    # It went on behind the last slot it had had: nothing is stuck.
    assert after[-1] > before[-1]
    assert len(works.model.asked) == len(after)


HOURLY = {"type": "cron", "schedule": "30 * * * *"}


@pytest.mark.parametrize("how", ["the clock is set forward", "the hub was down", "the process was suspended"])
async def test_missed_slots_follow_the_routines_setting(
    works: Works, how: str, proof_record: ProofRecord
) -> None:
    rows = {
        policy: await works.make(policy, trigger={**HOURLY, "downtime": policy, **more})
        for policy, more in (("skip", {}), ("one_catch_up", {}), ("all", {"catch_up_limit": 4}))
    }
    match how:
        case "the clock is set forward":
            works.clock.jump(DAY)
            await works.settled()
        case "the hub was down":
            await works.crash()
            works.clock.advance(DAY)
            await works.start()
            await works.settled()
        case _:
            await works.passes(DAY)
    ran = {policy: slots(await works.runs(row)) for policy, row in rows.items()}
    newest = _newest_half_hour(works)
    assert ran == {
        "skip": [],
        "one_catch_up": [newest],
        "all": [newest - hours * HOUR for hours in (3, 2, 1, 0)],
    }
    for policy, passed_over in (("skip", 24), ("one_catch_up", 23), ("all", 20)):
        row = await works.store.routines.routine(rows[policy].id)
        assert row is not None
        assert row.skipped_slots == passed_over
    (caught_up,) = await works.runs(rows["one_catch_up"])
    assert input_from_json(caught_up.input) == SlotInput(newest * SECOND_US, skipped=23)
    await works.passes(newest + HOUR - works.clock.now() // SECOND_US)
    for row in rows.values():
        assert slots(await works.runs(row))[-1] == newest + HOUR
    proof_record("routines-engine", **{f"{policy} when {how}": len(ran[policy]) for policy in ran})


def _newest_half_hour(works: Works) -> int:
    now = works.clock.now() // SECOND_US
    return (now - 30 * MINUTE) // HOUR * HOUR + 30 * MINUTE


# --- telling --------------------------------------------------------------------------------------------


async def test_notices_to_an_owner_are_limited_per_hour_across_restarts(works: Works) -> None:
    row = await works.make("watch", trigger={"type": "manual"})
    works.model.answer = "Look at this."

    async def fire(times: int) -> int:
        for _ in range(times):
            await works.desk.fire(OLIVIA, row.id, works.ids.row_id())
            await works.settled()
        return len(works.told.texts)

    assert await fire(19) == 19
    await works.crash()
    await works.start()
    assert await fire(3) == MAX_AN_HOUR == 20
    assert [run.notice_state for run in await works.runs(row)][:3] == ["dropped", "dropped", "sent"]
    works.clock.advance(3601)
    assert await fire(1) == 21


# --- hubs that died -------------------------------------------------------------------------------------


async def cut_off(works: Works, row: RoutineRow) -> None:
    """The hub dies while the routine runs, and starts again."""
    works.model.hold()
    await works.desk.fire(OLIVIA, row.id, works.ids.row_id())
    await works.until(lambda: works.model.asking == 1)
    await works.crash()


async def test_an_interrupted_run_has_ended_when_the_hub_is_back_and_its_owner_is_notified(
    works: Works,
) -> None:
    row = await works.make("watch", trigger={"type": "manual"})
    await cut_off(works, row)
    (left,) = await works.runs(row)
    assert left.state is RunStatus.RUNNING
    works.model.open()
    await works.start()
    await works.settled()
    (run,) = await works.runs(row)
    assert (run.state, run.attempts, run.notice_state) == (RunStatus.INTERRUPTED, 1, "sent")
    assert len(works.told.texts) == 1
    await works.desk.fire(OLIVIA, row.id, "again")
    await works.settled()
    assert [run.state for run in await works.runs(row)] == [RunStatus.OK, RunStatus.INTERRUPTED]


async def test_a_run_whose_lease_lapsed_is_ended_while_the_hub_runs(works: Works) -> None:
    row = await works.make("lost", trigger={"type": "manual"})
    await works.settled()
    now, fired_by = works.clock.now(), ManualInput("first", OLIVIA.user_id)
    run_id = works.ids.row_id()
    await works.store.runs.claim_run(NewRun.fired(fired_by, run_id, row.id, now))
    day = budget_day(now, "UTC")
    await works.store.runs.begin_runs(most=1, day=day)  # by a hub that is gone
    await works.store.recovery.release_runs([run_id])
    await works.recovery.recover()
    (run,) = await works.runs(row)
    assert run.state is RunStatus.INTERRUPTED
    await works.settled()
    (run,) = await works.runs(row)
    assert run.notice_state == "sent"
    assert works.model.asked == []


RERUNS = {"cooldown_s": 0, "rerun_interrupted": True}


async def test_a_run_that_allows_restarts_fails_after_the_third_attempt(works: Works) -> None:
    row = await works.make("watch", trigger={"type": "manual"}, guardrails=RERUNS)
    await cut_off(works, row)
    for attempt in (2, 3):
        await works.start()
        await works.until(lambda attempt=attempt: len(works.model.asked) == attempt)
        (run,) = await works.runs(row)
        assert (run.state, run.attempts) == (RunStatus.RUNNING, attempt)
        await works.crash()
    works.model.open()
    await works.start()
    await works.settled()
    (run,) = await works.runs(row)
    assert (run.state, run.attempts) == (RunStatus.FAILED, 3)
    assert len(works.model.asked) == 3


async def test_a_stopped_hub_does_not_count_as_crashed(works: Works) -> None:
    row = await works.make("watch", trigger={"type": "manual"}, guardrails=RERUNS)
    works.model.hold()
    await works.desk.fire(OLIVIA, row.id, works.ids.row_id())
    for stops in (1, 2, 3, 4):
        await works.until(lambda stops=stops: len(works.model.asked) == stops)
        await works.stop()
        await works.start()
    works.model.open()
    await works.settled()
    (run,) = await works.runs(row)
    assert run.state is RunStatus.OK


async def test_a_run_is_not_set_aside_for_the_crashes_of_another(works: Works) -> None:
    poison, neighbour = [
        await works.make(name, trigger={"type": "manual"}, guardrails=RERUNS) for name in ("poison", "calm")
    ]
    works.model.hold()
    for row, asking in ((poison, 1), (neighbour, 2)):
        await works.desk.fire(OLIVIA, row.id, works.ids.row_id())
        await works.until(lambda asking=asking: works.model.asking == asking)
    for asking in (2, 1, 1, 1):  # both at once, then one at a time
        await works.crash()
        await works.start()
        await works.until(lambda asking=asking: works.model.asking == asking)
    assert works.model.asked[-3:] == ["poison"] * 3
    await works.crash()
    works.model.open()
    await works.start()
    await works.settled()
    ((first,), (second,)) = await works.runs(poison), await works.runs(neighbour)
    assert (first.state, second.state) == (RunStatus.FAILED, RunStatus.OK)
    assert first.error == "The hub crashed 3 times during this run, so it will not be started again."


async def test_a_hub_that_carries_out_no_routines_leaves_their_runs_alone(works: Works) -> None:
    row = await works.make("watch", trigger={"type": "manual"}, guardrails=RERUNS)
    await cut_off(works, row)
    works.model.open()
    for _ in range(CRASH_LIMIT + 1):
        await works.start(carries_out=False)
        (run,) = await works.runs(row)
        assert run.state is RunStatus.RUNNING
        await works.crash()
    await works.start()
    await works.settled()
    (run,) = await works.runs(row)
    assert (run.state, run.attempts) == (RunStatus.OK, 2)


async def test_a_run_that_waits_for_another_begins_as_soon_as_that_ends(works: Works) -> None:
    works.model.hold()
    row = await works.make("one", trigger={"type": "manual"})
    await works.desk.fire(OLIVIA, row.id, "first")
    await works.until(lambda: len(works.model.asked) == 1)
    await works.desk.fire(OLIVIA, row.id, "second")
    await works.looked()
    works.model.open()
    async with asyncio.timeout(PATIENCE_S):
        await works.until(lambda: len(works.model.asked) == 2)  # no time has gone by


# --- what is kept ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_the_newest_runs_and_those_of_the_last_days_are_kept(
    works: Works, profile: Profile, proof_record: ProofRecord
) -> None:
    days = profile.pick(test=1, ci=1, proof=2)
    row = await works.make("minutely", trigger={"type": "cron", "schedule": "*/2 * * * *"})
    for _ in range(days * 720 + 60):
        await works.passes(2 * MINUTE)
    runs = await works.runs(row)
    now = works.clock.now()
    assert len(works.model.asked) == days * 720 + 60
    assert 720 <= len(runs) <= 722
    assert all(run.created_at >= now - (DAY + 2 * MINUTE) * SECOND_US for run in runs)
    proof_record("routines-engine", runs_made=len(works.model.asked), runs_kept=len(runs))


# --- one time -------------------------------------------------------------------------------------------


ONCE = {"type": "cron", "schedule": "in 30 m"}
REMINDER = {"type": "reminder", "text": "call Ada"}


async def row_of(works: Works, row: RoutineRow) -> RoutineRow | None:
    return await works.store.routines.routine(row.id)


async def test_a_one_time_routine_runs_once_despite_clock_jumps(works: Works) -> None:
    row = await works.make("once", trigger=ONCE, action=REMINDER)
    works.clock.jump(-HOUR)
    await works.passes(31 * MINUTE)
    assert works.told.texts == []
    works.clock.jump(2 * HOUR)
    await works.passes(MINUTE)
    assert len(works.told.texts) == 1
    works.clock.jump(-3 * HOUR)
    await works.passes(HOUR)
    await works.crash()
    await works.start()
    await works.passes(3 * HOUR)
    assert len(works.told.texts) == 1
    assert len(await works.runs(row)) == 1
    assert works.model.asked == []
    with pytest.raises(RoutineRefused, match="is in the past"):
        await works.desk.change(OLIVIA, "once", {"description": "again"})


@pytest.mark.parametrize("policy, number", [("skip", 0), ("one_catch_up", 1), ("all", 1)])
async def test_a_missed_time_follows_the_routines_setting(works: Works, policy: str, number: int) -> None:
    row = await works.make("once", trigger={**ONCE, "downtime": policy}, action=REMINDER)
    await works.crash()
    works.clock.advance(DAY)
    await works.start()
    await works.settled()
    assert len(works.told.texts) == number
    missed = await row_of(works, row)
    assert missed is not None
    assert missed.done_at is not None
    assert missed.skipped_slots == 1 - number


async def test_completed_one_time_routines_are_kept_for_thirty_days(works: Works) -> None:
    done = await works.make("once", trigger=ONCE, action=REMINDER)
    stays = await works.make("hourly", trigger={"type": "cron", "schedule": "in 90 d"})
    await works.passes(HOUR)
    await works.store.routines.forget_done_routines(works.clock.now() - 30 * DAY * SECOND_US)
    works.clock.advance(29 * DAY)
    assert await works.store.routines.forget_done_routines(works.clock.now() - 30 * DAY * SECOND_US) == 0
    await works.passes(2 * DAY)
    async with asyncio.timeout(PATIENCE_S):
        while await row_of(works, done) is not None:  # its timer is another than the look's
            await works.passes(HOUR)
    assert await row_of(works, stays) is not None
