"""Exit codes of commands, and one sentence instead of a trace for expected failures."""

import sys
from collections.abc import Callable

from bot.runtime import ConfigError, StartError, with_advice
from core.errors import StoreError

OK, FAILED, USAGE = 0, 1, 2


def complain(text: str) -> None:
    """Print a line for the person who started the command."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


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
        complain(str(error))
        return USAGE
    except CommandFailed as error:
        complain(str(error))
        return error.code
    except StartError as error:
        complain(f"hubbub: {error}")
        return FAILED
    except StoreError as error:
        complain(f"hubbub: {with_advice(error)}")
        return FAILED
    except OSError as error:
        if error.filename is None:  # nothing about a file, such as a reader of the output that has gone
            raise
        complain(f"hubbub: {_unusable(error)}")
        return FAILED
    return OK


def _unusable(error: OSError) -> str:
    said = f"can't use {error.filename}: {error.strerror or type(error).__name__}"
    return f"{said}; run this as the hub's user" if isinstance(error, PermissionError) else said
