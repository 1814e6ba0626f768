"""Tables as lines of monospaced text whose columns line up on the screen.

Widths are display columns (`wcwidth`): a Chinese character or an emoji takes two, a combining mark none, a
ZWJ sequence two in all.
"""

from channels.blocks import Alignment, Table

MAX_PADDED_COLUMNS = 40
"""A cell wider than this sticks out of its column instead of widening every row of it: one long cell must not
multiply the size of the whole table."""

_BETWEEN_CELLS = " | "


def table_lines(table: Table) -> tuple[str, ...]:
    """Header, a line of dashes, then the rows; no line ends in spaces."""
    header = tuple(_one_line(cell.text) for cell in table.header)
    rows = tuple(tuple(_one_line(cell.text) for cell in row) for row in table.rows)
    widths = tuple(_column_width(cells) for cells in zip(header, *rows, strict=True))
    return (
        _line(header, widths, table.alignments),
        "-+-".join("-" * width for width in widths),
        *(_line(row, widths, table.alignments) for row in rows),
    )


def display_width(text: str) -> int:
    """Columns that `text` (one line, no control characters) takes in a monospaced font."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth  # its tables take six megabytes, which a hub without such text need not hold

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
