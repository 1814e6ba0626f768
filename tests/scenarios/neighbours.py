"""Three platforms, a model and one hub in a process of its own that serves them all; its tokens are in its
vault."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

from tests.bot.cli.in_process import command
from tests.harness.process import Ended, HubProcess
from tests.harness.simulators import DISCORD_BOT, OLIVIA, PLATFORMS, Simulators, open_simulators, write_config
from tests.patience import PATIENCE_S

LIMIT_S = PATIENCE_S
ON_TELEGRAM, ON_SLACK, ON_DISCORD = int(OLIVIA["telegram"]), OLIVIA["slack"], int(OLIVIA["discord"])


def telegram_token(generation: int) -> str:
    """One of the tokens of the bot on Telegram."""
    return f"123456:AAE-token-number-{generation}-of-the-usual-length"


def slack_token(generation: int) -> str:
    """One of the tokens of the bot on Slack."""
    return f"xoxb-1111-token-number-{generation}"


def discord_token(generation: int) -> str:
    """One of the tokens of the bot on Discord."""
    number = base64.b64encode(str(DISCORD_BOT).encode()).decode().rstrip("=")
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

    around: Simulators
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

    async def becomes(self, hub: HubProcess, channel: str, state: str) -> str:
        """Until `/readyz` names that state; the reason it gives."""
        async with asyncio.timeout(LIMIT_S):
            while True:
                _, page = await hub.readyz()
                states: dict[str, dict[str, str | None]] = page["channels"]  # type: ignore[assignment]
                if states[channel]["state"] == state:
                    return states[channel]["reason"] or ""
                await asyncio.sleep(0.02)

    def _on_telegram(self) -> Neighbour:
        telegram = self.around.telegram
        bots = telegram.world.bots

        def renamed(before: str, after: str) -> None:
            bots[after] = bots.pop(before)

        return Neighbour(
            "telegram",
            telegram_token,
            lambda text: telegram.user_sends_text(ON_TELEGRAM, text),
            lambda text: telegram.wait_text(ON_TELEGRAM, text, timeout_s=LIMIT_S),
            lambda: renamed(telegram_token(1), "123456:nobody-knows-it"),
            lambda: renamed("123456:nobody-knows-it", telegram_token(2)),
        )

    def _on_slack(self) -> Neighbour:
        slack = self.around.slack
        return Neighbour(
            "slack",
            slack_token,
            lambda text: slack.user_sends_text(ON_SLACK, text),
            lambda text: slack.wait_text(slack.direct_channel(ON_SLACK).id, text, LIMIT_S),
            lambda: slack.revoke_token(slack_token(1)),
            lambda: slack.renew_token(slack_token(1), slack_token(2)),
        )

    def _on_discord(self) -> Neighbour:
        discord = self.around.discord
        return Neighbour(
            "discord",
            discord_token,
            lambda text: discord.user_sends_text(ON_DISCORD, text),
            lambda text: discord.wait_text(discord.dm_channel(ON_DISCORD).id, text, LIMIT_S),
            discord.revoke_token,
            lambda: discord.revoke_token(token=discord_token(2)),
        )


@contextlib.asynccontextmanager
async def open_street(directory: Path) -> AsyncIterator[Street]:
    """Everything but the hub, whose configuration is written and whose secrets are kept: it knows the tokens
    by name only."""
    tokens = {"telegram": telegram_token(1), "slack": slack_token(1), "discord": discord_token(1)}
    by_name = {platform: f"vault:{platform}" for platform in PLATFORMS}
    async with open_simulators(*PLATFORMS, tokens=tokens) as around:
        owners = [f"{platform}:{account}" for platform, account in OLIVIA.items()]
        write_config(directory, around.model_section(), around.sections(by_name), owners=owners)
        street = Street(around, directory)
        for neighbour in street.neighbours:
            kept = await street.keeps(neighbour.name, neighbour.token(1))
            assert kept.code == 0, kept.err
        yield street
