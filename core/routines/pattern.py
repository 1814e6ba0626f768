"""A pattern that can be asked: whether a message matches, and what its groups hold."""

import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import cast

from core.linear import Match, TooLarge, compiled
from core.routines.pattern_nodes import PatternRefused
from core.routines.symbols import EDGE, Alphabet, table
from core.routines.translator import translate

_WORD_EDGE = re.compile(r"\b")  # the hub's own, and the very edges that `re` sees


@dataclass(frozen=True, slots=True)
class Found:
    """What matched: the text itself, and the groups from 1 on; None where a group took no part."""

    text: str
    groups: tuple[str | None, ...]
    names: tuple[tuple[str, str | None], ...]


class Subject:
    """One message, put into symbols once for all patterns that need it so."""

    def __init__(self, text: str) -> None:
        self.text = storable(text)
        self._written: dict[tuple[Alphabet | None, int], Written] = {}

    @cached_property
    def edges(self) -> list[int]:
        """Where words begin and end."""
        return [found.start() for found in _WORD_EDGE.finditer(self.text)]

    def written(self, alphabet: Alphabet | None, marks: int) -> "Written":
        """The message in symbols, with marks at the edges of words."""
        key = (alphabet, marks)
        if key not in self._written:
            self._written[key] = Written(self, *key)
        return self._written[key]


class Written:
    """A message as RE2 reads it, and the way back."""

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
        """The place in the message, in characters, of an offset in bytes."""
        place = offset if self._is_ascii else len(self.data[:offset].decode())
        before = bisect_left(range(len(self._edges)), place, key=self._past_marks)
        begin = self._edges[before] + self._marks * before if before < len(self._edges) else place
        return min(place, begin) - self._marks * before

    def _past_marks(self, index: int) -> int:
        return self._edges[index] + self._marks * (index + 1)


class Pattern:
    """One pattern, compiled. Raises PatternRefused where it cannot be used."""

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        self._said = translate(pattern, ignore_case=ignore_case)
        try:
            self._on_ascii = compiled(self._said.ascii_text)
            self._compiled = self._on_ascii if self._said.marks == 0 else compiled(self._said.text)
        except TooLarge:
            raise PatternRefused("is too large", "", 0) from None

    def search(self, subject: Subject) -> Found | None:
        """The first match, as `re.search` would find it."""
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
    """The text without halves of characters, which RE2 takes for no text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
