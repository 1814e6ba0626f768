"""When a model is tried again, how long is waited, and when not."""

import pytest

from core.errors import (
    ContextOverflow,
    ModelAuthRejected,
    ModelError,
    ModelRejected,
    ModelReplyInvalid,
    ModelUnavailable,
)
from core.model.base import LONGEST_WAIT_S, ModelReply, ReplyDelta, RetryingModel, Usage
from core.transcript import Origin
from tests.core.model.support import ScriptedModel, TestClock, asking, collect

REPLY = ModelReply("Hello", (), Usage(), Origin("test", "t"))
FINE = [ReplyDelta("Hel"), ReplyDelta("lo"), REPLY]
BUSY = ModelUnavailable("busy")


def retrying(model: ScriptedModel, clock: TestClock, share: float = 0.5) -> RetryingModel:
    return RetryingModel(model, clock, uniform=lambda low, high: low + (high - low) * share)


async def test_a_call_that_works_is_passed_through() -> None:
    model, clock = ScriptedModel("main", [FINE]), TestClock()
    deltas, reply = await collect(retrying(model, clock), asking("Hi"))
    assert deltas == ["Hel", "lo"]
    assert reply is REPLY
    assert (model.asked, model.closed, clock.slept_s) == (1, 1, [])
    assert retrying(model, clock).name == "main"


@pytest.mark.parametrize(
    "share, waits_s", [(0.0, [0.75, 1.5, 3.0]), (0.5, [1, 2, 4]), (1.0, [1.25, 2.5, 5.0])]
)
async def test_three_retries_with_growing_waits(share: float, waits_s: list[float]) -> None:
    model, clock = ScriptedModel("main", [[BUSY], [ModelReplyInvalid("cut")], [BUSY], FINE]), TestClock()
    deltas, _ = await collect(retrying(model, clock, share), asking("Hi"))
    assert "".join(deltas) == "Hello"
    assert clock.slept_s == pytest.approx(waits_s)
    assert model.closed == 4


async def test_the_fourth_failure_surfaces() -> None:
    model, clock = ScriptedModel("main", [[BUSY]] * 4), TestClock()
    with pytest.raises(ModelUnavailable):
        await collect(retrying(model, clock), asking("Hi"))
    assert model.asked == 4


async def test_the_providers_wish_is_honoured() -> None:
    model, clock = (
        ScriptedModel("main", [[ModelUnavailable("slow", 30.0)], [ModelUnavailable("slow", 0.1)], FINE]),
        TestClock(),
    )
    await collect(retrying(model, clock), asking("Hi"))
    assert clock.slept_s == [30.0, 2.0]


async def test_a_wish_that_is_too_long_is_not_waited_for() -> None:
    model, clock = ScriptedModel("main", [[ModelUnavailable("slow", LONGEST_WAIT_S + 1)]]), TestClock()
    with pytest.raises(ModelUnavailable) as caught:
        await collect(retrying(model, clock), asking("Hi"))
    assert caught.value.retry_after_s == LONGEST_WAIT_S + 1
    assert clock.slept_s == []


@pytest.mark.parametrize("error", [BUSY, ModelReplyInvalid("cut")])
async def test_nothing_is_repeated_once_something_was_shown(error: ModelError) -> None:
    model, clock = ScriptedModel("main", [[ReplyDelta("Hel"), error]]), TestClock()
    with pytest.raises(type(error)):
        await collect(retrying(model, clock), asking("Hi"))
    assert (model.asked, clock.slept_s) == (1, [])


@pytest.mark.parametrize("error", [ModelRejected("no"), ModelAuthRejected("no"), ContextOverflow("long")])
async def test_what_trying_again_cannot_mend_is_not_tried_again(error: ModelError) -> None:
    model = ScriptedModel("main", [[error]])
    with pytest.raises(type(error)):
        await collect(retrying(model, TestClock()), asking("Hi"))
    assert model.asked == 1


async def test_leaving_early_ends_the_call_beneath() -> None:
    model = ScriptedModel("main", [FINE])
    pieces = retrying(model, TestClock()).reply(asking("Hi"))
    assert await anext(pieces) == ReplyDelta("Hel")
    await pieces.aclose()  # type: ignore[attr-defined]
    assert model.closed == 1
