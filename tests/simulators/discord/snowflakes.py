"""Ids that carry their time: https://docs.discord.com/developers/reference#snowflakes."""

from collections.abc import Callable
from datetime import UTC, datetime

EPOCH_MS = 1_420_070_400_000


class Snowflakes:
    """Hands out ids that grow strictly and hold the simulator's time."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last = 0

    def next(self) -> int:
        """A new id."""
        self._last = max(self._last + 1, (int(self._clock() * 1000) - EPOCH_MS) << 22)
        return self._last


def iso(time_s: float) -> str:
    """A time as the platform writes it: ISO 8601 with microseconds and offset."""
    return datetime.fromtimestamp(time_s, UTC).isoformat(timespec="microseconds")
