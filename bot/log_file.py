"""The log on disk: `hub.log` in the data directory, one JSON object a line, older files numbered from 1."""

import contextlib
import io
import logging
import os
from collections.abc import Iterator
from logging.handlers import RotatingFileHandler
from pathlib import Path

from bot.config_secrets import secret_values
from bot.logs import JsonFormatter, Redactor
from bot.settings import Config

LOG_NAME = "hub.log"
MB = 1024 * 1024


@contextlib.contextmanager
def log_file(config: Config) -> Iterator[None]:
    """Inside, every record goes to the file as well, without secrets.

    Whoever asks holds the directory's lock. Raises OSError if the file cannot be written.
    """
    if config.log.file_limit_mb == 0:
        yield
        return
    handler = _Handler(config.hub.data_dir / LOG_NAME, config.log.file_limit_mb * MB, config.log.files_kept)
    handler.setFormatter(JsonFormatter(Redactor(secret_values(config))))
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()


def log_files(data_dir: Path) -> list[Path]:
    """The files there are, the oldest first."""
    older = (path for path in data_dir.glob(f"{LOG_NAME}.*") if path.suffix[1:].isdecimal())
    numbered = sorted(older, key=lambda path: int(path.suffix[1:]), reverse=True)
    newest = data_dir / LOG_NAME
    return [*numbered, *([newest] if newest.is_file() else [])]


class _Handler(RotatingFileHandler):
    """For its user alone. A record that cannot be written is dropped: logging never stops the hub."""

    def __init__(self, path: Path, limit_bytes: int, kept: int) -> None:
        super().__init__(path, maxBytes=limit_bytes, backupCount=kept, encoding="utf-8", errors="replace")

    def _open(self) -> io.TextIOWrapper:
        fd = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return io.TextIOWrapper(io.BufferedWriter(io.FileIO(fd, "a")), self.encoding, self.errors)

    def close(self) -> None:
        """What cannot be written any more is dropped as well."""
        with contextlib.suppress(OSError):
            super().close()

    def handleError(self, record: logging.LogRecord) -> None:
        """Standard error has it."""
