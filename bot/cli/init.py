"""`hubbub init`: asks, tries what was answered, writes hubbub.toml and hubbub.env, and says what is next."""

import asyncio
import getpass
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from bot.cli.ending import FAILED, USAGE, CommandFailed
from bot.cli.printing import printable
from bot.config import environment_file, process_environment
from bot.environment_file import with_file, written
from bot.errors import ConfigError
from bot.findings import Finding, Health
from bot.keys import write_for_its_user
from bot.places import FILE_NAME
from bot.setup import (
    MODEL_KEY_VARIABLE,
    OPENAI_URL,
    PLATFORMS,
    SUGGESTED_MODEL,
    Answers,
    ChannelAnswer,
    ModelAnswer,
    PlatformSetup,
    configuration,
    variables,
)

MARKS = {Health.FINE: "ok", Health.WARNING: "note", Health.BROKEN: "NOT OK"}


@dataclass(frozen=True, slots=True)
class Given:
    """What the command line says; None is asked about where somebody can be asked."""

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
        raise CommandFailed("there is no terminal to ask at; add --no-input, see --help", USAGE)
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
        """All of them. Raises CommandFailed for what is missing and cannot be asked."""
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
                raise CommandFailed(f"{printable(name)} is no platform; use {known} or none", USAGE)
        return wanted

    def _channel(self, platform: PlatformSetup) -> ChannelAnswer:
        secrets = {one.variable: self._secret(one.variable, one.told) for one in platform.secrets}
        prefix = f"{platform.name}:"
        accounts = [one.removeprefix(prefix) for one in self._given.owner if one.startswith(prefix)]
        if accounts:
            account = accounts[0]
        elif self._given.ask:
            account = self._asked(f"{platform.name}: {platform.account} (empty: let yourself in later)", "")
        else:
            account = ""
        return ChannelAnswer(platform, secrets, account, self._given.api_base_url or "")

    def _model(self) -> ModelAnswer:
        provider = self._given.provider or self._asked("Model provider (openai, or demo)", "openai")
        if provider == "demo":
            return ModelAnswer("demo")
        if provider != "openai":
            raise CommandFailed(f"{printable(provider)} is no provider; use openai or demo", USAGE)
        model = self._given.model or self._asked("The model's name there", SUGGESTED_MODEL)
        base_url = self._given.base_url or self._asked("Its address", OPENAI_URL)
        key = self._secret(MODEL_KEY_VARIABLE, "the provider's key", needed=base_url == OPENAI_URL)
        return ModelAnswer(provider, model, base_url.rstrip("/"), key)

    def _secret(self, variable: str, told: str, *, needed: bool = True) -> str:
        if value := self._environ.get(variable, "").strip():
            typer.echo(f"{variable} is set: it is used.")
            return value
        if not self._given.ask:
            if needed:
                raise CommandFailed(f"{variable} is not set; set it to {told}", USAGE)
            return ""
        empty = "" if needed else "; empty: none"
        value = getpass.getpass(f"{variable}, {told} (not shown{empty}): ").strip()
        if needed and not value:
            raise CommandFailed(f"without {told} it cannot go on; nothing was written", USAGE)
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
        raise CommandFailed(f"{names} would be replaced; add --force to agree", USAGE)
    if not typer.confirm(f"{names} will be replaced. Go on?", default=False):
        raise CommandFailed("nothing was changed", FAILED)


def _try(answers: Answers, environ: Mapping[str, str], given: Given) -> None:
    """Judge what was answered, and try it live. Raises CommandFailed if it cannot work."""
    from bot.setup_check import judged, tried

    try:
        config = judged(answers, environ)
    except ConfigError as error:
        raise CommandFailed(f"{error}\nnothing was written", USAGE) from error
    if not given.check:
        return
    typer.echo("Trying it ...")
    findings = asyncio.run(tried(config))
    for finding in findings:
        typer.echo(_told(finding))
    if any(finding.health is Health.BROKEN for finding in findings) and not (
        given.ask and typer.confirm("Write the files all the same?", default=False)
    ):
        raise CommandFailed("nothing was written; correct it, or go without trying: --no-check")


def _told(finding: Finding) -> str:
    fix = f" -> {finding.fix}" if finding.fix else ""
    return printable(f"  {finding.what}: {MARKS[finding.health]}, {finding.message}{fix}")


def _write(target: Path, beside: Path, answers: Answers) -> None:
    """The environment file first, so that no configuration is there without it; what it says of other things
    stays."""
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
        raise CommandFailed(f"{target} cannot be written: {why}; name another place with --config") from error


def _next(target: Path, beside: Path, answers: Answers) -> str:
    option = "" if target == Path(FILE_NAME) else f" --config {target}"
    lines = [f"{target} is written" + (f", and {beside} with what is secret." if variables(answers) else ".")]
    lines += ["Next:", f"  hubbub run{option}"]
    for channel in answers.channels:
        name = channel.platform.name
        lines.append(f"  then write to the bot on {name}")
        if not channel.account:
            lines.append("  and let yourself in with the code it answers:")
            lines.append(f"  hubbub pair approve{option} CODE --as owner")
    if not answers.channels:
        lines.append("  then open the link it prints, or talk to it here: hubbub chat")
    return "\n".join(lines)


__all__ = ["Given", "init"]
