"""Faults while a turn is shown: the answer goes out, and nothing but what was stored is left."""

import asyncio
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from channels.channel import Payload
from core.errors import AddressGone, ChannelError, MessageRejected, RateLimited, Unanswered, Unavailable
from core.messages import Message, MessageRef, Plain
from core.ports import SendState
from tests.channels.line import once, timed_line
from tests.channels.loopback import LoopbackChannel


async def test_429_stops_previews_and_delays_the_answer_only_as_long_as_asked() -> None:
    async with timed_line() as on:
        turn = on.begin(text="one")
        await on.pass_s(1)
        on.channel.trouble = once(RateLimited(5))
        turn.text = "two"
        await on.pass_s(1)
        refused_at = on.times("edit")[-1]
        turn.text = "three"
        on.end(turn, "done")
        on.outbox.enqueue("a", "next")
        await on.pass_s(10)
        later = [(at, what) for at, what in on.channel.requests if at > refused_at]
        assert [what for _, what in later] == ["edit", "post"]
        assert 5 <= later[0][0] - refused_at < 6
        assert on.channel.stands("a") == ["done", "next"]
        assert on.outbox.all_settled


async def test_after_429_previews_come_less_often() -> None:
    async with timed_line(channel=LoopbackChannel(limit=1000)) as on:
        turn = on.begin(text="0")
        await on.pass_s(1)
        on.channel.trouble = once(*[RateLimited(1)] * 3)
        for number in range(160):
            turn.text += f" {number}"
            await on.pass_s(0.25)
        changes = on.times("edit")
        assert min(b - a for a, b in zip(changes[-3:], changes[-2:], strict=False)) >= 8
        on.end(turn, "done")
        await on.pass_s(1)
        assert on.channel.stands("a") == ["done"]


async def test_previews_come_every_half_minute_even_after_many_429() -> None:
    async with timed_line(channel=LoopbackChannel(limit=1000)) as on:
        turn = on.begin(text="0")
        await on.pass_s(1)
        on.channel.trouble = once(*[RateLimited(1)] * 8)
        for number in range(60):
            turn.text += f" {number}"
            await on.pass_s(5)
        changes = on.times("edit")
        assert max(b - a for a, b in pairwise(changes)) <= 36


async def test_a_refused_preview_costs_no_message() -> None:
    async with timed_line() as on:
        on.channel.trouble = once(MessageRejected("no"))
        turn = on.begin(text="one")
        await on.pass_s(5)
        assert on.channel.stands("a") == []
        on.end(turn, "done")
        await on.pass_s(1)
        assert on.channel.stands("a") == ["done"]
        assert on.outbox.row(2).state is SendState.SENT


async def test_an_answer_is_not_written_into_a_deleted_preview() -> None:
    async with timed_line() as on:
        turn = on.begin(text="one")
        await on.pass_s(1)
        on.channel.shown[0].gone = True
        turn.text = "two"
        await on.pass_s(2)
        row_id = on.end(turn, "done")
        await on.pass_s(2)
        assert on.channel.stands("a") == ["done"]
        assert on.outbox.row(row_id).refs == ("1",)


async def test_an_unanswered_first_preview_is_found_and_not_shown_twice() -> None:
    async with timed_line() as on:
        on.channel.after = once(Unanswered("dropped"))
        turn = on.begin(text="one")
        await on.pass_s(1)
        turn.text = "two"
        await on.pass_s(3)
        assert on.channel.stands("a") == ["two"]
        on.end(turn, "done")
        await on.pass_s(1)
        assert on.channel.stands("a") == ["done"]
        assert len(on.channel.shown) == 1


async def test_an_unanswered_first_preview_that_was_not_taken_is_shown_again() -> None:
    async with timed_line() as on:
        on.channel.trouble = once(Unanswered("dropped"))
        on.begin(text="one")
        await on.pass_s(3)
        assert [what for _, what in on.channel.requests][:2] == ["post", "find"]
        assert on.channel.stands("a") == ["one"]


async def test_an_answer_after_an_unanswered_preview_takes_its_place() -> None:
    async with timed_line() as on:
        on.channel.after = once(Unanswered("dropped"))
        turn = on.begin(text="one")
        await on.channel.until(lambda: on.channel.shown)
        on.end(turn, "done")
        await on.pass_s(2)
        assert on.channel.stands("a") == ["done"]


async def test_an_unanswered_edit_into_the_answer_is_retried() -> None:
    async with timed_line() as on:
        turn = on.begin(text="one")
        await on.pass_s(1)
        on.channel.after = once(Unanswered("dropped"))
        row_id = on.end(turn, "done")
        await on.pass_s(5)
        row = await on.outbox.reaches(row_id, SendState.SENT)
        assert row.repeats == 0
        assert on.channel.shown[0].edits == ["done", "done"]


