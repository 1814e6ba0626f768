"""Cuts in a text that does not fit into one message."""

from collections.abc import Iterator
from itertools import pairwise

import regex
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from channels.text.blocks import Link, Mark
from channels.text.chunking import Chunk, split
from channels.text.layout import FlatSpan, FlatText, Preformatted, Quoted, lay_out
from channels.text.markdown import parse
from tests.channels.text.markdown_grammar import short_documents


def cut(flat: FlatText, limit_chars: int) -> tuple[Chunk, ...]:
    """Cut for a platform that counts code points."""
    return split(flat, limit_chars, lambda chunk: len(chunk.text) <= limit_chars)


def texts(source: str, limit_chars: int) -> list[str]:
    return [chunk.text for chunk in cut(lay_out(parse(source)), limit_chars)]


def test_the_break_after_a_block_takes_no_room() -> None:
    assert texts("123456 89\n\none  \ntwo three four\\\nfive\n\nsix", 23) == [
        "123456 89",
        "one\ntwo three four\nfive",
        "six",
    ]


def test_text_within_the_limit_stays_whole() -> None:
    assert texts("a\n\nb", 10) == ["a\n\nb"]
    assert texts("", 10) == []


def test_text_is_cut_between_blocks_rather_than_lines() -> None:
    assert texts("one\ntwo\n\nthree\nfour\n\nfive", 20) == ["one\ntwo\n\nthree\nfour", "five"]
    assert texts("one\ntwo\n\nthree\nfour\n\nfive", 17) == ["one\ntwo", "three\nfour\n\nfive"]


def test_text_is_cut_between_lines_rather_than_words() -> None:
    assert texts("one two\nthree four\nfive six seven", 19) == ["one two\nthree four", "five six seven"]


def test_text_is_cut_between_words_rather_than_inside_one() -> None:
    assert texts("one two three four five", 12) == ["one two", "three four", "five"]


def test_a_block_larger_than_a_message_begins_where_it_stands() -> None:
    """Not on a message of its own: it has to be cut anyway."""
    assert texts("intro\n\na1\na2\na3\na4\na5\na6", 13) == ["intro\n\na1\na2", "a3\na4\na5\na6"]


def test_a_word_larger_than_a_message_begins_where_it_stands() -> None:
    assert texts("x " + "y" * 25, 10) == ["x " + "y" * 8, "y" * 10, "y" * 7]


def test_a_title_stays_with_what_it_is_about() -> None:
    assert texts("para\n\npara\n\npara", 14) == ["para\n\npara", "para"]
    assert texts("para\n\n# Head\n\npara", 14) == ["para", "Head\n\npara"]


def test_items_of_a_list_are_not_cut() -> None:
    assert texts("- one two\n- three four\n- five six", 24) == ["• one two\n• three four", "• five six"]


def test_text_is_never_cut_inside_a_grapheme() -> None:
    family, flag, accent = "👩‍👩‍👧‍👦", "🇩🇪", "e\u0301"
    assert texts(family * 3, 16) == [family * 2, family]
    assert texts(flag * 5, 3) == [flag] * 5
    assert texts(accent * 3, 3) == [accent] * 3


def test_a_grapheme_larger_than_a_message_is_cut_between_code_points() -> None:
    assert texts("a" + "\u0301" * 9, 5) == ["a" + "\u0301" * 4, "\u0301" * 5]


def test_a_style_continues_in_the_next_message() -> None:
    chunks = cut(lay_out(parse("**one two [three four](https://a.b) five**")), 10)
    assert chunks == (
        Chunk("one two", (FlatSpan(0, 7, Mark.BOLD),)),
        Chunk("three four", (FlatSpan(0, 10, Mark.BOLD), FlatSpan(0, 10, Link("https://a.b")))),
        Chunk("five", (FlatSpan(0, 4, Mark.BOLD),)),
    )


def test_code_is_opened_again_with_its_language() -> None:
    chunks = cut(lay_out(parse("> ```python\n> one\n> two\n> three\n> ```")), 7)
    assert chunks == (
        Chunk("one\ntwo", (FlatSpan(0, 7, Quoted()), FlatSpan(0, 7, Preformatted("python")))),
        Chunk("three", (FlatSpan(0, 5, Quoted()), FlatSpan(0, 5, Preformatted("python")))),
    )


def test_code_keeps_its_indentation_after_a_cut() -> None:
    assert texts("```\n  a:\n    b\n    c\n    d\n```", 12) == ["  a:\n    b", "    c\n    d"]


def test_code_is_best_cut_before_a_line_at_the_margin() -> None:
    code = "def f():\n  one\n  two\ndef g():\n  one\n  two"
    assert texts(f"```\n{code}\n```", 34) == ["def f():\n  one\n  two", "def g():\n  one\n  two"]


