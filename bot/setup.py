"""What `hubbub init` needs to know, and the files that follow from it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

OPENAI_URL = "https://api.openai.com/v1"
MODEL_KEY_VARIABLE = "OPENAI_API_KEY"
SUGGESTED_MODEL = "gpt-5-mini"


@dataclass(frozen=True, slots=True)
class SecretWanted:
    """A token a platform wants: the key in its section, the variable it is kept in, where to find it."""

    key: str
    variable: str
    told: str


@dataclass(frozen=True, slots=True)
class PlatformSetup:
    """What is asked about a platform. `account`: how people find their own id on it."""

    name: str
    secrets: tuple[SecretWanted, ...]
    account: str


PLATFORMS: Mapping[str, PlatformSetup] = {
    setup.name: setup
    for setup in (
        PlatformSetup(
            "telegram",
            (SecretWanted("token", "TELEGRAM_TOKEN", "the bot's token, from @BotFather"),),
            "the number of your own account",
        ),
        PlatformSetup(
            "slack",
            (
                SecretWanted("bot_token", "SLACK_BOT_TOKEN", "the bot token, xoxb-…, see docs/slack.md"),
                SecretWanted("app_token", "SLACK_APP_TOKEN", "the app-level token, xapp-…"),
            ),
            "your own member id, such as U024BE7LH",
        ),
        PlatformSetup(
            "discord",
            (SecretWanted("token", "DISCORD_TOKEN", "the bot's token, see docs/discord.md"),),
            "your own user id, a number",
        ),
    )
}


@dataclass(frozen=True, slots=True)
class ChannelAnswer:
    """One channel. `secrets`: by variable; `account`: the owner's own there, "" if not known yet."""

    platform: PlatformSetup
    secrets: Mapping[str, str] = field(repr=False)
    account: str = ""
    api_base_url: str = ""


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The model; the built-in one needs nothing else."""

    provider: str
    model: str = ""
    base_url: str = OPENAI_URL
    api_key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Answers:
    """Everything that was asked."""

    channels: Sequence[ChannelAnswer]
    model: ModelAnswer


def configuration(answers: Answers) -> str:
    """The text of hubbub.toml; no secret is in it."""
    lines = ["# Made by `hubbub init`. Every option is named in config.example.toml.", ""]
    accounts = [f"{one.platform.name}:{one.account}" for one in answers.channels if one.account]
    if accounts:
        lines += ["[hub]", f"owner_identities = [{', '.join(map(_text, accounts))}]", ""]
    lines += _model(answers.model)
    for channel in answers.channels:
        lines += ["", f"[channels.{channel.platform.name}]"]
        lines += [
            f'{secret.key} = "env:{secret.variable}"'
            for secret in channel.platform.secrets
            if channel.secrets.get(secret.variable)
        ]
        if channel.api_base_url:
            lines.append(f"api_base_url = {_text(channel.api_base_url)}")
    return "\n".join(lines) + "\n"


def variables(answers: Answers) -> Mapping[str, str]:
    """What goes into the environment file."""
    found = {name: value for one in answers.channels for name, value in one.secrets.items() if value}
    key = answers.model.api_key
    return found | ({MODEL_KEY_VARIABLE: key} if key else {})


def _model(answer: ModelAnswer) -> list[str]:
    if answer.provider == "demo":
        return ["[[models]]", 'name = "demo"', 'provider = "demo"']
    lines = ["[[models]]", 'name = "main"', f"provider = {_text(answer.provider)}"]
    lines.append(f"model = {_text(answer.model)}")
    if answer.base_url != OPENAI_URL:
        lines.append(f"base_url = {_text(answer.base_url)}")
    if answer.api_key:
        lines.append(f'api_key = "env:{MODEL_KEY_VARIABLE}"')
    return lines


def _text(value: str) -> str:
    """As TOML writes it; JSON's escapes are TOML's but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
