"""The run of one call: under its deadline and the kill switch, to exactly one result, in every case."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Generator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from enum import Enum, auto
from pathlib import Path
from typing import Any, Protocol, TypeVar

from core.clock import Clock
from core.errors import (
    InvalidArguments,
    OutcomeUnknown,
    SignInRequired,
    StoreError,
    ToolDenied,
    ToolError,
    ToolTimeout,
)
from core.lazy import dataclass
from core.off_loop import LeftRunning, finish, off_loop
from core.safety.fencing import ResultLimits, fence_tool_output, head_and_tail, sanitise
from core.tool import TOOLS_PAUSED, Arguments, CallContext, CallPlan, Risk, Tool, Workspace
from core.transcript import ResultStatus, ToolResult

logger = logging.getLogger(__name__)

SETTLES_WITHIN_S = 10.0
"""How long the answer to a pause waits for the calls that it stops; removing a container may take seconds."""


class ToolPause:
    """The kill switch in the running hub, and the calls it stops. `paused`: as recorded at its start.

    It is in force as soon as it is recorded: the transaction that marks a call running reads it there. This
    is its other half: it stops running calls, and holds back those marked just before. Gates stay open; a
    call approved in the meantime does not run."""

    def __init__(self, *, paused: bool = False) -> None:
        self._lifted = asyncio.Event()
        self._running: dict[asyncio.Future[None], asyncio.Future[None]] = {}
        self.set(paused=paused)

    @property
    def paused(self) -> bool:
        """True if no tool may run."""
        return not self._lifted.is_set()

    def set(self, *, paused: bool) -> None:
        """Pause all tools, or let them run again. The caller has recorded it."""
        if not paused:
            self._lifted.set()
            return
        self._lifted.clear()
        for stop in self._running:
            _resolve(stop)

    async def lifted(self) -> None:
        """Wait until tools may run."""
        await self._lifted.wait()

    @contextlib.contextmanager
    def stops(self) -> Generator[asyncio.Future[None]]:
        """Give what the switch resolves when the call within the context has to end, which is over with the
        context; resolved already if no call may begin."""
        loop = asyncio.get_running_loop()
        stop, over = loop.create_future(), loop.create_future()
        if self.paused:
            stop.set_result(None)
        self._running[stop] = over
        try:
            yield stop
        finally:
            del self._running[stop]
            _resolve(over)

    async def settled(self) -> None:
        """Wait until every call that the switch has stopped is over; until then the pause isn't answered.

        A call that does not end in time is reported where it ends; see SETTLES_WITHIN_S."""
        ending = [over for stop, over in self._running.items() if stop.done()]
        if ending:
            _, left = await asyncio.wait(ending, timeout=SETTLES_WITHIN_S)
            if left:
                logger.warning("tool.pause_unsettled calls=%d", len(left))


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


# A tool's run in its own task: everything it raises stays there, and it ends when it is stopped.
#
# A cancellation of the caller is the hub's own and is passed on; one that the tool raises itself is an error
# of that call, and so are exits. A tool that swallows its cancellation is cancelled again, then closed. A
# thread that hangs, or a tool that ignores being closed, is reported.

T = TypeVar("T")

CANCELS = 3
"""Number of cancellations before a tool is closed; cleanup may take several seconds."""
CLEANS_UP_WITHIN_S = 5.0
"""Time for each cleanup, and for the tool's threads in the end; see `cleans_up_s`."""

_threads: ContextVar["set[Future[Any]] | None"] = ContextVar("threads of the call", default=None)


class CallThreads(ThreadPoolExecutor):
    """The loop's threads; it knows the threads of each call, so that a call's end can wait for them."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        """Run a function in a thread, for the current call, if there is one."""
        work = super().submit(fn, *args, **kwargs)
        ours = _threads.get()
        if ours is not None:
            ours.add(work)
            work.add_done_callback(ours.discard)
        return work


class Ended(Enum):
    """The reason a tool was stopped before it returned."""

    DEADLINE = auto()
    PAUSED = auto()


@dataclass(frozen=True, slots=True)
class Said:
    """A tool's normal return."""

    output: str


@dataclass(frozen=True, slots=True)
class Threw:
    """A tool's exception, of any kind."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class Run:
    """The end of a tool's run. `ended`: it was stopped; `runs_on`: it could not be stopped."""

    came: Said | Threw | None
    ended: Ended | None = None
    runs_on: bool = False


