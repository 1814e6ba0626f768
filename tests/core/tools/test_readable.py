"""Pages and other bodies as text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from core.tools.web_client import HTML_LIMIT_CHARS, html_text, readable

PAGE = URL("https://site.example/a/page.html?x=1")


def text(html: str) -> str:
    return html_text(html, PAGE)


@pytest.mark.parametrize(
    "html, shown",
    [
        ("plain", "plain"),
        ("<p>One <b>two</b>\n   three</p><p>four", "One two three\n\nfour"),
        ("one<br>two<div>three<div>four</div></div>", "one\ntwo\nthree\nfour"),
        ("<title> A\n page </title><h2>Head</h2>text", "A page\n\n## Head\n\ntext"),
        ("<ul><li>a<li><p>b</p></li><li>c<ol><li>d<li>e</ol></ul>f", "- a\n- b\n- c\n  1. d\n  2. e\n\nf"),
        ("<li>alone</li><li></li>x", "- alone\nx"),
        ("<table><tr><th>A<th>B<tr><td>1</td><td>2</td></table>", "A | B\n1 | 2"),
        ("<pre>  x\n    y\n</pre>z", "  x\n    y\n\nz"),
        ("a &lt; b &amp; c &#x1F680;&nbsp;d &unknown; e", "a < b & c 🚀 d &unknown; e"),
        ("a < b and b > c & d", "a < b and b > c & d"),
        ('<img alt="a\n cat"><img alt=""><img>', "[image: a cat]"),
        ("<script>if (a<b) x('</p>')</script>a<style>p{}</style>b<!-- c -->c", "abc"),
        ("<svg><text>no</text></svg><noscript><p>no</p></noscript><template>no</template>yes", "yes"),
        ("<svg><object></svg>yes", "yes"),
        ("a<![CDATA[b]]>c<![endif]>d<!DOCTYPE x>e<?php f ?>g", "acdeg"),
        ("a<![foo[b]]>c<![]>d<![ e><!['f>g", "acdg"),
        ("a<!-- never closed <p>b", "a"),
        ("<b>never closed <i>either", "never closed either"),
        ("</p></ul></a></pre></svg>only ends", "only ends"),
        ("", ""),
    ],
)
def test_markup_becomes_lines(html: str, shown: str) -> None:
    assert text(html) == shown


@pytest.mark.parametrize(
    "html, shown",
    [
        ('<a href="b.html#c">B</a>.', "B <https://site.example/a/b.html>."),
        (
            '<a href="/b">B</a> <a href="//o.example/">O</a>',
            "B <https://site.example/b> O <https://o.example/>",
        ),
        ('<a href=" https://o.example/ü ">ü</a>', "ü <https://o.example/%C3%BC>"),
        ('<a href="#top">up</a><a name="x">here</a><a href="">self</a>', "uphereself"),
        ('<a href="javascript:x()">js</a> <a href="mailto:a@b">m</a>', "js m"),
        ('<a href="https://o.example/x">https://o.example/x</a>', "https://o.example/x"),
        ('<a href="/card"><h3>Card</h3><p>Text</p></a>', "### Card\n\nText"),
        ('<a href="/card"><div>Card</div></a>', "Card <https://site.example/card>"),
        ('<a href="/icon"><svg></svg></a>x', "x"),
        ('<a href="http://[">broken</a>', "broken"),
    ],
)
def test_links_are_followed_by_their_address(html: str, shown: str) -> None:
    assert text(html) == shown


@given(
    st.lists(
        st.sampled_from(
            [
                *("<", ">", "</", "/>", "<!", "<!--", "-->", "<![", "]]>", "<?", "&", "&#", "&#x", ";", "="),
                *("<p>", "</p>", "<ul>", "<li>", "</ul>", "<pre>", "</pre>", "<a href='", "'>", "</a>", '"'),
                *("<svg>", "<script>", "</script>", "<td>", "<h1>", "<br/>", "<img alt=x>", "\n", "\0"),
                *("🚀", "\ud800", " "),
            ]
        )
        | st.text(max_size=4),
        max_size=30,
    ).map("".join)
)
def test_any_text_is_read(html: str) -> None:
    shown = text(html)
    assert isinstance(shown, str)
    body = html.encode("utf-8", "replace")
    assert isinstance(readable("text/html", "", body, PAGE), str)


def cpu_seconds(html: str) -> float:
    """Return what reading it takes; the least of some, since others use the processor, too."""
    spent_s: list[float] = []
    for _ in range(3):
        began = time.process_time()
        text(html)
        spent_s.append(time.process_time() - began)
    return min(spent_s)


@pytest.mark.parametrize(
    "piece",
    [
        *("<", "<a ", "<a x='", "</", "</a", "<!--", "<!x", "<![CDATA[", "<?", "&", "&#", "<svg></select>"),
        *("<ul><li>", "<a href=x>y", "<pre>\n", "<script></scrip", "<title>", "=", "<a/", "<td>"),
    ],
)
def test_hostile_pages_take_time_in_proportion_to_their_length(piece: str) -> None:
    """Eight times the length: squared time would be 64 times as long."""
    short, long = (piece * (chars // len(piece)) for chars in (8_000, 64_000))
    assert cpu_seconds(long) < 24 * max(cpu_seconds(short), 0.003)


def test_only_the_beginning_of_a_very_long_page_is_read() -> None:
    words = "word " * (HTML_LIMIT_CHARS // 5)
    assert text(words[:-5]) == words[:-5].strip()
    shown = text(f"{words}<p>more")
    assert shown.endswith("word word\n[The rest of the page was cut.]")
    assert "more" not in shown


@pytest.mark.parametrize(
    "media_type, charset, body, shown",
    [
        ("application/json", "", b'{"a": "<b>"}', '{"a": "<b>"}'),
        ("application/problem+json", "", "ü".encode(), "ü"),
        ("text/csv", "iso-8859-1", b"caf\xe9", "café"),
        ("text/plain", "", b"caf\xe9", "caf\N{REPLACEMENT CHARACTER}"),
        ("text/plain", "gb2312", "部署".encode("gb2312"), "部署"),
        ("text/plain", "utf-16", "部署".encode("utf-16"), "部署"),
        ("text/plain", "utf-8", b"\xef\xbb\xbfx", "x"),
        *(
            ("text/plain", trap, b"abc", "abc")
            for trap in ("no-such", "zlib", "rot13", "idna", "punycode", "\0")
        ),
        ("text/html", "", b'<meta charset="windows-1252"><p>caf\xe9', "café"),
        (
            "text/html",
            "",
            '<meta http-equiv=x content="text/html; charset=Shift_JIS">日本'.encode("shift_jis"),
            "日本",
        ),
        ("text/html", "utf-8", '<meta charset="latin-1">ü'.encode(), "ü"),
        ("", "", b"  <p>page", "page"),
        ("", "", b"text", "text"),
        ("application/octet-stream", "", b"text", "text"),
        ("application/octet-stream", "", b"a\0b", None),
        ("image/png", "", b"\x89PNG", None),
    ],
)
def test_bodies_are_read_by_their_type(media_type: str, charset: str, body: bytes, shown: str | None) -> None:
    assert readable(media_type, charset, body, PAGE) == shown
