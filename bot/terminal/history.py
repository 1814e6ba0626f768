"""Earlier input, for the line editor: a file of its own, readable by its user only."""

import os
from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.history import FileHistory, History

from core.safety.leaks import LeakDetector

HISTORY_NAME = "chat_history"
LIMIT_BYTES = 256 * 1024
"""A longer file is cut to its newer half when a terminal is opened."""


def kept_history(data_dir: Path) -> FileHistory:
    """Open the history in the data directory. Raises OSError if it can't be stored there."""
    path = data_dir / HISTORY_NAME
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    path.chmod(0o600)
    if path.stat().st_size > LIMIT_BYTES:
        _shorten(path)
    return _CleanHistory(path)


class _CleanHistory(FileHistory):
    """Earlier input, without secrets: the hub itself stores none, either."""

    def store_string(self, string: str) -> None:
        super().store_string(LeakDetector().redacted(string))


class WithholdingHistory(History):
    """A history that writes down only what the hub kept, too: any text may be a credential until it says."""

    def __init__(self, kept: History) -> None:
        super().__init__()
        self._kept = kept

    def load_history_strings(self) -> Iterable[str]:
        return self._kept.load_history_strings()

    def store_string(self, string: str) -> None:
        """Hold a line in memory only."""

    def keep(self, string: str) -> None:
        """Write down a line that the hub has taken and kept."""
        self._kept.store_string(string)


def _shorten(path: Path) -> None:
    """Drop the older half. An entry is lines that begin with "+", after a comment and an empty line."""
    newer = path.read_bytes()[-LIMIT_BYTES // 2 :]
    _, _, whole = newer.partition(b"\n\n")
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(b"\n" + whole)
    unfinished.rename(path)
