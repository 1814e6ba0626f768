"""Spans of a reply: parts whose meaning is known only at their end, so that they are held back until then.

`take` receives the words after a span's first one. It returns None while the span is open; at its end, the
words to be read again.
"""

from typing import Protocol

from core.model.recovered_calls import WITH_ARGUMENTS, EchoEnd, QuoteCount
from core.model.reply_lexer import FINAL, REASONING, SUGGESTIONS, TOOLS, Kind, Tag, Token

FENCE_TICKS = 3
DOUBT_LIMIT_CHARS = 20_000
"""The length after which code or a string that holds a closing tag is taken to have no end."""
_RUNS = frozenset([Kind.TICKS, Kind.TILDES])
_LINE_ENDS = frozenset([Kind.NEWLINE, Kind.END])
_TEXT, _TAG, _TICKS, _END = Kind.TEXT, Kind.TAG, Kind.TICKS, Kind.END  # looked at for each word of a reply


class Span(Protocol):
    """A part of a reply whose meaning is known at its end."""

    def take(self, token: Token) -> list[Token] | None:
        """Read one word. Return None while the span is open, else the words to be read again."""
        ...


def opens_fence(token: Token) -> bool:
    """Return whether a word opens a fence at the beginning of a line."""
    return token.kind in _RUNS and len(token.raw) >= FENCE_TICKS


class FenceLines:
    """The lines of a code fence: tells where it ends."""

    def __init__(self, opening: str) -> None:
        self._opening = opening
        self._blank = False
        self._closing = False

    def ends_with(self, token: Token) -> bool:
        """Read on. Return whether this is the end of the line that closes the fence."""
        if token.kind in _LINE_ENDS:
            if self._closing:
                return True
            self._blank = True
        elif self._blank and token.raw.startswith(self._opening) and token.kind in _RUNS:
            self._blank, self._closing = False, True
        elif not token.raw.isspace():
            self._blank = self._closing = False
        return False


class FenceHead:
    """A line that begins with three or more backticks or tildes: a fence, unless a backtick follows."""

    def __init__(self, opening: Token) -> None:
        self.tokens = [opening]
        self.is_fence = False

    def take(self, token: Token) -> list[Token] | None:
        if token.kind in _LINE_ENDS:
            self.is_fence = True
            return [token]
        if token.kind is Kind.TICKS and self.tokens[0].kind is Kind.TICKS:
            return [*self.tokens[1:], token]
        self.tokens.append(token)
        return None

    @property
    def holds_call(self) -> bool:
        """Whether it is a fence for tool calls."""
        info = "".join(token.raw for token in self.tokens[1:]).split(maxsplit=1)
        return self.tokens[0].raw == "`" * FENCE_TICKS and bool(info) and info[0].lower() in TOOLS


class InlineCode:
    """Code in a line, from a run of backticks to the next run of the same length in the paragraph."""

    def __init__(self, opening: Token) -> None:
        self.tokens = [opening]
        self.is_code = False
        self._blank = False

    def take(self, token: Token) -> list[Token] | None:
        if token.kind is Kind.END or self._ends_paragraph(token):
            return [*self.tokens[1:], token]
        self.tokens.append(token)
        if token.kind is Kind.TICKS and token.raw == self.tokens[0].raw:
            self.is_code = True
            return []
        return None

    def _ends_paragraph(self, token: Token) -> bool:
        if token.kind is Kind.NEWLINE:
            if self._blank or len(token.raw) > 1:
                return True
            self._blank = True
        elif self._blank:
            if opens_fence(token):
                return True
            self._blank = token.raw.isspace()
        return False


