"""A compiled pattern: whether a message matches, and the content of its groups."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import field
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import cast

from core.lazy import dataclass
from core.routines.matching.nodes import (
    ASCII_END,
    LAST,
    At,
    Chain,
    Characters,
    Either,
    Group,
    Node,
    One,
    PatternRefused,
    Place,
    Range,
    Ranges,
    Repeat,
    ascii_codes,
    children,
    complement,
    judge,
    merged,
    of_kind,
    takes,
)
from core.routines.matching.syntax import read_pattern
from core.safety.linear_patterns import Match, TooLarge, compiled

# A message in the few symbols that one pattern tells apart.
#
# ASCII stands for itself. Every other character becomes a symbol for its kind (see `of_kind`) and for the
# ranges
# of the pattern it lies in: characters alike in both are one symbol. The symbols lie where no message has
# meaningful characters, and no character of a message is left as it is there.

EDGE = "\U000f0000"
r"""Stands at word edges, as often as `\b` may ask there."""
_FIRST = 0xF0001
_KINDS = "dws-"


@dataclass(frozen=True, slots=True)
class Alphabet:
    """The symbols of a pattern. `cuts`: the beginnings of its ranges, and of the gaps after them,
    beyond ASCII."""

    cuts: tuple[int, ...]

    @classmethod
    def of(cls, ranges: Iterable[Range]) -> "Alphabet":
        """Return the alphabet that tells the characters of these ranges apart."""
        cuts = {cut for low, high in ranges for cut in (low, high + 1)}
        return cls(tuple(sorted(cut for cut in cuts if ASCII_END < cut <= LAST)))

    def symbol(self, code: int) -> int:
        """Return the symbol of a character beyond ASCII."""
        kind = _KINDS.index(of_kind(chr(code)))
        return _FIRST + kind * (len(self.cuts) + 1) + bisect_right(self.cuts, code)

    def codes(self, characters: Characters) -> Ranges:
        """Return the set in symbols."""
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
    """A table for `str.translate`; it grows with the characters of messages."""

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
    """Return the alphabet's table."""
    return SymbolTable(alphabet)


# Translation of a pattern for Python's `re` into one for RE2, which always matches in linear
# time.
#
# RE2 knows `\b \w \d \s` of ASCII alone, and classes as large as Unicode's cost it milliseconds
# and tens of kilobytes each. So a pattern that uses them runs on the message in symbols:
# Python's tables give the symbol of a character, a mark stands at every edge of a word, and
# classes are sets of few symbols. By construction, matches and groups are the ones `re` would
# find. On ASCII-only messages RE2's own `\b` is right, and saves the marks.
#
# `$` before a newline at the end has no counterpart: it becomes `(\n?)\z`, is refused where
# anything could follow it, and the groups around it lose that newline again (`ends`).


@dataclass(frozen=True, slots=True)
class Translation:
    """A pattern for RE2: `text`, and `ascii_text` for ASCII-only messages. `alphabet` is None if it
    runs on the message itself.

    `marks`: number of marks at every edge of a word; `groups[n - 1]`: RE2's group that holds group
    n of the pattern; `ends`: RE2's groups that hold the newline taken by a `$`, each with the
    numbers of the pattern's groups around it.
    """

    text: str
    ascii_text: str
    alphabet: Alphabet | None
    marks: int
    groups: tuple[int, ...]
    names: tuple[tuple[str, int], ...]
    ends: tuple[tuple[int, tuple[int, ...]], ...]


def translate(pattern: str, *, ignore_case: bool = False) -> Translation:
    """Translate a pattern for RE2.

    Raises PatternRefused for all that `re` would refuse, too, and for patterns that match without
    taking a character, which is in every message."""
    syntax = read_pattern(pattern, ignore_case=ignore_case)
    marks = judge(syntax)
    uses = _Uses()
    uses.gather(syntax.root)
    alphabet = Alphabet.of(uses.ranges) if uses.kinds or marks else None
    writer = _Writer(alphabet, EDGE_MARK if marks else "")
    text = writer.write(syntax.root)
    ascii_text = _Writer(alphabet, "").write(syntax.root) if marks else text
    numbers = tuple(writer.numbers[number] for number in range(1, syntax.groups + 1))
    return Translation(
        text, ascii_text, alphabet, marks, numbers, tuple(syntax.names.items()), tuple(writer.ends)
    )


@dataclass(slots=True)
class _Uses:
    kinds: bool = False
    ranges: list[Range] = field(default_factory=list[Range])

    def gather(self, node: Node) -> None:
        match node:
            case One(characters):
                self.kinds = self.kinds or bool(characters.kinds)
                self.ranges += characters.ranges
            case At():
                pass
            case _:
                for child in children(node):
                    self.gather(child)


