"""Markdown becomes blocks: facts written out by hand."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

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
    Table,
    Text,
    showable,
)
from channels.text.markdown import MAX_NESTING, parse, read
from core import messages


def paragraph(text: str, *spans: Span) -> Paragraph:
    return Paragraph(Text(text, spans))


def test_styles_nest_and_carry_their_place() -> None:
    assert parse("a *b **c*** ~~d~~ `e`") == (
        paragraph(
            "a b c d e",
            Span(2, 5, Mark.ITALIC),
            Span(4, 5, Mark.BOLD),
            Span(6, 7, Mark.STRIKE),
            Span(8, 9, Mark.CODE),
        ),
    )


def test_of_two_styles_on_the_same_text_the_outer_comes_first() -> None:
    assert parse("[**a**](https://b.c)") == (
        paragraph("a", Span(0, 1, Link("https://b.c")), Span(0, 1, Mark.BOLD)),
    )


def test_a_link_keeps_its_parentheses_and_query() -> None:
    [block] = parse("See [Foo](https://en.wikipedia.org/wiki/Foo_(bar)?a=b&c=d).")
    assert block == paragraph("See Foo.", Span(4, 7, Link("https://en.wikipedia.org/wiki/Foo_(bar)?a=b&c=d")))


@pytest.mark.parametrize(
    "source, text",
    [
        ("[me](tg://user?id=42)", "me"),
        ("[me](tg:user?id=42)", "me"),
        ("[page](docs/page.md)", "page"),
        ("[here](#anchor)", "here"),
        ("[x](slack://open)", "x"),
        ("[run](javascript:alert(1))", "[run](javascript:alert(1))"),
        ("![](docs/picture.png)", ""),
    ],
)
def test_links_unusable_in_a_chat_are_text(source: str, text: str) -> None:
    assert parse(source) == (paragraph(text),)


def test_a_picture_is_a_link_under_its_description_or_its_address() -> None:
    url = "https://example.com/a.png"
    assert parse(f"![a *cat*]({url})") == (
        paragraph("a cat", Span(0, 5, Link(url)), Span(2, 5, Mark.ITALIC)),
    )
    assert parse(f"![]({url})") == (paragraph(url, Span(0, len(url), Link(url))),)


@pytest.mark.parametrize("address", ["https://a.b/cat.png", "mailto:a@b.c"])
def test_a_link_in_a_pictures_description_leads_where_the_picture_leads(address: str) -> None:
    assert parse(f"![my [cat](https://c.d)]({address})") == (paragraph("my cat", Span(0, 6, Link(address))),)


def test_a_picture_in_a_link_leads_where_the_link_leads() -> None:
    [block] = parse("[![cat](https://a.b/cat.png)](https://c.d)")
    assert block == paragraph("cat", Span(0, 3, Link("https://c.d")))


def test_html_is_text() -> None:
    assert parse("a <b>c</b> <!-- d -->") == (paragraph("a <b>c</b> <!-- d -->"),)
    assert parse("<div>\n<script>x</script>\n</div>") == (paragraph("<div>\n<script>x</script>\n</div>"),)


def test_both_line_breaks_break_the_line() -> None:
    assert parse("a\nb  \nc\\\nd") == (paragraph("a\nb\nc\nd"),)


def test_headings_of_both_kinds_and_rules_are_read() -> None:
    assert parse("## A\n\nB\n===\n\n---") == (Heading(2, Text("A")), Heading(1, Text("B")), Rule())


def test_code_keeps_every_character_and_its_language() -> None:
    assert parse("```python title=x\n\tdef f(): *no*\n\n```") == (CodeBlock("\tdef f(): *no*\n", "python"),)
    assert parse("    indented\n    code") == (CodeBlock("indented\ncode"),)
    assert parse("~~~c++\nx") == (CodeBlock("x", "c++"),)  # never closed
    assert parse("``` {.weird}\nx\n```") == (CodeBlock("x"),)


def test_lists_nest_and_count_from_their_first_number() -> None:
    assert parse("7. a\n   - b\n     c\n8. d") == (
        List(
            (
                (paragraph("a"), List(((paragraph("b\nc"),),))),
                (paragraph("d"),),
            ),
            start=7,
        ),
    )


def test_a_list_with_empty_lines_between_its_items_is_loose() -> None:
    assert parse("- a\n\n- b") == (List(((paragraph("a"),), (paragraph("b"),)), tight=False),)
    [outer] = parse("- a\n  - b\n\n    c\n- d")
    assert isinstance(outer, List)
    assert outer.tight
    assert isinstance(outer.items[0][1], List)
    assert not outer.items[0][1].tight


def test_quotes_hold_blocks() -> None:
    assert parse("> a\n>\n> > - b") == (Quote((paragraph("a"), Quote((List(((paragraph("b"),),)),)))),)


def test_a_table_has_columns_with_sides() -> None:
    [table] = parse("| a | b | *c* |\n|:--|--:|:-:|\n| 1 | 2 |\n| x | y | z | dropped |")
    assert table == Table(
        ("left", "right", "center"),
        (Text("a"), Text("b"), Text("c", (Span(0, 1, Mark.ITALIC),))),
        ((Text("1"), Text("2"), Text("")), (Text("x"), Text("y"), Text("z"))),
    )


@pytest.mark.parametrize(
    "text, shown",
    [
        ("nul\x00l", "nul\ufffdl"),
        ("bell\x07 escape\x1b[31m delete\x7f c1\x9b", "bell escape[31m delete c1"),
        ("a\r\nb\rc\x85d\u2028e\u2029f", "a\nb\nc\nd\ne\nf"),
        ("a\x0bb\x0cc", "a b c"),
        ("tab\tstays", "tab\tstays"),
        ("lone \ud83d and \ude00", "lone \ufffd and \ufffd"),
        ("pair \ud83d\ude00", "pair 😀"),
        ("عربي \u200fעברית e\u0301 👩‍👩‍👧‍👦", "عربي \u200fעברית e\u0301 👩‍👩‍👧‍👦"),
    ],
)
def test_characters_that_no_chat_accepts_are_removed_or_replaced(text: str, shown: str) -> None:
    assert showable(text) == shown
    [block] = parse(text)
    assert block == paragraph(shown)
    shown.encode("utf-8")


def test_line_ends_written_as_references_are_line_ends() -> None:
    assert parse("a&#13;b&#12;c&#0;") == (paragraph("a\nb c\ufffd"),)


@pytest.mark.parametrize("opening", ["> ", "- ", "1. "])
def test_deep_nesting_is_drawn_and_the_bottomless_is_shown_as_written(opening: str) -> None:
    def innermost(block: Block) -> Block:
        match block:
            case Quote(children):
                return innermost(children[0])
            case List(items):
                return innermost(items[0][0])
            case _:
                return block

    [drawn] = parse(opening * 30 + "bottom")
    assert innermost(drawn) == paragraph("bottom")
    source = opening * (MAX_NESTING + 10) + "bottom"
    assert parse(source) == (paragraph(source),)


def test_deeply_nested_styles_are_read_without_an_error() -> None:
    [emphasis] = parse("*a " * 1500 + "b*" * 1500)
    assert isinstance(emphasis, Paragraph)
    assert emphasis.content.text.count("b") == 1500
    [pictures] = parse("![a " * 1500 + "](https://b.c)" * 1500)
    assert isinstance(pictures, Paragraph)
    assert pictures.content.text.count("a") == 1500


def test_hub_texts_become_blocks() -> None:
    said = (
        messages.Markdown("*a*\n\nb"),
        messages.Plain("*c* \x00"),
        messages.Code("d()\x07", "python"),
    )
    assert read(said) == (
        paragraph("a", Span(0, 1, Mark.ITALIC)),
        paragraph("b"),
        paragraph("*c* \ufffd"),
        CodeBlock("d()", "python"),
    )


@given(st.from_regex(r"https?://[a-z0-9.-]+(?:[/?#][A-Za-z0-9/?#:@!$&'()*+,;=._~-]*)?", fullmatch=True))
def test_an_address_without_anything_to_encode_is_what_the_parser_would_make_of_it(address: str) -> None:
    (block,) = parse(f"[here](<{address}>)")
    assert isinstance(block, Paragraph)
    links = [span.style.url for span in block.content.spans if isinstance(span.style, Link)]
    assert links == [MarkdownIt().normalizeLink(address)]


_PIECES = (
    *(
        "a",
        "b ",
        " ",
        "    ",
        "\t",
        "\n",
        "\n\n",
        "\r\n",
        "- ",
        "1. ",
        "> ",
        "# ",
        "---",
        "===",
        "* * *",
        "-",
        "\r",
        "|",
        "|-|\n",
    ),
    *("```", "~~~", "~~", "`", "**", "_", "[", "]", "](http://a.b)", "]: http://x.y\n", "![", "\\"),
    *("<http://a.b>", "&amp;", "&#13;", "&#10;", "<b>", "é"),
)


@given(st.lists(st.sampled_from(_PIECES), max_size=30).map("".join))
def test_skipped_parser_rules_would_not_have_matched(source: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("channels.text.markdown._MARKS", {})
        patch.setattr("channels.text.markdown._UNDER_LINES", re.compile(""))
        patch.setattr("channels.text.markdown._PARAGRAPH", re.compile("(?!)"))
        by_all_rules = parse(source)
    assert parse(source) == by_all_rules
