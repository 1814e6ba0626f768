"""A call's arguments as people edit them: fields of a form, `name: value` lines, or JSON."""

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from core.messages import FormField

_LINE = re.compile(r"\s*([A-Za-z_]\w*)[ \t]*:[ \t]?(.*)")


def fields_of(arguments: Mapping[str, Any]) -> tuple[FormField, ...]:
    """Return one field for each argument that is set, in order. Values that are not text are shown as
    JSON."""
    return tuple(FormField(name, _shown(value)) for name, value in arguments.items() if value is not None)


def lines_of(fields: Collection[FormField]) -> str:
    """Return the fields as lines that `changed_by` can read."""
    return "\n".join(f"{field.name}: {field.value}" for field in fields)


def filled_in(fields: Collection[FormField]) -> str:
    """Return the fields as text to edit and send back: as lines, or as JSON if a line could be read as
    another field."""
    lines, values = lines_of(fields), {field.name: field.value for field in fields}
    read = changed_by(lines, {}, values.keys()) or {}
    if {name: value.strip() for name, value in read.items()} == {k: v.strip() for k, v in values.items()}:
        return lines
    return json.dumps(values, ensure_ascii=False, indent=1)


def looks_like_a_form(text: str) -> bool:
    """Return True if a text may be meant as arguments: JSON, or a line that begins with a name."""
    return text.lstrip().startswith("{") or _LINE.match(text) is not None


def changed_by(text: str, arguments: Mapping[str, Any], names: Collection[str]) -> Mapping[str, Any] | None:
    """Return the arguments as changed by `name: value` lines. None if the first line names none of
    `names`.

    A line that names none continues the value before it. Values are texts; validation converts
    numbers and the like.
    """
    given: dict[str, str] = {}
    current: str | None = None
    for line in text.strip().split("\n"):
        named = _LINE.fullmatch(line)
        if named is not None and named[1] in names:
            current = str(named[1])
            given[current] = named[2]
        elif current is None:
            return None
        else:
            given[current] += f"\n{line}"
    return {**arguments, **given}


def as_before(given: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the submitted values, with the original value of each field that was left unchanged."""
    return {
        name: arguments[name] if name in arguments and value == _shown(arguments[name]) else value
        for name, value in given.items()
    }


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
