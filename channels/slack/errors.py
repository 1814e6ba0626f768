"""slack_sdk's and the transport's errors as the hub's, separated by whether Slack accepted the
request."""

import asyncio
import json
from collections.abc import Container, Mapping
from typing import Any, cast

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError

from core.errors import (
    AddressGone,
    AuthRejected,
    ChannelError,
    MessageRejected,
    RateLimited,
    Unanswered,
    Unavailable,
)

DEFAULT_WAIT_S = 30.0
"""The wait if Slack specifies none."""

_AUTH = frozenset(
    {
        "account_inactive",
        "invalid_auth",
        "no_permission",
        "not_allowed_token_type",
        "not_authed",
        "org_login_required",
        "team_access_not_granted",
        "token_expired",
        "token_revoked",
    }
)
_GONE = frozenset(
    {
        "cannot_dm_bot",
        "channel_not_found",
        "is_archived",
        "message_not_found_in_thread",
        "messages_tab_disabled",
        "not_in_channel",
        "restricted_action",
        "restricted_action_read_only_channel",
        "restricted_action_thread_locked",
        "thread_not_found",
        "user_disabled",
        "user_not_found",
    }
)
_DOWN = frozenset({"service_unavailable", "team_added_to_org", "accesslimited"})
_DOUBTFUL = frozenset({"fatal_error", "internal_error", "request_timeout"})
"""Errors after which, according to Slack, part of the request may have been carried out."""

_NEVER_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.InvalidURL,
    aiohttp.NonHttpUrlClientError,
)

FAILURES = (SlackClientError, aiohttp.ClientError, TimeoutError, OSError, KeyError, TypeError, ValueError)
"""The errors that a request or connection can raise. Any other is a defect of the hub."""


class Declined(MessageRejected):
    """A refusal that the caller can handle. `code` is Slack's error code."""

    def __init__(self, code: str) -> None:
        super().__init__(f"Slack: {code}")
        self.code = code


def channel_error(error: Exception, declines: Container[str] = ()) -> ChannelError:
    """Return the hub's error for a failed request. `declines`: error codes that become Declined."""
    match error:
        case SlackApiError():
            return _refused(error, declines)
        case _ if isinstance(error, _NEVER_SENT):
            return Unavailable(f"could not reach Slack ({type(error).__name__})")
        case aiohttp.ClientError() | asyncio.TimeoutError() | OSError():
            return Unanswered(f"no response from Slack ({type(error).__name__})")
        case SlackClientError() | json.JSONDecodeError() | KeyError() | TypeError() | ValueError():
            return Unanswered(f"could not read Slack's response ({type(error).__name__})")
        case _:
            raise error


def _refused(error: SlackApiError, declines: Container[str]) -> ChannelError:
    response = cast("Any", error.response)
    status = int(getattr(response, "status_code", None) or getattr(response, "status", None) or 0)
    headers = cast("Mapping[str, str]", getattr(response, "headers", None) or {})
    data = cast("object", getattr(response, "data", None))
    body: Mapping[str, Any] = cast("Mapping[str, Any]", data) if isinstance(data, dict) else {}
    code = str(body.get("error", ""))
    if status == 429 or code in ("ratelimited", "rate_limited"):
        return RateLimited(_seconds(headers.get("Retry-After")))
    if code in declines:
        return Declined(code)
    if code in _AUTH:
        return AuthRejected(f"Slack rejected the token ({code})")
    if code in _GONE:
        return AddressGone(f"Slack: {code}")
    if code in _DOUBTFUL:
        return Unanswered(f"Slack: {code}")
    if code in _DOWN or status >= 500:
        return Unavailable(f"Slack is not available ({code or status})")
    return MessageRejected(f"Slack: {code or f'HTTP {status}'}{_details(body)}")


def _seconds(header: str | None) -> float:
    try:
        return max(float(header or DEFAULT_WAIT_S), 1.0)
    except ValueError:
        return DEFAULT_WAIT_S


def _details(body: Mapping[str, Any]) -> str:
    """Return Slack's messages about the blocks it refused."""
    more = body.get("response_metadata")
    said = cast("Mapping[str, Any]", more).get("messages") if isinstance(more, dict) else None
    if not isinstance(said, list):
        return ""
    return f" ({'; '.join(str(line) for line in cast('list[object]', said))[:300]})"
