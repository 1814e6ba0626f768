"""What a run may still use of its own tokens and money, after its own calls."""

import pytest

from core.runs.metering import OwnBudgetUsedUp, SpendingLimit
from core.usage import CallKind, Payer, Usage
from tests.core.runs.models_bench import unrecorded


def limit(tokens: int | None, micro_usd: int | None, *, used: int = 0, cost: int = 0) -> SpendingLimit:
    meter = unrecorded().run(Payer(CallKind.ROUTINE, "run", "ada"))
    meter.used = Usage(used - used // 3, used // 3, 0, cost)
    return SpendingLimit(meter, tokens, micro_usd, over_tokens="no tokens", over_money="no money")


@pytest.mark.parametrize(
    "tokens,micro_usd,used,most",
    [
        (None, None, 10**6, 100),
        (90, None, 0, 90),
        (90, None, 30, 60),
        (90, None, 89, 1),
        (900, None, 89, 100),
        (None, 10, 30, 100),
    ],
)
def test_a_reply_may_use_what_is_left(
    tokens: int | None, micro_usd: int | None, used: int, most: int
) -> None:
    assert limit(tokens, micro_usd, used=used, cost=9).reserve(100) == most


@pytest.mark.parametrize(
    "tokens,micro_usd,used,cost,why",
    [
        (90, None, 90, 0, "no tokens"),
        (90, None, 91, 0, "no tokens"),
        (-1, None, 0, 0, "no tokens"),
        (None, 10, 0, 10, "no money"),
        (90, 10, 0, 11, "no money"),
        (None, -1, 0, 0, "no money"),
    ],
)
def test_with_nothing_left_no_reply_is_asked_for(
    tokens: int | None, micro_usd: int | None, used: int, cost: int, why: str
) -> None:
    with pytest.raises(OwnBudgetUsedUp, match=why):
        limit(tokens, micro_usd, used=used, cost=cost).reserve(100)
