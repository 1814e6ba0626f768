"""Blocks as styled lines of a terminal.

`render` guarantees that every visible character of the blocks appears in order, with nothing that
controls the terminal. A link's URL follows in parentheses if its text does not show it. No text
raises an error. Code is never wrapped, so that it can be copied unchanged. A table wider than the
screen becomes one line per cell, with the column's title.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import assert_never

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.text import Text as Line

from channels.text.blocks import (
    Block,
    CodeBlock,
    Heading,
    Link,
    List,
    Mark,
    Paragraph,
    Quote,
    Rule,
    Span,
    Style,
    Table,
    Text,
    showable,
)
from channels.text.layout import table_lines

# Text that cannot control a terminal, nor look like a different text.
#
# Terminals obey control characters and reorder text between bidirectional ones: one command could
# be shown as another. People choose their names freely, and models and tools write anything. All of
# it passes through here before it is shown.

NOT_SHOWN = "\ufffd"
_JOINERS = "\u200c\u200d"
"""The joiners between letters of Persian and Indian scripts, and within emoji. They change shapes, not
the order."""
_DROPPED = "\u00ad\u200b\u2060\ufeff"
"""Invisible characters that mark possible line breaks."""


class _Table(dict[int, int | str]):
    """A table for str.translate, filled as characters occur."""

    def __missing__(self, code: int) -> int | str:
        self[code] = shown = _shown(code)
        return shown


def _shown(code: int) -> int | str:
    character = chr(code)
    if character in _DROPPED:
        return ""
    if character in "\n\t" or character in _JOINERS:
        return code
    category = unicodedata.category(character)
    return NOT_SHOWN if category in {"Cc", "Cf", "Cs", "Zl", "Zp"} else code


_TABLE = _Table()


def visible(text: str) -> str:
    """Return `text` in a form that is safe to write to a terminal. Lines and tabs are kept.

    Remaining control characters (see `showable`), format characters that hide or reorder text, and lone
    surrogates become U+FFFD or are dropped."""
    return text if text.isascii() and text.isprintable() else showable(text).translate(_TABLE)


def visible_line(text: str) -> str:
    """Return `visible` text on one line."""
    return " ".join(visible(text).split())


LEAST_COLUMNS = 10
"""The minimum width for wrapping. Below it, deep nesting has used up the screen and nothing is
wrapped."""
RULE_COLUMNS = 40
TAB_COLUMNS = 4
DIM = "dim"
_MARKS = {Mark.BOLD: "bold", Mark.ITALIC: "italic", Mark.STRIKE: "strike", Mark.CODE: "cyan"}
_WRAPPING = Console(width=80, color_system=None)


def render(blocks: Sequence[Block], columns: int | None) -> list[Line]:
    """Return the lines that show `blocks`. `columns`: the width for wrapping, None for no wrapping."""
    return _stacked(blocks, columns, apart=True)


def styled(text: str, style: str = "") -> Line:
    """Return a text in one style, made safe and on one line, to be combined with others."""
    return marked(visible_line(text), style)


def marked(text: str, style: str) -> Line:
    """Return the program's own text in one style, to be combined with others."""
    return Line.assemble((text, style))


def prefixed(lines: Iterable[Line], prefix: Line) -> list[Line]:
    """Return every line with `prefix` before it."""
    return [prefix + line for line in lines]


def wrapped(line: Line, columns: int | None) -> list[Line]:
    """Return a text of one or several lines, each at most `columns` wide."""
    if columns is None or columns < LEAST_COLUMNS:
        return list(line.split(allow_blank=True))
    lines = list(line.wrap(_WRAPPING, columns, overflow="fold", tab_size=TAB_COLUMNS))
    for each in lines:
        each.rstrip()
    return lines


def _stacked(blocks: Sequence[Block], columns: int | None, *, apart: bool) -> list[Line]:
    lines: list[Line] = []
    for block in blocks:
        shown = _block(block, columns)
        if lines and shown and apart:
            lines.append(Line())
        lines.extend(shown)
    return lines


