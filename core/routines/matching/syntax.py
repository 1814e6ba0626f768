r"""Reader of patterns as Python's `re` reads them (3.11 and later); what cannot be supported is refused by
name.

Refused are constructs no engine matches in linear time (lookaround, backreferences, possessive and atomic
repeats, conditions) and rarely used ones: `\B`, `\N{…}` and the flags a, L and x. A mistake for `re` is a
mistake
here, too.
"""

from functools import lru_cache

from core.lazy import dataclass
from core.routines.matching.nodes import (
    EVERYTHING,
    LAST,
    NOT_NEWLINE,
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
    Syntax,
    merged,
    without_case,
)

# A pattern's text with a reading position: steps, escapes and classes as Python's `re` reads
# them.

KINDS = "dDwWsS"
_SIMPLE = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92}
_HEXADECIMAL = {"x": 2, "u": 4, "U": 8}
_DIGIT_SIGNS = "0123456789"
_OCTAL = "01234567"


class Source:
    """A pattern's text and the position in it. Every step may raise PatternRefused."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._position = 0

    @property
    def position(self) -> int:
        """Position of the next character."""
        return self._position

    @property
    def ended(self) -> bool:
        """Return whether nothing is left."""
        return self._position >= len(self._pattern)

    def sees(self, text: str) -> bool:
        """Return whether this comes next."""
        return self._pattern.startswith(text, self._position)

    def sees_repeat(self) -> bool:
        """Return whether a repeat may come next."""
        return not self.ended and self._pattern[self._position] in "*+?{"

    def began(self, text: str, begin: int) -> bool:
        """Return whether this stands at an earlier position."""
        return self._pattern.startswith(text, begin)

    def takes(self, text: str) -> bool:
        """Step over the text if it comes next; return whether it did."""
        seen = self.sees(text)
        self._position += len(text) if seen else 0
        return seen

    def next(self, what: str) -> str:
        """Step over one character and return it. `what`: the part it belongs to."""
        if self.ended:
            raise PatternRefused(f"ends within {what}", "", self._position)
        self._position += 1
        return self._pattern[self._position - 1]

    def until(self, end: str, what: str) -> str:
        """Step over `end` and return the text before it."""
        begin = self._position
        found = self._pattern.find(end, begin)
        if found < 0:
            raise PatternRefused(f"ends within {what}", "", len(self._pattern))
        self._position = found + len(end)
        return self._pattern[begin:found]

    def braced(self) -> str | None:
        """Return the content of the braces that come next, without moving on."""
        end = self._pattern.find("}", self._position)
        return self._pattern[self._position + 1 : end] if self.sees("{") and end > 0 else None

    def refused(self, reason: str, length: int, begin: int | None = None) -> PatternRefused:
        """Return an error about `length` characters at `begin`, or at the current position."""
        begin = self._position if begin is None else begin
        return PatternRefused(reason, self._pattern[begin : begin + length], begin)

    def escaped(self, sign: str, begin: int, *, in_class: bool) -> int:
        """Return the character of an escape."""
        if sign in _SIMPLE:
            return _SIMPLE[sign]
        if sign in _HEXADECIMAL:
            return self._hexadecimal(_HEXADECIMAL[sign], begin)
        if sign in _DIGIT_SIGNS:
            return self._octal(sign, begin, in_class=in_class)
        if sign.isascii() and sign.isalpha():
            raise self.refused("has an escape that is not supported here", 2, begin)
        return ord(sign)

    def _hexadecimal(self, length: int, begin: int) -> int:
        digits = self._pattern[self._position : self._position + length]
        if len(digits) < length or not set(digits) <= set("0123456789abcdefABCDEF"):
            raise self.refused(f"has an escape without {length} hexadecimal digits", 2 + len(digits), begin)
        self._position += length
        if int(digits, 16) > LAST:
            raise self.refused("has an escape beyond the last Unicode character", 2 + length, begin)
        return int(digits, 16)

    def _octal(self, sign: str, begin: int, *, in_class: bool) -> int:
        digits = sign
        while len(digits) < 3 and self._pattern[self._position : self._position + 1] in tuple(_OCTAL):
            digits += self.next("an escape")
        is_octal = set(digits) <= set(_OCTAL) and (digits[0] == "0" or in_class or len(digits) == 3)
        if not is_octal:
            raise self.refused("has a backreference, which is not supported", 1 + len(digits), begin)
        if int(digits, 8) > 0o377:
            raise self.refused("has an octal escape beyond 377", 1 + len(digits), begin)
        return int(digits, 8)

    def character_class(self) -> tuple[Ranges, frozenset[str], bool]:
        """Read the rest after a `[`: ranges as written, kinds, and whether all of it is negated."""
        negated = self.takes("^")
        ranges: list[Range] = []
        kinds: set[str] = set()
        first = True
        while first or not self.takes("]"):
            first = False
            low = self._class_item(kinds)
            if not self.sees("-") or self.sees("-]"):
                ranges += [] if low is None else [(low, low)]
                continue
            dash = self._position
            self._position += 1
            high = self._class_item(kinds)
            if low is None or high is None or high < low:
                raise self.refused("has a range that runs backward", self._position - dash, dash)
            ranges.append((low, high))
        return tuple(ranges), frozenset(kinds), negated

    def _class_item(self, kinds: set[str]) -> int | None:
        """Return one character; None for a kind, which is recorded."""
        begin = self._position
        sign = self.next("a class")
        if sign != "\\":
            return ord(sign)
        sign = self.next("a class")
        if sign in KINDS:
            kinds.add(sign)
            return None
        return 8 if sign == "b" else self.escaped(sign, begin, in_class=True)


MAX_CHARACTERS = 1000
MAX_GROUPS = 50
MAX_DEPTH = 50
MAX_REPEAT = 1000
"""RE2's limit; also the limit of the sum over nested repeats."""


