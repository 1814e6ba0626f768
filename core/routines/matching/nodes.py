r"""The syntax tree of a pattern, its sets of characters, and the reasons to refuse one.

A set is the meaning of a literal, a dot, a class or an escape such as `\w`, judged by the tables of the
Python that runs the hub. Ranges are pairs of code points, both ends included, sorted, without overlap. Case
is ignored as Python's own patterns ignore it: characters are the same if they share a lower-case form, or if
their lower-case forms share an upper-case form (ſ and s; ı, İ and i).
"""

from collections.abc import Iterable
from enum import Enum, auto
from functools import lru_cache

from core.lazy import dataclass

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


class PatternRefused(ValueError):
    """Error for an unusable pattern. `construct`: the part at fault; `position`: where it begins, in
    characters from 0."""

    def __init__(self, reason: str, construct: str, position: int) -> None:
        at = f" ({construct!r} at character {position + 1})" if construct else ""
        super().__init__(f"{reason}{at}")
        self.reason = reason
        self.construct = construct
        self.position = position


class Place(Enum):
    """A condition an assertion puts on its place."""

    TEXT_START = auto()
    LINE_START = auto()
    LAST_LINE_END = auto()
    """`$`: at the end, or before a newline at the end."""
    LINE_END = auto()
    TEXT_END = auto()
    WORD_EDGE = auto()


@dataclass(frozen=True, slots=True)
class One:
    """One character of a set."""

    characters: Characters


@dataclass(frozen=True, slots=True)
class At:
    """A place, without a character."""

    place: Place
    position: int


@dataclass(frozen=True, slots=True)
class Group:
    """Parentheses; `number` is None for a group that captures nothing."""

    number: int | None
    body: "Node"


@dataclass(frozen=True, slots=True)
class Either:
    """Alternatives; the first that leads to a match wins."""

    options: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """A sequence of nodes."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """Repetition, at least `least` times, at most `most` (None: no limit)."""

    body: "Node"
    least: int
    most: int | None
    lazy: bool
    position: int


Node = One | At | Group | Either | Chain | Repeat


@dataclass(frozen=True, slots=True)
class Syntax:
    """A parsed pattern; `names`: of its groups, by number."""

    root: Node
    groups: int
    names: dict[str, int]


def children(node: Group | Either | Chain | Repeat) -> tuple[Node, ...]:
    """Return the direct children."""
    match node:
        case Either(options):
            return options
        case Chain(parts):
            return parts
        case Group(_, body):
            return (body,)
        case Repeat(body):
            return (body,)


# Patterns that are refused: RE2 would read them differently, or they match nothing.

MAX_MARKS = 3
r"""Limit at one place; more `\b` than that are a mistake."""


def judge(syntax: Syntax) -> int:
    r"""Return the number of `\b` that can meet at one place. Raises PatternRefused."""
    if _may_be_empty(syntax.root):
        raise PatternRefused("would match every message, as it matches the empty text", "", 0)
    _judge_ends(syntax.root, last=True)
    _judge_repeats(syntax.root)
    counter = _EdgeCounter()
    counter.after(syntax.root, 0)
    return counter.most


def _may_be_empty(node: Node) -> bool:
    match node:
        case One():
            return False
        case At():
            return True
        case Either(options):
            return any(map(_may_be_empty, options))
        case Chain(parts):
            return all(map(_may_be_empty, parts))
        case Group(_, body):
            return _may_be_empty(body)
        case Repeat(body, least):
            return least == 0 or _may_be_empty(body)


def _judge_ends(node: Node, *, last: bool) -> None:
    match node:
        case At(Place.LAST_LINE_END, position) if not last:
            raise PatternRefused("continues after its end", "$", position)
        case Chain(parts):
            for index, part in enumerate(parts):
                _judge_ends(part, last=last and index == len(parts) - 1)
        case Repeat(body):
            _judge_ends(body, last=False)
        case One() | At():
            pass
        case Group() | Either():
            for child in children(node):
                _judge_ends(child, last=last)


class _EdgeCounter:
    r"""Counter of the `\b` at one place: each needs a mark there (matching.pattern)."""

    def __init__(self) -> None:
        self.most = 0

    def after(self, node: Node, taken: int) -> int:
        """Return how many may have asked where the node ends, if `taken` have where it begins. Raises
        PatternRefused
        where that cannot be counted."""
        match node:
            case One():
                return 0
            case At():
                return self._after_place(node, taken)
            case Chain(parts):
                for part in parts:
                    taken = self.after(part, taken)
                return taken
            case Either(options):
                return max(self.after(option, taken) for option in options)
            case Group(_, body):
                return self.after(body, taken)
            case Repeat(body, least):
                after = self.after(body, taken)
                if after > taken and node.most != 1:
                    after = self.after(body, after)
                return max(after, taken if least == 0 else 0)

    def _after_place(self, node: At, taken: int) -> int:
        match node.place:
            case Place.WORD_EDGE:
                if taken >= MAX_MARKS:
                    raise PatternRefused("has too many word boundaries", r"\b", node.position)
                self.most = max(self.most, taken + 1)
                return taken + 1
            case Place.TEXT_START | Place.LINE_START:
                if taken:
                    raise PatternRefused(
                        "has a word boundary before the start of the text", "^", node.position
                    )
                return 0
            case Place.LINE_END | Place.LAST_LINE_END | Place.TEXT_END:
                return MAX_MARKS  # it steps over all marks


def _judge_repeats(node: Node) -> None:
    match node:
        case One() | At():
            return
        case Repeat(body, _, most, _, position) if most != 1 and _may_be_empty(body):
            raise PatternRefused("repeats something that may be empty", "", position)
        case _:
            for child in children(node):
                _judge_repeats(child)
