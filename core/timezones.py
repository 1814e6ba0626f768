"""Time zones of people: the zone that a name means, near matches of a wrong one, and each person's own."""

from collections.abc import Awaitable, Callable
from difflib import get_close_matches
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

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
    """The time zones of people. `chosen`: returns a person's own. `default`: the hub's, for all others."""

    def __init__(self, chosen: Callable[[str], Awaitable[str | None]], default: str) -> None:
        self._chosen = chosen
        self.default = default

    async def of(self, user_id: str) -> str:
        """Return a person's time zone. Raises StoreUnavailable."""
        return in_force(await self._chosen(user_id), self.default)


def in_force(chosen: str | None, default: str) -> str:
    """Return the chosen zone; the default if there is none, or this computer knows it no more."""
    return default if chosen is None or zone(chosen) is None else chosen


def _folded(typed: str) -> str:
    return "_".join(typed.casefold().split())


@cache  # the names are those of files, which takes a moment to read
def _by_name() -> dict[str, str]:
    return {name.casefold(): name for name in sorted(available_timezones())}


@cache
def _by_city() -> dict[str, str]:
    # The first of several: Europe/Berlin, not an older name further down the alphabet.
    return {name.rpartition("/")[2].casefold(): name for name in sorted(available_timezones(), reverse=True)}
