"""Blocks laid out as one long text with styles, ready to be cut into messages.

Elements that no platform element covers become text here: list markers, indentation, the columns of
a table. Elements that a platform may have stay styles: titles, quotations, preformatted lines.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, assert_never

from channels.text.blocks import (
    Alignment,
    Block,
    CodeBlock,
    Heading,
    Link,
    List,
    Paragraph,
    Quote,
    Rule,
    Style,
    Table,
    Text,
)

# Tables as lines of monospaced text whose columns align on the screen.
#
# Widths are display columns (`wcwidth`): a Chinese character or an emoji takes two, a combining
# mark none, a ZWJ sequence two in all.

MAX_PADDED_COLUMNS = 40
"""The maximum padded width. A wider cell extends past its column instead of widening every row: one
long cell must not multiply the size of the whole table."""

_BETWEEN_CELLS = " | "


def table_lines(table: Table) -> tuple[str, ...]:
    """Return the header, a line of dashes, and the rows. No line ends in spaces."""
    header = tuple(_one_line(cell.text) for cell in table.header)
    rows = tuple(tuple(_one_line(cell.text) for cell in row) for row in table.rows)
    widths = tuple(_column_width(cells) for cells in zip(header, *rows, strict=True))
    return (
        _line(header, widths, table.alignments),
        "-+-".join("-" * width for width in widths),
        *(_line(row, widths, table.alignments) for row in rows),
    )


def display_width(text: str) -> int:
    """Return the columns that `text` (one line, no control characters) takes in a monospaced font."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth  # its tables take 6 MB, which a hub without such text need not load

    return max(wcswidth(text), 0)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _column_width(cells: tuple[str, ...]) -> int:
    widths = [display_width(cell) for cell in cells]
    return max([width for width in widths if width <= MAX_PADDED_COLUMNS], default=MAX_PADDED_COLUMNS)


def _line(cells: tuple[str, ...], widths: tuple[int, ...], alignments: tuple[Alignment, ...]) -> str:
    padded = (
        _padded(cell, width, alignment)
        for cell, width, alignment in zip(cells, widths, alignments, strict=True)
    )
    return _BETWEEN_CELLS.join(padded).rstrip()


