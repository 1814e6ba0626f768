"""What people are told of a turn that runs tools by itself."""

from collections.abc import Callable

from core.agent.budget import LoopBudget
from core.events import AutoLoop, LoopPhase

STOPPED = "stopped"
FAILED = "failed"


class LoopTelling:
    """Tells of one start of a turn: what begins, each call that ended, and how it ends. Nothing is told of
    turns that run no tools, and nothing after the end."""

    def __init__(self, budget: LoopBudget, tell: Callable[[AutoLoop], None]) -> None:
        self._budget = budget
        self._tell = tell
        self._tool: str | None = None

    def begins(self, tool: str) -> None:
        """A call is about to run; the first since a person had a say begins the loop."""
        if self._tool is None:
            self._tool = tool
            phase = LoopPhase.PROGRESS if self._budget.tools_run else LoopPhase.STARTED
            self._tell(self._event(phase))

    def goes_on(self, tool: str) -> None:
        """A call has run."""
        self._tool = tool
        self._tell(self._event(LoopPhase.PROGRESS))

    def finished(self) -> None:
        """The model answered in words."""
        if self._tool is not None:
            self._tell(self._event(LoopPhase.FINISHED))
            self._tool = None

    def cancelled(self, reason: str) -> None:
        """It ends otherwise."""
        if self._tool is not None:
            self._tell(self._event(LoopPhase.CANCELLED, reason))
            self._tool = None

    def _event(self, phase: LoopPhase, reason: str | None = None) -> AutoLoop:
        budget = self._budget
        limits = budget.limits if budget.counted else None
        return AutoLoop(
            phase,
            self._tool or "",
            budget.rounds,
            budget.tools_run,
            None if limits is None else limits.max_rounds,
            None if limits is None else limits.max_tools,
            reason,
        )
