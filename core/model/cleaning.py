"""Cleaning of model replies: reasoning and tool syntax are removed while the text arrives.

One parser reads each reply, in pieces or whole; both give the same result. Nothing inside code or quotes
is touched. Tool calls written as text are recovered (see core.model.recovered_calls).
"""

import re
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from core.model.base import CallRequest, ModelReply
from core.model.recovered_calls import Syntax, WrittenCall, recovered
from core.model.reply_lexer import CLOSING_QUOTES, FINAL, REASONING, TOOLS, Kind, Lexer, Tag, Token
from core.model.reply_spans import (
    BracketEcho,
    FenceHead,
    FenceLines,
    InlineCode,
    Span,
    SuggestionsTag,
    Thinking,
    ToolFence,
    ToolTag,
    opens_fence,
)
from core.model.visible_text import Code, VisibleText

REASON_LIMIT_CHARS = 1000
"""The limit on the reason of a call. Cards quote less of it."""
_END = Token(Kind.END, "")
_NOT_PLAIN = re.compile(
    r"<|\[(?:[cC]|\Z)|\n(?:\n\n|[^\S\n]*(?:`(?:`|\Z)|~(?:~|\Z)|\["
    r"|[tT](?:[oO](?:[oO=]|\Z)|\Z)|[pP](?:[rR](?:[eE]|\Z)|\Z)))"
)
"""What may begin anything but plain text: a tag or an echoed call, and at the beginning of a line a fence, or
one that repeats a tool event or goes to a tool. Also line ends to be left out."""
_BLANKS_LIMIT_CHARS = 100
"""The limit on the blanks at the beginning of a line that are read again with the next piece."""


