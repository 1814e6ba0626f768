"""One actor per active thread: its turns run one at a time, threads run concurrently."""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from core.off_loop import LeftRunning
from core.store.rows import TurnStart

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
