"""The budget a run has left, after what it used itself and before what an earlier start of it used."""

import pytest

from core.model.base import ModelReply, Origin, Usage
from core.routine import Spent
from core.routines.budget import OutOfBudget, SpentSoFar
from core.store.routine_rows import DayLeft

EARLIER = Spent(tokens_in=700, tokens_out=300, cost_micro_usd=5_000)


def spent(left: DayLeft, *, tokens: int = 0, micro_usd: int = 0) -> SpentSoFar:
    found = SpentSoFar(EARLIER, left)
    usage = Usage(tokens - tokens // 3, tokens // 3, 0, micro_usd)
    found.add(ModelReply("", (), usage, Origin("demo", "demo")))
    return found


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
