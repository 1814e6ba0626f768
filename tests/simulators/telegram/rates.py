"""The published sending limits (https://core.telegram.org/bots/faq), enforced only when asked for.

A little burst is allowed as on the platform: the limits are counted over sliding windows.
"""

import time
from collections import defaultdict, deque

from tests.simulators.telegram.errors import too_many_requests
from tests.simulators.telegram.limits import (
    MESSAGES_PER_CHAT_PER_S,
    MESSAGES_PER_GROUP_PER_MINUTE,
    MESSAGES_PER_S,
)
from tests.simulators.telegram.registry import Call

_COUNTED = {"sendMessage", "sendPhoto", "sendDocument", "sendVoice", "sendMediaGroup", "editMessageText"}


class RateLimits:
    """Sliding windows per bot, per chat and per group."""

    def __init__(self) -> None:
        self._sent: defaultdict[tuple[int, int | None], deque[float]] = defaultdict(deque)

    def check(self, call: Call) -> None:
        """Counts a request that sends or edits. Raises ``ApiError`` 429 with the seconds to wait."""
        if call.record.method not in _COUNTED:
            return
        chat_id = call.record.chat_id
        windows = [(None, MESSAGES_PER_S, 1.0), (chat_id, MESSAGES_PER_CHAT_PER_S, 1.0)]
        if chat_id is not None and chat_id < 0:
            windows.append((chat_id, MESSAGES_PER_GROUP_PER_MINUTE, 60.0))
        now = time.monotonic()
        for scope, limit, window_s in windows:
            sent = self._sent[call.bot.id, scope]
            while sent and sent[0] <= now - 60.0:
                sent.popleft()
            recent = [at for at in sent if at > now - window_s]
            if len(recent) >= limit:
                raise too_many_requests(max(1, round(recent[-limit] + window_s - now + 0.5)))
        self._sent[call.bot.id, None].append(now)
        self._sent[call.bot.id, chat_id].append(now)
