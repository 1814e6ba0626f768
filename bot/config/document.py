"""The configuration while it is put together: the parsed file, and the variables that override its keys."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from bot.config.errors import Key, Problem, Where, annotation_at, is_list, syntax, typed
from bot.config.keys import VaultKeyRing
from bot.config.place import DATABASE_NAME, OVERRIDE_PREFIX
from bot.config.types import Unopened
from bot.runtime import ConfigError, StartError
from core.errors import StoreError, VaultError
from core.lazy import dataclass

# Where each key of a TOML document stands, so that an error can name its line.
#
# `locate` walks a document that `tomllib` has already accepted and records only positions; it judges
# nothing. Paths are what the parsed document needs to reach a value: table keys as text, places in arrays
# as numbers. A table's line is that of its header, or of the first key that implied it.

KeyPath = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BLANK = re.compile(r"[ \t]*")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\n]*")


def locate(text: str) -> dict[KeyPath, int]:
    """Return the line (from 1) of every key and array entry of a valid TOML document."""
    scan = _Scan(text)
    scan.document()
    return scan.lines


Span = tuple[int, int]
"""A place in a text: the first character, and the one after the last."""


def places(text: str) -> tuple[Mapping[KeyPath, Span], Mapping[KeyPath, int]]:
    """Return where each key's value stands in a valid TOML document, and where each table's own header and
    keys end."""
    scan = _Scan(text)
    scan.document()
    return scan.values, scan.ends


class _Scan:
    def __init__(self, text: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self.values: dict[KeyPath, Span] = {}
        self.ends: dict[KeyPath, int] = {}
        self._text = text
        self._at = 0
        self._line = 1
        self._entries: dict[KeyPath, int] = {}  # arrays of tables: how many entries so far

    def document(self) -> None:
        table: KeyPath = ()
        self._skip(_SPACE)
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self.ends[table] = self._at
            self._skip(_SPACE)

    def _header(self) -> KeyPath:
        opening = "[[" if self._text.startswith("[[", self._at) else "["
        line = self._line
        self._at += len(opening)
        keys = self._keys()
        self._at += len(opening)
        parents, last = keys[:-1], keys[-1]
        path = self._inside((), parents, line)
        path = (*path, last)
        if opening == "[[":
            self.lines.setdefault(path, line)
            path = (*path, self._entries.get(path, 0))
            self._entries[path[:-1]] = int(path[-1]) + 1
            self.lines[path] = line
        else:
            path = self._latest(path)
            self.lines[path] = line
        return path

    def _inside(self, table: KeyPath, keys: list[str], line: int) -> KeyPath:
        """Step through keys that lead to a value; each array of tables means its latest entry."""
        path = table
        for key in keys:
            path = (*path, key)
            self.lines.setdefault(path, line)
            path = self._latest(path)
        return path

    def _latest(self, path: KeyPath) -> KeyPath:
        return (*path, self._entries[path] - 1) if path in self._entries else path

    def _pair(self, table: KeyPath) -> None:
        line = self._line
        keys = self._keys()
        path = (*self._inside(table, keys[:-1], line), keys[-1])
        self.lines[path] = line
        self._at += 1  # =
        self._skip(_BLANK)
        start = self._at
        self._value(path)
        self.values[path] = (start, start + len(self._text[start : self._at].rstrip()))

    def _value(self, path: KeyPath) -> None:
        match self._text[self._at]:
            case "[":
                self._array(path)
            case "{":
                self._inline_table(path)
            case '"' | "'":
                self._skip(_STRING)
            case _:
                self._skip(_SCALAR)

    def _array(self, path: KeyPath) -> None:
        self._at += 1
        index = 0
        self._skip(_SPACE)
        while self._text[self._at] != "]":
            self.lines[(*path, index)] = self._line
            self._value((*path, index))
            self._skip(_SPACE)
            if self._text[self._at] == ",":
                self._at += 1
                self._skip(_SPACE)
            index += 1
        self._at += 1

    def _inline_table(self, path: KeyPath) -> None:
        self._at += 1
        self._skip(_SPACE)
        while self._text[self._at] != "}":
            self._pair(path)
            self._skip(_SPACE)
            if self._text[self._at] == ",":
                self._at += 1
                self._skip(_SPACE)
        self._at += 1

    def _keys(self) -> list[str]:
        keys: list[str] = []
        while True:
            self._skip(_BLANK)
            start = self._at
            if self._text[start] in "\"'":
                self._skip(_STRING)
                keys.append(str(tomllib.loads(f"key = {self._text[start : self._at]}")["key"]))
            else:
                self._skip(_BARE)
                keys.append(self._text[start : self._at])
            self._skip(_BLANK)
            if self._text[self._at] != ".":
                return keys
            self._at += 1

    def _skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self._text, self._at)
        if found:
            self._line += found.group().count("\n")
            self._at = found.end()


@dataclass(slots=True)
class Document:
    """The parsed file while variables are worked into it."""

    tree: dict[str, Any]
    where: Where
    hidden: set[Key] = field(default_factory=lambda: set[Key]())
    """Keys whose value came from elsewhere by a reference: not to be shown."""


def read(source: Path, cwd: Path, text: str | None = None) -> Document:
    """Read the file, or `text` in its place. Raises ConfigError if it can't be read, or is not TOML."""
    try:
        text = (cwd / source).read_bytes().decode("utf-8-sig") if text is None else text
    except FileNotFoundError as error:
        raise ConfigError([f"{source}: no such file; create it or choose another one"]) from error
    except OSError as error:
        raise ConfigError([f"{source}: not readable ({error.strerror}); check its permissions"]) from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError([f"{source}:{line}: not UTF-8; save the file as UTF-8"]) from error
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([syntax(source, text, str(error))]) from error
    except (RecursionError, ValueError, OverflowError) as error:  # nested too deep; a date that is none
        raise ConfigError([f"{source}: not readable as TOML ({error}); simplify the file"]) from error
    return Document(tree, Where(source, locate(text.replace("\r\n", "\n"))))


