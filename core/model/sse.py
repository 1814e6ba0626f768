"""Server-sent events, as providers stream replies (WHATWG HTML §9.2): bytes in, event data out."""

from core.errors import ModelReplyInvalid

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
