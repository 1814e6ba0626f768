"""Checks of JSON shapes that collect problems in Slack's words, each with a JSON pointer.

A check takes a value, its pointer and the list of problems it adds to. The wording is the one people quote
from answers of the platform (``must be less than 3001 characters [json-pointer:/blocks/0/text/text]``).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Problems = list[str]
Check = Callable[[Any, str, Problems], None]


def problem(text: str, pointer: str) -> str:
    """One problem with its place."""
    return f"{text} [json-pointer:{pointer}]"


@dataclass(frozen=True, slots=True)
class Field:
    """One property of an object."""

    check: Check
    required: bool = False


def need(check: Check) -> Field:
    """A property that must be there."""
    return Field(check, required=True)


def may(check: Check) -> Field:
    """A property that may be left out."""
    return Field(check)


def string(most: int | None = None, least: int = 0, choices: tuple[str, ...] = ()) -> Check:
    """Text of so many characters, or one of some words."""

    def check(value: Any, pointer: str, problems: Problems) -> None:
        if not isinstance(value, str):
            problems.append(problem("must provide a string", pointer))
        elif most is not None and len(value) > most:
            problems.append(problem(f"must be less than {most + 1} characters", pointer))
        elif len(value) < least:
            problems.append(problem(f"must be more than {least - 1} characters", pointer))
        elif choices and value not in choices:
            problems.append(problem("must be a valid enum value", pointer))

    return check


def boolean(value: Any, pointer: str, problems: Problems) -> None:
    """True or false."""
    if not isinstance(value, bool):
        problems.append(problem("must provide a boolean", pointer))


def number(value: Any, pointer: str, problems: Problems) -> None:
    """A number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        problems.append(problem("must provide a number", pointer))


def anything(value: Any, pointer: str, problems: Problems) -> None:
    """Take any value."""


def array(item: Check, most: int | None = None, least: int = 0) -> Check:
    """So many items, each of one shape."""

    def check(value: Any, pointer: str, problems: Problems) -> None:
        if not isinstance(value, list):
            problems.append(problem("must provide an array", pointer))
            return
        if most is not None and len(value) > most:
            problems.append(problem(f"no more than {most} items allowed", pointer))
            return
        if len(value) < least:
            problems.append(problem(f"must have at least {least} items", pointer))
        for index, one in enumerate(value):
            item(one, f"{pointer}/{index}", problems)

    return check


def shape(**fields: Field) -> Check:
    """An object with these properties and no others."""

    def check(value: Any, pointer: str, problems: Problems) -> None:
        if not isinstance(value, dict):
            problems.append(problem("must provide an object", pointer))
            return
        for name, field in fields.items():
            if name in value:
                field.check(value[name], f"{pointer}/{name}", problems)
            elif field.required:
                problems.append(problem(f"missing required field: {name}", pointer))
        for name in value:
            if name not in fields:
                problems.append(problem(f"invalid additional property: {name}", pointer))

    return check


def by_type(table: Mapping[str, Check]) -> Check:
    """An object whose ``type`` says which shape it has."""

    def check(value: Any, pointer: str, problems: Problems) -> None:
        if not isinstance(value, dict):
            problems.append(problem("must provide an object", pointer))
            return
        kind = value.get("type")
        if not isinstance(kind, str):
            problems.append(problem("missing required field: type", pointer))
        elif kind not in table:
            problems.append(problem(f"unsupported type: {kind}", f"{pointer}/type"))
        else:
            table[kind](value, pointer, problems)

    return check


def matching(check: Check) -> Check:
    """The same check; its problems are headed as Slack heads those of a text object."""

    def headed(value: Any, pointer: str, problems: Problems) -> None:
        found: Problems = []
        check(value, pointer, found)
        if found:
            problems.append(problem("failed to match all allowed schemas", pointer))
            problems.extend(found)

    return headed
