"""Whether a request comes from Slack: https://docs.slack.dev/authentication/verifying-requests-from-slack."""

import hashlib
import hmac
from collections.abc import Mapping

from core.clock import SECOND_US

WINDOW_S = 300
"""Older requests may be replays."""


def refusal(secret: str, headers: Mapping[str, str], body: bytes, now_us: int) -> str | None:
    """Why the request is not believed; None if it is Slack's. `headers` in lower case, `body` as it came."""
    stamp = headers.get("x-slack-request-timestamp", "")
    if not (stamp.isascii() and stamp.isdecimal() and len(stamp) <= 12):
        return "no timestamp"
    if abs(now_us // SECOND_US - int(stamp)) > WINDOW_S:
        return "the timestamp is not of the last five minutes"
    base = b"v0:" + stamp.encode() + b":" + body
    expected = "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
    given = headers.get("x-slack-signature", "")
    return None if hmac.compare_digest(expected.encode(), given.encode()) else "the signature is not right"
