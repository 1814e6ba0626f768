"""What people's words make of a call's result: the answer to a question, or that there is none; and arguments
that were changed.

A person's own words are no output of a tool: the model reads them as it reads their messages, unfenced.
"""

from core.names import quoted
from core.prompts import Chose, Option, Wrote
from core.store.rows import CallRow, CallState
from core.transcript import ResultStatus, ToolResult

HELD_BACK = "Not answered: what was written is held back ({reason}). Do not assume any answer."
NOT_ANSWERED = "Not answered: nobody replied to the question in time. Do not assume any answer."


def told_of_edit(call: CallRow, result: str) -> str:
    """What a call came to whose arguments a person had changed: the model knows only its own."""
    by = quoted(call.edited_by or "")
    return f"[{by} changed the arguments before agreeing; it was run with: {call.arguments}]\n{result}"


def reply_result(call: CallRow) -> ToolResult | None:
    """The result of an answered or expired question; None for any other call, and one still to be asked."""
    match call.state, call.answer:
        case CallState.APPROVED, Chose(_, label):
            return _replied(call, f"{_who(call)} chose: {label}")
        case CallState.APPROVED, Wrote(text):
            return _replied(call, f"{_who(call)} answered: {text}")
        case CallState.DENIED, Option.SKIP:
            return ToolResult(call.call_id, ResultStatus.CANCELLED, NOT_ANSWERED)
        case _:
            return None


def held_back(call: CallRow, reason: str) -> ToolResult:
    """The result of a question whose answer a hook stands against."""
    return ToolResult(call.call_id, ResultStatus.CANCELLED, HELD_BACK.format(reason=reason))


def denied(call: CallRow) -> ToolResult:
    """Return the result of a call that a person refused."""
    return ToolResult(call.call_id, ResultStatus.DENIED, f"Not run: denied by {_who(call, 'nobody')}.")


def unknown(call: CallRow) -> ToolResult:
    """Return what is known of an interrupted call, and what a person said about it."""
    interrupted = f"The hub was interrupted while {call.tool} ran; whether it took effect was not recorded."
    match call.answer:
        case Option.HAPPENED:
            status = ResultStatus.UNKNOWN
            said = f"{_who(call)} looked and says: it happened. Its output is lost."
        case Option.SKIP:
            status, said = ResultStatus.SKIPPED, f"{_who(call)} decided not to run it again."
        case _:
            status, said = ResultStatus.UNKNOWN, "Nobody has looked yet."
    return ToolResult(call.call_id, status, f"{interrupted} {said}")


def _replied(call: CallRow, text: str) -> ToolResult:
    return ToolResult(call.call_id, ResultStatus.OK, text)


def _who(call: CallRow, otherwise: str = "The person") -> str:
    return quoted(call.answered_by) if call.answered_by else otherwise
