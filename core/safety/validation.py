"""Bounds on a call's arguments, before anything else is made of them."""

import json
from typing import Any, cast

from core.errors import InvalidArguments

LIMIT_CHARS = 8_000_000
"""More than the largest file a tool writes, as JSON."""
MOST_DEPTH = 32
MOST_VALUES = 20_000


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments that a model gave as JSON. Raises InvalidArguments: they are none, or too large, nested
    too deeply, or hold characters that no tool can use."""
    if len(text) > LIMIT_CHARS:
        raise InvalidArguments(f"They are longer than {LIMIT_CHARS} characters.")
    try:
        arguments: Any = json.loads(text or "{}")
    except RecursionError as error:
        raise InvalidArguments(f"They are nested more than {MOST_DEPTH} deep.") from error
    except ValueError as error:
        raise InvalidArguments(f"They are not JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise InvalidArguments("They are not a JSON object.")
    found = cast("dict[str, Any]", arguments)
    _judge(found)
    return found


def _judge(arguments: dict[str, Any]) -> None:
    waiting: list[tuple[Any, int]] = [(arguments, 0)]
    seen = 0
    while waiting:
        value, depth = waiting.pop()
        seen += 1
        if depth > MOST_DEPTH or seen > MOST_VALUES:
            raise InvalidArguments(f"They have over {MOST_VALUES} values, or are over {MOST_DEPTH} deep.")
        if isinstance(value, str) and "\0" in value:
            raise InvalidArguments("They hold a NUL character.")
        if isinstance(value, dict):
            for name, inner in cast("dict[str, Any]", value).items():
                waiting += [(name, depth), (inner, depth + 1)]
        elif isinstance(value, list):
            waiting += [(inner, depth + 1) for inner in cast("list[Any]", value)]
