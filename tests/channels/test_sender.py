"""What reaches a platform, in which order, and what the outbox says about it."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from channels.channel import Payload
from channels.dispatcher import Dispatcher
from channels.outlet import MOST_DRAWINGS
from channels.sender import MAX_ROWS
from core.clock import SECOND_US
from core.errors import (
    AddressGone,
    AuthRejected,
    ChannelError,
    MessageRejected,
    RateLimited,
    Unanswered,
    Unavailable,
)
from core.messages import Address, Message, Plain
from core.ports import OutboxRow, Posted, SendState
from tests.channels.memory import LoopbackChannel, MemoryOutbox
from tests.clock import ManualClock
from tests.patience import PATIENCE_S


@dataclass
class Line:
    """A dispatcher between an outbox and a platform."""

    outbox: MemoryOutbox
    channel: LoopbackChannel
    clock: ManualClock
    dispatcher: Dispatcher
    rejections: list[AuthRejected]

    def outbox_ready(self, rows: Sequence[OutboxRow]) -> None:
        self.dispatcher.put(rows)

    def may_send_now(self, channel: str, address: Address) -> bool:
        return self.dispatcher.would_send_now(address)

    def coming(self, channel: str, message: Message) -> None:
        self.dispatcher.coming(message)


@asynccontextmanager
async def line(
    outbox: MemoryOutbox | None = None, channel: LoopbackChannel | None = None, grace_s: float = 5
) -> AsyncIterator[Line]:
    outbox, channel, clock = outbox or MemoryOutbox(), channel or LoopbackChannel(), ManualClock()
    rejections: list[AuthRejected] = []
    dispatcher = Dispatcher(channel, outbox, clock, rejections.append, grace_s)
    made = Line(outbox, channel, clock, dispatcher, rejections)
    outbox.listener = made
    task = asyncio.create_task(dispatcher.run())
    try:
        yield made
    finally:
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled():
        task.result()


class SlowToClaim(MemoryOutbox):
    """Claims are committed once they may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.claiming = False
        self.go_on = asyncio.Event()

    async def claim_outbox(self, row_id: int) -> OutboxRow:
        self.claiming = True
        self.changed()
        await self.go_on.wait()
        return await super().claim_outbox(row_id)


def once(*errors: Exception) -> Callable[[str, Payload], Exception | None]:
    """These troubles, one per request, then none."""
    left = list(errors)
    return lambda *_: left.pop(0) if left else None


async def test_rows_of_an_address_are_shown_in_order_of_id() -> None:
    async with line() as to:
        to.outbox.listener = None
        rows = [to.outbox.enqueue("a", f"n{i}") for i in range(5)]
        to.dispatcher.put([rows[0]])
        to.channel.hold.add("a")
        await to.channel.until(lambda: "a" in to.channel.held)
        to.dispatcher.put(reversed(rows))
        to.channel.hold.clear()
        to.channel.changed()
        await to.outbox.settled()
        assert to.channel.texts("a") == ["n0", "n1", "n2", "n3", "n4"]


async def test_a_row_is_durably_sending_before_its_request() -> None:
    async with line() as to:
        states: list[SendState] = []
        to.channel.trouble = lambda *_: states.append(to.outbox.row(1).state)
        to.outbox.enqueue("a", "hello")
        await to.outbox.settled()
        assert states == [SendState.SENDING]


async def test_a_row_committed_as_sending_goes_out_without_another_commit() -> None:
    async with line() as to:
        to.outbox.enqueue("a", "hello", state=SendState.SENDING)
        await to.outbox.settled()
        assert to.outbox.history == [(1, "part 0")]
        assert to.channel.texts("a") == ["hello"]


async def test_a_part_goes_out_only_when_the_part_before_is_recorded() -> None:
    async with line() as to:
        recorded: list[int] = []
        to.channel.trouble = lambda *_: recorded.append(len(to.outbox.row(1).refs))
        to.outbox.enqueue("a", "0123456789abcdefghijKLMNO")
        await to.outbox.settled()
        assert to.channel.texts("a") == ["0123456789", "abcdefghij", "KLMNO"]
        assert recorded == [0, 1, 2]
        assert to.outbox.row(1).refs == ("0", "1", "2")


