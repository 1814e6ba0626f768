"""Turns a pattern as Python's `re` reads it into one for RE2, which matches in linear time whatever it gets.

RE2 knows `\\b \\w \\d \\s` of ASCII alone, and classes as large as Unicode's cost it milliseconds and tens of
kilobytes each. So a pattern that uses them runs on the message in symbols (`core.routines.symbols`): Python's
tables say which symbol stands for a character, a mark stands at every edge of a word, and classes are sets of
few symbols. What matches and what its groups hold is by construction what `re` would find. On messages of
ASCII alone RE2's own `\\b` is right, and saves the marks.

`$` before a newline at the end has no counterpart: it becomes `(\\n?)\\z`, is refused where anything could
follow it, and the groups around it lose that newline again (`ends`).
"""

from dataclasses import dataclass, field

from core.routines.characters import (
    Characters,
    Range,
    Ranges,
    complement,
)
from core.routines.pattern_nodes import (
    At,
    Chain,
    Either,
    Group,
    Node,
    One,
    Place,
    Repeat,
    children,
)
from core.routines.pattern_rules import judge
from core.routines.pattern_syntax import read_pattern
from core.routines.symbols import EDGE, Alphabet


@dataclass(frozen=True, slots=True)
class Translation:
    """A pattern for RE2: `text`, and `ascii_text` for messages of ASCII alone. `alphabet` is None where it
    runs on the message as it is.

    `marks`: how many are to stand at every edge of a word; `groups[n - 1]`: which group of RE2's holds group
    n of the pattern; `ends`: RE2's groups that hold the newline taken by a `$`, each with the numbers of the
    pattern's groups around it.
    """

    text: str
    ascii_text: str
    alphabet: Alphabet | None
    marks: int
    groups: tuple[int, ...]
    names: tuple[tuple[str, int], ...]
    ends: tuple[tuple[int, tuple[int, ...]], ...]


def translate(pattern: str, *, ignore_case: bool = False) -> Translation:
    """The pattern for RE2. Raises PatternRefused: with what `re` would refuse, too, and with patterns that
    match without taking a character, which is in every message."""
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
    """Writes a pattern for RE2: on symbols of an alphabet, or on the message as it is; `mark`: what stands at
    the edges of words, if anything does."""

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
    """A class of RE2's."""
    if not codes:
        return r"[^\x00-\x{10FFFF}]"
    if len(codes) == 1 and codes[0][0] == codes[0][1]:
        return escaped(codes[0][0])
    spans = (escaped(low) if low == high else f"{escaped(low)}-{escaped(high)}" for low, high in codes)
    return f"[{''.join(spans)}]"


def escaped(code: int) -> str:
    """One character, meaning itself in RE2 within and outside of classes."""
    character = chr(code)
    return character if character.isascii() and character.isalnum() else f"\\x{{{code:X}}}"


EDGE_MARK = escaped(ord(EDGE))
