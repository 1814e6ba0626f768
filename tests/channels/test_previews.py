"""Previews in a conversation while a turn runs, and what is left of them in the end."""

import asyncio
import itertools

import pytest

from core.errors import RateLimited, Unanswered, Unavailable
from core.messages import Address, Message
from core.ports import OutboxRow, SendState
from tests.channels.line import Turn, once, timed_line
from tests.channels.loopback import LoopbackChannel
from tests.channels.memory import MemoryOutbox


async def test_without_text_a_sign_of_life_is_given_again_and_again() -> None:
    async with timed_line() as on:
        turn = on.begin()
        await on.pass_s(13)
        assert on.times("typing") == pytest.approx([0, 4, 8, 12], abs=1)
        gaps = [b - a for a, b in zip(on.times("typing"), on.times("typing")[1:], strict=False)]
        assert all(gap <= 5 for gap in gaps)
        assert on.channel.shown == []
        on.end(turn, "done")
        await on.outbox.settled()
        await on.pass_s(20)
        assert len(on.times("typing")) == 4
        assert on.channel.stands("a") == ["done"]


async def test_text_is_shown_at_most_once_a_second_and_becomes_the_answer() -> None:
    async with timed_line(channel=LoopbackChannel(limit=1000)) as on:
        turn = on.begin(text="0")
        for number in range(1, 121):  # thirty seconds
            await on.pass_s(0.25)
            turn.text += f" {number}"
        assert on.channel.shown[0].says in turn.text
        answer = turn.text + ". The end"
        on.end(turn, answer)
        await on.pass_s(2)
        await on.outbox.settled()
        changes = on.times("post", "edit")
        assert 25 <= len(changes) <= 32
        assert all(b - a >= 1 for a, b in itertools.pairwise(changes))
        assert on.channel.stands("a") == [answer]
        assert on.times("typing") == []


async def test_an_answer_that_is_stored_late_keeps_the_edit_interval() -> None:
    async with timed_line() as on:
        turn = on.begin(text="one")
        await on.pass_s(0.5)
        on.dispatcher.close_preview(turn.preview)
        await on.pass_s(0.25)
        on.outbox.finish_turn(turn.id, turn.address, "done")
        await on.pass_s(2)
        await on.outbox.settled()
        first, last = on.times("post", "edit")
        assert last - first >= 1
        assert on.channel.stands("a") == ["done"]


async def test_the_answers_other_parts_follow_the_preview() -> None:
    async with timed_line() as on:
        turn = on.begin(text="one")
        await on.pass_s(1)
        row_id = on.end(turn, "0123456789abcdefghijXYZ")
        await on.pass_s(1)
        assert on.channel.stands("a") == ["0123456789", "abcdefghij", "XYZ"]
        row = await on.outbox.reaches(row_id, SendState.SENT)
        assert row.refs == ("0", "1", "2")
        assert on.outbox.all_settled


async def test_a_preview_shows_its_first_part_only_and_rests_while_that_stays() -> None:
    async with timed_line() as on:
        turn = on.begin(text="0123456789")
        await on.pass_s(1)
        turn.text += "and more"
        await on.pass_s(9)
        assert on.channel.stands("a") == ["0123456789"]
        assert on.times("edit") == []
        assert on.times("typing")


async def test_only_the_reference_of_a_preview_is_recorded() -> None:
    async with timed_line() as on:
        turn = on.begin(text="one")
        for text in ("two", "three", "four"):
            await on.pass_s(1)
            turn.text = text
        await on.pass_s(1)
        assert on.channel.stands("a") == ["four"]
        assert [what for _, what in on.outbox.history] == ["begun", "shown"]
        assert on.outbox.row(1).message == Message(())


async def test_previews_yield_to_other_messages() -> None:
    async with timed_line() as on:
        turn = on.begin(text="one")
        await on.pass_s(1)
        on.channel.hold.add("a")
        on.outbox.enqueue("a", "card")
        turn.text = "two"
        await on.pass_s(5)
        assert on.channel.requests[-1][1] == "post"
        assert on.channel.stands("a") == ["one"]
        on.channel.hold.clear()
        on.channel.changed()
        await on.pass_s(1)
        assert on.channel.stands("a") == ["two", "card"]


