"""Running one call: under its deadline, to exactly one result, whatever the tool does."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.clock import Clock
from core.errors import InvalidArguments, StoreError, ToolDenied, ToolError, ToolTimeout
from core.safety.fencing import fence_tool_output, sanitise
from core.safety.limits import ResultLimits, head_and_tail
from core.tool import CallContext, ProcessInfo, Tool
from core.tools.halt import REASON, ToolHalt
from core.transcript import ResultStatus, ToolResult
from core.users import Principal

_SHORT_CHARS = 50_000

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
) -> ToolResult:
    """Validate the arguments once more, run the tool, and turn whatever happens into its result.

    What the tool says is sanitised, freed of credentials, cut to `limits` (the whole of it goes to a file
    there) and fenced as untrusted. A tool over `context.deadline_s` is cancelled and cleans up before this
    returns. Raised are only CancelledError, after the tool cleaned up, and StoreError: that is the hub's
    failure, and what the tool did must then stay open.
    """
    started_s = clock.monotonic_s()
    status, said, output = await _outcome(call_id, tool, arguments, context, halt or ToolHalt())
    logger.debug("call %s: %s %s in %.3f s", call_id, tool.name, status, clock.monotonic_s() - started_s)
    if output is None:
        return ToolResult(call_id, status, said)
    shown = fence_tool_output(tool.name, await _within(limits, call_id, await _clean(output, limits)))
    return ToolResult(call_id, status, f"{said}\n{shown}" if said else shown)


async def _outcome(
    call_id: str, tool: Tool, arguments: Mapping[str, Any], context: CallContext, halt: ToolHalt
) -> tuple[ResultStatus, str, str | None]:
    """Status, the hub's own sentence (may be empty), and what the tool said (None: nothing)."""
    if halt.halted:
        return ResultStatus.DENIED, f"Not run: {REASON}.", None
    deadline = asyncio.timeout(context.deadline_s)
    try:
        async with deadline:
            with halt.ends(deadline):
                output = await tool.run(context, tool.validate(arguments))
    except StoreError:
        raise
    except InvalidArguments as error:
        return ResultStatus.ERROR, f"{tool.name} was not run, its arguments do not fit. {error}", None
    except ToolDenied as error:
        return ResultStatus.DENIED, f"{tool.name} was refused.", error.reason
    except ToolTimeout as error:
        return ResultStatus.ERROR, f"{tool.name} ran out of time and was stopped.", str(error)
    except ToolError as error:
        return ResultStatus.ERROR, f"{tool.name} failed.", str(error)
    except Exception as error:
        if deadline.expired() and isinstance(error, TimeoutError):
            if halt.halted:
                return ResultStatus.ERROR, f"{tool.name} was stopped while it ran: {REASON}.", None
            said = f"{tool.name} was stopped after {context.deadline_s:g} s, the time a call may take."
            return ResultStatus.ERROR, said, None
        logger.exception("call %s: tool %s raised", call_id, tool.name)
        said = f"{tool.name} failed unexpectedly. The operator finds the reason in the log under {call_id}."
        return ResultStatus.ERROR, said, None
    return ResultStatus.OK, "", output


async def _clean(output: str, limits: ResultLimits) -> str:
    """Without what no reader wants, and without credentials; a long text is looked through in a thread."""
    if len(output) <= _SHORT_CHARS:
        return limits.leaks.redacted(sanitise(output))
    return await asyncio.to_thread(lambda: limits.leaks.redacted(sanitise(output)))


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
