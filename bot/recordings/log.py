"""A recording on disk: one file of numbered JSON lines in its own directory, without secrets.

A line is written whole at the end of the file. A hub that is killed may leave a torn last line, which readers
ignore and the next hub cuts off.
"""

import contextlib
import hashlib
import hmac
import json
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from bot.runtime import StartError, needed_to_start
from core.events import RunKind
from core.ports import Acceptance
from core.safety.leaks import SHORTEST_KNOWN, Leak, LeakDetector, replaced

CONTAINED = "container"
"""The kind of run that a job in a container is: its replay has the outcome alone."""
FILE_NAME = "recording.jsonl"
FORMAT = 1
MARK = "hubbub-secret-"
VAULT = "vault"
"""The kind of secrets that the hub keeps but doesn't look for in texts."""
SHORTEST_SECRET = 4
"""Shorter values of the vault are not replaced: they would tear holes into ordinary words."""
_MARK_DIGITS = 12
_JSON_LEVELS = 3
"""JSON in JSON: a page in the body of a request, in the arguments of a call."""

logger = logging.getLogger(__name__)

Record = Mapping[str, Any]
"""One line: `n`, its number; `k`, its kind; `at`, the time in microseconds UTC; and its kind's fields."""


class Marks:
    """Stable marks for secrets: one secret has the same mark wherever it appears.

    `key`: the hub's own, so that a mark can't be tried against guesses. `found`: the values that the hub
    itself strikes out. `made`: called with each new mark and the kind of its secret."""

    def __init__(self, key: bytes, found: Iterable[str], made: Callable[[str, str], None]) -> None:
        self._key = key
        self._made = made
        self._marks: set[str] = set()
        self._short: set[str] = set()
        self._hubs = LeakDetector(found)
        self._detector = LeakDetector()
        self.learn(found)

    def learn(self, known: Iterable[str]) -> None:
        """Replace these as well from now on, also as JSON shows them inside another text."""
        forms = {one for one in known if len(one) >= SHORTEST_SECRET}
        for _ in range(_JSON_LEVELS):
            forms |= {
                json.dumps(form, ensure_ascii=ascii_)[1:-1] for form in forms for ascii_ in (True, False)
            }
        for form in forms:
            self._detector.learn([form], self._kind(form))
        self._short |= {form for form in forms if len(form) < SHORTEST_KNOWN}

    def _kind(self, secret: str) -> str:
        """Return the kind as which the hub finds a secret by itself, else VAULT."""
        leaks = self._hubs.find(secret)
        return leaks[0].kind if leaks and (leaks[0].start, leaks[0].end) == (0, len(secret)) else VAULT

    def text(self, text: str) -> str:
        """Return the text with marks in place of its secrets."""
        return self.pieces([text])[0]

    def pieces(self, pieces: Sequence[str]) -> list[str]:
        """Return the pieces of one text, its secrets replaced wherever it was cut. The mark stands in the
        piece in which the secret begins."""
        whole = "".join(pieces)
        leaks = self._leaks(whole)
        found, end = list[str](), 0
        for piece in pieces:
            start, end = end, end + len(piece)
            parts, at = list[str](), start
            for leak in leaks:
                if leak.start < end and leak.end > start:
                    parts.append(whole[at : max(at, leak.start)])
                    if leak.start >= start:
                        parts.append(self._mark(whole[leak.start : leak.end], leak.kind))
                    at = min(max(at, leak.end), end)
            found.append("".join([*parts, whole[at:end]]))
        return found

    def value(self, value: Any) -> Any:
        """Return a JSON value with marks in place of the secrets in its texts."""
        match value:
            case str():
                return self.text(value)
            case dict():
                items = cast("dict[str, Any]", value).items()
                return {self.text(name): self.value(inner) for name, inner in items}
            case list():
                return [self.value(inner) for inner in cast("list[Any]", value)]
            case _:
                return value

    def _leaks(self, text: str) -> Sequence[Leak]:
        leaks = [*self._detector.find(text), *(leak for short in self._short for leak in _each(short, text))]
        kept = list[Leak]()
        for leak in sorted(leaks, key=lambda leak: (leak.start, -leak.end)):
            if not kept or leak.start >= kept[-1].end:
                kept.append(leak)
        return kept

    def _mark(self, secret: str, kind: str) -> str:
        digest = hmac.new(self._key, b"recording\0" + secret.encode(errors="replace"), hashlib.sha256)
        mark = f"{MARK}{digest.hexdigest()[:_MARK_DIGITS]}-{kind}"
        if mark not in self._marks:
            self._marks.add(mark)
            self._made(mark, kind)
        return mark


