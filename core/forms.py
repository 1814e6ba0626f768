"""Reads what people and programs send as JSON objects: every fault is noted, none of them stops the reading.

A form gives its fields by type and in the end tells all that is wrong, each by the dotted name of its field:
whoever fills in a form wants to correct it once. Nothing is guessed: a number written as text is a fault, and
so is a field nobody asked for. After a fault the field has a value that lets the reading go on; no caller may
use what was read while there are `problems`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar, cast

Word = TypeVar("Word", bound=StrEnum)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one field, said to the person who wrote it. `field`: its dotted name."""

    field: str
    message: str


class Form:
    """One JSON object. A field that is null counts as left out."""

    def __init__(self, page: Mapping[str, object]) -> None:
        self._page = page
        self._path = ""
        self._found: list[Problem] = []
        self._asked: set[str] = set()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All that is wrong so far, with this form and its parts."""
        return tuple(self._found)

    def fault(self, name: str, message: str) -> None:
        """Note what is wrong with a field."""
        self._found.append(Problem(self._path + name, message))

    def text(self, name: str, usual: str | None = None) -> str:
        """A text; a fault where it is left out and there is no usual one."""
        value = self._value(name, str, "text")
        if value is not None:
            return value
        if usual is None and self._page.get(name) is None:
            self.fault(name, "is missing")
        return usual or ""

    def text_or_none(self, name: str) -> str | None:
        """A trimmed text; None where it is left out or blank."""
        return (self._value(name, str, "text") or "").strip() or None

    def flag(self, name: str, usual: bool) -> bool:
        """True or false."""
        value = self._value(name, bool, "true or false")
        return usual if value is None else value

    def number(self, name: str, usual: int) -> int:
        """A whole number."""
        value = self.number_or_none(name)
        return usual if value is None else value

    def number_or_none(self, name: str) -> int | None:
        """A whole number; None where it is left out."""
        return self._value(name, int, "a whole number")

    def word(self, name: str, usual: Word) -> Word:
        """One of the words of `usual`'s type."""
        words = [str(member) for member in type(usual)]
        value = self.one_of(name, words, needed=False)
        return type(usual)(value) if value else usual

    def one_of(self, name: str, words: tuple[str, ...] | list[str], *, needed: bool = True) -> str:
        """One of the words; "" where there is none."""
        value = self._value(name, str, "text")
        if value in words:
            return cast("str", value)
        if value is not None or (needed and self._page.get(name) is None):
            self.fault(name, f"must be one of {', '.join(words)}")
        return ""

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts: trimmed, blanks dropped, each once."""
        listed = cast("list[object]", self._value(name, list, "a list of texts") or [])
        texts = [item.strip() for item in listed if isinstance(item, str)]
        if len(texts) < len(listed):
            self.fault(name, "must be a list of texts")
        return tuple(dict.fromkeys(filter(None, texts)))

    def mapping(self, name: str) -> Mapping[str, object]:
        """An object as it is; empty where it is left out."""
        return cast("dict[str, object]", self._value(name, dict, "an object") or {})

    def part(self, name: str) -> "Form":
        """An object that is a form of its own; its problems are also this form's."""
        given = len(self._found)
        part = Form(self.mapping(name))
        if len(self._found) == given:  # what is no object at all was told; its fields need no telling
            part._path = f"{self._path}{name}."
            part._found = self._found
        return part

    def close(self, what: str = "here") -> None:
        """Note every field nobody asked for. `what`: the thing that has no such field."""
        for name in self._page:
            if name not in self._asked:
                self.fault(name, f"is unknown {what}; there are {', '.join(sorted(self._asked))}")

    def _value(self, name: str, kind: type[Value], told: str) -> Value | None:
        self._asked.add(name)
        value = self._page.get(name)
        if value is None:
            return None
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.fault(name, f"must be {told}")
            return None
        return value
