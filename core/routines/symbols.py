"""A message in the few symbols that one pattern tells apart.

ASCII stands for itself. Every other character is told by its kind (see `of_kind`) and by which of the ranges
that the pattern names it lies in: characters alike in both are one symbol. The symbols lie where no message
has characters that mean anything, and no character of a message is ever left as it is there.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from core.routines.characters import (
    ASCII_END,
    LAST,
    Characters,
    Range,
    Ranges,
    ascii_codes,
    merged,
    of_kind,
    takes,
)

EDGE = "\U000f0000"
"""Stands between characters where a word begins or ends, as often as `\\b` may ask there."""
_FIRST = 0xF0001
_KINDS = "dws-"


@dataclass(frozen=True, slots=True)
class Alphabet:
    """The symbols of a pattern. `cuts`: where its ranges begin, and where they are over, beyond ASCII."""

    cuts: tuple[int, ...]

    @classmethod
    def of(cls, ranges: Iterable[Range]) -> "Alphabet":
        """What tells apart the characters of these ranges."""
        cuts = {cut for low, high in ranges for cut in (low, high + 1)}
        return cls(tuple(sorted(cut for cut in cuts if ASCII_END < cut <= LAST)))

    def symbol(self, code: int) -> int:
        """The symbol of a character beyond ASCII."""
        kind = _KINDS.index(of_kind(chr(code)))
        return _FIRST + kind * (len(self.cuts) + 1) + bisect_right(self.cuts, code)

    def codes(self, characters: Characters) -> Ranges:
        """The set in symbols."""
        found = list(ascii_codes(characters))
        spans = len(self.cuts) + 1
        for kind_number, kind in enumerate(_KINDS):
            by_kind = takes(characters.kinds, kind)
            for span in range(spans):
                begin = self.cuts[span - 1] if span else ASCII_END
                named = any(low <= begin <= high for low, high in characters.ranges)
                if (named or by_kind) != characters.negated:
                    symbol = _FIRST + kind_number * spans + span
                    found.append((symbol, symbol))
        return merged(found)


class SymbolTable(dict[int, int]):
    """For `str.translate`; grows by what messages bring."""

    def __init__(self, alphabet: Alphabet) -> None:
        super().__init__()
        self._alphabet = alphabet

    def __missing__(self, code: int) -> int:
        symbol = code if code < ASCII_END else self._alphabet.symbol(code)
        if len(self) < _MAX_HELD:
            self[code] = symbol
        return symbol


_MAX_HELD = 4096


@lru_cache(maxsize=64)
def table(alphabet: Alphabet) -> SymbolTable:
    """The alphabet's table."""
    return SymbolTable(alphabet)
