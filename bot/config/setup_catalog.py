"""Platforms and model providers that `hubbub init` offers by name, and the settings that follow from answers.

The links lead to the page of each portal where the token or key is made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field

from bot.config.document import KeyPath
from bot.config.edits import Value, edited
from bot.config.schema import PROVIDER_URLS
from core.lazy import dataclass

HEADING = "# Created by `hubbub init`. All options are in config.example.toml.\n"


@dataclass(frozen=True, slots=True)
class ProviderSetup:
    """A model provider. `api`: the provider in the configuration; `base_url`: "" if a person must name it;
    `model`: the suggested one; `key_variable`: "" for servers that want no key; `page`: where the key is
    made, or the server is found; `local`: a server on this machine, on its usual port."""

    name: str
    title: str
    api: str
    base_url: str
    model: str = ""
    key_variable: str = ""
    page: str = ""
    local: bool = False


DEMO = "demo"
PROVIDERS: Mapping[str, ProviderSetup] = {
    setup.name: setup
    for setup in (
        ProviderSetup(
            "openai",
            "OpenAI",
            "openai",
            PROVIDER_URLS["openai"],
            "gpt-5-mini",
            "OPENAI_API_KEY",
            "https://platform.openai.com/api-keys",
        ),
        ProviderSetup(
            "anthropic",
            "Anthropic",
            "anthropic",
            PROVIDER_URLS["anthropic"],
            "claude-sonnet-5-5",
            "ANTHROPIC_API_KEY",
            "https://console.anthropic.com/settings/keys",
        ),
        ProviderSetup(
            "openrouter",
            "OpenRouter",
            "openai",
            "https://openrouter.ai/api/v1",
            "openai/gpt-5-mini",
            "OPENROUTER_API_KEY",
            "https://openrouter.ai/settings/keys",
        ),
        ProviderSetup(
            "ollama",
            "Ollama",
            "openai",
            "http://127.0.0.1:11434/v1",
            page="https://ollama.com/download",
            local=True,
        ),
        ProviderSetup(
            "lmstudio",
            "LM Studio",
            "openai",
            "http://127.0.0.1:1234/v1",
            page="https://lmstudio.ai/download",
            local=True,
        ),
        ProviderSetup(
            "vllm",
            "vLLM",
            "openai",
            "http://127.0.0.1:8000/v1",
            page="https://docs.vllm.ai",
            local=True,
        ),
        ProviderSetup("other", "another OpenAI-compatible server", "openai", "", "", "MODEL_API_KEY"),
    )
}


@dataclass(frozen=True, slots=True)
class SecretWanted:
    """A token a platform wants: the key in its section, the variable it is kept in, where to find it."""

    key: str
    variable: str
    told: str


@dataclass(frozen=True, slots=True)
class PlatformSetup:
    """The questions about a platform. `steps`: how to make a bot; `account`: the owner's own id there, in
    words, and `account_form`, a pattern."""

    name: str
    secrets: tuple[SecretWanted, ...]
    steps: str
    account: str
    account_form: str


PLATFORMS: Mapping[str, PlatformSetup] = {
    setup.name: setup
    for setup in (
        PlatformSetup(
            "telegram",
            (SecretWanted("token", "TELEGRAM_TOKEN", "the bot's token, from @BotFather"),),
            "Open https://t.me/BotFather and send /newbot. It replies with the token.",
            "your numeric user ID (@userinfobot tells it)",
            r"[0-9]{1,20}",
        ),
        PlatformSetup(
            "slack",
            (
                SecretWanted(
                    "bot_token", "SLACK_BOT_TOKEN", "the bot token, xoxb-…, from the page Install App"
                ),
                SecretWanted(
                    "app_token", "SLACK_APP_TOKEN", "the app-level token, xapp-…, from Basic Information"
                ),
            ),
            "Open https://api.slack.com/apps?new_app=1, then From a manifest: the one of docs/slack.md.",
            "your member ID, such as U024BE7LH (your profile, ⋮, Copy member ID)",
            r"[UW][A-Z0-9]{2,20}",
        ),
        PlatformSetup(
            "discord",
            (SecretWanted("token", "DISCORD_TOKEN", "the bot's token, from Bot, Reset Token"),),
            "Open https://discord.com/developers/applications?new_application=true; steps: docs/discord.md.",
            "your numeric user ID (Developer Mode, right-click your name, Copy User ID)",
            r"[0-9]{5,20}",
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
    """The model; the built-in one needs nothing else. `provider`: a name of the catalog."""

    provider: str
    model: str = ""
    base_url: str = ""
    api_key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Answers:
    """Everything that was asked; `model` is None where another one stays."""

    channels: Sequence[ChannelAnswer]
    model: ModelAnswer | None


Changes = dict[KeyPath, Value | None]


def configuration(answers: Answers) -> str:
    """Return the text of a new hubbub.toml, which contains no secrets."""
    return edited(HEADING, changes(answers, ()))


def changes(answers: Answers, identities: Sequence[str]) -> Changes:
    """Return the values that differ. `identities`: those of the owner in the file."""
    found: Changes = {}
    accounts = [f"{one.platform.name}:{one.account}" for one in answers.channels if one.account]
    if accounts:
        named = {one.partition(":")[0] for one in accounts}
        others = [one for one in identities if one.partition(":")[0] not in named]
        found["hub", "owner_identities"] = [*others, *accounts]
    if answers.model is not None:
        found |= _model(answers.model)
    for channel in answers.channels:
        section = ("channels", channel.platform.name)
        for secret in channel.platform.secrets:
            if channel.secrets.get(secret.variable):
                found[*section, secret.key] = f"env:{secret.variable}"
        if channel.api_base_url:
            found[*section, "api_base_url"] = channel.api_base_url
    return found


def variables(answers: Answers) -> Mapping[str, str]:
    """Return the content of the environment file."""
    found = {name: value for one in answers.channels for name, value in one.secrets.items() if value}
    if answers.model is None or not answers.model.api_key:
        return found
    return found | {PROVIDERS[answers.model.provider].key_variable: answers.model.api_key}


def _model(answer: ModelAnswer) -> Changes:
    first = ("models", 0)
    if answer.provider == DEMO:
        values: Mapping[str, Value | None] = {"name": DEMO, "provider": DEMO}
    else:
        setup = PROVIDERS[answer.provider]
        usual = answer.base_url == PROVIDER_URLS[setup.api]
        values = {
            "name": "main",
            "provider": setup.api,
            "model": answer.model,
            "base_url": None if usual else answer.base_url,
            "api_key": f"env:{setup.key_variable}" if answer.api_key else None,
        }
    gone = dict.fromkeys({"model", "base_url", "api_key", "api_keys"} - set(values))
    return {(*first, key): value for key, value in {**values, **gone}.items()}


def service_unit(command: str, directory: str, config: str) -> str:
    """Return a systemd unit for the hub of one user. All paths are absolute."""
    started, place = _quoted(command), directory.replace("%", "%%")
    return f"""\
[Unit]
Description=hubbub

[Service]
WorkingDirectory={place}
ExecStart={started} run --config {_quoted(config)}
ExecReload={started} config reload --config {_quoted(config)}
Restart=always
RestartSec=5
RestartPreventExitStatus=2
KillMode=mixed
UMask=0077
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""


def _quoted(word: str) -> str:
    """Return a word of a systemd command line."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if set(escaped) & set(" \t'\"\\") else escaped
