"""discord.py's and the transport's errors as the hub's, separated by whether Discord accepted the
request."""

import asyncio
from typing import cast

import aiohttp
import discord

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
"""The wait if Discord specifies none."""

NO_INTENT = (
    "Discord does not let this bot read messages. At discord.com/developers/applications, open the"
    " application, choose Bot, turn on Message Content Intent, then restart the channel"
)

_AUTHENTICATION_FAILED = 4004
"""The gateway's close code for a failed authentication."""

_GONE = frozenset(
    {
        10003,  # unknown channel
        50001,  # missing access
        50007,  # cannot send messages to this user
        50013,  # missing permissions
        50083,  # the thread is archived
        50278,  # no server in common with this user
        160005,  # the thread is locked
    }
)

_NEVER_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.InvalidURL,
    aiohttp.NonHttpUrlClientError,
)

FAILURES = (
    ChannelError,
    discord.DiscordException,
    aiohttp.ClientError,
    TimeoutError,
    OSError,
    KeyError,
    TypeError,
    ValueError,
)
"""The errors that a request or connection can raise. Any other is a defect of the hub."""


def channel_error(error: BaseException) -> ChannelError:
    """Return the hub's error for a failed request or connection."""
    match error:
        case ChannelError():
            return error
        case discord.DiscordException():
            return _told_by_sdk(error)
        case _ if isinstance(error, _NEVER_SENT):
            return Unavailable(f"could not reach Discord ({type(error).__name__})")
        case aiohttp.ClientError() | asyncio.TimeoutError() | OSError():
            return Unanswered(f"no response from Discord ({type(error).__name__})")
        case KeyError() | TypeError() | ValueError():
            return Unanswered(f"could not read Discord's response ({type(error).__name__})")
        case _:
            raise error


def first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the most significant of several simultaneous errors: a rejected token comes first."""
    refused = group.subgroup(AuthRejected)
    error: BaseException = refused or group
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _told_by_sdk(error: discord.DiscordException) -> ChannelError:
    match error:
        case discord.LoginFailure():
            return AuthRejected("Discord rejected the token")
        case discord.PrivilegedIntentsRequired():
            return AuthRejected(NO_INTENT)
        case discord.ConnectionClosed():
            return _closed(error)
        case discord.RateLimited():
            return RateLimited(error.retry_after)
        case discord.HTTPException():
            return _refused(error)
        case _:
            return Unanswered(f"could not read Discord's response ({type(error).__name__})")


def _closed(error: discord.ConnectionClosed) -> ChannelError:
    if error.code == _AUTHENTICATION_FAILED:
        return AuthRejected("Discord rejected the token")
    return Unavailable(f"Discord closed the gateway connection (code {error.code})")


def _wait_s(error: discord.HTTPException) -> float:
    try:
        return max(float(error.response.headers.get("Retry-After") or DEFAULT_WAIT_S), 1.0)
    except ValueError:
        return DEFAULT_WAIT_S


def _refused(error: discord.HTTPException) -> ChannelError:
    said = f"Discord: {error.text[:300]} ({error.code})" if error.code else f"Discord: HTTP {error.status}"
    if error.status == 401:
        return AuthRejected("Discord rejected the token")
    if error.status == 429:
        return RateLimited(_wait_s(error))
    if error.status >= 500:
        return Unanswered(said)
    if error.code in _GONE or error.status == 403:
        return AddressGone(said)
    return MessageRejected(said)
