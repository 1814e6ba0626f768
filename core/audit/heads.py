"""The audit's heads outside the database: a file that only grows, so that a chain cut short shows.

A line for each time the chain grew: when, and its head then (see `core.audit_chain`). A line that was cut off
by a crash is begun anew; the next one is whole.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

HEADS_NAME = "audit.heads"


@dataclass(frozen=True, slots=True)
class Head:
    """How long a chain was at some time, and its last link. `noted_at`: as written, "" if nobody said."""

    number: int
    link: str
    noted_at: str = ""

    @classmethod
    def parse(cls, text: str, noted_at: str = "") -> "Head":
        """From `41:1f2e…:9f…`. Raises ValueError."""
        number, colon, link = text.strip().partition(":")
        if not colon or not number.isascii() or not number.isdigit() or ":" not in link:
            raise ValueError(f"{text!r} is no head; it is written as 41:1f2e3d4c5b6a7988:9f…")
        return cls(int(number), link, noted_at)

    def __str__(self) -> str:
        return f"{self.number}:{self.link}"


class HeadFile:
    """The file of one data directory. Methods raise OSError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, head: str, now: int) -> None:
        """Write a head behind the others; it is on disk when this returns. `now`: microseconds UTC."""
        at = datetime.fromtimestamp(now // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        made = not self.path.exists()
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(fd).st_size
            torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
            line = f"{at} {head}\n"
            os.write(fd, (f"\n{line}" if torn else line).encode())
            os.fsync(fd)
        finally:
            os.close(fd)
        if made:
            _sync(self.path.parent)

    def heads(self) -> Sequence[Head]:
        """All that were written, oldest first; nothing where there is no file. What cannot be read as a head
        (a line cut off by a crash) is left out."""
        try:
            lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return ()
        found: list[Head] = []
        for line in lines:
            at, _, head = line.partition(" ")
            try:
                found.append(Head.parse(head, at))
            except ValueError:
                continue
        return found

    def newest(self) -> Head | None:
        """The one written last."""
        heads = self.heads()
        return heads[-1] if heads else None


def _sync(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
