"""Chunking of a laid-out text into messages that a platform accepts.

The cut falls at the best place that fits, in this order: between blocks, between lines, between
words, between graphemes. Text that fits into one message by itself is not cut: a block is cut only
if it is larger than a message, and so on down to a grapheme, which is cut between two code points.
A style that is cut continues in the next message: a block of code is opened again with its
language.

Only whitespace is ever lost, and only at a cut:
- the end of every chunk is trimmed, and chunks of only whitespace are left out;
- outside preformatted text, whitespace after the cut is removed, too;
- inside preformatted text, only the one line break or space at the cut is removed, so that the
  next line keeps its indentation; more is removed if the text after it would otherwise be cut.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from channels.text.blocks import Link, Mark, stretches
from channels.text.layout import FlatSpan, FlatText, Preformatted, Quoted, Title

if TYPE_CHECKING:
    import regex


_SPACE = re.compile(r"\s")


@cache
def _graphemes() -> "regex.Pattern[str]":
    import regex  # 1 MB, needed only for texts longer than a message without any space

    return regex.compile(r"\X")


@dataclass(frozen=True, slots=True)
class Chunk:
    """The text of one message. `spans`: as in FlatText, within `text`, none of them empty."""

    text: str
    spans: tuple[FlatSpan, ...]


Fits = Callable[[Chunk], bool]
"""Returns whether the platform accepts a chunk as one message, with escapes and markup counted. A
chunk that fits must still fit with its end cut off."""


def split(flat: FlatText, max_chars: int, fits: Fits) -> tuple[Chunk, ...]:
    """Return the chunks of `flat`, in order. Each fits, unless a single code point does not.

    `max_chars`: more code points than this never fit (on no platform does a character count less than
    one unit). It limits the search, so a text as long as a book takes time in proportion to its length.
    """
    return _Cutter(flat, max_chars, fits).cut()


class _Cutter:
    """A cutter that passes through the text once, front to back."""

    def __init__(self, flat: FlatText, max_chars: int, fits: Fits) -> None:
        self._text = flat.text
        self._spans = flat.spans
        self._block_starts = flat.block_starts
        self._code = [span for span in flat.spans if isinstance(span.style, Preformatted)]
        self._code_starts = [span.start for span in self._code]
        self._max_chars = max_chars
        self._fits = fits
        self._reached: list[FlatSpan] = []  # spans begun before the current chunk that continue in it
        self._guess_chars = max_chars
        self._next_span = 0  # the first span that begins in the current chunk or later
        self._tried = (-1, -1, Chunk("", ()))  # the newest chunk with its ends, usually wanted twice

    def cut(self) -> tuple[Chunk, ...]:
        chunks: list[Chunk] = []
        start = self._skip_space(0)
        while start < len(self._text):
            self._advance_spans(start)
            furthest = self._furthest(start)
            end = furthest if furthest == len(self._text) else self._best_cut(start, furthest)
            if end == start:  # a space in code, left out so that the text after it fits whole
                start += 1
                continue
            chunk = self._chunk(start, end)
            if chunk.text:
                chunks.append(chunk)
            start = self._skip_space(end)
        return tuple(chunks)

    # ------------------------------------------------------------ cuts

    def _furthest(self, start: int) -> int:
        """Return the last position up to which the text from `start` fits, at least one code point
        further."""
        last = min(len(self._text), start + self._max_chars)
        # The last fitting size is a good guess: if little fits, large sizes are not tried repeatedly.
        while start + self._guess_chars < last and self._fits(self._chunk(start, start + self._guess_chars)):
            self._guess_chars *= 2
        last = min(last, start + self._guess_chars)
        if not self._fits(self._chunk(start, last)):
            ends = range(start + 1, last)
            too_far = bisect_left(ends, True, key=lambda end: not self._fits(self._chunk(start, end)))
            last = max(start + too_far, start + 1)
        self._guess_chars = 2 * (last - start)
        while last < len(self._text) and self._text[last].isspace():  # trimmed, so it takes no room
            last += 1
        return last

    def _best_cut(self, start: int, furthest: int) -> int:
        """Return the end of the chunk. It equals `start` only if a space is there."""
        for cut, unit_start, unit_end in (
            self._block_cut(start, furthest),
            self._line_cut(start, furthest),
            self._word_cut(start, furthest),
        ):
            if cut >= start and self._fits_alone(unit_start, unit_end):
                return cut
        return self._grapheme_cut(start, furthest)

    def _block_cut(self, start: int, furthest: int) -> tuple[int, int, int]:
        """Return the last cut between blocks and the bounds of the next block. A cut at -1 means none."""
        after = bisect_right(self._block_starts, furthest)
        cut = self._block_starts[after - 1] if after else -1
        cut = cut if cut > start else -1
        end = self._block_starts[after] if after < len(self._block_starts) else len(self._text)
        return cut, cut, end

    def _line_cut(self, start: int, furthest: int) -> tuple[int, int, int]:
        """Return the last line break and the bounds of the line after it.

        In code, a line that begins at the margin is preferred if the message is at least half full, because
        platforms trim the spaces at a message's beginning.
        """
        cut = self._text.rfind("\n", start, furthest + 1)
        if cut >= 0 and self._in_code(cut):
            unindented = self._unindented(cut, (start + furthest) // 2)
            cut = cut if unindented is None else unindented
        return cut, cut + 1, self._line_end(cut + 1)

    def _line_end(self, start: int) -> int:
        """Return the end of the line, if it may fit into a message. Spaces at its end take no room."""
        last = start + self._max_chars
        while last < len(self._text) and self._text[last] != "\n" and self._text[last].isspace():
            last += 1
        end = self._text.find("\n", start, last + 1)
        return len(self._text) if end < 0 else end

    def _unindented(self, last: int, first: int) -> int | None:
        """Return the last line break from `first` to `last` that is followed by an unindented
        line, if any."""
        at = last
        while at >= first:
            if at + 1 < len(self._text) and not self._text[at + 1].isspace():
                return at
            at = self._text.rfind("\n", 0, at)
        return None

    def _word_cut(self, start: int, furthest: int) -> tuple[int, int, int]:
        """Return the last whitespace and the bounds of the word after it."""
        positions = range(min(furthest, len(self._text) - 1), start - 1, -1)
        cut = next((at for at in positions if self._text[at].isspace()), -1)
        if cut < 0:
            return -1, start, start
        end = _SPACE.search(self._text, cut + 1, furthest + self._max_chars + 1)
        return cut, cut + 1, end.start() if end else len(self._text)

    def _grapheme_cut(self, start: int, furthest: int) -> int:
        cut = start
        # One that continues past the end is cut there; a character may carry thousands of marks.
        for grapheme in _graphemes().finditer(self._text, start, furthest + 1):
            if grapheme.end() > furthest:
                break
            cut = grapheme.end()
        return cut if cut > start else furthest

    def _fits_alone(self, start: int, end: int) -> bool:
        while end > start and self._text[end - 1].isspace():  # trimmed, so it takes no room
            end -= 1
        return end - start <= self._max_chars and self._fits(self._chunk(start, end))

    # ------------------------------------------------------------ contents

    def _skip_space(self, position: int) -> int:
        """Return the start of the next chunk after a cut at `position`."""
        if self._in_code(position):
            at_space = position and self._in_code(position - 1) and self._text[position].isspace()
            return position + 1 if at_space else position
        while position < len(self._text) and self._text[position].isspace() and not self._in_code(position):
            position += 1
        return position

    def _in_code(self, position: int) -> bool:
        """Return whether the character at `position` belongs to preformatted text."""
        before = bisect_right(self._code_starts, position)
        return before > 0 and position < self._code[before - 1].end

    def _advance_spans(self, start: int) -> None:
        begun = self._next_span
        while self._next_span < len(self._spans) and self._spans[self._next_span].start < start:
            self._next_span += 1
        passed = (*self._reached, *self._spans[begun : self._next_span])
        self._reached = [span for span in passed if span.end > start]

    def _chunk(self, start: int, end: int) -> Chunk:
        """Return the text from `start` to `end`, trimmed, with its part of the spans.

        `start` must not lie before the current chunk.
        """
        if self._tried[0] != start or self._tried[1] != end:
            self._tried = start, end, self._made(start, end)
        return self._tried[2]

    def _made(self, start: int, end: int) -> Chunk:
        text = self._text[start:end].rstrip()
        end = start + len(text)
        spans: list[FlatSpan] = []
        for span in self._reached:
            _add_part(spans, span, start, end)
        for index in range(self._next_span, len(self._spans)):
            span = self._spans[index]
            if span.start >= end:
                break
            _add_part(spans, span, start, end)
        return Chunk(text, tuple(spans))


def _add_part(parts: list[FlatSpan], span: FlatSpan, start: int, end: int) -> None:
    first = span.start if span.start > start else start
    last = span.end if span.end < end else end
    if first < last:
        parts.append(FlatSpan(first - start, last - start, span.style))


# A chunk as lines of runs, for platforms whose formatting surrounds each stretch of text.


@dataclass(frozen=True, slots=True)
class Run:
    """Text without a line break, all in the same styles. `level`: of a title's text."""

    text: str
    marks: frozenset[Mark] = frozenset()
    url: str | None = None
    level: int | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One line of running text. `quoted`: it belongs to a quotation."""

    runs: tuple[Run, ...]
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Code:
    """Preformatted lines."""

    text: str
    language: str = ""


Part = Line | Code


def parts_of(chunk: Chunk) -> Iterator[Part]:
    """Yield the parts of a chunk: preformatted stretches as a whole, the text between them line by line.

    The line breaks between a preformatted stretch and its neighbors belong to neither.
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
    """A reader that returns the spans of successive lines, from top to bottom."""

    def __init__(self, spans: Sequence[FlatSpan]) -> None:
        self._spans = spans
        self._next = 0
        self._reached: list[FlatSpan] = []

    def over(self, start: int, end: int) -> list[FlatSpan]:
        """Return the spans that begin before `end` and end after `start`."""
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