async def test_what_was_sent_of_a_row_is_not_sent_again() -> None:
    async with line() as to:
        to.channel.trouble = once(None, RateLimited(3))  # type: ignore[arg-type]
        to.outbox.enqueue("a", "0123456789abc")
        assert await to.clock.someone_waits() == 3
        to.clock.advance(3)
        await to.outbox.settled()
        assert to.channel.texts("a") == ["0123456789", "abc"]
        assert [shown.nonce for shown in to.channel.shown] == ["nonce1", "nonce1.1"]


async def test_a_rate_limit_holds_back_its_address_and_no_other() -> None:
    async with line() as to:
        limited = once(RateLimited(30))
        to.channel.trouble = lambda address, payload: limited(address, payload) if address == "a" else None
        to.outbox.enqueue("a", "first")
        await to.outbox.until(lambda: to.outbox.row(1).not_before > 0)
        assert to.outbox.row(1).not_before == to.clock.now() + 30 * SECOND_US
        assert not to.may_send_now("tg", Address("a"))
        to.outbox.enqueue("a", "second")
        to.outbox.enqueue("b", "other")
        await to.outbox.reaches(3, SendState.SENT)
        to.clock.advance(29)
        to.outbox.enqueue("b", "another")
        await to.outbox.reaches(4, SendState.SENT)
        assert to.channel.texts("a") == []
        to.clock.advance(1)
        await to.outbox.settled()
        assert to.channel.texts("a") == ["first", "second"]
        assert to.outbox.row(1).repeats == 0


async def test_while_the_platform_is_away_nothing_is_lost_or_reordered() -> None:
    async with line() as to:
        to.channel.trouble = once(*[Unavailable("refused")] * 8)
        for text in ("one", "two", "three"):
            to.outbox.enqueue("a", text)
        waited = 0.0
        while not to.outbox.all_settled:
            pause = await to.clock.someone_waits()
            waited += pause
            to.clock.advance(pause)
            await to.outbox.until(lambda: to.outbox.all_settled or bool(to.clock.waits_s))
        assert to.channel.texts("a") == ["one", "two", "three"]
        assert 20 < waited < 200
        assert not [change for change in to.outbox.history if change[1] == "ambiguous"]


async def test_an_unanswered_request_is_repeated_once_and_counted() -> None:
    async with line() as to:
        to.channel.after = once(Unanswered("dropped"))
        to.outbox.enqueue("a", "hello")
        await to.outbox.settled()
        assert to.channel.texts("a") == ["hello", "hello"]
        assert [shown.nonce for shown in to.channel.shown] == ["nonce1", "nonce1"]
        assert to.outbox.row(1).repeats == 1
        assert to.outbox.row(1).state is SendState.SENT
        assert [what for _, what in to.outbox.history] == ["claimed", "ambiguous", "claimed", "part 0"]


async def test_a_second_unanswered_request_is_the_last() -> None:
    async with line() as to:
        to.channel.after = once(Unanswered("dropped"), Unanswered("dropped"))
        to.outbox.enqueue("a", "hello")
        to.outbox.enqueue("a", "next")
        await to.outbox.settled()
        assert to.channel.texts("a") == ["hello", "hello", "next"]
        assert to.outbox.row(1).state is SendState.AMBIGUOUS


async def test_at_start_ambiguous_rows_get_their_one_repeat() -> None:
    outbox = MemoryOutbox()
    outbox.enqueue("a", "left", state=SendState.AMBIGUOUS)
    outbox.enqueue("a", "over", state=SendState.AMBIGUOUS, repeats=1)
    outbox.enqueue("a", "queued")
    async with line(outbox) as to:
        await outbox.reaches(3, SendState.SENT)
        assert to.channel.texts("a") == ["left", "queued"]
        assert outbox.row(1).repeats == 1
        assert outbox.row(2).state is SendState.AMBIGUOUS


async def test_a_refused_message_fails_and_the_next_goes_on() -> None:
    async with line() as to:
        to.channel.trouble = once(MessageRejected("message is too long"), AddressGone("blocked"))
        for text in ("one", "two", "three"):
            to.outbox.enqueue("a", text)
        await to.outbox.settled()
        assert to.channel.texts("a") == ["three"]
        assert [to.outbox.row(i).state for i in (1, 2)] == [SendState.FAILED, SendState.FAILED]
        assert to.outbox.reason(2) == "blocked"


async def test_a_message_without_anything_visible_fails() -> None:
    async with line() as to:
        to.outbox.enqueue("a", "")
        await to.outbox.settled()
        assert to.outbox.row(1).state is SendState.FAILED


