"""Replies of a model with prices tell what they cost, and are otherwise the model's own."""

from dataclasses import replace

from core.model.base import ModelReply, ModelRequest, Price, PricedModel, ReplyDelta
from core.model.demo import DemoModel
from core.transcript import UserSaid

REQUEST = ModelRequest("Be brief.", [UserSaid("hello")])


async def pieces(model: DemoModel | PricedModel) -> list[ReplyDelta | ModelReply]:
    return [piece async for piece in model.reply(REQUEST)]


async def test_a_reply_tells_what_it_cost() -> None:
    free = await pieces(DemoModel())
    priced = await pieces(PricedModel(DemoModel(), Price(2.5, 10)))
    assert priced[:-1] == free[:-1]
    before, after = free[-1], priced[-1]
    assert isinstance(before, ModelReply)
    assert isinstance(after, ModelReply)
    usage = before.usage
    cost = round(usage.input_tokens * 2.5 + usage.output_tokens * 10)
    assert cost > 0
    assert after == replace(before, usage=replace(usage, cost_micro_usd=cost))
    assert PricedModel(DemoModel("mine"), Price(1, 1)).name == "mine"
