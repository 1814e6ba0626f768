"""The hub's texts about routines: the buttons of notices and the replies to presses."""

from collections.abc import Sequence

from core.clock import SECOND_US
from core.jobs.notices import ACCEPT, REJECT
from core.store.routine_rows import MenuView

DETAILS, PAUSE, RUN_AGAIN = "Details", "Pause", "Run again"
ALLOW = "Allow for this routine"
MENU = (DETAILS, PAUSE, RUN_AGAIN)
"""The buttons of every notice, in order."""
MISSING = f"These calls need your approval. “{ALLOW}” lets its next runs do exactly this:"
MISSING_TOO_LONG = (
    "Some calls were refused that don't fit here. The routine's page in the console shows each of them whole,"
    " with the run. To allow one, add it to the grants in the routine's editor."
)
SNOOZE, DONE = "Snooze 10 min", "Done"
REMINDER_MENU = (SNOOZE, DONE)
"""The buttons of a reminder, in order."""
SNOOZED = "Snoozed for 10 minutes."
SNOOZED_ALREADY = "Already snoozed."
DONE_NOW = "Done."
DONE_ALREADY = "Already done."


def menu(*, grants: bool, changes: bool) -> tuple[str, ...]:
    """Return the buttons of a notice, in order. `grants`: calls were refused for lack of one; `changes`: its
    job changed a project in a container."""
    return (*MENU, *((ALLOW,) if grants else ()), *((ACCEPT, REJECT) if changes else ()))


def allowed(name: str, grants: Sequence[str]) -> str:
    """Acknowledge a press that gave a routine grants."""
    return f"“{name}” may do this from its next run on: {'; '.join(grants)}"


def allowed_already(name: str) -> str:
    """Acknowledge a press on grants that the routine already has."""
    return f"“{name}” is already allowed to do this."


def too_many_grants(name: str, most: int) -> str:
    """Refuse a press on grants for which a routine has no room."""
    return f"A routine has at most {most} grants. Remove some of “{name}” in its editor, then press again."


NOT_YOURS = "This routine belongs to someone else."
PAUSED_BY_PERSON = "paused by a person"
DONE_BY_PERSON = "done"
SHOWN_CHARS = 3000


def consumed(names: str) -> str:
    """Acknowledge a message that only routines received."""
    return f"Handled by the routine {names}."


def already_paused(name: str) -> str:
    """Acknowledge a press on a routine that is already paused."""
    return f"“{name}” is already paused."


def paused(name: str) -> str:
    """Acknowledge a press that paused a routine."""
    return f"“{name}” is paused."


def cannot_run_again(name: str) -> str:
    """Acknowledge a press for another run of a paused routine."""
    return f"“{name}” is paused. Enable it before you run it again."


def runs_again(name: str) -> str:
    """Acknowledge a press that queued another run."""
    return f"“{name}” is queued to run again."


def details(menu: MenuView) -> str:
    """Return the details of a run in Markdown."""
    took = ""
    if menu.started_at is not None and menu.ended_at is not None:
        took = f" in {(menu.ended_at - menu.started_at) / SECOND_US:.1f} s"
    lines = [
        f"**{menu.name}**: {menu.state.value}{took}, fired by {menu.kind.replace('_', ' ')}",
        f"Tokens: {menu.input_tokens} in, {menu.output_tokens} out",
        f"Run `{menu.run_id}`",
    ]
    told = menu.error or menu.result
    if told:
        lines.append(told[:SHOWN_CHARS])
    return "\n\n".join(lines)
