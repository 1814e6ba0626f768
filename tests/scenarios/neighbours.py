"""Three platforms, a model and one hub in a process of its own that serves them all; its tokens are in its
vault."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

from tests.bot.cli.in_process import command
from tests.bot.cli.program import Ended, RunningHub
from tests.patience import PATIENCE_S
from tests.simulators.discord import DiscordSimulator
from tests.simulators.model import ModelSimulator
from tests.simulators.slack import SlackSimulator
from tests.simulators.telegram import TelegramSimulator

KEY = "model-key"
LIMIT_S = PATIENCE_S
ON_TELEGRAM, ON_SLACK, ON_DISCORD = 7, "U0OLIVIA", 100_000_000_000_000_007
BOT_ON_DISCORD = 900_000_000_000_000_001


def telegram_token(generation: int) -> str:
    """One of the tokens of the bot on Telegram."""
    return f"123456:AAE-token-number-{generation}-of-the-usual-length"


def slack_token(generation: int) -> str:
    """One of the tokens of the bot on Slack."""
    return f"xoxb-1111-token-number-{generation}"


def discord_token(generation: int) -> str:
    """One of the tokens of the bot on Discord."""
    number = base64.b64encode(str(BOT_ON_DISCORD).encode()).decode().rstrip("=")
    return f"{number}.Gabcd{generation}.secret-of-the-bot-{generation}"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One platform, as its person and its administrator see it. `token`: by generation."""

    name: str
    token: Callable[[int], str]
    says: Callable[[str], object]
    hears: Callable[[str], object]
    revoke: Callable[[], None]
    renew: Callable[[], None]


@dataclass(slots=True)
class Street:
    """The three, the model, and the directory of the hub."""

    telegram: TelegramSimulator
    slack: SlackSimulator
    discord: DiscordSimulator
    model: ModelSimulator
    directory: Path

    @property
    def neighbours(self) -> tuple[Neighbour, ...]:
        """Every platform."""
        return (self._on_telegram(), self._on_slack(), self._on_discord())

    async def keeps(self, name: str, token: str) -> Ended:
        """`hubbub secrets set NAME`, with the value by standard input."""
        return await asyncio.to_thread(
            command, self.directory, "secrets", "set", name, stdin=f"{token}\n".encode()
        )

    async def becomes(self, hub: RunningHub, channel: str, state: str) -> str:
        """Until `/readyz` names that state; the reason it gives."""
        async with asyncio.timeout(LIMIT_S):
            while True:
                _, page = await hub.readyz()
                states: dict[str, dict[str, str | None]] = page["channels"]  # type: ignore[assignment]
                if states[channel]["state"] == state:
                    return states[channel]["reason"] or ""
                await asyncio.sleep(0.02)

    def _on_telegram(self) -> Neighbour:
        bots = self.telegram.world.bots

        def renamed(before: str, after: str) -> None:
            bots[after] = bots.pop(before)

        return Neighbour(
            "telegram",
            telegram_token,
            lambda text: self.telegram.user_sends_text(ON_TELEGRAM, text),
            lambda text: self.telegram.wait_text(ON_TELEGRAM, text, timeout_s=LIMIT_S),
            lambda: renamed(telegram_token(1), "123456:nobody-knows-it"),
            lambda: renamed("123456:nobody-knows-it", telegram_token(2)),
        )

    def _on_slack(self) -> Neighbour:
        return Neighbour(
            "slack",
            slack_token,
            lambda text: self.slack.user_sends_text(ON_SLACK, text),
            lambda text: self.slack.wait_text(self.slack.direct_channel(ON_SLACK).id, text, LIMIT_S),
            lambda: self.slack.revoke_token(slack_token(1)),
            lambda: self.slack.renew_token(slack_token(1), slack_token(2)),
        )

    def _on_discord(self) -> Neighbour:
        return Neighbour(
            "discord",
            discord_token,
            lambda text: self.discord.user_sends_text(ON_DISCORD, text),
            lambda text: self.discord.wait_text(self.discord.dm_channel(ON_DISCORD).id, text, LIMIT_S),
            self.discord.revoke_token,
            lambda: self.discord.revoke_token(token=discord_token(2)),
        )

    def write_config(self) -> None:
        """Tokens by name only."""
        (self.directory / "hubbub.toml").write_text(
            f"""
[hub]
data_dir = "{self.directory}/data"
owner_identities = ["telegram:{ON_TELEGRAM}", "slack:{ON_SLACK}", "discord:{ON_DISCORD}"]
[http]
port = 0
[workspace]
dir = "{self.directory}/workspace"
[[models]]
name = "main"
provider = "openai"
model = "sim-1"
base_url = "{self.model.openai_base_url}"
api_key = "{KEY}"
[channels.telegram]
token = "vault:telegram"
api_base_url = "{self.telegram.url}"
[channels.slack]
bot_token = "vault:slack"
app_token = "xapp-1"
api_base_url = "{self.slack.url}/api"
[channels.discord]
token = "vault:discord"
api_base_url = "{self.discord.api_base_url}"
gateway_url = "{self.discord.gateway_url}"
"""
        )


@contextlib.asynccontextmanager
async def open_street(directory: Path) -> AsyncIterator[Street]:
    """Everything but the hub, whose configuration is written and whose secrets are kept."""
    async with (
        TelegramSimulator() as telegram,
        SlackSimulator() as slack,
        DiscordSimulator() as discord,
        ModelSimulator(api_key=KEY, models=("sim-1",)) as model,
    ):
        telegram.add_bot(telegram_token(1))
        telegram.add_user(ON_TELEGRAM, first_name="Olivia")
        slack.add_app(slack_token(1), "xapp-1")
        slack.add_user(ON_SLACK, name="olivia")
        discord.add_bot(discord_token(1))
        discord.add_user(ON_DISCORD, "olivia", global_name="Olivia")
        discord.create_guild("house", [ON_DISCORD])
        street = Street(telegram, slack, discord, model, directory)
        street.write_config()
        for neighbour in street.neighbours:
            kept = await street.keeps(neighbour.name, neighbour.token(1))
            assert kept.code == 0, kept.err
        yield street
