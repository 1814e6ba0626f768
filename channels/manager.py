"""The manager of all channels, between the platform adapters and the core: it keeps each one receiving."""

import asyncio
import logging
import random
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from channels.channel import Channel, HttpRequest, HttpResponse, Route, Threaded
from channels.delivery import OnPosted, Unreachable, unheard
from channels.dispatcher import Dispatcher
from core.clock import SECOND_US, Clock
from core.errors import AuthRejected, HubError, InboxUnavailable, RateLimited, Unavailable
from core.messages import Address, Attachment, InboundEvent, Message, MessageRef, Unreadable
from core.ports import Acceptance, Inbox, OutboundGate, Outbox, OutboxRow, Preview, Seen, SendState

logger = logging.getLogger(__name__)

# The supervisor that keeps one channel receiving and tracks its state.

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0

AGAIN = "; not retried: set its secret in the vault, or run `hubbub config reload`"


class Phase(StrEnum):
    """The state of a channel."""

    STARTING = "starting"
    RUNNING = "running"
    BACKING_OFF = "backing off"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class ChannelState:
    """The phase of a channel, with times in microseconds UTC.

    `since`: the start of the phase.
    `reason`: its cause, or while running a remaining problem.
    `until`: the end of the pause while backing off.
    `failures`: consecutive failures since the channel last ran for a while."""

    phase: Phase
    since: int
    reason: str | None = None
    until: int | None = None
    failures: int = 0


class Supervisor:
    """A runner that restarts one channel after pauses of 1 s to 60 s with jitter, until its token is
    rejected."""

    def __init__(
        self,
        channel: Channel,
        clock: Clock,
        entered: Callable[[], None] = lambda: None,
    ) -> None:
        self._channel = channel
        self._clock = clock
        self._entered = entered
        self._failures = 0
        self.state = ChannelState(Phase.STARTING, clock.now())

    async def run(self, inbox: Inbox) -> None:
        """Run the channel until cancelled (state `stopped`) or until its token is rejected (`failed`)."""
        try:
            while True:
                self._enter(Phase.STARTING)
                began_s = self._clock.monotonic_s()
                try:
                    reason, least_s = await self._receive(inbox)
                except AuthRejected as error:
                    self.fail(str(error))
                    return
                _heed_cancellation()
                lasted_s = self._clock.monotonic_s() - began_s
                self._failures = 1 if lasted_s > LONGEST_PAUSE_S else self._failures + 1
                await self._pause(self._failures, reason, least_s)
        finally:
            if self.state.phase is not Phase.FAILED:
                self._enter(Phase.STOPPED)

    def fail(self, reason: str) -> None:
        """Record that the platform rejects the token. Callers that learn of it report it here; only a person
        can help."""
        self._enter(Phase.FAILED, reason)

    async def _receive(self, inbox: Inbox) -> tuple[str, float]:
        """Run the channel once. Returns why it ended and how long the platform asks us to wait."""
        try:
            await self._channel.run(inbox, self._connected)
        except AuthRejected:
            raise
        except RateLimited as error:
            return str(error), error.retry_after_s
        except HubError as error:
            return str(error), 0
        except Exception:  # one adapter's defect must not stop the others
            logger.exception("channel.crashed channel=%s", self._channel.name)
            return "unexpected error; see the log", 0
        return "it stopped without an error", 0

    async def _pause(self, failures: int, reason: str, least_s: float) -> None:
        longest_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(failures - 1, 16))
        pause_s = max(FIRST_PAUSE_S, least_s, longest_s * (1 - 0.3 * random.random()))
        self._enter(Phase.BACKING_OFF, reason, until=self._clock.now() + int(pause_s * SECOND_US))
        await self._clock.sleep(pause_s)

    def _connected(self, remark: str | None = None) -> None:
        if self.state.phase is not Phase.RUNNING:
            self._enter(Phase.RUNNING, remark)

    def _enter(self, phase: Phase, reason: str | None = None, until: int | None = None) -> None:
        self.state = ChannelState(phase, self._clock.now(), reason, until, self._failures)
        level = logging.INFO if reason is None or phase is Phase.STOPPED else logging.WARNING
        told = f" reason={reason}" if reason else ""
        advice = AGAIN if phase is Phase.FAILED else ""
        now = phase.name.lower()
        logger.log(
            level, "channel.phase_changed channel=%s phase=%s%s%s", self._channel.name, now, told, advice
        )
        self._entered()


