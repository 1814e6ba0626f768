"""Settings in the workspace that tools obey although they run nothing of a project.

A tool of `commands.toml` names the files it obeys, and the settings in them that are known to do no harm:
they
start nothing, and neither write nor read elsewhere. Consent is bound to each such file, and to the absence
of those
where the tool runs. The search is bounded, and refuses links and files with several names: a tool that
rewrites
files would write through them.
"""

import contextlib
import itertools
import os
import posixpath
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from core.errors import ToolError, ToolFailed
from core.lazy import dataclass
from core.safety.paths import file_digest
from core.safety.places import Places
from core.safety.scripts import Unnamed

MAX_ENTRIES = 2_000
FOLDER_COSTS_ENTRIES = 5
"""Cost of opening a folder, in entries: all together at most 50 ms."""
MAX_FILES = 20
MAX_SETTINGS_BYTES = 64_000
MAX_DOTS_IN_LINE = 200
"""The parser's time for a key grows with the square of its parts."""
MAX_NESTING = 4


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool and its settings. `section`: its name in shared files. `obeys`: the names of its files. `must`:
    those that
    have to lie where it runs or above. `never`: names with which it does more than is known. `keys`: the
    harmless
    settings; none where the files hold no settings and are bound as they are. `writes`: its own files
    where it runs or
    above. `also`: what it reads in addition to its operands."""

    section: str
    obeys: frozenset[str]
    must: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()

    @classmethod
    def read(cls, written: Mapping[str, str]) -> "Tool":
        """Return the tool from its entry in the table of commands: words with blanks between them."""
        words = {key: frozenset(value.split()) for key, value in written.items() if key != "section"}
        return cls(written["section"], **words)


def settings_obeyed(tool: Tool, operands: Sequence[str], places: Places) -> Mapping[str, str]:
    """Return the files it obeys when it works on these, with their digests, by their paths from the workspace
    on. Raises Unnamed."""
    beside = {places.name(name) for name in tool.obeys}
    try:
        found = _around([".", *operands, *sorted(tool.also)], tool, places)
    except ToolError as error:
        raise Unnamed("the directories it works in can't be read") from error
    if len(found) > MAX_FILES:
        raise Unnamed("it has too many configuration files to check")
    for path in found:
        _judge(path, tool, places)
    digests = {path: file_digest(places.guard, path) for path in sorted(beside | found)}
    if any(len(digest) != 64 and digest != "absent" for digest in digests.values()):
        raise Unnamed("its settings can't be read")
    return digests


def _around(looked_into: Sequence[str], tool: Tool, places: Places) -> set[str]:
    """Return the tool's files above all of these, the first of which is its working directory, and
    below all others."""
    here, *others = map(places.name, looked_into)
    above = set(_above(here, tool, places))
    if tool.must - {posixpath.basename(path) for path in above}:
        raise Unnamed(f"{min(tool.must)} is neither in its working directory nor in one above")
    for path in others:
        above |= set(_above(path, tool, places))
    kept = {path for path in above if posixpath.basename(path) in tool.writes}
    found, looked_at = above - kept, 0
    for path in dict.fromkeys([*others, *sorted(kept)]):
        for entries, names in _below(path, tool, places):
            found |= names
            looked_at += entries
            if looked_at > MAX_ENTRIES:
                raise Unnamed(f"{path} has too many entries to check")
    return found


def _above(path: str, tool: Tool, places: Places) -> Iterator[str]:
    """Yield the tool's files, and those it writes, in a directory of the workspace and in all above
    it."""
    if places.guard.runs_or_leads_elsewhere(path):
        raise Unnamed(f"{path} is executable or goes through a link")
    parts = path.split("/") if path != "." else []
    for length in range(len(parts) + 1):
        folder = "/".join(parts[:length]) or "."
        try:
            with places.guard.listing(folder) as descriptor:
                names = set(os.listdir(descriptor))
        except ToolFailed:  # a file, or does not exist
            continue
        if stopped := names & tool.never:
            raise Unnamed(f"{min(stopped)} may change what it does")
        yield from (posixpath.normpath(f"{folder}/{name}") for name in names & (tool.obeys | tool.writes))


def _below(path: str, tool: Tool, places: Places) -> Iterator[tuple[int, set[str]]]:
    """Yield the number of entries of each directory below, and the tool's files in it."""
    if places.guard.runs_or_leads_elsewhere(path):
        raise Unnamed(f"{path} is executable or goes through a link")
    with contextlib.suppress(ToolFailed), places.guard.reading(path) as file:
        _judge_names(path, os.fstat(file.fileno()))
    waiting = [path]
    while waiting:
        folder = waiting.pop()
        found: set[str] = set()
        try:
            with places.guard.listing(folder) as descriptor, os.scandir(descriptor) as scanned:
                entries = list(itertools.islice(scanned, MAX_ENTRIES + 1))
                for entry in entries:
                    here = posixpath.normpath(f"{folder}/{entry.name}")
                    if entry.is_symlink() or entry.name in tool.never:
                        raise Unnamed(f"{here} may lead it elsewhere or change what it does")
                    if entry.name in tool.obeys:
                        found.add(here)
                    if not entry.is_dir(follow_symlinks=False):
                        _judge_names(here, entry.stat(follow_symlinks=False))
                    elif entry.name != ".git":  # `.git` is for git alone
                        waiting.append(here)
        except ToolFailed:  # a file, or does not exist
            continue
        yield len(entries) + FOLDER_COSTS_ENTRIES, found


