"""A tool's run in a task of its own: whatever comes out of it stays in there, and it ends when it is told to.

A cancellation of the caller is the hub's own and goes on upwards; one that the tool raises itself is an error
of that call, and so are exits. A tool that swallows its cancellation is cancelled again, then closed. What
cannot be ended, a thread that hangs or a tool that ignores being closed, is named, not passed over.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, TypeVar

from core.cancellation import LeftRunning
from core.tools.halt import ToolHalt

logger = logging.getLogger(__name__)

T = TypeVar("T")

CANCELS = 3
"""How often a tool is cancelled before it is closed; cleaning up may take several seconds."""
CLEANS_UP_WITHIN_S = 5.0
"""How long it may take each time, and how long its threads may take in the end; see `cleans_up_s`."""

_threads: ContextVar["set[Future[Any]] | None"] = ContextVar("threads of the call", default=None)


class CallThreads(ThreadPoolExecutor):
    """The loop's threads; it knows which of them work for which call, so that its end can wait for them."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        """Run a function in a thread, for the call that asks for it, if one does."""
        work = super().submit(fn, *args, **kwargs)
        ours = _threads.get()
        if ours is not None:
            ours.add(work)
            work.add_done_callback(ours.discard)
        return work


class Ended(Enum):
    """Why a tool was ended before it returned."""

    DEADLINE = auto()
    PAUSED = auto()


@dataclass(frozen=True, slots=True)
class Said:
    """The tool returned."""

    output: str


@dataclass(frozen=True, slots=True)
class Threw:
    """The tool raised, whatever it was."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class Run:
    """How a tool's run came out. `ended`: it was told to end; `runs_on`: it could not be ended."""

    came: Said | Threw | None
    ended: Ended | None = None
    runs_on: bool = False


async def run_apart(
    name: str,
    tool: Callable[[], Coroutine[Any, Any, str]],
    deadline_s: float,
    halt: ToolHalt,
    cleans_up_s: float = CLEANS_UP_WITHIN_S,
) -> Run:
    """Run a tool until it returns, its deadline is over, or all tools are paused; it cleans up first.

    Raises only CancelledError, where the caller was cancelled; LeftRunning where the tool could not be ended.
    """
    apart = _Apart(name, tool, cleans_up_s)
    paused: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    try:
        with halt.ends(lambda: None if paused.done() else paused.set_result(None)):
            await asyncio.wait({apart.task, paused}, timeout=deadline_s, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        if await apart.end():
            raise
        raise LeftRunning(name) from None
    if apart.task.done():
        return Run(apart.came())
    gone = await apart.end()
    return Run(apart.came(), Ended.PAUSED if halt.halted else Ended.DEADLINE, runs_on=not gone)


class _Apart:
    """One run in its task."""

    def __init__(self, name: str, tool: Callable[[], Coroutine[Any, Any, str]], cleans_up_s: float) -> None:
        self._name = name
        self._cleans_up_s = cleans_up_s
        self._threads: set[Future[Any]] = set()
        self._coroutine = self._contained(tool)
        self.task = asyncio.create_task(self._coroutine, name=f"tool {name}")

    async def _contained(self, tool: Callable[[], Coroutine[Any, Any, str]]) -> Said | Threw:
        _threads.set(self._threads)
        try:
            return Said(await tool())
        except BaseException as error:
            return Threw(error)

    def came(self) -> Said | Threw | None:
        """What came of it; None if it was closed, or runs on."""
        if not self.task.done() or self.task.cancelled() or self.task.exception() is not None:
            return None
        return self.task.result()

    async def end(self) -> bool:
        """End it; whether it is over. Not cut short by being cancelled: that is passed on afterwards, as
        LeftRunning where it is not over."""
        ending = asyncio.create_task(self._end(), name=f"end of {self._name}")
        cancelled: asyncio.CancelledError | None = None
        while not ending.done():
            try:
                await asyncio.shield(ending)
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is None:
            return ending.result()
        raise cancelled if ending.result() else LeftRunning(self._name)

    async def _end(self) -> bool:
        for _ in range(CANCELS):
            self.task.cancel()
            done, _ = await asyncio.wait({self.task}, timeout=self._cleans_up_s)
            if done:
                break
        else:
            await self._close()
        at_work = {asyncio.wrap_future(work) for work in tuple(self._threads)}
        if at_work:
            _, at_work = await asyncio.wait(at_work, timeout=self._cleans_up_s)
        if self.task.done() and not at_work:
            return True
        logger.error("tool %s could not be ended; it may still take effect", self._name)
        return False

    async def _close(self) -> None:
        """Take a tool that swallows cancellations out of the await it hangs in."""
        try:
            self._coroutine.close()
        except (RuntimeError, ValueError):
            return  # it ignores that, too, or is at work right now
        self.task.cancel()
        await asyncio.wait({self.task}, timeout=self._cleans_up_s)
        logger.warning("tool %s swallowed being cancelled and was closed", self._name)
