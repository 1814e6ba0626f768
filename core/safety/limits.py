"""Bounds on what a tool may return: in memory while it runs, and in the conversation afterwards."""

from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from core.safety.leaks import LeakDetector

RESULT_LIMIT_CHARS = 32_000
"""About 8,000 tokens: a result longer than this would crowd the conversation out of the context."""


@dataclass(frozen=True, slots=True)
class ResultLimits:
    """How much of a result the model is shown; the whole of a longer one is kept in `spill_dir`. What `leaks`
    finds is in neither."""

    spill_dir: Path
    result_limit_chars: int = RESULT_LIMIT_CHARS
    leaks: LeakDetector = field(default_factory=LeakDetector)


class HeadAndTail:
    """Collects a byte stream of any length in bounded memory: its beginning and its end are kept."""

    def __init__(self, limit_bytes: int) -> None:
        self._head_limit = limit_bytes // 2
        self._tail_limit = limit_bytes - self._head_limit
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._seen_bytes = 0

    def add(self, chunk: bytes) -> None:
        """Take the next bytes of the stream."""
        self._seen_bytes += len(chunk)
        room = self._head_limit - len(self._head)
        self._head += chunk[:room]
        rest = chunk[room:]
        if rest:
            self._tail.append(rest)
            self._tail_bytes += len(rest)
        while self._tail and self._tail_bytes - len(self._tail[0]) >= self._tail_limit:
            self._tail_bytes -= len(self._tail.popleft())

    def text(self) -> str:
        """The stream as text; where bytes were dropped, a line says how many."""
        tail = b"".join(self._tail)[-self._tail_limit :] if self._tail else b""
        dropped = self._seen_bytes - len(self._head) - len(tail)
        if not dropped:
            return (self._head + tail).decode(errors="replace")
        notice = f"\n[… {dropped} bytes left out …]\n"
        return self._head.decode(errors="replace") + notice + tail.decode(errors="replace")


def head_and_tail(text: str, limit_chars: int) -> tuple[str, int]:
    """Beginning and end of a text with a line between them, and how many characters that left out."""
    dropped = len(text) - limit_chars
    if dropped <= 0:
        return text, 0
    head = limit_chars * 2 // 3
    tail = limit_chars - head
    return f"{text[:head]}\n[… {dropped} characters left out …]\n{text[len(text) - tail :]}", dropped
