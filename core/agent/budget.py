"""How much a chat turn may do before a person is asked whether to go on."""

from dataclasses import dataclass

from core import texts
from core.clock import SECOND_US


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """Per turn, counted since the last human input; waiting for a person doesn't count."""

    max_rounds: int = 5
    max_tools: int = 20
    loop_timeout_s: int = 300


@dataclass(slots=True)
class LoopBudget:
    """What a turn has used. `started_s` is monotonic; `spent_us` was used before this start."""

    limits: LoopLimits
    rounds: int
    tools_run: int
    spent_us: int
    started_s: float

    def exhausted(self, now_s: float) -> str | None:
        """The limit that is used up, as a sentence."""
        limits = self.limits
        if self.rounds >= limits.max_rounds:
            return texts.budget_rounds(self.rounds)
        if self.tools_run >= limits.max_tools:
            return texts.budget_tools(self.tools_run)
        if self.spent_us / SECOND_US + now_s - self.started_s >= limits.loop_timeout_s:
            return texts.budget_time(limits.loop_timeout_s)
        return None

    def may_run_tool(self) -> bool:
        """Whether one more call fits."""
        return self.tools_run < self.limits.max_tools
