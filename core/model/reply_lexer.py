"""The words of a reply's markup: text, line ends, runs of backticks and tildes, and known tags.

The lexer knows no context: it also finds tags inside code. Its words are the same however the text is
split, except that a text or a run of line ends may come in several parts.
"""

import re
from collections.abc import Iterator
from enum import Enum, IntEnum
from typing import NamedTuple

REASONING = frozenset(
    [
        "think",
        "thinking",
        "thought",
        "thoughts",
        "antthinking",
        "reasoning",
        "reflection",
        "scratchpad",
        "inner_monologue",
    ]
)
TOOLS = frozenset(["tool_call", "function_call", "tool_calls"])
FINAL, SUGGESTIONS = "final", "suggestions"
_NAMES = REASONING | TOOLS | {FINAL, SUGGESTIONS}
_WITH_PIPES = REASONING | TOOLS
_BEGINNINGS = frozenset(name[:length] for name in _NAMES for length in range(len(name) + 1))
_BRACKET = "[called tool "
CLOSING_QUOTES = {
    '"': '"',
    "'": "'",
    "\u201c": "\u201d\u201c",
    "\u201d": "\u201d",
    "\u201e": "\u201c\u201d",
    "\u2018": "\u2019\u2018",
    "\u201a": "\u2018\u2019",
    "\u00ab": "\u00bb",
    "\u00bb": "\u00ab\u00bb",
    "\u2039": "\u203a",
    "\u300c": "\u300d",
    "\u300e": "\u300f",
}
"""The marks that close what each mark opens, in the languages that use it."""
RUN_LIMIT_CHARS = 100
"""Longer runs of backticks or tildes are text. The limit bounds what is held back."""

_SIGNS = re.compile(r"[<\[`~\n]")
_FEWER_SIGNS = re.compile(r"[<\[`~]|\n(?![^\s<\[`~>tTpP])")
"""Without line ends before a line whose beginning shows that it is only text."""
_RUN = re.compile(r"`+|~+|\n+")
_HEAD = re.compile(r"<(\|?)([ \t\r\n]{0,8})(/?)[ \t\r\n]{0,8}([A-Za-z_]{0,17})")
_ATTRIBUTES = re.compile(r"[^<>`]{0,500}")
_PIPE_END = re.compile(r"[ \t\r\n]{0,8}\|>")


class Kind(IntEnum):
    """The kind of a word."""

    TEXT = 0
    NEWLINE = 1
    TICKS = 2
    TILDES = 3
    TAG = 4
    BRACKET = 5
    """The beginning `[Called tool ` of an echoed call."""
    END = 6
    """The end of the reply, made by the parser."""


class Tag(NamedTuple):
    """A known tag. `name`: in lower case; `pipe`: written `<|name|>`; `empty`: written `<name/>`."""

    name: str
    closing: bool
    pipe: bool
    empty: bool


class Token(NamedTuple):
    """One word. `raw`: its text as the model wrote it."""

    kind: Kind
    raw: str
    tag: Tag | None = None


class _Undecided(Enum):
    """The answer where more text is needed."""

    YET = 0


_YET = _Undecided.YET
_NAME_ENDS = frozenset(" \t\r\n/>|")
_RUN_KINDS = {"`": Kind.TICKS, "~": Kind.TILDES}


_PLAIN_TAGS = {
    raw: Token(Kind.TAG, raw, Tag(name, bool(slash), bool(pipe), False))
    for name in _NAMES
    for slash in ("", "/")
    for pipe in ("", "|")
    if not pipe or name in _WITH_PIPES
    for raw in [f"<{pipe}{slash}{name}{pipe}>"]
}
_OPENING = {name: Tag(name, False, False, False) for name in TOOLS}
_REASONING_BLOCK = r"<(?:{names})>([^<{code}]*)</(?:{names})>"
_NAMES_OF_BLOCKS = "|".join(sorted(REASONING))
_BLOCK = re.compile(_REASONING_BLOCK.format(names=_NAMES_OF_BLOCKS, code="`~\n"))
_BLOCK_WITH_CODE = re.compile(_REASONING_BLOCK.format(names=_NAMES_OF_BLOCKS, code=""))
"""A whole reasoning block, so that most are read at once: without code, and with any."""
_SKIPPED = Tag("think", False, False, True)
_TICK = Token(Kind.TICKS, "`")
_MAY_GO_ON = frozenset(["`", ""])
_LONGEST_PLAIN_TAG = max(map(len, _PLAIN_TAGS))


