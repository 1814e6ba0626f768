"""A chunk as lines of runs: for platforms whose formatting is written around each stretch of text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from channels.blocks import Link, Mark, stretches
from channels.chunking import Chunk
from channels.text_layout import FlatSpan, Preformatted, Quoted, Title


@dataclass(frozen=True, slots=True)
class Run:
    """Text without a line break, all of it in the same styles. `level`: of a title's text."""

    text: str
    marks: frozenset[Mark] = frozenset()
    url: str | None = None
    level: int | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One line of running text; `quoted`: it is what somebody else said."""

    runs: tuple[Run, ...]
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Code:
    """Preformatted lines."""

    text: str
    language: str = ""


Part = Line | Code


def parts_of(chunk: Chunk) -> Iterator[Part]:
    """The chunk from top to bottom: preformatted stretches whole, the text between them line by line.

    The line breaks that part a preformatted stretch from its neighbours belong to neither.
    """
    position = 0
    spans = _Spans(chunk.spans)
    for code in chunk.spans:
        if not isinstance(code.style, Preformatted):
            continue
        yield from _lines(chunk, position, _without_break_before(chunk.text, position, code.start), spans)
        yield Code(chunk.text[code.start : code.end], code.style.language)
        position = code.end + 1 if chunk.text.startswith("\n", code.end) else code.end
    if position < len(chunk.text):
        yield from _lines(chunk, position, len(chunk.text), spans)


def _without_break_before(text: str, start: int, end: int) -> int:
    return end - 1 if end > start and text[end - 1] == "\n" else end


class _Spans:
    """Gives out the spans over one line after the other, from top to bottom."""

    def __init__(self, spans: Sequence[FlatSpan]) -> None:
        self._spans = spans
        self._next = 0
        self._reached: list[FlatSpan] = []

    def over(self, start: int, end: int) -> list[FlatSpan]:
        """Those that begin before `end` and end after `start`."""
        begun = self._next
        while self._next < len(self._spans) and self._spans[self._next].start < end:
            self._next += 1
        passed = (*self._reached, *self._spans[begun : self._next])
        self._reached = [span for span in passed if span.end > start]
        return self._reached


def _lines(chunk: Chunk, start: int, end: int, spans: _Spans) -> Iterator[Line]:
    if start >= end:
        return
    position = start
    for text in chunk.text[start:end].split("\n"):
        over = spans.over(position, position + len(text))
        quoted = any(isinstance(span.style, Quoted) for span in over)
        yield Line(tuple(_runs(text, position, over)), quoted)
        position += len(text) + 1


def _runs(text: str, position: int, spans: Sequence[FlatSpan]) -> Iterator[Run]:
    for left, right, over in stretches(spans, position, position + len(text)):
        marks: set[Mark] = set()
        url: str | None = None
        level: int | None = None
        for span in over:
            match span.style:
                case Mark() as mark:
                    marks.add(mark)
                case Link(target):
                    url = target
                case Title(number):
                    level = number
                case Preformatted() | Quoted():
                    pass
        yield Run(text[left - position : right - position], frozenset(marks), url, level)