def _block(block: Block, columns: int | None) -> list[Line]:
    match block:
        case Paragraph(content):
            return wrapped(_text(content), columns)
        case Heading(level, content):
            return wrapped(_text(content, "bold underline" if level == 1 else "bold"), columns)
        case CodeBlock():
            return _code(block)
        case Quote(children):
            bar = marked("│ ", DIM)
            return prefixed(_stacked(children, _less(columns, 2), apart=True), bar)
        case List():
            return _list(block, columns)
        case Table():
            return _table(block, columns)
        case Rule():
            return [Line("─" * min(columns or RULE_COLUMNS, RULE_COLUMNS), DIM)]
        case _:
            assert_never(block)


def _code(block: CodeBlock) -> list[Line]:
    code = Line(visible(block.code).expandtabs(TAB_COLUMNS), "cyan")
    language = visible_line(block.language)
    return [Line(f"╭─ {language}".rstrip(), DIM), *code.split(allow_blank=True), Line("╰─", DIM)]


def _list(block: List, columns: int | None) -> list[Line]:
    lines: list[Line] = []
    for number, children in enumerate(block.items):
        if number and not block.tight:
            lines.append(Line())
        marker = "• " if block.start is None else f"{block.start + number}. "
        indent = Line(" " * len(marker))
        inner = _stacked(children, _less(columns, len(marker)), apart=not block.tight) or [Line()]
        lines.append(Line(marker) + inner[0])
        lines.extend(prefixed(inner[1:], indent))
    return lines


# --- tables ---------------------------------------------------------------------------------------------


def _table(table: Table, columns: int | None) -> list[Line]:
    safe = Table(
        table.alignments,
        tuple(_cell(cell) for cell in table.header),
        tuple(tuple(_cell(cell) for cell in row) for row in table.rows),
    )
    header, *rows = table_lines(safe)
    if columns is not None and max(cell_len(line) for line in (header, *rows)) > columns:
        return _records(safe, columns)
    return [Line(header, "bold"), *(Line(line) for line in rows)]


def _cell(cell: Text) -> Text:
    """Return a cell without styles, with the URLs of its links."""
    return Text(visible_line(_text(cell).plain))


def _records(table: Table, columns: int) -> list[Line]:
    """Return the titles alone, then each row as lines of `title: cell`."""
    lines = wrapped(Line(" | ".join(cell.text for cell in table.header), "bold"), columns)
    for row in table.rows:
        lines.append(Line())
        for title, cell in zip(table.header, row, strict=True):
            lines.extend(wrapped(Line.assemble((f"{title.text}: ", DIM), cell.text), columns))
    return lines


# --- running text ---------------------------------------------------------------------------------------


def _text(content: Text, style: str = "") -> Line:
    """Build a line piece by piece between the edges of nested spans, because dropped characters shift
    positions."""
    line = Line(style=style)
    edges = {edge for span in content.spans for edge in (span.start, span.end)}
    prerender = list(reversed(content.spans))
    within: list[Span] = []
    for start, end in pairwise(sorted({0, *edges, len(content.text)})):
        while prerender and prerender[-1].start == start:
            within.append(prerender.pop())
        line.append(visible(content.text[start:end]), " ".join(_look(span.style) for span in within))
        while within and within[-1].end == end:
            line.append(_address(content.text, within.pop()))
    return line


def _look(style: Style) -> str:
    match style:
        case Mark():
            return _MARKS[style]
        case Link():
            return "underline"
        case _:
            assert_never(style)


def _address(text: str, span: Span) -> Line:
    """Return a link's URL, unless its text shows it already."""
    words = text[span.start : span.end]
    if not isinstance(span.style, Link) or span.style.url in (words, f"mailto:{words}"):
        return Line()
    return marked(f" ({visible_line(span.style.url)})", DIM)


def _less(columns: int | None, by: int) -> int | None:
    return None if columns is None else columns - by


# Styled lines as the bytes that a terminal understands: the only place that writes escape
# sequences.

_CONSOLE = Console(width=80, color_system="standard", force_terminal=True)


def painted(lines: Iterable[Line], *, colours: bool) -> str:
    """Return the lines, each ended by a line break.

    With `colours` they are styled by SGR sequences (ECMA-48 8.3.117), otherwise not at all."""
    return "".join(f"{_painted(line) if colours else line.plain}\n" for line in lines)


def _painted(line: Line) -> str:
    base = _CONSOLE.get_style(line.style)
    return "".join(
        (base + segment.style if segment.style else base).render(
            segment.text, color_system=ColorSystem.STANDARD
        )
        for segment in line.render(_CONSOLE)
    )
