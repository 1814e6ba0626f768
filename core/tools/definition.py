"""Tools from typed Python functions: the signature is the schema, the docstring the description.

A tool is an `async def` whose first parameter is the `CallContext`; the others become its arguments and
are described by `Annotated[type, "description"]` (or a pydantic `Field`, for limits). The schema is built
on first use, once for a function as it is written: a function made again, as with every hub in a process,
shares it. Arguments are plain JSON values throughout: people, the journal and the function see the same.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Annotated, Any, Concatenate, ParamSpec, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import ErrorDetails

from core.errors import InvalidArguments
from core.off_loop import json_with_breaks
from core.safety.fencing import MAX_VALUES
from core.tool import (
    Arguments,
    CallContext,
    CallPlan,
    Data,
    Effect,
    Question,
    Requirement,
    Risk,
    Tool,
    UseLimit,
    Workspace,
)

# Reader of a model's arguments: lenient where the meaning is certain, strict otherwise.
#
# Models write numbers and booleans as strings, lists and objects as JSON text, and "" for
# omitted arguments. Unambiguous values are read; the rest is refused with a sentence the model
# can act on, naming the field. Argument values never appear in that sentence: they may be
# secret.

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
    """Return the JSON schema for a model: an object, without pydantic's generated titles.

    A parameter that may be null, and is if it is left out, is described as one that may be left out: each
    model reads all tools with each request, and this is a tenth of them."""
    schema = cast(dict[str, Any], _without_titles(model.model_json_schema()))
    given = cast(dict[str, dict[str, Any]], schema.get("properties", {}))
    return {**schema, "properties": {name: _left_out(part) for name, part in given.items()}}


def _left_out(part: dict[str, Any]) -> dict[str, Any]:
    match part:
        case {"anyOf": [value, {"type": "null"}], "default": None, **rest}:
            return {**value, **rest}
        case _:
            return part


def _without_titles(node: Any, *, names: bool = False) -> Any:
    """Remove titles. `names`: the keys of this level are argument names (one may be called "title")."""
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
    """Validator of one tool's arguments, against the model built from its signature."""

    def __init__(self, model: type[BaseModel], schema: Mapping[str, Any]) -> None:
        """Keep the model and its `schema`, see `object_schema`."""
        self._model = model
        required = set(schema.get("required", ()))
        self._blank_means_absent = frozenset(
            name
            for name, part in schema["properties"].items()
            if name not in required and _refuses_blank(part, schema.get("$defs", {}))
        )

    def read(self, arguments: Mapping[str, Any]) -> Arguments:
        """Return validated arguments as plain JSON values, with defaults; raises InvalidArguments."""
        return self._validated(arguments).model_dump(mode="json", by_alias=True)

    def values(self, arguments: Arguments) -> dict[str, Any]:
        """Return the same as the Python values of the function's annotations."""
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
    """Return whether "" can only mean "left out": the field is null then, or takes no strings at all."""
    kinds = _kinds(part, definitions)
    return "default" not in part or "null" in kinds or "string" not in kinds


def _kinds(part: Mapping[str, Any], definitions: Mapping[str, Any]) -> set[str]:
    if "$ref" in part:
        return _kinds(definitions.get(str(part["$ref"]).rpartition("/")[2], {"type": "string"}), {})
    if "anyOf" in part:
        return {kind for option in part["anyOf"] for kind in _kinds(option, definitions)}
    return {str(part.get("type", "string"))}


def _parse_stringified(given: dict[str, Any], errors: list[ErrorDetails]) -> bool:
    """Replace top-level JSON texts where a list or object is wanted; return whether any was replaced."""
    replaced = False
    for error in errors:
        name, wanted = error["loc"][0] if error["loc"] else None, _WANTS_STRUCTURE.get(error["type"])
        text = given.get(name) if isinstance(name, str) else None
        if wanted is None or not isinstance(text, str):
            continue
        try:
            value: Any = json_with_breaks(text, most_values=MAX_VALUES)
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
        return f"{field}: required but missing"
    if error["type"] == "extra_forbidden":
        return f"{field}: unknown argument"
    if error["type"] in ("model_type", "model_attributes_type", "dict_type"):
        return f"{field}: should be an object"
    return f"{field}: {error['msg'][:1].lower()}{error['msg'][1:]}"


