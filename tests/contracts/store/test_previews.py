"""Previews in the store: one for each running turn, replaced in the transaction that ends or pauses it."""

import pytest

from core.messages import Address, Message, MessageRef
from core.ports import OutboxRow, Posted, SendState
from core.store.effects import StopThread
from core.store.rows import TurnStart, TurnState
from tests.contracts.store.bench import CHANNEL, SECOND, Bench
from tests.contracts.store.conftest import Database

HERE = Address("to room")
SHOWN = Posted(MessageRef("41"), "0000000041")


async def begin(world: Bench, start: TurnStart, at: Address = HERE) -> OutboxRow:
    row = await world.store.outbox.begin_preview(start.turn_id, CHANNEL, at)
    assert row is not None
    return row


async def shown(world: Bench, start: TurnStart) -> OutboxRow:
    """A turn whose preview is shown."""
    row = await begin(world, start)
    await world.store.outbox.record_preview(row.id, SHOWN)
    return row


async def others(world: Bench) -> list[OutboxRow]:
    """Return what is to be sent."""
    previews = {SendState.STREAMING, SendState.REPLACED}
    return [row for row in await world.store.outbox.pending_outbox(CHANNEL) if row.state not in previews]


async def test_a_running_turn_has_one_preview_and_each_beginning_is_counted(world: Bench) -> None:
    start = await world.turn()
    first = await begin(world, start)
    assert (first.state, first.attempts, first.refs) == (SendState.STREAMING, 1, ())
    assert first.message == Message(())
    again = await begin(world, start)
    assert (again.id, again.attempts, again.nonce) == (first.id, 2, first.nonce)
    assert await world.store.outbox.preview_shown(first.id) is None
    await world.store.outbox.record_preview(first.id, SHOWN)
    assert await world.store.outbox.preview_shown(first.id) == SHOWN
    assert (await begin(world, start)).refs == (SHOWN.ref,)
    await world.store.outbox.record_preview(first.id, None)
    assert await world.store.outbox.preview_shown(first.id) is None


async def test_a_turn_that_does_not_run_has_no_preview(world: Bench) -> None:
    start = await world.turn()
    await world.finish(start)
    assert await world.store.outbox.begin_preview(start.turn_id, CHANNEL, HERE) is None
    waiting = await world.turn()
    await world.ask(waiting)
    assert await world.store.outbox.begin_preview(waiting.turn_id, CHANNEL, HERE) is None
    assert await world.store.outbox.begin_preview("nobody's", CHANNEL, HERE) is None


async def test_the_first_message_of_a_turn_replaces_its_preview(world: Bench) -> None:
    start = await world.turn()
    preview = await shown(world, start)
    await world.finish(start, "x", world.draft("one"), world.draft("two"))
    one, two = await world.store.outbox.pending_outbox(CHANNEL)
    assert (one.replaces, two.replaces) == (preview.id, None)
    assert await world.store.outbox.preview_shown(preview.id) == SHOWN
    assert await world.store.outbox.sent_refs(preview.id) == (SHOWN.ref,)


async def test_a_preview_at_another_address_is_removed_instead(world: Bench) -> None:
    start = await world.turn()
    preview = await shown(world, start)
    await world.finish(start, "x", world.draft("one", to="elsewhere"))
    away, one = await world.store.outbox.pending_outbox(CHANNEL)
    assert (away.edit_of, away.address, away.message) == (preview.id, HERE, Message(()))
    assert (one.replaces, one.address) == (None, "elsewhere")


@pytest.mark.parametrize("how", ["stopped", "asked", "unknown"])
async def test_a_turn_that_waits_without_an_answer_removes_its_preview_first(world: Bench, how: str) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    preview = await shown(world, start)
    if how == "stopped":
        await world.finish(start, None, state=TurnState.STOPPED)
    elif how == "asked":
        await world.ask(start, call_id)
    else:
        await world.store.turns.mark_running(start.turn_id, call_id, lambda _call, _who, _grants: None)
        gate = world.gate(start, call_id)
        await world.store.recovery.mark_unknown(call_id, gate, [world.card(gate)])
    away, *cards = await world.store.outbox.pending_outbox(CHANNEL)
    assert (away.edit_of, away.message) == (preview.id, Message(()))
    assert len(cards) == (0 if how == "stopped" else 1)


async def test_a_turn_that_continues_after_a_question_begins_another_preview(world: Bench) -> None:
    start = await world.turn()
    preview = await shown(world, start)
    await world.ask(start)
    late = world.clock.now() + 7_200 * SECOND
    closed = await world.store.gates.expire_gates(late, lambda _: "late", lambda _: Message(()))
    assert [started.turn_id for started in closed.started] == [start.turn_id]
    assert (await begin(world, start)).id != preview.id


async def test_a_preview_does_not_delay_a_message_that_can_be_sent_at_once(world: Bench) -> None:
    start, other = await world.turn(), await world.turn(scope="other")
    await shown(world, start)
    await world.finish(other, "x", world.draft("hi"), send_now=True)
    assert [row.state for row in await others(world)] == [SendState.SENDING]


