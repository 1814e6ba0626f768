"""What a conversation is shown of a turn while it runs, and what is left of it in the end."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.channel import Payload
from channels.dispatcher import Dispatcher
from core.errors import AddressGone, ChannelError, MessageRejected, RateLimited, Unanswered, Unavailable
from core.messages import Address, Message, MessageRef, Plain
from core.ports import OutboxRow, Preview, SendState
from tests.channels.memory import LoopbackChannel, MemoryOutbox
from tests.channels.test_sender import Line
from tests.clock import ManualClock


@dataclass
class Turn:
    """A turn as its listener follows it: `text` is what it says so far."""

    id: str
    address: str
    text: str = ""
    preview: Preview = field(init=False)

    def __post_init__(self) -> None:
        self.preview = Preview(self.id, "tg", Address(self.address), self.said)

    def said(self) -> Message | None:
        return Message((Plain(self.text),)) if self.text else None


class Stage(Line):
    """A dispatcher at work, and the turns it shows."""

    def begin(self, turn_id: str = "t1", address: str = "a", text: str = "") -> Turn:
        """A turn has run for a while."""
        self.outbox.running.setdefault(turn_id, None)
        turn = Turn(turn_id, address, text)
        self.dispatcher.open_preview(turn.preview)
        return turn

    def end(self, turn: Turn, answer: str) -> int:
        """It ends, with this answer or (empty) without; returns the row that says so."""
        row = self.outbox.finish_turn(turn.id, turn.address, answer)
        self.dispatcher.close_preview(turn.preview)
        return row.id if row is not None else 0

    async def pass_s(self, seconds: float) -> None:
        """Time passes, in small steps; whoever's time has come does what there is to do."""
        for _ in range(round(seconds * 4)):
            await self.rest()
            self.clock.advance(0.25)
        await self.rest()

    async def rest(self) -> None:
        """Until nobody has anything to do but to wait."""
        for _ in range(20):
            await asyncio.sleep(0)

    def times(self, *what: str) -> list[float]:
        """When requests of these kinds were made."""
        return [at for at, kind in self.channel.requests if kind in what]


@asynccontextmanager
async def stage(
    outbox: MemoryOutbox | None = None, channel: LoopbackChannel | None = None
) -> AsyncIterator[Stage]:
    outbox, channel, clock = outbox or MemoryOutbox(), channel or LoopbackChannel(), ManualClock()
    channel.time_s = clock.monotonic_s
    dispatcher = Dispatcher(channel, outbox, clock, lambda _: None, grace_s=5)
    made = Stage(outbox, channel, clock, dispatcher, [])
    outbox.listener = made
    task = asyncio.create_task(dispatcher.run())
    try:
        await made.rest()
        yield made
    finally:
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled():
        task.result()


def once(*errors: Exception, what: str = "") -> Callable[[str, Payload], Exception | None]:
    """These troubles, one per request, then none."""
    left = list(errors)
    return lambda *_: left.pop(0) if left else None


async def test_without_text_a_sign_of_life_is_given_again_and_again() -> None:
    async with stage() as on:
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
    async with stage(channel=LoopbackChannel(limit=1000)) as on:
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


async def test_the_answers_other_parts_follow_the_preview() -> None:
    async with stage() as on:
        turn = on.begin(text="one")
        await on.pass_s(1)
        row_id = on.end(turn, "0123456789abcdefghijXYZ")
        await on.pass_s(1)
        assert on.channel.stands("a") == ["0123456789", "abcdefghij", "XYZ"]
        row = await on.outbox.reaches(row_id, SendState.SENT)
        assert row.refs == ("0", "1", "2")
        assert on.outbox.all_settled


async def test_a_preview_shows_its_first_part_only_and_rests_while_that_stays() -> None:
    async with stage() as on:
        turn = on.begin(text="0123456789")
        await on.pass_s(1)
        turn.text += "and more"
        await on.pass_s(9)
        assert on.channel.stands("a") == ["0123456789"]
        assert on.times("edit") == []
        assert on.times("typing")


async def test_nothing_of_a_preview_is_recorded_but_its_place() -> None:
    async with stage() as on:
        turn = on.begin(text="one")
        for text in ("two", "three", "four"):
            await on.pass_s(1)
            turn.text = text
        await on.pass_s(1)
        assert on.channel.stands("a") == ["four"]
        assert [what for _, what in on.outbox.history] == ["begun", "shown"]
        assert on.outbox.row(1).message == Message(())


async def test_whatever_else_is_to_be_sent_goes_first() -> None:
    async with stage() as on:
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


async def test_what_comes_while_a_preview_begins_is_sent_before_it() -> None:
    outbox = SlowToBegin()
    async with stage(outbox) as on:
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
    async with stage(outbox) as on:
        turn = on.begin(text="one")
        await outbox.until(lambda: (1, "begun") in outbox.history)
        on.end(turn, "done")
        outbox.go_on.set()
        await on.pass_s(1)
        assert on.channel.stands("a") == ["done"]
        assert [what for _, what in on.channel.requests] == ["post"]


async def test_a_turn_that_ended_before_begins_no_preview() -> None:
    async with stage() as on:
        turn = Turn("t1", "a", "one")
        on.dispatcher.open_preview(turn.preview)
        await on.pass_s(3)
        assert on.channel.requests == []
        on.dispatcher.close_preview(turn.preview)


async def test_429_stops_previews_and_delays_the_answer_only_as_long_as_asked() -> None:
    async with stage() as on:
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
    async with stage(channel=LoopbackChannel(limit=1000)) as on:
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


