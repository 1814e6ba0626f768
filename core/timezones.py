"""Time zones of people: the zone that a name means, near matches of a wrong one, and each person's own."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, available_timezones

from core.clock import SECOND_US
from core.users import Preferences

if TYPE_CHECKING:
    from core.routine import QuietHours

MAX_NEAR = 3
MAX_COMPARED_CHARS = 60


def zone(name: str) -> ZoneInfo | None:
    """Return the time zone of that IANA name; None if there is none."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown; not a file name; a directory, such as "Europe"
        return None


def named(typed: str) -> str | None:
    """Return the IANA name of a zone as a person types it, in any case; None if there is none."""
    return _by_name().get(_folded(typed))


def near(typed: str) -> tuple[str, ...]:
    """Return the names nearest to a wrong one, best first. A city alone is enough: `Berln`."""
    wanted = _folded(typed[:MAX_COMPARED_CHARS])
    candidates = {**_by_city(), **_by_name()}
    found = get_close_matches(wanted, candidates, n=2 * MAX_NEAR)
    return tuple(dict.fromkeys(candidates[one] for one in found))[:MAX_NEAR]


class TimeZones:
    """The time zones of people. `preferences`: returns a person's own. `default`: the hub's, for others."""

    def __init__(self, preferences: Callable[[str], Awaitable[Preferences]], default: str) -> None:
        self._preferences = preferences
        self.default = default

    async def of(self, user_id: str) -> str:
        """Return a person's time zone. Raises StoreUnavailable."""
        return in_force((await self._preferences(user_id)).timezone, self.default)


def in_force(chosen: str | None, default: str) -> str:
    """Return the chosen zone; the default if there is none, or this computer knows it no more."""
    return default if chosen is None or zone(chosen) is None else chosen


def told_at(hours: "QuietHours | None", now: int, timezone: str) -> int:
    """Return when a notice of something that happened now is sent: after the quiet hours, if it is quiet
    now."""
    if hours is None:
        return now
    moment = datetime.fromtimestamp(now / SECOND_US, ZoneInfo(timezone))
    if not hours.cover(moment.hour * 60 + moment.minute):
        return now
    end = moment.replace(
        hour=hours.end_minute // 60, minute=hours.end_minute % 60, second=0, microsecond=0, fold=0
    )
    if end <= moment:
        end += timedelta(days=1)
    return max(now, int(end.timestamp() * SECOND_US))


def _folded(typed: str) -> str:
    return "_".join(typed.casefold().split())


@cache  # the names are those of files, which takes a moment to read
def _by_name() -> dict[str, str]:
    return {name.casefold(): name for name in sorted(available_timezones())}


@cache
def _by_city() -> dict[str, str]:
    # The first of several: Europe/Berlin, not an older name further down the alphabet.
    return {name.rpartition("/")[2].casefold(): name for name in sorted(available_timezones(), reverse=True)}