async def run_apart(
    name: str,
    tool: Callable[[], Coroutine[Any, Any, str]],
    deadline_s: float,
    pause: ToolPause,
    cleans_up_s: float = CLEANS_UP_WITHIN_S,
) -> Run:
    """Run a tool until it returns, reaches its deadline, or all tools are paused; it cleans up first.

    Raises only CancelledError, if the caller was cancelled, and LeftRunning, if the tool did not
    end.
    """
    with pause.stops() as stop:
        apart = _Apart(name, tool, cleans_up_s)
        try:
            await asyncio.wait({apart.task, stop}, timeout=deadline_s, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if await apart.end():
                raise
            raise LeftRunning(name) from None
        if apart.task.done():
            return Run(apart.came())
        gone = await apart.end()
        return Run(apart.came(), Ended.PAUSED if stop.done() else Ended.DEADLINE, runs_on=not gone)


class _Apart:
    """One run in its own task."""

    def __init__(self, name: str, tool: Callable[[], Coroutine[Any, Any, str]], cleans_up_s: float) -> None:
        self._name = name
        self._cleans_up_s = cleans_up_s
        self._threads: set[Future[Any]] = set()
        self._runs_on = False
        self._coroutine = self._contained(tool)
        self.task = asyncio.create_task(self._coroutine, name=f"tool {name}")

    async def _contained(self, tool: Callable[[], Coroutine[Any, Any, str]]) -> Said | Threw:
        _threads.set(self._threads)
        try:
            return Said(await tool())
        except BaseException as error:
            return Threw(error)

    def came(self) -> Said | Threw | None:
        """Return the result; None if it was closed, or is still running."""
        if not self.task.done() or self.task.cancelled() or self.task.exception() is not None:
            return None
        return self.task.result()

    async def end(self) -> bool:
        """End it and return whether it is over.

        A cancellation does not cut this short; it is passed on afterwards, as LeftRunning if the run is
        not over."""
        try:
            await finish(self._end(), f"end of {self._name}")
        except asyncio.CancelledError:
            if self._runs_on:
                raise LeftRunning(self._name) from None
            raise
        return not self._runs_on

    async def _end(self) -> None:
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
        if at_work or not self.task.done():
            self._runs_on = True
            logger.error("tool.stop_failed tool=%s", self._name)

    async def _close(self) -> None:
        """Force a tool that swallows cancellations out of its current await."""
        try:
            self._coroutine.close()
        except (RuntimeError, ValueError):
            return  # it ignores that, too, or is running right now
        self.task.cancel()
        await asyncio.wait({self.task}, timeout=self._cleans_up_s)
        logger.warning("tool.cancellation_swallowed tool=%s", self._name)


FAULT_CHARS = 300


async def run_call(
    call_id: str,
    tool: Tool,
    arguments: Mapping[str, Any],
    context: CallContext,
    clock: Clock,
    limits: ResultLimits,
    pause: ToolPause | None = None,
    plan: CallPlan | None = None,
    cleans_up_s: float = CLEANS_UP_WITHIN_S,
) -> ToolResult:
    """Validate the arguments once more, run the tool, and turn every outcome into a result.

    The tool's output is sanitized, freed of secrets, cut to `limits` (the whole is stored in a file there)
    and fenced as untrusted. A tool over `context.deadline_s` is cancelled and cleans up before this returns.
    With a `plan` exactly that runs. Raises only SignInRequired, CancelledError, if the caller was cancelled
    and after the tool cleaned up, and StoreError: that is the hub's failure, and the tool's effect must then
    stay open. Everything else the tool raises, also a cancellation or an exit, is the call's error.
    """
    started_s = clock.monotonic_s()
    ran = await _outcome(call_id, tool, arguments, context, pause or ToolPause(), plan, cleans_up_s)
    status, said, output, failed = ran
    duration_s = clock.monotonic_s() - started_s
    logger.debug(
        "call.finished call=%s tool=%s status=%s duration_s=%.3f", call_id, tool.name, status, duration_s
    )
    if output is None:
        return ToolResult(call_id, status, said, fault=said if failed else "")
    clean = await _clean(output, limits)
    shown = fence_tool_output(tool.name, await _within(limits, context.workspace.outputs, call_id, clean))
    fault = " ".join(clean.split())[:FAULT_CHARS] if failed else ""
    return ToolResult(call_id, status, f"{said}\n{shown}" if said else shown, fault=fault)


async def _outcome(
    call_id: str,
    tool: Tool,
    arguments: Mapping[str, Any],
    context: CallContext,
    pause: ToolPause,
    plan: CallPlan | None,
    cleans_up_s: float,
) -> tuple[ResultStatus, str, str | None, bool]:
    """Return status, the hub's own sentence (may be empty), the tool's output (None: none), and whether the
    tool has failed."""
    if pause.paused:
        return ResultStatus.DENIED, f"Not run: {TOOLS_PAUSED}.", None, False

    async def runs() -> str:
        given = tool.validate(arguments)
        return await (tool.run(context, given) if plan is None else plan.run(context))

    run = await run_apart(tool.name, runs, context.deadline_s, pause, cleans_up_s)
    if run.runs_on:
        said = f"{tool.name} could not be stopped; it may or may not take effect."
        return ResultStatus.UNKNOWN, said, None, False
    return *_told(call_id, tool, run, context.deadline_s), _has_failed(tool, run)


def _has_failed(tool: Tool, run: Run) -> bool:
    """Return whether the tool itself has failed, and not what was asked of it; see `Tool.foreign`."""
    match run.came:
        case Said() | Threw(InvalidArguments() | ToolDenied() | OutcomeUnknown() | SignInRequired()):
            return False
        case Threw(ToolError()):
            return tool.foreign
        case Threw(error) if run.ended is None or not _is_end(error):
            return True
        case _:
            return tool.foreign and run.ended is Ended.DEADLINE


def _told(call_id: str, tool: Tool, run: Run, deadline_s: float) -> tuple[ResultStatus, str, str | None]:
    match run.came:
        case Said(output):
            return ResultStatus.OK, "", output
        case Threw((StoreError() | SignInRequired()) as error):
            raise error
        case Threw(ToolError() as error):
            return _of_error(tool.name, error)
        case Threw(error) if run.ended is None or not _is_end(error):
            return ResultStatus.ERROR, _failed(call_id, tool.name, error), None
        case _:
            return ResultStatus.ERROR, _ended(tool.name, run, deadline_s), None


def _is_end(error: BaseException) -> bool:
    """Return whether the error is the end of a tool that was stopped."""
    return isinstance(error, asyncio.CancelledError | GeneratorExit)


def _ended(name: str, run: Run, deadline_s: float) -> str:
    if run.ended is Ended.PAUSED:
        return f"{name} was stopped while it ran: {TOOLS_PAUSED}."
    return f"{name} was stopped after {deadline_s:g} s, the time limit for a call."


def _failed(call_id: str, name: str, error: BaseException) -> str:
    """Return the result of a defect, or of a tool that ended itself by a cancellation or an exit."""
    logger.error("tool.crashed call=%s tool=%s", call_id, name, exc_info=error)
    return f"{name} failed unexpectedly. The operator can find the reason in the log under {call_id}."


def _of_error(name: str, error: ToolError) -> tuple[ResultStatus, str, str | None]:
    match error:
        case InvalidArguments():
            return ResultStatus.ERROR, f"{name} was not run: its arguments are not valid. {error}", None
        case ToolDenied(reason=reason):
            return ResultStatus.DENIED, f"{name} was refused.", reason
        case ToolTimeout():
            return ResultStatus.ERROR, f"{name} timed out and was stopped.", str(error)
        case OutcomeUnknown():
            return ResultStatus.UNKNOWN, f"{name} was interrupted.", str(error)
        case _:
            return ResultStatus.ERROR, f"{name} failed.", str(error)


async def _clean(output: str, limits: ResultLimits) -> str:
    """Return the output sanitized and without credentials; a long text is searched in a thread."""
    return await off_loop(len(output), lambda: limits.leaks.redacted(sanitise(output)))


async def _within(limits: ResultLimits, outputs: Path, call_id: str, text: str) -> str:
    """Return the text if it is short enough; otherwise its beginning and end, and where all of it is."""
    shown, dropped = head_and_tail(text, limits.result_limit_chars)
    if not dropped:
        return text
    path = outputs / f"{_file_name(call_id)}.txt"
    try:
        await asyncio.to_thread(_write_private, path, text)
    except OSError:
        logger.exception("call.output_not_saved call=%s path=%s", call_id, path)
        return f"{shown}\n[The full output could not be saved.]"
    return f"{shown}\n[The full output, {len(text)} characters, is saved for the operator in {path}]"


def _write_private(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")


def _file_name(call_id: str) -> str:
    """Return a file name for a call's id; ids are the hub's own, but a path never relies on trust."""
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in call_id)[:100] or "call"


# The executor: the one place where a run's calls read and change anything. A replay has another one.


class Executor(Protocol):
    """The place where calls meet the world: looks for their judgment, and their run."""

    def plan(self, tool: Tool, arguments: Arguments, workspace: Workspace) -> CallPlan | None:
        """Return the call's plan as of now; None for a tool that doesn't plan. Raises InvalidArguments."""
        ...

    def rate(self, tool: Tool, arguments: Arguments, workspace: Workspace) -> Risk | None:
        """Return the risk of the arguments; None for a tool that rates none."""
        ...

    def digests(self, tool: Tool, arguments: Arguments, workspace: Workspace) -> Mapping[str, str] | None:
        """Return the digests of the files the call would change or run; None for a tool that binds none."""
        ...

    async def run(
        self,
        call_id: str,
        tool: Tool,
        arguments: Arguments,
        context: CallContext,
        clock: Clock,
        limits: ResultLimits,
        pause: ToolPause,
        plan: CallPlan | None,
    ) -> ToolResult:
        """Run the call to its one result, see `run_call`."""
        ...


class HostExecutor:
    """The executor that does it, on this machine."""

    def plan(self, tool: Tool, arguments: Arguments, workspace: Workspace) -> CallPlan | None:
        return None if tool.plan is None else tool.plan(arguments, workspace)

    def rate(self, tool: Tool, arguments: Arguments, workspace: Workspace) -> Risk | None:
        return None if tool.rate is None else tool.rate(arguments, workspace)

    def digests(self, tool: Tool, arguments: Arguments, workspace: Workspace) -> Mapping[str, str] | None:
        return None if tool.digests is None else tool.digests(arguments, workspace)

    async def run(
        self,
        call_id: str,
        tool: Tool,
        arguments: Arguments,
        context: CallContext,
        clock: Clock,
        limits: ResultLimits,
        pause: ToolPause,
        plan: CallPlan | None,
    ) -> ToolResult:
        return await run_call(call_id, tool, arguments, context, clock, limits, pause, plan)
