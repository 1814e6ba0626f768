"""Live state: running turns and events for subscribers, and counts of what happened since the hub started.

Turns report as they run, the store after its commits; nothing here queries the database, and nothing waits
for a subscriber. A subscriber holds no text: it notes how far it has read, and reads on from the one copy, so
a slow one costs no more than a quick one.
"""

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from channels.manager import ChannelState
from core import texts
from core.errors import InboxUnavailable, StoreUnavailable
from core.events import (
    AutoLoop,
    Began,
    CandidateFailed,
    Failed,
    Finished,
    ModelSelected,
    Output,
    Rested,
    RunEvent,
    RunStarted,
    Step,
    StepState,
    TextDelta,
    TurnEvent,
)
from core.messages import InboundEvent
from core.ports import Acceptance, Inbox, Seen, SendState
from core.runs.metering import Metered
from core.store.feed import ChangeListener, Changes, FeedItem
from core.transcript import AssistantSaid
from core.usage import MICRO_USD
from core.users import Principal, Role

if TYPE_CHECKING:
    from bot.mcp.extensions import ExtensionManager
    from core.job import JobState
    from core.jobs.service import JobService
    from core.tools.sign_in import SignIns

MAX_SUBSCRIBERS = 256
"""At the same time, of all members together: however many they have, the owner's are not among them."""
MAX_OF_ONE = 32
"""At the same time, of one person."""
EVENTS_LIMIT = 256
"""Small events that may wait for one subscriber; one that lets more wait is cut and comes back."""

OUTPUT_CHARS = 8_000
"""The end of a running call's output that somebody who comes later sees."""


@dataclass(slots=True)
class LiveTurn:
    """A running turn. `attempt`: the number of the model call whose reply is being written, and `pieces` of
    that reply; `steps`: of the calls that began, by call id; `loop`: how far its run of tools has come;
    `model`: the selected one; `failed`: its last failure; `outputs`: of running calls, the end of each."""

    turn_id: str
    started: RunStarted | None = None
    attempt: int = -1
    pieces: list[str] = field(default_factory=list[str])
    chars: int = 0
    loop: AutoLoop | None = None
    model: ModelSelected | None = None
    failed: CandidateFailed | None = None
    outputs: dict[str, Output] = field(default_factory=dict[str, Output])
    steps: dict[str, tuple[str, StepState]] = field(default_factory=dict[str, tuple[str, StepState]])

    @property
    def text(self) -> str:
        """Return the reply so far."""
        return "".join(self.pieces)

    def text_from(self, piece: int) -> str:
        """Return the reply after its first `piece` pieces."""
        return "".join(self.pieces[piece:])

    def is_told_by(self, line: FeedItem) -> bool:
        """Return whether a line of the thread is the reply so far, which needn't be shown a second time."""
        match line.shown:
            case AssistantSaid(text):
                return line.turn_id == self.turn_id and self.text.strip() == texts.without_mark(text)
            case _:
                return False

    def add(self, delta: TextDelta) -> None:
        """Append to the reply, or begin another one. A late piece of an earlier one is dropped."""
        if delta.attempt < self.attempt:
            return
        if delta.attempt > self.attempt:
            self.attempt, self.pieces, self.chars, self.failed = delta.attempt, [], 0, None
        self.pieces.append(delta.text)
        self.chars += len(delta.text)


SmallEvent = Began | Step | Output | AutoLoop | Finished | Failed | Rested | RunEvent
TurnNews = tuple[str, SmallEvent]
"""A turn and what happened to it; its text is read from the LiveTurn."""