def apply_overrides(document: Document, environ: Mapping[str, str]) -> Iterator[Problem]:
    """Put the values of HUBBUB__SECTION__KEY variables where they belong."""
    given = [name for name in environ if name.startswith(OVERRIDE_PREFIX)]
    for name in sorted(given, key=lambda name: (name.count("__"), name)):  # tables before their entries
        segments = name.removeprefix(OVERRIDE_PREFIX).lower().split("__")
        key = _place(document.tree, segments, environ[name])
        if key is None:
            yield Problem((), f"{name}: does not name a key; use HUBBUB__SECTION__KEY", located=True)
        else:
            document.where.variables[key] = name


def _place(tree: dict[str, Any], segments: list[str], raw: str) -> Key | None:
    """Put an override where it belongs, making tables on the way; its key, or None if there is no way."""
    at: Any = tree
    key: Key = ()
    for position, segment in enumerate(segments):
        step = _step(at, segment)
        if step is None or not segment:
            return None
        key = (*key, step)
        if position == len(segments) - 1:
            value = typed(raw, key)
        else:
            value = _existing(at, step)
            if value is None:
                value = [] if is_list(key) else {}
        _put(at, step, value)
        at = value
    return key


def _step(at: Any, segment: str) -> str | int | None:
    """Return a container's name for a variable's segment; None if it cannot hold it."""
    if isinstance(at, dict):
        same = [name for name in at if name.lower().replace("-", "_") == segment.replace("-", "_")]
        return same[0] if same else segment
    if isinstance(at, list) and segment.isdecimal() and int(segment) <= len(at):
        return int(segment)
    return None


def _existing(at: Any, step: Any) -> Any:
    if isinstance(at, dict):
        return at.get(step)
    return at[step] if step < len(at) else None


def _put(at: Any, step: Any, value: Any) -> None:
    if isinstance(at, list) and step == len(at):
        at.append(value)
    else:
        at[step] = value


# Texts of the configuration that stand for something else: "env:NAME" and, for secrets, "vault:NAME".

_VARIABLE = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")
_SECRET = re.compile(r"vault:(.+)", re.DOTALL)


def apply_references(
    document: Document, environ: Mapping[str, str], *, secrets: bool = True
) -> Iterator[Problem]:
    """Replace each "env:NAME" by the variable's value; where no `secrets` are needed, one that is not set
    stays unopened."""
    for holder, step, key, found in _found(document, _VARIABLE):
        name = found.group(1)
        if name in environ:
            holder[step] = typed(environ[name], key)
            document.hidden.add(key)
        elif not secrets and _is_secret(key):
            holder[step] = Unopened(found.group())
        else:
            yield Problem(key, f"the environment variable {name} is not set; set it, or put the value here")


def apply_vault(
    document: Document, data_dir: Path, environ: Mapping[str, str], *, secrets: bool = True
) -> Iterator[Problem]:
    """Replace each secret "vault:NAME" by the value stored under that name in the data directory."""

    values = VaultValues(data_dir, environ)
    for holder, step, key, found in _found(document, _SECRET):
        if not _is_secret(key):
            yield Problem(key, "is not a secret, so it can't come from the vault; put the value here")
        elif not secrets:
            holder[step] = Unopened(found.group())
        else:
            value = values.value(found.group(1))
            if isinstance(value, str):
                holder[step] = value
                document.hidden.add(key)
            else:
                yield Problem(key, value.text)


def _is_secret(key: Key) -> bool:
    return annotation_at(key) is SecretStr


def _found(document: Document, pattern: re.Pattern[str]) -> Iterator[tuple[Any, Any, Key, re.Match[str]]]:
    """Yield every text that the whole pattern matches: its container, the step to it from there, its
    key, and the match."""

    def visit(value: Any, key: Key) -> Iterator[tuple[Any, Any, Key, re.Match[str]]]:
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for step, inner in list(entries):
            here = (*key, step)
            if isinstance(inner, dict | list):
                yield from visit(inner, here)
            elif isinstance(inner, str) and (found := pattern.fullmatch(inner)):
                yield value, step, here, found

    return visit(document.tree, ())


# What the vault holds, read before any store is open: the configuration needs it to be complete.


@dataclass(frozen=True, slots=True)
class NoValue:
    """The reason there is no value, and the remedy, as a line of the configuration's problems."""

    text: str


class VaultValues:
    """Reads the database of a data directory, whether or not a hub runs on it."""

    def __init__(self, data_dir: Path, environ: Mapping[str, str]) -> None:
        self._database = data_dir / DATABASE_NAME
        self._ring = VaultKeyRing(data_dir, environ)

    def value(self, name: str) -> str | NoValue:
        """Return the value stored under the name."""
        from core.store.sqlite.offline import sealed_in

        try:
            secret = next((one for one in sealed_in(self._database) if one.name == name), None)
            if secret is None:
                return NoValue(f'the vault has no secret "{name}"; run: hubbub secrets set {name}')
            keys = self._ring.keys()
            if keys is None:
                where = self._ring.path
                return NoValue(f"the vault's key is missing; restore {where}, or set HUBBUB_VAULT_KEY")
            return keys.open(secret)
        except (StoreError, StartError, VaultError) as error:
            return NoValue(str(error))