async def test_why_reports_answers_and_not_previews(world: Bench) -> None:
    event = world.message()
    start = (await world.store.inbound.accept_event(event, world.queueing(), send_now=False)).started
    assert start is not None
    await shown(world, start)
    await world.finish(start, "x", world.draft("hi"))
    explained = await world.store.explanations.explain(event.key)
    assert explained is not None
    assert [delivery.state for delivery in explained.deliveries] == ["queued"]


# --- after a restart --------------------------------------------------------------------------------------


async def restarted(database: Database) -> Bench:
    world = await database.open()
    await world.store.recovery.recover()
    return world


async def test_a_shown_preview_waits_for_its_turn(database: Database) -> None:
    world = await database.open()
    start = await world.turn()
    preview = await shown(world, start)
    world = await restarted(database)
    (kept,) = await world.store.outbox.pending_outbox(CHANNEL)
    assert (kept.id, kept.state, kept.refs) == (preview.id, SendState.STREAMING, (SHOWN.ref,))
    assert (await begin(world, start)).id == preview.id


async def test_an_answer_interrupted_while_it_replaces_a_preview_is_not_a_repeat(database: Database) -> None:
    world = await database.open()
    start = await world.turn()
    await shown(world, start)
    await world.finish(start, "x", world.draft("hi"))
    (answer,) = await others(world)
    await world.store.outbox.claim_outbox(answer.id)
    world = await restarted(database)
    (answer,) = await others(world)
    assert answer.state is SendState.QUEUED
    await world.store.outbox.claim_outbox(answer.id)
    await world.store.outbox.record_part_sent(answer.id, SHOWN, last=False)
    world = await restarted(database)
    (answer,) = await others(world)
    assert answer.state is SendState.AMBIGUOUS  # its second part may have gone out


async def test_an_unconfirmed_preview_stays_known_until_found(database: Database) -> None:
    world = await database.open()
    start = await world.turn()
    preview = await begin(world, start)
    await world.finish(start, "x", world.draft("hi"))
    (answer,) = await others(world)
    await world.store.outbox.claim_outbox(answer.id)
    world = await restarted(database)
    lost, answer = await world.store.outbox.pending_outbox(CHANNEL)
    assert (lost.id, lost.state, lost.refs) == (preview.id, SendState.REPLACED, ())
    assert answer.state is SendState.AMBIGUOUS
    await world.store.outbox.record_preview(lost.id, None)
    assert [row.id for row in await world.store.outbox.pending_outbox(CHANNEL)] == [answer.id]


async def test_once_the_answer_is_sent_its_preview_is_no_longer_looked_for(database: Database) -> None:
    world = await database.open()
    start = await world.turn()
    await begin(world, start)
    await world.finish(start, "x", world.draft("hi"))
    (answer,) = await others(world)
    await world.store.outbox.claim_outbox(answer.id)
    await world.store.outbox.record_part_sent(answer.id, SHOWN, last=True)
    world = await restarted(database)
    assert await world.store.outbox.pending_outbox(CHANNEL) == ()


async def test_a_stopped_turn_of_a_dead_hub_leaves_no_preview(database: Database) -> None:
    world = await database.open()
    start = await world.turn()
    preview = await shown(world, start)
    await world.rule(StopThread("Stopped."))
    world = await restarted(database)
    (away,) = await world.store.outbox.pending_outbox(CHANNEL)
    assert (away.edit_of, away.message) == (preview.id, Message(()))


async def test_the_context_has_earlier_messages_and_all_that_was_shown(world: Bench) -> None:
    turn = await world.turn(scope="first", order=7, address="to first")
    rows = [await world.put_out(text, to="to second") for text in ("earlier", "later")]
    await sent(world, rows[0], "11")
    world.clock.advance(1)
    preview = await begin(world, turn, Address("to first"))
    world.clock.advance(1)
    await sent(world, rows[1], "12")
    await world.say("later", scope="first", order=13, address="to first")
    around = await world.store.outbox.post_context(preview.id)
    earlier = {(known.address, known.order_key) for known in around.earlier}
    assert {("to first", "0000000007"), ("to second", "0000000011")} <= earlier
    assert {key for _, key in earlier}.isdisjoint({"0000000012", "0000000013"})
    assert {known.order_key for known in around.later} == {"0000000012", "0000000013"}
    assert around.shown == {"11", "12"}


async def test_a_preview_that_is_not_shown_starts_over(world: Bench) -> None:
    turn = await world.turn()
    preview = await begin(world, turn)
    await world.store.outbox.record_preview(preview.id, None)
    assert (await begin(world, turn)).attempts == 1


async def sent(world: Bench, row: OutboxRow, ref: str) -> None:
    await world.store.outbox.claim_outbox(row.id)
    await world.store.outbox.record_part_sent(row.id, Posted(MessageRef(ref), f"{ref:>010}"), last=True)
