"""Columns of a table line up on the screen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.text.blocks import Alignment, Table, Text
from channels.text.layout import MAX_PADDED_COLUMNS, table_lines

COLUMNS_OF = {
    "a": 1,
    "Z": 1,
    "e\u0301": 1,
    "ш": 1,
    "א": 1,
    "中": 2,
    "한": 2,
    "ア": 2,
    "Ａ": 2,
    "😀": 2,
    "👍🏽": 2,
    "🇩🇪": 2,
    "👩‍👩‍👧‍👦": 2,
}
"""What terminals and monospaced fonts give each of these, written down by hand."""


def table(alignments: tuple[Alignment, ...], *rows: tuple[str, ...]) -> Table:
    header, *others = (tuple(Text(cell) for cell in row) for row in rows)
    return Table(alignments, header, tuple(others))


def test_columns_with_chinese_and_emoji_line_up() -> None:
    header, ones, thousands = ("名称", "Qty", "ok"), ("a", "1", "👩‍👩‍👧‍👦"), ("部署服务器", "1000", "no!")
    lines = table_lines(table(("left", "right", "center"), header, ones, thousands))
    assert lines == (
        "名称       |  Qty | ok",
        "-----------+------+----",
        "a          |    1 | 👩‍👩‍👧‍👦",
        "部署服务器 | 1000 | no!",
    )


def test_combining_marks_take_no_room() -> None:
    assert table_lines(table(("left", "left"), ("e\u0301te\u0301", "x"), ("abcd", "y"))) == (
        "e\u0301te\u0301  | x",
        "-----+--",
        "abcd | y",
    )


def test_centred_cells_have_room_on_both_sides() -> None:
    assert table_lines(table(("center",), ("abcde",), ("x",), ("xy",))) == ("abcde", "-----", "  x", " xy")


def test_a_cell_is_one_line() -> None:
    assert table_lines(table(("left",), ("a  b\nc",))) == ("a b c", "-----")


def test_a_long_cell_overflows_instead_of_widening_every_row() -> None:
    long = "x" * 100
    lines = table_lines(table(("left", "left"), ("name", "n"), (long, "1"), ("b", "2")))
    assert lines == ("name | n", "-----+--", f"{long} | 1", "b    | 2")


@st.composite
def tables(draw: st.DrawFn) -> Table:
    columns = draw(st.integers(1, 4))
    cell = st.lists(st.sampled_from(sorted(COLUMNS_OF)), max_size=6).map("".join)
    row = st.lists(cell, min_size=columns, max_size=columns).map(tuple)
    sides = st.lists(st.sampled_from(("left", "center", "right")), min_size=columns, max_size=columns).map(
        tuple
    )
    return table(draw(sides), *draw(st.lists(row, min_size=1, max_size=5)))


def screen_columns(text: str) -> int:
    """The width of a text made of the characters above, spaces and ASCII."""
    total = 0
    while text:
        unit = next((u for u in sorted(COLUMNS_OF, key=len, reverse=True) if text.startswith(u)), text[0])
        total += COLUMNS_OF.get(unit, 1)
        text = text.removeprefix(unit)
    return total


@given(tables())
def test_every_separator_is_below_the_one_above(drawn: Table) -> None:
    header, dashes, *rows = table_lines(drawn)
    places = [place for place, char in enumerate(dashes) if char == "+"]
    for line in (header, *rows):
        cells = line.split("|")
        found = [screen_columns("|".join(cells[:number])) for number in range(1, len(cells))]
        assert found == places[: len(found)]
        assert len(found) == len(places) or not "".join(cells[len(found) :]).strip()
    shown = "".join(line for line in (header, *rows)).replace("|", "").replace(" ", "")
    written = "".join(cell.text for row in (drawn.header, *drawn.rows) for cell in row)
    assert shown == written


@pytest.mark.parametrize("width", [MAX_PADDED_COLUMNS, MAX_PADDED_COLUMNS + 1])
def test_a_column_is_padded_up_to_a_limit(width: int) -> None:
    [_, dashes] = table_lines(table(("left",), ("x" * width,)))
    assert len(dashes) == MAX_PADDED_COLUMNS
