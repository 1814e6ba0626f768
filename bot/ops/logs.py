"""Logging: the standard library's, to standard error, one line a record, without secrets.

Fields that hold for a while (channel, thread, turn) are bound with `fields(...)` and appear on every record
of that task and the tasks it starts. A secret is struck out wherever it appears: the message, its arguments,
fields, stack traces, and whether or not its value was known (tokens in addresses and headers).
"""

import asyncio
import contextlib
import io
import json
import logging
import os
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TextIO

from core.lazy import LazyModule

if TYPE_CHECKING:
    from bot.config import schema
else:
    schema = LazyModule("bot.config.schema")

STRUCK_OUT = "***"
SHORTEST_SECRET = 4
"""Shorter values are not struck out: they would tear holes into ordinary words."""

QUIET = (
    "httpx",
    "httpcore",
    "telegram",
    "aiohttp.access",
    "uvicorn",
    "markdown_it",
    "asyncio",
    "apscheduler",
)
"""Libraries of which only warnings are of interest."""

_PATTERNS = (
    re.compile(r"(?<=/bot)\d+:[A-Za-z0-9_-]{3,}"),  # Telegram: /bot<id>:<secret>/METHOD
    re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"),  # user:password@host
    re.compile(r"(?i)(?<=bearer )[A-Za-z0-9._~+/=-]{4,}"),
    re.compile(r"(?i)(?<=[?&])((?:api[_-]?key|token|secret|access_token|password)=)[^&\s\"']+"),
)

Record = Mapping[str, str]
"""A record as the log file has it: `at`, `level`, `logger`, `message`, and maybe fields and a `trace`."""
_NOTHING: Mapping[str, object] = MappingProxyType({})
_fields: ContextVar[Mapping[str, object]] = ContextVar("log_fields", default=_NOTHING)


@contextmanager
def fields(**values: object) -> Iterator[None]:
    """Put fields on every record made inside, by this task and tasks it starts."""
    token = _fields.set({**_fields.get(), **values})
    try:
        yield
    finally:
        _fields.reset(token)


class Redactor:
    """Strikes out known secret values, and what looks like a secret."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        self._known: re.Pattern[str] | None = None
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Strike these out as well from now on."""
        for secret in secrets:
            if len(secret) >= SHORTEST_SECRET:
                # As it is, and as JSON or repr() would show it inside another text.
                self._values |= {secret, json.dumps(secret)[1:-1], repr(secret)[1:-1]}
        longest_first = sorted(self._values, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    @property
    def known(self) -> Collection[str]:
        """Return the values that are struck out."""
        return frozenset(self._values)

    def __call__(self, text: str) -> str:
        """Return the text without secrets."""
        if self._known:
            text = self._known.sub(STRUCK_OUT, text)
        for pattern in _PATTERNS:
            text = pattern.sub(lambda found: (found.group(1) if found.re.groups else "") + STRUCK_OUT, text)
        return text


class _Formatter(logging.Formatter):
    def __init__(self, redact: Redactor) -> None:
        super().__init__()
        self._redact = redact

    def learn(self, secrets: Iterable[str]) -> None:
        self._redact.learn(secrets)

    def teach(self, other: Redactor) -> None:
        other.learn(self._redact.known)

    def _at(self, record: logging.LogRecord) -> str:
        """Return a record's time: RFC 3339 in UTC with milliseconds."""
        second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        return f"{second}.{int(record.msecs):03d}Z"

    def _trace(self, record: logging.LogRecord) -> str:
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        stack = self.formatStack(record.stack_info) if record.stack_info else ""
        return self._redact("\n".join(part for part in (trace, stack) if part))

    def _context(self) -> dict[str, str]:
        return {name: self._redact(str(value)) for name, value in _fields.get().items()}


class PlainFormatter(_Formatter):
    """`2026-11-21T10:00:00.000Z INFO  core.inbound.hub: message [thread=…]`; a trace follows, indented."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as one line, followed by an indented traceback if there is one."""
        message = self._redact(record.getMessage()).replace("\r", "\\r").replace("\n", "\\n")
        line = f"{self._at(record)} {record.levelname:<7} {record.name}: {message}"
        if context := self._context():
            line += f" [{' '.join(f'{name}={_one_word(value)}' for name, value in context.items())}]"
        if trace := self._trace(record):
            line += "\n    " + trace.replace("\n", "\n    ")
        return line


class JsonFormatter(_Formatter):
    """One JSON object a line: at, level, logger, message, the fields, trace."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as one line of JSON."""
        page: dict[str, str] = {
            **self._context(),
            "at": self._at(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._redact(record.getMessage()),
        }
        if trace := self._trace(record):
            page["trace"] = trace
        return json.dumps(page, ensure_ascii=False)


def strike_out(secrets: Iterable[str]) -> None:
    """Redact these secrets, found while the program runs, in every record from now on."""
    values = frozenset(secrets)
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, _Formatter):
            handler.formatter.learn(values)


def _one_word(value: str) -> str:
    return value if re.fullmatch(r"[^\s\[\]=\"]+", value) else json.dumps(value, ensure_ascii=False)


class _Handler(logging.StreamHandler[TextIO]):
    """A record that cannot be written is dropped: logging never stops or fails the hub."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Say so where it can be said; a closed or full standard error leaves nowhere."""
        self.acquire()
        try:
            self.stream.write(f"a log record of {record.name} at line {record.lineno} could not be written\n")
        except (OSError, ValueError):
            pass
        finally:
            self.release()


def configure(
    level: Literal["debug", "info", "warning", "error"] = "info",
    format: Literal["plain", "json"] = "plain",
    *,
    secrets: Iterable[str] = (),
    stream: TextIO | None = None,
) -> None:
    """Set up the root logger, replacing its handlers. `stream` defaults to standard error."""
    redact = Redactor(secrets)
    handler = _Handler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(redact) if format == "json" else PlainFormatter(redact))
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    logging.captureWarnings(capture=True)
    for name in QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