def _judge_names(path: str, found: os.stat_result) -> None:
    if found.st_nlink > 1:
        raise Unnamed(f"{path} has another hard link")


def _judge(path: str, tool: Tool, places: Places) -> None:
    """Raise unless every setting for the tool in the file is known to be harmless."""
    if not tool.keys:
        return
    try:
        with places.guard.reading(path) as file:
            read = file.read(MAX_SETTINGS_BYTES + 1)
        text = read.decode().replace("\r\n", "\n").replace("\r", "\n")
    except (ToolError, UnicodeDecodeError) as error:
        raise Unnamed(f"{path} can't be read as settings") from error
    if len(read) > MAX_SETTINGS_BYTES or any(line.count(".") > MAX_DOTS_IN_LINE for line in text.split("\n")):
        raise Unnamed(f"{path} is too large to check")
    settings = _of_toml if path.endswith(".toml") else _of_ini
    for key in settings(path, text, tool):
        if key.lower().replace("_", "-") not in tool.keys:
            raise Unnamed(f"{path} sets {key[:60]}, which is not on the list of its harmless settings")


def _of_toml(path: str, text: str, tool: Tool) -> Iterator[str]:
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError):
        raise Unnamed(f"{path} can't be parsed") from None
    if posixpath.basename(path) == "pyproject.toml":
        shared = table.get("tool")
        table = cast("dict[str, Any]", shared).get(tool.section, {}) if isinstance(shared, dict) else {}
    yield from _keys(table, "", tool)


def _keys(table: object, prefix: str, tool: Tool) -> Iterator[str]:
    """Yield the settings by their full names. Each table of a list is checked: it is for a part of the
    project."""
    if not isinstance(table, dict) or prefix.count(".") > MAX_NESTING:
        yield prefix or "something other than a table"
        return
    for key, value in cast("dict[str, object]", table).items():
        name = f"{prefix}{key}"
        inner = cast("list[object]", value) if isinstance(value, list) else [value]
        tables = [cast("object", one) for one in inner if isinstance(one, dict)]
        if not tables or name.lower() in tool.keys:
            yield name
        else:
            for one in tables:
                yield from _keys(one, f"{name}.", tool)


def _of_ini(path: str, text: str, tool: Tool) -> Iterator[str]:
    """Yield the settings of the tool's sections. Raises Unnamed if the file is not written plainly."""
    names = {tool.section, f"tool:{tool.section}", "DEFAULT"}
    ours = started = False
    section = ""
    for line in text.split("\n"):
        said = line.strip()
        if not said or said[0] in "#;" or (started and line[0].isspace()):  # continuation of a value
            continue
        if said[0] == "[" and said[-1] == "]":
            section = said[1:-1].strip()
            ours = section in names or section.startswith((f"{tool.section}-", f"{tool.section}:"))
            started = False
        elif not section or line[0].isspace() or said[0] == "[":
            raise Unnamed(f"{path} can't be parsed")
        else:
            started = True
            if ours:
                yield said.replace(":", "=").partition("=")[0].strip()
