"""Logging in, for requests and for the gateway."""

import asyncio
from typing import Final

import discord

from channels.discord.errors import FAILURES, channel_error

TOTAL_TIMEOUT_S: Final = 60.0
"""A request with everything the SDK does about it."""


async def entered(sdk: discord.Client, token: str) -> discord.Client:
    """The client, logged in. Raises ChannelError, and then it is closed."""
    try:
        async with asyncio.timeout(TOTAL_TIMEOUT_S):
            await sdk.login(token)
    except FAILURES as error:
        await sdk.http.close()
        raise channel_error(error) from None
    except BaseException:
        await sdk.http.close()
        raise
    return sdk
