"""The form of a routine, as JSON Schema: what `core.routine_json` reads, told by the same dataclasses.

A field that is null counts as left out. What a value means (that a pattern can be matched, that a schedule
has a next moment) is beyond a schema; the API answers it with 422.
"""

import dataclasses
from dataclasses import MISSING, fields
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, NewType, Union, get_args, get_origin, get_type_hints

from core.routine import Definition, Filters, QuietHours
from core.routine_json import TYPES

Schema = dict[str, Any]

_HOURS = r"^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$"
_PLAIN: dict[object, Schema] = {str: {"type": "string"}, int: {"type": "integer"}, bool: {"type": "boolean"}}


def whole_form() -> Schema:
    """A routine that is made: every field without a usual value is needed."""
    return _object(Definition)


def change_form() -> Schema:
    """What of a routine is changed: nothing is needed, and parts go by what the routine has already."""
    form = _object(Definition)
    del form["required"]
    for name in ("name", "trigger", "action"):
        kinds = ["string", "null"] if name == "name" else ["object", "null"]
        form["properties"][name] = {"type": kinds}
    return form


def _object(kind: type[Any]) -> Schema:
    hints = get_type_hints(kind)
    properties: Schema = {"type": {"const": TYPES[kind]}} if kind in TYPES else {}
    needed = list(properties)
    for part in fields(kind):
        if _needed(part):
            needed.append(part.name)
            properties[part.name] = _value(hints[part.name])
        else:
            properties[part.name] = {"anyOf": [_value(hints[part.name]), {"type": "null"}]}
    form: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**form, "required": needed} if needed else form


def _needed(part: dataclasses.Field[Any]) -> bool:
    return part.default is MISSING and part.default_factory is MISSING


def _value(hint: Any) -> Schema:
    if isinstance(hint, NewType):
        hint = hint.__supertype__
    if get_origin(hint) in {Union, UnionType}:
        kinds = [_value(kind) for kind in get_args(hint) if kind is not NoneType]
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    if hint is QuietHours:
        return {"type": "string", "pattern": _HOURS}
    if hint == Filters:
        return {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}
    if get_origin(hint) is tuple:
        return {"type": "array", "items": {"type": "string"}}
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"enum": [word.value for word in hint]}
    return dict(_PLAIN[hint]) if hint in _PLAIN else _object(hint)