def _each(short: str, text: str) -> Iterator[Leak]:
    at = -len(short)
    while (at := text.find(short, at + len(short))) >= 0:
        yield Leak(at, at + len(short), VAULT)


@dataclass(frozen=True, slots=True)
class Left:
    """What the last hub may have stored without knowing of it, since it was killed.

    `events`: of which no record says that they were accepted, each one's number and key. `calls`: with
    outcomes of which none says that they were kept, by number, each with its outcome's status. `begun`: the
    calls that it began. `runs`: those that asked a model, without turns that ended, and `turns`: the turns of
    them. `since`: that hub's start, in microseconds UTC, None without one. `fired`, `ran`: the runs of
    routines that began and ended, by routine and key."""

    events: Mapping[int, str]
    calls: Mapping[int, tuple[Record, str]]
    begun: frozenset[str]
    runs: frozenset[str]
    turns: frozenset[str]
    since: int | None
    fired: frozenset[tuple[str, str]]
    ran: frozenset[tuple[str, str]]


class RecordingLog:
    """A recording that is being written, readable by its user only. Raises StartError if it can't be opened.

    Records may be written by any thread. If the disk fails, recording ends, and the hub continues."""

    def __init__(self, directory: Path, now: Callable[[], int]) -> None:
        self._now = now
        self._lock = threading.Lock()
        with needed_to_start(directory, "choose another directory to record in"):
            self._fd, records = _opened(directory)
        self._number = max((record["n"] for record in records), default=0)
        self.left = _left(records)

    def reserve(self) -> int:
        """Return the number for a record that is written later."""
        with self._lock:
            self._number += 1
            return self._number

    def write(self, kind: str, fields: Mapping[str, Any], number: int | None = None) -> int:
        """Write a record and return its number."""
        number = self.reserve() if number is None else number
        record = {"n": number, "k": kind, "at": self._now(), **fields}
        line = f"{json.dumps(record, ensure_ascii=True, separators=(',', ':'))}\n".encode()
        with self._lock:
            if self._fd < 0:
                return number
            try:
                while line:
                    line = line[os.write(self._fd, line) :]
            except OSError:
                logger.exception("recording.write_failed")
                os.close(self._fd)
                self._fd = -1
        return number

    def close(self) -> None:
        """Make all of it durable."""
        with self._lock, contextlib.suppress(OSError):
            if self._fd >= 0:
                os.fsync(self._fd)
                os.close(self._fd)
                self._fd = -1


def _opened(directory: Path) -> tuple[int, list[Record]]:
    """Return the open file and its records. Its torn last line is cut off."""
    file = directory / FILE_NAME
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not file.exists() and any(directory.iterdir()):
        raise StartError(f"{directory} holds other files; choose a new directory to record in")
    directory.chmod(0o700)
    fd = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.fchmod(fd, 0o600)
    content = file.read_bytes()
    os.ftruncate(fd, content.rfind(b"\n") + 1)
    return fd, list(_records(content, file))


