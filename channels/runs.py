"""A chunk as lines of runs: for platforms whose formatting is written around each stretch of text."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from channels.blocks import Link, Mark
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
    for code in chunk.spans:
        if not isinstance(code.style, Preformatted):
            continue
        yield from _lines(chunk, position, _without_break_before(chunk.text, position, code.start))
        yield Code(chunk.text[code.start : code.end], code.style.language)
        position = code.end + 1 if chunk.text.startswith("\n", code.end) else code.end
    if position < len(chunk.text):
        yield from _lines(chunk, position, len(chunk.text))


def _without_break_before(text: str, start: int, end: int) -> int:
    return end - 1 if end > start and text[end - 1] == "\n" else end


def _lines(chunk: Chunk, start: int, end: int) -> Iterator[Line]:
    if start >= end:
        return
    position = start
    for text in chunk.text[start:end].split("\n"):
        spans = [span for span in chunk.spans if span.start < position + len(text) and position < span.end]
        quoted = any(isinstance(span.style, Quoted) for span in spans)
        yield Line(tuple(_runs(text, position, spans)), quoted)
        position += len(text) + 1


def _runs(text: str, position: int, spans: list[FlatSpan]) -> Iterator[Run]:
    if not text:
        return
    end = position + len(text)
    edges = {position, end}
    for span in spans:
        edges |= {max(span.start, position), min(span.end, end)}
    cuts = sorted(edges)
    for left, right in pairwise(cuts):
        marks: set[Mark] = set()
        url: str | None = None
        level: int | None = None
        for span in spans:
            if span.start <= left and right <= span.end:
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