def test_a_long_line_of_code_is_cut_between_words() -> None:
    assert texts("```\nx = [aaaa, bbbb, cccc]\n```", 11) == ["x = [aaaa,", "bbbb, cccc]"]


def test_chunks_of_nothing_but_space_are_left_out() -> None:
    assert texts("```\na" + "\n" * 50 + "b\n```", 10)[0] == "a"
    assert all(text.strip() for text in texts("```\na" + "\n" * 50 + "b\n```", 10))


def test_the_platform_decides_what_fits() -> None:
    """By markup as well as by length: here, by the number of styles."""
    flat = lay_out(parse("*a* *b* *c* *d* *e*"))
    assert [chunk.text for chunk in split(flat, 100, lambda chunk: len(chunk.spans) <= 2)] == [
        "a b",
        "c d",
        "e",
    ]


def test_text_before_a_block_does_not_count_for_it() -> None:
    chunks = split(lay_out(parse("*a* x\n\n*b* *c* y")), 100, lambda chunk: len(chunk.spans) <= 2)
    assert [chunk.text for chunk in chunks] == ["a x", "b c y"]


# ---------------------------------------------------------------- whatever the text

AS_FOUND = settings(phases=(Phase.reuse, Phase.generate))
"""To shrink a whole document takes longer than a test may."""

SOURCES = st.one_of(
    short_documents,
    st.text(st.sampled_from("ab \n-#`>*中\u0301👩\u200d🇩"), max_size=200),
)


@AS_FOUND
@given(SOURCES, st.integers(1, 60))
def test_only_whitespace_is_lost_and_only_at_cuts(source: str, limit_chars: int) -> None:
    flat = lay_out(parse(source))
    position = 0
    for chunk in cut(flat, limit_chars):
        assert chunk.text
        assert len(chunk.text) <= limit_chars
        assert chunk.text == chunk.text.rstrip()
        start = _begin(flat, position, chunk.text)
        for span in chunk.spans:
            assert 0 <= span.start < span.end <= len(chunk.text)
        position = start + len(chunk.text)
        assert list(chunk.spans) == _clipped(flat, start, position)
    assert not flat.text[position:].strip()


def _begin(flat: FlatText, position: int, text: str) -> int:
    """Return where in the whole a chunk begins; what lies between must be whitespace."""
    space = len(flat.text[position:]) - len(flat.text[position:].lstrip())
    begin = flat.text.find(text, position, position + space + len(text))
    assert begin >= 0, f"{text!r} is not what follows {flat.text[:position]!r}"
    return begin


def _clipped(flat: FlatText, start: int, end: int) -> list[FlatSpan]:
    return [
        FlatSpan(max(span.start, start) - start, min(span.end, end) - start, span.style)
        for span in flat.spans
        if span.start < end and span.end > start
    ]


@example(["", "aaaaaaaaaaa"], 11)
@example(["", "aaaaaaaaa a"], 11)
@example(["", "a a "], 3)
@example(["", " a  ", "a"], 2)
@given(st.lists(st.text("ab ", max_size=12), max_size=30), st.integers(1, 30))
def test_lines_of_code_that_fit_keep_their_indentation(lines: list[str], limit_chars: int) -> None:
    code = "\n".join(lines)
    shown = [
        line
        for chunk in cut(FlatText(code, (FlatSpan(0, len(code), Preformatted("python")),)), limit_chars)
        for line in chunk.text.split("\n")
    ]
    for line in lines:
        if line.strip() and len(line.rstrip()) <= limit_chars:
            assert shown.count(line.rstrip()) + shown.count(line) > 0


@AS_FOUND
@example("    aaa </script>", 9)
@example("```\naaaaaaa\n  </script>\n```", 9)
@given(SOURCES, st.integers(1, 60))
def test_a_block_that_fits_alone_is_never_cut(source: str, limit_chars: int) -> None:
    flat = lay_out(parse(source))
    cuts: list[int] = []
    for chunk in cut(flat, limit_chars):
        cuts.append(_begin(flat, cuts[-1] if cuts else 0, chunk.text) + len(chunk.text))
    for start, end in _units(flat):
        if end - start <= limit_chars:
            assert not any(start < place < end for place in cuts), f"{flat.text[start:end]!r} was cut"


def _units(flat: FlatText) -> Iterator[tuple[int, int]]:
    """Every block, line, word and grapheme, without the space at its end."""
    for start, end in pairwise((0, *flat.block_starts, len(flat.text))):
        yield start, start + len(flat.text[start:end].rstrip())
    for pattern in (r"[^\n]+", r"\S+", r"\X"):
        for match in regex.finditer(pattern, flat.text):
            yield match.start(), match.start() + len(match.group().rstrip())