class Thinking:
    """A reasoning block, dropped up to its closing tag.

    A closing tag in code does not count, unless that code has no end. If the block never ends, a final
    answer inside it is kept. `heeds_code`: False where code is no longer looked for.
    """

    code_was_open = False
    _fence: FenceLines | None = None
    _ticks = ""
    _blank = False
    _after: list[Token] | None = None
    """The words after a closing tag in code that has not ended yet."""
    _doubt_chars = 0
    _in_final = False

    def __init__(self, tag: Tag, *, heeds_code: bool) -> None:
        self._pipe = tag.pipe
        self._heeds_code = heeds_code
        self._final: list[Token] = []

    def take(self, token: Token) -> list[Token] | None:
        kind, tag = token.kind, token.tag
        if self._after is not None:
            self._after.append(token)
            self._doubt_chars += len(token.raw)
        if tag is not None and tag.closing and self._is_closed_by(tag):
            return []
        is_plain = (kind is _TEXT or kind is _TAG) and not self._blank and self._fence is None
        if self._heeds_code and not is_plain and self._code_ends_late(token):
            return self._from_doubtful_end()
        if self._after is not None and (kind is _END or self._doubt_chars > DOUBT_LIMIT_CHARS):
            return self._from_doubtful_end()
        if kind is _END:
            return [*self._final, token]
        if tag is not None and tag.name == FINAL:
            if not (self._pipe or self._fence or self._ticks):
                self._in_final = not tag.closing
        elif self._in_final and not (tag is not None and tag.name in REASONING):
            self._final.append(token)
        return None

    def _is_closed_by(self, tag: Tag) -> bool:
        if tag.name not in REASONING or tag.pipe is not self._pipe:
            return False
        if self._fence is None and not self._ticks:
            return True
        if self._after is None:
            self._after, self._doubt_chars = [], 0
        return False

    def _from_doubtful_end(self) -> list[Token]:
        self.code_was_open = True
        return self._after or []

    def _code_ends_late(self, token: Token) -> bool:
        """Follow the code in the block. Return whether a line ended inside code that had a closing tag."""
        if self._fence is not None:
            if self._fence.ends_with(token):
                self._fence = self._after = None
                self._blank = True
        elif token.kind is Kind.NEWLINE:
            if self._ticks and self._after is not None:
                return True
            self._ticks, self._blank = "", True
        elif self._blank and opens_fence(token):
            self._fence, self._blank = FenceLines(token.raw), False
        else:
            if token.kind is _TICKS:
                self._meet_ticks(token.raw)
            self._blank = self._blank and token.raw.isspace()
        return False

    def _meet_ticks(self, run: str) -> None:
        if not self._ticks:
            self._ticks = run
        elif self._ticks == run:
            self._ticks, self._after = "", None


class ToolTag:
    """A tool tag, removed up to its closing tag. Without one, everything after it is cut off.

    A closing tag inside a JSON string does not count, unless that string has no end.
    """

    is_cut = False
    string_was_open = False
    closing = ""
    _quotes: QuoteCount | None = None
    _is_json: bool | None = None
    _after: list[Token] | None = None
    """The words after a closing tag in a string that has not ended yet."""
    _doubt_chars = 0
    _parts_before = 0

    def __init__(self, opening: Token, tag: Tag, *, heeds_strings: bool) -> None:
        self.opening = opening
        self.tag = tag
        self._body: list[str] = []
        self._heeds_strings = heeds_strings

    @property
    def body(self) -> str:
        """The text between the tags."""
        return "".join(self._body)

    @property
    def raw(self) -> str:
        """The text with its tags."""
        return f"{self.opening.raw}{self.body}{self.closing}"

    def take(self, token: Token) -> list[Token] | None:
        if self._after is not None:
            self._after.append(token)
            self._doubt_chars += len(token.raw)
        ends = token.kind is Kind.END
        if self._after is not None and (ends or self._doubt_chars > DOUBT_LIMIT_CHARS):
            self.string_was_open = True
            del self._body[self._parts_before :]
            return self._after
        if ends:
            self.is_cut = True
            return [token]
        tag = token.tag
        if tag is not None and tag.closing and tag.name == self.tag.name and tag.pipe is self.tag.pipe:
            self.closing = token.raw
            if self._quotes is None or not self._quotes.inside:
                return []
            if self._after is None:
                self._after, self._parts_before = [], len(self._body)
        self._body.append(token.raw)
        self._read(token.raw)
        return None

    def _read(self, raw: str) -> None:
        if self._is_json is None and not raw.isspace():
            self._is_json = raw.lstrip().startswith("{")
            self._quotes = QuoteCount() if self._is_json and self._heeds_strings else None
        if self._quotes is not None:
            self._quotes.feed(raw)