class Cleaner:
    """The cleaning of one reply. Give it the pieces in order, then call `finish`."""

    def __init__(self) -> None:
        self.fed_chars = 0
        self._plain: list[str] | None = []
        """The pieces so far while they are plain text, as most replies are to the end."""
        self._before = "\n"
        """The beginning of the line if that is blank, else its last character."""
        self._ahead_chars = 0
        """The text shown as plain that is yet to be met by reading it again."""
        self.starts_over = False
        """Whether text was shown that turned out not to belong to the final answer. What is returned from
        then on replaces it."""
        self._lexer = Lexer()
        self._words = self._lexer.words()
        self._queue: deque[Token] = deque()
        self._span: Span | None = None
        self._fence: FenceLines | None = None
        self._written: list[WrittenCall] = []
        self._visible = VisibleText(self._written)
        self._is_flowing = False
        """Whether plain text is shown as it comes, which is the case for nearly every piece."""
        # the line
        self._blank = True
        self._quoted = False
        self._line_calls: list[WrittenCall] = []
        self._eats_newline = False
        self._eats_blanks = False
        self._removed: tuple[str, str] | None = None
        """The text just removed after a quotation mark, and the marks that would close the quotation."""
        # the final answer
        self._has_final = False
        self._in_final = False
        # what was looked for in vain, and is not looked for again, so that the work stays linear
        self._heeds_strings = True
        self._heeds_brackets = True
        self._runs: dict[str, int] = {}
        """The runs of backticks among the next `_counted` words."""
        self._counted = 0

    def feed(self, piece: str) -> str:
        """Read a piece. Return the text that may now be shown, which never changes."""
        self.fed_chars += len(piece)
        if self._plain is not None:
            if self._adds_plain(self._plain, piece):
                return self._visible.tail.take()
            piece = self._read_again(self._plain) + piece
        tail = self._visible.tail
        if self._is_flowing and piece and not _has_sign(piece):
            self._lexer.before = piece[-1:]
            tail.add(piece)
            return tail.take()
        self._lexer.feed(piece)
        self._read()
        self._is_flowing = (
            not (not self._lexer.is_empty or self._blank or self._eats_newline)
            and self._removed is None
            and self._span is self._fence is None
            and self._has_final is self._in_final
            and self._visible.is_flowing
        )
        return self._take()

    def _adds_plain(self, pieces: list[str], piece: str) -> bool:
        """Show a piece if it is plain text. Return whether it is."""
        text = self._before + piece
        if _NOT_PLAIN.search(text) is not None:
            return False
        line = text.rpartition("\n")[2]
        if not line or line.isspace():
            if len(line) > _BLANKS_LIMIT_CHARS:
                return False
            self._before = f"\n{line}" if "\n" in text else line[-1]
        else:
            self._before = line[-1]
        pieces.append(piece)
        tail = self._visible.tail
        rest = piece.lstrip("\n")
        if len(rest) < len(piece):
            tail.end_line(piece[: len(piece) - len(rest)])
        if rest:
            said = rest.rstrip("\n")
            tail.add(said)
            if len(said) < len(rest):
                tail.end_line(rest[len(said) :])
        return True

    def _read_again(self, pieces: list[str]) -> str:
        """Return the plain text, to be read again word by word. What it shows is not shown twice."""
        self._plain, self._ahead_chars = None, self._visible.tail.size
        self._visible = VisibleText(self._written)
        return "".join(pieces)

    def _take(self) -> str:
        text, ahead_chars = self._visible.tail.take(), self._ahead_chars
        if not ahead_chars:
            return text
        self._ahead_chars = max(0, ahead_chars - len(text))
        return text[ahead_chars:]

    def finish(self) -> str:
        """Read the end of the reply. Return the rest of the text that may be shown."""
        if self._plain is not None:
            self._visible.tail.end()
            return self._visible.tail.take()
        self._lexer.feed("", last=True)
        self._read()
        self._queue.append(_END)
        self._read()
        self._visible.end()
        return self._take()

    def text(self) -> str:
        """Return the whole cleaned text, after `finish`."""
        return self._visible.tail.text()

    def suggestions(self) -> tuple[str, ...]:
        """Return the suggestions for a person's next message, after `finish`."""
        return self._visible.tail.suggestions

    def calls(self, offered: Collection[str]) -> tuple[CallRequest, ...]:
        """Return the calls of offered tools that were written as text, after `finish`."""
        return recovered(self._written, offered, self.text()) if self._written and offered else ()

    # --- words ------------------------------------------------------------------------------------------

    def _read(self) -> None:
        queue, lexer, words = self._queue, self._lexer, self._words
        while True:
            if queue:
                token = queue.popleft()
                if self._counted:
                    self._counted -= 1
                    if token.kind is Kind.TICKS:
                        self._runs[token.raw] = self._runs.get(token.raw, 0) - 1
            else:
                lexer.whole_lines = self._span is None and self._fence is None
                found = next(words)
                if found is None:
                    return
                token = found
            if (span := self._span) is not None:
                again = span.take(token)
                if again is not None:
                    self._end_span(span, again)
            elif self._fence is not None:
                self._read_fence(self._fence, token)
            else:
                self._read_plain(token)

    def _end_span(self, span: Span, again: Sequence[Token]) -> None:
        self._span = None
        if self._counted:
            self._count(again)
        self._queue.extendleft(reversed(again))
        self._close(span)

    def _count(self, tokens: Iterable[Token]) -> None:
        """Count runs of backticks that are read next."""
        for token in tokens:
            self._counted += 1
            if token.kind is Kind.TICKS:
                self._runs[token.raw] = self._runs.get(token.raw, 0) + 1

    def _read_fence(self, fence: FenceLines, token: Token) -> None:
        if fence.ends_with(token) or token.kind is Kind.END:
            self._fence = None
            self._read_plain(token)
        else:
            self._say(token.raw, Code.FENCE)

    def _read_plain(self, token: Token) -> None:
        kind = token.kind
        if self._eats_newline or self._removed is not None:
            token = self._after_removed(token)
        if kind is Kind.TEXT:
            self._read_text(token.raw)
        elif kind is Kind.NEWLINE:
            self._end_line(token.raw)
        elif kind is Kind.END:
            self._end_line("")
        elif self._quoted and kind is not Kind.TICKS:
            self._say(token.raw)
        elif kind is Kind.TAG and token.tag is not None:
            self._read_tag(token, token.tag)
        else:
            self._read_sign(token)

    def _read_sign(self, token: Token) -> None:
        if token.kind is Kind.BRACKET and self._heeds_brackets:
            self._span = BracketEcho(token)
        elif self._blank and opens_fence(token):
            self._span = FenceHead(token)
        elif token.kind is Kind.TICKS and not (self._counted and not self._runs.get(token.raw)):
            self._span = InlineCode(token)
        else:
            self._say(token.raw)

    def _read_text(self, text: str) -> None:
        """Read text, which may go over the ends of lines. Only its first line may be special, and those
        after a line that is held back."""
        at, end = 0, text.find("\n")
        while end >= 0:
            if end > at:
                self._say(text[at:end])
            self._end_line("\n")
            at = end + 1
            end = text.find("\n", at) if self._visible.holds_lines else -1
        if at < len(text):
            self._say(text[at:])

    def _after_removed(self, token: Token) -> Token:
        """Return a word without the line end that was removed with the text before it. That text stays if
        it turns out to be all of a quotation."""
        if self._removed is not None:
            removed, closing = self._removed
            self._removed = None
            if token.raw and token.raw[0] in closing:
                self._eats_newline = False
                self._say(removed)
        if self._eats_blanks and token.kind is Kind.TEXT:
            token = token._replace(raw=token.raw.lstrip(" \t\r"))
        self._eats_newline = not token.raw
        if token.raw.startswith("\n"):
            self._end_line("")
            token = token._replace(raw=token.raw[1:])
        return token

    def _read_tag(self, token: Token, tag: Tag) -> None:
        if tag.name in REASONING:
            if not (tag.closing or tag.empty):
                self._span = Thinking(tag, heeds_code=self._lexer.heeds_code)
        elif tag.name == FINAL:
            self._read_final(token, tag)
        elif tag.closing:
            self._say(token.raw)
        elif tag.name in TOOLS:
            if not tag.empty:
                self._span = ToolTag(token, tag, heeds_strings=self._heeds_strings)
        else:
            self._span = SuggestionsTag(token)

    def _read_final(self, token: Token, tag: Tag) -> None:
        if tag.empty:
            return
        if not tag.closing:
            if not self._has_final:
                self.starts_over = self._visible.tail.taken > 0 or self._ahead_chars > 0
                self._ahead_chars = 0
                self._written[:] = [call._replace(at=0) for call in self._written]
                self._visible = VisibleText(self._written)
                self._blank, self._quoted = True, False
            self._has_final = self._in_final = True
        elif self._has_final:
            self._in_final = False
        else:
            self._say(token.raw)

    # --- ends of spans ----------------------------------------------------------------------------------

    def _close(self, span: Span) -> None:
        match span:
            case InlineCode():
                self._close_code(span)
            case FenceHead():
                self._close_head(span)
            case Thinking():
                self._lexer.heeds_code = self._lexer.heeds_code and not span.code_was_open
            case ToolTag():
                self._close_tool(span)
            case ToolFence():
                self._eats_newline = self._eats_blanks = span.is_closed
                if span.is_closed:
                    self._written.append(WrittenCall(Syntax.FENCE, span.body, self._visible.tail.size))
            case BracketEcho():
                self._close_bracket(span)
            case SuggestionsTag():
                self._close_suggestions(span)
            case _:
                raise AssertionError(f"unknown span {span!r}")

    def _close_code(self, span: InlineCode) -> None:
        if span.is_code:
            self._say("".join(token.raw for token in span.tokens), Code.INLINE)
            return
        self._counted, self._runs = 0, {}
        self._count(span.tokens[1:])
        self._say(span.tokens[0].raw)

    def _close_head(self, span: FenceHead) -> None:
        if not span.is_fence:
            self._span = InlineCode(span.tokens[0])
        elif span.holds_call:
            self._span = ToolFence()
        else:
            self._end_line("")
            self._fence = FenceLines(span.tokens[0].raw)
            self._say("".join(token.raw for token in span.tokens), Code.FENCE)

    def _close_tool(self, span: ToolTag) -> None:
        self._heeds_strings = self._heeds_strings and not span.string_was_open
        if span.is_cut:
            return
        self._remove(span)
        if self._blank and span.tag.name != "tool_calls":  # or the line says more before it
            name = f"|{span.tag.name}|" if span.tag.pipe else span.tag.name
            self._line_calls.append(WrittenCall(Syntax.TAG, span.body, self._visible.tail.size, tag=name))

    def _remove(self, span: ToolTag | BracketEcho) -> None:
        closing = CLOSING_QUOTES.get(self._visible.tail.last_char)
        self._removed = None if closing is None else (span.raw, closing)

    def _close_bracket(self, span: BracketEcho) -> None:
        self._heeds_brackets = self._heeds_brackets and not span.found_end
        if not span.is_echo:
            self._say(span.opening.raw)
            return
        self._eats_newline = True
        self._remove(span)
        if span.name:
            size = self._visible.tail.size
            self._written.append(WrittenCall(Syntax.BRACKET, span.arguments, size, span.name))

    def _close_suggestions(self, span: SuggestionsTag) -> None:
        if not span.is_block:
            self._say(span.opening.raw)
        elif not self._has_final or self._in_final:
            self._visible.add_suggestions(span.raw, span.body)

    # --- the line ---------------------------------------------------------------------------------------

    def _say(self, text: str, code: Code = Code.NONE) -> None:
        """Pass on text that is part of the line."""
        if self._blank:
            begun = text.lstrip()
            self._blank = not begun
            self._quoted = begun.startswith(">")
        if self._line_calls and not text.isspace():
            self._line_calls.clear()  # the line says more than the call
        if not self._has_final or self._in_final:
            self._visible.add(text, code)

    def _end_line(self, newlines: str) -> None:
        """End the line. `newlines`: those to pass on."""
        self._written += self._line_calls
        self._line_calls.clear()
        self._blank, self._quoted = True, False
        if newlines and (not self._has_final or self._in_final):
            self._visible.end_line(newlines)


