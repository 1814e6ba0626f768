"""Where each key of a TOML document stands, so that an error can name its line.

`locate` walks a document that `tomllib` has already accepted and records only positions; it judges nothing.
Paths are what the parsed document needs to reach a value: table keys as text, places in arrays as numbers.
A table's line is that of its header, or of the first key that implied it.
"""

import re
import tomllib

Path = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BLANK = re.compile(r"[ \t]*")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\n]*")


def locate(text: str) -> dict[Path, int]:
    """The line (from 1) of every key and array entry of a valid TOML document."""
    scan = _Scan(text)
    scan.document()
    return scan.lines


class _Scan:
    def __init__(self, text: str) -> None:
        self.lines: dict[Path, int] = {}
        self._text = text
        self._at = 0
        self._line = 1
        self._entries: dict[Path, int] = {}  # arrays of tables: how many entries so far

    def document(self) -> None:
        table: Path = ()
        self._skip(_SPACE)
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip(_SPACE)

    def _header(self) -> Path:
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

    def _inside(self, table: Path, keys: list[str], line: int) -> Path:
        """Step through keys that lead to a value; each array of tables means its latest entry."""
        path = table
        for key in keys:
            path = (*path, key)
            self.lines.setdefault(path, line)
            path = self._latest(path)
        return path

    def _latest(self, path: Path) -> Path:
        return (*path, self._entries[path] - 1) if path in self._entries else path

    def _pair(self, table: Path) -> None:
        line = self._line
        keys = self._keys()
        path = (*self._inside(table, keys[:-1], line), keys[-1])
        self.lines[path] = line
        self._at += 1  # =
        self._skip(_BLANK)
        self._value(path)

    def _value(self, path: Path) -> None:
        match self._text[self._at]:
            case "[":
                self._array(path)
            case "{":
                self._inline_table(path)
            case '"' | "'":
                self._skip(_STRING)
            case _:
                self._skip(_SCALAR)

    def _array(self, path: Path) -> None:
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

    def _inline_table(self, path: Path) -> None:
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