# The log on disk: `hub.log` in the data directory, one JSON object a line, older files numbered from 1.

LOG_NAME = "hub.log"
MB = 1024 * 1024


@contextlib.contextmanager
def log_file(config: "schema.Config") -> Iterator[None]:
    """Write every record to the file as well within the context, without secrets.

    The caller holds the directory's lock. Raises OSError if the file can't be written.
    """
    if config.log.file_limit_mb == 0:
        yield
        return
    handler = _RotatingHandler(
        config.hub.data_dir / LOG_NAME, config.log.file_limit_mb * MB, config.log.files_kept
    )
    handler.setFormatter(JsonFormatter(Redactor(schema.secret_values(config))))
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()


def log_files(data_dir: Path) -> list[Path]:
    """Return the log files that exist, the oldest first."""
    older = (path for path in data_dir.glob(f"{LOG_NAME}.*") if path.suffix[1:].isdecimal())
    numbered = sorted(older, key=lambda path: int(path.suffix[1:]), reverse=True)
    newest = data_dir / LOG_NAME
    return [*numbered, *([newest] if newest.is_file() else [])]


class _RotatingHandler(RotatingFileHandler):
    """For its user alone. A record that cannot be written is dropped: logging never stops the hub."""

    def __init__(self, path: Path, limit_bytes: int, kept: int) -> None:
        super().__init__(path, maxBytes=limit_bytes, backupCount=kept, encoding="utf-8", errors="replace")

    def _open(self) -> io.TextIOWrapper:
        fd = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return io.TextIOWrapper(io.BufferedWriter(io.FileIO(fd, "a")), self.encoding, self.errors)

    def close(self) -> None:
        """Close the file; records that cannot be written are dropped."""
        with contextlib.suppress(OSError):
            super().close()

    def handleError(self, record: logging.LogRecord) -> None:
        # Standard error has the record.
        pass


class _Follower(logging.Handler):
    """Hands each record over to the event loop, whatever thread it comes from."""

    def __init__(self, level: str, loop: asyncio.AbstractEventLoop, put: Callable[[Record], None]) -> None:
        super().__init__(level.upper())
        self._loop, self._put = loop, put

    def emit(self, record: logging.LogRecord) -> None:
        """Redact the record here, and hand it over."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            for one in records_of([self.format(record).encode("utf-8", "replace")]):
                self._loop.call_soon_threadsafe(self._put, one)


@contextlib.contextmanager
def following(level: str, put: Callable[[Record], None]) -> Iterator[None]:
    """Call `put` in this event loop with every record of at least that level within the context, without
    secrets: those that any handler knows, and those found later."""
    follower = _Follower(level, asyncio.get_running_loop(), put)
    root = logging.getLogger()
    known = [handler.formatter for handler in root.handlers if isinstance(handler.formatter, _Formatter)]
    redact = Redactor()
    for formatter in known:
        formatter.teach(redact)
    follower.setFormatter(JsonFormatter(redact))
    root.addHandler(follower)
    try:
        yield
    finally:
        root.removeHandler(follower)


# The log, read again: by `hubbub logs` and for the console.

LEVELS = ("debug", "info", "warning", "error", "critical")


class WantedRecords:
    """Judges records by level and time. Times are compared as texts: they are all written alike, in UTC."""

    def __init__(self, level: int, since: str) -> None:
        self._level = level
        self._since = since

    def __call__(self, record: Record) -> bool:
        known = record["level"] in LEVELS
        return (not known or LEVELS.index(record["level"]) >= self._level) and record["at"] >= self._since


def lines_of(path: Path) -> Iterator[bytes]:
    """Yield a log file's lines; none if it is gone."""
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:  # the hub has just begun a new one
        yield from file


def records_of(lines: Iterable[bytes]) -> Iterator[Record]:
    """Yield readable records; a line cut short by a crash is left out."""
    for line in lines:
        try:
            page = json.loads(line)
        except ValueError:
            continue
        if isinstance(page, dict) and page.keys() >= {"at", "level", "logger", "message"}:
            yield {str(name): str(value) for name, value in page.items()}


def newest_records(data_dir: Path, wanted: WantedRecords, limit: int) -> Sequence[Record]:
    """Return the newest records of all log files, the oldest of them first."""
    found: list[Record] = []
    for file in reversed(log_files(data_dir)):
        of_file = deque(filter(wanted, records_of(lines_of(file))), limit - len(found))
        found = [*of_file, *found]
        if len(found) == limit:
            break
    return found
