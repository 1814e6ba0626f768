"""The store's side of runs that use tools: every step is kept before the next, as in a turn.

Part of core.store.base.Store, with the same promises. Units that write to a run raise StaleTurn when it no
longer runs.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from core.prompts import Standing
from core.store.rows import NewCall, RunCheck
from core.tool import ProcessInfo, UseLimit
from core.transcript import AssistantSaid, Note, Said, ToolResult

if TYPE_CHECKING:  # a hub without routines has no use for these values
    from core.routine_run import Spent
    from core.store.routines import RunSteps


class RunJournal(Protocol):
    """The journal of such runs."""

    async def run_steps(self, run_id: str) -> "RunSteps":
        """Everything kept of a run's steps."""
        ...

    async def run_standing(self, owner_id: str, thread_id: str | None) -> Standing:
        """What a routine's owner has said once and for all that holds for its runs now."""
        ...

    async def open_run_journal(self, run_id: str, scope: str, asked: Said) -> None:
        """What the run may do, fixed from here on, and what it is asked."""
        ...

    async def record_run_reply(
        self,
        run_id: str,
        reply: AssistantSaid,
        calls: Sequence[NewCall],
        spent: "Spent",
        *,
        refused: Sequence[ToolResult] = (),
    ) -> None:
        """Keep a reply with the calls it asks for, and what the run has used up to now. `refused`: the
        outcome of those that go no further."""
        ...

    async def record_run_note(self, run_id: str, note: Note) -> None:
        """Keep something the hub tells the model."""
        ...

    async def mark_run_call(
        self, run_id: str, call_id: str, check: RunCheck, *, limits: Sequence[UseLimit] = ()
    ) -> str | None:
        """As Store.mark_running: before an effect of a run, judged once more on what holds now, also that
        tools are not paused. Returns the refusal, and then writes nothing."""
        ...

    async def record_run_process(self, call_id: str, process: ProcessInfo) -> None:
        """Remember the child of a running call, so that a later hub can end it."""
        ...

    async def finish_run_call(self, run_id: str, result: ToolResult) -> None:
        """Keep the outcome of a call; each gets exactly one, a second one raises StaleTurn."""
        ...
