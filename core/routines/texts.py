"""What notices of routines say beside the routines' own words."""

from collections.abc import Sequence

from core.routine_run import RunStatus

_ICONS = {RunStatus.OK: "✅", RunStatus.ATTENTION: "🔔", RunStatus.FAILED: "❌", RunStatus.INTERRUPTED: "⚠️"}
_WORDS = {
    RunStatus.OK: "done",
    RunStatus.ATTENTION: "has something for you",
    RunStatus.FAILED: "failed",
    RunStatus.INTERRUPTED: "was cut off",
}


def heading(name: str, status: RunStatus) -> str:
    """The first line of a notice."""
    return f"{_ICONS.get(status, '')} Routine “{name}” {_WORDS.get(status, status.value)}"


def budget_used_up(name: str, why: str) -> str:
    """The one notice a day that a routine's budget is used up; `why`: the rest of a sentence about it."""
    return f"⏳ Routine “{name}” rests until tomorrow\n\n{why[:1].upper()}{why[1:]}."


def with_remarks(text: str, remarks: Sequence[str]) -> str:
    """A run's result, with what else its owner is to know of it."""
    lines = "\n".join(f"- {remark}" for remark in remarks)
    return "\n\n".join(part for part in (text, lines) if part)


def paused_heading(name: str, failures: int) -> str:
    """The first line of the one notice that a routine was paused."""
    return f"⏸ Routine “{name}” failed {failures} times in a row and is paused"


def how_to_resume(name: str) -> str:
    """What lets a paused routine go on."""
    return f'Let it go on with `hubbub routines enable "{name}"`, or ask me to enable it.'


def interrupted() -> str:
    """Why a run that the hub's end broke off has no result."""
    return "The hub ended while it ran, and it was not run again. What its tools had done by then stays done."


def crashed_repeatedly(attempts: int) -> str:
    """Why a run is not started any more."""
    return f"The hub ended {attempts} times while it ran; it is not started again."


def timed_out(limit_s: int) -> str:
    """Why a run was ended."""
    return f"It was stopped after {limit_s} s, the time a run of it may take."


def broke(reference: str) -> str:
    """Something that should not happen happened."""
    return f"Something went wrong inside the hub; the operator finds it in the log under {reference}."


def full_job_refused() -> str:
    """Why a run of this kind cannot be carried out."""
    return "Its action is a job, and this version of the hub runs no jobs yet. Give it a lightweight action."