async def test_a_message_that_cannot_be_rendered_fails_alone() -> None:
    class Unrenderable(LoopbackChannel):
        def render(self, message: Message) -> tuple[Payload, ...]:
            if message == Message((Plain("bad"),)):
                raise ZeroDivisionError
            return super().render(message)

    async with line(channel=Unrenderable()) as to:
        to.outbox.enqueue("a", "bad")
        to.outbox.enqueue("a", "good")
        await to.outbox.settled()
        assert to.channel.texts("a") == ["good"]
        assert to.outbox.row(1).state is SendState.FAILED


class Drawing(LoopbackChannel):
    """Counts what it draws."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[Message] = []

    def render(self, message: Message) -> tuple[Payload, ...]:
        self.drawn.append(message)
        return super().render(message)


async def test_what_is_coming_is_drawn_once_before_its_row_is_there() -> None:
    channel, message = Drawing(), Message((Plain("hello"),))
    async with line(channel=channel) as to:
        to.coming("tg", message)
        assert channel.drawn == [message]
        to.outbox.enqueue("a", message)
        await to.outbox.settled()
        assert (channel.texts("a"), channel.drawn) == (["hello"], [message])
        to.outbox.enqueue("a", message)
        await to.outbox.settled()
        assert (channel.texts("a"), channel.drawn) == (["hello", "hello"], [message, message])


async def test_a_channel_that_took_anothers_place_draws_for_itself() -> None:
    old, new = Drawing(), Drawing()
    message = Message((Plain("hello"),))
    async with line(channel=old) as to:
        to.coming("tg", message)
        to.dispatcher.use(new)
        to.outbox.enqueue("a", message)
        await to.outbox.settled()
        assert (old.texts("a"), new.texts("a"), new.drawn) == ([], ["hello"], [message])


async def test_what_came_to_nothing_makes_way() -> None:
    channel = Drawing()
    async with line(channel=channel) as to:
        messages = [Message((Plain(f"n{number}"),)) for number in range(MOST_DRAWINGS + 1)]
        for message in messages:
            to.coming("tg", message)
        to.outbox.enqueue("a", messages[0])
        to.outbox.enqueue("a", messages[-1])
        await to.outbox.settled()
        assert channel.texts("a") == ["n0", f"n{MOST_DRAWINGS}"]
        assert [channel.drawn.count(messages[n]) for n in (0, -1)] == [2, 1]


async def test_an_adapters_defect_is_an_unanswered_request() -> None:
    async with line() as to:
        to.channel.trouble = once(ZeroDivisionError(), ZeroDivisionError())
        to.outbox.enqueue("a", "one")
        to.outbox.enqueue("a", "two")
        await to.outbox.settled()
        assert to.outbox.row(1).state is SendState.AMBIGUOUS
        assert to.channel.texts("a") == ["two"]


async def test_an_edit_changes_the_last_part_of_its_target() -> None:
    async with line() as to:
        to.outbox.enqueue("a", "0123456789abc", state=SendState.SENDING)
        to.outbox.enqueue("a", Message((Plain("0123456789abc"),), outcome="approved"), edit_of=1)
        await to.outbox.settled()
        assert [shown.edits for shown in to.channel.shown] == [[], ["abc [approved]"]]
        assert to.outbox.row(2).state is SendState.SENT


class SlowRecords(MemoryOutbox):
    """Records of parts wait for `go_on`."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = asyncio.Event()

    async def record_part_sent(self, row_id: int, posted: Posted, *, last: bool) -> None:
        await self.go_on.wait()
        await super().record_part_sent(row_id, posted, last=last)


async def test_a_record_behind_delays_an_edit_and_no_message() -> None:
    outbox = SlowRecords()
    async with line(outbox) as to:
        outbox.enqueue("a", "card")
        outbox.enqueue("a", "next")
        await to.channel.until(lambda: to.channel.texts("a") == ["card", "next"])
        outbox.enqueue("a", Message((Plain("card"),), outcome="done"), edit_of=1)
        await outbox.until(lambda: (3, "claimed") in outbox.history)
        outbox.enqueue("b", "elsewhere")
        await to.channel.until(lambda: to.channel.texts("b") == ["elsewhere"])
        assert to.channel.shown[0].edits == []
        outbox.go_on.set()
        await outbox.settled()
        assert to.channel.shown[0].edits == ["card [done]"]
        assert outbox.row(3).state is SendState.SENT


