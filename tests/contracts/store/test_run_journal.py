"""Runs that use tools: every step kept before the next, no effect twice, no day beyond its budget."""

from dataclasses import replace

import pytest
import pytest_asyncio

from core.errors import StaleTurn
from core.events import CandidateFailed, FailuresSpent, ModelTrace
from core.gates import ConsentSettings, ToolSetting
from core.routine import RunStatus
from core.store.feed import ThreadsWanted
from core.store.routine_rows import DayLeft, RoutineRow, RunEnd
from core.store.rows import CallRow, CallState, NewCall
from core.tool import TOOLS_PAUSED, Effect, ProcessInfo, UseLimit
from core.transcript import AssistantSaid, Note, Origin, ResultStatus, ToolCalled, ToolResult, UserSaid
from core.usage import Usage
from core.users import Principal
from tests.contracts.store.bench import ADA, SECOND, Bench
from tests.contracts.store.conftest import Database
from tests.contracts.store.test_routines import ON_WORD, begin, kept, new_run, started, today

ASKED = UserSaid("Look around.")
REPLY = AssistantSaid("I look.")
PROCESS = ProcessInfo(4242, 4242, 77)


@pytest_asyncio.fixture(autouse=True)
async def people(world: Bench) -> None:
    await world.store.people.ensure_user(ADA.user_id, ADA.role, ADA.name)


def let_it(_call: CallRow, _who: Principal, _said: ConsentSettings) -> str | None:
    return None


async def acting(world: Bench, *calls: NewCall, row: RoutineRow | None = None) -> str:
    """A run that has asked for these calls."""
    run_id = await started(world, row or await kept(world, replace(ON_WORD, reruns=True)))
    await world.store.journal.open_run_journal(run_id, '{"tools": []}', ASKED)
    await world.store.turns.record_reply_and_intents(run_id, REPLY, calls)
    (used,) = await world.store.routines.routines("ada") if row is None else (row,)
    await world.used(run_id, Usage(10, 5, cost_micro_usd=3), used.id)
    return run_id


def effect(number: int = 1) -> NewCall:
    return NewCall(f"call-{number}", "shell", '{"command": "ls"}', Effect.EFFECT, 1)


async def states(world: Bench, run_id: str) -> list[CallState]:
    return [call.state for call in (await world.store.journal.run_steps(run_id)).calls]


async def test_steps_are_kept_in_order_with_the_scope_they_began_with(world: Bench) -> None:
    run_id = await acting(world, effect())
    with pytest.raises(StaleTurn):
        await world.store.journal.open_run_journal(run_id, '{"tools": ["all"]}', ASKED)
    assert await world.store.turns.mark_running(run_id, "call-1", let_it) is None
    done = ToolResult("call-1", ResultStatus.OK, "a b")
    await world.store.turns.finish_calls(run_id, [done])
    await world.store.turns.record_notes(run_id, [Note("be brief")])
    steps = await world.store.journal.run_steps(run_id)
    assert steps.scope == '{"tools": []}'
    call = ToolCalled("call-1", "shell", '{"command": "ls"}')
    assert steps.said == (ASKED, REPLY, call, done, Note("be brief"))
    assert await states(world, run_id) == [CallState.ENDED]
    with pytest.raises(StaleTurn):
        await world.store.turns.finish_calls(run_id, [done])
    with pytest.raises(StaleTurn):
        await world.store.turns.mark_running(run_id, "call-1", let_it)


async def test_a_call_is_judged_in_the_transaction_that_marks_it(world: Bench) -> None:
    run_id = await acting(world, effect())
    await world.store.consents.set_tool_setting("ada", "shell", ToolSetting.DISABLED)
    judged: list[tuple[str, str, bool]] = []

    def check(call: CallRow, who: Principal, said: ConsentSettings) -> str | None:
        judged.append((call.arguments, who.user_id, "shell" in said.disabled))
        return "it is disabled"

    assert await world.store.turns.mark_running(run_id, "call-1", check) == "it is disabled"
    assert judged == [('{"command": "ls"}', "ada", True)]
    assert await states(world, run_id) == [CallState.INTENT]


async def test_no_call_of_a_run_is_marked_running_while_tools_are_paused(world: Bench) -> None:
    run_id = await acting(world, effect())
    await world.store.kill_switch.pause_tools("ada", paused=True)
    assert await world.store.turns.mark_running(run_id, "call-1", let_it) == TOOLS_PAUSED
    assert await states(world, run_id) == [CallState.INTENT]


async def test_tool_limits_hold_in_runs_too(world: Bench) -> None:
    run_id = await acting(world, effect(1), effect(2))
    limits = [UseLimit(1, 60)]
    assert await world.store.turns.mark_running(run_id, "call-1", let_it, limits=limits) is None
    refusal = await world.store.turns.mark_running(run_id, "call-2", let_it, limits=limits)
    assert refusal is not None
    assert "used 1 times" in refusal


