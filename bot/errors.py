"""Errors of the program itself."""

import contextlib
from collections.abc import Iterator


class StartError(Exception):
    """The hub cannot start; the message says what is wrong and what to do."""


@contextlib.contextmanager
def needed_to_start(what: object, advice: str) -> Iterator[None]:
    """An OSError inside means that `what`, a file or directory, cannot be used: raises StartError."""
    try:
        yield
    except OSError as error:
        raise StartError(f"{what} cannot be used: {error.strerror or error}; {advice}") from error
