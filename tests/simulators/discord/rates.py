"""Buckets and their headers: https://docs.discord.com/developers/topics/rate-limits.

The platform publishes no numbers; clients read them from the headers. By default every bucket is roomy, so
that tests are not paced; with ``enforce`` the numbers observed on the platform hold, and 50 requests a second
over all routes but those of interactions.
"""

import hashlib
import math
import time
from collections import deque
from dataclasses import dataclass

from tests.simulators.discord import limits

ROOMY = (10_000, 1.0)
OBSERVED = {
    "createMessage": (5, 5.0),
    "editMessage": (5, 5.0),
    "deleteMessage": (5, 1.0),
    "listMessages": (5, 5.0),
    "triggerTyping": (5, 5.0),
    "addReaction": (1, 0.25),
    "removeReaction": (1, 0.25),
    "createDm": (10, 10.0),
    "overwriteCommands": (5, 20.0),
    "createFollowup": (5, 2.0),
    "editFollowup": (5, 2.0),
}
OTHERS = (50, 1.0)
WITHOUT_GLOBAL = {"respondToInteraction", "createFollowup", "editFollowup", "deleteFollowup", "getFollowup"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The headers of an answer; ``retry_after_s`` if the request is refused, ``scope`` by which limit."""

    headers: dict[str, str]
    retry_after_s: float | None = None
    scope: str = "user"


class RateLimits:
    """Fixed windows per bot, route and channel, and one per bot over all routes."""

    def __init__(self, *, enforce: bool) -> None:
        self.enforce = enforce
        self.overrides: dict[str, tuple[int, float]] = {}
        self._windows: dict[tuple[int, str, str], tuple[float, int]] = {}
        self._global: dict[int, deque[float]] = {}

    def size(self, method: str) -> tuple[int, float]:
        """Requests and seconds of a route's window."""
        return self.overrides.get(method) or (OBSERVED.get(method, OTHERS) if self.enforce else ROOMY)

    def check(self, bot_id: int, method: str, major: str) -> Verdict:
        """Counts one request; ``major`` is the channel, guild or webhook in its path."""
        now = time.monotonic()
        if self.enforce and method not in WITHOUT_GLOBAL and (wait_s := self._wait_globally(bot_id, now)):
            return Verdict({}, wait_s, "global")
        limit, per_s = self.size(method)
        began, used = self._windows.get((bot_id, method, major), (now, 0))
        if now >= began + per_s:
            began, used = now, 0
        left_s = began + per_s - now
        refused = used >= limit
        self._windows[bot_id, method, major] = (began, used if refused else used + 1)
        headers = bucket_headers(method, limit, max(0, limit - used - 1), left_s)
        return Verdict(headers, left_s if refused else None)

    def _wait_globally(self, bot_id: int, now: float) -> float:
        sent = self._global.setdefault(bot_id, deque())
        while sent and sent[0] <= now - 1.0:
            sent.popleft()
        if len(sent) >= limits.GLOBAL_REQUESTS_PER_S:
            return sent[0] + 1.0 - now
        sent.append(now)
        return 0.0


def bucket_headers(method: str, limit: int, remaining: int, left_s: float) -> dict[str, str]:
    """The headers every answer of a route carries."""
    return {
        "X-RateLimit-Limit": str(limit),
        "X-RateLimit-Remaining": str(remaining),
        "X-RateLimit-Reset": f"{time.time() + left_s:.3f}",
        "X-RateLimit-Reset-After": f"{left_s:.3f}",
        "X-RateLimit-Bucket": hashlib.sha256(method.encode()).hexdigest()[:32],
    }


def refusal(
    scope: str, retry_after_s: float, headers: dict[str, str]
) -> tuple[dict[str, str], dict[str, object]]:
    """Headers and body of a 429. The header is whole seconds, rounded up; the body has the decimals."""
    # The platform's own answers came through its proxy; a refusal without the header is of the network before
    # it, and libraries treat that as a ban.
    headers = headers | {
        "Via": "1.1 google",
        "Retry-After": str(math.ceil(retry_after_s)),
        "X-RateLimit-Scope": scope,
    }
    if scope == "global":
        headers["X-RateLimit-Global"] = "true"
    what = "The resource is being rate limited." if scope == "shared" else "You are being rate limited."
    return headers, {"message": what, "retry_after": round(retry_after_s, 3), "global": scope == "global"}