class ToolFence:
    """A fence for a tool call, removed up to the next line that begins with three backticks."""

    def __init__(self) -> None:
        self.is_closed = False
        self._body: list[str] = []
        self._blank = False

    @property
    def body(self) -> str:
        """The lines of the fence."""
        return "".join(self._body)

    def take(self, token: Token) -> list[Token] | None:
        if token.kind is Kind.END:
            return [token]
        if token.kind is Kind.NEWLINE:
            self._blank = True
        elif self._blank and token.kind is Kind.TICKS and len(token.raw) >= FENCE_TICKS:
            self.is_closed = True
            return []
        else:
            self._blank = self._blank and token.raw.isspace()
        self._body.append(token.raw)
        return None


class BracketEcho:
    """An echoed call in brackets. One with another shape than expected lasts up to the first bracket that
    ends a line, or the last bracket of the text."""

    def __init__(self, opening: Token) -> None:
        self.opening = opening
        self.is_echo = True
        self.found_end = False
        """Whether the whole rest of the text was searched for a bracket."""
        self._shape = EchoEnd()
        self._tokens: list[Token] = []
        self._line_end = 0
        """The position of the first line end after a bracket."""

    @property
    def name(self) -> str:
        """The name of the called tool."""
        return self._shape.name

    @property
    def raw(self) -> str:
        """The whole echo."""
        return "".join([self.opening.raw, *(token.raw for token in self._tokens)])

    @property
    def arguments(self) -> str:
        """The arguments as written."""
        if not self._shape.failed:
            return self._shape.arguments
        raw = self.raw
        at = raw.lower().find(WITH_ARGUMENTS)
        return raw[at + len(WITH_ARGUMENTS) :].strip().removesuffix("]") if at >= 0 else ""

    def take(self, token: Token) -> list[Token] | None:
        tokens, shape = self._tokens, self._shape
        if not tokens and token.raw != "`":
            self.is_echo = False
            return [token]
        if token.kind is Kind.END:
            shape.failed = True
            return self._up_to_line_end(token) if self._line_end else self._up_to_last_bracket(token)
        if token.kind is Kind.NEWLINE and not self._line_end and tokens[-1].raw.endswith("]"):
            self._line_end = len(tokens)
        if not shape.failed:
            end = shape.feed(token.raw)
            if end is not None:
                tokens.append(Token(Kind.TEXT, token.raw[:end]))
                return [Token(Kind.TEXT, token.raw[end:])] if end < len(token.raw) else []
        if shape.failed and self._line_end:
            return self._up_to_line_end(token)
        tokens.append(token)
        return None

    def _up_to_line_end(self, token: Token) -> list[Token]:
        rest = [*self._tokens[self._line_end :], token]
        del self._tokens[self._line_end :]
        return rest

    def _up_to_last_bracket(self, token: Token) -> list[Token]:
        self.found_end = True
        for at in range(len(self._tokens) - 1, -1, -1):
            before, bracket, after = self._tokens[at].raw.rpartition("]")
            if bracket:
                rest = [Token(Kind.TEXT, after)] if after else []
                rest += [*self._tokens[at + 1 :], token]
                self._tokens[at:] = [Token(Kind.TEXT, f"{before}]")]
                return rest
        self.is_echo = False
        return [*self._tokens, token]


class SuggestionsTag:
    """A block of suggestions up to its closing tag, or to the end of the text if it was cut off."""

    def __init__(self, opening: Token) -> None:
        self.opening = opening
        self.is_block = False
        self.raw = ""
        """The block with its tags."""
        self._tokens: list[Token] = []

    @property
    def body(self) -> str:
        """The text between the tags."""
        return "".join(token.raw for token in self._tokens)

    def take(self, token: Token) -> list[Token] | None:
        tag = token.tag
        is_mark = tag is not None and tag.name == SUGGESTIONS
        ends = token.kind is Kind.END
        if (is_mark and tag is not None and tag.closing) or (ends and self.body.lstrip().startswith("[")):
            self.is_block = True
            self.raw = f"{self.opening.raw}{self.body}{token.raw}"
            return [token] if ends else []
        if is_mark or ends:
            return [*self._tokens, token]
        self._tokens.append(token)
        return None
