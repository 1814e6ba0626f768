"""Edits of a configuration file: some values change, and everything else stays as its author wrote it.

Comments, order, spacing and line ends are kept, byte for byte, and the file keeps its mode. An edit that
would change anything else is refused: then a person edits the line.
"""

import itertools
import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.config.document import KeyPath, locate, places

Value = str | bool | int | float | Sequence[str]
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class EditRefused(Exception):
    """The file can't be edited by a program; the message names the line's key, and what to do."""


def edited(text: str, changes: Mapping[KeyPath, Value | None]) -> str:
    """Return the document with these values; None removes a key.

    Missing tables are added at the end, missing keys at the end of their table. Raises EditRefused for a key
    that stands in an inline table, and if the result would not be exactly the document with these values.
    """
    wanted = tomllib.loads(text)
    for path, value in changes.items():
        _put(wanted, path, value)
        text = _without(text, path) if value is None else _with(text, path, literal(value))
    try:
        same = tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        names = ", ".join(".".join(map(str, path)) for path in changes)
        raise EditRefused(f"can't change {names} without changing other lines; edit the file by hand")
    return text


def moved_first(text: str, table: str, index: int) -> str:
    """Return the document with this entry of an array of tables in the first one's place, and the reverse.

    Comments above an entry's header stay where they are. Raises EditRefused if that changes other keys."""
    wanted = tomllib.loads(text)
    entries = wanted[table]
    entries[0], entries[index] = entries[index], entries[0]
    _, ends = places(text)
    lines, moved = locate(text), text
    starts = [0, *itertools.accumulate(len(line) + 1 for line in text.split("\n"))]
    try:
        first, other = (
            slice(starts[lines[table, at] - 1], _line_end(text, ends[table, at])) for at in (0, index)
        )
        between = text[first.stop : other.start]
        moved = text[: first.start] + text[other] + between + text[first] + text[other.stop :]
        same = index > 0 and tomllib.loads(moved) == wanted
    except (KeyError, tomllib.TOMLDecodeError):
        same = False
    if not same:
        raise EditRefused(f"can't move {table}.{index} without changing other lines; edit the file by hand")
    return moved


def removed_entry(text: str, table: str, index: int) -> str:
    """Return the document without this entry of an array of tables. Comments above its header stay.

    Raises EditRefused if that changes other keys."""
    wanted = tomllib.loads(text)
    del wanted[table][index]
    if not wanted[table]:
        del wanted[table]
    _, ends = places(text)
    starts = [0, *itertools.accumulate(len(line) + 1 for line in text.split("\n"))]
    try:
        start, end = starts[locate(text)[table, index] - 1], _line_end(text, ends[table, index]) + 1
        shorter = text[:start] + text[end:]
        same = tomllib.loads(shorter) == wanted
    except (KeyError, tomllib.TOMLDecodeError):
        same, shorter = False, text
    if not same:
        raise EditRefused(f"can't remove {table}.{index} without changing other lines; edit the file by hand")
    return shorter


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def literal(value: Value) -> str:
    """Return a value in TOML."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            # JSON's escapes are valid in TOML except for one character.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
        case _:
            return f"[{', '.join(map(literal, value))}]"


def replace_text(path: Path, before: str, after: str) -> None:
    """Replace a file's text, whole or not at all; its mode stays. A missing file counts as empty, and is made
    for its user only.

    Raises EditRefused if the file no longer holds `before`, and OSError if it can't be written."""
    path = path.resolve()
    there = path.exists()
    if (read_text(path) if there else "") != before:
        raise EditRefused(f"{path.name} was changed in the meantime; nothing was written, try again")
    unfinished = path.with_name(f".{path.name}.new")
    unfinished.unlink(missing_ok=True)
    fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        if there:
            os.fchmod(fd, path.stat().st_mode & 0o7777)
        file.write(after.encode())
        file.flush()
        os.fsync(fd)
    unfinished.rename(path)


def read_text(path: Path) -> str:
    """Return a file's text with its own line ends. Raises OSError and UnicodeDecodeError."""
    return path.read_bytes().decode("utf-8")


def _with(text: str, path: KeyPath, written: str) -> str:
    values, ends = places(text)
    if path in values:
        start, end = values[path]
        return text[:start] + written + text[end:]
    table, key = path[:-1], _key(path[-1])
    newline = "\r\n" if "\r\n" in text else "\n"
    if table in ends:
        line_end = text.find("\n", ends[table])
        at = len(text) if line_end < 0 else line_end + 1
        before = newline if at and text[at - 1] != "\n" else ""
        return f"{text[:at]}{before}{key} = {written}{newline}{text[at:]}"
    header = _header(table)
    gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
    return f"{text}{gap}{header}{newline}{key} = {written}{newline}"


def _without(text: str, path: KeyPath) -> str:
    """Return the text without the key's lines; a comment behind its value goes, too."""
    values, _ = places(text)
    if path not in values:
        return text
    start = text.rfind("\n", 0, values[path][0]) + 1
    line_end = text.find("\n", values[path][1])
    return text[:start] + ("" if line_end < 0 else text[line_end + 1 :])


def _header(table: KeyPath) -> str:
    """Return the header of a table, or of an array's next one."""
    names = ".".join(_key(name) for name in table if isinstance(name, str))
    return f"[[{names}]]" if isinstance(table[-1], int) else f"[{names}]"


def _key(name: str | int) -> str:
    text = str(name)
    return text if _BARE.fullmatch(text) else literal(text)


def _put(tree: dict[str, Any], path: KeyPath, value: Value | None) -> None:
    at: Any = tree
    for step, following in itertools.pairwise(path):
        at = _inside(at, step, [] if isinstance(following, int) else {})
    if value is None:
        at.pop(path[-1], None)
    else:
        at[path[-1]] = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


def _inside(at: Any, step: Any, empty: Any) -> Any:
    """Return a table's or array's entry, which is made if it is missing."""
    if isinstance(at, dict):
        at.setdefault(step, empty)
    elif step == len(at):
        at.append(empty)
    return at[step]
