"""A hub's start on a database whose last hub was killed."""

import pytest

from core.errors import StaleTurn
from core.events import RunKind
from core.gates import GateKind, Option
from core.messages import MessageRef, plain
from core.ports import Posted, SendState
from core.store.effects import CloseGate, Say, StopThread
from core.store.rows import CallState, RunningCall, TurnState, UnfinishedRun
from core.tool import Effect, ProcessInfo
from core.transcript import AssistantSaid, ResultStatus, ToolResult, UserSaid
from tests.contracts.store.bench import ADA, BEN, CHANNEL, Bench
from tests.contracts.store.calls import go
from tests.contracts.store.conftest import Database


async def test_a_store_without_unfinished_work_has_nothing_to_recover(world: Bench) -> None:
    await world.finish(await world.turn())
    found = await world.store.recovery.recover()
    assert (found.running_calls, found.runs, found.threads_to_start) == ((), (), ())


async def test_running_turns_are_found_with_their_starts_without_progress(database: Database) -> None:
    world = await database.open()
    first = await world.turn(scope="first")
    second = await world.turn(scope="second")
    await world.store.recovery.resume_turn(second.turn_id)
    waiting = await world.turn(scope="third")
    await world.ask(waiting, *await world.call(waiting))

    world = await database.open()
    found = await world.store.recovery.recover()
    assert found.runs == (
        UnfinishedRun(first.turn_id, RunKind.CHAT, first.thread.id, 1, 0),
        UnfinishedRun(second.turn_id, RunKind.CHAT, second.thread.id, 2, 0),
    )
    assert found.running_calls == ()


async def test_a_call_with_an_effect_is_reported_with_its_child_process(database: Database) -> None:
    world = await database.open()
    start = await world.turn(by=BEN)
    (call_id,) = await world.call(start)
    await world.store.turns.mark_running(start.turn_id, call_id, go)
    child = ProcessInfo(321, 321, 99)
    await world.store.turns.record_process(call_id, child)

    world = await database.open()
    found = await world.store.recovery.recover()
    assert [run.run_id for run in found.runs] == [start.turn_id]
    (running,) = found.running_calls
    call = await world.call_row(start, call_id)
    thread = await world.store.threads.thread(start.thread.id)
    assert thread is not None
    assert running == RunningCall(call, thread, BEN)
    assert (call.state, call.process) == (CallState.RUNNING, child)

    gate = world.gate(start, call_id, GateKind.UNKNOWN_OUTCOME, (Option.HAPPENED, Option.RETRY))
    (row,) = await world.store.recovery.mark_unknown(call_id, gate, [world.card(gate)])
    assert row.state is SendState.QUEUED
    assert (await world.store.recovery.recover()).running_calls == ()
    accepted = await world.rule(CloseGate(gate.id, Option.HAPPENED, "It happened", plain("settled")))
    assert accepted.started is not None
    assert accepted.started.attempt == 1


@pytest.mark.parametrize("effect", [Effect.NONE, Effect.IDEMPOTENT])
async def test_a_repeatable_call_is_run_again(database: Database, effect: Effect) -> None:
    world = await database.open()
    start = await world.turn()
    plain_call, approved_call = await world.call(start, "time", "fetch", effect=effect)
    gate = await world.ask(start, approved_call)
    await world.rule(CloseGate(gate.id, Option.APPROVE, "Approved", plain("settled")))
    for call_id in (plain_call, approved_call):
        await world.store.turns.mark_running(start.turn_id, call_id, go)

    world = await database.open()
    found = await world.store.recovery.recover()
    assert found.running_calls == ()
    assert [run.run_id for run in found.runs] == [start.turn_id]
    assert await world.states(start) == [CallState.INTENT, CallState.APPROVED]
    for call_id in (plain_call, approved_call):
        assert await world.store.turns.mark_running(start.turn_id, call_id, go) is None


async def test_messages_that_were_being_sent_are_ambiguous(database: Database) -> None:
    world = await database.open()
    queued, sending, repeating, partly = [await world.put_out(text) for text in "abcd"]
    await world.store.outbox.claim_outbox(sending.id)
    await world.store.outbox.claim_outbox(repeating.id)
    await world.store.outbox.mark_ambiguous(repeating.id, "no answer")
    await world.store.outbox.claim_outbox(repeating.id)
    await world.store.outbox.claim_outbox(partly.id)
    await world.store.outbox.record_part_sent(partly.id, Posted(MessageRef("one"), "1"), last=False)

    world = await database.open()
    await world.store.recovery.recover()
    pending = await world.store.outbox.pending_outbox(CHANNEL)
    assert [(row.id, row.state, row.attempts, row.repeats) for row in pending] == [
        (queued.id, SendState.QUEUED, 0, 0),
        (sending.id, SendState.AMBIGUOUS, 1, 0),
        (partly.id, SendState.AMBIGUOUS, 1, 0),
    ]
    assert pending[2].refs == ("one",)
    assert (await world.store.outbox.post_context(sending.id)).asked_by == world.clock.now()
    spent = await world.store.outbox.claim_outbox(repeating.id)
    assert (spent.state, spent.repeats) == (SendState.AMBIGUOUS, 1)


