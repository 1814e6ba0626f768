"""Messages on their way out: each state says what may happen next (P7)."""

import pytest

from core.errors import StoreError
from core.messages import MessageRef
from core.ports import OutboxRow, Posted, SendState
from tests.contracts.store.bench import CHANNEL, Bench


def posted(name: str) -> Posted:
    return Posted(MessageRef(name), f"order of {name}")


async def delivered(world: Bench, row: OutboxRow) -> None:
    await world.store.outbox.claim_outbox(row.id)
    await world.store.outbox.record_part_sent(row.id, posted(f"ref {row.id}"), last=True)


async def test_pending_rows_come_in_order_and_only_of_their_channel(world: Bench) -> None:
    rows = [await world.put_out(text, to=to) for text, to in (("a", "x"), ("b", "y"), ("c", "x"))]
    assert list(await world.store.outbox.pending_outbox(CHANNEL)) == rows
    assert not await world.store.outbox.pending_outbox("another channel")
    await delivered(world, rows[1])
    assert list(await world.store.outbox.pending_outbox(CHANNEL)) == [rows[0], rows[2]]


async def test_a_claimed_row_is_marked_as_sending_and_counted(world: Bench) -> None:
    row = await world.put_out()
    claimed = await world.store.outbox.claim_outbox(row.id)
    assert (claimed.state, claimed.attempts, claimed.repeats) == (SendState.SENDING, 1, 0)
    assert await world.row(row.id) == claimed
    assert await world.store.outbox.claim_outbox(row.id) == claimed


async def test_parts_are_kept_in_order_until_the_last(world: Bench) -> None:
    row = await world.put_out()
    await world.store.outbox.claim_outbox(row.id)
    await world.store.outbox.record_part_sent(row.id, posted("one"), last=False)
    between = await world.row(row.id)
    assert (between.state, between.refs) == (SendState.SENDING, ("one",))
    await world.store.outbox.record_part_sent(row.id, posted("two"), last=True)
    assert not await world.store.outbox.pending_outbox(CHANNEL)
    assert await world.store.outbox.sent_refs(row.id) == ("one", "two")
    done = await world.store.outbox.claim_outbox(row.id)
    assert (done.state, done.refs, done.attempts) == (SendState.SENT, ("one", "two"), 1)


async def test_a_row_has_no_messages_before_it_is_sent_or_after_it_failed(world: Bench) -> None:
    row, failing = await world.put_out("a"), await world.put_out("b")
    assert await world.store.outbox.sent_refs(row.id) == ()
    await world.store.outbox.claim_outbox(failing.id)
    await world.store.outbox.record_part_sent(failing.id, posted("one"), last=False)
    await world.store.outbox.fail_outbox(failing.id, "blocked")
    assert await world.store.outbox.sent_refs(failing.id) == ()
    assert (await world.store.outbox.claim_outbox(failing.id)).state is SendState.FAILED
    assert [pending.id for pending in await world.store.outbox.pending_outbox(CHANNEL)] == [row.id]


async def test_a_request_that_was_not_accepted_is_repeated_later(world: Bench) -> None:
    row = await world.put_out()
    await world.store.outbox.claim_outbox(row.id)
    later = world.clock.now() + 30_000_000
    await world.store.outbox.retry_outbox(row.id, not_before=later, reason="429")
    queued = await world.row(row.id)
    assert (queued.state, queued.not_before, queued.attempts) == (SendState.QUEUED, later, 1)
    again = await world.store.outbox.claim_outbox(row.id)
    assert (again.state, again.attempts, again.repeats) == (SendState.SENDING, 2, 0)


async def test_an_unanswered_request_is_repeated_once_and_both_are_recorded(world: Bench) -> None:
    row = await world.put_out()
    await world.store.outbox.claim_outbox(row.id)
    ambiguous = await world.store.outbox.mark_ambiguous(row.id, "no answer")
    assert (ambiguous.state, ambiguous.repeats) == (SendState.AMBIGUOUS, 0)
    assert await world.row(row.id) == ambiguous
    repeated = await world.store.outbox.claim_outbox(row.id)
    assert (repeated.state, repeated.attempts, repeated.repeats) == (SendState.SENDING, 2, 1)
    final = await world.store.outbox.mark_ambiguous(row.id, "no answer again")
    assert (final.state, final.repeats) == (SendState.AMBIGUOUS, 1)
    assert await world.store.outbox.claim_outbox(row.id) == final
    assert not await world.store.outbox.pending_outbox(CHANNEL)


async def test_a_successful_repeat_ends_as_sent(world: Bench) -> None:
    row = await world.put_out()
    await world.store.outbox.claim_outbox(row.id)
    await world.store.outbox.mark_ambiguous(row.id, "no answer")
    await delivered(world, row)
    done = await world.store.outbox.claim_outbox(row.id)
    assert (done.state, done.repeats) == (SendState.SENT, 1)


async def test_a_repeat_that_must_wait_earns_no_further_repeat(world: Bench) -> None:
    row = await world.put_out()
    await world.store.outbox.claim_outbox(row.id)
    await world.store.outbox.mark_ambiguous(row.id, "no answer")
    await world.store.outbox.claim_outbox(row.id)
    await world.store.outbox.retry_outbox(row.id, not_before=0, reason="429")
    assert (await world.store.outbox.claim_outbox(row.id)).repeats == 1
    await world.store.outbox.mark_ambiguous(row.id, "no answer")
    assert not await world.store.outbox.pending_outbox(CHANNEL)


