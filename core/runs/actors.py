"""One actor per active thread: its turns run one at a time, threads run concurrently.

A turn with an album starts once the album is due: its parts arrive one by one. Messages that have waited
behind a turn for a while are acknowledged. That is a courtesy: nothing depends on it, it delays nothing, and
it is lost when the hub stops.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from core.clock import SECOND_US, Clock
from core.errors import StoreError
from core.ids import Ids
from core.lazy import dataclass
from core.messages import InboundMessage, MessageRef
from core.off_loop import LeftRunning
from core.ports import Acknowledger
from core.store.accept import WAITING
from core.store.feed import Explanations
from core.store.port import UnfinishedRuns
from core.store.rows import TurnStart
from core.store.units import patiently

logger = logging.getLogger(__name__)

MANY, MANY_STEP = 1_000, 100
"""A hub with this number of conversations at work is unusually full. Each further step is reported once,
until there are fewer again."""


class TurnRunner(Protocol):
    """A runner of turns."""

    async def run(self, start: TurnStart) -> TurnStart | None:
        """Start or continue a turn until it ends or waits. Returns the thread's next turn, if any."""
        ...

    async def end_stopped(self, start: TurnStart, left_running: str | None = None) -> TurnStart | None:
        """End a turn that a person stopped. Returns the thread's next turn, if any.

        `left_running`: the tool that could not be ended."""
        ...


class _Actor:
    """A thread's mailbox of started turns and the task that runs them.

    The mailbox needs no limit: a thread has one active turn, so it holds at most two starts.
    """

    def __init__(self, first: TurnStart) -> None:
        self.mailbox: deque[TurnStart] = deque([first])
        self.current: TurnStart | None = None
        self.task: asyncio.Task[None] | None = None
        self.stopped: str | None = None
        """The turn that was stopped last, of those that began here or are about to."""


class ThreadActors:
    """All actors, in one task group.

    Use it with `async with`. Leaving cancels the actors; their turns stay resumable in the store.
    """

    def __init__(self, runner: TurnRunner, max_concurrent: int) -> None:
        self._runner = runner
        self._slots = asyncio.Semaphore(max_concurrent)
        self._actors: dict[str, _Actor] = {}
        self._group = asyncio.TaskGroup()
        self._closing = False
        self._told_at = MANY

    async def __aenter__(self) -> "ThreadActors":
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._closing = True
        for actor in list(self._actors.values()):
            if actor.task is not None:
                actor.task.cancel()
        await self._group.__aexit__(None, None, None)

    def start(self, start: TurnStart) -> None:
        """Hand a committed turn to its thread's actor. The store never starts a second turn in parallel."""
        if self._closing:
            return
        actor = self._actors.get(start.thread.id)
        if actor is not None:
            actor.mailbox.append(start)
            return
        actor = self._actors[start.thread.id] = _Actor(start)
        actor.task = self._group.create_task(
            self._work(start.thread.id, actor), name=f"thread {start.thread.id}"
        )
        if len(self._actors) >= self._told_at:
            self._told_at += MANY_STEP
            logger.warning("conversation.many_at_work count=%d", len(self._actors))

    def stop(self, turn_id: str, thread_id: str) -> None:
        """Cancel a turn that a person stopped, once: also one that is about to begin.

        Does nothing if the thread has no turn here."""
        actor = self._actors.get(thread_id)
        if actor is None or actor.stopped == turn_id:
            return
        actor.stopped = turn_id
        if actor.current is not None and actor.current.turn_id == turn_id and actor.task is not None:
            actor.task.cancel()

    async def join(self, thread_id: str, timeout_s: float) -> None:
        """Wait until the thread has nothing left to run, at most `timeout_s`."""
        actor = self._actors.get(thread_id)
        if actor is not None and actor.task is not None:
            await asyncio.wait([actor.task], timeout=timeout_s)

    @property
    def at_work(self) -> int:
        """The number of conversations with a turn that is running or about to run."""
        return len(self._actors)

    def unfinished(self) -> Sequence[str]:
        """Return the ids of the turns that are running or about to run."""
        starts = [start for actor in self._actors.values() for start in (actor.current, *actor.mailbox)]
        return [start.turn_id for start in starts if start is not None]

    async def _work(self, thread_id: str, actor: _Actor) -> None:
        try:
            while actor.mailbox:
                start: TurnStart | None = actor.mailbox.popleft()
                while start is not None:
                    actor.current = start
                    start = await self._run_one(actor, start)
                    actor.current = None
        finally:
            # No await between the last check of the mailbox and this, so no start can be missed.
            del self._actors[thread_id]
            if len(self._actors) <= MANY - MANY_STEP:
                self._told_at = MANY

    async def _run_one(self, actor: _Actor, start: TurnStart) -> TurnStart | None:
        if actor.stopped == start.turn_id:
            return await self._end_stopped(start, None)
        try:
            async with self._slots:
                return await self._runner.run(start)
        except asyncio.CancelledError as error:
            if actor.stopped != start.turn_id or self._closing:
                raise
            _forget_cancellation()
            return await self._end_stopped(start, error.tool if isinstance(error, LeftRunning) else None)
        except Exception:
            # The runner reports failures itself. This catches the ones it could not report.
            logger.exception("turn.crashed turn=%s thread=%s", start.turn_id, start.thread.id)
            return None

    async def _end_stopped(self, start: TurnStart, left_running: str | None) -> TurnStart | None:
        try:
            return await self._runner.end_stopped(start, left_running)
        except Exception:
            logger.exception("turn.stop_crashed turn=%s thread=%s", start.turn_id, start.thread.id)
            return None


