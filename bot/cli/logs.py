"""`hubbub logs`: what the hub has written down, and what it writes now."""

import contextlib
import io
import itertools
import json
import os
import re
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import typer

from bot.cli.ending import USAGE, CommandFailed
from bot.cli.printing import printable, printable_lines
from bot.config import load
from bot.log_file import LOG_NAME, log_files

LEVELS = ("debug", "info", "warning", "error", "critical")
LOOKS_EVERY_S = 0.2

_AGO = re.compile(r"(\d+)\s*([smhd])")
_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_OWN = frozenset({"at", "level", "logger", "message", "trace"})

Record = Mapping[str, str]


def show(
    path: Path | None, level: str, since: str | None, limit: int, *, follow: bool, as_json: bool
) -> None:
    """The newest records of at least that level, oldest first; with `follow` until interrupted."""
    data_dir = load(path, secrets=False).config.hub.data_dir
    wanted = _Wanted(_level(level), "" if since is None else _moment(since))
    if not log_files(data_dir) and not follow:
        raise CommandFailed(f"There is no log in {data_dir} yet; start the hub first.")
    with contextlib.closing(_Tail(data_dir / LOG_NAME)) as tail:
        full = [file for file in log_files(data_dir) if file.name != LOG_NAME]
        older = (line for file in full for line in _lines_of(file))
        told = filter(wanted, _records(itertools.chain(older, tail.lines())))
        for record in deque(told, limit):
            _tell(record, as_json=as_json)
        with contextlib.suppress(KeyboardInterrupt):
            while follow:
                for record in filter(wanted, _records(tail.lines())):
                    _tell(record, as_json=as_json)
                time.sleep(LOOKS_EVERY_S)


class _Wanted:
    """Judges records. Times are compared as texts: they are all written alike, in UTC."""

    def __init__(self, level: int, since: str) -> None:
        self._level = level
        self._since = since

    def __call__(self, record: Record) -> bool:
        known = record["level"] in LEVELS
        return (not known or LEVELS.index(record["level"]) >= self._level) and record["at"] >= self._since


class _Tail:
    """Reads a file to its end, then what is added to it, then the file that took its place."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: io.BufferedReader | None = None
        self._begun = b""

    def lines(self) -> Iterator[bytes]:
        """Whole lines that are there and were not read yet."""
        while True:
            if self._file is None and self._path.exists():
                self._file, self._begun = self._path.open("rb"), b""
            yield from self._unread()
            if not self._is_replaced():
                return
            yield from self._unread()  # what was added while it was looked at
            self.close()

    def close(self) -> None:
        """Let the file go."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _unread(self) -> Iterator[bytes]:
        for part in self._file or ():
            self._begun += part
            if self._begun.endswith(b"\n"):
                line, self._begun = self._begun, b""
                yield line

    def _is_replaced(self) -> bool:
        if self._file is None:
            return False
        try:
            return os.fstat(self._file.fileno()).st_ino != self._path.stat().st_ino
        except FileNotFoundError:
            return False


def _lines_of(path: Path) -> Iterator[bytes]:
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:  # the hub has just begun a new one
        yield from file


def _records(lines: Iterable[bytes]) -> Iterator[Record]:
    """What can be read; a line cut short by a crash is left out."""
    for line in lines:
        try:
            page = json.loads(line)
        except ValueError:
            continue
        if isinstance(page, dict) and page.keys() >= {"at", "level", "logger", "message"}:
            yield {str(name): str(value) for name, value in page.items()}


def _tell(record: Record, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(record, ensure_ascii=False))
        return
    context = " ".join(f"{name}={value}" for name, value in record.items() if name not in _OWN)
    line = f"{record['at']} {record['level'].upper():<7} {record['logger']}: {record['message']}"
    typer.echo(printable(line.replace("\n", "\\n") + (f" [{context}]" if context else "")))
    if "trace" in record:
        typer.echo("    " + printable_lines(record["trace"]).replace("\n", "\n    "))


# --- what was asked for ---------------------------------------------------------------------------------


def _level(word: str) -> int:
    try:
        return LEVELS.index(word.strip().lower())
    except ValueError as error:
        raise CommandFailed(
            f"{printable(word)} is no level; use one of {', '.join(LEVELS)}", USAGE
        ) from error


def _moment(text: str) -> str:
    """`10m` ago, or a date with or without a time, in UTC, as records write it."""
    ago = _AGO.fullmatch(text.strip().lower())
    try:
        if ago is not None:
            at = datetime.now(UTC) - timedelta(seconds=int(ago.group(1)) * _UNIT_S[ago.group(2)])
        else:
            at = datetime.fromisoformat(text.strip())
            at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise CommandFailed(
            f"{printable(text)} is no time; write 30s, 10m, 2h or 3d ago, or 2026-01-31T08:00", USAGE
        ) from error
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"
