"""One actor per active thread: its turns run one at a time, threads run concurrently."""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from core.cancellation import LeftRunning
from core.store.rows import TurnStart

logger = logging.getLogger(__name__)


class TurnRunner(Protocol):
    """Runs turns."""

    async def run(self, start: TurnStart) -> TurnStart | None:
        """Run or go on with a turn until it ends or waits; returns the thread's next turn, if any."""
        ...

    async def end_stopped(self, start: TurnStart, left_running: str | None = None) -> TurnStart | None:
        """End a turn that a person stopped; returns the thread's next turn, if any. `left_running`: the tool
        that could not be ended."""
        ...


class _Actor:
    """The running side of one thread: a mailbox of started turns and the task that works it off.

    The mailbox needs no bound of its own: a thread has one active turn, so it holds two starts at most.
    """

    def __init__(self, first: TurnStart) -> None:
        self.mailbox: deque[TurnStart] = deque([first])
        self.current: TurnStart | None = None
        self.task: asyncio.Task[None] | None = None
        self.stopping = False


class ThreadActors:
    """All actors, in one task group.

    Use as `async with`; leaving cancels the actors, whose turns stay resumable in the store.
    """

    def __init__(self, runner: TurnRunner, max_concurrent: int) -> None:
        self._runner = runner
        self._slots = asyncio.Semaphore(max_concurrent)
        self._actors: dict[str, _Actor] = {}
        self._group = asyncio.TaskGroup()
        self._closing = False

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
        """Give a committed turn to its thread's actor; the store never starts a second one beside it."""
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

    def stop(self, turn_id: str) -> None:
        """Cancel a running turn that a person stopped; does nothing if it no longer runs here."""
        for actor in self._actors.values():
            if actor.current is not None and actor.current.turn_id == turn_id and actor.task is not None:
                actor.stopping = True
                actor.task.cancel()

    async def join(self, thread_id: str, timeout_s: float) -> None:
        """Wait until the thread has nothing to run, at most `timeout_s`."""
        actor = self._actors.get(thread_id)
        if actor is not None and actor.task is not None:
            await asyncio.wait([actor.task], timeout=timeout_s)

    def unfinished(self) -> Sequence[str]:
        """Ids of the turns that run or are about to."""
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
            # No await between the last look into the mailbox and this: no start can fall in between.
            del self._actors[thread_id]

    async def _run_one(self, actor: _Actor, start: TurnStart) -> TurnStart | None:
        try:
            async with self._slots:
                return await self._runner.run(start)
        except asyncio.CancelledError as error:
            if not actor.stopping or self._closing:
                raise
            actor.stopping = False
            _forget_cancellation()
            return await self._end_stopped(start, error.tool if isinstance(error, LeftRunning) else None)
        except Exception:
            # The runner reports failures itself; this is the task's edge, for what it could not.
            logger.exception("turn %s of thread %s broke down", start.turn_id, start.thread.id)
            return None

    async def _end_stopped(self, start: TurnStart, left_running: str | None) -> TurnStart | None:
        try:
            return await self._runner.end_stopped(start, left_running)
        except Exception:
            logger.exception("turn %s of thread %s could not be ended", start.turn_id, start.thread.id)
            return None


def _forget_cancellation() -> None:
    """The cancellations were ours, for the turn and not for the actor: the task goes on."""
    task = asyncio.current_task()
    while task is not None and task.uncancel():
        pass