class SlowToBegin(MemoryOutbox):
    """Answers that a preview was begun once it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = asyncio.Event()

    async def begin_preview(self, turn_id: str, channel: str, address: Address) -> OutboxRow | None:
        row = await super().begin_preview(turn_id, channel, address)
        await self.go_on.wait()
        return row


async def test_a_message_queued_as_a_preview_begins_is_sent_first() -> None:
    outbox = SlowToBegin()
    async with timed_line(outbox) as on:
        turn = on.begin(text="one")
        await outbox.until(lambda: (1, "begun") in outbox.history)
        outbox.enqueue("a", "notice")
        outbox.go_on.set()
        await on.rest()
        assert on.channel.stands("a") == ["notice"]
        await on.pass_s(1)
        assert on.channel.stands("a") == ["notice", "one"]
        on.end(turn, "done")
        await on.pass_s(1)
        assert on.channel.stands("a") == ["notice", "done"]


async def test_a_turn_that_ends_while_its_preview_begins_leaves_none() -> None:
    outbox = SlowToBegin()
    async with timed_line(outbox) as on:
        turn = on.begin(text="one")
        await outbox.until(lambda: (1, "begun") in outbox.history)
        on.end(turn, "done")
        outbox.go_on.set()
        await on.pass_s(1)
        assert on.channel.stands("a") == ["done"]
        assert [what for _, what in on.channel.requests] == ["post"]


async def test_a_turn_that_ended_before_begins_no_preview() -> None:
    async with timed_line() as on:
        turn = Turn("t1", "a", "one")
        on.dispatcher.open_preview(turn.preview)
        await on.pass_s(3)
        assert on.channel.requests == []
        on.dispatcher.close_preview(turn.preview)


async def test_without_an_answer_the_preview_is_deleted() -> None:
    async with timed_line() as on:
        turn = on.begin(text="one")
        await on.pass_s(1)
        on.channel.after = once(Unanswered("dropped"))
        on.end(turn, "")
        await on.pass_s(3)
        assert on.channel.stands("a") == []
        assert on.outbox.all_settled
        assert [what for _, what in on.outbox.history if what == "ambiguous"] == []


async def test_two_turns_in_a_conversation_share_its_second_and_others_do_not_wait() -> None:
    async with timed_line(channel=LoopbackChannel(limit=1000)) as on:
        turns = [on.begin("t1", "a", "A"), on.begin("t2", "a", "B"), on.begin("t3", "b", "C")]
        for number in range(40):
            await on.pass_s(0.25)
            for turn in turns:
                turn.text += f" {number}"
        first, second = (len(shown.edits) for shown in on.channel.shown if shown.address == "a")
        (other,) = (len(shown.edits) for shown in on.channel.shown if shown.address == "b")
        assert abs(first - second) <= 1
        assert first + second <= 10 < 2 * other
        for turn in turns:
            on.end(turn, f"answer of {turn.id}")
        await on.pass_s(4)
        assert sorted(on.channel.stands("a")) == ["answer of t1", "answer of t2"]
        assert on.channel.stands("b") == ["answer of t3"]


# --- after a restart --------------------------------------------------------------------------------------


async def test_a_continued_turn_keeps_its_preview() -> None:
    outbox, channel = MemoryOutbox(), LoopbackChannel()
    await channel.post(Address("a"), {"text": "before"}, nonce="")
    outbox.preview_left("t1", "a", ref="0")
    async with timed_line(outbox, channel) as on:
        turn = on.begin(text="after")
        await on.pass_s(1)
        assert channel.stands("a") == ["after"]
        on.end(turn, "done")
        await on.pass_s(1)
        assert channel.stands("a") == ["done"]
        assert len(channel.shown) == 1


@pytest.mark.parametrize("taken", [True, False])
async def test_an_unconfirmed_preview_is_searched_before_sending(*, taken: bool) -> None:
    outbox, channel = MemoryOutbox(), LoopbackChannel()
    if taken:
        await channel.post(Address("a"), {"text": "before"}, nonce="")
    outbox.preview_left("t1", "a")
    outbox.enqueue("a", "notice")
    async with timed_line(outbox, channel) as on:
        await on.pass_s(1)
        assert channel.stands("a") == (["…", "notice"] if taken else ["notice"])
        outbox.finish_turn("t1", "a", "done")
        await outbox.settled()
        assert channel.stands("a") == (["done", "notice"] if taken else ["notice", "done"])
        assert outbox.all_settled


async def test_an_answer_that_waits_at_the_start_finds_the_preview_it_replaces() -> None:
    outbox, channel = MemoryOutbox(), LoopbackChannel()
    await channel.post(Address("a"), {"text": "before"}, nonce="")
    outbox.preview_left("t1", "a")
    outbox.finish_turn("t1", "a", "done")
    channel.trouble = once(Unavailable("down"), RateLimited(3), Unanswered("dropped"))
    async with timed_line(outbox, channel) as on:
        await on.pass_s(20)
        assert channel.stands("a") == ["done"]
        assert len(channel.shown) == 1