async def test_settled_rows_stay_settled(world: Bench) -> None:
    row = await world.put_out()
    await delivered(world, row)
    await world.store.outbox.retry_outbox(row.id, not_before=0, reason="late")
    await world.store.outbox.fail_outbox(row.id, "late")
    assert (await world.store.outbox.mark_ambiguous(row.id, "late")).state is SendState.SENT
    with pytest.raises(StoreError):
        await world.store.outbox.record_part_sent(row.id, posted("late"), last=True)
    assert (await world.store.outbox.claim_outbox(row.id)).state is SendState.SENT
    assert await world.store.outbox.sent_refs(row.id) == (f"ref {row.id}",)


async def test_an_edit_ends_without_a_new_message(world: Bench) -> None:
    row = await world.put_out()
    await world.store.outbox.claim_outbox(row.id)
    await world.store.outbox.record_sent(row.id)
    assert (await world.store.outbox.claim_outbox(row.id)).state is SendState.SENT
    assert await world.store.outbox.sent_refs(row.id) == ()


async def test_an_unknown_row_is_an_error(world: Bench) -> None:
    for unit in (world.store.outbox.claim_outbox(7), world.store.outbox.mark_ambiguous(7, "why")):
        with pytest.raises(StoreError, match="7"):
            await unit


async def test_deliveries_report_their_outcome(world: Bench) -> None:
    event = world.message()
    start = (await world.store.inbound.accept_event(event, world.queueing(), send_now=False)).started
    assert start is not None
    await world.finish(start, "x", world.draft("sent"), world.draft("failed"), world.draft("unclear"))
    sent, failed, unclear = await world.store.outbox.pending_outbox(CHANNEL)
    await delivered(world, sent)
    await world.store.outbox.fail_outbox(failed.id, "blocked by the person")
    for _ in range(2):
        await world.store.outbox.claim_outbox(unclear.id)
        await world.store.outbox.mark_ambiguous(unclear.id, "timeout")
    explained = await world.store.explanations.explain(event.key)
    assert explained is not None
    assert [(one.state, one.parts, one.repeats, one.reason) for one in explained.deliveries] == [
        ("sent", 1, 0, None),
        ("failed", 0, 0, "blocked by the person"),
        ("ambiguous", 0, 1, "timeout"),
    ]


# --- what is known around a request that went unanswered --------------------------------------------------


async def test_the_context_of_a_post_separates_earlier_and_later_messages(world: Bench) -> None:
    first, lost, after = [await world.put_out(text) for text in ("first", "lost", "after")]
    await delivered(world, first)
    world.clock.advance(1)
    await world.store.outbox.claim_outbox(lost.id)
    asked_at = world.clock.now()
    world.clock.advance(1)
    await delivered(world, after)
    await world.say("later", order=77)
    await world.store.outbox.mark_ambiguous(lost.id, "no answer", asked_at)
    around = await world.store.outbox.post_context(lost.id)
    earlier, later = ({known.order_key for known in some} for some in (around.earlier, around.later))
    assert (around.row.id, around.asked_by) == (lost.id, asked_at)
    assert f"order of ref {first.id}" in earlier
    assert later == {f"order of ref {after.id}", "0000000077"}
    assert earlier.isdisjoint(later)
    assert around.shown == {f"ref {first.id}", f"ref {after.id}"}


async def test_earlier_parts_of_a_message_are_part_of_its_earlier_context(world: Bench) -> None:
    lost, other = await world.put_out("lost"), await world.put_out("other")
    await world.store.outbox.claim_outbox(lost.id)
    world.clock.advance(1)
    await delivered(world, other)
    world.clock.advance(1)
    await world.store.outbox.record_part_sent(lost.id, posted("one"), last=False)
    await world.store.outbox.mark_ambiguous(lost.id, "no answer")
    around = await world.store.outbox.post_context(lost.id)
    assert {"order of one", f"order of ref {other.id}"} <= {known.order_key for known in around.earlier}
    assert around.asked_by == world.clock.now()


async def test_rows_of_unknown_delivery_are_listed(world: Bench) -> None:
    lost, queued, sending, unclear, repeated = [await world.put_out(text) for text in "abcde"]
    await world.store.outbox.claim_outbox(sending.id)
    for row in (lost, unclear, repeated):
        await world.store.outbox.claim_outbox(row.id)
        await world.store.outbox.mark_ambiguous(row.id, "no answer")
    await world.store.outbox.claim_outbox(repeated.id)
    await world.store.outbox.record_part_sent(repeated.id, posted("one"), last=False)
    await world.store.outbox.record_part_sent(repeated.id, posted("two"), last=True)
    await world.store.outbox.record_part_sent(unclear.id, posted("three"), last=False)
    await world.store.outbox.mark_ambiguous(unclear.id, "no answer again")
    around = await world.store.outbox.post_context(lost.id)
    assert [(other.row.id, other.open, other.parts) for other in around.uncertain] == [
        (sending.id, False, (0,)),
        (unclear.id, True, (1,)),
        (repeated.id, False, (0,)),
    ]
    assert queued.id not in {other.row.id for other in around.uncertain}


async def test_a_part_that_was_found_is_kept_and_does_not_count_as_a_repeat(world: Bench) -> None:
    row = await world.put_out()
    await world.store.outbox.claim_outbox(row.id)
    await world.store.outbox.mark_ambiguous(row.id, "no answer")
    await world.store.outbox.record_part_sent(row.id, posted("found"), last=False)
    found = await world.row(row.id)
    assert (found.state, found.refs, found.repeats) == (SendState.SENDING, ("found",), 0)
    await world.store.outbox.record_sent(row.id)
    assert await world.store.outbox.sent_refs(row.id) == ("found",)
