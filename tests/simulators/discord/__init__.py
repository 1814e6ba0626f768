"""A Discord to test against."""

from tests.simulators.discord.client import discord_process
from tests.simulators.discord.simulator import DiscordSimulator

__all__ = ["DiscordSimulator", "discord_process"]