def _has_sign(piece: str) -> bool:
    """Return whether a piece of a line may be anything but plain text."""
    return "<" in piece or "`" in piece or "\n" in piece or "[" in piece


def cleaned(text: str) -> str:
    """Return a whole text without reasoning and tool syntax."""
    return _read_whole(text).text()


def cleaned_reply(reply: ModelReply, offered: Collection[str], read: Cleaner | None = None) -> ModelReply:
    """Return a reply without reasoning and tool syntax. If it requests no calls, it gets those of offered
    tools that its text holds.

    `read`: a finished cleaner that has read the same text already, piece by piece."""
    if read is None or read.fed_chars != len(reply.text):
        read = _read_whole(reply.text)
    calls = tuple(map(_with_clean_reason, reply.calls)) or read.calls(offered)
    text, suggestions = read.text(), read.suggestions()
    if not (calls or suggestions or reply.suggestions) and text == reply.text:
        return reply
    return replace(reply, text=text, calls=calls, suggestions=suggestions)


def _with_clean_reason(call: CallRequest) -> CallRequest:
    return replace(call, reason=cleaned(call.reason)[:REASON_LIMIT_CHARS]) if call.reason else call


def _read_whole(text: str) -> Cleaner:
    cleaner = Cleaner()
    cleaner.feed(text)
    cleaner.finish()
    return cleaner
