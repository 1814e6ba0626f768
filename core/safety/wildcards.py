"""Wildcards as bash matches them under LC_ALL=C, but never out of the workspace and never a hidden name."""

import os
import posixpath
from collections.abc import Iterator
from typing import Any, Protocol, cast

import re2  # pyright: ignore[reportMissingTypeStubs]

from core.errors import ToolError, ToolFailed
from core.safety.path_text import MAX_DEPTH
from core.safety.paths import PathGuard

MAX_NAMES = 1_000
MAX_LOOKED_AT = 20_000
"""Entries of directories that one line's wildcards may be compared with."""
_re2 = cast("Any", re2)  # matches in linear time


class Pattern(Protocol):
    """A compiled pattern of RE2."""

    def fullmatch(self, text: str, /) -> object | None:
        """Match all of the text."""
        ...


class LineFails(ToolFailed):
    """The line can't be carried out; the text says why, for the model."""


class Names:
    """Finds what wildcards stand for; counts over the whole line."""

    def __init__(self, guard: PathGuard, directory: str) -> None:
        self._guard = guard
        self._directory = directory
        self._found = self._looked_at = 0

    def of(self, text: str, wild: tuple[int, ...]) -> list[str]:
        """Return the names that a word stands for, sorted; itself where nothing in it is `wild`: where an
        unquoted `*` or `?` stands. Raises LineFails where it stands for nothing or for too much."""
        if not wild:
            return [text]
        names = sorted(self._matching(text, wild), key=os.fsencode)
        if not names:
            raise LineFails(f"Nothing in the workspace matches {text}. Nothing was run.")
        for name in names:
            if not name.isprintable():
                raise LineFails(f"{text} matches a name that can't be shown. Nothing was run.")
        return [f"./{name}" if name.startswith("-") else name for name in names]

    def _matching(self, text: str, wild: tuple[int, ...]) -> Iterator[str]:
        if text.count("/") >= MAX_DEPTH:
            return
        parts: list[str | Pattern] = []
        at = 0
        for part in text.split("/"):
            here = frozenset(place - at for place in wild if at <= place < at + len(part))
            parts.append(_pattern(part, here) if here else part)
            at += len(part) + 1
        yield from self._below("", parts)

    def _below(self, base: str, parts: "list[str | Pattern]") -> Iterator[str]:
        """What matches from `base` on, which ends with a slash unless it is empty."""
        part, rest = parts[0], parts[1:]
        if not isinstance(part, str):
            names = [name for name in self._entries(base) if name[0] != "." and part.fullmatch(_text(name))]
        elif part == "" and not rest:  # the pattern ends with a slash: directories alone
            names = [""] if self._is_directory(base) else []
        else:
            names = [part] if rest or part in self._entries(base) else []
        for name in names:
            if rest:
                yield from self._below(f"{base}{name}/", rest)
            else:
                self._found += 1
                if self._found > MAX_NAMES:
                    raise LineFails(f"The line stands for more than {MAX_NAMES} names. Nothing was run.")
                yield base + name

    def _entries(self, base: str) -> list[str]:
        try:
            with self._guard.listing(posixpath.join(self._directory, base)) as descriptor:
                names = os.listdir(descriptor)
        except ToolError:  # no directory, or none of the workspace
            return []
        self._looked_at += len(names) + 1
        if self._looked_at > MAX_LOOKED_AT:
            raise LineFails("The line's wildcards look through too many names. Nothing was run.")
        return names

    def _is_directory(self, path: str) -> bool:
        try:
            with self._guard.listing(posixpath.join(self._directory, path)):
                return True
        except ToolError:
            return False


def _pattern(part: str, wild: frozenset[int]) -> Pattern:
    means = {"*": ".*", "?": "."}
    text = "".join(means[one] if at in wild else _re2.escape(one) for at, one in enumerate(part))
    return cast("Pattern", _re2.compile(f"(?s){text}"))


def _text(name: str) -> str:
    """The name with a mark for each byte of it that is no UTF-8."""
    return name.encode("utf-8", "replace").decode()
