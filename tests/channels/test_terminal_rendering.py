"""Text on a terminal: all of it, in order, and nothing that steers the terminal."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import chain

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from channels.terminal import NOT_SHOWN, painted, render, visible
from channels.text.blocks import Block, CodeBlock, Heading, Link, List, Paragraph, Quote, Rule, Table, Text
from channels.text.markdown import parse
from tests.channels.text.markdown_grammar import documents
from tests.plugins.profile import Profile

SGR = re.compile(r"\x1b\[[0-9;]*m")
JOINERS = "\u200c\u200d"
DRAWN = "│╭╰─•"
"""What the renderer draws itself, markers of items apart."""


def shown(source: str, columns: int | None = None) -> str:
    """Markdown as it stands on a terminal without colours."""
    return painted(render(parse(source), columns), colours=False)


def written(blocks: Sequence[Block]) -> Iterator[str]:
    """Return what the blocks say, piece by piece, read independently of the renderer."""
    for block in blocks:
        match block:
            case Paragraph(content) | Heading(_, content):
                yield from _running(content)
            case CodeBlock(code, language):
                yield from (language, code)
            case Quote(children):
                yield from written(children)
            case List():
                yield from _listed(block)
            case Table(_, header, rows):
                for cell in chain(header, *rows):
                    yield from _running(cell)
            case Rule():
                pass


def _listed(block: List) -> Iterator[str]:
    for number, children in enumerate(block.items):
        yield "" if block.start is None else f"{block.start + number}."
        yield from written(children)


def _running(content: Text) -> Iterator[str]:
    links = [(s.end, s.start, s.style.url) for s in content.spans if isinstance(s.style, Link)]
    last = 0
    for end, start, url in sorted(links):
        yield content.text[last:end]
        words = content.text[start:end]
        if url not in (words, f"mailto:{words}"):
            yield f"({url})"
        last = end
    yield content.text[last:]


def squeezed(text: str) -> str:
    """Without white space, and without what tables and frames are drawn with, on either side."""
    return re.sub(rf"[\s{DRAWN}|+\-]", "", visible(text))


@pytest.fixture
def examples(profile: Profile) -> int:
    return profile.pick(test=60, ci=200, proof=1000)


@pytest.mark.timeout(600)
def test_every_document_is_shown_whole_and_steers_nothing(examples: int) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(documents, st.sampled_from([None, 20, 80]))
    def holds(source: str, columns: int | None) -> None:
        blocks = parse(source)
        lines = render(blocks, columns)
        plain = painted(lines, colours=False)
        steering = [c for c in plain if unicodedata.category(c) in {"Cc", "Cf", "Cs"} and c not in JOINERS]
        assert set(steering) <= {"\n"}
        assert SGR.sub("", painted(lines, colours=True)) == plain
        if columns is None:
            assert squeezed(plain) == squeezed("".join(written(blocks)))

    holds()


@pytest.mark.timeout(600)
def test_lines_keep_to_the_width_but_for_code(examples: int) -> None:
    words = st.text(st.sampled_from("ab 中👍e\u0301-.*_`[]()|>#\n1"), max_size=200)

    @settings(max_examples=examples, deadline=None)
    @given(words, st.integers(20, 60))
    def holds(source: str, columns: int) -> None:
        blocks = parse(source)
        if any(isinstance(block, CodeBlock) for block in _all(blocks)):
            return
        assert all(cell_len(line.plain) <= columns for line in render(blocks, columns))

    holds()


def _all(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        match block:
            case Quote(children):
                yield from _all(children)
            case List(items):
                for children in items:
                    yield from _all(children)
            case _:
                pass


# ---------------------------------------------------------------- examples


def test_a_link_shows_where_it_leads() -> None:
    assert shown("[my bank](https://evil.example)") == "my bank (https://evil.example)\n"
    assert shown("<https://example.com>") == "https://example.com\n"
    assert shown("[a@example.com](mailto:a@example.com)") == "a@example.com\n"


def test_a_table_lines_up_by_display_width() -> None:
    assert shown("| a | n |\n|---|--:|\n| 中文 | 1 |\n| x | 20 |", 80) == (
        "a    |  n\n-----+---\n中文 |  1\nx    | 20\n"
    )


def test_a_table_wider_than_the_screen_becomes_lines() -> None:
    wide = "| name | says |\n|---|---|\n| Ann | one two three four five |"
    assert shown(wide, 20) == "name | says\n\nname: Ann\nsays: one two three\nfour five\n"


def test_code_keeps_its_lines_and_names_its_language() -> None:
    line = "x = " + "1 + " * 40
    assert shown(f"```python\n{line}\n\tindented\n```", 20) == f"╭─ python\n{line}\n    indented\n╰─\n"


def test_lists_and_quotes_keep_their_indentation_when_wrapped() -> None:
    assert shown("1. one two three four five six\n2. seven\n   - eight nine ten eleven", 20) == (
        "1. one two three\n   four five six\n2. seven\n   • eight nine ten\n     eleven\n"
    )
    assert shown("> one two three four five", 20) == "│ one two three four\n│ five\n"


@pytest.mark.parametrize(
    "text, safe",
    [
        ("\x1b[2J", "[2J"),
        ("\x9b31m", "31m"),
        ("rm \u202etxt.x", f"rm {NOT_SHOWN}txt.x"),
        ("\u2066a\u2069", f"{NOT_SHOWN}a{NOT_SHOWN}"),
        ("a\u200bb\u2060c\u00ad", "abc"),
        ("👩\u200d👧 می\u200cخواهم", "👩\u200d👧 می\u200cخواهم"),
        ("\ud800", NOT_SHOWN),
        ("a\r\nb\u2028c", "a\nb\nc"),
        ("\U000e0041", NOT_SHOWN),
    ],
)
def test_nothing_steers_the_terminal_or_looks_like_something_else(text: str, safe: str) -> None:
    assert visible(text) == safe
