r"""Sets of characters as patterns name them, judged by the tables of the Python that runs the hub.

A set is the meaning of a literal, a dot, a class or an escape such as `\w`. Ranges are pairs of
code points, both ends included, sorted, without overlap. Case is ignored as Python's own
patterns ignore it: characters are the same if they share a lower-case form, or if their
lower-case forms share an upper-case form (ſ and s; ı, İ and i).
"""

from collections.abc import Iterable
from functools import lru_cache

from core.lazy_dataclass import dataclass

Range = tuple[int, int]
Ranges = tuple[Range, ...]

LAST = 0x10FFFF
ASCII_END = 0x80
NOT_NEWLINE: Ranges = ((0, 9), (11, LAST))
EVERYTHING: Ranges = ((0, LAST),)

_CASED: Ranges = (
    (0x41, 0x587),
    (0x10A0, 0x10FF),
    (0x13A0, 0x13FF),
    (0x1C80, 0x1CBF),
    (0x1D79, 0x1D8E),
    (0x1E00, 0x1FFF),
    (0x2126, 0x2188),
    (0x24B6, 0x24E9),
    (0x2C00, 0x2D2D),
    (0xA640, 0xA7FF),
    (0xAB53, 0xABBF),
    (0xFB05, 0xFB06),
    (0xFF21, 0xFF5A),
    (0x10400, 0x10CFF),
    (0x10D50, 0x10D85),
    (0x118A0, 0x118DF),
    (0x16E40, 0x16EDF),
    (0x1E900, 0x1E943),
)
"""Ranges that contain all characters with another case."""


@dataclass(frozen=True, slots=True)
class Characters:
    r"""The characters one place of a pattern accepts: ranges and kinds (letters of `\d \D \w \W \s \S`), or,
    negated,
    all others."""

    ranges: Ranges
    kinds: frozenset[str] = frozenset()
    negated: bool = False


def of_kind(character: str) -> str:
    """Return `d`, `w` (not a digit), `s` or `-`: the escapes that accept the character."""
    if character.isdecimal():
        return "d"
    if character.isalnum() or character == "_":
        return "w"
    return "s" if character.isspace() else "-"


_TAKEN = {"d": "d", "w": "dw", "s": "s"}
_ASCII_KINDS = "".join(of_kind(chr(code)) for code in range(ASCII_END))


def takes(kinds: frozenset[str], kind: str) -> bool:
    r"""Return whether escapes such as `\w` and `\S` accept characters of that kind."""
    return any((kind in _TAKEN[letter.lower()]) != letter.isupper() for letter in kinds)


@lru_cache(maxsize=256)
def ascii_codes(characters: Characters) -> Ranges:
    """Return the ASCII part of the set."""
    found: list[Range] = []
    taken = {kind: takes(characters.kinds, kind) for kind in "dws-"}
    for code, kind in enumerate(_ASCII_KINDS):
        named = taken[kind] or any(low <= code <= high for low, high in characters.ranges)
        if named != characters.negated:
            found.append((code, code))
    return merged(found)


def merged(ranges: Iterable[Range]) -> Ranges:
    """Return the same characters as sorted ranges that do not touch."""
    whole: list[Range] = []
    for low, high in sorted(ranges):
        if whole and low <= whole[-1][1] + 1:
            whole[-1] = (whole[-1][0], max(high, whole[-1][1]))
        else:
            whole.append((low, high))
    return tuple(whole)


def complement(ranges: Ranges) -> Ranges:
    """Return all other characters."""
    gaps: list[Range] = []
    begin = 0
    for low, high in ranges:
        if begin < low:
            gaps.append((begin, low - 1))
        begin = high + 1
    if begin <= LAST:
        gaps.append((begin, LAST))
    return tuple(gaps)


def without_case(ranges: Ranges) -> Ranges:
    """Return the ranges with all characters that differ from theirs by case alone."""
    by_key = _by_key()
    added: list[Range] = []
    for low, high in ranges:
        for cased_low, cased_high in _CASED:
            for code in range(max(low, cased_low), min(high, cased_high) + 1):
                added += ((same, same) for same in by_key.get(_key(chr(code)), ()))
    return merged((*ranges, *added))


def _key(character: str) -> str:
    return character.lower()[0].upper()


@lru_cache(maxsize=1)
def _by_key() -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {}
    for low, high in _CASED:
        for code in range(low, high + 1):
            found.setdefault(_key(chr(code)), []).append(code)
    return {key: tuple(codes) for key, codes in found.items() if len(codes) > 1}
