"""Reading a model's arguments: forgiving where the meaning is certain, exact about everything else.

Models write numbers and booleans as strings, lists and objects as JSON text, and "" for what they leave
out. What can be read without guessing is read; the rest is refused with a sentence the model can act on,
naming the field. Argument values never appear in that sentence: they may be secret.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from core.errors import InvalidArguments
from core.tool import Arguments

_WANTS_STRUCTURE = {
    "list_type": list,
    "tuple_type": list,
    "set_type": list,
    "dict_type": dict,
    "model_type": dict,
    "model_attributes_type": dict,
}
_MAX_REPORTED = 5


def object_schema(model: type[BaseModel]) -> Mapping[str, Any]:
    """The JSON schema a model is given: an object, without the titles pydantic makes up."""
    schema = cast(dict[str, Any], _without_titles(model.model_json_schema()))
    schema.setdefault("properties", {})
    return schema


def _without_titles(node: Any, *, names: bool = False) -> Any:
    """`names`: the keys of this level are argument names (one may be called "title")."""
    if isinstance(node, list):
        return [_without_titles(item) for item in cast(list[Any], node)]
    if not isinstance(node, dict):
        return node
    return {
        key: _without_titles(value, names=key in ("properties", "$defs") and not names)
        for key, value in cast(dict[str, Any], node).items()
        if names or key != "title"
    }


class ArgumentReader:
    """Validates the arguments of one tool against the model built from its signature."""

    def __init__(self, model: type[BaseModel], schema: Mapping[str, Any]) -> None:
        """`schema`: the model's, see `object_schema`."""
        self._model = model
        required = set(schema.get("required", ()))
        self._blank_means_absent = frozenset(
            name
            for name, part in schema["properties"].items()
            if name not in required and _refuses_blank(part, schema.get("$defs", {}))
        )

    def read(self, arguments: Mapping[str, Any]) -> Arguments:
        """Validated arguments as plain JSON values, defaults filled in; raises InvalidArguments."""
        return self._validated(arguments).model_dump(mode="json", by_alias=True)

    def values(self, arguments: Arguments) -> dict[str, Any]:
        """The same as the Python values the function is annotated with."""
        parsed = self._validated(arguments)
        return {str(field.alias): getattr(parsed, name) for name, field in self._model.model_fields.items()}

    def _validated(self, arguments: Mapping[str, Any]) -> BaseModel:
        given = {
            name: value
            for name, value in arguments.items()
            if not (value == "" and name in self._blank_means_absent)
        }
        try:
            return self._model.model_validate(given)
        except ValidationError as refused:
            first = refused
        if not _parse_stringified(given, first.errors(include_url=False)):
            raise InvalidArguments(_sentence(first)) from None
        try:
            return self._model.model_validate(given)
        except ValidationError as refused:
            raise InvalidArguments(_sentence(refused)) from None


def _refuses_blank(part: Mapping[str, Any], definitions: Mapping[str, Any]) -> bool:
    """Whether "" can only mean "left out": the field takes null, or takes no strings at all."""
    kinds = _kinds(part, definitions)
    return "null" in kinds or "string" not in kinds


def _kinds(part: Mapping[str, Any], definitions: Mapping[str, Any]) -> set[str]:
    if "$ref" in part:
        return _kinds(definitions.get(str(part["$ref"]).rpartition("/")[2], {"type": "string"}), {})
    if "anyOf" in part:
        return {kind for option in part["anyOf"] for kind in _kinds(option, definitions)}
    return {str(part.get("type", "string"))}


def _parse_stringified(given: dict[str, Any], errors: list[ErrorDetails]) -> bool:
    """Replace top-level JSON texts where a list or object is wanted; whether any was replaced."""
    replaced = False
    for error in errors:
        name, wanted = error["loc"][0] if error["loc"] else None, _WANTS_STRUCTURE.get(error["type"])
        text = given.get(name) if isinstance(name, str) else None
        if wanted is None or not isinstance(text, str):
            continue
        try:
            value: Any = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, wanted):
            given[str(name)] = value
            replaced = True
    return replaced


def _sentence(refused: ValidationError) -> str:
    errors = refused.errors(include_url=False, include_input=False, include_context=False)
    parts = [_one(error) for error in errors[:_MAX_REPORTED]]
    if len(errors) > _MAX_REPORTED:
        parts.append(f"and {len(errors) - _MAX_REPORTED} more")
    return "; ".join(parts)


def _one(error: ErrorDetails) -> str:
    field = ".".join(str(step) for step in error["loc"]) or "arguments"
    if error["type"] == "missing":
        return f"{field}: required, but missing"
    if error["type"] == "extra_forbidden":
        return f"{field}: there is no such argument"
    if error["type"] in ("model_type", "model_attributes_type", "dict_type"):
        return f"{field}: should be an object"
    return f"{field}: {error['msg'][:1].lower()}{error['msg'][1:]}"