def _forget_cancellation() -> None:
    """Clear the task's cancellations. They were meant for the turn, so the actor continues."""
    task = asyncio.current_task()
    while task is not None and task.uncancel():
        pass


class AlbumCollector:
    """A starter for threads whose input waited for the rest of an album.

    Waiting inputs are stored, so a hub that stops in between finds them at its next start.
    `joins`: called with a thread where a turn runs that the input may join.
    """

    def __init__(
        self,
        recovery: UnfinishedRuns,
        actors: ThreadActors,
        clock: Clock,
        ids: Ids,
        joins: Callable[[str], None],
    ) -> None:
        self._recovery = recovery
        self._actors = actors
        self._clock = clock
        self._ids = ids
        self._joins = joins
        self._due: dict[str, int] = {}
        self._waiting: set[str] = set()
        self._group: asyncio.TaskGroup | None = None

    def expect(self, thread_id: str, due_us: int) -> None:
        """Check the thread at `due_us` (microseconds UTC), or later if more parts arrive. Never blocks."""
        self._due[thread_id] = max(due_us, self._due.get(thread_id, 0))
        self._watch(thread_id)

    async def run(self) -> None:
        """Start due threads until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                for thread_id in list(self._due):
                    self._watch(thread_id)
                await asyncio.Event().wait()
            finally:
                self._group = None

    def _watch(self, thread_id: str) -> None:
        if self._group is not None and thread_id not in self._waiting:
            self._waiting.add(thread_id)
            self._group.create_task(self._start_when_due(thread_id), name=f"album of {thread_id}")

    async def _start_when_due(self, thread_id: str) -> None:
        try:
            while (wait_us := self._due[thread_id] - self._clock.now()) > 0:
                await self._clock.sleep(wait_us / SECOND_US)
            del self._due[thread_id]
        finally:
            # No await until the thread may be expected again, so later parts get a new task.
            self._waiting.discard(thread_id)
        turn_id = self._ids.row_id()
        try:
            started = await patiently(lambda: self._recovery.start_waiting(thread_id, turn_id), self._clock)
        except Exception:  # a defect met by one thread: the others continue
            logger.exception("turn.start_crashed thread=%s", thread_id)
            return
        if started is not None:
            self._actors.start(started)
        else:
            self._joins(thread_id)


ACKNOWLEDGE_AFTER_S = 1.0
"""The wait before an acknowledgement. Messages processed sooner need none."""
MAX_EXPECTED = 256
"""The number of messages watched at a time. Others get no acknowledgement."""


@dataclass(frozen=True, slots=True)
class _Queued:
    key: str
    channel: str
    ref: MessageRef
    album: str | None
    due_us: int


class Acknowledgements:
    """A watcher that checks queued messages after one second and acknowledges those still waiting."""

    def __init__(self, explanations: Explanations, acknowledger: Acknowledger, clock: Clock) -> None:
        self._explanations = explanations
        self._acknowledger = acknowledger
        self._clock = clock
        self._queued: deque[_Queued] = deque()
        self._some = asyncio.Event()

    def expect(self, message: InboundMessage) -> None:
        """Watch a queued message. Never blocks or fails. Of an album, only the first part is watched."""
        if message.ref is None or len(self._queued) >= MAX_EXPECTED:
            return
        if message.album is not None and any(queued.album == message.album for queued in self._queued):
            return
        due_us = self._clock.now() + int(ACKNOWLEDGE_AFTER_S * SECOND_US)
        self._queued.append(_Queued(message.key, message.channel, message.ref, message.album, due_us))
        self._some.set()

    async def run(self) -> None:
        """Acknowledge messages until cancelled."""
        while True:
            await self._some.wait()
            if not self._queued:
                self._some.clear()
                continue
            wait_us = self._queued[0].due_us - self._clock.now()
            if wait_us > 0:
                await self._clock.sleep(wait_us / SECOND_US)
            else:
                await self._look(self._queued.popleft())

    async def _look(self, queued: _Queued) -> None:
        try:
            found = await self._explanations.explain(queued.key)
        except StoreError as error:
            logger.info("inbox.acknowledge_failed event=%s error=%s", queued.key, error)
            return
        except Exception:  # a defect met by one message: the others continue
            logger.exception("inbox.acknowledge_crashed event=%s", queued.key)
            return
        if found is not None and found.outcome == WAITING:
            self._acknowledger.acknowledge(queued.channel, queued.ref)
