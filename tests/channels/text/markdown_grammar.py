"""Markdown documents built from a grammar: `documents` draws sources."""

import re
from collections.abc import Callable, Sequence

from hypothesis import strategies as st
from markdown_it import MarkdownIt

PARSER = MarkdownIt("commonmark", {"html": False, "maxNesting": 100}).enable(["table", "strikethrough"])
LONG_LINE_CHARS = 10_000

Draw = Callable[..., str]

# ---------------------------------------------------------------- characters

LATIN = [
    "alpha",
    "beta.",
    "gamma,",
    "Delta",
    "x",
    "2*3*4",
    "snake_case_name",
    "well-known",
    "a~b",
    "5>3",
    "|",
    "#tag",
]
WIDE = ["中文", "部署服务器，", "日本語", "한국어", "ＷＩＤＥ", "😀"]
COMBINING = ["e\u0301te\u0301", "n\u0303", "क्षि", "Z\u0351\u0352\u0353a\u0354l\u0355go"]
ZWJ = ["👩‍👩‍👧‍👦", "👩🏽‍💻", "🏳️‍🌈"]
EMOJI = ["👍🏽", "🇩🇪", "❤️", "1️⃣"]
RTL = ["שלום", "مرحبا", "\u200fעברית\u200f", "سَلَام"]
CONTROLS = [
    "nu\x00l",
    "\x00",
    "be\x07ll",
    "e\x1b[31mred",
    "v\x0bt",
    "de\x7fl",
    "\ud83d",
    "low\ude00",
    "c\x9b1",
]
MENTIONS = [
    "@admin",
    "@all_of_you",
    "(@bob)",
    "中@carol",
    "x@example.com",
    "@@dave",
    "/start@other_bot",
    "tg://user?id=42",
    "https://example.com/@user/post",
    "@everyone",
    "<@U123>",
    "<!channel>",
    "@here",
    "<@!123>",
    "<@&5>",
    "<#C77>",
    "<!subteam^S1>",
    "</new:5>",
    "<t:0:R>",
]
SIGNIFICANT = [
    r"\*",
    r"\_",
    "&amp;",
    "&#64;admin",
    "&copy;",
    "&nbsp;",
    "*",
    "_",
    "**",
    "`",
    "[",
    "](",
    "<",
    "\\",
    "![",
]

