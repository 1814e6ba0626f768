"""Markdown, parsed once into blocks that every platform renders in its own way.

`parse` guarantees that every piece of text shown by a CommonMark reader (with tables and
strikethrough) is in the blocks, in order, exactly once. Raw HTML is text. It never raises, whatever
the input, and takes time in proportion to its length.

A link leads to an http, https or mailto address. Other links in Markdown (relative paths,
`javascript:`, `tg:`) do not work in a chat, so only their text is kept.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, assert_never

from markdown_it import MarkdownIt, helpers
from markdown_it.common.utils import mdTrim
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import table
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType

from channels.text.blocks import (
    Alignment,
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
    mend_surrogates,
    showable,
)
from core import messages

# The contents of a Markdown paragraph, as text with spans; see channels.text.markdown.

_OPENABLE = re.compile(r"(?:https?://|mailto:)\S", re.IGNORECASE)


_MARKED = {"strong_open": Mark.BOLD, "em_open": Mark.ITALIC, "s_open": Mark.STRIKE}


def inline_text(token: Token) -> Text:
    """Return the content of the parser's token for one paragraph, heading or cell."""
    return _text(token.children or [])


def _text(tokens: Sequence[Token]) -> Text:
    match tokens:
        case [Token(type="text", content=plain)]:
            return Text(showable(plain))
        case _:
            reader = _InlineReader()
            reader.read(tokens)
            return reader.text()


class _InlineReader:
    """A reader of the text and spans of one leaf block. Spans are ordered by their openings."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._spans: list[Span | None] = []
        self._open: list[tuple[int, int, Style | None]] = []

    def text(self) -> Text:
        return Text("".join(self._parts), tuple(filter(None, self._spans)))

    def read(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            match token.type:
                case "text":
                    self._write(token.content)
                case "strong_open" | "em_open" | "s_open":
                    self._enter(_MARKED[token.type])
                case "link_open":
                    self._enter_link(_link(token.attrs.get("href")))
                case "strong_close" | "em_close" | "s_close" | "link_close":
                    self._leave()
                case "softbreak" | "hardbreak":
                    self._write("\n")
                case "code_inline":
                    self._enter(Mark.CODE)
                    self._write(token.content)
                    self._leave()
                case "image":
                    self._image(token)
                case _:
                    self._write(token.content)

    def _image(self, token: Token) -> None:
        """Add an image as a link with its description, or with its URL if it has none."""
        link = _link(token.attrs.get("src"))
        self._enter_link(link)
        if token.children:
            self.read(token.children)
        elif link is not None:
            self._write(link.url)
        self._leave()

    def _enter_link(self, link: Link | None) -> None:
        """Open a link. Text belongs only to the outermost link (an image's description may contain
        another)."""
        inside_link = any(isinstance(style, Link) for _, _, style in self._open)
        self._enter(None if inside_link else link)

    def _enter(self, style: Style | None) -> None:
        self._open.append((len(self._spans), self._length, style))
        self._spans.append(None)

    def _leave(self) -> None:
        place, start, style = self._open.pop()
        if style is not None and start < self._length:
            self._spans[place] = Span(start, self._length, style)

    def _write(self, text: str) -> None:
        text = showable(text)
        self._parts.append(text)
        self._length += len(text)


def _link(url: object) -> Link | None:
    return Link(url) if isinstance(url, str) and _OPENABLE.match(url) else None


MAX_NESTING = 100
"""The limit on nesting levels. Blocks nested deeper are shown as written.

The parser takes about three frames of Python's stack (a thousand by default) for each level.
"""

MAX_CHARS = 100_000
"""The limit on a document. A longer one is shown as written."""

MAX_OPEN_BRACKETS = 32
"""The limit on brackets open at a time in a paragraph. For each one more, the parser searches the
paragraph again. Beyond the limit, the paragraph is shown as written."""

MAX_CELLS_PER_CHAR = 1
"""The limit on a table's cells per character, since rows are filled up to the columns of the first.
Beyond the limit, the table is shown as written."""

_INLINE = re.compile(r"[\\`*_~\[\]!<&\n]")
"""Characters with a meaning in Markdown. A line without any of them is plain text."""


def _read_inline(state: StateCore) -> None:
    """Apply the parser's own rule of this name, except to lines that need no parser or would take too
    long."""
    for token in state.tokens:
        if token.type == "inline":
            token.children = _inline_tokens(state.md, token.content, state.env)


def _inline_tokens(parser: MarkdownIt, content: str, env: EnvType) -> list[Token]:
    if not _INLINE.search(content) or _is_too_open(content):
        return [Token("text", "", 0, content=content)]
    return parser.inline.parse(content, parser, env, [])


def _is_too_open(text: str) -> bool:
    if text.count("[") <= MAX_OPEN_BRACKETS:
        return False
    opened = 0
    for bracket in filter("[]".__contains__, text):
        opened = opened + 1 if bracket == "[" else max(opened - 1, 0)
        if opened > MAX_OPEN_BRACKETS:
            return True
    return False


def _read_table(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Apply the parser's own rule of this name, except to tables of far more cells than characters."""
    columns = state.src.count("|", state.bMarks[first], state.eMarks[first]) + 1
    if columns > _FEW_COLUMNS and table(state, first, end, True):
        last = min(_end_of_rows(state, first, end), end)
        chars = state.eMarks[last - 1] - state.bMarks[first]
        if columns * (last - first) > MAX_CELLS_PER_CHAR * chars + _FEW_CELLS:
            return False
    return table(state, first, end, silent)


