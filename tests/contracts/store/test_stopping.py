"""A turn that a person stops: it starts no effect, asks nobody, and what waited goes on."""

import pytest

from core.errors import StaleTurn
from core.gates import GateKind, Option
from core.store.effects import StopThread
from core.store.rows import TurnState
from core.transcript import AssistantSaid, ResultStatus, ToolResult, UserSaid
from tests.contracts.store.bench import BEN, Bench
from tests.contracts.store.calls import ask_person, go


async def test_a_stopped_turn_starts_no_effect_and_asks_no_one(world: Bench) -> None:
    start, others = await world.turn(), await world.turn(by=BEN, scope="theirs")
    (call_id,), (theirs,) = await world.call(start), await world.call(others)
    dropped = world.message("more")
    await world.store.inbound.accept_event(dropped, world.queueing(), send_now=False)
    stopped = await world.rule(StopThread("Stopped."))
    assert stopped.stopped_turn_id == start.turn_id
    with pytest.raises(StaleTurn):
        await world.store.turns.mark_running(start.turn_id, call_id, go)
    with pytest.raises(StaleTurn):
        await ask_person(world, start, call_id)
    assert await world.store.turns.mark_running(others.turn_id, theirs, go) is None
    explained = await world.store.explanations.explain(dropped.key)
    assert explained is not None
    assert explained.outcome == "stopped"

    assert await world.finish(start, None, state=TurnState.STOPPED) is None
    following = await world.turn("again")
    assert following.number == 2


async def test_input_after_a_stop_is_the_next_turn(world: Bench) -> None:
    start = await world.turn()
    await world.rule(StopThread("Stopped."))
    later = await world.say("after the stop")
    assert later.outcome == "waiting"
    following = await world.finish(start, None, state=TurnState.STOPPED)
    assert following is not None
    assert (await world.said(following))[-1] == UserSaid("after the stop")


async def test_stopping_a_waiting_turn_ends_it_with_its_gates(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    gate = world.gate(start, call_id)
    cards = await world.store.turns.ask_person(gate, [world.card(gate), world.card(gate, to="to Ada alone")])
    await world.say("waits behind the question")
    stopped = await world.rule(StopThread("Stopped by Ada."))

    assert stopped.stopped_turn_id is None
    assert [(row.edit_of, row.address, row.message.outcome) for row in stopped.outbox] == [
        (cards[0].id, "to room", "Stopped by Ada."),
        (cards[1].id, "to Ada alone", "Stopped by Ada."),
    ]
    assert all(row.message.choices == () for row in stopped.outbox)
    result = (await world.said(start))[-2]
    assert isinstance(result, ToolResult)
    assert (result.call_id, result.status) == (call_id, ResultStatus.CANCELLED)
    assert not await world.store.gates.open_gates()
    view = await world.look(gate_id=gate.id)
    assert view.gate is not None
    assert (view.gate.gate.outcome, view.gate.gate.outcome_text) == (None, "Stopped by Ada.")
    assert (view.waiting, view.running_since) == (0, None)
    assert (await world.turn()).number == 2


async def test_a_call_of_unknown_outcome_stays_unknown_when_its_turn_is_stopped(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    await world.store.turns.mark_running(start.turn_id, call_id, go)
    gate = world.gate(start, call_id, GateKind.UNKNOWN_OUTCOME, (Option.HAPPENED, Option.RETRY))
    await world.store.recovery.mark_unknown(call_id, gate, [world.card(gate)])
    await world.rule(StopThread("Stopped."))
    result = (await world.said(start))[-2]
    assert isinstance(result, ToolResult)
    assert result.status is ResultStatus.UNKNOWN


async def test_a_stop_without_a_turn_does_nothing(world: Bench) -> None:
    assert (await world.rule(StopThread("Stopped."))).stopped_turn_id is None
    start = await world.turn()
    await world.finish(start)
    assert (await world.rule(StopThread("Stopped."))).stopped_turn_id is None
    assert await world.said(start) == [UserSaid("hello"), AssistantSaid("done")]
