"""Programs no list knows: what among their words looks like a command is rated as if they ran it."""

import re
from collections.abc import Iterator, Sequence

from core.safety.shell.names import (
    BLOCKED,
    DATABASES,
    FETCHERS,
    HIGH,
    INTERPRETERS,
    KEYWORDS,
    READ_ONLY,
    SHELLS,
)
from core.safety.shell.options import RULES
from core.safety.shell.patterns import program_of
from core.safety.shell.programs import CHECKS
from core.safety.shell.runners import FINDERS, WRAPPERS
from core.safety.shell.words import Word

_MOST = 5
"""So many are looked at, so that the time stays in proportion to the words."""
_ALSO_WORDS = frozenset(
    {"init", "at", "batch", "mount", "bind", "hash", "alias", "enable", "ed", "ex", "trash", "ip", "complete"}
    | {"date", "service", "split", "sort", "man", "screen", "history", "defaults", "expect", "make", "view"}
    | {"install", "find", "host", "fetch", "http", "source", "more", "less", ".", "salt", "mail"}
)
"""Programs whose names are as often something else."""
_COMMANDS = (
    frozenset(
        {*HIGH, *BLOCKED, *SHELLS, *RULES, *CHECKS, *INTERPRETERS, *DATABASES, *FETCHERS, "env", "xargs"}
    )
    - _ALSO_WORDS
)
_KNOWN = frozenset(
    {*READ_ONLY, *HIGH, *BLOCKED, *SHELLS, *RULES, *CHECKS, *INTERPRETERS, *DATABASES, *FETCHERS}
)
_MATTER = frozenset({*_KNOWN, *WRAPPERS, *KEYWORDS, *FINDERS, "trap"}) - (
    READ_ONLY - {*RULES, *CHECKS, *FINDERS}
)
_SPOKEN = re.compile(r"(?:--?[\w-]+=)?(?P<line>(?:\S*/)?(?P<program>[\w.-]+)\s+[-/~.*$].*)", re.DOTALL)


def is_known(program: str) -> bool:
    """Whether some list or rule says what the program does."""
    return program in _KNOWN


def may_matter(word: Word) -> bool:
    """Whether a command that begins with this word may be worse than the word by itself tells."""
    if not word.plain:
        return True
    program = program_of(word) or ""
    return program in _MATTER or program.startswith("mkfs")


def suspects(words: Sequence[Word]) -> tuple[tuple[tuple[Word, ...], ...], tuple[Word, ...]]:
    """The commands, and the texts of commands, that an unknown program may run: `new-sandbox rm -rf x`."""
    starts = [at for at, word in enumerate(words[:-1]) if _base(word.text) in _COMMANDS][:_MOST]
    return tuple(tuple(words[at:]) for at in starts), tuple(_texts(words))[:_MOST]


def _texts(words: Sequence[Word]) -> Iterator[Word]:
    for word in words:
        spoken = _SPOKEN.fullmatch(word.text)
        if spoken is not None and spoken["program"] in _COMMANDS:
            yield Word(spoken["line"], known=word.known)


def _base(text: str) -> str:
    return text.rpartition("/")[2]
