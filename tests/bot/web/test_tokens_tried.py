"""`hubbub init` and `hubbub doctor` try each token of Slack and Discord on the platform itself."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bot.config.load import load
from tests.bot.cli.in_process import command
from tests.harness.discord_hub import OWNER as DISCORD_OWNER
from tests.harness.discord_hub import TOKEN, DiscordHub, open_discord_hub
from tests.harness.process import Ended
from tests.harness.slack_hub import APP_TOKEN, BOT_TOKEN, SlackHub, open_slack_hub
from tests.harness.slack_hub import OWNER as SLACK_OWNER


@pytest_asyncio.fixture
async def slack(tmp_path: Path) -> AsyncIterator[SlackHub]:
    async with open_slack_hub(tmp_path, start=False) as opened:
        yield opened


@pytest_asyncio.fixture
async def discord(tmp_path: Path) -> AsyncIterator[DiscordHub]:
    async with open_discord_hub(tmp_path, start=False) as opened:
        yield opened


async def made(place: SlackHub | DiscordHub, platform: str, url: str, owner: str, **env: str) -> Ended:
    """`hubbub init` by a script, in a directory that has no configuration."""
    words = (
        *("init", "--no-input", "--platform", platform, "--owner", f"{platform}:{owner}"),
        *("--provider", "demo", "--api-base-url", url),
    )
    return await asyncio.to_thread(command, place.directory, *words, env=env)


async def examined(place: SlackHub | DiscordHub, platform: str) -> dict[str, Any]:
    """Return what `hubbub doctor` finds of the channel, the worst of it."""
    place.write_config()
    done = await asyncio.to_thread(command, place.directory, "doctor", "--json")
    found = [one for one in json.loads(done.out) if one["what"] == f"channel {platform}"]
    return next((one for one in found if one["health"] == "broken"), found[0])


async def test_init_writes_good_tokens_of_slack(slack: SlackHub) -> None:
    tokens = {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN}
    ended = await made(slack, "slack", f"{slack.slack.url}/api", SLACK_OWNER, **tokens)
    assert (ended.code, ended.err) == (0, "")
    assert "channel slack: ok, the token is valid: hub" in ended.out
    config = load(environ={}, cwd=slack.directory).config
    assert config.hub.owner_identities == (f"slack:{SLACK_OWNER}",)
    assert (slack.directory / "hubbub.env").stat().st_mode & 0o777 == 0o600
    for token in tokens.values():
        assert token not in ended.out + (slack.directory / "hubbub.toml").read_text()


@pytest.mark.parametrize(
    "wrong, told",
    [
        ({"SLACK_BOT_TOKEN": "xoxb-other"}, "the platform rejected the token (invalid_auth)"),
        ({"SLACK_APP_TOKEN": "xapp-other"}, "Slack rejected the app-level token (invalid_auth)"),
    ],
)
async def test_init_tries_both_tokens_of_slack(slack: SlackHub, wrong: dict[str, str], told: str) -> None:
    tokens = {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN} | wrong
    ended = await made(slack, "slack", f"{slack.slack.url}/api", SLACK_OWNER, **tokens)
    assert (ended.code, f"channel slack: NOT OK, {told}" in ended.out) == (1, True)
    assert not (slack.directory / "hubbub.toml").exists()
    for token in tokens.values():
        assert token not in ended.out + ended.err


async def test_doctor_tries_both_tokens_of_slack(slack: SlackHub) -> None:
    assert (await examined(slack, "slack"))["message"].startswith("the token is valid: hub")
    slack.slack.revoke_token(APP_TOKEN)
    assert (await examined(slack, "slack"))["message"] == "Slack rejected the app-level token (token_revoked)"
    slack.slack.revoke_token(BOT_TOKEN)
    assert (await examined(slack, "slack"))["message"] == "the platform rejected the token (token_revoked)"


async def test_init_tries_the_token_of_discord(discord: DiscordHub) -> None:
    url = discord.discord.api_base_url
    refused = await made(discord, "discord", url, str(DISCORD_OWNER), DISCORD_TOKEN=f"{TOKEN}x")
    assert (refused.code, "channel discord: NOT OK, the platform rejected the token" in refused.out) == (
        1,
        True,
    )
    assert not (discord.directory / "hubbub.toml").exists()
    ended = await made(discord, "discord", url, str(DISCORD_OWNER), DISCORD_TOKEN=TOKEN)
    assert (ended.code, ended.err) == (0, "")
    assert "channel discord: ok, the token is valid: hub_bot" in ended.out


async def test_doctor_says_that_discord_hides_what_people_write(discord: DiscordHub) -> None:
    assert (await examined(discord, "discord"))["message"] == "the token is valid: hub_bot"
    discord.discord.set_message_content(False)
    hidden = await examined(discord, "discord")
    assert hidden["message"] == "Discord does not let the bot read message text"
    assert "Message Content Intent" in hidden["fix"]
    discord.discord.revoke_token()
    assert (await examined(discord, "discord"))["message"] == "the platform rejected the token"
