"""The reader: what a person sees of a message's Markdown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulators.discord.markdown import Run, fences, links, mentions, read, visible_text


@pytest.mark.parametrize(
    "content,text",
    [
        ("plain", "plain"),
        (
            "**bold** *italic* _italic_ __under__ ~~gone~~ ||spoiler||",
            "bold italic italic under gone spoiler",
        ),
        ("***both*** and __*nested **deep***__", "both and nested deep"),
        ("snake_case_name and 2*3*4 * 5", "snake_case_name and 234 * 5"),
        ("**not closed and *neither", "**not closed and *neither"),
        (r"\*kept\* \_too\_ \\ \` \n", r"*kept* _too_ \ ` \n"),
        ("`code **stays**` and ``a ` b``", "code **stays** and a ` b"),
        ("`` `ticks` ``", "`ticks`"),
        (
            "# Title\n## Second ##\n### Third\n#no heading\n-# small",
            "Title\nSecond\nThird\n#no heading\nsmall",
        ),
        ("a # no heading", "a # no heading"),
        ("- one\n  - two\n* three\n1. first\n2. second", "• one\n  • two\n• three\n1. first\n2. second"),
        ("> quoted\n> **more**\nafter", "quoted\nmore\nafter"),
        ("before\n>>> all\nthe rest", "before\nall\nthe rest"),
        (">no quote", ">no quote"),
        ("> > not nested", "> not nested"),
        ("text ```py\nx = '**'\n``` after", "text \nx = '**'\n after"),
        ("```\na\n\nb\n```", "a\n\nb"),
        ("```no language```", "no language"),
        ("```unclosed\ncode", "```unclosed\ncode"),
        ("[label](https://example.com/a_(b)) end", "label end"),
        ("[no link](ftp://x) [x](javascript:1)", "[no link](ftp://x) [x](javascript:1)"),
        ("<https://example.com> https://example.com/a_b.", "https://example.com https://example.com/a_b."),
        ("<@1> <@!1> <@&2> <#3> @everyone", "@one @one @two #three @everyone"),
        ("<:smile:123> <a:party:4> <t:1618953630:R> </hub list:5>", ":smile: :party: 1618953630 /hub list"),
    ],
)
def test_permissions_decide_visibility(content: str, text: str) -> None:
    names = {("user", 1): "one", ("role", 2): "two", ("channel", 3): "three"}
    assert visible_text(content, lambda kind, number: names.get((kind, number), kind)) == text


def test_styles_links_and_languages_are_read() -> None:
    assert read("a **b [c](https://x.y)**") == [
        Run("a "),
        Run("b ", frozenset({"bold"})),
        Run("c", frozenset({"bold"}), link="https://x.y"),
    ]
    assert links("[a](https://x.y/1) https://x.y/(2)") == [
        ("a", "https://x.y/1"),
        ("https://x.y/(2)", "https://x.y/(2)"),
    ]
    assert fences("```python\nprint()\n```\n> ```\n> quoted\n> ```") == [
        ("python", "print()"),
        (None, "quoted"),
    ]


def test_mentions_count_only_outside_code_and_unescaped() -> None:
    assert mentions("<@1> `<@2>` ```\n@everyone\n``` \\<@3> @here **<@&4>**") == [
        ("user", 1),
        ("here", 0),
        ("role", 4),
    ]
    assert mentions("@\u200beveryone <@\u200b1>") == []


@given(st.text(alphabet="ab\n*_`~|>#-[]()<>@1!\\ :/h", max_size=80))
def test_any_text_is_read_in_full_and_nothing_is_invented(content: str) -> None:
    """Every letter is still there, in order; what goes away are markers, and links' targets."""
    seen = visible_text(content)
    runs = read(content)
    assert "".join(run.text for run in runs) == seen
    if "(" not in content and "<" not in content and "`" not in content:
        assert [c for c in seen if c in "abh"] == [c for c in content if c in "abh"]


@given(st.text(max_size=60))
def test_text_with_every_marker_escaped_is_seen_as_it_is(content: str) -> None:
    marked = "".join(f"\\{c}" if c in "\\*_`~|>#-[]()<@:.!+" else c for c in content)
    numbered = any(line.lstrip(" ")[:1].isdigit() for line in content.split("\n"))
    if "http" not in content and not numbered:
        assert visible_text(marked) == content
