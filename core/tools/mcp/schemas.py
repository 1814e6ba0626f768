"""JSON schemas written by a server, possibly hostile: judged before use, and used within limits.

References must stay within the schema. RE2 matches patterns, in linear time; one it does not know is not
checked
here, and neither are `format`, `uniqueItems` and `unevaluated…`: the server checks its own arguments.
Judging one
value takes at most `MAX_STEPS` steps, however a schema refers to itself.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache
from typing import Any, cast

import re2  # pyright: ignore[reportMissingTypeStubs]
from jsonschema import (
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft202012Validator,
    FormatChecker,
    validators,
)
from jsonschema.exceptions import SchemaError, ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable

from core.errors import SchemaRefused

LIMIT_BYTES = 16 * 1024
"""Limit as JSON. It is sent to the model with every request: 16 KB are 4,000 tokens."""
MAX_DEPTH = 32
MAX_STEPS = 5_000
_SHOWN_CHARS = 120
_UNCHECKED = ("format", "uniqueItems", "unevaluatedItems", "unevaluatedProperties")
_BEYOND_US = (Unresolvable, RecursionError, TypeError, ValueError, KeyError, AttributeError)
"""Errors an invalid schema can cause in its judge."""

_Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]
_left: ContextVar[list[int]] = ContextVar("steps left")


class _TooManySteps(Exception):
    """Judging a value takes too long."""


class ForeignSchema:
    """A usable schema. Raises SchemaRefused for others. It takes milliseconds; use a thread for many."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        _judge_size(schema)
        _judge_references(schema)
        bounded = _bounded(_draft(schema))
        try:
            with _Steps():
                bounded.check_schema(schema, format_checker=FormatChecker(formats=()))
        except SchemaError as error:
            raise SchemaRefused(f"is not a JSON schema: {error.message[:_SHOWN_CHARS]}") from error
        except (_TooManySteps, *_BEYOND_US) as error:
            raise SchemaRefused("is not a JSON schema that can be checked") from error
        self._judge = bounded(schema, registry=cast("Any", Registry)())

    def problem(self, value: Any) -> str | None:
        """Return the problem with the value, without the value itself; None if it fits.

        Raises SchemaRefused if it can't tell.
        """
        try:
            with _Steps():
                found: ValidationError | None = next(self._judge.iter_errors(value), None)
        except _TooManySteps as error:
            raise SchemaRefused(f"takes more than {MAX_STEPS} steps to compare with a value") from error
        except _BEYOND_US as error:
            raise SchemaRefused("has references that can't be resolved") from error
        return None if found is None else _sentence(found)


def _draft(schema: Mapping[str, Any]) -> Any:
    """Return the draft the schema names, or the newest."""
    for_any: Any = validators.validator_for
    found = for_any(schema, default=Draft202012Validator)
    return found if found in (Draft4Validator, Draft6Validator, Draft7Validator) else Draft202012Validator


def _judge_size(schema: Mapping[str, Any]) -> None:
    try:
        size = len(json.dumps(schema).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaRefused("is not JSON") from error
    if size > LIMIT_BYTES:
        raise SchemaRefused(f"has {size} bytes; the limit is {LIMIT_BYTES}")


def _judge_references(schema: Mapping[str, Any]) -> None:
    """Raise SchemaRefused for a reference out of the schema, and for nesting deeper than `MAX_DEPTH`."""
    waiting: list[tuple[Any, int]] = [(schema, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise SchemaRefused(f"is nested more than {MAX_DEPTH} deep")
        if isinstance(node, dict):
            for key, inner in cast("dict[str, Any]", node).items():
                if key in ("$ref", "$dynamicRef") and isinstance(inner, str) and not inner.startswith("#"):
                    raise SchemaRefused(f"refers to {inner[:_SHOWN_CHARS]!r}, which is not in it")
                waiting.append((inner, depth + 1))
        elif isinstance(node, list):
            waiting += [(inner, depth + 1) for inner in cast("list[Any]", node)]


def _sentence(error: ValidationError) -> str:
    """Return our own sentence, since jsonschema's quote the value."""
    where = ".".join(str(step) for step in error.absolute_path) or "arguments"
    rule, wanted = str(error.validator), json.dumps(error.validator_value)[:_SHOWN_CHARS]
    match rule:
        case "required":
            given = cast("Mapping[str, Any]", error.instance)
            missing = [name for name in cast("list[str]", error.validator_value) if name not in given]
            return f"{where}: {', '.join(missing)[:_SHOWN_CHARS]} required but missing"
        case "additionalProperties" | "None":  # None: a schema that is `false`
            return f"{where}: unknown argument"
        case "type":
            return f"{where}: should be {wanted}"
        case "enum" | "const":
            return f"{where}: should be one of {wanted}"
        case _:
            return f"{where}: does not fit {rule} {wanted}"


# --- counting judge ----------------------------------------------------------------------------------------


class _Steps:
    """Context within which that many steps may be taken."""

    def __enter__(self) -> None:
        self._token = _left.set([MAX_STEPS])

    def __exit__(self, *_: object) -> None:
        _left.reset(self._token)


@cache
def _bounded(judge: Any) -> Any:
    """Return the draft's judge with every keyword counted, and with patterns matched by RE2."""
    keywords: dict[str, _Keyword] = {
        **judge.VALIDATORS,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        **dict.fromkeys(_UNCHECKED, _nothing),
    }
    extend = cast("Any", validators).extend
    return extend(judge, {name: _counted(keyword) for name, keyword in keywords.items()})


def _counted(keyword: _Keyword) -> _Keyword:
    def judge(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError] | None:
        _step()
        return keyword(validator, value, instance, schema)

    return judge


def _step() -> None:
    left = _left.get()
    left[0] -= 1
    if left[0] < 0:
        raise _TooManySteps


def _nothing(_validator: Any, _value: Any, _instance: Any, _schema: Any) -> None:
    return None


def _pattern(_validator: Any, pattern: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and (known := _compiled(pattern)) and not known.search(instance):
        yield ValidationError("does not match")


def _pattern_properties(
    validator: Any, patterns: Any, instance: Any, _schema: Any
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    for pattern, schema in cast("dict[str, Any]", patterns).items():
        known = _compiled(pattern)
        for name, inner in cast("dict[str, Any]", instance).items():
            _step()
            if known and known.search(name):
                yield from validator.descend(inner, schema, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any, allowed: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    patterns = [known for text in schema.get("patternProperties", ()) if (known := _compiled(text))]
    for name, inner in cast("dict[str, Any]", instance).items():
        _step()
        if name in schema.get("properties", ()) or any(known.search(name) for known in patterns):
            continue
        if allowed is False:
            yield ValidationError("not allowed", path=[name])
        else:
            yield from validator.descend(inner, allowed, path=name)


_re2: Any = re2
_QUIET = _re2.Options()
_QUIET.log_errors = False


def _compiled(pattern: Any) -> Any:
    """Return the compiled pattern; None if RE2 does not know it."""
    try:
        return _re2.compile(str(pattern), _QUIET)
    except _re2.error:
        return None
