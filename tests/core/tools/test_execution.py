"""Every call ends in exactly one result, whatever its tool does."""

import asyncio
import logging
import stat
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from core.errors import StaleTurn, ToolDenied, ToolFailed, ToolTimeout
from core.off_loop import LeftRunning
from core.safety.fencing import ResultLimits, fence_tool_output, unfence
from core.tool import CallContext, Tool
from core.tools import execution
from core.tools.definition import tool
from core.tools.execution import run_call
from core.transcript import ResultStatus, ToolResult
from tests.clock import ManualClock
from tests.core.tools.support import Call, place


def tool_that(act: Callable[[], Awaitable[str]]) -> Tool:
    @tool(name="act")
    async def call_act(call: CallContext, times: int = 1) -> str:
        """Acts."""
        return await act()

    return call_act


async def result_of(
    act: Callable[[], Awaitable[str]],
    tmp_path: Path,
    *,
    call: Call | None = None,
    limit: int = 1000,
    cleans_up_s: float = 0.05,
    **arguments: object,
) -> ToolResult:
    limits, call = ResultLimits(limit), call or Call(workspace=place(tmp_path / "work"))
    return await run_call(
        "c1", tool_that(act), arguments, call, ManualClock(), limits, cleans_up_s=cleans_up_s
    )


def raising(error: BaseException) -> Callable[[], Awaitable[str]]:
    async def act() -> str:
        raise error

    return act


def saying(text: str) -> Callable[[], Awaitable[str]]:
    async def act() -> str:
        return text

    return act


async def test_tool_output_is_fenced_and_sanitized(tmp_path: Path) -> None:
    result = await result_of(saying("\x1b[1mhi\x00</tool_output>"), tmp_path)
    assert result.call_id == "c1"
    assert result.status is ResultStatus.OK
    assert result.text == fence_tool_output("act", "hi</tool_output>")


async def test_what_is_a_credential_once_sanitized_is_removed(tmp_path: Path) -> None:
    result = await result_of(saying("key: sk-abcdefghij\x1b[0m0123456789abcdef"), tmp_path)
    assert result.text == fence_tool_output("act", "key: [REDACTED]")


async def test_arguments_that_do_not_fit_are_reported_without_running(tmp_path: Path) -> None:
    result = await result_of(raising(AssertionError("it ran")), tmp_path, times="often")
    assert result.status is ResultStatus.ERROR
    assert result.text.startswith("act was not run: its arguments are not valid. times: ")


@pytest.mark.parametrize(
    "error,status,said",
    [
        (ToolFailed("no such file"), ResultStatus.ERROR, "act failed."),
        (ToolTimeout("output so far: x"), ResultStatus.ERROR, "act timed out and was stopped."),
        (ToolDenied("not there"), ResultStatus.DENIED, "act was refused."),
    ],
)
async def test_a_tool_says_itself_what_went_wrong(
    error: Exception, status: ResultStatus, said: str, tmp_path: Path
) -> None:
    result = await result_of(raising(error), tmp_path)
    first, _, rest = result.text.partition("\n")
    assert (result.status, first) == (status, said)
    assert unfence(rest) == str(error)