async def test_a_defect_met_by_a_preview_stops_nothing_else() -> None:
    class Unrenderable(LoopbackChannel):
        def render(self, message: Message) -> tuple[Payload, ...]:
            if message == Message((Plain("bad"),)):
                raise ZeroDivisionError
            return super().render(message)

    async with timed_line(channel=Unrenderable()) as on:
        bad = on.begin("t1", "a", "bad")
        on.begin("t2", "a", "good")
        await on.pass_s(3)
        assert on.channel.stands("a") == ["good"]
        on.end(bad, "done")
        await on.pass_s(1)
        assert on.channel.stands("a") == ["good", "done"]


async def test_a_full_disk_shows_nothing_and_loses_nothing() -> None:
    async with timed_line() as on:
        on.outbox.unavailable = True
        turn = on.begin(text="one")
        await on.pass_s(4)
        assert on.channel.shown == []
        on.outbox.unavailable = False
        await on.pass_s(10)
        assert on.channel.stands("a") == ["one"]
        on.end(turn, "done")
        await on.pass_s(1)
        assert on.channel.stands("a") == ["done"]


class MovedAway(LoopbackChannel):
    """Nothing shown can be changed: the conversation is elsewhere by now."""

    async def edit(self, ref: MessageRef, payload: Payload) -> None:
        raise AddressGone("moved")

    async def retract(self, ref: MessageRef) -> bool:
        raise AddressGone("moved")


async def test_the_answer_is_shown_when_its_preview_is_unreachable() -> None:
    async with timed_line(channel=MovedAway()) as on:
        turn = on.begin(text="one")
        await on.pass_s(1)
        row_id = on.end(turn, "done")
        await on.pass_s(2)
        assert on.channel.stands("a") == ["one", "done"]
        assert on.outbox.row(row_id).state is SendState.SENT


TROUBLES = [None, RateLimited(2), Unavailable("refused"), Unanswered("dropped"), MessageRejected("no")]


class Troubled(LoopbackChannel):
    """Has these troubles, one per request; `taken` ones only after the request took effect."""

    def __init__(self, troubles: list[tuple[ChannelError | None, bool]]) -> None:
        super().__init__()
        self._left = list(troubles)
        self.trouble, self.after = self._before, self._after

    def _comes_after(self) -> bool:
        return bool(self._left) and self._left[0][1] and isinstance(self._left[0][0], Unanswered)

    def _before(self, _address: str, _payload: Payload) -> Exception | None:
        return self._left.pop(0)[0] if self._left and not self._comes_after() else None

    def _after(self, _address: str, _payload: Payload) -> Exception | None:
        return self._left.pop(0)[0] if self._comes_after() else None

    async def retract(self, ref: MessageRef) -> bool:
        try:
            return await super().retract(ref)
        except MessageRejected:
            return False


@given(
    troubles=st.lists(st.tuples(st.sampled_from(TROUBLES), st.booleans()), max_size=4),
    texts=st.lists(st.sampled_from(["", "one", "two", "0123456789abc"]), max_size=6),
    answer=st.sampled_from(["done", "0123456789abcdef", ""]),
    notices=st.integers(0, 2),
)
def test_after_any_fault_only_stored_messages_remain(
    troubles: list[tuple[ChannelError | None, bool]], texts: list[str], answer: str, notices: int
) -> None:
    asyncio.run(_survives(troubles, texts, answer, notices))


async def _survives(
    troubles: list[tuple[ChannelError | None, bool]], texts: list[str], answer: str, notices: int
) -> None:
    async with timed_line(channel=Troubled(troubles)) as on:
        turn = on.begin()
        for text in texts:
            turn.text = text
            await on.pass_s(1)
        for number in range(notices):
            on.outbox.enqueue("a", f"n{number}")
        on.end(turn, answer)
        await on.rest()
        while on.clock.waits_s:
            on.clock.advance(on.clock.waits_s[0])
            await on.rest()
        assert on.outbox.all_settled
        stored = [part["text"] for part in on.channel.render(Message((Plain(answer),)))]
        stored += [f"n{number}" for number in range(notices)]
        stands = on.channel.stands("a")
        rejected = sum(isinstance(trouble, MessageRejected) for trouble, _ in troubles)
        unanswered = sum(isinstance(trouble, Unanswered) for trouble, _ in troubles)
        # A preview may stay where the platform refuses to let go of it, and a message is given up (with its
        # two parts at most) where it is refused, or goes unanswered twice.
        assert len(set(stands) - set(stored)) <= rejected
        assert len(set(stored) - set(stands)) <= 2 * (rejected + unanswered // 2)
        assert len(stands) <= len(stored) + unanswered + rejected
