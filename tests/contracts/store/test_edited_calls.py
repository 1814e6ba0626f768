"""A call is changed before it is agreed to: from then on everybody is asked about what it was made."""

from dataclasses import replace

from core.gates import Gate, Option
from core.messages import plain
from core.ports import SendState
from core.store.effects import CastVote, CloseGate, EditCall, EditedCall
from core.store.rows import CallState, TurnStart
from tests.contracts.store.bench import ADA, BEN, Bench

CHANGED = '{"command": "echo changed"}'
CARD, SETTLED = plain("changed card"), plain("settled card")


def made_of(gate: Gate) -> EditedCall:
    changed = replace(
        gate,
        title="Run it so?",
        detail="echo changed",
        binding="hash of the changed call",
        pattern="echo changed",
        first_choice=gate.first_choice + 2,
    )
    return EditedCall(changed, gate.binding, CHANGED)


async def asked(world: Bench) -> tuple[TurnStart, str, Gate]:
    """The first of two calls."""
    start = await world.turn()
    call_id, _ = await world.call(start, "shell", "http")
    return start, call_id, await world.ask(start, call_id)


async def test_earlier_votes_do_not_count_for_an_edited_call(world: Bench) -> None:
    start, call_id, gate = await asked(world)
    await world.rule(CastVote(gate.id, Option.APPROVE), by=BEN)
    edit = made_of(gate)
    accepted = await world.rule(EditCall(edit, CARD), CastVote(gate.id, Option.APPROVE), by=ADA)
    (view,) = await world.store.gates.open_gates()
    assert [vote.user_id for vote in view.votes] == ["ada"]
    assert view.gate == replace(edit.gate, changed_at=world.clock.now())
    call = await world.call_row(start, call_id)
    assert (call.arguments, call.binding, call.edited_by, call.state) == (
        CHANGED,
        edit.gate.binding,
        "Ada",
        CallState.WAITING,
    )
    (other,) = (row for row in (await world.reload(start)).calls if row.call_id != call_id)
    assert (other.arguments, other.binding, other.edited_by) == ("{}", None, None)
    assert [(row.message, row.state) for row in accepted.outbox] == [(CARD, SendState.QUEUED)]


async def test_the_buttons_of_an_edited_call_have_new_positions(world: Bench) -> None:
    """A press of what an old copy shows is known as such, also once the hub was started again."""
    start, call_id, gate = await asked(world)
    for edits, editor in ((1, ADA), (2, BEN)):
        (view,) = await world.store.gates.open_gates()
        await world.rule(EditCall(made_of(view.gate), CARD), by=editor)
        assert (await world.call_row(start, call_id)).edited_by == editor.name
        (view,) = await world.store.gates.open_gates()
        assert view.gate.first_choice == 2 * edits
        assert [view.gate.answer_at(at) for at in (2 * edits - 1, 2 * edits)] == [None, gate.answer_at(0)]


async def test_an_edit_and_approval_at_once_show_only_the_outcome(world: Bench) -> None:
    start, call_id, gate = await asked(world)
    close = CloseGate(gate.id, Option.APPROVE, "Approved by Ada, edited", SETTLED)
    accepted = await world.rule(EditCall(made_of(gate), None), close)
    assert accepted.started is not None
    assert [row.message for row in accepted.outbox] == [SETTLED]
    call = await world.call_row(start, call_id)
    assert (call.state, call.arguments) == (CallState.APPROVED, CHANGED)


async def test_the_journal_keeps_what_the_model_asked_for(world: Bench) -> None:
    start, call_id, gate = await asked(world)
    for _ in range(2):
        await world.rule(EditCall(made_of(gate), CARD))
    said = [entry.said for entry in (await world.reload(start)).entries]
    assert "{}" in [getattr(one, "arguments", None) for one in said]
    assert (await world.call_row(start, call_id)).arguments == CHANGED
