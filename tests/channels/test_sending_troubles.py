"""Faults on the way to a platform: nothing is lost, order is kept, the outbox says what was."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from channels.channel import Payload
from channels.sender import Pace
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
from core.messages import Address, Message, MessageRef, Plain
from core.ports import OutboxRow, Posted, SendState
from tests.channels.line import line, once, timed_line
from tests.channels.loopback import LoopbackChannel
from tests.channels.memory import MemoryOutbox
from tests.clock import ManualClock
from tests.patience import PATIENCE_S


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


async def test_signs_of_reading_pause_for_as_long_as_the_platform_asks() -> None:
    async with timed_line() as to:
        to.channel.trouble = once(RateLimited(30))
        for pause_s in (0, 29, 2):
            await to.pass_s(pause_s)
            to.dispatcher.acknowledge(MessageRef("m"))
            await to.rest()
        assert [round(at) for at in to.times("acknowledge")] == [0, 31]


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


async def test_only_the_part_that_may_have_been_shown_is_marked_as_repeated() -> None:
    async with line() as to:
        to.channel.after = once(Unanswered("dropped"))
        to.outbox.enqueue("a", "0123456789abc")
        await to.outbox.settled()
        shown = [(one.text, one.repeated) for one in to.channel.shown]
        assert shown == [("0123456789", False), ("0123456789", True), ("abc", False)]


async def test_what_went_unanswered_was_asked_for_with_its_last_request() -> None:
    async with line() as to:
        asked_at: list[int] = []

        def goes_by(_: str, __: Payload) -> None:
            asked_at.append(to.clock.now())
            to.clock.advance(30)

        to.channel.trouble = goes_by
        to.channel.after = lambda *_: Unanswered("dropped") if len(asked_at) > 1 else None
        to.outbox.enqueue("a", "0123456789abc", state=SendState.SENDING)
        await to.outbox.until(lambda: to.outbox.reason(1))
        assert (await to.outbox.post_context(1)).asked_by == asked_at[1]


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
    outbox.enqueue("a", "again", repeats=1)
    async with line(outbox) as to:
        await outbox.reaches(4, SendState.SENT)
        assert to.channel.texts("a") == ["left", "queued", "again"]
        assert outbox.row(1).repeats == 1
        assert outbox.row(2).state is SendState.AMBIGUOUS


async def test_a_refused_message_fails_and_the_next_continues() -> None:
    async with line() as to:
        to.channel.trouble = once(MessageRejected("message is too long"), AddressGone("blocked"))
        for text in ("one", "two", "three"):
            to.outbox.enqueue("a", text)
        await to.outbox.settled()
        assert to.channel.texts("a") == ["three"]
        assert [to.outbox.row(i).state for i in (1, 2)] == [SendState.FAILED, SendState.FAILED]
        assert to.outbox.reason(2) == "blocked"
        assert not to.dispatcher.unreachable, "the third one reached it"


def test_a_pause_after_failures_is_half_a_minute_at_most() -> None:
    pace = Pace(ManualClock(0))
    pauses_s = [pace.next_pause_s() for _ in range(20)]
    assert 0.7 <= pauses_s[0] <= 1
    assert all(21 <= one <= 30 for one in pauses_s[5:])


async def test_an_adapters_defect_is_an_unanswered_request() -> None:
    async with line() as to:
        to.channel.trouble = once(ZeroDivisionError(), ZeroDivisionError())
        to.outbox.enqueue("a", "one")
        to.outbox.enqueue("a", "two")
        await to.outbox.settled()
        assert to.outbox.row(1).state is SendState.AMBIGUOUS
        assert to.channel.texts("a") == ["two"]


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


async def test_a_store_failure_affects_only_its_row() -> None:
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
def test_after_any_fault_order_holds_and_every_row_settles(
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
    """Return what is missing was refused; what is there twice went unanswered at first."""
    shown = [item for item in channel.shown if item.address == address]
    texts = [item.text for item in shown]
    assert list(dict.fromkeys(texts)) == [part for part in parts if part in texts]
    for item in shown:
        assert texts.count(item.text) <= 1 + channel.taken_unanswered[item.nonce]
