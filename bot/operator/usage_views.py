"""The usage of models and the failures of tools, as the API, the console and `--json` show them.

Costs are in micro-USD, and times in microseconds UTC.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Self
from zoneinfo import ZoneInfo

from core.clock import SECOND_US
from core.lazy import dataclass
from core.usage import UsageBy, UsageSum, day_start

if TYPE_CHECKING:
    from bot.config.schema import Config
    from core.store.port import Store

DAY_US = 86_400 * SECOND_US


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageView:
    """The usage of one day, model, person, … `name`: of it, for people.

    `estimated_…`: calls that no answer counted, at the most they may have used; they are no part of the other
    sums except `calls`. `free`: it cost nothing because its models cost nothing, not for want of a price."""

    key: str
    name: str
    free: bool
    calls: int
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    cache_write_tokens: int
    cost_micro_usd: int
    estimated_calls: int
    estimated_tokens: int
    estimated_cost_micro_usd: int

    @classmethod
    def of(cls, row: UsageSum, name: str, *, free: bool) -> Self:
        """Return the view of a sum."""
        return cls(
            key=row.key,
            name=name,
            free=free and row.micro_usd == row.estimated_micro_usd == 0,
            calls=row.calls,
            input_tokens=row.input_tokens,
            output_tokens=row.output_tokens,
            cached_input_tokens=row.cached_input_tokens,
            cache_write_tokens=row.cache_write_tokens,
            cost_micro_usd=row.micro_usd,
            estimated_calls=row.estimated_calls,
            estimated_tokens=row.estimated_tokens,
            estimated_cost_micro_usd=row.estimated_micro_usd,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageListing:
    """The usage from `since` until `until`, by one thing."""

    by: str
    since: int
    until: int
    rows: tuple[UsageView, ...]


JOBS_NAMED = 200
"""The newest jobs, which are named; of older ones the id is shown."""


async def usage_listing(store: "Store", by: UsageBy, days: int, now: int, config: "Config") -> UsageListing:
    """Return the usage of the last `days` days in the hub's time zone, today included."""
    timezone, free = config.hub.timezone, {one.name for one in config.models if one.free}
    all_free = all(one.free for one in config.models)
    since, until = day_start(now - (days - 1) * DAY_US, timezone), now + 1
    rows = await store.usage.usage(by, since, until, timezone)
    names = await _names(store, by)
    views = tuple(
        UsageView.of(
            row,
            names.get(row.key) or _name(by, row.key, names, timezone),
            free=row.key in free if by is UsageBy.MODEL else all_free,
        )
        for row in rows
    )
    return UsageListing(by=by.value, since=since, until=until, rows=views)


async def _names(store: "Store", by: UsageBy) -> dict[str, str]:
    """Return names by key, where the key alone says nothing."""
    match by:
        case UsageBy.USER:
            return {one.user.user_id: one.user.name for one in await store.people.people()}
        case UsageBy.ROUTINE:
            names: dict[str, str] = {}
            for person in await store.people.people():
                rows = await store.routines.routines(person.user.user_id)
                names |= {row.id: row.text.name for row in rows}
            return names
        case UsageBy.JOB | UsageBy.STEP:
            return {job.id: f"{job.short_id} {job.title}" for job in await store.jobs.jobs(None, JOBS_NAMED)}
        case _:
            return {}


def _name(by: UsageBy, key: str, names: Mapping[str, str], timezone: str) -> str:
    if by is UsageBy.DAY:
        return f"{datetime.fromtimestamp(int(key) // SECOND_US, ZoneInfo(timezone)):%Y-%m-%d}"
    if by is UsageBy.STEP and key:
        job_id, _, step = key.partition(" ")
        return f"{names.get(job_id, job_id)}: {f'step {step}' if step.isdecimal() else step}"
    return key or "(none)"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingToolView:
    """A tool that has failed `failures` times in a row in jobs and routines, the last time at `at` with
    `error`. `left_out_at`: since when these go without it; null: not yet."""

    name: str
    failures: int
    error: str
    at: int
    left_out_at: int | None
