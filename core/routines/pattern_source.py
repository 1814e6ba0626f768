"""A pattern's text under a reading position: steps, escapes and classes as Python's `re` reads them."""

from core.routines.characters import LAST, Range, Ranges
from core.routines.pattern_nodes import PatternRefused

KINDS = "dDwWsS"
_SIMPLE = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92}
_HEXADECIMAL = {"x": 2, "u": 4, "U": 8}
_DIGITS = "0123456789"
_OCTAL = "01234567"


class Source:
    """The text and the position. Every step may raise PatternRefused."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._position = 0

    @property
    def position(self) -> int:
        """Of the next character."""
        return self._position

    @property
    def ended(self) -> bool:
        """Whether nothing is left."""
        return self._position >= len(self._pattern)

    def sees(self, text: str) -> bool:
        """Whether this comes next."""
        return self._pattern.startswith(text, self._position)

    def sees_repeat(self) -> bool:
        """Whether a repeat may come next."""
        return not self.ended and self._pattern[self._position] in "*+?{"

    def began(self, text: str, begin: int) -> bool:
        """Whether this stands at an earlier position."""
        return self._pattern.startswith(text, begin)

    def takes(self, text: str) -> bool:
        """Step over it, if it comes next."""
        seen = self.sees(text)
        self._position += len(text) if seen else 0
        return seen

    def next(self, what: str) -> str:
        """Step over one character; `what` it belongs to."""
        if self.ended:
            raise PatternRefused(f"ends within {what}", "", self._position)
        self._position += 1
        return self._pattern[self._position - 1]

    def until(self, end: str, what: str) -> str:
        """Step over `end`; gives what stands before it."""
        begin = self._position
        found = self._pattern.find(end, begin)
        if found < 0:
            raise PatternRefused(f"ends within {what}", "", len(self._pattern))
        self._position = found + len(end)
        return self._pattern[begin:found]

    def braced(self) -> str | None:
        """What the braces hold that come next; no step is made."""
        end = self._pattern.find("}", self._position)
        return self._pattern[self._position + 1 : end] if self.sees("{") and end > 0 else None

    def refused(self, reason: str, length: int, begin: int | None = None) -> PatternRefused:
        """An error about `length` characters at `begin`, or at the present position."""
        begin = self._position if begin is None else begin
        return PatternRefused(reason, self._pattern[begin : begin + length], begin)

    def escaped(self, sign: str, begin: int, *, in_class: bool) -> int:
        """The character an escape stands for."""
        if sign in _SIMPLE:
            return _SIMPLE[sign]
        if sign in _HEXADECIMAL:
            return self._hexadecimal(_HEXADECIMAL[sign], begin)
        if sign in _DIGITS:
            return self._octal(sign, begin, in_class=in_class)
        if sign.isascii() and sign.isalpha():
            raise self.refused("has an escape that means nothing here", 2, begin)
        return ord(sign)

    def _hexadecimal(self, length: int, begin: int) -> int:
        digits = self._pattern[self._position : self._position + length]
        if len(digits) < length or not set(digits) <= set("0123456789abcdefABCDEF"):
            raise self.refused(f"has an escape without {length} hexadecimal digits", 2 + len(digits), begin)
        self._position += length
        if int(digits, 16) > LAST:
            raise self.refused("has an escape beyond all characters", 2 + length, begin)
        return int(digits, 16)

    def _octal(self, sign: str, begin: int, *, in_class: bool) -> int:
        digits = sign
        while len(digits) < 3 and self._pattern[self._position : self._position + 1] in tuple(_OCTAL):
            digits += self.next("an escape")
        is_octal = set(digits) <= set(_OCTAL) and (digits[0] == "0" or in_class or len(digits) == 3)
        if not is_octal:
            raise self.refused("looks back at a group, which cannot be kept", 1 + len(digits), begin)
        if int(digits, 8) > 0o377:
            raise self.refused("has an octal escape beyond 377", 1 + len(digits), begin)
        return int(digits, 8)

    def character_class(self) -> tuple[Ranges, frozenset[str], bool]:
        """What follows a `[`: ranges as written, kinds, and whether all of it is negated."""
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
                raise self.refused("has a range that goes nowhere", self._position - dash, dash)
            ranges.append((low, high))
        return tuple(ranges), frozenset(kinds), negated

    def _class_item(self, kinds: set[str]) -> int | None:
        """One character; None for a kind, which is noted."""
        begin = self._position
        sign = self.next("a class")
        if sign != "\\":
            return ord(sign)
        sign = self.next("a class")
        if sign in KINDS:
            kinds.add(sign)
            return None
        return 8 if sign == "b" else self.escaped(sign, begin, in_class=True)
