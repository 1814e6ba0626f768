"""The text of a reply that people see: without lines that only repeat tool events, tidied, and shown as it
grows.

Shown text never changes, so what may still vanish waits: blanks at the end, the beginning of a line that may
be dropped, a reply that may be silence, and everything after a block of suggestions.
"""

import json
import string
from enum import IntEnum
from typing import cast

from core.model.recovered_calls import NAME_CHARS, NAME_LIMIT_CHARS, LineToTool, Syntax, WrittenCall

SILENT_REPLY = "NO_REPLY"
_PUNCTUATION = frozenset(string.punctuation + " ")
_PUNCTUATION_LIMIT = 4
SUGGESTIONS_LIMIT = 3
SUGGESTION_LIMIT_BYTES = 80


def is_silent(text: str) -> bool:
    """Return whether a reply is only the token for silence, also with a little punctuation after it."""
    text = text.strip()
    return text.startswith(SILENT_REPLY) and _ends_silently(text)


def _may_become_silent(text: str) -> bool:
    return SILENT_REPLY.startswith(text) or (text.startswith(SILENT_REPLY) and _ends_silently(text))


def _ends_silently(text: str) -> bool:
    after = text[len(SILENT_REPLY) :]
    return len(after) <= _PUNCTUATION_LIMIT and _PUNCTUATION.issuperset(after)


def suggestions_in(body: str) -> tuple[str, ...]:
    """Return the suggestions of a block: the first three texts that are short enough for a button."""
    try:
        listed = json.loads(body)
    except (ValueError, RecursionError):
        return ()
    texts = cast("list[object]", listed) if isinstance(listed, list) else []
    fitting = [
        text
        for text in texts
        if isinstance(text, str)
        and text.strip()
        and len(text.encode(errors="replace")) <= SUGGESTION_LIMIT_BYTES
    ]
    return tuple(fitting[:SUGGESTIONS_LIMIT])


class Code(IntEnum):
    """The kind of code that a text is part of."""

    NONE = 0
    INLINE = 1
    FENCE = 2


class ShownText:
    """The end of a reply's text: blanks are trimmed and runs of empty lines shortened. See the module."""

    def __init__(self) -> None:
        self.taken = 0
        """How many of the parts in `_shown` were taken."""
        self.suggestions: tuple[str, ...] = ()
        self.size = 0
        """The length of the text shown so far."""
        self._shown: list[str] = []
        self._blanks: list[str] = []
        self._newlines = 0
        self._beginning = ""
        self._is_decided = False
        """Whether the reply is known not to be silence."""
        self._block: str | None = None
        """The newest block of suggestions, as written. The text after it waits in `_after_block`."""
        self._after_block: list[tuple[str, bool]] = []

    @property
    def is_flowing(self) -> bool:
        """Whether plain text is shown at once."""
        return self._is_decided and self._block is None

    def add(self, text: str) -> None:
        """Add text other than line ends, but with those in code."""
        if self._block is not None:
            self._after_block.append((text, False))
            return
        self._newlines = 0
        kept = text.rstrip()
        if not kept:
            self._blanks.append(text)
            return
        after = text[len(kept) :]
        if self._blanks:
            kept = "".join(self._blanks) + kept
            self._blanks.clear()
        if after:
            self._blanks.append(after)
        if self._is_decided:
            self._shown.append(kept)
            self.size += len(kept)
        else:
            self._begin(kept)

    def end_line(self, newlines: str) -> None:
        """Add line ends."""
        if self._block is not None:
            self._after_block.append((newlines, True))
            return
        room = max(0, 2 - self._newlines)
        self._newlines += len(newlines)
        self._blanks.append(newlines[:room])

    def _show(self, text: str) -> None:
        self._shown.append(text)
        self.size += len(text)

    @property
    def last_char(self) -> str:
        """The last character, if it is shown; else an empty text."""
        return self._shown[-1][-1] if self._shown and not self._blanks else ""

    def take(self) -> str:
        """Return the text shown since the last time."""
        parts = self._shown[self.taken :]
        self.taken += len(parts)
        return "".join(parts)

    def _begin(self, text: str) -> None:
        self._beginning = self._beginning + text if self._beginning else text.lstrip()
        if not _may_become_silent(self._beginning):
            self._show(self._beginning)
            self._is_decided = True

    def add_suggestions(self, block: str, body: str) -> None:
        """Add a block of suggestions. Only the last one counts; others are text."""
        self._release(self._block or "")
        self._block, self.suggestions = block, suggestions_in(body)

    def end(self) -> None:
        """Show the rest."""
        self._release("")
        if not self._is_decided and not is_silent(self._beginning):
            self._show(self._beginning)

    def text(self) -> str:
        """Return the whole text after its end."""
        return "".join(self._shown) if self._shown else self._beginning

    def _release(self, block: str) -> None:
        """Add the text that waited after a block, and the block itself before it unless it is empty."""
        waiting, self._after_block, self._block = self._after_block, [], None
        if block:
            self.add(block)
        for text, is_line_end in waiting:
            (self.end_line if is_line_end else self.add)(text)


_ECHOES = ("previous tool event: ", "previous tool result from ", "tool result from ", "[tool ", "to=")
_EVENT, _PAST_RESULT, _RESULT, _RETURNED, _TO = _ECHOES
_BY_BEGINNING = {shape[0]: [one for one in _ECHOES if one[0] == shape[0]] for shape in _ECHOES}
_LINE_BEGINNINGS = frozenset(" \t" + "".join(shape[0] + shape[0].upper() for shape in _ECHOES))
_WAS_INVOKED = " was invoked."
_RETURNS = " returned:"
_HEAD_LIMIT_CHARS = 300
_BLANKS_LIMIT_CHARS = 100
_INDENT_LIMIT_CHARS = 3


