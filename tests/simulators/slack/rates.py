"""The published limits (https://docs.slack.dev/apis/web-api/rate-limits), enforced only when asked for.

A little burst is allowed as on the platform: the limits are counted over sliding windows.
"""

import time
from collections import defaultdict, deque

from tests.simulators.slack.errors import RateLimited
from tests.simulators.slack.limits import PER_MINUTE_OF_TIER, POSTS_PER_CHANNEL_PER_S
from tests.simulators.slack.registry import Call, Declared

_POSTS = {"chat.postMessage", "chat.postEphemeral"}


class RateLimits:
    """Sliding windows per app and method, and per app and channel for posts."""

    def __init__(self) -> None:
        self._used: defaultdict[tuple[str, str, str | None], deque[float]] = defaultdict(deque)

    def check(self, call: Call, declared: Declared) -> None:
        """Counts a request. Raises ``RateLimited`` with the seconds to wait."""
        if declared.name in _POSTS:
            self._count((call.app.id, "post", call.params.text("channel")), POSTS_PER_CHANNEL_PER_S, 1.0)
        else:
            self._count((call.app.id, declared.name, None), PER_MINUTE_OF_TIER[declared.tier], 60.0)

    def _count(self, key: tuple[str, str, str | None], limit: int, window_s: float) -> None:
        now = time.monotonic()
        used = self._used[key]
        while used and used[0] <= now - window_s:
            used.popleft()
        if len(used) >= limit:
            raise RateLimited(max(1, round(used[0] + window_s - now + 0.5)))
        used.append(now)
