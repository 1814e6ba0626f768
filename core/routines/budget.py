"""Budgets: usage is counted with every reply and compared with the routine's daily limits."""

from dataclasses import replace

from core.errors import HubError, ModelReplyInvalid
from core.model.base import Model, ModelReply, ModelRequest, closing
from core.routine import Spent
from core.store.routine_rows import DayLeft


class OutOfBudget(HubError):
    """Error for a routine whose daily budget is used up; the text says which budget."""


class SpentSoFar:
    """Usage of a run up to now, also if it fails later. `before`: usage of earlier starts, which `left`
    does not count."""

    def __init__(self, before: Spent, left: DayLeft) -> None:
        self.total = before
        self._before = before
        self._left = left

    def add(self, reply: ModelReply) -> None:
        """Count a reply."""
        usage, total = reply.usage, self.total
        self.total = Spent(
            total.tokens_in + usage.input_tokens,
            total.tokens_out + usage.output_tokens,
            total.cost_micro_usd + usage.cost_micro_usd,
        )

    def reserve(self, tokens: int) -> int:
        """Return the number of tokens a reply may use, at most `tokens`. Raises OutOfBudget if nothing is
        left."""
        left, total, before = self._left, self.total, self._before
        if left.micro_usd is not None and total.cost_micro_usd - before.cost_micro_usd >= left.micro_usd:
            raise OutOfBudget("Stopped: the routine has reached its daily cost limit.")
        if left.tokens is None:
            return tokens
        used = total.tokens_in + total.tokens_out - before.tokens_in - before.tokens_out
        if used >= left.tokens:
            raise OutOfBudget("Stopped: the routine has reached its daily token limit.")
        return min(tokens, left.tokens - used)


async def one_reply(model: Model, request: ModelRequest, spent: SpentSoFar) -> ModelReply:
    """Call the model once and count the reply. Raises ModelError, OutOfBudget."""
    request = replace(request, max_output_tokens=spent.reserve(request.max_output_tokens))
    async with closing(model.reply(request)) as pieces:
        async for piece in pieces:
            if isinstance(piece, ModelReply):
                spent.add(piece)
                return piece
    raise ModelReplyInvalid("the model adapter ended without a reply")
