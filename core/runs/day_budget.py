"""The daily budget of a routine, compared with what a run uses before each of its calls."""

from core.errors import BudgetUsedUp
from core.runs.metering import RunMeter
from core.store.routine_rows import DayLeft

COST_USED_UP = "Stopped: the routine has reached its daily cost limit."
ALL_USED_UP = "Stopped: the routine has reached its daily token limit."


class OutOfBudget(BudgetUsedUp):
    """The routine's own budget of the day is used up; the text says which."""


class DayBudget:
    """The rest of the day for one start of a run. `left`: at its beginning."""

    def __init__(self, left: DayLeft, meter: RunMeter) -> None:
        self._left = left
        self._meter = meter

    def reserve(self, tokens: int) -> int:
        """Return the number of tokens a reply may use, at most `tokens`. Raises OutOfBudget if nothing is
        left."""
        left, used = self._left, self._meter.used
        if left.micro_usd is not None and used.cost_micro_usd >= left.micro_usd:
            raise OutOfBudget(COST_USED_UP)
        if left.tokens is None:
            return tokens
        used_tokens = used.input_tokens + used.output_tokens
        if used_tokens >= left.tokens:
            raise OutOfBudget(ALL_USED_UP)
        return min(tokens, left.tokens - used_tokens)