class Subscription:
    """A reader of the live feed. `changed`: something in the thread is to be read; `gates`: the ids of those
    that changed, each with its thread's."""

    def __init__(self, thread_id: str | None, person: Principal) -> None:
        self.thread_id = thread_id
        self.person = person
        self.changed = True
        self.threads: set[str] = set()
        self.gates: dict[str, str] = {}
        self.people = False
        self.tools = False
        self.routines: set[str] = set()
        self.runs: set[str] = set()
        self.jobs: set[str] = set()
        self.channels: set[str] = set()
        self.news: deque[TurnNews] = deque()
        self.cut = False
        self._wake = asyncio.Event()
        self._wake.set()

    def wake(self) -> None:
        """Wake the subscriber: there is something to send."""
        self._wake.set()

    def note(self, news: TurnNews) -> None:
        """Add a small event of a turn."""
        if len(self.news) >= EVENTS_LIMIT:
            self.cut = True
        else:
            self.news.append(news)
        self._wake.set()

    async def something(self, timeout_s: float) -> bool:
        """Wait for news, at most that long; return whether there may be any."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._wake.wait()
        except TimeoutError:
            return False
        self._wake.clear()
        return True


class TooManySubscribers(Exception):
    """This person can look on at nothing else now."""


class Live:
    """Implements core.events.TurnListener and core.store.feed.ChangeListener."""

    def __init__(self) -> None:
        self._turns: dict[str, LiveTurn] = {}
        self._of_thread: dict[str, set[Subscription]] = {}
        self._of_lists: set[Subscription] = set()
        self._of_person: Counter[str] = Counter()
        self._members = 0
        self._count = 0
        self._closed = False

    @property
    def streams(self) -> int:
        """Return the number of subscriptions."""
        return self._count

    def turn(self, thread_id: str) -> LiveTurn | None:
        """Return the running turn of a thread."""
        return self._turns.get(thread_id)

    def subscribe(self, thread_id: str | None, person: Principal) -> Subscription:
        """Look on at a thread, or at the lists of everything. Raises TooManySubscribers, InboxUnavailable."""
        if self._closed:
            raise InboxUnavailable("the hub is stopping")
        is_member = person.role is not Role.OWNER
        full = self._of_person[person.user_id] >= MAX_OF_ONE
        if full or (is_member and self._members >= MAX_SUBSCRIBERS):
            raise TooManySubscribers
        one = Subscription(thread_id, person)
        group = self._of_lists if thread_id is None else self._of_thread.setdefault(thread_id, set())
        group.add(one)
        self._of_person[person.user_id] += 1
        self._members += is_member
        self._count += 1
        return one

    def leave(self, one: Subscription) -> None:
        """Remove a subscription."""
        self._count -= 1
        self._members -= one.person.role is not Role.OWNER
        self._of_person -= Counter((one.person.user_id,))
        if one.thread_id is None:
            self._of_lists.discard(one)
            return
        group = self._of_thread[one.thread_id]
        group.discard(one)
        if not group:
            del self._of_thread[one.thread_id]

    def close(self) -> None:
        """Cut everybody: the hub stops."""
        self._closed = True
        for one in self._everybody():
            one.cut = True
            one.wake()

    # --- what happens ------------------------------------------------------------------------------------

    def turn_event(self, thread_id: str, turn_id: str, event: TurnEvent) -> None:
        readers = self._of_thread.get(thread_id, ())
        if isinstance(event, TextDelta):
            turn = self._turns.get(thread_id)
            if turn is not None:
                turn.add(event)
            for one in readers:
                one.wake()
            return
        if isinstance(event, Began):
            self._turns[thread_id] = LiveTurn(turn_id)
        else:
            self._keep(thread_id, turn_id, event)
        for one in readers:
            one.note((turn_id, event))

    def _keep(self, thread_id: str, turn_id: str, event: SmallEvent) -> None:
        """Store an event for later subscribers."""
        turn = self._turns.get(thread_id)
        if turn is None or turn.turn_id != turn_id:
            return
        match event:
            case RunStarted():
                turn.started = event
            case ModelSelected():
                turn.model, turn.failed = event, None
            case Finished() | Failed() | Rested():
                del self._turns[thread_id]
            case CandidateFailed():
                turn.failed = event
            case Step(call_id, tool, state):
                turn.steps[call_id] = (tool, state)
                if state is StepState.ENDED:
                    turn.outputs.pop(call_id, None)
            case Output(call_id):
                turn.outputs[call_id] = event.joined_to(turn.outputs.get(call_id), OUTPUT_CHARS)
            case AutoLoop():
                turn.loop = event
            case _:
                pass

    def changed(self, changes: Changes) -> None:
        if not self._count:
            return
        for thread_id in changes.threads:
            for one in self._of_thread.get(thread_id, ()):
                one.changed = True
                one.wake()
        for gate_id, thread_id in changes.gates.items():
            for one in self._of_thread.get(thread_id, ()):
                one.gates[gate_id] = thread_id
                one.wake()
        for job_id, thread_id in changes.shown_jobs.items():
            for one in self._of_thread.get(thread_id, ()):
                one.jobs.add(job_id)
                one.wake()
        for one in self._of_lists:
            one.threads |= changes.threads
            one.jobs |= changes.jobs | changes.shown_jobs.keys()
            one.gates.update(changes.gates)
            one.people = one.people or changes.people
            one.tools = one.tools or changes.tools
            one.routines |= changes.routines
            one.runs |= changes.runs
            one.wake()

    def channel_changed(self, name: str) -> None:
        """Report that a channel's state changed."""
        for one in self._of_lists:
            one.channels.add(name)
            one.wake()

    def _everybody(self) -> list[Subscription]:
        groups = [self._of_lists, *self._of_thread.values()]
        return [one for group in groups for one in group]


