"""RE2 by the few calls the hub makes of it, with types: its Python package has none.

Everything here takes time in proportion to the text, whatever the pattern.
"""

from typing import Any, Protocol, cast

import re2  # pyright: ignore[reportMissingTypeStubs]

_re2 = cast("Any", re2)

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

    def search(self, text: bytes, /) -> Match | None:
        """The first match in a text, as UTF-8."""
        ...


def _options() -> Any:
    options = _re2.Options()
    options.log_errors = False
    options.max_mem = MAX_MEMORY_BYTES
    return options


def compiled(pattern: str) -> Compiled:
    """Raises TooLarge."""
    try:
        return cast("Compiled", _re2.compile(pattern.encode(), _options()))
    except _re2.error as error:
        raise TooLarge(str(error)) from None
