"""A turn: journalled step by step, written to only while it runs, ended in one transaction."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from core.errors import StaleTurn
from core.events import NO_MODELS, CandidateFailed, FailuresSpent, ModelTrace, Verbosity
from core.gates import ConsentSettings, Grant, GrantScope, Option
from core.ports import SendState
from core.store.effects import CloseGate, RecordGrant, SetThread, StopThread
from core.store.rows import CallRow, CallState, NewCall, TurnStart, TurnState
from core.tool import Effect, ProcessInfo
from core.transcript import AssistantSaid, Note, Origin, ResultStatus, ToolCalled, ToolResult, UserSaid
from core.users import UNSET, ModelChoice, Preferences, Principal, Role, Thinking, ThreadSettings
from tests.contracts.store.bench import BEN, CHANNEL, SECOND, Bench
from tests.contracts.store.calls import ask_person, go, ok

# --- steps ----------------------------------------------------------------------------------------------


async def test_a_reply_and_its_calls_are_journalled_together(world: Bench) -> None:
    start = await world.turn()
    reply = AssistantSaid("let me see", Origin("openai", "small", '{"id": 7}'))
    calls = [
        NewCall("call-1", "shell", '{"command": "ls"}', Effect.EFFECT),
        NewCall("call-2", "time", "{", Effect.NONE),
    ]
    await world.store.turns.record_reply_and_intents(start.turn_id, reply, calls)
    loaded = await world.reload(start)
    assert [entry.said for entry in loaded.entries] == [
        UserSaid("hello"),
        reply,
        ToolCalled("call-1", "shell", '{"command": "ls"}'),
        ToolCalled("call-2", "time", "{"),
    ]
    assert [(entry.seq, entry.turn_id) for entry in loaded.entries] == [
        (seq, start.turn_id) for seq in (1, 2, 3, 4)
    ]
    assert loaded.calls == (
        CallRow("call-1", start.turn_id, 3, "shell", '{"command": "ls"}', CallState.INTENT, Effect.EFFECT),
        CallRow("call-2", start.turn_id, 4, "time", "{", CallState.INTENT, Effect.NONE),
    )


async def test_notes_and_outcomes_are_journalled_in_order(world: Bench) -> None:
    start = await world.turn()
    first, second = await world.call(start, "shell", "time")
    denied = ToolResult(second, ResultStatus.DENIED, "Not run: denied by Ada")
    await world.store.turns.finish_calls(start.turn_id, [ok(first), denied])
    await world.store.turns.record_notes(start.turn_id, [Note("try something else")])
    assert (await world.said(start))[4:] == [ok(first), denied, Note("try something else")]
    assert await world.states(start) == [CallState.ENDED, CallState.ENDED]


async def test_a_call_has_one_outcome(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    await world.store.turns.finish_calls(start.turn_id, [ok(call_id)])
    with pytest.raises(StaleTurn):
        await world.store.turns.finish_calls(start.turn_id, [ok(call_id, "twice")])
    with pytest.raises(StaleTurn):
        await world.store.turns.finish_calls(start.turn_id, [ok("no such call")])
    assert [said for said in await world.said(start) if isinstance(said, ToolResult)] == [ok(call_id)]


async def test_rounds_and_tools_are_counted_from_the_journal(world: Bench) -> None:
    start = await world.turn()
    fresh = await world.store.turns.load_turn(start)
    assert (fresh.rounds, fresh.tools_run, fresh.spent_us, fresh.continued) == (0, 0, 0, None)

    first, second, third = await world.call(start, "shell", "time", "http")
    await world.store.turns.finish_calls(
        start.turn_id,
        [
            ok(first),
            ToolResult(second, ResultStatus.ERROR, "no such file"),
            ToolResult(third, ResultStatus.DENIED, "no"),
        ],
    )
    await world.store.turns.record_reply_and_intents(start.turn_id, AssistantSaid("only words"), [])
    await world.call(start, "shell")
    loaded = await world.reload(start)
    assert (loaded.rounds, loaded.tools_run) == (2, 2)


async def test_the_check_before_running_sees_role_and_grants_as_they_are_now(world: Bench) -> None:
    start = await world.turn(by=BEN)
    (call_id,) = await world.call(start)
    grants = [
        Grant("g1", "ben", "shell", "ls *", GrantScope.USER, None, "ada", world.clock.now()),
        Grant("g2", "ben", "http", None, GrantScope.THREAD, start.thread.id, "ada", world.clock.now()),
        Grant("g3", "ben", "time", None, GrantScope.USER, None, "ada", 1, expires_at=world.clock.now()),
        Grant("g4", "ada", "shell", None, GrantScope.USER, None, "ada", world.clock.now()),
    ]
    await world.rule(*(RecordGrant(grant) for grant in grants))
    await world.store.people.ensure_user("ben", Role.GUEST, "Ben")
    seen: list[tuple[CallRow, Principal, ConsentSettings]] = []

    def check(call: CallRow, principal: Principal, live: ConsentSettings) -> str | None:
        seen.append((call, principal, live))
        return "guests may not"

    assert await world.store.turns.mark_running(start.turn_id, call_id, check) == "guests may not"
    call, principal, live = seen[0]
    assert (call.call_id, call.tool, call.state) == (call_id, "shell", CallState.INTENT)
    assert principal == Principal("ben", Role.GUEST, "Ben")
    assert live.grants == tuple(grants[:2])
    assert await world.states(start) == [CallState.INTENT]

    assert await world.store.turns.mark_running(start.turn_id, call_id, go) is None
    assert await world.states(start) == [CallState.RUNNING]


async def test_a_running_call_is_not_started_again(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    await world.store.turns.mark_running(start.turn_id, call_id, go)
    with pytest.raises(StaleTurn):
        await world.store.turns.mark_running(start.turn_id, call_id, go)
    with pytest.raises(StaleTurn):
        await world.store.turns.mark_running(start.turn_id, "no such call", go)


async def test_a_child_process_is_remembered_until_the_call_runs_again(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    child = ProcessInfo(pid=321, process_group=321, started_ticks=99)
    with pytest.raises(StaleTurn):
        await world.store.turns.record_process(call_id, child)
    await world.store.turns.mark_running(start.turn_id, call_id, go)
    await world.store.turns.record_process(call_id, child)
    assert (await world.call_row(start, call_id)).process == child


# --- the end --------------------------------------------------------------------------------------------


async def test_a_turn_ends_with_its_answer_and_its_message(world: Bench) -> None:
    start = await world.turn()
    answer = AssistantSaid("forty-two", Origin("demo", "demo"))
    draft = world.draft("forty-two")
    done = await world.store.turns.finish_turn_and_enqueue(
        start.turn_id, TurnState.DONE, answer, [draft], next_turn_id="unused", send_now=True
    )
    assert done.next is None
    (row,) = done.outbox
    assert (row.state, row.attempts, row.message, row.nonce) == (
        SendState.SENDING,
        1,
        draft.message,
        draft.nonce,
    )
    assert await world.row(row.id) == row
    assert await world.said(start) == [UserSaid("hello"), answer]
    thread = await world.store.threads.thread(start.thread.id)
    assert thread is not None
    assert (thread.active_turn_id, thread.active_turn_state) == (None, None)


async def test_the_meanwhile_callback_runs_at_most_once_and_blocks_nothing(world: Bench) -> None:
    start = await world.turn()
    called: list[str] = []

    def meanwhile() -> None:
        called.append("called")

    done = await world.store.turns.finish_turn_and_enqueue(
        start.turn_id, TurnState.DONE, None, [], next_turn_id="unused", meanwhile=meanwhile
    )
    assert done.outbox == ()
    await world.turn()
    assert called in ([], ["called"])


async def test_a_message_waits_only_for_earlier_ones_of_its_address(world: Bench) -> None:
    start = await world.turn()
    drafts = [world.draft("one"), world.draft("two"), world.draft("elsewhere", to="to another")]
    done = await world.store.turns.finish_turn_and_enqueue(
        start.turn_id, TurnState.DONE, None, drafts, next_turn_id="unused", send_now=True
    )
    assert [row.state for row in done.outbox] == [SendState.SENDING, SendState.QUEUED, SendState.SENDING]


async def test_calls_without_an_outcome_end_cancelled_before_the_answer(world: Bench) -> None:
    start = await world.turn()
    done, running, intent = await world.call(start, "time", "shell", "http")
    await world.store.turns.finish_calls(start.turn_id, [ok(done)])
    await world.store.turns.mark_running(start.turn_id, running, go)
    await world.finish(start, "never mind")
    ending = (await world.said(start))[-3:]
    assert [type(said) for said in ending] == [ToolResult, ToolResult, AssistantSaid]
    results = [said for said in ending if isinstance(said, ToolResult)]
    assert [(result.call_id, result.status) for result in results] == [
        (running, ResultStatus.CANCELLED),
        (intent, ResultStatus.CANCELLED),
    ]
    assert "may have taken effect" in results[0].text
    assert await world.states(start) == [CallState.ENDED] * 3


async def test_a_failed_turn_says_why(world: Bench) -> None:
    event = world.message()
    start = (await world.store.inbound.accept_event(event, world.queueing(), send_now=False)).started
    assert start is not None
    await world.store.turns.finish_turn_and_enqueue(
        start.turn_id, TurnState.FAILED, None, [], next_turn_id="unused", error="the model is down"
    )
    explained = await world.store.explanations.explain(event.key)
    assert explained is not None
    assert (explained.turn_state, explained.turn_error) == ("failed", "the model is down")
    assert explained.models == NO_MODELS


async def test_a_turn_says_which_models_it_called(world: Bench) -> None:
    event = world.message()
    start = (await world.store.inbound.accept_event(event, world.queueing(), send_now=False)).started
    assert start is not None
    failures = (
        CandidateFailed("openai", "main", "it is not reachable", 1, 2, 1.5),
        CandidateFailed("openai", "main", "it is not reachable", 1, 2),
    )
    trace = ModelTrace("backup", failures)
    await world.store.turns.finish_turn_and_enqueue(
        start.turn_id, TurnState.DONE, AssistantSaid("yes"), [], next_turn_id="unused", models=trace
    )
    explained = await world.store.explanations.explain(event.key)
    assert explained is not None
    assert explained.models == trace


async def test_the_models_of_a_turn_are_kept_while_it_waits_and_however_it_ends(world: Bench) -> None:
    event = world.message()
    start = (await world.store.inbound.accept_event(event, world.queueing(), send_now=False)).started
    assert start is not None
    assert (await world.store.turns.load_turn(start)).models == NO_MODELS
    spent = FailuresSpent(3, 4.5, ("larger_window",), 1000, ("main",), (("main", "key"),))
    trace = ModelTrace("backup", (CandidateFailed("openai", "main", "its key was refused", 1, 2),), spent)
    call = NewCall("call", "shell", "{}", Effect.EFFECT)
    await world.store.turns.record_reply_and_intents(
        start.turn_id, AssistantSaid("let me see"), [call], models=trace
    )
    gate = await world.ask(start, "call")
    approved = CloseGate(gate.id, Option.APPROVE, "Approved", world.card(gate).message)
    resumed = (await world.rule(approved)).started
    assert resumed is not None
    assert (await world.store.turns.load_turn(resumed)).models == trace
    later = replace(trace, spent=replace(spent, attempts=4))
    await world.store.journal.keep_models(start.turn_id, later)
    await world.rule(StopThread("Stopped."))
    with pytest.raises(StaleTurn):
        await world.store.journal.keep_models(start.turn_id, trace)
    await world.finish(start, None, state=TurnState.STOPPED)
    explained = await world.store.explanations.explain(event.key)
    assert explained is not None
    assert explained.models == later


async def test_a_thread_keeps_its_settings(world: Bench) -> None:
    start = await world.turn()
    assert start.thread.settings.verbosity is Verbosity.OFF
    await world.finish(start, "answer")
    settings = ThreadSettings(Verbosity.FULL, ModelChoice("big", Thinking.HIGH))
    await world.rule(SetThread(start.thread.id, settings))
    again = await world.turn()
    assert (again.thread.id, again.thread.settings) == (start.thread.id, settings)
    resumed = await world.store.recovery.resume_turn(again.turn_id)
    assert resumed.thread.settings == settings
    assert (await world.turn(scope="elsewhere")).thread.settings == UNSET
    wished = Preferences(chosen=ModelChoice("small", Thinking.LOW))
    await world.store.people.set_preferences("ada", lambda _: wished)
    assert (await world.store.recovery.resume_turn(again.turn_id)).chosen == settings.chosen
    assert (await world.turn(scope="third")).chosen == wished.chosen


async def test_positions_are_never_used_twice(world: Bench) -> None:
    seqs: list[int] = []
    for _ in range(3):
        start = await world.turn()
        await world.finish(start, "answer")
        seqs = [entry.seq for entry in (await world.store.turns.load_turn(start)).entries]
    assert seqs == [1, 2, 3, 4, 5, 6]


Write = Callable[[Bench, TurnStart, str], Awaitable[object]]


WRITES: dict[str, Write] = {
    "reply": lambda w, s, _: w.store.turns.record_reply_and_intents(s.turn_id, AssistantSaid("late"), []),
    "notes": lambda w, s, _: w.store.turns.record_notes(s.turn_id, [Note("late")]),
    "outcome": lambda w, s, c: w.store.turns.finish_calls(s.turn_id, [ok(c)]),
    "running": lambda w, s, c: w.store.turns.mark_running(s.turn_id, c, go),
    "question": ask_person,
    "end": lambda w, s, _: w.store.turns.finish_turn_and_enqueue(
        s.turn_id, TurnState.DONE, AssistantSaid("late"), [w.draft("late")], next_turn_id="unused"
    ),
    "resume": lambda w, s, _: w.store.recovery.resume_turn(s.turn_id),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_an_ended_turn_takes_no_more_entries(world: Bench, write: Write) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    await world.finish(start)
    before = await world.reload(start)
    with pytest.raises(StaleTurn):
        await write(world, start, call_id)
    assert await world.reload(start) == before
    assert not await world.store.outbox.pending_outbox(CHANNEL)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_a_turn_that_waits_for_a_person_takes_no_entries(world: Bench, write: Write) -> None:
    start = await world.turn()
    asked, other = await world.call(start, "shell", "time")
    await world.ask(start, asked)
    before = await world.reload(start)
    cards = await world.store.outbox.pending_outbox(CHANNEL)
    with pytest.raises(StaleTurn):
        await write(world, start, other)
    assert await world.reload(start) == before
    assert await world.store.outbox.pending_outbox(CHANNEL) == cards


# --- starts and time -------------------------------------------------------------------------------------


async def test_a_new_turn_loads_its_inputs_as_they_are_journalled(world: Bench) -> None:
    """So that whoever knows what was before needs to read nothing."""
    first = await world.turn()
    await world.say("and more")
    await world.say("and more still")
    following = await world.finish(first)
    assert following is not None
    for start in (first, following):
        entries = (await world.store.turns.load_turn(start)).entries
        assert start.inputs == tuple(e for e in entries if start.first_seq <= e.seq <= start.last_seq)
    assert [entry.said for entry in following.inputs] == [UserSaid("and more"), UserSaid("and more still")]


async def test_starts_without_progress_are_counted(world: Bench) -> None:
    start = await world.turn()
    assert start.attempt == 1
    resumed = await world.store.recovery.resume_turn(start.turn_id)
    assert (resumed.attempt, resumed.resumed, resumed.number) == (2, True, 1)
    assert (await world.store.recovery.resume_turn(start.turn_id)).attempt == 3
    await world.store.turns.record_notes(start.turn_id, [Note("a step forward")])
    assert (await world.store.recovery.resume_turn(start.turn_id)).attempt == 1
    assert (await world.store.recovery.resume_turn(start.turn_id)).attempt == 2


async def test_marking_a_call_as_running_is_not_progress(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    await world.store.recovery.resume_turn(start.turn_id)
    await world.store.turns.mark_running(start.turn_id, call_id, go)
    assert (await world.store.recovery.resume_turn(start.turn_id)).attempt == 2


async def test_a_start_interrupted_by_an_orderly_stop_does_not_count(world: Bench) -> None:
    start = await world.turn()
    await world.store.recovery.release_runs([start.turn_id, "no such turn"])
    await world.store.recovery.release_runs([start.turn_id])
    await world.store.recovery.recover()
    assert (await world.store.recovery.resume_turn(start.turn_id)).attempt == 1


async def test_waiting_for_a_person_costs_no_time(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    world.clock.advance(7)
    gate = await world.ask(start, call_id)
    world.clock.advance(86_400)
    closed = await world.rule(CloseGate(gate.id, Option.APPROVE, "Approved", world.card(gate).message))
    assert closed.started is not None
    assert (await world.store.turns.load_turn(closed.started)).spent_us == 7 * SECOND


async def test_time_until_the_last_step_before_a_crash_counts(world: Bench) -> None:
    start = await world.turn()
    world.clock.advance(5)
    await world.store.turns.record_notes(start.turn_id, [Note("a step")])
    world.clock.advance(3_600)  # the hub was down
    resumed = await world.store.recovery.resume_turn(start.turn_id)
    assert (await world.store.turns.load_turn(resumed)).spent_us == 5 * SECOND
    world.clock.advance(3_600)  # and again, before anything was journalled
    resumed = await world.store.recovery.resume_turn(start.turn_id)
    assert (await world.store.turns.load_turn(resumed)).spent_us == 5 * SECOND


async def test_a_resumed_turn_spans_all_its_entries(world: Bench) -> None:
    await world.finish(await world.turn("before"))
    start = await world.turn("now")
    (call_id,) = await world.call(start)
    resumed = await world.store.recovery.resume_turn(start.turn_id)
    assert (resumed.first_seq, resumed.last_seq) == (3, 5)
    assert [call.call_id for call in (await world.store.turns.load_turn(resumed)).calls] == [call_id]
