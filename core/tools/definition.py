"""Tools from typed Python functions: the signature is the schema, the docstring the description.

A tool is an `async def` whose first parameter is the `CallContext`; the others become its arguments and
are described by `Annotated[type, "what it is"]` (or a pydantic `Field`, for limits). The schema is built
when the decorator runs, once for a function as it is written: one that is made again, as with every hub in
a process, shares it. Arguments are plain JSON values throughout: what a person sees, what is journalled and
what the function gets are the same.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import Annotated, Any, Concatenate, ParamSpec, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

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
)
from core.tools.coercion import ArgumentReader, object_schema

P = ParamSpec("P")

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What both model protocols take as a function's name."""

_STRICTLY_NAMED = ConfigDict(extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)


def tool(
    *,
    name: str | None = None,
    requirement: Requirement = Requirement.ASK,
    effect: Effect = Effect.EFFECT,
    data: Data = Data.SHARED,
    timeout_s: float | None = None,
    limits: tuple[UseLimit, ...] = (),
    rate: Callable[[Arguments], Risk] | None = None,
    digests: Callable[[Arguments], Mapping[str, str]] | None = None,
    plan: Callable[[Arguments], CallPlan] | None = None,
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
        schema, reader = _arguments(tool_name, _AsWritten(function))
        if unknown := sensitive - schema["properties"].keys():
            raise TypeError(f"tool {tool_name}: no parameter named {', '.join(sorted(unknown))}")

        async def run(call: CallContext, arguments: Arguments) -> str:
            typed: Callable[..., Awaitable[str]] = function
            return await typed(call, **reader.values(arguments))

        return Tool(
            name=tool_name,
            description=_description(tool_name, function),
            parameters=schema,
            validate=reader.read,
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
        raise TypeError(f"tool {name!r}: a name has 1 to 64 of a-z A-Z 0-9 _ -")
    return name


def _description(name: str, function: Callable[..., Any]) -> str:
    text = inspect.getdoc(function)
    if not text:
        raise TypeError(f"tool {name}: needs a docstring, it is what the model reads")
    return text


class _AsWritten:
    """A function that is equal to another if the same lines made it, with equal annotations and defaults."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        hints = tuple((name, _shape(hint)) for name, hint in function.__annotations__.items())
        self._key = (function.__code__, hints, repr((function.__defaults__, function.__kwdefaults__)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _AsWritten) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _shape(hint: Any) -> object:
    """A hint by the very classes it names and by what limits and descriptions say: those are made anew with
    the function, and equal only in their words."""
    if get_origin(hint) is Annotated:
        base, *metadata = get_args(hint)
        return _shape(base), repr(metadata)
    parts = get_args(hint)
    return (get_origin(hint), *map(_shape, parts)) if parts else (repr(hint), hint)


@lru_cache(maxsize=256)
def _arguments(name: str, written: _AsWritten) -> tuple[Mapping[str, Any], ArgumentReader]:
    model = _arguments_model(name, written.function)
    schema = object_schema(model)
    return schema, ArgumentReader(model, schema)


def _arguments_model(name: str, function: Callable[..., Any]) -> type[BaseModel]:
    parameters = list(inspect.signature(function).parameters.values())[1:]
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"tool {name}: a model cannot fill *{parameter.name}")
        if parameter.name not in hints:
            raise TypeError(f"tool {name}: parameter {parameter.name} needs an annotation")
        default = ... if parameter.default is parameter.empty else parameter.default
        # The underscore keeps arguments called "json" or "copy" off pydantic's own attributes.
        fields[f"{parameter.name}_"] = (
            _described(hints[parameter.name]),
            Field(default, alias=parameter.name),
        )
    make: Callable[..., type[BaseModel]] = create_model
    return make(name, __config__=_STRICTLY_NAMED, **fields)


def _described(hint: Any) -> Any:
    """`Annotated[T, "text"]` as pydantic reads it: the text becomes the field's description."""
    if get_origin(hint) is not Annotated:
        return hint
    base, *metadata = get_args(hint)
    for item in metadata:
        base = Annotated[base, Field(description=item) if isinstance(item, str) else item]
    return base
