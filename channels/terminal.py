"""Blocks as styled lines of a terminal.

`render` promises: every visible character of the blocks is in the lines, in order, and nothing that steers a
terminal; an address that a link hides behind other words follows them in parentheses. Nothing raises because
of the text. Code is never wrapped, so that it can be copied as it is; a table that is wider than the screen
becomes one line for each cell, with the column's title.
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

# Text that cannot steer a terminal, nor look like other text than it is.
#
# Terminals obey control characters, and reorder what stands between bidirectional ones: a command could be
# shown as another one. People choose their names, models and tools write what they like; all of it goes
# through here before it is shown.

NOT_SHOWN = "\ufffd"
_JOINERS = "\u200c\u200d"
"""Between letters of Persian and Indian scripts, and within emoji: they change shapes, not the order."""
_DROPPED = "\u00ad\u200b\u2060\ufeff"
"""Where a line may be broken; nothing of them is to be seen."""


class _Table(dict[int, int | str]):
    """For str.translate; filled as characters come along."""

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
    """`text` as it may be written to a terminal: lines and tabs are kept; what is left of control characters
    (see `showable`), format characters that hide or reorder, and lone surrogates are U+FFFD or dropped."""
    return text if text.isascii() and text.isprintable() else showable(text).translate(_TABLE)


def visible_line(text: str) -> str:
    """The same on one line."""
    return " ".join(visible(text).split())


LEAST_COLUMNS = 10
"""Narrower than this nothing is wrapped any more: deep nesting has used up the screen."""
RULE_COLUMNS = 40
TAB_COLUMNS = 4
DIM = "dim"
_MARKS = {Mark.BOLD: "bold", Mark.ITALIC: "italic", Mark.STRIKE: "strike", Mark.CODE: "cyan"}
_WRAPPING = Console(width=80, color_system=None)


def render(blocks: Sequence[Block], columns: int | None) -> list[Line]:
    """The lines that show `blocks`; `columns`: the width they are wrapped to, None for not at all."""
    return _stacked(blocks, columns, apart=True)


def styled(text: str, style: str = "") -> Line:
    """A text in one style, made safe and one line, to be put together with others."""
    return marked(visible_line(text), style)


def marked(text: str, style: str) -> Line:
    """The program's own words in one style, to be put together with others."""
    return Line.assemble((text, style))


def prefixed(lines: Iterable[Line], prefix: Line) -> list[Line]:
    """Every line after `prefix`."""
    return [prefix + line for line in lines]


def wrapped(line: Line, columns: int | None) -> list[Line]:
    """A text of one or several lines, each at most `columns` wide."""
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
    """Without styles, with the addresses of its links."""
    return Text(visible_line(_text(cell).plain))


def _records(table: Table, columns: int) -> list[Line]:
    """The titles alone, then each row as lines of `title: cell`."""
    lines = wrapped(Line(" | ".join(cell.text for cell in table.header), "bold"), columns)
    for row in table.rows:
        lines.append(Line())
        for title, cell in zip(table.header, row, strict=True):
            lines.extend(wrapped(Line.assemble((f"{title.text}: ", DIM), cell.text), columns))
    return lines


# --- running text ---------------------------------------------------------------------------------------


def _text(content: Text, style: str = "") -> Line:
    """Built piece by piece between the edges of spans, which nest: what is dropped would move positions."""
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
    """Where a link leads, unless its words say so."""
    words = text[span.start : span.end]
    if not isinstance(span.style, Link) or span.style.url in (words, f"mailto:{words}"):
        return Line()
    return marked(f" ({visible_line(span.style.url)})", DIM)


def _less(columns: int | None, by: int) -> int | None:
    return None if columns is None else columns - by


# Styled lines as the bytes a terminal understands: the only place that writes escape sequences.

_CONSOLE = Console(width=80, color_system="standard", force_terminal=True)


def painted(lines: Iterable[Line], *, colours: bool) -> str:
    """The lines, each ended by a line break; with `colours` styled by SGR sequences (ECMA-48 8.3.117), and
    otherwise by nothing."""
    return "".join(f"{_painted(line) if colours else line.plain}\n" for line in lines)


def _painted(line: Line) -> str:
    base = _CONSOLE.get_style(line.style)
    return "".join(
        (base + segment.style if segment.style else base).render(
            segment.text, color_system=ColorSystem.STANDARD
        )
        for segment in line.render(_CONSOLE)
    )