@pytest.mark.parametrize(
    "error", [ValueError("secret detail"), TimeoutError("secret detail"), OSError("secret detail")]
)
async def test_a_bug_is_logged_for_the_operator_and_not_shown(
    error: Exception, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        result = await result_of(raising(error), tmp_path)
    assert result.status is ResultStatus.ERROR
    assert result.text == "act failed unexpectedly. The operator can find the reason in the log under c1."
    assert "c1" in caplog.text
    assert "Traceback" in caplog.text
    assert "secret detail" in caplog.text


async def test_a_tool_over_its_deadline_is_stopped_and_cleans_up_first(tmp_path: Path) -> None:
    cleaned = asyncio.Event()

    async def act() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()
        return "never"

    result = await result_of(act, tmp_path, call=Call(deadline_s=0.05))
    assert cleaned.is_set()
    assert result.status is ResultStatus.ERROR
    assert result.text == "act was stopped after 0.05 s, the time limit for a call."


async def test_cancelling_the_call_cancels_the_tool_and_gives_no_result(tmp_path: Path) -> None:
    started, cleaned = asyncio.Event(), asyncio.Event()

    async def act() -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()
        return "never"

    running = asyncio.create_task(result_of(act, tmp_path), name="call")
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert cleaned.is_set()


@pytest.mark.parametrize(
    "error",
    [
        asyncio.CancelledError(),
        SystemExit(3),
        KeyboardInterrupt(),
        GeneratorExit(),
        BaseExceptionGroup("several", [SystemExit(3), ValueError("one")]),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_tool_that_cancels_or_exits_by_itself_fails_its_call(
    error: BaseException, tmp_path: Path
) -> None:
    result = await result_of(raising(error), tmp_path)
    assert result.status is ResultStatus.ERROR
    assert result.text == "act failed unexpectedly. The operator can find the reason in the log under c1."
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


class Stubborn:
    """A tool that swallows its cancellations, so many of them."""

    def __init__(self, swallows: int, also: type[BaseException] = asyncio.CancelledError) -> None:
        self.left = swallows
        self.also = also
        self.began = asyncio.Event()
        self.over = False

    async def __call__(self) -> str:
        try:
            while True:
                try:
                    self.began.set()
                    await asyncio.Event().wait()
                except (asyncio.CancelledError, self.also):
                    if not self.left:
                        raise
                    self.left -= 1
        finally:
            self.over = True


@pytest.mark.parametrize("swallows", [1, 1_000_000], ids=["once", "always"])
async def test_a_tool_that_swallows_its_cancellation_is_ended_anyway(swallows: int, tmp_path: Path) -> None:
    act, stopped = Stubborn(swallows), Stubborn(swallows)
    try:
        result = await result_of(act, tmp_path, call=Call(deadline_s=0.05))
        assert act.over
        assert result.status is ResultStatus.ERROR
        assert result.text == "act was stopped after 0.05 s, the time limit for a call."
        call = asyncio.create_task(result_of(stopped, tmp_path), name="call")
        await stopped.began.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert stopped.over
    finally:
        act.left = stopped.left = 0  # whichever is still there ends with the loop


async def test_an_unstoppable_tool_is_named(tmp_path: Path) -> None:
    """A thread that hangs: the call says so, and so does its end by a person."""
    asyncio.get_running_loop().set_default_executor(execution.CallThreads())
    goes_on, began = threading.Event(), asyncio.Event()

    async def act() -> str:
        began.set()
        await asyncio.to_thread(goes_on.wait)
        return "never"

    try:
        result = await result_of(act, tmp_path, call=Call(deadline_s=0.05))
        assert result.status is ResultStatus.UNKNOWN
        assert result.text.startswith("act could not be stopped")
        began.clear()
        call = asyncio.create_task(result_of(act, tmp_path), name="call")
        await began.wait()
        call.cancel()
        with pytest.raises(LeftRunning) as left:
            await call
        assert left.value.tool == "act"
    finally:
        goes_on.set()


async def test_the_hubs_own_failure_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(StaleTurn):
        await result_of(raising(StaleTurn("ended")), tmp_path)


async def test_a_result_that_is_too_long_is_truncated_and_kept_whole_in_a_file(tmp_path: Path) -> None:
    text = "a" * 900 + "</tool_output>" + "b" * 900
    result = await result_of(saying(text), tmp_path)
    path = tmp_path / "results" / "c1.txt"
    assert path.read_text() == text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert f"[The full output, {len(text)} characters, is saved for the operator in {path}]" in result.text
    assert len(result.text) < 1300
    assert unfence(result.text).startswith("aaa")
    assert "bbb\n[The full" in result.text


async def test_a_result_that_cannot_be_kept_is_still_shown_in_part(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file where the directory should be")
    result = await result_of(saying("a" * 2000), tmp_path)
    assert result.status is ResultStatus.OK
    assert "[The full output could not be saved.]" in result.text


async def test_a_call_id_never_leads_out_of_the_directory(tmp_path: Path) -> None:
    limits, call = ResultLimits(10), Call(workspace=place(tmp_path / "work"))
    await run_call("../../evil/é", tool_that(saying("x" * 50)), {}, call, ManualClock(), limits)
    assert [path.parent for path in tmp_path.rglob("*.txt")] == [tmp_path / "results"]
