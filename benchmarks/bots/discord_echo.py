"""An echo on discord.py's client: no model, no state.

Usage: python -m benchmarks.bots.discord_echo API_BASE_URL GATEWAY_URL TOKEN
"""

import asyncio
import sys

import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route


class Echo(discord.Client):
    """Says what it is told."""

    async def on_message(self, message: discord.Message) -> None:
        """Answer people."""
        if not message.author.bot:
            await message.channel.send(message.content)


async def main(api: str, gateway: str, token: str) -> None:
    """Listen for ever."""
    Route.BASE = api
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway)
    intents = discord.Intents(guilds=True, dm_messages=True, guild_messages=True, message_content=True)
    async with Echo(intents=intents) as client:
        await client.start(token)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
