"""The `hubbub init` command: asks, tries the answers, writes hubbub.toml and hubbub.env, and names the
next steps."""

import asyncio
import getpass
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import typer

from bot.cli.exit_codes import FAILED, USAGE, CommandFailed
from bot.cli.output import printable
from bot.config.document import with_file, written
from bot.config.keys import write_for_its_user
from bot.config.load import environment_file, load, process_environment
from bot.config.schema import PROVIDER_URLS, Config, secret_values
from bot.config.types import FILE_NAME
from bot.models.builder import open_models
from bot.ops.logs import Redactor
from bot.ops.model_trial import try_each, try_text
from bot.ops.probes import Finding, Health, broken, channel_findings, fine
from bot.runtime import Certificates, ConfigError
from core.clock import SystemClock
from core.ids import RandomIds
from core.runs.metering import Metering, NoLedger

# What `hubbub init` needs to know, and the files that follow from it.


@dataclass(frozen=True, slots=True)
class ProviderSetup:
    """A model provider's API: the variable of its key, the suggested model."""

    key_variable: str
    model: str


PROVIDERS: Mapping[str, ProviderSetup] = {
    "openai": ProviderSetup("OPENAI_API_KEY", "gpt-5-mini"),
    "anthropic": ProviderSetup("ANTHROPIC_API_KEY", "claude-sonnet-5-5"),
}


@dataclass(frozen=True, slots=True)
class SecretWanted:
    """A token a platform wants: the key in its section, the variable it is kept in, where to find it."""

    key: str
    variable: str
    told: str


@dataclass(frozen=True, slots=True)
class PlatformSetup:
    """The questions about a platform. `account`: how people find their own id on it."""

    name: str
    secrets: tuple[SecretWanted, ...]
    account: str