WORD = st.one_of(
    st.sampled_from(LATIN),
    st.sampled_from(LATIN),
    st.sampled_from(LATIN),
    st.sampled_from(WIDE),
    st.sampled_from(COMBINING),
    st.sampled_from(ZWJ + EMOJI),
    st.sampled_from(RTL),
    st.sampled_from(MENTIONS),
    st.sampled_from(CONTROLS),
    st.sampled_from(SIGNIFICANT),
)
LONG_LINE = st.builds(
    lambda unit, chars: unit * (chars // len(unit) + 1),
    st.sampled_from(["a", "word ", "中", "👩‍👩‍👧‍👦", "e\u0301", "@admin ", "*x* ", "`c` ", "x@y"]),
    st.integers(LONG_LINE_CHARS, LONG_LINE_CHARS + 50),
)
URL = st.sampled_from(
    [
        "https://example.com",
        "https://en.wikipedia.org/wiki/Foo_(bar)",
        "http://example.com/a?b=c&d=e#f",
        "https://例え.jp/道",
        "https://medium.com/@user",
        "docs/page.md",
        "#anchor",
        "mailto:a@example.com",
        "tg://user?id=42",
        "tg:resolve?domain=admin",
        "javascript:alert(1)",
        "https://",
        "http://localhost:8080/x",
    ]
)

# ---------------------------------------------------------------- inline

WRAPPED: list[Draw] = [
    lambda inner: f"*{inner}*",
    lambda inner: f"_{inner}_",
    lambda inner: f"**{inner}**",
    lambda inner: f"***{inner}***",
    lambda inner: f"~~{inner}~~",
    lambda inner: f"`{inner}`",
    lambda inner: f"`` {inner} ` ``",
]
WITH_URL: list[Draw] = [
    lambda inner, url: f"[{inner}]({url})",
    lambda inner, url: f"[{inner}](<{url}> 'title')",
    lambda inner, url: f"![{inner}]({url})",
    lambda inner, url: f"[![{inner}]({url})](https://example.org)",
    lambda _, url: f"<{url}>",
    lambda _, url: f"![]({url})",
]
LITERAL = ["<b>bold?</b>", "<br>", "<!-- note -->", "[ref]", "[text][ref]", "@**admin**", "@`admin`"]
BREAKS = ["  \nafter", "\\\nafter", "\nsoft"]


def _sentence(parts: st.SearchStrategy[str], largest: int) -> st.SearchStrategy[str]:
    return st.lists(parts, min_size=1, max_size=largest).map(" ".join)


def _inline(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds(lambda wrap, text: wrap(text), st.sampled_from(WRAPPED), inner),
        st.builds(lambda wrap, text, url: wrap(text, url), st.sampled_from(WITH_URL), inner, URL),
        st.sampled_from(LITERAL),
        st.sampled_from(BREAKS),
        WORD,
    )


WORDS = _sentence(WORD, 2)
INLINE = _sentence(_inline(_sentence(_inline(WORDS), 2)), 4)
ONE_LINE = INLINE.map(lambda text: " ".join(text.split("\n")))

# ---------------------------------------------------------------- blocks

CODE = st.sampled_from(
    [
        "print('hi')",
        "def f():\n    return '中文'\n\n\nclass A:\n\tpass",
        "    indented first\nx\n",
        "@decorator\n@other\ndef g(): ...",
        "| not | a table |",
        "*not* **bold** <tag> &amp; [no](link)",
        "",
        "\n\n",
        "line\n" * 60,
    ]
)
LANGUAGE = st.sampled_from(["", "python", "c++", "objective-c", "py title=x", "{.weird}", "&amp;"])
INDENTS = {"- ": "  ", "* ": "  ", "1. ": "   ", "7) ": "   ", "> ": "> "}


def _fence(code: str, language: str, mark: str, closed: bool) -> str:
    return f"{mark}{language}\n{code}" + (f"\n{mark}" if closed else "")


def _table(cells: Sequence[str], columns: int, align: Sequence[str]) -> str:
    cells = [re.sub(r"\s+", " ", cell).replace("|", "") or "-" for cell in cells]
    rows = [cells[start : start + columns] for start in range(0, len(cells), columns)]
    rows.insert(1, [align[column % len(align)] for column in range(columns)])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


LEAF = st.one_of(
    INLINE,
    INLINE,
    st.builds(lambda level, text: "#" * level + " " + text, st.integers(1, 6), ONE_LINE),
    st.builds(lambda text, line: f"{text}\n{line}", ONE_LINE, st.sampled_from(["===", "---"])),
    st.builds(_fence, CODE, LANGUAGE, st.sampled_from(["```", "~~~", "````"]), st.just(True)),
    CODE.map(lambda code: "\n".join("    " + line for line in code.split("\n"))),
    st.builds(
        _table,
        st.lists(_sentence(_inline(WORDS), 2), min_size=2, max_size=9),
        st.integers(1, 3),
        st.lists(st.sampled_from(["---", ":--", "--:", ":-:"]), min_size=1, max_size=3),
    ),
    st.sampled_from(["---", "***", "_ _ _"]),
    st.sampled_from(
        [
            "<div>\n@admin *not bold?*\n</div>",
            "<script>\nalert(1)\n</script>",
            "[ref]: https://example.net/ref",
        ]
    ),
)


def _indented(marker: str, blocks: Sequence[str], loose: bool) -> str:
    text = ("\n\n" if loose else "\n").join(blocks)
    return marker + text.replace("\n", "\n" + INDENTS[marker])


def _nested(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    container = st.builds(
        _indented, st.sampled_from(sorted(INDENTS)), st.lists(children, min_size=1, max_size=3), st.booleans()
    )
    several = st.builds(
        lambda items, gap: gap.join(items),
        st.lists(container, min_size=2, max_size=4),
        st.sampled_from(["\n", "\n\n"]),
    )
    return st.one_of(container, several)


_DEPTH_1 = _nested(LEAF)
_DEPTH_2 = _nested(st.one_of(_DEPTH_1, LEAF))
_DEPTH_3 = _nested(st.one_of(_DEPTH_2, _DEPTH_1))
BLOCK = st.one_of(LEAF, LEAF, LEAF, _DEPTH_1, _DEPTH_2, _DEPTH_3)


SNIPPETS = st.builds(
    lambda template, word: template.replace("{}", word),
    st.sampled_from(
        [
            "one  \ntwo *{}\\\nthree*",
            "see [{}](https://en.wikipedia.org/wiki/Foo_(bar)), **[{}](tg://user?id=42)**",
            "~~{} **{}**~~ `{}` <https://example.com/{}>",
            "[![{}](https://example.com/a.png) {}](https://example.org) ![{}](https://example.com/b.png)",
            "> {}\n>\n> > {}\n> > - {}\n> >   > {}",
            "[{}][ref] &amp; \\*{}\\*",
            "- {}\n  ```python\n  {}\n  ```\n- {}",
            "nu\x00l {} \ud83d 👩‍👩‍👧‍👦 e\u0301",
            "hey @everyone, **@here**: `@here` <@5> {}",
        ]
    ),
    WORD,
)
"""What chance alone makes too seldom."""

UNCLOSED_FENCE = st.builds(_fence, CODE, LANGUAGE, st.sampled_from(["```", "~~~"]), st.just(False))
NOTHING = st.just("")

# What is drawn first varies most, so the rare parts come first.
short_documents: st.SearchStrategy[str] = st.builds(
    lambda end, snippets, blocks: "\n\n".join(part for part in (*snippets, *blocks, end) if part),
    st.one_of(UNCLOSED_FENCE, NOTHING, NOTHING),
    st.lists(SNIPPETS, min_size=2, max_size=4),
    st.lists(BLOCK, min_size=1, max_size=5),
)
"""Markdown sources; lone surrogates and control characters included."""

documents: st.SearchStrategy[str] = st.builds(
    lambda long, rest: f"{long}\n\n{rest}", st.one_of(NOTHING, NOTHING, LONG_LINE, NOTHING), short_documents
)
"""The same, now and then with a line of 10,000 characters."""