async def test_after_a_crash_running_calls_are_unknown_and_the_rest_continues(database: Database) -> None:
    world = await database.open()
    await world.store.people.ensure_user(ADA.user_id, ADA.role, ADA.name)
    run_id = await acting(world, effect(1), effect(2))
    await world.store.turns.mark_running(run_id, "call-1", let_it)
    await world.store.turns.record_process("call-1", PROCESS)
    models = ModelTrace(
        "main", (CandidateFailed("openai", "main", "down", 1, 1, 1.0),), FailuresSpent(1, 2.5)
    )
    await world.store.journal.keep_models(run_id, models)
    world = await database.open()
    found = await world.store.recovery.recover()
    assert [run.run_id for run in found.runs] == [run_id]
    assert [(cut.call.call_id, cut.call.process) for cut in found.running_calls] == [("call-1", PROCESS)]
    again = await world.store.runs.resume_run(run_id, day=today(world))
    assert again is not None
    assert (again.run.input_tokens, again.run.output_tokens, again.run.cost_micro_usd) == (10, 5, 3)
    assert again.models == models
    steps = await world.store.journal.run_steps(run_id)
    assert [call.state for call in steps.calls] == [CallState.ENDED, CallState.INTENT]
    last = steps.said[-1]
    assert isinstance(last, ToolResult)
    assert (last.call_id, last.status) == ("call-1", ResultStatus.UNKNOWN)
    assert await world.store.turns.mark_running(run_id, "call-2", let_it) is None


async def test_every_call_of_a_run_that_ended_has_an_outcome(world: Bench) -> None:
    run_id = await acting(world, effect(1), effect(2))
    await world.store.turns.mark_running(run_id, "call-1", let_it)
    assert await world.store.runs.finish_run(run_id, RunEnd(RunStatus.FAILED, error="too slow"))
    steps = await world.store.journal.run_steps(run_id)
    outcomes = {said.call_id: said.status for said in steps.said if isinstance(said, ToolResult)}
    assert outcomes == {"call-1": ResultStatus.UNKNOWN, "call-2": ResultStatus.CANCELLED}
    with pytest.raises(StaleTurn):
        await world.store.turns.record_notes(run_id, [Note("late")])
    with pytest.raises(StaleTurn):
        await world.store.turns.record_process("call-1", PROCESS)


async def test_the_last_reply_follows_all_outcomes(world: Bench) -> None:
    run_id = await acting(world, effect())
    answer = AssistantSaid("All quiet.", Origin("openai", "main"))
    assert await world.store.runs.finish_run(run_id, RunEnd(RunStatus.OK, answer=answer))
    *_, result, last = (await world.store.journal.run_steps(run_id)).said
    assert isinstance(result, ToolResult)
    assert last == answer


async def test_a_journal_is_not_listed_as_a_conversation(world: Bench) -> None:
    run_id = await acting(world, effect())
    assert await world.store.threads.threads(10) == []
    assert await world.store.feed.thread_glances(ThreadsWanted(10)) == []
    assert await world.store.threads.thread(run_id) is None
    assert await world.store.feed.thread_glance(run_id) is None
    assert not await world.store.inbound.take_up_thread("ada", "routine", "key", run_id)
    assert not await world.store.held.session_changes(0)


async def test_runs_of_one_routine_keep_their_steps_apart(world: Bench) -> None:
    """At the same time, and one after the other."""
    row = await kept(world, replace(ON_WORD, cooldown_us=0, max_concurrent=2))
    said: dict[str, str] = {}
    for number in range(3):
        run_id = await started(world, row, f"event:{number}")
        said[run_id] = f"Question {number}"
        await world.store.journal.open_run_journal(run_id, "{}", UserSaid(said[run_id]))
        if number == 1:
            for open_run in said:
                await world.store.runs.finish_run(open_run, RunEnd(RunStatus.OK))
    for run_id, question in said.items():
        assert (await world.store.journal.run_steps(run_id)).said == (UserSaid(question),)


async def test_a_run_beyond_the_days_budget_is_skipped_instead_of_continued(database: Database) -> None:
    world = await database.open()
    await world.store.people.ensure_user(ADA.user_id, ADA.role, ADA.name)
    row = await kept(world, replace(ON_WORD, reruns=True, max_concurrent=2, daily_tokens=20))
    run_id = await acting(world, effect(1), effect(2), row=row)
    await world.store.turns.mark_running(run_id, "call-1", let_it)
    other = await started(world, row, "event:2")
    await world.used(other, Usage(20), row.id)
    await world.store.runs.finish_run(other, RunEnd(RunStatus.OK))
    world = await database.open()
    await world.store.recovery.recover()
    assert await world.store.runs.resume_run(run_id, day=today(world)) is None
    assert await states(world, run_id) == [CallState.ENDED, CallState.ENDED]
    assert RunStatus.SKIPPED in {run.state for run in await world.store.run_views.routine_runs(row.id, 10)}
    with pytest.raises(StaleTurn):
        await world.store.turns.record_notes(run_id, [Note("late")])