def _end_of_rows(state: StateBlock, first: int, end: int) -> int:
    """Return the first empty line from `first` on. One search serves all lines before it."""
    last = state.env.get(_ROWS_END, 0)
    if last <= first:
        last = first
        while last < end and not state.isEmpty(last):
            last += 1
        state.env[_ROWS_END] = last
    return last


_ROWS_END = "end of rows"
_FEW_COLUMNS = 8
_FEW_CELLS = 500


class _Destination(NamedTuple):
    """A link's destination that was found, like the parser's own."""

    str: str
    pos: int
    ok: bool = True


class _Helpers:
    """The parser's own functions. Its reader of destinations looks at each sign, which few of them need."""

    parseLinkLabel = staticmethod(helpers.parseLinkLabel)
    parseLinkTitle = staticmethod(helpers.parseLinkTitle)

    @staticmethod
    def parseLinkDestination(string: str, pos: int, maximum: int) -> object:
        plain = _PLAIN_DESTINATION.match(string, pos, maximum)
        if plain is None:
            return helpers.parseLinkDestination(string, pos, maximum)
        return _Destination(plain[0], plain.end())


class _Parser(MarkdownIt):
    """A parser that skips the encoding of URLs that need none, which is nearly all of them."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.helpers: Any = _Helpers

    def normalizeLink(self, url: str) -> str:
        return url if _PLAIN_ADDRESS.fullmatch(url) else super().normalizeLink(url)


_MARKS = {
    "table": ("|",),
    "fence": ("```", "~~~"),
    "blockquote": (">",),
    "reference": ("]:",),
    "heading": ("#",),
    "code": ("    ", "\t"),
    "escape": ("\\",),
    "backticks": ("`",),
    "emphasis": ("*", "_"),
    "strikethrough": ("~~",),
    "link": ("[",),
    "image": ("![",),
    "autolink": ("<",),
    "entity": ("&",),
    "text_join": ("&",),
}
"""The parser's rules that find nothing in a text without any of these marks. It asks each rule at each line
or sign, so those are left out."""

_UNDER_LINES = re.compile(r"[-=*_][ \t]*(?:[\r\n]|\Z)")
"""Found in every text with a line that is a rule or underlines a heading: it ends in one of these signs."""


@lru_cache(32)
def _parser(left_out: tuple[str, ...]) -> MarkdownIt:
    """Return a parser without the rules of these names."""
    parser = _Parser("commonmark", {"html": False, "maxNesting": MAX_NESTING})
    parser.enable(["table", "strikethrough"]).disable(["html_block", "html_inline", *left_out])
    parser.inline.ruler2.disable("fragments_join")  # texts side by side are joined where they are read
    parser.core.ruler.at("inline", _read_inline)
    parser.block.ruler.at("table", _read_table, {"alt": ["paragraph", "reference"]})
    return parser


_PLAIN_DESTINATION = re.compile(r"https?://[A-Za-z0-9/?#:@!$'*+,;=._~-]++(?=\))")
_PLAIN_ADDRESS = re.compile(r"https?://[a-z0-9.-]+(?:[/?#][A-Za-z0-9/?#:@!$&'()*+,;=._~-]*)?")
_LANGUAGE = re.compile(r"[\w+#./-]{1,32}")


def read(said: Iterable[messages.Block]) -> tuple[Block, ...]:
    """Return the hub's text as blocks: Markdown is parsed, plain text and code are used unchanged."""
    blocks: list[Block] = []
    for part in said:
        match part:
            case messages.Markdown(text):
                blocks.extend(parse(text))
            case messages.Plain(text):
                blocks.append(Paragraph(Text(showable(text))))
            case messages.Code(text, language):
                blocks.append(CodeBlock(showable(text), _language(language)))
            case _:
                assert_never(part)
    return tuple(blocks)