PLATFORMS: Mapping[str, PlatformSetup] = {
    setup.name: setup
    for setup in (
        PlatformSetup(
            "telegram",
            (SecretWanted("token", "TELEGRAM_TOKEN", "the bot's token, from @BotFather"),),
            "your numeric user ID",
        ),
        PlatformSetup(
            "slack",
            (
                SecretWanted("bot_token", "SLACK_BOT_TOKEN", "the bot token, xoxb-…, see docs/slack.md"),
                SecretWanted("app_token", "SLACK_APP_TOKEN", "the app-level token, xapp-…"),
            ),
            "your member ID, such as U024BE7LH",
        ),
        PlatformSetup(
            "discord",
            (SecretWanted("token", "DISCORD_TOKEN", "the bot's token, see docs/discord.md"),),
            "your numeric user ID",
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
    base_url: str = ""
    api_key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Answers:
    """Everything that was asked."""

    channels: Sequence[ChannelAnswer]
    model: ModelAnswer


def configuration(answers: Answers) -> str:
    """Return the text of hubbub.toml, which contains no secrets."""
    lines = ["# Created by `hubbub init`. All options are in config.example.toml.", ""]
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
    """Return the content of the environment file."""
    found = {name: value for one in answers.channels for name, value in one.secrets.items() if value}
    key = answers.model.api_key
    return found | ({PROVIDERS[answers.model.provider].key_variable: key} if key else {})


def _model(answer: ModelAnswer) -> list[str]:
    if answer.provider == "demo":
        return ["[[models]]", 'name = "demo"', 'provider = "demo"']
    lines = ["[[models]]", 'name = "main"', f"provider = {_text(answer.provider)}"]
    lines.append(f"model = {_text(answer.model)}")
    if answer.base_url != PROVIDER_URLS[answer.provider]:
        lines.append(f"base_url = {_text(answer.base_url)}")
    if answer.api_key:
        lines.append(f'api_key = "env:{PROVIDERS[answer.provider].key_variable}"')
    return lines


def _text(value: str) -> str:
    """Return a TOML string. JSON's escapes are valid in TOML except for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


MARKS = {Health.FINE: "ok", Health.WARNING: "note", Health.BROKEN: "NOT OK"}


@dataclass(frozen=True, slots=True)
class Given:
    """Values of the command line; None is asked for where a person can answer."""

    platforms: tuple[str, ...] | None
    owner: tuple[str, ...]
    provider: str | None
    model: str | None
    base_url: str | None
    api_base_url: str | None
    ask: bool
    check: bool
    force: bool


def init(path: Path | None, given: Given) -> None:
    """Make the two files. Raises CommandFailed, and then nothing was written."""
    target = path or Path(FILE_NAME)
    beside = environment_file(target)
    if given.ask and not sys.stdin.isatty():
        raise CommandFailed("this needs a terminal; add --no-input, see --help", USAGE)
    _agreed_to_replace([file for file in (target, beside) if file.exists()], given)
    environ = process_environment()
    dialogue = Dialogue(given, environ)
    answers = dialogue.answers()
    _try(answers, environ, given)
    _write(target, beside, answers)
    typer.echo(_next(target, beside, answers))


class Dialogue:
    """Gets the answers: from the command line, the environment, and by asking."""

    def __init__(self, given: Given, environ: Mapping[str, str]) -> None:
        self._given = given
        self._environ = environ

    def answers(self) -> Answers:
        """Return all answers. Raises CommandFailed for a missing one that cannot be asked for."""
        channels = [self._channel(PLATFORMS[name]) for name in self._platforms()]
        return Answers(channels, self._model())

    def _platforms(self) -> Sequence[str]:
        known = ", ".join(PLATFORMS)
        names = self._given.platforms
        if names is None:
            said = self._asked(f"Platforms, separated by commas ({known}, or none)", "telegram")
            names = tuple(word.strip().lower() for word in said.split(",") if word.strip())
        wanted = tuple(name for name in dict.fromkeys(names) if name != "none")
        for name in wanted:
            if name not in PLATFORMS:
                raise CommandFailed(f"{printable(name)} is not a platform; use {known} or none", USAGE)
        return wanted

    def _channel(self, platform: PlatformSetup) -> ChannelAnswer:
        secrets = {one.variable: self._secret(one.variable, one.told) for one in platform.secrets}
        prefix = f"{platform.name}:"
        accounts = [one.removeprefix(prefix) for one in self._given.owner if one.startswith(prefix)]
        if accounts:
            account = accounts[0]
        elif self._given.ask:
            account = self._asked(f"{platform.name}: {platform.account} (leave empty to pair later)", "")
        else:
            account = ""
        return ChannelAnswer(platform, secrets, account, self._given.api_base_url or "")

    def _model(self) -> ModelAnswer:
        names = f"{', '.join(PROVIDERS)} or demo"
        provider = self._given.provider or self._asked(f"Model provider ({names})", "openai")
        if provider == "demo":
            return ModelAnswer("demo")
        if provider not in PROVIDERS:
            raise CommandFailed(f"{printable(provider)} is not a provider; use {names}", USAGE)
        setup, usual_url = PROVIDERS[provider], PROVIDER_URLS[provider]
        model = self._given.model or self._asked("Model name", setup.model)
        base_url = self._given.base_url or self._asked("API base URL", usual_url)
        key = self._secret(setup.key_variable, "the provider's API key", needed=base_url == usual_url)
        return ModelAnswer(provider, model, base_url.rstrip("/"), key)

    def _secret(self, variable: str, told: str, *, needed: bool = True) -> str:
        if value := self._environ.get(variable, "").strip():
            typer.echo(f"Using {variable} from the environment.")
            return value
        if not self._given.ask:
            if needed:
                raise CommandFailed(f"{variable} is not set; set it to {told}", USAGE)
            return ""
        empty = "" if needed else "; leave empty for none"
        value = getpass.getpass(f"{variable}, {told} (not shown{empty}): ").strip()
        if needed and not value:
            raise CommandFailed(f"{told} is required; nothing was written", USAGE)
        return value

    def _asked(self, question: str, suggested: str) -> str:
        if not self._given.ask:
            return suggested
        return str(typer.prompt(question, default=suggested, show_default=bool(suggested))).strip()


def _agreed_to_replace(files: Sequence[Path], given: Given) -> None:
    if not files or given.force:
        return
    names = " and ".join(str(file) for file in files)
    if not given.ask:
        raise CommandFailed(f"{names} would be replaced; add --force to allow it", USAGE)
    if not typer.confirm(f"{names} will be replaced. Continue?", default=False):
        raise CommandFailed("nothing was changed", FAILED)


def _try(answers: Answers, environ: Mapping[str, str], given: Given) -> None:
    """Validate the answers, and try them live. Raises CommandFailed if they cannot work."""

    try:
        config = judged(answers, environ)
    except ConfigError as error:
        raise CommandFailed(f"{error}\nnothing was written", USAGE) from error
    if not given.check:
        return
    typer.echo("Testing the configuration ...")
    findings = asyncio.run(tried(config))
    for finding in findings:
        typer.echo(_told(finding))
    if any(finding.health is Health.BROKEN for finding in findings) and not (
        given.ask and typer.confirm("Write the files anyway?", default=False)
    ):
        raise CommandFailed("nothing was written; fix the problem, or skip the test with --no-check")


def _told(finding: Finding) -> str:
    fix = f" -> {finding.fix}" if finding.fix else ""
    return printable(f"  {finding.what}: {MARKS[finding.health]}, {finding.message}{fix}")


def _write(target: Path, beside: Path, answers: Answers) -> None:
    """Write the environment file, then the configuration, so that no configuration exists without it.
    Other variables in the environment file are kept."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        kept = {**with_file({}, beside, Path.cwd()), **variables(answers)}
        if kept:
            write_for_its_user(beside.absolute(), written(kept))
        unfinished = target.with_suffix(".new")
        unfinished.write_text(configuration(answers))
        unfinished.rename(target)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise CommandFailed(f"can't write {target}: {why}; choose another path with --config") from error


def _next(target: Path, beside: Path, answers: Answers) -> str:
    option = "" if target == Path(FILE_NAME) else f" --config {target}"
    lines = [f"Wrote {target}" + (f", and {beside} with the secrets." if variables(answers) else ".")]
    lines += ["Next:", f"  hubbub run{option}"]
    for channel in answers.channels:
        name = channel.platform.name
        lines.append(f"  then send the bot a message on {name}")
        if not channel.account:
            lines.append("  and pair yourself with the code in its reply:")
            lines.append(f"  hubbub pair approve{option} CODE --as owner")
    if not answers.channels:
        lines.append("  then open the link it prints, or chat here: hubbub chat")
    return "\n".join(lines)


__all__ = ["Given", "init"]


# Tries what was answered before it is written: every token on its platform, the model by one short call.


def judged(answers: Answers, environ: Mapping[str, str]) -> Config:
    """Return the resulting configuration. Raises ConfigError in the words of `hubbub config check`."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "hubbub.toml").write_text(configuration(answers))
        relevant = {name: value for name, value in environ.items() if not name.startswith("HUBBUB_")}
        return load(environ={**relevant, **variables(answers)}, cwd=Path(place)).config


async def tried(config: Config) -> Sequence[Finding]:
    """Return the results of trying platforms and model, the broken first, without secrets."""
    redact = Redactor(secret_values(config))
    found = [*await channel_findings(config), *await _models(config)]
    said = [Finding(one.what, one.health, redact(one.message), redact(one.fix)) for one in found]
    return sorted(said, key=lambda one: one.health is not Health.BROKEN)


async def _models(config: Config) -> Sequence[Finding]:
    clock = SystemClock()
    findings: list[Finding] = []
    metering = Metering(NoLedger(), clock, RandomIds())  # there is no database yet
    async with open_models(config, clock, Certificates(), metering) as models:
        for trial in await try_each(models, config.hub.owner, "", try_text):
            what = f"model {trial.name}"
            if trial.problem is None:
                findings.append(fine(what, f"replied in {trial.total_s:.1f} s: {trial.answer[:40]}"))
            else:
                problem = trial.problem.removeprefix(f"{what}: ")
                findings.append(broken(what, problem, "check the API key, the model's name and base_url"))
    return findings
