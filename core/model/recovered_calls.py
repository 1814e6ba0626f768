"""Tool calls that a model wrote into its text instead of requesting them.

They count only for offered tools, and only where the model wrote nothing but the call: never in code, in
quotes, in tags without an end, or in the middle of a sentence.
"""

import hashlib
import json
import re
import string
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, cast

from core.model.base import CallRequest
from core.model.reply_lexer import CLOSING_QUOTES

CALLS_LIMIT = 128
"""The limit on recovered calls, which is OpenAI's on calls in one message."""
WRITTEN_LIMIT = 1_000
"""The limit on calls looked at, most of which may be no calls at all."""
NAME_LIMIT_CHARS = 128
_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_ID_CHARS = 9
_ID_SEED = 99
"""Keeps the ids apart from those that providers make of positions."""


class Syntax(IntEnum):
    """The way a call was written. Calls are collected in this order."""

    TAG = 0
    BRACKET = 1
    FENCE = 2
    TO = 3


class WrittenCall(NamedTuple):
    """A call as written. `at`: its position in the cleaned text; `name`: empty where the body names the
    tool; `tag` tells kinds of tags apart."""

    syntax: Syntax
    body: str
    at: int
    name: str = ""
    tag: str = ""


def recovered(written: Sequence[WrittenCall], offered: Collection[str], text: str) -> tuple[CallRequest, ...]:
    """Return the calls of offered tools, in order. A call written in two syntaxes counts once.

    `text`: the cleaned text, which tells where it quotes."""
    marks = [(opening, closing) for opening, closing in _QUOTE_PAIRS if opening in text and closing in text]
    seen: dict[tuple[str, str], Counter[tuple[Syntax, str]]] = {}
    calls: list[tuple[str, str]] = []
    for one in sorted(written[:WRITTEN_LIMIT], key=lambda call: call.syntax):
        read = _read(one, offered)
        if read is None or read[0] not in offered or _is_quoted(text, one.at, marks):
            continue
        name, arguments = read
        counts = seen.setdefault((name, _canonical(arguments)), Counter())
        before = max(counts.values(), default=0)
        counts[one.syntax, one.tag] += 1
        if max(counts.values()) > before:
            calls.append((name, arguments))
        if len(calls) == CALLS_LIMIT:
            break
    return tuple(
        CallRequest(call_id(index), name, arguments) for index, (name, arguments) in enumerate(calls)
    )


_QUOTE_PAIRS = [
    (opening, closing)
    for opening, closings in CLOSING_QUOTES.items()
    for closing in closings
    if opening not in "\"'"
]
_QUOTE_LIMIT_CHARS = 2_000
"""The limit on a quotation on each side of a call."""


def _is_quoted(text: str, at: int, marks: Iterable[tuple[str, str]]) -> bool:
    """Return whether a position is in quotation marks. Straight ones count on one line, others in pairs.

    `marks`: the pairs of marks that occur in the text."""
    before, after = text[max(0, at - _QUOTE_LIMIT_CHARS) : at], text[at : at + _QUOTE_LIMIT_CHARS]
    line_before, line_after = before.rpartition("\n")[2], after.partition("\n")[0]
    if line_before.count('"') % 2 and '"' in line_after:
        return True
    return any(
        before.rfind(opening) > before.rfind(closing) and closing in after for opening, closing in marks
    )


def call_id(index: int) -> str:
    """Return the id of a recovered call: nine letters and digits, as the strictest provider demands."""
    number = int.from_bytes(hashlib.sha256(f"{index}:{_ID_SEED}".encode()).digest())
    digits: list[str] = []
    for _ in range(_ID_CHARS):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(digits)


def _read(call: WrittenCall, offered: Collection[str]) -> tuple[str, str] | None:
    """Return the tool and its arguments as JSON text. None if the body is no call."""
    if call.name:
        arguments = _object(call.body)
        if arguments is None and call.syntax is Syntax.TO:
            return None
        return call.name, "{}" if arguments is None else call.body.strip()
    body = call.body.strip()
    if call.syntax is Syntax.TAG and body in offered:
        return body, "{}"
    asked = _object(body)
    if asked is None or not isinstance(name := asked.get("name"), str):
        return None
    arguments = asked.get("arguments")
    if isinstance(arguments, str):
        return name, arguments
    return name, "{}" if arguments is None else json.dumps(arguments, ensure_ascii=False)


