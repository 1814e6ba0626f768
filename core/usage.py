"""Usage of models: the most that a call may use, its tokens and cost, its payer, and the budgets."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from zoneinfo import ZoneInfo

from core.clock import SECOND_US
from core.lazy import dataclass

MICRO_USD = 1_000_000
"""Micro-USD per US dollar."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as counted by the provider, and their cost at the model's prices.

    Counts are zero where the provider gave none; the cost is zero without known prices.
    `input_tokens` includes `cached_input_tokens` (read from the provider's cache) and `cache_write_tokens`
    (written to it)."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cost_micro_usd: int = 0
    cache_write_tokens: int = 0

    @property
    def counted(self) -> bool:
        """Return whether the provider counted anything."""
        return self.input_tokens > 0 or self.output_tokens > 0


NOTHING_USED = Usage()


class CallKind(StrEnum):
    """The kind of work that a model is called for."""

    CHAT = "chat"
    ROUTINE = "routine"
    JOB = "job"
    SUMMARY = "summary"
    """The summary of a person's session."""
    TEST = "test"
    """A trial by the operator."""


@dataclass(frozen=True, slots=True)
class Payer:
    """The work and the person that a call is for.

    `run_id`: the turn, routine run or job, whose thread the store knows; for other kinds, an id of that
    work."""

    kind: CallKind
    run_id: str
    user_id: str
    thread_id: str | None = None
    routine_id: str | None = None


@dataclass(frozen=True, slots=True)
class Reservation:
    """The most that one call may use, in the store before the call is made.

    `attempt`: counts the calls for the same reply, from 1. `tokens`: input and output together."""

    id: str
    model: str
    provider: str
    attempt: int
    tokens: int
    micro_usd: int

    def covers(self, other: "Reservation") -> bool:
        """Return whether a call that needs the other one may be made on this one."""
        return (
            (self.model, self.provider, self.attempt) == (other.model, other.provider, other.attempt)
            and self.tokens >= other.tokens
            and self.micro_usd >= other.micro_usd
        )


@dataclass(frozen=True, slots=True)
class CallEnd:
    """The end of a call, for the row of its reservation.

    `tokens`, `micro_usd`: its reservation, made exact. `usage` None: no answer counted it, so that the
    reservation stays. `made` False: the call was not made, and its row is removed. `plan_step`: the step of
    a job's plan that it was for, as `RunMeter.plan_step`."""

    id: str
    tokens: int = 0
    micro_usd: int = 0
    usage: Usage | None = None
    made: bool = True
    plan_step: str | None = None


@dataclass(frozen=True, slots=True)
class Expected:
    """The first call of a conversation of which nothing is known yet, as it is reserved in advance."""

    model: str
    provider: str
    tokens: int
    micro_usd: int


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits on all model calls together; 0: no limit. Days begin at midnight in `timezone`."""

    daily_micro_usd: int = 0
    per_user_daily_micro_usd: int = 0
    hourly_calls: int = 0
    timezone: str = "UTC"

    @property
    def limits_money(self) -> bool:
        """Return whether there is a limit on costs."""
        return self.daily_micro_usd > 0 or self.per_user_daily_micro_usd > 0


NO_BUDGET = Budget()


class UsageBy(StrEnum):
    """The things that usage is added up by."""

    DAY = "day"
    MODEL = "model"
    USER = "user"
    KIND = "kind"
    ROUTINE = "routine"
    THREAD = "thread"
    JOB = "job"
    STEP = "step"
    """The step of a job's plan."""


@dataclass(frozen=True, slots=True)
class UsageSum:
    """The usage of one day, model, person, … `key`: which one, as the store knows it.

    `estimated_calls`, `estimated_tokens`, `estimated_micro_usd`: of calls that no answer counted, at their
    reservations. The other sums leave these out, except `calls`."""

    key: str
    calls: int
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    cache_write_tokens: int
    micro_usd: int
    estimated_calls: int
    estimated_tokens: int
    estimated_micro_usd: int


def token_bound(text: str) -> int:
    """Return a number of tokens that no tokenizer exceeds for the text: every token is at least one byte."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def day_start(now: int, timezone: str) -> int:
    """Return the start of the day in that zone, in microseconds UTC."""
    moment = datetime.fromtimestamp(now / SECOND_US, ZoneInfo(timezone))
    return int(moment.replace(hour=0, minute=0, second=0, microsecond=0, fold=0).timestamp()) * SECOND_US


def folded_sums(key: str, sums: Sequence[UsageSum]) -> UsageSum:
    """Return several sums as one, under that key."""
    return UsageSum(
        key,
        sum(one.calls for one in sums),
        sum(one.input_tokens for one in sums),
        sum(one.output_tokens for one in sums),
        sum(one.cached_input_tokens for one in sums),
        sum(one.cache_write_tokens for one in sums),
        sum(one.micro_usd for one in sums),
        sum(one.estimated_calls for one in sums),
        sum(one.estimated_tokens for one in sums),
        sum(one.estimated_micro_usd for one in sums),
    )
