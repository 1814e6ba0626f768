"""Patterns that match in time proportional to the text, however they are written: by RE2, which is loaded
with the first one.
"""

from functools import cache
from typing import Any, Protocol, cast

MAX_MEMORY_BYTES = 1 << 20
"""Maximum memory of one compiled pattern; a pattern that needs more is rejected."""


class TooLarge(ValueError):
    """A pattern that needs more memory than it may use."""


class Match(Protocol):
    """A match in a text."""

    def span(self, group: int, /) -> tuple[int, int]:
        """Return the start and end of a group, in bytes; (-1, -1) if it took no part."""
        ...


class Compiled(Protocol):
    """One compiled pattern."""

    def search(self, text: bytes, pos: int = 0, /) -> Match | None:
        """Return the first match in a text, as UTF-8, from byte `pos` on. Assertions can look back before
        `pos`."""
        ...


def compiled(pattern: str) -> Compiled:
    """Compile a pattern. Raises TooLarge."""
    re2 = _re2()
    try:
        return cast("Compiled", re2.compile(pattern.encode(), _options()))
    except re2.error as error:
        raise TooLarge(str(error)) from None


@cache
def byte_pattern(pattern: str) -> Compiled:
    """Return one of the hub's own patterns, for bytes in which each byte is one character; compiled
    once."""
    options = _options()
    options.encoding = _re2().Options.Encoding.LATIN1
    return cast("Compiled", _re2().compile(pattern.encode("ascii"), options))


def as_bytes(text: str) -> bytes:
    """Return the text with one byte for each character: `?` replaces all that are not ASCII."""
    return text.encode("ascii", "replace")


@cache
def _re2() -> Any:
    import re2  # pyright: ignore[reportMissingTypeStubs]

    return cast("Any", re2)


def _options() -> Any:
    options = _re2().Options()
    options.log_errors = False
    options.max_mem = MAX_MEMORY_BYTES
    return options