def _object(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def is_call(text: str) -> bool:
    """Return whether the text is a JSON object, as a call's arguments are."""
    return _object(text) is not None


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments


# Finding the end of JSON that arrives in pieces.

_OUTSIDE = re.compile(r"[^ \t\r\n,:0-9+\-.Eaeflnrstu]")
"""Any character outside of strings but blanks, separators, numbers, true, false and null."""
_INSIDE = re.compile(r'["\\\n]')


class JsonEnd:
    """A search for the end of one JSON object or array. It gives up at the first character that cannot be
    part of one."""

    def __init__(self) -> None:
        self.failed = False
        self._depth = 0
        self._inside = False
        self._escaped = False

    def feed(self, piece: str, at: int = 0) -> int | None:
        """Return the position after the value, or None if its end is not in this piece."""
        while at < len(piece) and not self.failed:
            if self._escaped:
                self._escaped = False
                at += 1
                continue
            found = (_INSIDE if self._inside else _OUTSIDE).search(piece, at)
            if found is None:
                return None
            at = found.end()
            self._meet(found.group())
            if self._depth == 0 and not self._inside and not self.failed:
                return at
        return None

    def _meet(self, sign: str) -> None:
        if self._inside:
            self._escaped = sign == "\\"
            self._inside = sign != '"'
            self.failed = sign == "\n"
        elif sign == '"' and self._depth:
            self._inside = True
        elif sign in "{[":
            self._depth += 1
        elif sign in "}]" and self._depth:
            self._depth -= 1
        else:
            self.failed = True


class QuoteCount:
    """Whether JSON that arrives in pieces stands inside a string."""

    def __init__(self) -> None:
        self.inside = False
        self._escaped = False

    def feed(self, piece: str) -> None:
        """Read on."""
        at = 0
        while at < len(piece):
            if self._escaped:
                self._escaped = False
                at += 1
                continue
            found = _QUOTE.search(piece, at)
            if found is None:
                return
            at = found.end()
            if found.group() == '"':
                self.inside = not self.inside
            else:
                self._escaped = self.inside


_QUOTE = re.compile(r'["\\]')

# Calls whose shape tells where they end: an echo in brackets, and a line to a tool.

NAME_CHARS = frozenset(string.ascii_letters + string.digits + "_.-")
WITH_ARGUMENTS = " with arguments:"


class EchoEnd:
    """A search for the end of "`NAME`]" or "`NAME` with arguments: JSON]", which follows "[Called tool "."""

    def __init__(self) -> None:
        self.failed = False
        self.name = ""
        self.arguments = ""
        self._head = ""
        self._json: JsonEnd | None = None
        self._json_parts: list[str] = []
        self._closed = False

    def feed(self, piece: str) -> int | None:
        """Return the position after the bracket, or None if it is not in this piece."""
        at = 0
        if self._json is None:
            before = len(self._head)
            self._head += piece[:400]
            end = self._read_head()
            if end is None:
                return None
            if self._json is None:
                return end - before
            at = end - before
        if not self._closed:
            end = self._json.feed(piece, at)
            self._json_parts.append(piece[at:end])
            self.failed = self._json.failed
            if end is None:
                return None
            self._closed, at = True, end
            self.arguments = "".join(self._json_parts)
        rest = piece[at:].lstrip(" \r\n")
        if rest:
            self.failed = rest[0] != "]"
            return None if self.failed else len(piece) - len(rest) + 1
        return None

    def _read_head(self) -> int | None:
        """Return the position after the bracket, or of the arguments; None if more is needed."""
        head = self._head
        end = head.find("`", 1)
        if end < 0 or end == len(head) - 1:
            self.failed = len(head) > NAME_LIMIT_CHARS + 2 or "\n" in head
            return None
        self.name = head[1:end].strip()
        rest = head[end + 1 :]
        if rest.startswith("]"):
            return end + 2
        known = rest[: len(WITH_ARGUMENTS)].lower()
        if not WITH_ARGUMENTS.startswith(known):
            self.failed = True
        after = rest[len(WITH_ARGUMENTS) :].lstrip(" ")
        if len(rest) - len(after) > len(WITH_ARGUMENTS) + 8:
            self.failed = True
        if self.failed or not after:
            return None
        self._json = JsonEnd()
        return len(head) - len(after)


_MARK_LIMIT_CHARS = 200
"""The limit on the text between a tool's name and its arguments."""


class LineToTool:
    """A text "to=NAME … json {…}", alone on its lines. It begins after "to="."""

    def __init__(self) -> None:
        self.failed = False
        self.name = ""
        self._head = ""
        self._parts: list[str] = []
        self._json: JsonEnd | None = None
        self._ended = False

    def feed(self, piece: str) -> bool:
        """Read on. Return whether the call is over: its line ends with this piece."""
        at = 0
        if self._json is None:
            before = len(self._head)
            self._head += piece[: 2 * _MARK_LIMIT_CHARS]
            brace = self._head.find("{", before)
            self._check_head(brace)
            if brace < 0 or self.failed:
                return False
            self._json, at = JsonEnd(), brace - before
        if not self._ended:
            end = self._json.feed(piece, at)
            self._parts.append(piece[at:end])
            self.failed = self._json.failed
            if end is None:
                return False
            self._ended, at = True, end
        line, newline, _ = piece[at:].partition("\n")
        self.failed = bool(line.strip())
        return bool(newline) and self.end()

    def end(self) -> bool:
        """Return whether it is a call if the text ends here."""
        self.failed = self.failed or not self._ended or not is_call(self.body)
        return not self.failed

    @property
    def body(self) -> str:
        """The arguments."""
        return "".join(self._parts)

    def _check_head(self, brace: int) -> None:
        """Fail on a head that no call begins with. `brace`: the position of its end, or negative."""
        head = self._head if brace < 0 else self._head[:brace]
        name_end = next((at for at, one in enumerate(head) if one not in NAME_CHARS), len(head))
        self.name = head[:name_end]
        mark, newline, after = head[name_end:].partition("\n")
        is_marked = mark.rstrip().lower().endswith("json")
        self.failed = (
            name_end > NAME_LIMIT_CHARS
            or len(head) > _MARK_LIMIT_CHARS + NAME_LIMIT_CHARS
            or (name_end < len(head) and not self.name)
            or bool(newline and (after.strip() or not is_marked))
            or (brace >= 0 and not is_marked)
        )