class Lexer:
    """A splitter of text that arrives in pieces. The undecided end of a piece waits for the next one."""

    def __init__(self) -> None:
        self.whole_lines = True
        """Whether a text may go over the ends of lines, followed by lines that are only text, and a whole
        reasoning block may be one word. False inside of other parts."""
        self.heeds_code = True
        """Whether code in reasoning is looked for."""
        self._text = ""
        self.before = ""
        """The character before the text to come."""
        self._is_last = False
        self._long_run = ""
        """The character of a run beyond the limit that the text so far ends with."""

    @property
    def is_empty(self) -> bool:
        """Whether no text waits for more."""
        return not self._text

    def feed(self, piece: str, *, last: bool = False) -> None:
        """Add a piece. `last`: no more text follows."""
        self._text += piece
        self._is_last = last

    def words(self) -> Iterator[Token | None]:
        """Yield the words, and None wherever more text must be fed first. It never ends."""
        text, start, at = self._text, 0, 0
        while True:
            found = (_FEWER_SIGNS if self.whole_lines else _SIGNS).search(text, at)
            if found is None:
                at, token = len(text), _YET
            else:
                at = found.start()
                token = self._token(text, at)
                if token is None:
                    at += 1
                    continue
            if at > start:
                yield Token(Kind.TEXT, text[start:at])
            if token is not _YET:
                yield token
                start = at = at + len(token.raw)
                continue
            self.before = text[at - 1 : at] or self.before
            self._text = text[at:]
            yield None
            text, start = self._text, 0
            at = self._past_long_run(text) if self._long_run else 0

    def _past_long_run(self, text: str) -> int:
        rest = text.lstrip(self._long_run)
        if rest:
            self._long_run = ""
        return len(text) - len(rest)

    def _token(self, text: str, at: int) -> Token | _Undecided | None:
        """Return the word at a sign, or None if the sign is only text."""
        sign = text[at]
        if sign == "<":
            return self._tag(text, at)
        if sign == "[":
            return _bracket(text, at, last=self._is_last)
        if sign == "`" and text[at + 1 : at + 2] not in _MAY_GO_ON:
            return _TICK
        found = _RUN.match(text, at)
        assert found is not None  # noqa: S101 - the sign itself is a run
        run = found.group()
        if sign == "\n":
            return Token(Kind.NEWLINE, run)
        ends = found.end() < len(text) or self._is_last
        if len(run) > RUN_LIMIT_CHARS:
            self._long_run = "" if ends else sign
            return Token(Kind.TEXT, run)
        return Token(_RUN_KINDS[sign], run) if ends else _YET

    def _tag(self, text: str, at: int) -> Token | _Undecided | None:
        """Return a tag, unless it stands alone in quotation marks; or a whole block of reasoning."""
        closing = CLOSING_QUOTES.get(text[at - 1] if at else self.before)
        if self.whole_lines and closing is None:
            block = (_BLOCK if self.heeds_code else _BLOCK_WITH_CODE).match(text, at)
            if block is not None and text[block.end(1) - 1] not in CLOSING_QUOTES:
                return Token(Kind.TAG, block.group(), _SKIPPED)
        token = _PLAIN_TAGS.get(text[at : text.find(">", at, at + _LONGEST_PLAIN_TAG) + 1])
        if token is None:  # nearly all tags are plain
            token = _tag(text, at, last=self._is_last)
        if closing is None or token is None or token is _YET:
            return token
        end = at + len(token.raw)
        if end == len(text):
            return token if self._is_last else _YET
        return None if text[end] in closing else token


def _bracket(text: str, at: int, *, last: bool) -> Token | _Undecided | None:
    raw = text[at : at + len(_BRACKET)]
    if raw.lower() == _BRACKET:
        return Token(Kind.BRACKET, raw)
    may_become = not last and at + len(raw) == len(text) and _BRACKET.startswith(raw.lower())
    return _YET if may_become else None


def _tag(text: str, at: int, *, last: bool) -> Token | _Undecided | None:
    head = _HEAD.match(text, at)
    assert head is not None  # noqa: S101 - the sign itself is a head
    end, name = head.end(), head[4].lower()
    if end == len(text):
        return _YET if not last and name in _BEGINNINGS else None
    if text[end] not in _NAME_ENDS or name not in _NAMES:
        return None
    if head[1]:
        return _pipe_tag(text, at, end, Tag(name, bool(head[3]), True, False), last=last)
    found = _ATTRIBUTES.match(text, end)
    assert found is not None  # noqa: S101 - it matches an empty text
    stop, closing = found.end(), bool(head[3])
    if stop == len(text) and not last:
        return _YET
    if text.startswith(">", stop):
        attributes = found[0]
        # `a < final price` is prose, although tags may have blanks there
        if head[2] and attributes.strip(" \t\r\n/") and "=" not in attributes:
            return None
        empty = not closing and attributes.rstrip().endswith("/")
        return Token(Kind.TAG, text[at : stop + 1], Tag(name, closing, False, empty))
    if name in TOOLS and not closing and text[end].isspace():  # it opens even if its attributes never end
        return Token(Kind.TAG, text[at:stop], _OPENING[name])
    return None


def _pipe_tag(text: str, at: int, end: int, tag: Tag, *, last: bool) -> Token | _Undecided | None:
    if tag.name not in _WITH_PIPES:
        return None
    found = _PIPE_END.match(text, end)
    if found is not None:
        return Token(Kind.TAG, text[at : found.end()], tag)
    rest = text[end : end + 10]
    undecided = not last and end + len(rest) == len(text) and rest.strip(" \t\r\n") in {"", "|"}
    return _YET if undecided else None
