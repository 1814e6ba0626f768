"""Live state for subscribers: running turns and events.

Turns report as they run, the store after its commits; nothing here queries the database, and nothing waits
for a
subscriber. A subscriber holds no text: it notes how far it has read, and reads on from the one copy, so a
slow one
costs no more than a quick one.
"""

import asyncio
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core import texts
from core.errors import InboxUnavailable
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
from core.store.feed import ChangeListener, Changes, FeedItem
from core.transcript import AssistantSaid
from core.users import Principal, Role

if TYPE_CHECKING:
    from bot.mcp.extensions import ExtensionManager
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
        if isinstance(event, TextDelta):
            turn = self._turns.get(thread_id)
            if turn is not None:
                turn.add(event)
            for one in self._of_thread.get(thread_id, ()):
                one.wake()
            return
        self._keep(thread_id, turn_id, event)
        for one in self._of_thread.get(thread_id, ()):
            one.note((turn_id, event))

    def _keep(self, thread_id: str, turn_id: str, event: SmallEvent) -> None:
        """Store an event for later subscribers."""
        turn = self._turns.get(thread_id)
        match event:
            case Began():
                self._turns[thread_id] = LiveTurn(turn_id)
            case RunStarted() if turn is not None and turn.turn_id == turn_id:
                turn.started = event
            case ModelSelected() if turn is not None and turn.turn_id == turn_id:
                turn.model, turn.failed = event, None
            case CandidateFailed() if turn is not None and turn.turn_id == turn_id:
                turn.failed = event
            case Step(call_id, tool, state) if turn is not None:
                turn.steps[call_id] = (tool, state)
                if state is StepState.ENDED:
                    turn.outputs.pop(call_id, None)
            case Output(call_id) if turn is not None and turn.turn_id == turn_id:
                turn.outputs[call_id] = event.joined_to(turn.outputs.get(call_id), OUTPUT_CHARS)
            case AutoLoop() if turn is not None:
                turn.loop = event
            case Finished() | Failed() | Rested() if turn is not None and turn.turn_id == turn_id:
                del self._turns[thread_id]
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
