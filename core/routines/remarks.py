"""What an owner is to know of a run beside its result: calls that nobody could agree to, and calls whose
outcome nobody knows. Made from the run's kept steps, so that it is the same after a crash."""

from core.store.routines import RunSteps
from core.store.rows import CallState
from core.transcript import ResultStatus, ToolResult

MOST = 5
SHOWN_CHARS = 300


def remarks_of(steps: RunSteps) -> tuple[str, ...]:
    """A sentence each, in order."""
    tools = {call.call_id: call.tool for call in steps.calls}
    remarks: list[str] = []
    for said in steps.said:
        if not isinstance(said, ToolResult):
            continue
        tool = tools.get(said.call_id, "")
        if said.status is ResultStatus.DENIED:
            remarks.append(f"{tool} did not run: {_first_line(said.text)}")
        elif said.status is ResultStatus.UNKNOWN:
            remarks.append(_unknown(tool))
    remarks += [_unknown(call.tool) for call in steps.calls if call.state is CallState.RUNNING]
    return tuple(dict.fromkeys(remarks))[:MOST]


def _unknown(tool: str) -> str:
    return f"{tool} was cut short; whether it took effect is not known, and it was not run again."


def _first_line(text: str) -> str:
    return text.partition("\n")[0][:SHOWN_CHARS]
