"""Messages that reach a platform, their order, and what the outbox says about them."""

import asyncio

from channels.channel import Payload
from channels.delivery import INTERVAL_S, MAX_PRERENDERED
from channels.dispatcher import Dispatcher
from channels.sender import MAX_ROWS, PACED_SHARE
from core.errors import MessageRejected, RateLimited
from core.messages import Message, Plain
from core.ports import OutboxRow, Posted, SendState
from tests.channels.line import line, once
from tests.channels.loopback import LoopbackChannel
from tests.channels.memory import MemoryOutbox
from tests.clock import ManualClock
from tests.patience import PATIENCE_S


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


async def test_sent_parts_are_not_sent_again() -> None:
    async with line() as to:
        to.channel.trouble = once(None, RateLimited(3))  # type: ignore[arg-type]
        to.outbox.enqueue("a", "0123456789abc")
        assert await to.clock.someone_waits() == 3
        to.clock.advance(3)
        await to.outbox.settled()
        assert to.channel.texts("a") == ["0123456789", "abc"]
        assert [shown.nonce for shown in to.channel.shown] == ["nonce1", "nonce1.1"]


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


PACED_S = INTERVAL_S * PACED_SHARE


async def test_marks_wait_for_messages_and_come_one_by_one() -> None:
    async with line() as to:
        answers = [to.outbox.enqueue("a", f"n{number}") for number in range(3)]
        await to.outbox.settled()
        to.channel.hold.add("a")
        to.outbox.enqueue("a", "held")
        await to.channel.until(lambda: "a" in to.channel.held)
        marks = [to.outbox.enqueue("a", "undone", edit_of=row.id, marks=True) for row in answers[:2]]
        limited = to.outbox.enqueue("a", "undone", edit_of=answers[2].id, marks=True)
        latest = to.outbox.enqueue("a", "latest")
        to.channel.hold.clear()
        to.channel.changed()
        await to.outbox.reaches(latest.id, SendState.SENT)
        assert await to.clock.someone_waits() == INTERVAL_S
        to.clock.advance(INTERVAL_S)
        await to.outbox.reaches(marks[0].id, SendState.SENT)
        assert await to.clock.someone_waits() == PACED_S
        between = to.outbox.enqueue("a", "between")
        to.clock.advance(INTERVAL_S)
        await to.outbox.reaches(between.id, SendState.SENT)
        assert to.outbox.row(marks[1].id).state is SendState.QUEUED
        to.clock.advance(PACED_S)
        await to.outbox.reaches(marks[1].id, SendState.SENT)
        to.channel.trouble = once(RateLimited(7))
        to.clock.advance(PACED_S)
        await to.outbox.until(lambda: to.outbox.reason(limited.id))
        to.clock.advance(7)
        await to.outbox.settled()
        assert to.channel.stands("a") == ["undone", "undone", "undone", "held", "latest", "between"]


class Drawing(LoopbackChannel):
    """Counts what it draws."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[Message] = []

    def render(self, message: Message) -> tuple[Payload, ...]:
        self.drawn.append(message)
        return super().render(message)


async def test_a_reply_is_rendered_once_before_its_row_exists() -> None:
    channel, message = Drawing(), Message((Plain("hello"),))
    async with line(channel=channel) as to:
        to.prerender("tg", message)
        assert channel.drawn == [message]
        to.outbox.enqueue("a", message)
        await to.outbox.settled()
        assert (channel.texts("a"), channel.drawn) == (["hello"], [message])
        to.outbox.enqueue("a", message)
        await to.outbox.settled()
        assert (channel.texts("a"), channel.drawn) == (["hello", "hello"], [message, message])


async def test_a_replacement_channel_renders_its_own_messages() -> None:
    old, new = Drawing(), Drawing()
    message = Message((Plain("hello"),))
    async with line(channel=old) as to:
        to.prerender("tg", message)
        to.dispatcher.use(new)
        to.outbox.enqueue("a", message)
        await to.outbox.settled()
        assert (old.texts("a"), new.texts("a"), new.drawn) == ([], ["hello"], [message])


async def test_a_failed_row_lets_the_next_one_go() -> None:
    channel = Drawing()
    async with line(channel=channel) as to:
        messages = [Message((Plain(f"n{number}"),)) for number in range(MAX_PRERENDERED + 1)]
        for message in messages:
            to.prerender("tg", message)
        to.outbox.enqueue("a", messages[0])
        to.outbox.enqueue("a", messages[-1])
        await to.outbox.settled()
        assert channel.texts("a") == ["n0", f"n{MAX_PRERENDERED}"]
        assert [channel.drawn.count(messages[n]) for n in (0, -1)] == [2, 1]


async def test_an_edit_changes_the_last_part_of_its_target() -> None:
    async with line() as to:
        to.outbox.enqueue("a", "0123456789abc", state=SendState.SENDING)
        to.outbox.enqueue("a", Message((Plain("0123456789abc"),), outcome="approved"), edit_of=1)
        await to.outbox.settled()
        assert [shown.edits for shown in to.channel.shown] == [[], ["abc [approved]"]]
        assert to.outbox.row(2).state is SendState.SENT


async def test_a_mark_is_not_written_over_another_part() -> None:
    async with line() as to:
        to.outbox.enqueue("a", "0123456789abc", state=SendState.SENDING)
        await to.outbox.reaches(1, SendState.SENT)
        to.outbox.enqueue("a", "in one", edit_of=1, marks=True)
        assert await to.clock.someone_waits() == INTERVAL_S
        to.clock.advance(INTERVAL_S)
        await to.outbox.settled()
        assert [shown.edits for shown in to.channel.shown] == [[], []]
        assert to.outbox.row(2).state is SendState.FAILED


class SlowRecords(MemoryOutbox):
    """Records of parts wait for `go_on`."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = asyncio.Event()

    async def record_part_sent(self, row_id: int, posted: Posted, *, last: bool) -> None:
        await self.go_on.wait()
        await super().record_part_sent(row_id, posted, last=last)


async def test_a_late_record_delays_an_edit_but_no_message() -> None:
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
        assert to.outbox.reason(2) == "the message to change was never sent"


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
