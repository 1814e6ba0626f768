"""Which model answers when the first cannot."""

import logging

import pytest

from core.errors import (
    ContextOverflow,
    ModelAuthRejected,
    ModelError,
    ModelRejected,
    ModelReplyInvalid,
    ModelUnavailable,
)
from core.model.base import FailoverModel, ModelReply, ReplyDelta, Usage
from core.transcript import Origin
from tests.core.model.support import ScriptedModel, asking, collect


def fine(name: str) -> ScriptedModel:
    return ScriptedModel(name, [[ReplyDelta(name), ModelReply(name, (), Usage(), Origin("test", name))]])


def failing(name: str, *pieces: ReplyDelta | Exception) -> ScriptedModel:
    return ScriptedModel(name, [pieces])


async def test_the_first_that_can_answers_and_the_rest_are_not_asked() -> None:
    first, second = fine("a"), fine("b")
    deltas, reply = await collect(FailoverModel("models", [first, second]), asking("Hi"))
    assert deltas == [reply.text] == ["a"]
    assert (first.asked, second.asked) == (1, 0)


@pytest.mark.parametrize(
    "error", [ModelUnavailable("busy"), ModelAuthRejected("key"), ModelRejected("no such model")]
)
async def test_the_next_is_asked_and_the_failure_logged(
    error: ModelError, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        _, reply = await collect(FailoverModel("models", [failing("a", error), fine("b")]), asking("Hi"))
    assert reply.origin.model == "b"
    assert [record.getMessage() for record in caplog.records] == [
        f"model.failed model=a number=1 of=2 error={error}"
    ]


@pytest.mark.parametrize("error", [ContextOverflow("long"), ModelReplyInvalid("cut")])
async def test_what_another_model_cannot_mend_surfaces(error: ModelError) -> None:
    second = fine("b")
    with pytest.raises(type(error)):
        await collect(FailoverModel("models", [failing("a", error), second]), asking("Hi"))
    assert second.asked == 0


async def test_no_other_model_finishes_what_one_began() -> None:
    second = fine("b")
    begun = failing("a", ReplyDelta("Hel"), ModelUnavailable("gone"))
    with pytest.raises(ModelUnavailable):
        await collect(FailoverModel("models", [begun, second]), asking("Hi"))
    assert second.asked == 0


async def test_one_models_error_stays_as_it_is() -> None:
    error = ModelRejected("no")
    with pytest.raises(ModelRejected) as caught:
        await collect(FailoverModel("models", [failing("a", error)]), asking("Hi"))
    assert caught.value is error


@pytest.mark.parametrize(
    "errors, kind, retry_after_s",
    [
        ([ModelRejected("x"), ModelAuthRejected("y")], ModelRejected, None),
        ([ModelAuthRejected("x"), ModelUnavailable("y", 5.0)], ModelUnavailable, 5.0),
        ([ModelUnavailable("x", 9.0), ModelUnavailable("y", 4.0)], ModelUnavailable, 4.0),
        ([ModelUnavailable("x", 9.0), ModelUnavailable("y")], ModelUnavailable, None),
    ],
)
async def test_all_failures_are_summed_up(
    errors: list[ModelError], kind: type[ModelError], retry_after_s: float | None
) -> None:
    models = [failing(f"m{n}", error) for n, error in enumerate(errors)]
    with pytest.raises(kind, match="all 2 models failed: x; y") as caught:
        await collect(FailoverModel("models", models), asking("Hi"))
    assert getattr(caught.value, "retry_after_s", None) == retry_after_s
    assert [model.closed for model in models] == [1, 1]


def test_a_list_needs_a_model() -> None:
    with pytest.raises(ValueError, match="at least one"):
        FailoverModel("models", [])
