"""Errors of the program itself."""

import contextlib
import errno
from collections.abc import Iterable, Iterator

from core.errors import HubError, StoreError

FULL = (errno.ENOSPC, errno.EDQUOT)


class ConfigError(HubError):
    """The configuration cannot be used; `problems` are whole lines, fit to be shown as they are."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class StartError(Exception):
    """The hub cannot start; the message says what is wrong and what to do."""


class DeskRefused(HubError):
    """Nothing was changed. `code` is for programs: `not_found`, `refused`, `unavailable`, `invalid` (of
    another form than it may be) or `unusable` (a value that means nothing here); `field`: the part of what
    was asked that it is about."""

    def __init__(self, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.field = field


def with_advice(error: StoreError) -> str:
    """What the store says, and what to do about its file where it does not say that itself."""
    from core.store.sqlite.connection import what_to_do

    advice = what_to_do(error.__cause__)
    return str(error) if advice in str(error) else f"{error}{advice}"


@contextlib.contextmanager
def needed_to_start(what: object, advice: str) -> Iterator[None]:
    """An OSError inside means that `what`, a file or directory, cannot be used: raises StartError.

    `advice` is for files that are not ours to use; a full disk has its own.
    """
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            advice = "make room on its disk"
        raise StartError(f"{what} cannot be used: {error.strerror or error}; {advice}") from error
