"""What a word of a command line may be: text of a written pattern, or a place of the workspace."""

from collections.abc import Callable, Mapping
from typing import Any, cast

import re2  # pyright: ignore[reportMissingTypeStubs]

from core.safety.places import Places

_re2 = cast("Any", re2)
_PLACES: Mapping[str, Callable[[Places, str], str | None]] = {
    "file": Places.file,
    "path": Places.path,
    "tree": Places.tree,
    "written": Places.written,
    "script": Places.file,
    "fresh": Places.fresh,
    "document": Places.document,
    "visible": Places.visible,
    "present": Places.present,
    "single": Places.single,
    "folder": Places.folder,
}


class Kinds:
    """The kinds by their names. `written`: patterns of RE2 for the whole value; after `!`, what must occur
    nowhere in it; of several, all have to hold."""

    def __init__(self, written: Mapping[str, str | list[str]]) -> None:
        self._written = written
        self._compiled: dict[str, tuple[tuple[Any, bool], ...]] = {}

    def problem(self, kind: str, value: str, places: Places) -> str | None:
        """Return what speaks against a value of this kind: `a|b` is one of both, `a&b` both at once."""
        problems: list[str] = []
        for one in kind.split("|"):
            said = (self._one(part, value, places) for part in one.split("&"))
            problem = next(filter(None, said), None)
            if problem is None:
                return None
            problems.append(problem)
        return problems[0]

    def _one(self, kind: str, value: str, places: Places) -> str | None:
        if kind == "blob":
            revision, colon, path = value.partition(":")
            return places.path(path) if colon and self._fits("rev", revision) else "is no revision"
        if kind in _PLACES:
            return _PLACES[kind](places, value)
        return None if self._fits(kind, value) else f"{value!r} is not what it is known with"

    def _fits(self, kind: str, value: str) -> bool:
        return all(
            pattern.search(value) is None if nowhere else pattern.fullmatch(value) is not None
            for pattern, nowhere in self._patterns(kind)
        )

    def _patterns(self, kind: str) -> tuple[tuple[Any, bool], ...]:
        """Compiled when first needed, each with whether it must occur nowhere."""
        if kind not in self._compiled:
            written = self._written[kind]
            texts = [written] if isinstance(written, str) else written
            self._compiled[kind] = tuple(
                (_re2.compile(text.removeprefix("!")), text.startswith("!")) for text in texts
            )
        return self._compiled[kind]