@dataclass(frozen=True, slots=True)
class _Flags:
    ignore_case: bool = False
    multiline: bool = False
    dot_all: bool = False


def read_pattern(pattern: str, *, ignore_case: bool = False) -> Syntax:
    """Return the meaning of a pattern. Raises PatternRefused."""
    if len(pattern) > MAX_CHARACTERS:
        raise PatternRefused(f"has more than {MAX_CHARACTERS} characters", "", MAX_CHARACTERS)
    return _Reader(pattern, _Flags(ignore_case)).read()


_REPEATS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_TOO_OFTEN = f"repeats more than {MAX_REPEAT} times"
_PLACES = {"b": Place.WORD_EDGE, "A": Place.TEXT_START, "Z": Place.TEXT_END}
_LOOKS = ("(?=", "(?!", "(?<=", "(?<!")
_DIGITS = frozenset("0123456789")


class _Reader:
    def __init__(self, pattern: str, flags: _Flags) -> None:
        self._source = Source(pattern)
        self._flags = flags
        self._groups = 0
        self._names: dict[str, int] = {}
        self._depth = 0

    def read(self) -> Syntax:
        root = self._either(leading=True)
        if not self._source.ended:
            raise self._source.refused("has an unmatched closing parenthesis", 1)
        return Syntax(root, self._groups, self._names)

    # --- structure ---

    def _either(self, *, leading: bool = False) -> Node:
        options = [self._chain(leading=leading)]
        while self._source.takes("|"):
            options.append(self._chain())
        return options[0] if len(options) == 1 else Either(tuple(options))

    def _chain(self, *, leading: bool = False) -> Node:
        parts: list[Node] = []
        while not self._source.ended and not (self._source.sees("|") or self._source.sees(")")):
            begin = self._source.position
            repeat = self._repeat() if self._source.sees_repeat() else None
            if repeat is not None:
                self._apply(parts, repeat, begin)
                continue
            node = self._item(first=leading and not parts)
            if node is not None:
                parts.append(node)
        return parts[0] if len(parts) == 1 else Chain(tuple(parts))

    def _apply(self, parts: list[Node], counts: tuple[int, int | None], begin: int) -> None:
        least, most = counts
        length = self._source.position - begin
        if not parts or isinstance(parts[-1], At):
            raise self._source.refused("has a repeat with nothing to repeat", length, begin)
        if isinstance(parts[-1], Repeat):
            raise self._source.refused("repeats a repeat", length, begin)
        if max(least, most or 0) > MAX_REPEAT:
            raise self._source.refused(_TOO_OFTEN, length, begin)
        if most is not None and most < least:
            raise self._source.refused("has a repeat whose maximum is less than its minimum", length, begin)
        lazy = self._source.takes("?")
        if not lazy and self._source.sees("+"):
            raise self._source.refused("has a possessive repeat, which is not supported", length + 1, begin)
        parts[-1] = Repeat(parts[-1], least, most, lazy, begin)

    def _repeat(self) -> tuple[int, int | None] | None:
        for sign, counts in _REPEATS.items():
            if self._source.takes(sign):
                return counts
        counted = self._source.braced()
        if counted is None:
            return None
        low, comma, high = counted.partition(",")
        if not (low or comma) or not _DIGITS.issuperset(low + high):
            return None  # braces without a count are plain characters
        self._source.takes(f"{{{counted}}}")
        if max(len(low), len(high)) > len(str(MAX_REPEAT)):
            raise self._source.refused(_TOO_OFTEN, len(counted) + 2, self._source.position - len(counted) - 2)
        least = int(low or 0)
        return least, (int(high) if high else None) if comma else least

    def _item(self, *, first: bool) -> Node | None:
        begin = self._source.position
        match self._source.next("the pattern"):
            case "(":
                return self._parenthesis(begin, first=first)
            case "[":
                return One(self._class())
            case "\\":
                return self._escape(begin)
            case ".":
                return One(Characters(EVERYTHING if self._flags.dot_all else NOT_NEWLINE))
            case "^":
                return At(Place.LINE_START if self._flags.multiline else Place.TEXT_START, begin)
            case "$":
                return At(Place.LINE_END if self._flags.multiline else Place.LAST_LINE_END, begin)
            case character:
                return self._literal(ord(character), begin)

    # --- parentheses ---

    def _parenthesis(self, begin: int, *, first: bool) -> Node | None:
        outer = self._flags
        if not self._source.takes("?"):
            self._groups += 1
            return self._group(self._groups, begin, outer)
        if self._source.takes("#"):
            self._source.until(")", "a comment")
            return None
        if self._source.takes("P<"):
            name = self._source.until(">", "a group's name")
            if not name.isidentifier() or name in self._names:
                raise self._source.refused(
                    "has a group without a valid name, or a name used twice", len(name) + 5, begin
                )
            self._groups += 1
            self._names[name] = self._groups
            return self._group(self._groups, begin, outer)
        if self._source.takes(":"):
            return self._group(None, begin, outer)
        self._refuse_strange(begin)
        return self._flagged(begin, outer, first=first)

    def _refuse_strange(self, begin: int) -> None:
        for sign in _LOOKS:
            if self._source.began(sign, begin):
                raise self._source.refused("has a lookaround, which is not supported", len(sign), begin)
        for sign, reason in (
            ("(?P=", "has a backreference, which is not supported"),
            ("(?>", "has an atomic group, which is not supported"),
            ("(?(", "has a conditional, which is not supported"),
        ):
            if self._source.began(sign, begin):
                raise self._source.refused(reason, len(sign), begin)

    def _flagged(self, begin: int, outer: _Flags, *, first: bool) -> Node | None:
        held = {"i": outer.ignore_case, "m": outer.multiline, "s": outer.dot_all}
        on = True
        while (sign := self._source.next("a group's flags")) not in "):":
            if sign == "-" and on:
                on = False
            elif sign in held:
                held[sign] = on
            elif sign != "u" or not on:
                raise self._source.refused(
                    "has a flag that is not supported", self._source.position - begin, begin
                )
        flags = _Flags(held["i"], held["m"], held["s"])
        if sign == ":":
            self._flags = flags
            return self._group(None, begin, outer)
        if not first or not on:
            raise self._source.refused(
                "has flags that are not at its start", self._source.position - begin, begin
            )
        self._flags = flags
        return None

    def _group(self, number: int | None, begin: int, outer: _Flags) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH or self._groups > MAX_GROUPS:
            raise self._source.refused(f"has more than {MAX_GROUPS} groups", 1, begin)
        body = self._either()
        if not self._source.takes(")"):
            raise self._source.refused("has an unclosed parenthesis", 1, begin)
        self._depth -= 1
        self._flags = outer
        return Group(number, body)

    # --- characters ---

    def _literal(self, code: int, begin: int) -> One:
        if 0xD800 <= code <= 0xDFFF:
            raise self._source.refused("has a lone surrogate", self._source.position - begin, begin)
        return _one(code, self._flags.ignore_case)

    def _cased(self, ranges: Ranges) -> Ranges:
        return without_case(ranges) if self._flags.ignore_case else merged(ranges)

    def _class(self) -> Characters:
        ranges, kinds, negated = self._source.character_class()
        return Characters(self._cased(ranges), kinds, negated)

    def _escape(self, begin: int) -> Node:
        sign = self._source.next("an escape")
        if sign in KINDS:
            return One(Characters((), frozenset(sign)))
        if sign in _PLACES:
            return At(_PLACES[sign], begin)
        if sign == "B":
            raise self._source.refused(r"has a \B, which is not supported", 2, begin)
        return self._literal(self._source.escaped(sign, begin, in_class=False), begin)


@lru_cache(maxsize=1024)
def _one(code: int, ignore_case: bool) -> One:
    return One(Characters(without_case(((code, code),)) if ignore_case else ((code, code),)))