def parse(source: str) -> tuple[Block, ...]:
    """Return the blocks of a Markdown document. Never raises."""
    if len(source) > MAX_CHARS:
        return (Paragraph(Text(showable(source))),)
    marked = source.__contains__
    left_out = [rule for rule, marks in _MARKS.items() if not any(map(marked, marks))]
    if not _UNDER_LINES.search(source):
        left_out += "hr", "lheading"
    parser, text = _parser(tuple(left_out)), mend_surrogates(source)
    paragraphs, done = ([], 0) if marked("&") or marked("]:") else _first_paragraphs(parser, text)
    if done == len(text):
        return tuple(paragraphs)
    tokens = parser.parse(text[done:])
    if max([token.level for token in tokens if token.nesting == 1], default=0) >= MAX_NESTING - 1:
        return (Paragraph(Text(showable(source))),)  # the parser leaves out deeper blocks
    return (*paragraphs, *_BlockReader(tokens).read())


_PARAGRAPH = re.compile(r"[^\W\d_][^\r\n\0]*+(?:\n\n|\n?\Z)")
"""A line that begins with a letter, with an empty line or nothing after it."""


def _first_paragraphs(parser: MarkdownIt, source: str) -> tuple[list[Block], int]:
    """Return the lines at the beginning that can only be paragraphs, and where the rest of the text begins.
    The parser would ask all its rules about each line."""
    paragraphs: list[Block] = []
    done = 0
    while (line := _PARAGRAPH.match(source, done)) is not None:
        paragraphs.append(Paragraph(_text(_inline_tokens(parser, mdTrim(line[0]), {}))))
        done = line.end()
    return paragraphs, done


class _BlockReader:
    """A reader that passes through the parser's tokens once, front to back."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._position = 0

    def read(self, closing: str = "") -> tuple[Block, ...]:
        """Return the blocks up to and past the token `closing`, or up to the end."""
        blocks: list[Block] = []
        while self._position < len(self._tokens):
            token = self._tokens[self._position]
            self._position += 1
            if token.type == closing:
                break
            blocks.append(self._block(token))
        return tuple(blocks)

    def _next(self) -> Token:
        token = self._tokens[self._position]
        self._position += 1
        return token

    def _block(self, token: Token) -> Block:
        match token.type:
            case "heading_open":
                return Heading(int(token.tag[1:]), self._inline())
            case "fence" | "code_block":
                code = token.content.removesuffix("\n")
                return CodeBlock(showable(code), _language(token.info))
            case "blockquote_open":
                return Quote(self.read("blockquote_close"))
            case "bullet_list_open":
                return self._list("bullet_list_close", None)
            case "ordered_list_open":
                return self._list("ordered_list_close", int(token.attrs.get("start", 1)))
            case "table_open":
                return self._table()
            case "hr":
                return Rule()
            case "paragraph_open":
                return Paragraph(self._inline())
            case _:
                return Paragraph(Text(showable(token.content)))

    def _inline(self) -> Text:
        """Return the content of the leaf block whose opening token was just read, and skip its
        closing token."""
        content = inline_text(self._next())
        self._position += 1
        return content

    def _list(self, closing: str, start: int | None) -> List:
        items: list[tuple[Block, ...]] = []
        tight = True
        while self._next().type != closing:
            first = self._position
            items.append(self.read("list_item_close"))
            tight = tight and not self._has_open_paragraph(first)
        return List(tuple(items), start, tight)

    def _has_open_paragraph(self, first: int) -> bool:
        """Return whether the item from token `first` to here has a paragraph set off by empty lines."""
        level = self._tokens[first].level
        for token in self._tokens[first : self._position]:
            if token.type == "paragraph_open" and token.level == level and not token.hidden:
                return True
        return False

    def _table(self) -> Table:
        alignments: list[Alignment] = []
        rows: list[list[Text]] = []
        while (token := self._next()).type != "table_close":
            match token.type:
                case "tr_open":
                    rows.append([])
                case "th_open":
                    alignments.append(_alignment(token))
                    rows[-1].append(self._inline())
                case "td_open":
                    rows[-1].append(self._inline())
                case _:
                    pass
        return Table(tuple(alignments), tuple(rows[0]), tuple(tuple(row) for row in rows[1:]))


def _alignment(token: Token) -> Alignment:
    match token.attrs.get("style"):
        case "text-align:right":
            return "right"
        case "text-align:center":
            return "center"
        case _:
            return "left"


def _language(info: str) -> str:
    match = _LANGUAGE.match(showable(info).strip())
    return match.group() if match else ""