async def test_a_message_committed_as_sending_is_ambiguous_too(database: Database) -> None:
    world = await database.open()
    said = await world.rule(Say(plain("hi")), send_now=True)
    assert said.outbox[0].state is SendState.SENDING
    world = await database.open()
    await world.store.recovery.recover()
    assert (await world.row(said.outbox[0].id)).state is SendState.AMBIGUOUS


async def test_a_change_of_a_card_is_repeated(database: Database) -> None:
    world = await database.open()
    start = await world.turn()
    gate = await world.ask(start, *await world.call(start))
    accepted = await world.rule(CloseGate(gate.id, Option.DENY, "Denied", plain("settled")))
    (change,) = accepted.outbox
    await world.store.outbox.claim_outbox(change.id)

    world = await database.open()
    await world.store.recovery.recover()
    row = await world.row(change.id)
    assert (row.state, row.repeats, row.edit_of) == (SendState.QUEUED, 0, change.edit_of)


async def test_a_turn_that_was_being_stopped_is_ended(database: Database) -> None:
    world = await database.open()
    start = await world.turn()
    (call_id,) = await world.call(start)
    await world.rule(StopThread("Stopped."))
    await world.say("after the stop")

    world = await database.open()
    found = await world.store.recovery.recover()
    assert (found.runs, found.threads_to_start) == ((), (start.thread.id,))
    following = await world.store.recovery.start_waiting(start.thread.id, "next")
    assert following is not None
    said = await world.said(following)
    (result,) = [line for line in said if isinstance(line, ToolResult)]
    assert (result.call_id, result.status) == (call_id, ResultStatus.CANCELLED)
    assert said[-1] == UserSaid("after the stop")


async def test_an_effect_interrupted_by_a_stop_is_still_asked_about(database: Database) -> None:
    world = await database.open()
    start = await world.turn()
    (call_id,) = await world.call(start)
    await world.store.turns.mark_running(start.turn_id, call_id, go)
    await world.rule(StopThread("Stopped."))

    world = await database.open()
    found = await world.store.recovery.recover()
    assert [running.call.call_id for running in found.running_calls] == [call_id]
    assert [run.run_id for run in found.runs] == [start.turn_id]
    gate = world.gate(start, call_id, GateKind.UNKNOWN_OUTCOME, (Option.RETRY,))
    await world.store.recovery.mark_unknown(call_id, gate, [])
    accepted = await world.rule(CloseGate(gate.id, Option.RETRY, "Retry", plain("settled")))
    assert accepted.started is not None
    assert await world.store.turns.mark_running(start.turn_id, call_id, go) is None


async def test_a_turn_set_aside_makes_room_for_the_next(database: Database) -> None:
    world = await database.open()
    event = world.message()
    start = (await world.store.inbound.accept_event(event, world.queueing(), send_now=False)).started
    assert start is not None
    await world.say("harmless")
    done = await world.store.turns.finish_turn_and_enqueue(
        start.turn_id,
        TurnState.CRASHED,
        None,
        [world.draft("set aside")],
        next_turn_id="next",
        error="crashed repeatedly",
    )
    assert done.next is not None
    assert (await world.said(done.next))[-1] == UserSaid("harmless")
    explained = await world.store.explanations.explain(event.key)
    assert explained is not None
    assert (explained.turn_state, explained.turn_error) == ("crashed", "crashed repeatedly")


async def test_waiting_input_is_started_only_without_an_active_turn(world: Bench) -> None:
    start = await world.turn()
    await world.say("second")
    assert await world.store.recovery.start_waiting(start.thread.id, "next") is None
    assert await world.store.recovery.start_waiting("no such thread", "next") is None
    with pytest.raises(StaleTurn):
        await world.store.recovery.resume_turn("next")


async def test_everything_is_there_after_reopening(database: Database) -> None:
    world = await database.open()
    await world.store.people.ensure_user("ben", BEN.role, BEN.name)
    start = await world.turn()
    (call_id,) = await world.call(start)
    gate = await world.ask(start, call_id)
    waiting = world.message("second")
    await world.store.inbound.accept_event(waiting, world.queueing(), send_now=False)
    await world.store.memory.write_memory("ada", "k", "Ada likes tea")
    before = (
        await world.reload(start),
        list(await world.store.outbox.pending_outbox(CHANNEL)),
        list(await world.store.gates.open_gates()),
        list(await world.store.explanations.explain_recent(10)),
        list(await world.store.threads.threads(10)),
        list(await world.store.memory.search_memory("ada", "tea", 5)),
    )
    world = await database.open()
    after = (
        await world.reload(start),
        list(await world.store.outbox.pending_outbox(CHANNEL)),
        list(await world.store.gates.open_gates()),
        list(await world.store.explanations.explain_recent(10)),
        list(await world.store.threads.threads(10)),
        list(await world.store.memory.search_memory("ada", "tea", 5)),
    )
    assert after == before
    assert await world.store.people.user("ben") == BEN
    assert (await world.store.inbound.accept_event(waiting, world.queueing(), send_now=False)).duplicate
    await world.rule(CloseGate(gate.id, Option.APPROVE, "Approved", plain("settled")), by=ADA)
    assert await world.store.turns.mark_running(start.turn_id, call_id, go) is None
    following = await world.finish(start, "done")
    assert following is not None
    assert (await world.said(following))[-2:] == [AssistantSaid("done"), UserSaid("second")]