class VisibleText:
    """The lines of a reply's text. Lines that only repeat a tool event are dropped, and so are lines to a
    tool, which are collected in `written`. Both only outside of code."""

    def __init__(self, written: list[WrittenCall]) -> None:
        self.tail = ShownText()
        self._written = written
        self._held: list[tuple[str, Code]] = []
        """The beginning of a line that may be dropped."""
        self._head = ""
        self._echo = ""
        """The shape that the held line has, once its beginning is known."""
        self._line: LineToTool | None = None
        self._in_line = False
        self._is_dropping = False

    @property
    def is_flowing(self) -> bool:
        """Whether plain text is shown at once."""
        return self._in_line and not self._is_dropping and self.tail.is_flowing

    @property
    def holds_lines(self) -> bool:
        """Whether lines are held back, so that text must come line by line."""
        return self._line is not None

    def add(self, text: str, code: Code) -> None:
        """Add text other than line ends, but with those in code."""
        if self._in_line:
            self.tail.add(text)
        elif not self._is_dropping:
            self._begin_line(text, code)

    def add_suggestions(self, block: str, body: str) -> None:
        """Add a block of suggestions, which ends what is held of the line."""
        if not self._is_dropping:
            self._let_go()
        self.tail.add_suggestions(block, body)

    def end(self) -> None:
        """Show the rest of the text, which ends here."""
        if self._line is not None and self._line.end():
            self._collect()
        elif self._is_echo():
            self._forget()
        else:
            self._let_go()
        self.tail.end()

    # --- lines ------------------------------------------------------------------------------------------

    def end_line(self, newlines: str) -> None:
        """Add line ends outside of code."""
        if self._line is not None:
            self._held.append((newlines, Code.NONE))
            if self._line.feed(newlines):
                self._collect()
            else:
                if self._line.failed:
                    self._let_go()
                return
        elif self._is_dropping or self._is_echo():
            self._forget()
            newlines = newlines[1:]
        elif self._held:
            self._let_go()
        self._in_line = self._is_dropping = False
        if newlines:
            self.tail.end_line(newlines)

    def _begin_line(self, text: str, code: Code) -> None:
        if not self._held and (text[0] not in _LINE_BEGINNINGS or code is not Code.NONE):
            self._in_line = True
            self.tail.add(text)
            return
        self._held.append((text, code))
        if code is not Code.NONE and not (self._echo == _RETURNED and code is Code.INLINE):
            self._let_go()
        elif self._line is not None:
            self._line.feed(text)
            if self._line.failed:
                self._let_go()
        elif not self._goes_on(text):
            self._let_go()

    def _goes_on(self, text: str) -> bool:
        """Read on in the head of a line. Return whether the line may still be dropped."""
        if len(self._head) < _HEAD_LIMIT_CHARS:
            self._head += text[:_HEAD_LIMIT_CHARS]
        elif self._echo != _RETURNED:
            return False
        head = self._head.lstrip(" \t")
        if len(self._head) - len(head) > _INDENT_LIMIT_CHARS:
            return False
        if not head:
            return True
        beginning = head[: len(_PAST_RESULT)].lower()
        shapes = _BY_BEGINNING.get(beginning[0], ())
        self._echo = next((shape for shape in shapes if beginning.startswith(shape)), "")
        if not self._echo:
            return any(shape.startswith(beginning) for shape in shapes)
        if self._echo is _TO:
            self._line = LineToTool()
            self._line.feed("".join(one for one, _ in self._held).lstrip(" \t")[len(_TO) :])
            return not self._line.failed
        return self._fits(head[len(self._echo) :])

    def _fits(self, rest: str) -> bool:
        """Return whether a line may be an echo. `rest`: the text after the beginning of its shape."""
        rest = rest.lstrip("`") if self._echo is _RETURNED else rest
        end = next((at for at, one in enumerate(rest) if one not in NAME_CHARS), len(rest))
        name, after = rest[:end], rest[end:]
        if not after or not 0 < len(name) <= NAME_LIMIT_CHARS:
            return len(name) <= NAME_LIMIT_CHARS and not after
        if self._echo is _EVENT:
            return len(after) < _BLANKS_LIMIT_CHARS and _WAS_INVOKED.startswith(after.rstrip().lower())
        if self._echo is _RETURNED:
            return _RETURNS.startswith(after.lstrip("`")[: len(_RETURNS)].lower())
        self._is_dropping = after[0] == ":" and (self._echo is _PAST_RESULT or "__" in name)
        return self._is_dropping

    def _is_echo(self) -> bool:
        """Return whether a held line is an echo, now that it has ended."""
        if self._is_dropping:
            return True
        if self._echo is _EVENT:
            return self._head.rstrip().lower().endswith(_WAS_INVOKED)
        if self._echo is _RETURNED:
            line = "".join(text for text, _ in self._held).rstrip()
            return line.endswith("]") and _RETURNS in line.lower()
        return False

    # --- what is held -----------------------------------------------------------------------------------

    def _forget(self) -> None:
        self._held, self._head, self._echo, self._line = [], "", "", None

    def _collect(self) -> None:
        """Collect the line to a tool, which is over."""
        assert self._line is not None  # noqa: S101 - asked by the callers
        self._written.append(WrittenCall(Syntax.TO, self._line.body, self.tail.size, self._line.name))
        self._forget()

    def _let_go(self) -> None:
        """Show what is held: it is an ordinary line. Lines after it are read again."""
        held = self._held
        self._forget()
        self._in_line = True
        for text, code in held:
            if code is Code.NONE and text[0] == "\n":
                self.end_line(text)
            else:
                self.add(text, code)