class _Writer:
    """Writer of a pattern for RE2: on symbols of an alphabet, or on the message itself; `mark`: the
    text at the edges of words, if any."""

    def __init__(self, alphabet: Alphabet | None, mark: str) -> None:
        self.numbers: dict[int, int] = {}
        self.ends: list[tuple[int, tuple[int, ...]]] = []
        self._alphabet = alphabet
        self._mark = mark
        self._count = 0
        self._open: list[int] = []

    def write(self, node: Node) -> str:
        match node:
            case One(characters):
                return self._past_marks() + one_of(self._codes(characters))
            case At(place):
                return self._place(place)
            case Chain(parts):
                return "".join(map(self.write, parts))
            case Either(options):
                return "|".join(map(self.write, options))
            case Group(number, body):
                return self._group(number, body)
            case Repeat():
                return self._repeat(node)

    def _codes(self, characters: Characters) -> Ranges:
        if self._alphabet is not None:
            return self._alphabet.codes(characters)
        return complement(characters.ranges) if characters.negated else characters.ranges

    def _past_marks(self) -> str:
        return f"{self._mark}*" if self._mark else ""

    def _place(self, place: Place) -> str:
        match place:
            case Place.TEXT_START:
                return r"\A"
            case Place.LINE_START:
                return "(?m:^)"
            case Place.LINE_END:
                return self._past_marks() + "(?m:$)"
            case Place.TEXT_END:
                return self._past_marks() + r"\z"
            case Place.WORD_EDGE:
                return self._mark or r"\b"
            case Place.LAST_LINE_END:
                self._count += 1
                self.ends.append((self._count, (0, *self._open)))
                return self._past_marks() + r"(\n?)\z"

    def _group(self, number: int | None, body: Node) -> str:
        if number is None:
            return f"(?:{self.write(body)})"
        self._count += 1
        self.numbers[number] = self._count
        self._open.append(number)
        text = self.write(body)
        self._open.pop()
        return f"({text})"

    def _repeat(self, node: Repeat) -> str:
        body = self.write(node.body)
        if not isinstance(node.body, Group) and (self._mark or not isinstance(node.body, One)):
            body = f"(?:{body})"
        counts = _COUNTS.get((node.least, node.most))
        if counts is None:
            most = "" if node.most is None else str(node.most)
            counts = f"{{{node.least}}}" if node.most == node.least else f"{{{node.least},{most}}}"
        return body + counts + ("?" if node.lazy else "")


_COUNTS: dict[tuple[int, int | None], str] = {(0, None): "*", (1, None): "+", (0, 1): "?"}


def one_of(codes: Ranges) -> str:
    """Return a class for RE2."""
    if not codes:
        return r"[^\x00-\x{10FFFF}]"
    if len(codes) == 1 and codes[0][0] == codes[0][1]:
        return escaped(codes[0][0])
    spans = (escaped(low) if low == high else f"{escaped(low)}-{escaped(high)}" for low, high in codes)
    return f"[{''.join(spans)}]"


def escaped(code: int) -> str:
    """Return one character as a literal for RE2, within and outside of classes."""
    character = chr(code)
    return character if character.isascii() and character.isalnum() else f"\\x{{{code:X}}}"


EDGE_MARK = escaped(ord(EDGE))


_WORD_EDGE = re.compile(r"\b")  # the hub's own pattern, with exactly the edges that `re` sees


@dataclass(frozen=True, slots=True)
class Found:
    """A match: the text itself, and the groups from 1 on; None for a group that took no part."""

    text: str
    groups: tuple[str | None, ...]
    names: tuple[tuple[str, str | None], ...]


class Subject:
    """One message, put into symbols once for all patterns that need that form."""

    def __init__(self, text: str) -> None:
        self.text = storable(text)
        self._written: dict[tuple[Alphabet | None, int], Written] = {}

    @cached_property
    def edges(self) -> list[int]:
        """Return the positions where words begin and end."""
        return [found.start() for found in _WORD_EDGE.finditer(self.text)]

    def written(self, alphabet: Alphabet | None, marks: int) -> "Written":
        """Return the message in symbols, with marks at the edges of words."""
        key = (alphabet, marks)
        if key not in self._written:
            self._written[key] = Written(self, *key)
        return self._written[key]


class Written:
    """A message as RE2 reads it, with the mapping back."""

    def __init__(self, subject: Subject, alphabet: Alphabet | None, marks: int) -> None:
        text = subject.text if alphabet is None else subject.text.translate(table(alphabet))
        if marks:
            places = [0, *subject.edges, len(text)]
            text = (EDGE * marks).join(text[begin:end] for begin, end in pairwise(places))
        self._marks = marks
        self._edges = subject.edges if marks else []
        self._is_ascii = text.isascii()
        self.data = text.encode()

    def place(self, offset: int) -> int:
        """Return the place in the message, in characters, of an offset in bytes."""
        place = offset if self._is_ascii else len(self.data[:offset].decode())
        before = bisect_left(range(len(self._edges)), place, key=self._past_marks)
        begin = self._edges[before] + self._marks * before if before < len(self._edges) else place
        return min(place, begin) - self._marks * before

    def _past_marks(self, index: int) -> int:
        return self._edges[index] + self._marks * (index + 1)


class Pattern:
    """One compiled pattern. Raises PatternRefused for an unusable one."""

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        self._said = translate(pattern, ignore_case=ignore_case)
        try:
            self._on_ascii = compiled(self._said.ascii_text)
            self._compiled = self._on_ascii if self._said.marks == 0 else compiled(self._said.text)
        except TooLarge:
            raise PatternRefused("is too large", "", 0) from None

    def search(self, subject: Subject) -> Found | None:
        """Return the first match, as `re.search` would find it."""
        if subject.text.isascii():
            written, pattern = subject.written(None, 0), self._on_ascii
        else:
            written, pattern = subject.written(self._said.alphabet, self._said.marks), self._compiled
        match = pattern.search(written.data)
        return None if match is None else self._found(subject.text, written, match)

    def _found(self, text: str, written: Written, match: Match) -> Found:
        said = self._said
        spans = [match.span(0), *(match.span(number) for number in said.groups)]
        for number, around in said.ends:
            begin, end = match.span(number)
            if end > begin:
                for group in around:
                    spans[group] = (spans[group][0], begin) if spans[group][1] == end else spans[group]
        texts = [
            None if begin < 0 else text[written.place(begin) : written.place(end)] for begin, end in spans
        ]
        names = tuple((name, texts[number]) for name, number in said.names)
        return Found(cast("str", texts[0]), tuple(texts[1:]), names)


def storable(text: str) -> str:
    """Replace lone surrogates, which RE2 does not accept as text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
