"""The table of harmless commands and the scope of each. commands.toml explains the format."""

import functools
import posixpath
import tomllib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from core.lazy import dataclass
from core.safety.places import Kinds, Places
from core.safety.scripts import Unnamed, files_run, repository_obeyed
from core.safety.tool_settings import Tool, settings_obeyed


@dataclass(frozen=True, slots=True)
class Verdict:
    """The table's verdict on a program. `reason`: why the table does not cover it. `row`: its row;
    `exact`: whether only this very argv can be granted. `runs`: the files of the workspace it runs
    or obeys, with their digests. `reads`: it never changes files that a program could run or obey."""

    reason: str | None = None
    row: str | None = None
    exact: bool = False
    runs: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())
    reads: bool = False


@dataclass(frozen=True, slots=True)
class _Option:
    kind: str | None
    attached: bool
    many: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table."""

    name: str
    options: Mapping[str, _Option]
    written: Mapping[str, Any]
    reads: bool = False

    def words(self, key: str) -> list[str]:
        """Return the words of one of its entries."""
        return str(self.written.get(key, "")).split()


_Values = list[tuple[str, str]]
"""Given values, each with its kind before it."""


class _NotCovered(Exception):
    """The reason a row does not cover an argv."""


def look_up(argv: Sequence[str], places: Places, home: str) -> Verdict:
    """Return the table's verdict on a program with these words. `home`: the folder of its
    configuration."""
    if home and places.guard.refusal(home) is None:
        return Verdict("the home directory of commands is inside the workspace")
    if list(argv[:2]) == ["git", "--no-pager"]:
        argv = ["git", *argv[2:]]
    rows = table().get(_name(argv), ())
    if not rows:
        known = any(name.startswith(f"{argv[0]} ") for name in table())
        return Verdict(f"{' '.join(argv[: 1 + known])} is not on the list of harmless commands")
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
    for kind in ("reads", "row"):
        for written in _file()[kind]:
            options = dict(map(_option, written.get("options", "").split()))
            row = Row(written["name"], options, written, reads=kind == "reads")
            rows[row.name] = (*rows.get(row.name, ()), row)
    return rows


@functools.cache
def _file() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8"))


@functools.cache
def _kinds() -> Kinds:
    return Kinds(_file()["kinds"])


def _option(written: str) -> tuple[str, _Option]:
    name, _, kind = written.partition("=")
    bare = name.rstrip("?+")
    return bare, _Option(kind or None, "?" in name, "+" in name)


def _name(argv: Sequence[str]) -> str:
    """Return the longest row name that the words begin with."""
    if "/" in argv[0]:
        return "./"
    names = (" ".join(argv[:length]) for length in (3, 2, 1))
    return next((name for name in names if name in table()), "")


def _covered(row: Row, argv: Sequence[str], places: Places) -> Verdict:
    own = 1 if row.name == "./" else len(row.name.split())
    given, values, operands, after = _read(row, argv[own:])
    if not given & set(row.words("must") or given | {""}) and row.words("must"):
        raise _NotCovered(f"it is listed as harmless only with {' or '.join(row.words('must'))}")
    if after and "after" in row.written:
        values += _paired(row.words("after"), after)
    else:
        operands += after
    operands, judged = _operands(row, given, operands)
    values += judged
    for kind, value in values:
        if (problem := _kinds().problem(kind, value, places)) is not None:
            raise _NotCovered(problem)
    if "starts" in row.written:
        return _started(row, operands[row.written["starts"] :], places)
    try:
        runs = _runs(row, argv, operands, places)
    except Unnamed as problem:
        raise _NotCovered(str(problem)) from None
    return Verdict(None, f"@{row.name}", bool(row.written.get("exact")), runs, row.reads)


def _operands(row: Row, given: set[str], operands: list[str]) -> tuple[list[str], _Values]:
    """Return all operands, with the defaults for omitted ones, and the values to judge."""
    kinds = row.words("operands")
    if given & set(row.words("unless")):
        kinds = kinds[1:]
    if given & set(row.words("tree_with")):
        kinds = [kind.replace("file", "tree") for kind in kinds]
        operands = operands if len(operands) >= len(kinds) else [*operands, "."]
    if "tree" in row.written and len(operands) < len(kinds):
        operands = [*operands, row.written["tree"]]
    if "into" in row.written:
        return operands, _paired(kinds, operands[:-1]) + _moved(operands)
    return operands, _paired(kinds, operands)


def _started(row: Row, argv: Sequence[str], places: Places) -> Verdict:
    """Return the table's verdict on the program that this one starts; a grant for it names both."""
    if any("starts" in one.written for one in table().get(_name(argv), ())):
        raise _NotCovered("the program it starts would start another program")
    verdict = look_up(argv, places, home="")
    if verdict.reason is not None:
        raise _NotCovered(verdict.reason)
    return replace(verdict, row=f"@{row.name} {(verdict.row or '')[1:]}")


def _runs(row: Row, argv: Sequence[str], operands: Sequence[str], places: Places) -> Mapping[str, str]:
    """Return the files that consent is bound to, with their digests. Raises Unnamed."""
    if "git" in row.written:
        how = row.written["git"]
        return repository_obeyed(places, remote=how == "remote", goes_on=how == "goes on")
    how = row.written.get("runs", "")
    if how in _file()["tools"]:
        return settings_obeyed(Tool.read(_file()["tools"][how]), operands or ["."], places)
    return files_run(how, argv, operands, places) if how else {}


def _read(row: Row, words: Sequence[str]) -> tuple[set[str], _Values, list[str], list[str]]:
    """Return the given options, values with their kinds, operands, and the words after `--`."""
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
    """Return the options of one word, each with its value."""
    name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
    if name in row.options and (len(name) == 2 or name.startswith("--") or not joined):
        option = row.options[name]
        if equals and option.kind is None:
            raise _NotCovered(f"{name} takes no value here")
        return [(name, value if equals else _next(option, name, waiting))]
    if not joined or name.startswith("--"):
        raise _NotCovered(f"{name} is not on the list of its harmless options")
    found: list[tuple[str, str | None]] = []
    for at, letter in enumerate(word[1:], 1):
        short = f"-{letter}"
        if short not in row.options:
            raise _NotCovered(f"{short} is not on the list of its harmless options")
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
        raise _NotCovered(f"{name} needs a value")
    return waiting.popleft()


def _paired(kinds: Sequence[str], operands: Sequence[str]) -> _Values:
    """Return the operands with their kinds."""
    last = kinds[-1] if kinds else ""
    most = len(operands) if last[-1:] in ("*", "+") else len(kinds)
    least = len(kinds) - (last[-1:] in ("*", "?"))
    if not least <= len(operands) <= most:
        raise _NotCovered("it has more or fewer arguments than its listed form")
    plain = [kind.rstrip("*+?") for kind in kinds]
    return [(plain[min(at, len(plain) - 1)], operand) for at, operand in enumerate(operands)]


def _moved(operands: Sequence[str]) -> _Values:
    """Return the target directory of a move, and the new names in it."""
    *moved, folder = operands
    names = [posixpath.join(folder, posixpath.basename(one.rstrip("/"))) for one in moved]
    if len(set(names)) < len(names):
        raise _NotCovered("one file would overwrite another")
    return [("visible&folder", folder), *(("fresh", name) for name in names)]
