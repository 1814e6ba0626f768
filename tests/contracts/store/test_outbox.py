"""Messages on their way out: each state says what may happen next (P7)."""

import pytest

from core.errors import StoreError
from core.messages import MessageRef
from core.ports import OutboxRow, Posted, SendState
from tests.contracts.store.world import CHANNEL, World


def posted(name: str) -> Posted:
    return Posted(MessageRef(name), f"order of {name}")


async def delivered(world: World, row: OutboxRow) -> None:
    await world.store.claim_outbox(row.id)
    await world.store.record_part_sent(row.id, posted(f"ref {row.id}"), last=True)


async def test_pending_rows_come_in_order_and_only_of_their_channel(world: World) -> None:
    rows = [await world.put_out(text, to=to) for text, to in (("a", "x"), ("b", "y"), ("c", "x"))]
    assert list(await world.store.pending_outbox(CHANNEL)) == rows
    assert not await world.store.pending_outbox("another channel")
    await delivered(world, rows[1])
    assert list(await world.store.pending_outbox(CHANNEL)) == [rows[0], rows[2]]


async def test_a_claimed_row_is_being_sent_and_counted(world: World) -> None:
    row = await world.put_out()
    claimed = await world.store.claim_outbox(row.id)
    assert (claimed.state, claimed.attempts, claimed.repeats) == (SendState.SENDING, 1, 0)
    assert await world.row(row.id) == claimed
    assert await world.store.claim_outbox(row.id) == claimed


async def test_parts_are_kept_in_order_until_the_last(world: World) -> None:
    row = await world.put_out()
    await world.store.claim_outbox(row.id)
    await world.store.record_part_sent(row.id, posted("one"), last=False)
    between = await world.row(row.id)
    assert (between.state, between.refs) == (SendState.SENDING, ("one",))
    await world.store.record_part_sent(row.id, posted("two"), last=True)
    assert not await world.store.pending_outbox(CHANNEL)
    assert await world.store.sent_refs(row.id) == ("one", "two")
    done = await world.store.claim_outbox(row.id)
    assert (done.state, done.refs, done.attempts) == (SendState.SENT, ("one", "two"), 1)


async def test_a_row_has_no_messages_before_it_went_out_or_once_it_failed(world: World) -> None:
    row, failing = await world.put_out("a"), await world.put_out("b")
    assert await world.store.sent_refs(row.id) == ()
    await world.store.claim_outbox(failing.id)
    await world.store.record_part_sent(failing.id, posted("one"), last=False)
    await world.store.fail_outbox(failing.id, "blocked")
    assert await world.store.sent_refs(failing.id) == ()
    assert (await world.store.claim_outbox(failing.id)).state is SendState.FAILED
    assert [pending.id for pending in await world.store.pending_outbox(CHANNEL)] == [row.id]


async def test_a_request_that_was_not_taken_is_made_again_later(world: World) -> None:
    row = await world.put_out()
    await world.store.claim_outbox(row.id)
    later = world.clock.now() + 30_000_000
    await world.store.retry_outbox(row.id, not_before=later, reason="429")
    queued = await world.row(row.id)
    assert (queued.state, queued.not_before, queued.attempts) == (SendState.QUEUED, later, 1)
    again = await world.store.claim_outbox(row.id)
    assert (again.state, again.attempts, again.repeats) == (SendState.SENDING, 2, 0)


async def test_an_unanswered_request_is_repeated_once_and_both_is_recorded(world: World) -> None:
    row = await world.put_out()
    await world.store.claim_outbox(row.id)
    ambiguous = await world.store.mark_ambiguous(row.id, "no answer")
    assert (ambiguous.state, ambiguous.repeats) == (SendState.AMBIGUOUS, 0)
    assert await world.row(row.id) == ambiguous
    repeated = await world.store.claim_outbox(row.id)
    assert (repeated.state, repeated.attempts, repeated.repeats) == (SendState.SENDING, 2, 1)
    final = await world.store.mark_ambiguous(row.id, "no answer again")
    assert (final.state, final.repeats) == (SendState.AMBIGUOUS, 1)
    assert await world.store.claim_outbox(row.id) == final
    assert not await world.store.pending_outbox(CHANNEL)


async def test_a_repeat_that_goes_through_ends_as_sent(world: World) -> None:
    row = await world.put_out()
    await world.store.claim_outbox(row.id)
    await world.store.mark_ambiguous(row.id, "no answer")
    await delivered(world, row)
    done = await world.store.claim_outbox(row.id)
    assert (done.state, done.repeats) == (SendState.SENT, 1)


async def test_a_repeat_that_must_wait_does_not_win_another_repeat(world: World) -> None:
    row = await world.put_out()
    await world.store.claim_outbox(row.id)
    await world.store.mark_ambiguous(row.id, "no answer")
    await world.store.claim_outbox(row.id)
    await world.store.retry_outbox(row.id, not_before=0, reason="429")
    assert (await world.store.claim_outbox(row.id)).repeats == 1
    await world.store.mark_ambiguous(row.id, "no answer")
    assert not await world.store.pending_outbox(CHANNEL)


async def test_what_is_settled_stays_settled(world: World) -> None:
    row = await world.put_out()
    await delivered(world, row)
    await world.store.retry_outbox(row.id, not_before=0, reason="late")
    await world.store.fail_outbox(row.id, "late")
    assert (await world.store.mark_ambiguous(row.id, "late")).state is SendState.SENT
    with pytest.raises(StoreError):
        await world.store.record_part_sent(row.id, posted("late"), last=True)
    assert (await world.store.claim_outbox(row.id)).state is SendState.SENT
    assert await world.store.sent_refs(row.id) == (f"ref {row.id}",)


async def test_an_edit_ends_without_a_message_of_its_own(world: World) -> None:
    row = await world.put_out()
    await world.store.claim_outbox(row.id)
    await world.store.record_sent(row.id)
    assert (await world.store.claim_outbox(row.id)).state is SendState.SENT
    assert await world.store.sent_refs(row.id) == ()


async def test_a_row_nobody_wrote_is_an_error(world: World) -> None:
    for unit in (world.store.claim_outbox(7), world.store.mark_ambiguous(7, "why")):
        with pytest.raises(StoreError, match="7"):
            await unit


async def test_deliveries_tell_how_it_went(world: World) -> None:
    event = world.message()
    start = (await world.store.accept_event(event, world.queueing(), send_now=False)).started
    assert start is not None
    await world.finish(start, "x", world.draft("sent"), world.draft("failed"), world.draft("unclear"))
    sent, failed, unclear = await world.store.pending_outbox(CHANNEL)
    await delivered(world, sent)
    await world.store.fail_outbox(failed.id, "blocked by the person")
    for _ in range(2):
        await world.store.claim_outbox(unclear.id)
        await world.store.mark_ambiguous(unclear.id, "timeout")
    explained = await world.store.explain(event.key)
    assert explained is not None
    assert [(one.state, one.parts, one.repeats, one.reason) for one in explained.deliveries] == [
        ("sent", 1, 0, None),
        ("failed", 0, 0, "blocked by the person"),
        ("ambiguous", 0, 1, "timeout"),
    ]
