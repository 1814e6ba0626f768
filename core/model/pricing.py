"""What replies of a model cost, by its configured prices."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from core.model.base import Model, ModelReply, ModelRequest, ReplyDelta
from core.model.streams import closing


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens, which is micro-USD for a token."""

    input_usd: float
    output_usd: float


class PricedModel:
    """Implements Model: the same model, its replies with what they cost."""

    def __init__(self, model: Model, price: Price) -> None:
        self._model = model
        self._price = price

    @property
    def name(self) -> str:
        """See Model."""
        return self._model.name

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """See Model."""
        async with closing(self._model.reply(request)) as pieces:
            async for piece in pieces:
                yield self._priced(piece) if isinstance(piece, ModelReply) else piece

    def _priced(self, reply: ModelReply) -> ModelReply:
        usage, price = reply.usage, self._price
        cost = usage.input_tokens * price.input_usd + usage.output_tokens * price.output_usd
        return replace(reply, usage=replace(usage, cost_micro_usd=round(cost)))
