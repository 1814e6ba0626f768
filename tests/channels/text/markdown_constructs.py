"""The constructs in a Markdown document, by the parser's tokens and by its characters.

So a run can show that nothing was left out: a table drawn inside a list may have become plain text.
"""

import re
from collections.abc import Iterator, Sequence

from markdown_it.token import Token

from tests.channels.text.markdown_grammar import PARSER, WIDE

_BY_TOKEN = {
    "em_open": "italic",
    "strong_open": "bold",
    "s_open": "strikethrough",
    "code_inline": "code",
    "image": "image",
    "hardbreak": "hard break",
    "softbreak": "soft break",
    "paragraph_open": "paragraph",
    "fence": "fence",
    "code_block": "indented code",
    "table_open": "table",
    "hr": "rule",
    "bullet_list_open": "bullet list",
    "ordered_list_open": "numbered list",
    "blockquote_open": "quote",
}

_BY_TEXT = {
    "wide characters": re.compile("|".join(WIDE)),
    "combining characters": re.compile("[\u0300-\u036f]"),
    "ZWJ emoji": re.compile("\u200d"),
    "right-to-left": re.compile("[\u0590-\u06ff]"),
    "NUL": re.compile("\x00"),
    "lone surrogate": re.compile("[\ud800-\udfff]"),
    "mention": re.compile(r"(?<!\w)@\w\w"),
    "mention of everybody": re.compile("@(?:everyone|here)|<!channel>"),
    "mention of a person by id": re.compile(r"<@!?[U\d]"),
    "mention of a role, group or channel": re.compile("<@&|<!subteam|<#"),
    "mention by address": re.compile(r"tg://user\?id="),
    "command or time tag": re.compile("</new:|<t:"),
    "HTML": re.compile(r"<(?:b|br|div|script|!--)\b"),
    "character reference": re.compile(r"&\w+;|&#64;"),
    "backslash escape": re.compile(r"\\[*_]"),
    "link with parentheses": re.compile(r"\]\(https://\S+_\(bar\)\)"),
    "10,000-character line": re.compile(r"[^\n]{10000}"),
}

CONSTRUCTS = frozenset(
    {
        *_BY_TOKEN.values(),
        *_BY_TEXT,
        "ATX heading",
        "setext heading",
        "link",
        "autolink",
        "unsafe link",
        "reference link",
        "image in a link",
        "style in a style",
        "nested quote",
        "nested list",
        "quote in a list",
        "code in a list",
        "loose list",
        "tight list",
        "fence with language",
        "unclosed fence",
    }
)


def constructs(source: str) -> frozenset[str]:
    """Return what is in a document, by the parser's tokens and by its characters; a subset of CONSTRUCTS."""
    tokens = PARSER.parse(source)
    found = {name for name, pattern in _BY_TEXT.items() if pattern.search(source)}
    found.update(_from_blocks(tokens, source))
    for token in tokens:
        found.update(_from_inline(token.children or []))
    return frozenset(found)


def _from_blocks(tokens: Sequence[Token], source: str) -> Iterator[str]:
    around: list[str] = []
    for token in tokens:
        if token.nesting < 0:
            around.pop()
            continue
        yield from _from_block(token, around)
        if token.nesting > 0:
            around.append(token.type)
    if tokens and tokens[-1].type == "fence" and not source.rstrip().endswith(tokens[-1].markup):
        yield "unclosed fence"


def _from_block(token: Token, around: Sequence[str]) -> Iterator[str]:
    if token.type in _BY_TOKEN:
        yield _BY_TOKEN[token.type]
    in_list = "list_item_open" in around
    match token.type:
        case "heading_open":
            yield "ATX heading" if token.markup.startswith("#") else "setext heading"
        case "blockquote_open":
            yield "nested quote" if "blockquote_open" in around else "quote"
            yield "quote in a list" if in_list else "quote"
        case "bullet_list_open" | "ordered_list_open" if in_list:
            yield "nested list"
        case "fence" | "code_block":
            yield "fence with language" if token.info.strip() else _BY_TOKEN[token.type]
            yield "code in a list" if in_list else _BY_TOKEN[token.type]
        case "paragraph_open" if around[-1:] == ["list_item_open"]:
            yield "tight list" if token.hidden else "loose list"
        case _:
            pass


def _from_inline(tokens: Sequence[Token]) -> Iterator[str]:
    around: list[str] = []
    for token in tokens:
        if token.nesting < 0:
            around.pop()
            continue
        if token.type in _BY_TOKEN:
            yield _BY_TOKEN[token.type]
        if token.type == "link_open":
            yield "autolink" if token.info == "auto" else "link"
            href = str(token.attrs["href"])
            if href.startswith(("tg:", "javascript:")):
                yield "unsafe link"
            if href == "https://example.net/ref":
                yield "reference link"
        if token.type == "image" and "link_open" in around:
            yield "image in a link"
        if token.nesting > 0:
            if around:
                yield "style in a style"
            around.append(token.type)
