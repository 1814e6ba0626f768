"""Provider data as it arrives: JSON that may be missing, malformed or hostile, and server-sent events
(WHATWG HTML §9.2).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from json import decoder
from typing import Any, NamedTuple

from core.errors import ModelReplyInvalid
from core.off_loop import AT_ONCE_CHARS, json_with_breaks

_OBJECT: Any = dict
_ARRAY: Any = list
"""The types of JSON values, checked without a further `cast`, since every chunk of a stream passes here."""
_NOTHING: Mapping[str, Any] = {}
_BLANK = " \t\n\r"
_DECODER: Any = json.JSONDecoder()
_READ: Callable[[str, int], tuple[Any, int]] = _DECODER.scan_once
_READ_TEXT: Callable[[str, int], tuple[str, int]] = getattr(decoder, "scanstring")  # noqa: B009 - untyped


def parse(text: str | bytes, *, model: str) -> Any:
    """Parse JSON that `model` sent. Raises ModelReplyInvalid if it cannot be parsed."""
    try:
        if type(text) is not str or len(text) > AT_ONCE_CHARS:
            return json_with_breaks(text)
        if text[:1] != "{" or text[-1:] != "}":
            text = text.strip(_BLANK)
        # Without the input checks of `json.loads`, since every chunk of a stream passes here.
        value, end = _READ(text, 0)
        if end == len(text):
            return value
        raise ValueError("there is text after the value")
    except (ValueError, RecursionError, StopIteration) as error:
        raise ModelReplyInvalid(
            f"model {model}: the provider sent something that is not JSON: {excerpt(text)}"
        ) from error


def is_object(text: str) -> bool:
    """Return whether the text is one JSON object. NaN and Infinity, which only Python accepts, are
    rejected."""
    try:
        return isinstance(json_with_breaks(text, parse_constant=_refuse), dict)
    except (ValueError, RecursionError):
        return False


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def as_object(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a JSON object, else an empty object."""
    return value if isinstance(value, _OBJECT) else _NOTHING


def as_array(value: Any) -> Sequence[Any]:
    """Return the value if it is a JSON array, else an empty array."""
    return value if isinstance(value, _ARRAY) else ()


def as_text(value: Any) -> str:
    """Return the value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int:
    """Return the value if it is a non-negative integer below 2**53, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else 0


def storable(text: str) -> str:
    """Return the text without NUL and lone surrogates, which no database or platform accepts.

    Matching halves, as when a provider cuts an emoji between two chunks, become the whole character.
    """
    if "\x00" in text:
        text = text.replace("\x00", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


class TextSlot(NamedTuple):
    """Where the events of a stream hold their text. Nearly all of them are the same but for it, so that the
    rest need not be parsed again. `before` ends with the quotation mark that opens the text, `after` follows
    the one that closes it."""

    before: str
    after: str

    def text_in(self, data: str) -> str | None:
        """Return the text of an event, or None if it is another than the others or not JSON."""
        if not data.startswith(self.before) or len(data) > AT_ONCE_CHARS:
            return None
        try:
            text, end = _READ_TEXT(data, len(self.before))
        except ValueError:
            return None
        return text if data[end:] == self.after else None


_PROBE = "text"


def text_slot(data: str, key: str, read: Callable[[str], str | None]) -> TextSlot | None:
    """Return where an event holds its text: in the newest value of `key` from which `read` takes it, as
    another text in its place shows."""
    at = data.rfind(f'"{key}":') + len(key) + 3
    at = data.find('"', at) + 1
    try:
        slot = TextSlot(data[:at], data[_READ_TEXT(data, at)[1] :])
        found = read(f'{slot.before}{_PROBE}"{slot.after}')
    except (ValueError, ModelReplyInvalid):
        return None
    return slot if found == _PROBE else None


class JoinedText:
    """Text that arrives in pieces, which may be cut within a character."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._half = ""

    def add(self, piece: str) -> str:
        """Return the text that can be shown now, free of what no platform accepts."""
        if not piece:
            return ""
        piece = self._half + piece
        self._half = ""
        if "\ud800" <= piece[-1] <= "\udbff":  # the other half of this character arrives with the next piece
            piece, self._half = piece[:-1], piece[-1]
        if not piece.isascii() or "\x00" in piece:
            piece = storable(piece)
        self._pieces.append(piece)
        return piece

    def whole(self) -> str:
        """Return everything."""
        return storable("".join([*self._pieces, self._half]))


EXCERPT_LIMIT_CHARS = 300


def excerpt(text: str | bytes) -> str:
    """Return the beginning of a text on one line, for a message to an operator."""
    if isinstance(text, bytes):
        text = text[: EXCERPT_LIMIT_CHARS * 4].decode("utf-8", "replace")
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: EXCERPT_LIMIT_CHARS * 4]).split())
    return line if len(line) <= EXCERPT_LIMIT_CHARS else f"{line[: EXCERPT_LIMIT_CHARS - 1]}…"


EVENT_LIMIT_BYTES = 1024 * 1024
"""The limit on one event. No provider comes near it; a longer one is not valid protocol."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class SseParser:
    """A parser for a stream that may be cut at any byte. It reads only `data` and skips comments and other
    fields."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._rest_bytes = 0
        self._data: list[bytes] = []
        self._size_bytes = 0
        self._at_start = True

    def feed(self, chunk: bytes) -> list[str]:
        """Return the data of the events that this chunk completes.

        Raises ModelReplyInvalid for an oversized event. An event that the stream does not complete is
        never returned.
        """
        events: list[str] = []
        if not self._rest and not self._data and (alone := _data_alone(chunk)):
            self._at_start = False
            return alone
        for line in self._lines(chunk):
            if not line:
                if self._data:
                    whole = b"\n".join(self._data) if self._data[1:] else self._data[0]
                    events.append(whole.decode("utf-8", "replace"))
                    self._data = []
                self._size_bytes = 0
            elif line[:5] == b"data:":
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
                self._size_bytes += len(line)
        if self._size_bytes + self._rest_bytes > EVENT_LIMIT_BYTES:
            raise ModelReplyInvalid(f"the provider sent an event of more than {EVENT_LIMIT_BYTES} bytes")
        return events

    def _lines(self, chunk: bytes) -> list[bytes]:
        """Return the lines that `chunk` completes. They may end in LF, CR LF or CR."""
        if b"\n" not in chunk and b"\r" not in chunk and not (self._rest and self._rest[-1] == b"\r"):
            self._keep(chunk)
            return []
        text = b"".join((*self._rest, chunk))
        held = b""
        if b"\r" in text:
            if text.endswith(b"\r"):  # possibly the first half of CR LF
                text, held = text[:-1], b"\r"
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = text.split(b"\n")
        self._rest, self._rest_bytes = [], 0
        self._keep(lines.pop())
        self._keep(held)
        if lines and self._at_start:
            lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
            self._at_start = False
        return lines

    def _keep(self, part: bytes) -> None:
        """Store part of a line. The parts are joined once the line ends."""
        if part:
            self._rest.append(part)
            self._rest_bytes += len(part)


def _data_alone(chunk: bytes) -> list[str]:
    """Return the data of a chunk of events that are a line of data each, as nearly all are; [] for any
    other."""
    if chunk[-2:] != b"\n\n" or b"\r" in chunk:
        return []
    events = chunk[:-2].split(b"\n\n")
    alone = [
        one[6:].decode("utf-8", "replace") for one in events if one[:6] == b"data: " and b"\n" not in one
    ]
    return alone if len(alone) == len(events) else []