def _padded(cell: str, width: int, alignment: Alignment) -> str:
    room = max(width - display_width(cell), 0)
    match alignment:
        case "left":
            return cell + " " * room
        case "right":
            return " " * room + cell
        case "center":
            return " " * (room // 2) + cell + " " * (room - room // 2)


RULE = "———"
BULLET = "•"
INDENT = "    "
"""The indentation of everything in a list item except its first line."""
MAX_INDENT = 8 * INDENT
"""The maximum indentation. Lists nested deeper are indented no further, so that short lines stay
short."""
BETWEEN_LINKS = " · "


@dataclass(frozen=True, slots=True)
class Title:
    """A heading of `level` 1 to 6."""

    level: int


@dataclass(frozen=True, slots=True)
class Quoted:
    """A quotation. It may lie in another one."""


@dataclass(frozen=True, slots=True)
class Preformatted:
    """Lines shown unchanged in a monospaced font. They are code if they have a `language`."""

    language: str = ""


FlatStyle = Style | Title | Quoted | Preformatted


class FlatSpan(NamedTuple):
    """A `style` from code point `start` up to but not including `end`."""

    start: int
    end: int
    style: FlatStyle


@dataclass(frozen=True, slots=True)
class FlatText:
    """Text with nested styles.

    `spans`: ordered by their starts, outer before inner. They never partly overlap, and none lies in
    preformatted lines.
    `block_starts`: the ascending positions (never 0) of new blocks, which are the best places to cut. A
    block directly after a title is not included, because a title stays with its text.
    """

    text: str
    spans: tuple[FlatSpan, ...] = ()
    block_starts: tuple[int, ...] = ()


def lay_out(blocks: Sequence[Block], *, tab_columns: int | None = None) -> FlatText:
    """Lay out `blocks` one below the other.

    `tab_columns`: replaces tabs in code by spaces up to the next multiple of this number, for platforms
    that cannot show a tab. None keeps them.
    """
    page = _Page(tab_columns)
    page.put_blocks(blocks, indent="", gap="\n\n")
    return page.flat_text()


class _Page:
    """A page that takes blocks from top to bottom."""

    def __init__(self, tab_columns: int | None) -> None:
        self._tab_columns = tab_columns
        self._parts: list[str] = []
        self._length = 0
        self._spans: list[FlatSpan | None] = []
        self._block_starts: list[int] = []

    def flat_text(self) -> FlatText:
        spans = [span for span in self._spans if span is not None and span.start < span.end]
        return FlatText("".join(self._parts), tuple(spans), tuple(self._block_starts))

    def put_blocks(self, blocks: Sequence[Block], indent: str, gap: str) -> None:
        previous: Block | None = None
        for block in blocks:
            if _is_blank(block):
                continue
            if previous is not None:
                self._new_block(gap, keep=isinstance(previous, Heading))
            self._put(block, indent)
            previous = block

    def _new_block(self, gap: str, *, keep: bool = False) -> None:
        self._write(gap)
        if not keep:
            self._block_starts.append(self._length)

    def _put(self, block: Block, indent: str) -> None:
        match block:
            case Paragraph() | Heading():
                self._put_text(block, indent, before=indent)
            case CodeBlock(code, language):
                self._put_code(code, language)
            case Quote(children):
                place, start = self._open()
                self.put_blocks(children, indent="", gap="\n\n")
                self._close(place, start, Quoted())
            case List():
                self._put_list(block, indent)
            case Table():
                self._put_table(block)
            case Rule():
                self._write(indent + RULE)
            case _:
                assert_never(block)

    def _put_text(self, block: Paragraph | Heading, indent: str, *, before: str) -> None:
        if before:
            self._write(before)
        match block:
            case Paragraph(content):
                self._write_text(content, indent)
            case Heading(level, content):
                place, start = self._open()
                self._write_text(content, indent)
                self._close(place, start, Title(level))
            case _:
                assert_never(block)

    def _put_code(self, code: str, language: str) -> None:
        place, start = self._open()
        self._write(code if self._tab_columns is None else code.expandtabs(self._tab_columns))
        self._close(place, start, Preformatted(language))

    def _put_list(self, block: List, indent: str) -> None:
        gap = "\n" if block.tight else "\n\n"
        for number, children in enumerate(block.items):
            if number:
                self._new_block(gap)
            marker = BULLET if block.start is None else f"{block.start + number}."
            inner = indent if len(indent) >= len(MAX_INDENT) else indent + INDENT
            self._put_item(indent + marker, children, inner, gap)

    def _put_item(self, marker: str, children: Sequence[Block], indent: str, gap: str) -> None:
        shown = [child for child in children if not _is_blank(child)]
        match shown:
            case []:
                self._write(marker)
            case [Paragraph() | Heading() as first, *rest]:
                self._put_text(first, indent, before=f"{marker} ")
                if rest:
                    self._new_block(gap, keep=isinstance(first, Heading))
                    self.put_blocks(rest, indent, gap)
            case _:
                self._write(f"{marker}\n")
                self.put_blocks(shown, indent, gap)

    def _put_table(self, table: Table) -> None:
        place, start = self._open()
        self._write("\n".join(table_lines(table)))
        self._close(place, start, Preformatted())
        # Preformatted lines hold no links, so those of the cells follow the table.
        for number, (label, link) in enumerate(_links_of(table)):
            self._write(BETWEEN_LINKS if number else "\n")
            place, start = self._open()
            self._write(label)
            self._close(place, start, link)

    def _write(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)

    def _write_text(self, content: Text, indent: str) -> None:
        base = self._length
        if not indent or "\n" not in content.text:
            self._write(content.text)
            self._spans += [FlatSpan(base + s.start, base + s.end, s.style) for s in content.spans]
            return
        breaks = [position for position, char in enumerate(content.text) if char == "\n"]

        def shifted(position: int) -> int:
            return base + position + len(indent) * bisect_left(breaks, position)

        self._write(content.text.replace("\n", "\n" + indent))
        self._spans.extend(FlatSpan(shifted(s.start), shifted(s.end), s.style) for s in content.spans)

    def _open(self) -> tuple[int, int]:
        """Reserve a place among the spans, before those of the text written next."""
        self._spans.append(None)
        return len(self._spans) - 1, self._length

    def _close(self, place: int, start: int, style: FlatStyle) -> None:
        self._spans[place] = FlatSpan(start, self._length, style)


def _is_blank(block: Block) -> bool:
    match block:
        case Paragraph(content) | Heading(_, content):
            return not content.text.strip()
        case CodeBlock(code):
            return not code.strip()
        case Quote(children):
            return all(_is_blank(child) for child in children)
        case List() | Table() | Rule():
            return False
        case _:
            assert_never(block)


def _links_of(table: Table) -> Iterator[tuple[str, Link]]:
    for row in (table.header, *table.rows):
        for cell in row:
            for span in cell.spans:
                label = " ".join(cell.text[span.start : span.end].split())
                if label and isinstance(span.style, Link):
                    yield label, span.style