async def test_a_refused_preview_costs_no_message() -> None:
    async with stage() as on:
        on.channel.trouble = once(MessageRejected("no"))
        turn = on.begin(text="one")
        await on.pass_s(5)
        assert on.channel.stands("a") == []
        on.end(turn, "done")
        await on.pass_s(1)
        assert on.channel.stands("a") == ["done"]
        assert on.outbox.row(2).state is SendState.SENT


async def test_a_preview_that_a_person_deleted_is_not_the_answers_place() -> None:
    async with stage() as on:
        turn = on.begin(text="one")
        await on.pass_s(1)
        on.channel.shown[0].gone = True
        turn.text = "two"
        await on.pass_s(2)
        row_id = on.end(turn, "done")
        await on.pass_s(2)
        assert on.channel.stands("a") == ["done"]
        assert on.outbox.row(row_id).refs == ("1",)


async def test_without_an_answer_the_preview_is_taken_away() -> None:
    async with stage() as on:
        turn = on.begin(text="one")
        await on.pass_s(1)
        on.channel.after = once(Unanswered("dropped"))
        on.end(turn, "")
        await on.pass_s(3)
        assert on.channel.stands("a") == []
        assert on.outbox.all_settled
        assert [what for _, what in on.outbox.history if what == "ambiguous"] == []


async def test_an_unanswered_first_preview_is_found_and_not_shown_twice() -> None:
    async with stage() as on:
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
    async with stage() as on:
        on.channel.trouble = once(Unanswered("dropped"))
        on.begin(text="one")
        await on.pass_s(3)
        assert [what for _, what in on.channel.requests][:2] == ["post", "find"]
        assert on.channel.stands("a") == ["one"]


async def test_an_answer_after_an_unanswered_preview_takes_its_place() -> None:
    async with stage() as on:
        on.channel.after = once(Unanswered("dropped"))
        turn = on.begin(text="one")
        await on.channel.until(lambda: on.channel.shown)
        on.end(turn, "done")
        await on.pass_s(2)
        assert on.channel.stands("a") == ["done"]


async def test_an_unanswered_change_into_the_answer_is_made_again() -> None:
    async with stage() as on:
        turn = on.begin(text="one")
        await on.pass_s(1)
        on.channel.after = once(Unanswered("dropped"))
        row_id = on.end(turn, "done")
        await on.pass_s(5)
        row = await on.outbox.reaches(row_id, SendState.SENT)
        assert row.repeats == 0
        assert on.channel.shown[0].edits == ["done", "done"]


async def test_two_turns_in_a_conversation_share_its_second_and_others_do_not_wait() -> None:
    async with stage(channel=LoopbackChannel(limit=1000)) as on:
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


async def test_a_defect_met_by_a_preview_stops_nothing_else() -> None:
    class Unrenderable(LoopbackChannel):
        def render(self, message: Message) -> tuple[Payload, ...]:
            if message == Message((Plain("bad"),)):
                raise ZeroDivisionError
            return super().render(message)

    async with stage(channel=Unrenderable()) as on:
        bad = on.begin("t1", "a", "bad")
        on.begin("t2", "a", "good")
        await on.pass_s(3)
        assert on.channel.stands("a") == ["good"]
        on.end(bad, "done")
        await on.pass_s(1)
        assert on.channel.stands("a") == ["good", "done"]


async def test_a_full_disk_shows_nothing_and_loses_nothing() -> None:
    async with stage() as on:
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


async def test_where_a_preview_cannot_be_reached_the_answer_is_shown_all_the_same() -> None:
    async with stage(channel=MovedAway()) as on:
        turn = on.begin(text="one")
        await on.pass_s(1)
        row_id = on.end(turn, "done")
        await on.pass_s(2)
        assert on.channel.stands("a") == ["one", "done"]
        assert on.outbox.row(row_id).state is SendState.SENT


# --- after a restart --------------------------------------------------------------------------------------


async def test_a_turn_that_goes_on_goes_on_with_its_preview() -> None:
    outbox, channel = MemoryOutbox(), LoopbackChannel()
    await channel.post(Address("a"), {"text": "before"}, nonce="")
    outbox.preview_left("t1", "a", ref="0")
    async with stage(outbox, channel) as on:
        turn = on.begin(text="after")
        await on.pass_s(1)
        assert channel.stands("a") == ["after"]
        on.end(turn, "done")
        await on.pass_s(1)
        assert channel.stands("a") == ["done"]
        assert len(channel.shown) == 1


@pytest.mark.parametrize("taken", [True, False])
async def test_a_preview_nobody_heard_of_is_looked_for_before_anything_is_sent(*, taken: bool) -> None:
    outbox, channel = MemoryOutbox(), LoopbackChannel()
    if taken:
        await channel.post(Address("a"), {"text": "before"}, nonce="")
    outbox.preview_left("t1", "a")
    outbox.enqueue("a", "notice")
    async with stage(outbox, channel) as on:
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
    async with stage(outbox, channel) as on:
        await on.pass_s(20)
        assert channel.stands("a") == ["done"]
        assert len(channel.shown) == 1


# --- whatever goes wrong ----------------------------------------------------------------------------------

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
def test_whatever_goes_wrong_nothing_but_what_was_stored_is_left(
    troubles: list[tuple[ChannelError | None, bool]], texts: list[str], answer: str, notices: int
) -> None:
    asyncio.run(_survives(troubles, texts, answer, notices))


async def _survives(
    troubles: list[tuple[ChannelError | None, bool]], texts: list[str], answer: str, notices: int
) -> None:
    async with stage(channel=Troubled(troubles)) as on:
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
