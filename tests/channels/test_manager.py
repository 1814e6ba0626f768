"""Channels beside each other: their states, their independence, their end."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from channels.channel import HttpRequest, HttpResponse, Route
from channels.manager import ChannelManager, GuardedInbox, Phase
from core.errors import (
    AuthRejected,
    ChannelError,
    InboxUnavailable,
    MessageRejected,
    RateLimited,
    StoreUnavailable,
    Unavailable,
)
from core.messages import Address, InboundMessage, Sender, Unreadable
from core.ports import Inbox, OutboxRow, SendState
from tests.channels.loopback import LoopbackChannel
from tests.channels.memory import MemoryInbox, MemoryOutbox
from tests.clock import ManualClock
from tests.patience import PATIENCE_S


@asynccontextmanager
async def running(
    channels: Sequence[LoopbackChannel], outbox: MemoryOutbox, clock: ManualClock
) -> AsyncIterator[ChannelManager]:
    manager = ChannelManager(channels, outbox, clock)
    outbox.listener = manager
    task = asyncio.create_task(manager.run(MemoryInbox()))
    try:
        yield manager
    finally:
        task.cancel()
        await asyncio.wait([task], timeout=PATIENCE_S)
    assert task.cancelled()


def phase(manager: ChannelManager, name: str = "tg") -> Phase:
    return manager.states()[name].phase


async def test_a_failing_channel_pauses_with_a_reason_and_comes_back() -> None:
    channel, clock = LoopbackChannel(), ManualClock()
    channel.fate = Unavailable("cannot be reached")
    async with running([channel], MemoryOutbox(), clock) as manager:
        pauses: list[float] = []
        for _ in range(9):
            pauses.append(await clock.someone_waits())
            state = manager.states()["tg"]
            assert state.phase is Phase.BACKING_OFF
            assert state.reason == "cannot be reached"
            assert state.until is not None
            assert state.until > clock.now()
            assert not manager.may_send_now("tg", Address("a"))
            clock.advance(pauses[-1])
            await channel.until(lambda: channel.runs == len(pauses) + 1)
        assert pauses[0] == 1
        assert all(0.7 * 2**i <= pause <= 2**i for i, pause in enumerate(pauses[:6]) if i)
        assert all(42 <= pause <= 60 for pause in pauses[6:])
        channel.fate = None
        clock.advance(await clock.someone_waits())
        await channel.until(lambda: phase(manager) is Phase.RUNNING)
        assert manager.may_send_now("tg", Address("a"))


class LastWord(LoopbackChannel):
    """Fails in the moment it is stopped."""

    async def run(self, inbox: Inbox, connected: Callable[[], None]) -> None:
        connected()
        self.changed()
        try:
            await asyncio.Event().wait()
        finally:
            raise InboxUnavailable("stopping")


async def test_a_channel_that_fails_while_it_is_stopped_is_stopped() -> None:
    channel = LastWord()
    async with running([channel], MemoryOutbox(), ManualClock()) as manager:
        await channel.until(lambda: phase(manager) is Phase.RUNNING)
    assert phase(manager) is Phase.STOPPED


async def test_a_pause_requested_by_the_platform_is_observed() -> None:
    channel, clock = LoopbackChannel(), ManualClock()
    channel.fate = RateLimited(30)
    async with running([channel], MemoryOutbox(), clock):
        assert await clock.someone_waits() == 30


@pytest.mark.parametrize(
    "fate", [ZeroDivisionError("a defect"), ChannelError("odd"), InboxUnavailable("full")]
)
async def test_one_channel_failing_does_not_touch_the_others(fate: Exception) -> None:
    good, bad, outbox, clock = LoopbackChannel("good"), LoopbackChannel("bad"), MemoryOutbox(), ManualClock()
    bad.fate = fate
    async with running([bad, good], outbox, clock) as manager:
        await clock.someone_waits()
        assert phase(manager, "bad") is Phase.BACKING_OFF
        outbox.enqueue("a", "hello", channel="good")
        await outbox.settled()
        assert good.texts("a") == ["hello"]
        assert phase(manager, "good") is Phase.RUNNING


async def test_a_refused_token_is_final_and_replaceable() -> None:
    channel, outbox, clock = LoopbackChannel(), MemoryOutbox(), ManualClock()
    channel.fate = AuthRejected("no such token")
    channel.trouble = lambda *_: AuthRejected("no such token")
    other = LoopbackChannel("other")
    async with running([channel, other], outbox, clock) as manager:
        await other.until(lambda: phase(manager, "other") is Phase.RUNNING)
        assert phase(manager) is Phase.FAILED
        outbox.enqueue("a", "waiting")
        await outbox.until(lambda: (1, "retry") in outbox.history)
        assert phase(manager) is Phase.FAILED
        assert manager.states()["tg"].reason == "no such token"
        wrong = LoopbackChannel()
        wrong.check_error = AuthRejected("neither")
        with pytest.raises(AuthRejected):
            await manager.replace(wrong)
        assert phase(manager) is Phase.FAILED
        right = LoopbackChannel()
        await manager.replace(right)
        await right.until(lambda: phase(manager) is Phase.RUNNING)
        await outbox.settled()
        assert right.texts("a") == ["waiting"]
        assert channel.closed
        assert manager.channel("tg") is right
        assert channel.runs == 1
    assert right.closed


async def test_a_late_failure_of_the_old_channel_spares_the_new_one() -> None:
    old, new, outbox = LoopbackChannel(), LoopbackChannel(), MemoryOutbox()
    old.hold.add("a")
    old.trouble = lambda *_: AuthRejected("revoked")
    async with running([old], outbox, ManualClock()) as manager:
        await old.until(lambda: phase(manager) is Phase.RUNNING)
        outbox.enqueue("a", "hello")
        await old.until(lambda: "a" in old.held)
        await manager.replace(new)
        old.hold.clear()
        old.changed()
        await outbox.settled()
        assert new.texts("a") == ["hello"]
        assert phase(manager) is Phase.RUNNING


async def test_a_send_that_learns_of_a_refused_token_fails_the_channel() -> None:
    channel, outbox = LoopbackChannel(), MemoryOutbox()
    channel.trouble = lambda *_: AuthRejected("revoked")
    async with running([channel], outbox, ManualClock()) as manager:
        await channel.until(lambda: phase(manager) is Phase.RUNNING)
        outbox.enqueue("a", "hello")
        await outbox.reaches(1, SendState.SENDING)
        await outbox.reaches(1, SendState.QUEUED)
        assert phase(manager) is Phase.FAILED


async def test_stored_rows_are_sent_at_start() -> None:
    channel, outbox = LoopbackChannel(), MemoryOutbox()
    outbox.enqueue("a", "kept")
    outbox.enqueue("a", "elsewhere", channel="unconfigured")
    async with running([channel], outbox, ManualClock()):
        await outbox.reaches(1, SendState.SENT)
        outbox.enqueue("a", "now")
        await outbox.reaches(3, SendState.SENT)
    assert channel.texts("a") == ["kept", "now"]
    assert outbox.row(2).state is SendState.QUEUED


class Released(MemoryOutbox):
    """A message to another channel is sent instead of one that fails."""

    async def fail_outbox(self, row_id: int, reason: str) -> Sequence[OutboxRow]:
        await super().fail_outbox(row_id, reason)
        return [self.enqueue("b", "instead", channel="other", tell=False)]


async def test_what_is_sent_instead_of_a_failed_message_goes_out_at_once() -> None:
    outbox, refusing, other = Released(), LoopbackChannel(), LoopbackChannel("other")
    refusing.trouble = lambda _address, _payload: MessageRejected("message is too long")
    async with running([refusing, other], outbox, ManualClock()):
        outbox.enqueue("a", "too long")
        await other.until(lambda: other.texts("b") == ["instead"])


async def test_immediate_sending_is_promised_only_for_an_empty_queue() -> None:
    channel, outbox = LoopbackChannel(), MemoryOutbox()
    manager = ChannelManager([channel], outbox, ManualClock())
    assert not manager.may_send_now("tg", Address("a"))
    async with running([channel], outbox, ManualClock()) as manager:
        await channel.until(lambda: phase(manager) is Phase.RUNNING)
        outbox.enqueue("x", "warm up")
        await outbox.settled()
        assert manager.may_send_now("tg", Address("a"))
        assert not manager.may_send_now("unknown", Address("a"))
        channel.hold.add("a")
        outbox.enqueue("a", "hello")
        assert not manager.may_send_now("tg", Address("a"))
        assert manager.may_send_now("tg", Address("b"))
        await channel.until(lambda: "a" in channel.held)
        assert not manager.may_send_now("tg", Address("a"))
        channel.hold.clear()
        channel.changed()
        await outbox.settled()
        await outbox.until(lambda: manager.may_send_now("tg", Address("a")))


async def test_a_slow_chat_delays_no_other() -> None:
    channel, outbox = LoopbackChannel(), MemoryOutbox()
    channel.hold.add("slow")
    async with running([channel], outbox, ManualClock()):
        outbox.enqueue("slow", "first")
        for i in range(50):
            outbox.enqueue(f"chat{i}", "hello")
        await outbox.until(lambda: sum(outbox.row(i).state is SendState.SENT for i in range(2, 52)) == 50)
        assert channel.texts("slow") == []
        channel.hold.clear()
        channel.changed()
        await outbox.settled()


async def test_two_channels_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="tg"):
        ChannelManager([LoopbackChannel(), LoopbackChannel()], MemoryOutbox(), ManualClock())


def message(key: str) -> InboundMessage:
    return InboundMessage(key, "1", "tg", Address("a"), "a", Sender("7", "Ann"), "hello", 0)


async def test_an_event_is_set_aside_after_failing_three_times() -> None:
    inbox = MemoryInbox()
    inbox.failure = lambda event: ZeroDivisionError() if isinstance(event, InboundMessage) else None
    guarded_inbox = GuardedInbox(inbox, ManualClock())
    for _ in range(2):
        with pytest.raises(InboxUnavailable):
            await guarded_inbox.accept(message("k"))
    await guarded_inbox.accept(message("k"))
    kept = inbox.events["k"]
    assert isinstance(kept, Unreadable)


async def test_failures_before_an_event_was_handled_do_not_count() -> None:
    inbox = MemoryInbox()
    guarded_inbox = GuardedInbox(inbox, ManualClock())
    for _ in range(3):
        inbox.failure = lambda event: ZeroDivisionError() if isinstance(event, InboundMessage) else None
        for _ in range(2):
            with pytest.raises(InboxUnavailable):
                await guarded_inbox.accept(message("k"))
        inbox.failure = lambda _: None
        await guarded_inbox.accept(message("k"))
    assert inbox.events["k"] == message("k")


async def test_a_store_that_takes_nothing_never_sets_an_event_aside() -> None:
    inbox = MemoryInbox()
    inbox.failure = lambda _: StoreUnavailable("disk full")
    guarded_inbox = GuardedInbox(inbox, ManualClock())
    for _ in range(5):
        with pytest.raises(InboxUnavailable, match="disk full"):
            await guarded_inbox.accept(message("k"))
    inbox.failure = lambda _: None
    await guarded_inbox.accept(message("k"))
    assert inbox.events["k"] == message("k")


class CalledChannel(LoopbackChannel):
    """A platform calls it; it answers with its label."""

    def __init__(self, label: bytes) -> None:
        super().__init__()
        self._label = label

    def routes(self, inbox: Inbox) -> Sequence[Route]:
        async def handle(_: HttpRequest) -> HttpResponse:
            return HttpResponse(200, self._label)

        return (Route("POST", "/hook", handle),)


async def test_a_platform_that_calls_reaches_the_channel_of_that_moment() -> None:
    async with running([CalledChannel(b"old")], MemoryOutbox(), ManualClock()) as manager:
        (route,) = manager.routes(MemoryInbox())["tg"]
        call = HttpRequest("POST", "/channels/tg/hook", {}, b"")
        assert (await route.handle(call)).body == b"old"
        await manager.replace(CalledChannel(b"new"))
        assert (await route.handle(call)).body == b"new"
        await manager.replace(LoopbackChannel())
        assert (await route.handle(call)).status == 404
