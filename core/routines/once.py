"""One-time schedules: `at` a time. They are written in full, `at 2026-12-01 09:00` by the wall clock of the
schedule's time zone, or `at 2026-12-01 08:00:30 UTC`; what people write otherwise is brought to that form
when it is saved: `in 20 m`, `at 09:00` (the next time the clock reads that), a time with an offset.
"""

import re
from datetime import UTC, datetime, time, timedelta, tzinfo

from core.lazy_dataclass import dataclass

MAX_AHEAD = timedelta(days=50 * 366)
FORMS = "'at 2026-12-01 09:00', 'at 09:00', 'in 20 m', 'in 2 hours' or 'in 3 d'"
_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_IN = re.compile(
    r"in (\d{1,7}) ?(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)", re.ASCII | re.IGNORECASE
)
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Once:
    """One slot. `reading`: what the wall clock shows then, or UTC if `exact`."""

    reading: datetime
    exact: bool


def is_once(text: str) -> bool:
    """Return whether a schedule is of this kind, well written or not."""
    return text.strip().lower().startswith(("at ", "in "))


def read_once(text: str) -> Once | None:
    """Read the full form; None for any other."""
    found = re.fullmatch(r"at (\d{4}-\d\d-\d\d)[ t](\d\d:\d\d(?::\d\d)?)( utc|z)?", _folded(text), re.ASCII)
    if found is None:
        return None
    try:
        return Once(datetime.fromisoformat(f"{found[1]} {found[2]}"), exact=found[3] is not None)
    except ValueError:
        return None


def in_full(text: str, now: datetime, zone: tzinfo) -> str:
    """Return the full form of a one-time schedule as people write it; any other text as it is. `zone`: of
    times without an offset."""
    said = _folded(text)
    if found := _IN.fullmatch(said):
        ahead = timedelta(seconds=int(found[1]) * _UNITS_S[found[2][0]])
        return _exact(now + ahead) if ahead <= MAX_AHEAD else text
    if not said.startswith("at "):
        return text
    if found := _TIME.fullmatch(said.removeprefix("at ")):
        local, at = now.astimezone(zone), time(int(found[1]), int(found[2]))
        reading = datetime.combine(local.date(), at)
        if reading.replace(tzinfo=zone).astimezone(UTC) <= now:
            reading += timedelta(days=1)
        return f"at {reading:%Y-%m-%d %H:%M}"
    try:
        moment = datetime.fromisoformat(said.removeprefix("at ").upper())
    except ValueError:
        return text
    return text if moment.tzinfo is None else _exact(moment.astimezone(UTC))


def _exact(moment: datetime) -> str:
    return f"at {moment:%Y-%m-%d %H:%M:%S} UTC"


def _folded(text: str) -> str:
    return " ".join(text.lower().split())