P = ParamSpec("P")

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Names both model protocols accept for a function."""

_STRICTLY_NAMED = ConfigDict(extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)


def tool(
    *,
    name: str | None = None,
    requirement: Requirement = Requirement.ASK,
    effect: Effect = Effect.EFFECT,
    data: Data = Data.SHARED,
    timeout_s: float | None = None,
    limits: tuple[UseLimit, ...] = (),
    rate: Callable[[Arguments, Workspace], Risk] | None = None,
    digests: Callable[[Arguments, Workspace], Mapping[str, str]] | None = None,
    plan: Callable[[Arguments, Workspace], CallPlan] | None = None,
    asks: Callable[[Arguments], Question] | None = None,
    sensitive: frozenset[str] = frozenset(),
    version: int = 1,
) -> Callable[[Callable[Concatenate[CallContext, P], Awaitable[str]]], Tool]:
    """Turn a function into a Tool. The defaults are the careful ones: asks, has an effect, shared data.

    Raises TypeError at definition time where the function cannot be offered to a model (no docstring,
    a parameter without annotation, `*args`), and for `sensitive` names it has no parameter for.
    """

    def define(function: Callable[Concatenate[CallContext, P], Awaitable[str]]) -> Tool:
        tool_name = _known_as(name or function.__name__)
        if unknown := sensitive - _checked_names(tool_name, function):
            raise TypeError(f"tool {tool_name}: no parameter named {', '.join(sorted(unknown))}")
        signature = _signature(tool_name, _AsWritten(function))

        async def run(call: CallContext, arguments: Arguments) -> str:
            typed: Callable[..., Awaitable[str]] = function
            return await typed(call, **signature.reader.values(arguments))

        return Tool(
            name=tool_name,
            description=_description(tool_name, function),
            parameters=LazySchema(signature),
            validate=lambda arguments: signature.reader.read(arguments),
            run=run,
            requirement=requirement,
            effect=effect,
            data=data,
            rate=rate,
            digests=digests,
            plan=plan,
            asks=asks,
            timeout_s=timeout_s,
            limits=limits,
            version=version,
            sensitive=sensitive,
        )

    return define


def _known_as(name: str) -> str:
    if not NAME.fullmatch(name):
        raise TypeError(f"tool {name!r}: a name must have 1 to 64 characters: a-z A-Z 0-9 _ -")
    return name


def _description(name: str, function: Callable[..., Any]) -> str:
    text = inspect.getdoc(function)
    if not text:
        raise TypeError(f"tool {name}: needs a docstring, which the model reads")
    return text


class _AsWritten:
    """A function that equals another made by the same lines, with equal annotations and defaults."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        hints = tuple((name, _shape(hint)) for name, hint in function.__annotations__.items())
        self._key = (function.__code__, hints, repr((function.__defaults__, function.__kwdefaults__)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _AsWritten) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _shape(hint: Any) -> object:
    """Return a hint as its classes plus the words of its limits and descriptions: those are made again with
    the function,
    and equal only in their words."""
    if get_origin(hint) is Annotated:
        base, *metadata = get_args(hint)
        return _shape(base), repr(metadata)
    parts = get_args(hint)
    return (get_origin(hint), *map(_shape, parts)) if parts else (repr(hint), hint)


class _Signature:
    """The arguments of a tool as a model, a schema and a reader, each made on first use."""

    def __init__(self, name: str, written: _AsWritten) -> None:
        self._name = name
        self._function = written.function

    @cached_property
    def _model(self) -> type[BaseModel]:
        return _arguments_model(self._name, self._function)

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        return object_schema(self._model)

    @cached_property
    def reader(self) -> ArgumentReader:
        return ArgumentReader(self._model, self.schema)


_signature = lru_cache(maxsize=256)(_Signature)


class LazySchema(Mapping[str, Any]):
    """The JSON schema of a tool's arguments, built when it is first read, so that a hub starts without it."""

    def __init__(self, signature: _Signature) -> None:
        self._signature = signature

    def __getitem__(self, key: str) -> Any:
        return self._signature.schema[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._signature.schema)

    def __len__(self) -> int:
        return len(self._signature.schema)

    def __repr__(self) -> str:
        return repr(self._signature.schema)


def _checked_names(name: str, function: Callable[..., Any]) -> frozenset[str]:
    """Return the names of a tool's arguments. Raises TypeError for one that a model cannot fill."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"tool {name}: a model cannot fill *{parameter.name}")
        if parameter.annotation is parameter.empty:
            raise TypeError(f"tool {name}: parameter {parameter.name} needs an annotation")
    return frozenset(parameter.name for parameter in parameters)


def _arguments_model(name: str, function: Callable[..., Any]) -> type[BaseModel]:
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        default = ... if parameter.default is parameter.empty else parameter.default
        # The underscore keeps arguments called "json" or "copy" off pydantic's own attributes.
        fields[f"{parameter.name}_"] = (
            _described(hints[parameter.name]),
            Field(default, alias=parameter.name),
        )
    make: Callable[..., type[BaseModel]] = create_model
    return make(name, __config__=_STRICTLY_NAMED, **fields)


def _described(hint: Any) -> Any:
    """Return `Annotated[T, "text"]` as pydantic reads it: the text becomes the field's description."""
    if get_origin(hint) is not Annotated:
        return hint
    base, *metadata = get_args(hint)
    for item in metadata:
        base = Annotated[base, Field(description=item) if isinstance(item, str) else item]
    return base
