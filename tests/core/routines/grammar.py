"""Patterns made of every construct that is accepted, each with texts that it may well match."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

LITERALS = "abiksßéяЖ部٣1_ -.!\u0301\ufe0f🚀K"
ALPHABET = LITERALS + "AIKSſİı5xy,\n\x0b\x85\u2003é生\U0001f3fd"
INSIDE = {
    r"\d": "15٣",
    r"\w": "ab1_éя部",
    r"\s": " \n\x0b\x85\u2003",
    r"\D": "a-部🚀",
    r"\W": "- !🚀\u0301",
    r"\S": "a-1部",
}
CLASSES = ["[ab]", "[a-k]", r"[\w-]", r"[\s,]", "[а-яё]", "[部é]", r"[\d\W]", "[]a]", r"[\x61-\u00ff]"]
IN_CLASS = {"[ab]": "ab", "[a-k]": "abik", r"[\w-]": "a-部", r"[\s,]": " ,\n", "[а-яё]": "яё", "[部é]": "部é"}
NEGATED = ["[^a]", r"[^\s]", r"[^\W\d_]", "[^а-я]", r"[^\S\n]", "[^ab1]"]
FLAGS = ["(?i)", "(?m)", "(?s)", "(?im)", "(?is)"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a pattern, and something it takes."""

    pattern: str
    text: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Case:
    """A pattern, the constructs it is made of, and texts to try it on."""

    pattern: str
    constructs: frozenset[str]
    texts: tuple[str, ...]


def _several(piece: Piece, count: int) -> str:
    return "".join(piece.text() for _ in range(count))


class Grammar:
    """Draws cases. `CONSTRUCTS` are the names it counts."""

    CONSTRUCTS = (
        *("literal", "escaped", "dot", "kind", "class", "negated class", "edge"),
        *("group", "named group", "group without a number", "alternatives", "flags", "flags of a group"),
        *("star", "plus", "optional", "counted", "at most", "lazy", "beginning", "end", "end of text"),
    )

    def __init__(self, generator: random.Random) -> None:
        self._generator = generator
        self._used: set[str] = set()
        self._names = 0

    def case(self) -> Case:
        """One more."""
        self._used, self._names = set(), 0
        pieces = [self._repeated(0) for _ in range(self._generator.randint(2, 4))]
        head, tail = self._head(), self._tail()
        pattern = head + "".join(piece.pattern for piece in pieces) + tail
        texts = tuple(self._text(pieces, number) for number in range(8))
        return Case(pattern, frozenset(self._used), texts)

    def _chance(self, probability: float, construct: str = "") -> bool:
        happens = self._generator.random() < probability
        if happens and construct:
            self._used.add(construct)
        return happens

    def _head(self) -> str:
        flags = self._generator.choice(FLAGS) if self._chance(0.2, "flags") else ""
        return flags + (self._generator.choice(["^", r"\A"]) if self._chance(0.15, "beginning") else "")

    def _tail(self) -> str:
        if self._chance(0.2, "end"):
            return self._generator.choice(["$", "$", "(?:$)", "($)"])
        return r"\Z" if self._chance(0.12, "end of text") else ""

    def _text(self, pieces: list[Piece], number: int) -> str:
        whole = "".join(piece.text() for piece in pieces)
        some = "".join(self._generator.choices(ALPHABET, k=self._generator.randint(0, 3)))
        match number:
            case 0 | 1 | 2:
                return whole
            case 3:
                return whole + "\n"
            case 4:
                return f" {whole} "
            case 5:
                return some + whole
            case 6:
                return whole.swapcase() + some
            case _:
                return some + whole[:-1] + some

    def _repeated(self, depth: int) -> Piece:
        piece = self._one(depth)
        if piece.pattern == r"\b":
            return piece
        for construct, sign, least, most in (
            ("star", "*", 0, 2),
            ("plus", "+", 1, 3),
            ("optional", "?", 0, 1),
            ("counted", "{1,2}", 1, 2),
            ("counted", "{2}", 2, 2),
            ("at most", "{,2}", 0, 2),
        ):
            if self._chance(0.07, construct):
                lazy = "?" if self._chance(0.35, "lazy") else ""
                count = self._generator.randint(least, most)
                return Piece(piece.pattern + sign + lazy, partial(_several, piece, count))
        return piece

    def _one(self, depth: int) -> Piece:
        kinds = [self._literal, self._literal, self._kind, self._class, self._edge]
        nested = [self._group, self._group, self._alternatives] if depth < 2 else []
        drawn = self._generator.choice([*kinds, *nested])
        return drawn(depth)

    def _literal(self, _depth: int) -> Piece:
        if self._chance(0.15, "dot"):
            return Piece(".", lambda: self._generator.choice(ALPHABET))
        character = self._generator.choice(LITERALS)
        if self._chance(0.2, "escaped"):
            written = f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\U{ord(character):08x}"
            return Piece(written, lambda: character)
        self._used.add("literal")
        return Piece(f"\\{character}" if character in ".-" else character, lambda: character)

    def _kind(self, _depth: int) -> Piece:
        self._used.add("kind")
        kind = self._generator.choice(list(INSIDE))
        return Piece(kind, lambda: self._generator.choice(INSIDE[kind]))

    def _class(self, _depth: int) -> Piece:
        if self._chance(0.4, "negated class"):
            return Piece(self._generator.choice(NEGATED), lambda: self._generator.choice("eяz部"))
        self._used.add("class")
        drawn = self._generator.choice(CLASSES)
        return Piece(drawn, lambda: self._generator.choice(IN_CLASS.get(drawn, "a")))

    def _edge(self, _depth: int) -> Piece:
        if not self._chance(0.6, "edge"):
            return self._literal(0)
        return Piece(r"\b", lambda: self._generator.choice(["", "", " "]))

    def _group(self, depth: int) -> Piece:
        parts = [self._repeated(depth + 1) for _ in range(self._generator.randint(1, 2))]
        body = "".join(part.pattern for part in parts)
        opening = "("
        if self._chance(0.25, "named group"):
            self._names += 1
            opening = f"(?P<n{self._names}>"
        elif self._chance(0.3, "group without a number"):
            opening = "(?:"
        elif self._chance(0.3, "flags of a group"):
            opening = self._generator.choice(["(?i:", "(?s:", "(?-i:"])
        else:
            self._used.add("group")
        return Piece(f"{opening}{body})", lambda: "".join(part.text() for part in parts))

    def _alternatives(self, depth: int) -> Piece:
        self._used.add("alternatives")
        options = [self._repeated(depth + 1) for _ in range(2)]
        opening = self._generator.choice(["(", "(?:"])
        pattern = f"{opening}{options[0].pattern}|{options[1].pattern})"
        return Piece(pattern, lambda: self._generator.choice(options).text())
