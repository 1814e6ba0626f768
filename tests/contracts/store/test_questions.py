"""Questions to people: replies are kept as they are, and one that nobody answers is skipped by nobody."""

import pytest

from core.gates import Answer, Chose, GateKind, GateState, Option, Replies, Wrote
from core.store.rows import CallState
from tests.contracts.store.bench import BEN, SECOND, Bench
from tests.contracts.store.cards import closing, expired, expired_card

COLOURS = Replies(("red", "a “dark” green | blue", "赤 🚀"), free_text=True)


async def test_a_question_keeps_its_answers_as_they_are(world: Bench) -> None:
    start = await world.turn()
    gate = await world.ask(start, *await world.call(start), kind=GateKind.QUESTION, replies=COLOURS)
    (view,) = await world.store.gates.open_gates()
    assert view.gate == gate
    assert view.gate.answer_at(1) == Chose(1, "a “dark” green | blue")
    for outside in (-1, 3):
        assert view.gate.answer_at(outside) is None


@pytest.mark.parametrize(
    "answer", [Chose(2, "赤 🚀"), Wrote('rather\n["chose",0,"red"]'), Wrote("deny"), Wrote("[")]
)
async def test_a_reply_is_kept_with_the_call_and_the_turn_continues(world: Bench, answer: Answer) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    gate = await world.ask(start, call_id, kind=GateKind.QUESTION, replies=COLOURS)
    accepted = await world.rule(closing(gate, answer))
    assert accepted.started is not None
    call = await world.call_row(start, call_id)
    assert (call.state, call.answer, call.answered_by) == (CallState.APPROVED, answer, "Ada")
    view = (await world.look(gate_id=gate.id)).gate
    assert view is not None
    assert (view.gate.state, view.gate.outcome) == (GateState.CLOSED, answer)
    assert [vote.answer for vote in view.votes] == [answer]
    assert (await world.rule(closing(gate, Wrote("something else")), by=BEN)).started is None
    assert (await world.call_row(start, call_id)).answer == answer


@pytest.mark.parametrize("answer", [Chose(0, "red"), Wrote("like the sea")])
async def test_a_reply_starts_a_new_budget_and_waiting_for_it_costs_nothing(
    world: Bench, answer: Chose | Wrote
) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    gate = await world.ask(start, call_id, kind=GateKind.QUESTION, replies=COLOURS)
    world.clock.advance(3600)
    accepted = await world.rule(closing(gate, answer))
    assert accepted.started is not None
    loaded = await world.store.turns.load_turn(accepted.started)
    assert (loaded.rounds, loaded.tools_run, loaded.spent_us) == (0, 0, 0)


async def test_an_unanswered_question_is_skipped_without_a_person(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    await world.ask(start, call_id, kind=GateKind.QUESTION, replies=COLOURS, expires_in_s=1)
    late = await world.store.gates.expire_gates(world.clock.now() + SECOND, expired, expired_card)
    assert len(late.started) == 1
    call = await world.call_row(start, call_id)
    assert (call.state, call.answer, call.answered_by) == (CallState.DENIED, Option.SKIP, None)
    gate = (await world.look(gate_id=call.gate_id)).gate
    assert gate is not None
    assert gate.gate.outcome_text == "question expired"
