"""`hubbub run` and `hubbub config check`."""

import asyncio
from pathlib import Path

import typer

from bot.config import ConfigError, Loaded, load
from bot.errors import StartError

OK, FAILED, USAGE = 0, 1, 2


def load_or_complain(path: Path | None) -> Loaded | None:
    """The configuration, or None after telling what is wrong with it."""
    try:
        return load(path)
    except ConfigError as error:
        typer.echo(str(error), err=True)
        return None


def check_config(path: Path | None) -> int:
    """Say whether the configuration is right."""
    loaded = load_or_complain(path)
    if loaded is None:
        return USAGE
    source = loaded.source or "embedded defaults"
    channels = ", ".join(loaded.config.channels) or "none"
    typer.echo(f"{source}: fine. Channels: {channels}. Models: {_models(loaded)}.")
    return OK


def _models(loaded: Loaded) -> str:
    return ", ".join(f"{model.name} ({model.provider})" for model in loaded.config.models)


def run_hub(path: Path | None) -> int:
    """Run until interrupted; the exit code."""
    loaded = load_or_complain(path)
    if loaded is None:
        return USAGE
    from bot.app import serve

    try:
        asyncio.run(serve(loaded))
    except StartError as error:
        typer.echo(f"hubbub: {error}", err=True)
        return FAILED
    return OK
