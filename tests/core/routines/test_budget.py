"""The budget a run has left, after its own calls."""

import pytest

from core.runs.day_budget import DayBudget, OutOfBudget
from core.store.routine_rows import DayLeft
from core.usage import CallKind, Payer, Usage
from tests.core.runs.models_bench import unrecorded


def spent(left: DayLeft, *, tokens: int = 0, micro_usd: int = 0) -> DayBudget:
    meter = unrecorded().run(Payer(CallKind.ROUTINE, "run", "ada"))
    meter.used = Usage(tokens - tokens // 3, tokens // 3, 0, micro_usd)
    return DayBudget(left, meter)


@pytest.mark.parametrize(
    "left,used,most",
    [
        (DayLeft(), 10**6, 100),
        (DayLeft(tokens=90), 0, 90),
        (DayLeft(tokens=90), 30, 60),
        (DayLeft(tokens=90), 89, 1),
        (DayLeft(tokens=900), 89, 100),
        (DayLeft(micro_usd=10), 30, 100),
    ],
)
def test_a_reply_may_use_what_is_left_of_the_day(left: DayLeft, used: int, most: int) -> None:
    assert spent(left, tokens=used).reserve(100) == most


@pytest.mark.parametrize(
    "left,tokens,micro_usd,why",
    [
        (DayLeft(tokens=90), 90, 0, "token limit"),
        (DayLeft(tokens=90), 91, 0, "token limit"),
        (DayLeft(micro_usd=10), 0, 10, "cost limit"),
    ],
)
def test_with_nothing_left_no_reply_is_asked_for(
    left: DayLeft, tokens: int, micro_usd: int, why: str
) -> None:
    with pytest.raises(OutOfBudget, match=why):
        spent(left, tokens=tokens, micro_usd=micro_usd).reserve(100)
