"""RE2 by the few calls the hub makes of it, with types: its Python package has none.

Everything here takes time in proportion to the text, whatever the pattern.
"""

from functools import cache
from typing import Any, Protocol, cast

MAX_MEMORY_BYTES = 1 << 20
"""Of one compiled pattern; a pattern that needs more is not taken."""


class TooLarge(ValueError):
    """A pattern needs more memory than it may have."""


class Match(Protocol):
    """What was found."""

    def span(self, group: int, /) -> tuple[int, int]:
        """Where a group begins and ends, in bytes; (-1, -1) where it took no part."""
        ...


class Compiled(Protocol):
    """One pattern."""

    def search(self, text: bytes, pos: int = 0, /) -> Match | None:
        """The first match in a text, as UTF-8, from byte `pos` on; what stands before is looked back to."""
        ...


def compiled(pattern: str) -> Compiled:
    """Raises TooLarge."""
    re2 = _re2()
    try:
        return cast("Compiled", re2.compile(pattern.encode(), _options()))
    except re2.error as error:
        raise TooLarge(str(error)) from None


@cache
def byte_pattern(pattern: str) -> Compiled:
    """Return a pattern of the hub's own for bytes in which each byte is one character; compiled once."""
    options = _options()
    options.encoding = _re2().Options.Encoding.LATIN1
    return cast("Compiled", _re2().compile(pattern.encode("ascii"), options))


def as_bytes(text: str) -> bytes:
    """Return the text with one byte for each character: `?` stands for all that are not ASCII."""
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
