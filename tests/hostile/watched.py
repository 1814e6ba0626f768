"""Texts about as long as the loop looks at, and a detector of leaks that notes where it is asked."""

import threading

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