def _heed_cancellation() -> None:
    """Raise CancelledError if this task was cancelled. A task group that fails during cancellation raises
    only the failure."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


# The hub's inbox as channels see it, protected from single events that break it.


TRIES = 3
REMEMBERED = 1_000


class GuardedInbox:
    """An Inbox that guards the hub's inbox.

    An event whose handling fails unexpectedly is requested from its platform again. At the third
    failure it is recorded as unreadable and acknowledged, so that it does not block later events.
    """

    def __init__(self, inbox: Inbox, clock: Clock) -> None:
        self._inbox = inbox
        self._clock = clock
        self._failures: OrderedDict[str, int] = OrderedDict()

    async def accept(self, event: InboundEvent) -> Acceptance:
        """Accept an event. Raises only InboxUnavailable."""
        try:
            acceptance = await self._inbox.accept(event)
        except InboxUnavailable:
            raise
        except HubError as error:
            raise InboxUnavailable(str(error)) from error
        except Exception as error:  # a defect met by one event; the platform still has it
            logger.exception("inbox.accept_crashed event=%s", event.key)
            if self._count(event.key) < TRIES:
                raise InboxUnavailable(f"could not accept {event.key}; see the log") from error
            return await self._set_aside(event)
        self._failures.pop(event.key, None)
        return acceptance

    async def last_seen(self, channel: str) -> Sequence[Seen]:
        return await self._inbox.last_seen(channel)

    async def _set_aside(self, event: InboundEvent) -> Acceptance:
        summary = "accepting it failed repeatedly; see the log"
        try:
            acceptance = await self._inbox.accept(
                Unreadable(event.key, event.channel, summary, self._clock.now())
            )
        except HubError as error:
            raise InboxUnavailable("the event could not be recorded") from error
        except Exception as error:
            logger.exception("inbox.record_crashed event=%s", event.key)
            raise InboxUnavailable("the event could not be recorded") from error
        self._failures.pop(event.key, None)
        return acceptance

    def _count(self, key: str) -> int:
        failures = self._failures.pop(key, 0) + 1
        self._failures[key] = failures
        if len(self._failures) > REMEMBERED:
            self._failures.popitem(last=False)
        return failures


GRACE_S = 1.5
CHECK_LIMIT_S = 8.0
"""The limit on checking a new channel, so that an operator who replaces one soon gets the result."""


@dataclass(slots=True)
class _Slot:
    """One configured channel and its services. `receiving`: the supervisor's task, once started."""

    channel: Channel
    supervisor: Supervisor
    dispatcher: Dispatcher
    receiving: asyncio.Task[None] | None = None


