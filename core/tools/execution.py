"""Running one call: under its deadline, to exactly one result, whatever the tool does."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.clock import Clock
from core.errors import InvalidArguments, OutcomeUnknown, StoreError, ToolDenied, ToolError, ToolTimeout
from core.off_loop import off_loop
from core.safety.fencing import fence_tool_output, sanitise
from core.safety.limits import ResultLimits, head_and_tail
from core.tool import CallContext, CallPlan, ProcessInfo, Tool
from core.tools.halt import REASON, ToolHalt
from core.tools.running import CLEANS_UP_WITHIN_S, Ended, Run, Said, Threw, run_apart
from core.transcript import ResultStatus, ToolResult
from core.users import Principal

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunningCall:
    """What a tool sees of its call; implements core.tool.CallContext."""

    principal: Principal
    thread_id: str
    idempotency_key: str
    workspace: str
    deadline_s: float
    record_process: Callable[[ProcessInfo], Awaitable[None]]

    async def process_started(self, process: ProcessInfo) -> None:
        """See CallContext."""
        await self.record_process(process)


async def run_call(
    call_id: str,
    tool: Tool,
    arguments: Mapping[str, Any],
    context: CallContext,
    clock: Clock,
    limits: ResultLimits,
    halt: ToolHalt | None = None,
    plan: CallPlan | None = None,
    cleans_up_s: float = CLEANS_UP_WITHIN_S,
) -> ToolResult:
    """Validate the arguments once more, run the tool, and turn whatever happens into its result.

    What the tool says is sanitised, freed of credentials, cut to `limits` (the whole of it goes to a file
    there) and fenced as untrusted. A tool over `context.deadline_s` is cancelled and cleans up before this
    returns. With a `plan` exactly that is run. Raised are only CancelledError, where the caller was cancelled
    and after the tool cleaned up, and StoreError: that is the hub's failure, and what the tool did must then
    stay open. Whatever else the tool raises, a cancellation or an exit of its own too, is the call's error.
    """
    started_s = clock.monotonic_s()
    ran = await _outcome(call_id, tool, arguments, context, halt or ToolHalt(), plan, cleans_up_s)
    status, said, output = ran
    logger.debug("call %s: %s %s in %.3f s", call_id, tool.name, status, clock.monotonic_s() - started_s)
    if output is None:
        return ToolResult(call_id, status, said)
    shown = fence_tool_output(tool.name, await _within(limits, call_id, await _clean(output, limits)))
    return ToolResult(call_id, status, f"{said}\n{shown}" if said else shown)


async def _outcome(
    call_id: str,
    tool: Tool,
    arguments: Mapping[str, Any],
    context: CallContext,
    halt: ToolHalt,
    plan: CallPlan | None,
    cleans_up_s: float,
) -> tuple[ResultStatus, str, str | None]:
    """Status, the hub's own sentence (may be empty), and what the tool said (None: nothing)."""
    if halt.halted:
        return ResultStatus.DENIED, f"Not run: {REASON}.", None

    async def runs() -> str:
        given = tool.validate(arguments)
        return await (tool.run(context, given) if plan is None else plan.run(context))

    run = await run_apart(tool.name, runs, context.deadline_s, halt, cleans_up_s)
    if run.runs_on:
        said = f"{tool.name} was told to end and could not be ended; whether it takes effect is not known."
        return ResultStatus.UNKNOWN, said, None
    return _told(call_id, tool, run, context.deadline_s)


def _told(call_id: str, tool: Tool, run: Run, deadline_s: float) -> tuple[ResultStatus, str, str | None]:
    match run.came:
        case Said(output):
            return ResultStatus.OK, "", output
        case Threw(StoreError() as error):
            raise error
        case Threw(ToolError() as error):
            return _of_error(tool.name, error)
        case Threw(error) if run.ended is None or not _is_end(error):
            return ResultStatus.ERROR, _failed(call_id, tool.name, error), None
        case _:
            return ResultStatus.ERROR, _ended(tool.name, run, deadline_s), None


def _is_end(error: BaseException) -> bool:
    """Whether a tool that was told to end ended by that."""
    return isinstance(error, asyncio.CancelledError | GeneratorExit)


def _ended(name: str, run: Run, deadline_s: float) -> str:
    if run.ended is Ended.PAUSED:
        return f"{name} was stopped while it ran: {REASON}."
    return f"{name} was stopped after {deadline_s:g} s, the time a call may take."


def _failed(call_id: str, name: str, error: BaseException) -> str:
    """Of a defect, or of a tool that ended itself by a cancellation or an exit of its own."""
    logger.error("call %s: tool %s raised", call_id, name, exc_info=error)
    return f"{name} failed unexpectedly. The operator finds the reason in the log under {call_id}."


def _of_error(name: str, error: ToolError) -> tuple[ResultStatus, str, str | None]:
    match error:
        case InvalidArguments():
            return ResultStatus.ERROR, f"{name} was not run, its arguments do not fit. {error}", None
        case ToolDenied(reason=reason):
            return ResultStatus.DENIED, f"{name} was refused.", reason
        case ToolTimeout():
            return ResultStatus.ERROR, f"{name} ran out of time and was stopped.", str(error)
        case OutcomeUnknown():
            return ResultStatus.UNKNOWN, f"{name} was cut off.", str(error)
        case _:
            return ResultStatus.ERROR, f"{name} failed.", str(error)


async def _clean(output: str, limits: ResultLimits) -> str:
    """Without what no reader wants, and without credentials; a long text is looked through in a thread."""
    return await off_loop(len(output), lambda: limits.leaks.redacted(sanitise(output)))


async def _within(limits: ResultLimits, call_id: str, text: str) -> str:
    """The text if it is short enough; otherwise its beginning and end, and where all of it is."""
    shown, dropped = head_and_tail(text, limits.result_limit_chars)
    if not dropped:
        return text
    path = limits.spill_dir / f"{_file_name(call_id)}.txt"
    try:
        await asyncio.to_thread(_write_private, path, text)
    except OSError:
        logger.exception("call %s: its output could not be kept in %s", call_id, path)
        return f"{shown}\n[The whole output could not be kept.]"
    return f"{shown}\n[The whole output, {len(text)} characters, is kept for the operator in {path}]"


def _write_private(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")


def _file_name(call_id: str) -> str:
    """A call's id as a file name; ids are the hub's own, but a path is never built from trust."""
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in call_id)[:100] or "call"
