"""Limits on a chat turn. When one is used up, a person is asked whether to continue."""

from collections.abc import Callable
from enum import StrEnum

from core.approvals import LoopLimits
from core.clock import SECOND_US
from core.consent import card_texts
from core.events import AutoLoop, LoopPhase
from core.lazy_dataclass import dataclass


class Limit(StrEnum):
    """A limit on a turn."""

    ROUNDS = "max_rounds"
    TOOLS = "max_tools"
    TIME = "loop_timeout"


@dataclass(frozen=True, slots=True)
class Exhausted:
    """A limit that is used up. `said`: a sentence for people and the model."""

    limit: Limit
    said: str


@dataclass(slots=True)
class LoopBudget:
    """The budget that a turn has used. `started_s` is monotonic; `spent_us` was used before this start.

    If `counted` is False, rounds and calls are counted but not limited (preset `auto`). Time is
    always limited.
    """

    limits: LoopLimits
    rounds: int
    tools_run: int
    spent_us: int
    started_s: float
    counted: bool = True

    def start_over(self, now_s: float) -> None:
        """Count from now on: a person has written to the turn."""
        self.rounds = self.tools_run = self.spent_us = 0
        self.started_s = now_s

    def exhausted(self, now_s: float) -> Exhausted | None:
        """Return the limit that is used up before another round of the model, or None."""
        if self.counted and self.rounds >= self.limits.max_rounds:
            return Exhausted(Limit.ROUNDS, card_texts.budget_rounds(self.rounds))
        return self.no_more_tools(now_s)

    def no_more_tools(self, now_s: float) -> Exhausted | None:
        """Return the limit that is used up before another call in the current round, or None."""
        limits = self.limits
        if self.counted and self.tools_run >= limits.max_tools:
            return Exhausted(Limit.TOOLS, card_texts.budget_tools(self.tools_run))
        if self.remaining_s(now_s) <= 0:
            return Exhausted(Limit.TIME, card_texts.budget_time(limits.loop_timeout_s))
        return None

    def calls_left(self) -> int | None:
        """Return the number of calls that may still run, or None if it is unlimited."""
        return max(0, self.limits.max_tools - self.tools_run) if self.counted else None

    def remaining_s(self, now_s: float) -> float:
        """Return the seconds that the turn may still take."""
        return self.limits.loop_timeout_s - self.spent_us / SECOND_US - (now_s - self.started_s)


# The events that people see of a turn that runs tools by itself.

STOPPED = "stopped"
FAILED = "failed"


class LoopEvents:
    """Events of one start of a turn: its beginning, each call that ended, and its end.

    A turn that runs no tools causes no events. No events follow the end."""

    def __init__(self, budget: LoopBudget, tell: Callable[[AutoLoop], None]) -> None:
        self._budget = budget
        self._tell = tell
        self._tool: str | None = None

    def begins(self, tool: str) -> None:
        """Report that a call is about to run. The first call since a person last decided begins the loop."""
        if self._tool is None:
            self._tool = tool
            phase = LoopPhase.PROGRESS if self._budget.tools_run else LoopPhase.STARTED
            self._tell(self._event(phase))

    def goes_on(self, tool: str) -> None:
        """Report that a call has run."""
        self._tool = tool
        self._tell(self._event(LoopPhase.PROGRESS))

    def finished(self) -> None:
        """Report that the model gave its final answer."""
        if self._tool is not None:
            self._tell(self._event(LoopPhase.FINISHED))
            self._tool = None

    def cancelled(self, reason: str) -> None:
        """Report any other end."""
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
