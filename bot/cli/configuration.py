"""`hubbub config check` and `hubbub config reload`."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import typer
from pydantic import BaseModel, SecretStr

from bot.cli.ending import FAILED, USAGE, CommandFailed
from bot.cli.printing import print_json, printable
from bot.cli.running import models_in_words
from bot.config import load
from bot.config_secrets import secret_values
from bot.errors import ConfigError, DeskRefused
from bot.logs import STRUCK_OUT, Redactor


def check(path: Path | None, *, as_json: bool) -> None:
    """Say whether the configuration is right; as JSON also what is in force, secrets struck out."""
    if not as_json:
        loaded = load(path)
        source = loaded.source or "embedded defaults"
        channels = ", ".join(loaded.config.channels) or "none"
        typer.echo(f"{source}: fine. Channels: {channels}. Models: {models_in_words(loaded)}.")
        return
    try:
        loaded = load(path)
    except ConfigError as error:
        print_json({"ok": False, "problems": list(error.problems)})
        raise CommandFailed(str(error), USAGE) from error
    redact = Redactor(secret_values(loaded.config))
    source = None if loaded.source is None else str(loaded.source)
    print_json({"ok": True, "source": source, "problems": [], "config": _shown(loaded.config, redact)})


def reload(path: Path | None, *, as_json: bool) -> None:
    """Have the running hub read the configuration again."""
    from bot.api_access import read_access
    from bot.cli.remote import RemoteHub

    access = read_access(load(path, secrets=False).config.hub.data_dir)
    if access is None:
        raise CommandFailed("no hub runs here; the next one reads what is written: hubbub run")
    try:
        done = asyncio.run(RemoteHub(access).reload())
    except DeskRefused as refused:
        raise CommandFailed(printable(str(refused))) from refused
    if as_json:
        print_json(done)
    else:
        for change in done.channels:
            typer.echo(printable(change.in_words()))
        if done.next_start:
            typer.echo(printable(f"from the next start: {', '.join(done.next_start)}"))
    if any(change.outcome == "refused" for change in done.channels):
        raise typer.Exit(FAILED)


def _shown(value: object, redact: Redactor) -> object:
    """A configured value as JSON has it; of a secret only whether it is set."""
    match value:
        case SecretStr():
            return STRUCK_OUT if value.get_secret_value() else ""
        case BaseModel():
            return {name: _shown(inner, redact) for name, inner in value}
        case Mapping():
            return {str(name): _shown(inner, redact) for name, inner in value.items()}
        case tuple():
            return [_shown(inner, redact) for inner in value]
        case str() | Path():
            return redact(str(value))
        case _:
            return value
