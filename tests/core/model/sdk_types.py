"""Judges JSON by the types of a provider's official client: what its TypedDicts don't name is refused."""

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin
from typing import NotRequired as LaterNotRequired
from typing import Required as LaterRequired

from typing_extensions import get_type_hints, is_typeddict

_MARKS = (Required, NotRequired, LaterRequired, LaterNotRequired, Annotated)
_LISTS = (list, Iterable, Sequence)


def complaints(value: Any, kind: Any, where: str = "body") -> list[str]:
    """What is wrong with `value` as a value of that type; the shortest list where the type is a union."""
    origin = get_origin(kind)
    if origin in _MARKS:
        return complaints(value, get_args(kind)[0], where)
    if origin in (Union, types.UnionType):
        return min((complaints(value, one, where) for one in get_args(kind)), key=len)
    if is_typeddict(kind):
        return list(_of_fields(value, kind, where))
    if origin is Literal:
        return [] if value in get_args(kind) else [f"{where}: {value!r} is none of {get_args(kind)}"]
    if origin is not None and (origin in _LISTS or _is_a_list(origin)):
        if not isinstance(value, list):
            return [f"{where}: is no list"]
        (one,) = get_args(kind)
        return [said for n, item in enumerate(value) for said in complaints(item, one, f"{where}[{n}]")]
    if origin in (dict, Mapping):
        return [] if isinstance(value, dict) else [f"{where}: is no object"]
    return [] if _fits(value, kind) else [f"{where}: {value!r} is no {kind}"]


def _is_a_list(origin: Any) -> bool:
    return (isinstance(origin, type) and issubclass(origin, Sequence)) or "Sequence" in str(origin)


def _of_fields(value: Any, kind: Any, where: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where}: is no object"
        return
    fields = get_type_hints(kind, include_extras=True)
    for name in value.keys() - fields.keys():
        yield f"{where}.{name}: is not known"
    for name in kind.__required_keys__ - value.keys():
        yield f"{where}.{name}: is missing"
    for name in fields.keys() & value.keys():
        yield from complaints(value[name], fields[name], f"{where}.{name}")


def _fits(value: Any, kind: Any) -> bool:
    match kind:
        case _ if kind is Any or kind is object:
            return True
        case _ if kind is None or kind is type(None):
            return value is None
        case _ if kind is float:
            return isinstance(value, int | float) and not isinstance(value, bool)
        case _ if kind is int:
            return isinstance(value, int) and not isinstance(value, bool)
        case type():
            return isinstance(value, kind)
        case _:  # an open file or a path, which no JSON is
            return False
