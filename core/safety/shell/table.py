"""The table of commands that do no harm, and what of them it covers. commands.toml says how to read it."""

import functools
import tomllib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import re2  # pyright: ignore[reportMissingTypeStubs]

from core.safety.places import Places
from core.safety.repositories import look_into
from core.safety.scripts import Unnamed, files_run

_re2 = cast("Any", re2)
_Checks = Mapping[str, Callable[[Places, str], str | None]]
_PLACES: _Checks = {
    "file": Places.file,
    "path": Places.path,
    "tree": Places.tree,
    "written": Places.written,
    "script": Places.file,
    "fresh": Places.fresh,
    "document": Places.document,
    "visible": Places.visible,
    "blob": lambda places, text: places.path(text.partition(":")[2]) if _is_blob(text) else "is no revision",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reason`: why the table does not cover it. `row`: the row it belongs to; `exact`: whether only this
    very argv can be granted. `runs`: the files of the workspace it runs, with their digests."""

    reason: str | None = None
    row: str | None = None
    exact: bool = False
    runs: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())


@dataclass(frozen=True, slots=True)
class _Option:
    kind: str | None
    attached: bool
    many: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it is written."""

    name: str
    options: Mapping[str, _Option]
    written: Mapping[str, Any]

    def words(self, key: str) -> list[str]:
        """Return the words of one of its entries."""
        return str(self.written.get(key, "")).split()


class _NotCovered(Exception):
    """Why a row does not cover an argv."""


def look_up(argv: Sequence[str], places: Places, home: str) -> Verdict:
    """Return what the table says of a program with these words. `home`: where it finds its configuration."""
    if home and places.guard.refusal(home) is None:
        return Verdict("the home directory of commands lies in the workspace")
    if list(argv[:2]) == ["git", "--no-pager"]:
        argv = ["git", *argv[2:]]
    rows = table().get(_name(argv), ())
    if not rows:
        known = any(name.startswith(f"{argv[0]} ") for name in table())
        return Verdict(f"{' '.join(argv[: 1 + known])} is not on the list of commands that do no harm")
    reasons: list[str] = []
    for row in rows:
        try:
            return _covered(row, argv, places)
        except _NotCovered as problem:
            reasons.append(str(problem))
    return Verdict(f"{rows[0].name}: {reasons[0]}")


@functools.cache
def table() -> Mapping[str, tuple[Row, ...]]:
    """Return the rows by their names."""
    rows: dict[str, tuple[Row, ...]] = {}
    for written in _file()["row"]:
        row = Row(written["name"], dict(map(_option, written.get("options", "").split())), written)
        rows[row.name] = (*rows.get(row.name, ()), row)
    return rows


@functools.cache
def _file() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8"))


@functools.cache
def _kind(name: str) -> tuple[tuple[Any, bool], ...]:
    """The patterns of a kind, each with whether it must occur nowhere."""
    written: str | list[str] = _file()["kinds"][name]
    texts = [written] if isinstance(written, str) else written
    return tuple((_re2.compile(text.removeprefix("!")), text.startswith("!")) for text in texts)


def _option(written: str) -> tuple[str, _Option]:
    name, _, kind = written.partition("=")
    bare = name.rstrip("?+")
    return bare, _Option(kind or None, "?" in name, "+" in name)


def _name(argv: Sequence[str]) -> str:
    """The longest name of a row that the words begin with."""
    if "/" in argv[0]:
        return "./"
    names = (" ".join(argv[:length]) for length in (3, 2, 1))
    return next((name for name in names if name in table()), "")


def _covered(row: Row, argv: Sequence[str], places: Places) -> Verdict:
    own = 1 if row.name == "./" else len(row.name.split())
    given, values, operands, after = _read(row, argv[own:])
    kinds = row.words("operands")
    if given & set(row.words("unless")):
        kinds = kinds[1:]
    if not given & set(row.words("must") or given | {""}) and row.words("must"):
        raise _NotCovered(f"is only known with {' or '.join(row.words('must'))}")
    if given & set(row.words("tree_with")):
        kinds = [kind.replace("file", "tree") for kind in kinds]
        operands = operands if len(operands) >= len(kinds) else [*operands, "."]
    if "tree" in row.written and len(operands) < len(kinds):
        operands = [*operands, row.written["tree"]]
    if after and "after" in row.written:
        values += _paired(row.words("after"), after)
        after = []
    values += _paired(kinds, operands + after)
    for kind, value in values:
        _check(kind, value, places)
    runs = _runs(row, argv, operands, places)
    return Verdict(None, f"@{row.name}", bool(row.written.get("exact")), runs)


def _runs(row: Row, argv: Sequence[str], operands: Sequence[str], places: Places) -> Mapping[str, str]:
    """The files to which consent to this is bound, with their digests."""
    if row.written.get("git"):
        found = look_into(places.guard, places.directory)
        if found.problem is not None:
            raise _NotCovered(found.problem)
        if row.written["git"] == "remote":
            if found.is_local:
                raise _NotCovered("the repository has a remote on this machine")
            return {".git/config": found.config_digest}
    try:
        return files_run(row.written["runs"], argv, operands, places) if "runs" in row.written else {}
    except Unnamed as problem:
        raise _NotCovered(str(problem)) from None


_Values = list[tuple[str, str]]


def _read(row: Row, words: Sequence[str]) -> tuple[set[str], _Values, list[str], list[str]]:
    """The options that are given, values with their kinds, operands, and what follows `--`."""
    style = row.written.get("style", "gnu")
    given: set[str] = set()
    values: _Values = []
    operands: list[str] = []
    waiting = deque(words)
    while waiting and not (style == "first" and operands):
        word = waiting.popleft()
        if style == "raw" or word[:1] != "-" or word == "-":
            operands.append(word)
        elif word == "--" and style == "gnu":
            return given, values, operands, list(waiting)
        elif not ("-NUM" in row.options and word[1:].isascii() and word[1:].isdigit()):
            for name, value in _options(row, word, waiting, joined=style != "find"):
                option = row.options[name]
                if name in given and not option.many:
                    raise _NotCovered(f"{name} is given twice")
                given.add(name)
                if option.kind is not None and value is not None:
                    values.append((option.kind, value))
    return given, values, [*operands, *waiting], []


def _options(row: Row, word: str, waiting: deque[str], *, joined: bool) -> list[tuple[str, str | None]]:
    """The options one word gives, each with its value."""
    name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
    if name in row.options and (len(name) == 2 or name.startswith("--") or not joined):
        option = row.options[name]
        if equals and option.kind is None:
            raise _NotCovered(f"{name} takes no value here")
        return [(name, value if equals else _next(option, name, waiting))]
    if not joined or name.startswith("--"):
        raise _NotCovered(f"{name} is not among the options that are known to do no harm")
    found: list[tuple[str, str | None]] = []
    for at, letter in enumerate(word[1:], 1):
        short = f"-{letter}"
        if short not in row.options:
            raise _NotCovered(f"{short} is not among the options that are known to do no harm")
        option = row.options[short]
        if option.kind is not None:
            rest = word[at + 1 :]
            return [*found, (short, rest or _next(option, short, waiting))]
        found.append((short, None))
    return found


def _next(option: _Option, name: str, waiting: deque[str]) -> str | None:
    if option.kind is None or option.attached:
        return None
    if not waiting:
        raise _NotCovered(f"{name} is without its value")
    return waiting.popleft()


def _paired(kinds: Sequence[str], operands: Sequence[str]) -> _Values:
    """The operands with their kinds."""
    last = kinds[-1] if kinds else ""
    most = len(operands) if last[-1:] in ("*", "+") else len(kinds)
    least = len(kinds) - (last[-1:] in ("*", "?"))
    if not least <= len(operands) <= most:
        raise _NotCovered("it has other words than those it is known with")
    plain = [kind.rstrip("*+?") for kind in kinds]
    return [(plain[min(at, len(plain) - 1)], operand) for at, operand in enumerate(operands)]


def _check(kind: str, value: str, places: Places) -> None:
    """Raise unless the value is of one of the kinds."""
    problems: list[str] = []
    for one in kind.split("|"):
        problem = next((found for part in one.split("&") if (found := _problem(part, value, places))), None)
        if problem is None:
            return
        problems.append(problem)
    raise _NotCovered(problems[0])


def _problem(kind: str, value: str, places: Places) -> str | None:
    if kind in _PLACES:
        return _PLACES[kind](places, value)
    return None if _fits(kind, value) else f"{value!r} is not what it is known with"


def _fits(kind: str, value: str) -> bool:
    return all(
        pattern.search(value) is None if nowhere else pattern.fullmatch(value) is not None
        for pattern, nowhere in _kind(kind)
    )


def _is_blob(text: str) -> bool:
    return ":" in text and _fits("rev", text.partition(":")[0])