class ChannelManager:
    """All configured channels: they pass received events to the hub and send the hub's messages.

    It is the core's OutboxListener and Directory, and shows its Previews. `on_state` is called when a
    channel's state changes, `on_send` with the result of each message, `on_posted` with each part that is
    shown. Channels are independent: a failing one neither stops nor delays another.
    """

    def __init__(
        self,
        channels: Sequence[Channel],
        outbox: Outbox,
        clock: Clock,
        *,
        on_state: Callable[[str], None] = lambda _: None,
        on_send: Callable[[str, SendState], None] = lambda _name, _state: None,
        gate: OutboundGate | None = None,
        on_posted: OnPosted = unheard,
    ) -> None:
        self._clock = clock
        self._on_state = on_state
        self._inbox: Inbox | None = None
        self._receivers: asyncio.TaskGroup | None = None
        self._slots: dict[str, _Slot] = {}
        for channel in channels:
            if channel.name in self._slots:
                raise ValueError(f"two channels have the name {channel.name}")
            dispatcher = Dispatcher(
                channel,
                outbox,
                clock,
                lambda error, name=channel.name: self._rejected(name, error),
                GRACE_S,
                lambda state, name=channel.name: on_send(name, state),
                self.outbox_ready,
                gate,
                on_posted,
            )
            self._slots[channel.name] = _Slot(channel, self._supervisor(channel), dispatcher)

    # --- running -----------------------------------------------------------------------------------------

    async def run(self, inbox: Inbox) -> None:
        """Receive and send until cancelled, then close the channels.

        Start this after the store has recovered, because rows still `sending` are assumed to be in
        progress.
        """
        self._inbox = GuardedInbox(inbox, self._clock)
        try:
            async with asyncio.TaskGroup() as senders:
                for name, slot in self._slots.items():
                    senders.create_task(slot.dispatcher.run(), name=f"dispatcher {name}")
                async with asyncio.TaskGroup() as receivers:
                    self._receivers = receivers
                    for slot in self._slots.values():
                        self._receive(slot)
                    receivers.create_task(asyncio.Event().wait(), name="channels")
        finally:
            self._receivers = None
            for slot in self._slots.values():
                await self._close(slot.channel)

    async def replace(self, channel: Channel) -> None:
        """Replace the channel of the same name. Unsent rows are sent through the new one.

        Raises ChannelError, and changes nothing, if the platform does not accept the new channel."""
        slot = self._slots[channel.name]
        try:
            async with asyncio.timeout(CHECK_LIMIT_S):
                await channel.check()
        except BaseException as error:
            await self._close(channel)
            if isinstance(error, TimeoutError):
                raise Unavailable(f"the platform did not answer within {CHECK_LIMIT_S:g} s") from error
            raise
        if slot.receiving is not None:
            slot.receiving.cancel()
            await asyncio.wait([slot.receiving])
        old, slot.channel = slot.channel, channel
        slot.supervisor = self._supervisor(channel)
        slot.dispatcher.use(channel)
        self._receive(slot)
        await self._close(old)

    # --- for the core ---------------------------------------------------------------------------------

    def outbox_ready(self, rows: Sequence[OutboxRow]) -> None:
        # Rows of channels that are not configured stay in the store.
        for row in rows:
            if (slot := self._slots.get(row.channel)) is not None:
                slot.dispatcher.put((row,))

    def take_over(self, previews: Sequence[OutboxRow]) -> None:
        """Send what another hub left: its previews are searched for, its messages are in the store."""
        self.outbox_ready(previews)
        for slot in self._slots.values():
            slot.dispatcher.reload()

    def may_send_now(self, channel: str, address: Address) -> bool:
        slot = self._slots.get(channel)
        return (
            slot is not None
            and slot.supervisor.state.phase is Phase.RUNNING
            and slot.dispatcher.would_send_now(address)
        )

    def prerender(self, channel: str, message: Message) -> None:
        if (slot := self._slots.get(channel)) is not None:
            slot.dispatcher.prerender(message)

    def open_preview(self, preview: Preview) -> None:
        if (slot := self._slots.get(preview.channel)) is not None:
            slot.dispatcher.open_preview(preview)

    def close_preview(self, preview: Preview) -> None:
        if (slot := self._slots.get(preview.channel)) is not None:
            slot.dispatcher.close_preview(preview)

    def speaks(self, channel: str) -> bool:
        return channel in self._slots

    def direct(self, channel: str, platform_user_id: str) -> Address | None:
        # The configuration may name an id that is none there.
        try:
            return self._slots[channel].channel.direct(platform_user_id) if channel in self._slots else None
        except ValueError:
            return None

    async def open_thread(self, channel: str, at: Address, title: str, nonce: str) -> Address | None:
        """Open a thread and return its address, or None if there are no threads. Raises ChannelError."""
        slot = self._slots.get(channel)
        if slot is None or not isinstance(slot.channel, Threaded):
            return None
        return await slot.channel.open_thread(at, title, nonce)

    async def fetch(self, channel: str, attachment: Attachment, limit_bytes: int) -> bytes:
        """Download an attachment. Raises AttachmentTooLarge or another ChannelError."""
        slot = self._slots.get(channel)
        if slot is None:
            raise Unavailable(f"{channel} is no longer configured")
        return await slot.channel.fetch(attachment, limit_bytes)

    def acknowledge(self, channel: str, ref: MessageRef) -> None:
        if (slot := self._slots.get(channel)) is not None:
            slot.dispatcher.acknowledge(ref)

    # --- for the program ------------------------------------------------------------------------------

    def states(self) -> Mapping[str, ChannelState]:
        """Return the state of every channel, by name."""
        return {name: slot.supervisor.state for name, slot in self._slots.items()}

    def unreachable(self) -> Mapping[str, Mapping[Address, Unreachable]]:
        """Return, by channel, the addresses that refused their last message.

        Typical causes are people who blocked the bot, groups that removed it, and closed topics."""
        return {name: slot.dispatcher.unreachable for name, slot in self._slots.items()}

    def waiting(self) -> Mapping[str, int]:
        """Return the number of messages known to be waiting, by channel."""
        return {name: slot.dispatcher.waiting for name, slot in self._slots.items()}

    def routes(self, inbox: Inbox) -> Mapping[str, Sequence[Route]]:
        """Return the endpoints that platforms call, by channel name.

        They pass events to `inbox` and always lead to the current channel of that name."""
        guarded_inbox = GuardedInbox(inbox, self._clock)
        return {
            name: [_current(slot, route, guarded_inbox) for route in slot.channel.routes(guarded_inbox)]
            for name, slot in self._slots.items()
        }

    def channel(self, name: str) -> Channel:
        """Return a channel by name. Raises KeyError."""
        return self._slots[name].channel

    # --- inside ------------------------------------------------------------------------------------------

    def _supervisor(self, channel: Channel) -> Supervisor:
        return Supervisor(channel, self._clock, entered=lambda: self._on_state(channel.name))

    def _receive(self, slot: _Slot) -> None:
        if self._receivers is not None and self._inbox is not None:
            task = self._receivers.create_task(
                slot.supervisor.run(self._inbox), name=f"channel {slot.channel.name}"
            )
            slot.receiving = task

    def _rejected(self, name: str, error: AuthRejected) -> None:
        """Mark a channel as failed after a send found its token rejected. Receiving would fail as well."""
        slot = self._slots[name]
        slot.supervisor.fail(str(error))
        if slot.receiving is not None:
            slot.receiving.cancel()

    async def _close(self, channel: Channel) -> None:
        try:
            await channel.close()
        except Exception:  # the others are still to be closed
            logger.exception("channel.close_crashed channel=%s", channel.name)


def _current(slot: _Slot, route: Route, inbox: Inbox) -> Route:
    async def handle(request: HttpRequest) -> HttpResponse:
        for now in slot.channel.routes(inbox):
            if (now.method, now.path) == (route.method, route.path):
                return await now.handle(request)
        return HttpResponse(404)

    return Route(route.method, route.path, handle)