async def test_an_edit_of_something_never_shown_fails() -> None:
    async with line() as to:
        to.channel.trouble = once(MessageRejected("no"))
        to.outbox.enqueue("a", "card")
        to.outbox.enqueue("a", Message((Plain("card"),), outcome="done"), edit_of=1)
        await to.outbox.settled()
        assert to.outbox.row(2).state is SendState.FAILED
        assert to.outbox.reason(2) == "target was never shown"


async def test_an_unanswered_edit_is_made_again_and_is_not_ambiguous() -> None:
    async with line() as to:
        to.outbox.enqueue("a", "card")
        await to.outbox.settled()
        to.channel.after = once(Unanswered("dropped"))
        to.outbox.enqueue("a", Message((Plain("card"),), outcome="done"), edit_of=1)
        to.clock.advance(await to.clock.someone_waits())
        await to.outbox.settled()
        assert to.channel.shown[0].edits == ["card [done]"] * 2
        assert to.outbox.row(2).state is SendState.SENT


async def test_a_refused_token_keeps_everything_until_another_channel_comes() -> None:
    async with line() as to:
        to.channel.trouble = lambda *_: AuthRejected("no such token")
        to.outbox.enqueue("a", "one")
        to.outbox.enqueue("a", "two")
        await to.outbox.until(lambda: (1, "retry") in to.outbox.history)
        assert [str(error) for error in to.rejections] == ["no such token"]
        other = LoopbackChannel()
        to.dispatcher.use(other)
        await to.outbox.settled()
        assert other.texts("a") == ["one", "two"]
        assert to.channel.shown == []


class Defective(MemoryOutbox):
    """Breaks at the record of a last part, and at the first reading."""

    readings = 0

    async def record_part_sent(self, row_id: int, posted: Posted, *, last: bool) -> None:
        if row_id == 1:
            raise ZeroDivisionError
        await super().record_part_sent(row_id, posted, last=last)

    async def pending_outbox(self, channel: str) -> Sequence[OutboxRow]:
        self.readings += 1
        if self.readings == 1:
            raise ZeroDivisionError
        return await super().pending_outbox(channel)


async def test_a_defect_of_the_store_stays_with_its_row() -> None:
    async with line(Defective()) as to:
        to.outbox.enqueue("a", "one")
        to.outbox.enqueue("a", "two")
        to.clock.advance(await to.clock.someone_waits())
        await to.outbox.reaches(2, SendState.SENT)
        assert to.channel.texts("a") == ["one", "two"]
        assert to.outbox.row(1).state is SendState.SENDING


async def test_a_full_disk_delays_and_loses_nothing() -> None:
    async with line() as to:
        to.outbox.unavailable = True
        to.outbox.enqueue("a", "one")
        await to.clock.someone_waits()
        assert to.channel.shown == []
        to.outbox.unavailable = False
        to.clock.advance(1)
        await to.outbox.settled()
        assert to.channel.texts("a") == ["one"]


async def test_more_rows_than_are_kept_in_mind_all_arrive_in_order() -> None:
    async with line() as to:
        to.channel.hold.add("a")
        to.outbox.enqueue("a", "0")
        await to.channel.until(lambda: "a" in to.channel.held)
        texts = [str(i) for i in range(3 * MAX_ROWS)]
        for text in texts[1:]:
            to.outbox.enqueue("a", text)
            await asyncio.sleep(0)
        to.channel.hold.clear()
        to.channel.changed()
        await to.outbox.settled()
        assert to.channel.texts("a") == texts


async def test_more_notices_than_the_queue_holds_lose_nothing() -> None:
    async with line() as to:
        to.outbox.enqueue("other", "warm up")
        await to.outbox.settled()
        for i in range(3000):
            to.outbox.enqueue(str(i % 1500), str(i))
        await to.outbox.settled()
        for address in range(1500):
            assert to.channel.texts(str(address)) == [str(address), str(address + 1500)]


async def test_a_request_that_is_out_at_the_end_is_answered_and_recorded() -> None:
    outbox, channel = MemoryOutbox(), LoopbackChannel()
    channel.hold.add("a")
    outbox.enqueue("a", "hello")
    outbox.enqueue("a", "later")
    dispatcher = Dispatcher(channel, outbox, ManualClock(), lambda _: None, grace_s=5)
    task = asyncio.create_task(dispatcher.run())
    await channel.until(lambda: "a" in channel.held)
    task.cancel()
    await asyncio.sleep(0)
    channel.hold.clear()
    channel.changed()
    await asyncio.wait([task])
    assert outbox.row(1).state is SendState.SENT
    assert outbox.row(2).state is SendState.QUEUED
    assert channel.texts("a") == ["hello"]


