"""Several calls on one card: what is said to it is said of exactly those, and of all of them."""

from dataclasses import replace

import pytest

from core.errors import StaleTurn
from core.gates import GateKind, Option
from core.store.effects import StopThread
from core.store.rows import CallRow, CallState, TurnStart
from tests.contracts.store.bench import Bench
from tests.contracts.store.calls import go
from tests.contracts.store.cards import SETTLED, closing

Standing = tuple[CallState, Option | None, str | None]


def standing(call: CallRow) -> Standing:
    answer = call.answer
    assert answer is None or isinstance(answer, Option)
    return call.state, answer, call.answered_by


async def standings(world: Bench, start: TurnStart) -> list[Standing]:
    return [standing(call) for call in (await world.reload(start)).calls]


async def test_all_calls_of_a_joint_gate_wait_and_each_is_bound_to_what_was_shown(world: Bench) -> None:
    start = await world.turn()
    first, between, last = await world.call(start, "shell", "time", "http")
    gate = world.joint(start, (first, last))
    await world.store.turns.ask_person(gate, [world.card(gate)])
    (view,) = await world.store.gates.open_gates()
    assert view.gate == gate
    assert (await world.look()).open_gates == (view,)
    calls = (await world.reload(start)).calls
    assert [(call.state, call.gate_id, call.binding) for call in calls] == [
        (CallState.WAITING, gate.id, "hash of shell"),
        (CallState.INTENT, None, None),
        (CallState.WAITING, gate.id, "hash of http"),
    ]
    assert between == calls[1].call_id


@pytest.mark.parametrize(
    "option, expected",
    [
        (Option.APPROVE, (CallState.APPROVED, Option.APPROVE, "Ada")),
        (Option.DENY, (CallState.DENIED, Option.DENY, "Ada")),
        (Option.ONE_BY_ONE, (CallState.INTENT, Option.ONE_BY_ONE, "Ada")),
    ],
)
async def test_one_answer_decides_all_of_its_calls_and_no_others(
    world: Bench, option: Option, expected: Standing
) -> None:
    start = await world.turn()
    first, _, last = await world.call(start, "shell", "time", "http")
    gate = world.joint(start, (first, last))
    cards = [world.card(gate), world.card(gate, to="to Ada alone")]
    await world.store.turns.ask_person(gate, cards)
    accepted = await world.rule(closing(gate, option))
    assert accepted.started is not None
    assert await standings(world, start) == [expected, (CallState.INTENT, None, None), expected]
    assert [(row.address, row.message) for row in accepted.outbox] == [
        ("to room", SETTLED),
        ("to Ada alone", SETTLED),
    ]


async def test_consent_to_anything_but_what_was_shown_does_not_count(world: Bench) -> None:
    start = await world.turn()
    gate = replace(world.joint(start, await world.call(start, "shell", "http")), binding="of other calls")
    await world.store.turns.ask_person(gate, [world.card(gate)])
    accepted = await world.rule(closing(gate, Option.APPROVE))
    assert accepted.started is not None
    assert {state for state, *_ in await standings(world, start)} == {CallState.INTENT}


async def test_an_expired_gate_is_denied_without_a_person(world: Bench) -> None:
    start = await world.turn()
    gate = world.joint(start, await world.call(start, "shell", "http"))
    await world.store.turns.ask_person(gate, [world.card(gate)])
    expired = await world.store.gates.expire_gates(gate.expires_at, lambda _: "expired", lambda _: SETTLED)
    assert len(expired.started) == 1
    assert await standings(world, start) == [(CallState.DENIED, Option.DENY, None)] * 2


async def test_a_call_that_cannot_wait_leaves_nothing_of_the_card(world: Bench) -> None:
    start = await world.turn()
    first, second = await world.call(start, "shell", "http")
    await world.store.turns.mark_running(start.turn_id, second, go)
    gate = world.joint(start, (first, second))
    with pytest.raises(StaleTurn):
        await world.store.turns.ask_person(gate, [world.card(gate)])
    assert not await world.store.gates.open_gates()
    assert await world.states(start) == [CallState.INTENT, CallState.RUNNING]


async def test_split_up_each_call_is_asked_about_at_once_and_the_turn_waits_for_the_last(
    world: Bench,
) -> None:
    start = await world.turn()
    calls = await world.call(start, "shell", "http")
    joint = world.joint(start, calls)
    await world.store.turns.ask_person(joint, [world.card(joint)])
    await world.rule(closing(joint, Option.ONE_BY_ONE))
    singles = [world.gate(start, call_id) for call_id in calls]
    await world.store.turns.ask_person(singles[0], [world.card(one) for one in singles], beside=singles[1:])
    assert [view.gate for view in (await world.look()).open_gates] == singles
    assert (await world.rule(closing(singles[1], Option.DENY))).started is None
    assert (await world.rule(closing(singles[0], Option.APPROVE))).started is not None
    assert [state for state, *_ in await standings(world, start)] == [CallState.APPROVED, CallState.DENIED]


async def test_a_stop_settles_a_joint_gate_without_an_answer(world: Bench) -> None:
    start = await world.turn()
    gate = world.joint(start, await world.call(start, "shell", "http"))
    await world.store.turns.ask_person(gate, [world.card(gate)])
    await world.rule(StopThread("Stopped."))
    view = (await world.look(gate_id=gate.id)).gate
    assert view is not None
    assert (view.gate.kind, view.gate.outcome, view.gate.outcome_text) == (
        GateKind.APPROVAL,
        None,
        "Stopped.",
    )
