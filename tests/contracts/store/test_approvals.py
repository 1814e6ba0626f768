"""How people want to be asked, and the history of what was executed."""

import pytest

from core.approvals import UNSAID, ApprovalSettings, Preset
from core.store.rows import CallState, NewCall
from core.tool import Effect
from core.transcript import AssistantSaid, ResultStatus, ToolResult
from tests.contracts.store.bench import ADA, BEN, SECOND, Bench

TIGHT = ApprovalSettings(
    Preset.MANUAL,
    max_rounds=2,
    max_tools=7,
    loop_timeout_s=60,
    whitelist=frozenset(),
    dangerous_tools=frozenset({"shell", "http"}),
    tool_timeouts={"shell": 9},
)


async def test_a_conversation_has_settings_of_its_own(world: Bench) -> None:
    here, there = await world.turn(), await world.turn(scope="there")
    assert await world.store.consents.set_thread_approvals(here.thread.id, TIGHT)
    assert (await world.store.consents.standing("ada", here.thread.id)).thread == TIGHT
    assert (await world.store.consents.standing("ada", there.thread.id)).thread is UNSAID
    assert await world.store.consents.set_thread_approvals(here.thread.id, UNSAID)
    assert (await world.store.consents.standing("ada", here.thread.id)).thread is UNSAID


async def test_a_person_has_settings_in_all_their_conversations(world: Bench) -> None:
    here = await world.turn()
    await world.store.people.ensure_user("ben", BEN.role, BEN.name)
    wanted = ApprovalSettings(max_tools=3)
    assert await world.store.consents.set_person_approvals("ada", wanted)
    standing = await world.store.consents.standing("ada", here.thread.id)
    assert (standing.person, standing.thread) == (wanted, UNSAID)
    assert (await world.store.consents.standing("ben", here.thread.id)).person is UNSAID
    await world.store.people.ensure_user("ada", ADA.role, "Ada Lovelace")
    assert (await world.store.consents.standing("ada", here.thread.id)).person == wanted


async def test_a_missing_thread_has_no_settings(world: Bench) -> None:
    assert not await world.store.consents.set_thread_approvals("no thread", TIGHT)
    assert not await world.store.consents.set_person_approvals("nobody", TIGHT)
    assert (await world.store.consents.standing("nobody", "no thread")).person is UNSAID


async def test_the_last_check_before_a_call_runs_sees_changed_settings(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start, "shell")
    await world.store.consents.set_thread_approvals(start.thread.id, TIGHT)
    seen: list[ApprovalSettings] = []
    refusal = await world.store.turns.mark_running(
        start.turn_id, call_id, lambda _call, _who, standing: seen.append(standing.thread) or "no"
    )
    assert (refusal, seen) == ("no", [TIGHT])


async def test_executed_calls_are_reported_newest_first_with_their_times(world: Bench) -> None:
    start = await world.turn()
    calls = [
        NewCall("ran", "time", "{}", Effect.NONE, 1),
        NewCall("marked", "shell", "{}", Effect.EFFECT, 1),
        NewCall("refused", "shell", "{}", Effect.EFFECT, 1),
        NewCall("open", "shell", "{}", Effect.EFFECT, 1),
    ]
    await world.store.turns.record_reply_and_intents(start.turn_id, AssistantSaid(""), calls)
    began = world.clock.now()
    world.clock.advance(2)
    result = ToolResult("ran", ResultStatus.OK, "noon")
    await world.store.turns.finish_calls(start.turn_id, [result], started_at=began)
    marked = world.clock.now()
    assert await world.store.turns.mark_running(start.turn_id, "marked", lambda _c, _p, _s: None) is None
    world.clock.advance(3)
    await world.store.turns.finish_calls(
        start.turn_id, [ToolResult("marked", ResultStatus.ERROR, "exit 1")], started_at=marked + SECOND
    )
    await world.store.turns.finish_calls(start.turn_id, [ToolResult("refused", ResultStatus.DENIED, "no")])
    told = await world.store.consents.executions(start.thread.id, None, 10)
    assert [(one.call_id, one.status, one.state) for one in told] == [
        ("open", None, CallState.INTENT),
        ("refused", "denied", CallState.ENDED),
        ("marked", "error", CallState.ENDED),
        ("ran", "ok", CallState.ENDED),
    ]
    assert [(one.started_at, one.ended_at) for one in told] == [
        (None, None),
        (None, None),
        (marked, marked + 3 * SECOND),
        (began, began + 2 * SECOND),
    ]
    assert {(one.tool, one.round, one.principal_id) for one in told} == {
        ("time", 1, "ada"),
        ("shell", 1, "ada"),
    }
    assert [
        one.call_id for one in await world.store.consents.executions(start.thread.id, told[1].seq, 1)
    ] == ["marked"]


@pytest.mark.parametrize("thread", ["another", "no such thread"])
async def test_other_conversations_have_their_own_history(world: Bench, thread: str) -> None:
    start = await world.turn()
    await world.call(start, "shell")
    other = await world.turn(scope="other") if thread == "another" else None
    assert await world.store.consents.executions(other.thread.id if other else thread, None, 10) == []
