"""Formatted text as plain values: blocks contain texts, and texts contain spans. It is independent of
any platform.

Positions in spans count code points. Texts contain no character that a chat cannot show: see
`showable`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Literal, NamedTuple, Protocol, TypeVar

from core import messages
from core.off_loop import ON_LOOP_CHARS

_COSTLY = "[]!*_~`<&|#>\n"
"""Characters that make Markdown slow to parse."""
_SIGNS_WEIGH = 8
_FEW_CHARS = 256
"""The length up to which texts are not searched for such characters: each character counts as one."""


class Mark(Enum):
    """A text style."""

    BOLD = "bold"
    ITALIC = "italic"
    STRIKE = "strike"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Link:
    """A run of text that opens `url`, an http, https or mailto address."""

    url: str


Style = Mark | Link


class Span(NamedTuple):
    """A `style` from `start` up to but not including `end`. Spans of one text nest, but never partly
    overlap."""

    start: int
    end: int
    style: Style


class Stretch(Protocol):
    """Anything from `start` up to but not including `end`."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


S = TypeVar("S", bound=Stretch)


def stretches(spans: Iterable[S], start: int, end: int) -> Iterator[tuple[int, int, tuple[S, ...]]]:
    """Yield the stretches between two positions that lie under the same spans, with these, outer ones
    first.

    The spans must nest and be ordered by their starts. It takes one pass, whatever their number.
    """
    over: list[S] = []
    at = start
    for span in spans:
        if span.end <= at or span.start >= end:
            continue
        while over and over[-1].end <= span.start:
            if at < over[-1].end:
                yield at, over[-1].end, tuple(over)
                at = over[-1].end
            over.pop()
        if at < span.start:
            yield at, span.start, tuple(over)
            at = span.start
        over.append(span)
    while over:
        last = min(over[-1].end, end)
        if at < last:
            yield at, last, tuple(over)
            at = last
        over.pop()
    if at < end:
        yield at, end, ()


@dataclass(frozen=True, slots=True)
class Text:
    """Lines of text; a line break is one LF. Spans are ordered by their starts, outer ones first."""

    text: str
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text."""

    content: Text


@dataclass(frozen=True, slots=True)
class Heading:
    """A title; `level` is 1 (highest) to 6."""

    level: int
    content: Text


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Code without its closing line break; `language` is one word, or empty."""

    code: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Quote:
    """A quotation."""

    children: "tuple[Block, ...]"


@dataclass(frozen=True, slots=True)
class List:
    """A list whose items contain blocks. It is numbered from `start`, or bulleted if `start` is None.

    `tight`: written without empty lines between the items.
    """

    items: "tuple[tuple[Block, ...], ...]"
    start: int | None = None
    tight: bool = True


Alignment = Literal["left", "center", "right"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table. `alignments`, `header` and each of `rows` have one entry per column."""

    alignments: tuple[Alignment, ...]
    header: tuple[Text, ...]
    rows: tuple[tuple[Text, ...], ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal line."""


Block = Paragraph | Heading | CodeBlock | Quote | List | Table | Rule


_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSHOWABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_REPLACEMENTS: dict[int, str | None] = {
    **dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)]),  # control characters are dropped, except for:
    0x00: "\ufffd",  # as CommonMark requires
    0x09: "\t",
    0x0A: "\n",
    0x0B: " ",
    0x0C: " ",
    0x0D: "\n",
    0x85: "\n",
    0x2028: "\n",
    0x2029: "\n",
}


def showable(text: str) -> str:
    """Return `text` without characters that no chat can show. Never raises.

    NUL and lone surrogates become U+FFFD. Carriage return (CR LF counts once), next line and the line
    and paragraph separators become line breaks. Vertical tab and form feed become a space. Other
    control characters except the tab are dropped.
    """
    if not _UNSHOWABLE.search(text):
        return text
    return mend_surrogates(text).replace("\r\n", "\n").translate(_REPLACEMENTS)


def mend_surrogates(text: str) -> str:
    """Return `text` as valid UTF-8 and UTF-16: surrogate pairs become their character, lone ones U+FFFD."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def weight(said: Iterable[messages.Block]) -> int:
    """Return the cost of rendering this, in characters of plain text."""
    chars = 0
    for part in said:
        text = part.text
        chars += len(text)
        if isinstance(part, messages.Markdown) and len(text) <= ON_LOOP_CHARS:
            signs = len(text) if len(text) <= _FEW_CHARS else sum(map(text.count, _COSTLY))
            chars += _SIGNS_WEIGH * signs
    return chars