class ChangeListeners:
    """Tells several of each commit, in order; jobs only if one changed or is to be shown, extensions and
    settings only of theirs, sign-ins of gates only while there is a server to sign in to."""

    def __init__(
        self,
        jobs: "JobService",
        extensions: "ExtensionManager | None",
        sign_ins: "SignIns",
        settings: ChangeListener,
        *listeners: ChangeListener,
    ) -> None:
        self._jobs, self._extensions, self._sign_ins = jobs, extensions, sign_ins
        self._settings, self._listeners = settings, listeners

    def changed(self, changes: Changes) -> None:
        if changes.extensions and self._extensions is not None:
            self._extensions.changed(changes)
        if changes.jobs or self._jobs.shows:
            self._jobs.changed(changes)
        if changes.sign_ins or changes.sign_outs or (changes.gates and self._sign_ins.servers):
            self._sign_ins.changed(changes)
        if changes.settings:
            self._settings.changed(changes)
        for listener in self._listeners:
            listener.changed(changes)


# Counters since the hub started, in memory, as `GET /metrics` shows them to Prometheus; gauges are read at
# each request.

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
NEW_JOB = "new"
"""The state, as a label, that a job had before it was created."""
_OUTCOMES = frozenset({"turn", "waiting", "command", "answer", "refused", "ignored", "failed", "edited"})
_TURN_STATES = {Began: "begun", Finished: "finished", Failed: "failed"}


@dataclass(frozen=True, slots=True)
class Gauges:
    """Values read at each request. `waiting`: queued messages by channel. `job_states`: jobs by state."""

    states: Callable[[], Mapping[str, ChannelState]]
    waiting: Callable[[], Mapping[str, int]]
    running: Callable[[], int]
    streams: Callable[[], int]
    jobs: Callable[[], int]
    job_states: Callable[[], Awaitable[Mapping["JobState", int]]]


class Metrics:
    """The counters, by their labels. Implements core.events.TurnListener and
    core.store.feed.ChangeListener."""

    def __init__(self) -> None:
        self.events_accepted: Counter[tuple[str, str]] = Counter()
        self.turns: Counter[str] = Counter(dict.fromkeys(_TURN_STATES.values(), 0))
        self.sends: Counter[tuple[str, str]] = Counter()
        self.model_calls: Counter[tuple[str, str]] = Counter()
        self.model_tokens: Counter[tuple[str, str]] = Counter()
        self.model_cost_usd: defaultdict[str, float] = defaultdict(float)
        self.model_seconds: defaultdict[str, float] = defaultdict(float)
        self.job_changes: Counter[tuple[str, str]] = Counter()
        self.gauges: Gauges | None = None

    def look_at(self, gauges: Gauges) -> None:
        """Show these, too, whenever somebody looks."""
        self.gauges = gauges

    async def job_states(self) -> Mapping["JobState", int] | None:
        """Return how many jobs are in each state; None while the database cannot be read."""
        if self.gauges is None:
            return None
        try:
            return await self.gauges.job_states()
        except StoreUnavailable:
            return None

    def accepted(self, channel: str, outcome: str) -> None:
        """Count an accepted event; its outcome is reduced to its kind."""
        kind = outcome.partition(" ")[0].rstrip(":")
        self.events_accepted[channel, kind if kind in _OUTCOMES else "other"] += 1

    def sent(self, channel: str, state: SendState) -> None:
        """Count a message that was sent or failed."""
        self.sends[channel, state.value] += 1

    def model_called(self, call: Metered) -> None:
        """Count a finished model call."""
        self.model_calls[call.model, "answered" if call.answered else "failed"] += 1
        self.model_seconds[call.model] += call.seconds
        if (used := call.usage) is None:
            return
        fresh = used.input_tokens - used.cached_input_tokens - used.cache_write_tokens
        for kind, tokens in (
            ("input", fresh),
            ("output", used.output_tokens),
            ("cache_read", used.cached_input_tokens),
            ("cache_write", used.cache_write_tokens),
        ):
            self.model_tokens[call.model, kind] += tokens
        self.model_cost_usd[call.model] += used.cost_micro_usd / MICRO_USD

    def turn_event(self, thread_id: str, turn_id: str, event: TurnEvent) -> None:
        del thread_id, turn_id
        state = _TURN_STATES.get(type(event))
        if state is not None:
            self.turns[state] += 1

    def changed(self, changes: Changes) -> None:
        # Each hub counts what it committed.
        for before, state in changes.job_changes:
            self.job_changes[NEW_JOB if before is None else before.value, state.value] += 1


class MeteredInbox:
    """An Inbox that counts what another one takes."""

    def __init__(self, inbox: Inbox, metrics: Metrics) -> None:
        self._inbox = inbox
        self._metrics = metrics

    async def accept(self, event: InboundEvent) -> Acceptance:
        acceptance = await self._inbox.accept(event)
        if not acceptance.duplicate:
            self._metrics.accepted(event.channel, acceptance.outcome)
        return acceptance

    async def last_seen(self, channel: str) -> Sequence[Seen]:
        return await self._inbox.last_seen(channel)