async def test_usage_before_an_interruption_counts_for_its_run(database: Database) -> None:
    world = await database.open()
    await world.store.people.ensure_user(ADA.user_id, ADA.role, ADA.name)
    row = await kept(world, replace(ON_WORD, reruns=True, daily_runs=1, daily_tokens=100))
    run_id = await acting(world, row=row)
    world = await database.open()
    await world.store.recovery.recover()
    again = await world.store.runs.resume_run(run_id, day=today(world))
    assert again is not None
    assert again.left == DayLeft(tokens=85)


async def test_steps_are_deleted_with_their_routine(world: Bench) -> None:
    run_id = await acting(world, effect())
    (row,) = await world.store.routines.routines("ada")
    assert await world.store.routines.delete_routine(row.id)
    assert (await world.store.journal.run_steps(run_id)).said == ()


# --- what a day may cost --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limit, told",
    [
        ({"daily_runs": 1}, "it has run 1 times today"),
        ({"daily_tokens": 15}, "it has used 15 tokens today; its daily limit is 15"),
        ({"daily_micro_usd": 20_000}, "it has cost 0.02 USD today; its daily limit is 0.02 USD"),
    ],
)
async def test_beyond_the_days_budget_nothing_starts_and_its_owner_is_notified_once(
    world: Bench, limit: dict[str, int], told: str
) -> None:
    another = await kept(world, replace(ON_WORD, name="another", cooldown_us=0, definition="{}"))
    row = await kept(world, replace(ON_WORD, cooldown_us=0, **limit))
    for number in (1, 2):
        other = await started(world, another, f"event:{number}")
        await world.store.runs.finish_run(other, RunEnd(RunStatus.OK))
    first = await started(world, row)
    await world.used(first, Usage(10, 5, cost_micro_usd=20_000), row.id)
    await world.store.runs.finish_run(first, RunEnd(RunStatus.OK))
    for number in (2, 3):
        await world.store.runs.claim_run(new_run(world, row, f"event:{number}"))
        assert await begin(world) == []
    third, second, _ = await world.store.run_views.routine_runs(row.id, 10)
    assert {second.state, third.state} == {RunStatus.SKIPPED}
    assert second.error is not None
    assert second.error.startswith(told)
    (notice,) = await world.store.run_views.due_notices(world.clock.now())
    assert (notice.run_id, notice.text) == (second.id, f"{row.text.definition}: {second.error}")
    await world.store.runs.claim_run(new_run(world, row, "asked", kind="manual", heeds_guardrails=False))
    await begin(world)
    assert len(await world.store.run_views.due_notices(world.clock.now())) == 2  # who asks is answered
    world.clock.advance(25 * 3600)
    await world.store.runs.claim_run(new_run(world, row, "event:4"))
    assert len(await begin(world)) == 1


async def test_a_run_counts_for_its_day_from_its_start(world: Bench) -> None:
    row = await kept(world, replace(ON_WORD, cooldown_us=0, max_concurrent=2, daily_runs=1))
    await started(world, row)
    await world.store.runs.claim_run(new_run(world, row, "event:2"))
    assert await begin(world) == []


async def test_a_run_knows_what_is_left_of_the_days_budget(world: Bench) -> None:
    row = await kept(world, replace(ON_WORD, cooldown_us=0, daily_tokens=100, daily_micro_usd=50))
    first = await started(world, row)
    await world.used(first, Usage(60, cost_micro_usd=20), row.id)
    await world.store.runs.finish_run(first, RunEnd(RunStatus.OK))
    await world.store.runs.claim_run(new_run(world, row, "event:2"))
    (second,) = await begin(world)
    assert second.left == DayLeft(tokens=40, micro_usd=30)


async def test_a_run_that_the_budget_ended_counts_as_no_failure(world: Bench) -> None:
    row = await kept(world, replace(ON_WORD, daily_tokens=100))
    end = RunEnd(
        RunStatus.FAILED,
        error="used up",
        notice="used up",
        budget_since=today(world).since,
        backoff_us=60 * SECOND,
        pause_after=1,
    )
    for number in (1, 2):
        await world.store.runs.finish_run(await started(world, row, f"event:{number}"), end)
    after = await world.store.routines.routine(row.id)
    assert after is not None
    assert (after.failures, after.enabled, after.backoff_until) == (0, True, 0)
    assert len(await world.store.run_views.due_notices(world.clock.now())) == 1