def _left(records: Sequence[Record]) -> Left:
    start = next((one for one in reversed(records) if one["k"] == "session"), None)
    session = [one for one in records if start is not None and one["n"] > start["n"]]
    calls = {one["n"]: one for one in session if one["k"] == "call"}
    kept = {one["call"] for one in session if one["k"] == "kept"}
    ended = {one["call"]: one for one in session if one["k"] == "outcome" and "status" in one}
    asked = {one["of"]: one["run"] for one in records if one["k"] == "ask"}
    ended_turns = {one.get("of") for one in records if one["k"] == "turn"}
    return Left(
        _unsettled(records),
        {n: (calls[n], end["status"]) for n, end in ended.items() if n in calls and n not in kept},
        frozenset(one["id"] for one in calls.values()),
        frozenset(asked) - ended_turns,
        frozenset(run for run, kind in asked.items() if kind == RunKind.CHAT) - ended_turns,
        None if start is None else start["at"],
        frozenset((one["id"], one["run"]["key"]) for one in records if one["k"] == "fired"),
        frozenset((one["run"]["id"], one["run"]["key"]) for one in records if one["k"] == "ran"),
    )


def _unsettled(records: Sequence[Record]) -> dict[int, str]:
    came = {record["n"]: record["event"]["key"] for record in records if record["k"] == "in"}
    settled = {came.get(record["event"]) for record in records if record["k"] == "accepted"}
    newest = {key: number for number, key in came.items() if key not in settled}
    return {number: key for key, number in newest.items()}


def read_recording(directory: Path) -> list[Record]:
    """Return the records in the order of their numbers, without events that were not accepted. Raises
    StartError for anything else than a recording."""
    file = directory / FILE_NAME
    with needed_to_start(file, "name the directory of a recording"):
        content = file.read_bytes()
    records = sorted(_records(content, file), key=lambda record: record["n"])
    if not records or records[0].get("format") != FORMAT:
        raise StartError(f"{file} is not a recording of format {FORMAT}; record the conversation again")
    accepted = {record["event"]: record for record in records if record["k"] == "accepted"}
    came = [
        _accepted(record, accepted[record["n"]]) if record["k"] == "in" else record
        for record in records
        if record["k"] != "in" or record["n"] in accepted
    ]
    return sorted(came, key=lambda record: record["n"])


def _accepted(came: Record, accepted: Record) -> Record:
    """Return an event with its outcome. A decision that a killed hub did not follow is one for the next."""
    whole = {**accepted, **came}
    late = whole["killed"] and Acceptance(whole["outcome"]).answers
    return {**whole, "n": accepted["n"]} if late else whole


def _records(content: bytes, file: Path) -> Iterator[Record]:
    for place, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            record = json.loads(line)
            if not {"n", "k", "at"} <= record.keys() or not isinstance(record["n"], int):
                raise ValueError("not a record")
        except (ValueError, AttributeError, RecursionError) as error:
            raise StartError(f"{file}:{place} is not a line of a recording; restore the file") from error
        yield record


def without_secrets(detector: LeakDetector, text: str) -> str:
    """Return a text as it is compared: marks and secrets alike become one word."""
    leaks = detector.find(text)
    return replaced(text, leaks, lambda _: "[secret]") if leaks else text


def sort_key(value: Any) -> str:
    """Return a text that equal JSON values share."""
    return json.dumps(value, sort_keys=True)


class Compared:
    """Values as they are compared: without secrets and their marks. `marks`: each with its kind."""

    def __init__(self, marks: Mapping[str, str]) -> None:
        self._detector = LeakDetector()
        for mark, kind in marks.items():
            self._detector.learn([mark], kind)

    def normal(self, value: Any) -> Any:
        """Return a JSON value as it is compared."""
        match value:
            case str():
                return without_secrets(self._detector, value)
            case dict():
                items = cast("dict[str, Any]", value).items()
                return {name: self.normal(inner) for name, inner in items}
            case list():
                return [self.normal(inner) for inner in cast("list[Any]", value)]
            case _:
                return value

    def request(self, model: str, request: Mapping[str, Any], tools: Any) -> dict[str, Any]:
        """Return a request as it is compared: calls are named by their order."""
        names: dict[str, str] = {}
        conversation = [dict(said) for said in request["conversation"]]
        for said in conversation:
            if "call_id" in said:
                said["call_id"] = names.setdefault(said["call_id"], f"call {len(names) + 1}")
        return self.normal({"model": model, **request, "conversation": conversation, "tools": tools})

    def call(self, tool: str, arguments: Any) -> str:
        """Return a call as it is compared."""
        return f"{tool} {sort_key(self.normal(arguments))}"
