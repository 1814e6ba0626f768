"""Texts about as long as the loop looks at, and what notes where they are read: a detector of leaks, and the
JSON parsed on the loop."""

import contextlib
import sys
import threading
from collections.abc import Iterator
from types import FrameType

from core.safety.leaks import Leak, LeakDetector

SHORT, LONG = "word " * 800, "word " * 900
TEXTS = [((SHORT,), False), ((LONG,), True), ((SHORT[:50],) * 100, True)]
"""Texts of one thing, and whether they are long together."""


class Watched(LeakDetector):
    """Notes the threads it is asked in, and the longest text it is asked about in the loop's."""

    def __init__(self) -> None:
        super().__init__()
        self._here = threading.get_ident()
        self.threads: set[int] = set()
        self.longest_here = 0

    def find(self, text: str) -> tuple[Leak, ...]:
        self.threads.add(threading.get_ident())
        if threading.get_ident() == self._here:
            self.longest_here = max(self.longest_here, len(text))
        return super().find(text)


@contextlib.contextmanager
def parsed_here() -> Iterator[list[int]]:
    """The lengths of the JSON texts that this thread parses."""
    lengths: list[int] = []

    def called(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_name == "raw_decode":
            lengths.append(len(frame.f_locals["s"]))

    sys.setprofile(called)
    try:
        yield lengths
    finally:
        sys.setprofile(None)