async def test_a_row_that_is_claimed_at_the_end_is_sent() -> None:
    outbox, channel = SlowToClaim(), LoopbackChannel()
    outbox.enqueue("a", "hello")
    dispatcher = Dispatcher(channel, outbox, ManualClock(), lambda _: None, grace_s=5)
    task = asyncio.create_task(dispatcher.run())
    await outbox.until(lambda: outbox.claiming)
    task.cancel()
    await asyncio.sleep(0)
    outbox.go_on.set()
    await asyncio.wait([task])
    assert channel.texts("a") == ["hello"]
    assert outbox.row(1).state is SendState.SENT


async def test_a_request_that_never_ends_is_given_up_after_the_grace() -> None:
    outbox, channel = MemoryOutbox(), LoopbackChannel()
    channel.hold.add("a")
    async with asyncio.timeout(PATIENCE_S), line(outbox, channel, grace_s=0.05):
        outbox.enqueue("a", "hello")
        await channel.until(lambda: "a" in channel.held)
    assert outbox.row(1).state is SendState.SENDING


TROUBLES = [
    None,
    RateLimited(2),
    Unavailable("refused"),
    Unanswered("dropped"),
    MessageRejected("no"),
    AddressGone("gone"),
]


@given(
    rows=st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(1, 3), st.booleans()), min_size=1, max_size=12
    ),
    troubles=st.lists(st.tuples(st.sampled_from(TROUBLES), st.booleans()), max_size=15),
)
def test_whatever_goes_wrong_order_is_kept_and_every_row_ends(
    rows: list[tuple[str, int, bool]], troubles: list[tuple[ChannelError | None, bool]]
) -> None:
    asyncio.run(_survives(rows, troubles))


class Troubled(LoopbackChannel):
    """Has these troubles, one per request; `taken` ones only after the request took effect."""

    def __init__(self, troubles: list[tuple[ChannelError | None, bool]]) -> None:
        super().__init__()
        self._left = list(troubles)
        self.taken_unanswered: dict[str, int] = defaultdict(int)
        self.trouble, self.after = self._before, self._after

    def _comes_after(self) -> bool:
        return bool(self._left) and self._left[0][1] and isinstance(self._left[0][0], Unanswered)

    def _before(self, _address: str, _payload: Payload) -> Exception | None:
        return self._left.pop(0)[0] if self._left and not self._comes_after() else None

    def _after(self, _address: str, _payload: Payload) -> Exception | None:
        if not self._comes_after():
            return None
        self.taken_unanswered[self.shown[-1].nonce] += 1
        return self._left.pop(0)[0]


async def _survives(
    rows: list[tuple[str, int, bool]], troubles: list[tuple[ChannelError | None, bool]]
) -> None:
    channel = Troubled(troubles)
    expected: dict[str, list[str]] = defaultdict(list)
    async with line(channel=channel) as to:
        for number, (address, parts_wanted, sending) in enumerate(rows):
            idle = to.dispatcher.would_send_now(Address(address))
            state = SendState.SENDING if sending and idle and not expected[address] else SendState.QUEUED
            parts = [f"r{number:04d}-{part:04d}" for part in range(parts_wanted)]
            to.outbox.enqueue(address, "".join(parts), state=state)
            expected[address] += parts
        async with asyncio.timeout(PATIENCE_S):
            while not to.outbox.all_settled:
                await to.outbox.until(lambda: to.outbox.all_settled or bool(to.clock.waits_s))
                if to.clock.waits_s:
                    to.clock.advance(to.clock.waits_s[0])
        for row_id in range(1, len(rows) + 1):
            row = to.outbox.row(row_id)
            if row.state is SendState.SENT:
                assert len(row.refs) == len(channel.render(row.message))
    for address, parts in expected.items():
        _shows_in_order(channel, address, parts)


def _shows_in_order(channel: Troubled, address: str, parts: list[str]) -> None:
    """What is missing was refused; what is there twice went unanswered at first."""
    shown = [item for item in channel.shown if item.address == address]
    texts = [item.text for item in shown]
    assert list(dict.fromkeys(texts)) == [part for part in parts if part in texts]
    for item in shown:
        assert texts.count(item.text) <= 1 + channel.taken_unanswered[item.nonce]
