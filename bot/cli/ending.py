"""How commands end: exit codes, and one sentence instead of a trace for what can go wrong."""

from collections.abc import Callable

import typer

from bot.errors import ConfigError, StartError
from core.errors import StoreError

OK, FAILED, USAGE = 0, 1, 2


class CommandFailed(Exception):
    """The command could not do what it was asked to; the message says what to do. `code`: see the package."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def ended(command: Callable[[], None]) -> int:
    """Run a command; its exit code."""
    try:
        command()
    except ConfigError as error:
        typer.echo(str(error), err=True)
        return USAGE
    except CommandFailed as error:
        typer.echo(str(error), err=True)
        return error.code
    except (StoreError, StartError) as error:
        typer.echo(f"hubbub: {error}", err=True)
        return FAILED
    return OK
