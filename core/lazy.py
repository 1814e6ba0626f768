"""What is loaded or compiled when it is first used: modules, and the methods of frozen data classes."""

import dataclasses
from collections.abc import Callable
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar


class LazyModule:
    """A stand-in for a module until it is used, so that unused features do not slow down the start.

    A name is declared twice, so that linters and readers see the import:

        if TYPE_CHECKING:
            from core.store.sql import routine_definitions
        else:
            routine_definitions = LazyModule("core.store.sql.routine_definitions")
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


T = TypeVar("T")


def replace(one: T, **changes: Any) -> T:
    """Return a copy with these fields changed, like Python's own function in a fifth of its time."""
    made = type(one)
    values = _reader(made)(one)
    values.update(changes)
    return made(**values)


@cache
def _reader(of: type[Any]) -> Callable[[Any], dict[str, Any]]:
    names = [one.name for one in dataclasses.fields(of) if one.init]
    if len(names) == 1:
        return lambda one: {names[0]: getattr(one, names[0])}
    read = attrgetter(*names)
    return lambda one: dict(zip(names, read(one), strict=True))


class _Later:
    """Stands in a class for one of its methods until that is first looked up. `made`: what the twin is made
    with."""

    def __init__(self, name: str, **made: bool) -> None:
        self._name = name
        self._made = {"init": False, "repr": False, "eq": False, **made}

    def __get__(self, of: object | None, owner: type[Any]) -> Any:
        holder = next(one for one in owner.__mro__ if vars(one).get(self._name) is self)
        method = vars(_twin(holder, **self._made))[self._name]
        if self._name == "__init__" and len(dataclasses.fields(holder)) >= _FEWEST_TO_OPEN_FOR:
            method = _open_and_set(holder, method)
        method.__qualname__ = f"{holder.__qualname__}.{self._name}"
        setattr(holder, self._name, method)
        return method.__get__(of, owner)


def _twin(of: type[Any], **made: Any) -> type[Any]:
    """Return a class with the same fields, and methods that work on objects of both."""
    fields: list[tuple[str, Any, Any]] = []
    for one in dataclasses.fields(of):
        options: dict[str, Any] = {name: getattr(one, name) for name in _OPTIONS}
        fields.append((one.name, one.type, dataclasses.field(**options)))
    space = {"__doc__": of.__doc__, "__module__": of.__module__}
    if hasattr(of, "__post_init__"):
        space["__post_init__"] = of.__post_init__
    return dataclasses.make_dataclass(of.__name__, fields, namespace=space, slots=True, **made)


def _open_and_set(of: type[Any], like: Any) -> Any:
    """Return an `__init__` like Python's own for a frozen class, `like`, in half its time.

    Python's own calls `object.__setattr__` for each field. This one makes the object for that time one of a
    class that is not frozen, so that each field is a plain assignment. `of`: a class that is inherited from
    only by classes with an `__init__` of their own or without more fields.
    """
    space = {"__slots__": (), "__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    known: dict[str, Any] = {
        "_Open": type(of.__name__, (of,), space),
        "_set_class": _set_class,
        "_type": type,
    }
    known["_later"] = _MADE_LATER
    lines = ["_class = _type(self)", "_set_class(self, _Open)"]
    for one in dataclasses.fields(of):
        value = one.name
        if one.default_factory is not dataclasses.MISSING:
            known[f"_make_{one.name}"] = one.default_factory
            made = f"_make_{one.name}()"
            value = f"{made} if {one.name} is _later else {one.name}" if one.init else made
        elif not one.init:
            if one.default is dataclasses.MISSING:
                continue
            known[f"_default_{one.name}"] = one.default
            value = f"_default_{one.name}"
        lines.append(f"self.{one.name} = {value}")
    lines.append("_set_class(self, _class)")
    if hasattr(of, "__post_init__"):
        lines.append("self.__post_init__()")
    code = like.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    named = names[code.co_argcount :]
    head = ", ".join([*names[: code.co_argcount], *(("*", *named) if named else ())])
    exec("\n ".join([f"def __init__({head}):", *lines]), known)  # noqa: S102 - as Python's own does
    method = known["__init__"]
    method.__defaults__, method.__kwdefaults__ = like.__defaults__, like.__kwdefaults__
    method.__annotations__ = like.__annotations__
    return method


@dataclasses.dataclass
class _WithFactory:
    made: list[int] = dataclasses.field(default_factory=list[int])


_MADE_LATER: Any = _WithFactory.__init__.__defaults__[0]  # type: ignore[index]
"""What stands for the value of a factory in the parameters of Python's own `__init__`."""
_FEWEST_TO_OPEN_FOR = 3
"""Fields from which on the two changes of class cost less than they save."""
_set_class = vars(object)["__class__"].__set__
_OPTIONS = ("default", "default_factory", "init", "repr", "hash", "compare", "kw_only")
_LATER = {
    "__init__": _Later("__init__", init=True, frozen=True),
    "__repr__": _Later("__repr__", repr=True),
    "__eq__": _Later("__eq__", eq=True),
    "__hash__": _Later("__hash__", eq=True, frozen=True),
}


def _refuse_to_set(_self: object, name: str, _value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for one, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)


_AT_ONCE = {
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__getstate__": _state,
    "__setstate__": _set_state,
}


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        *, frozen: bool = False, slots: bool = False, eq: bool = True, kw_only: bool = False
    ) -> Callable[[type[T]], type[T]]:
        """Make a data class. Those that are not frozen, have no slots or no comparison get all at once.

        A class may not be Python's own decorator's and this one's along one line of inheritance."""
        if not (frozen and slots and eq):
            return dataclasses.dataclass(frozen=frozen, slots=slots, eq=eq, kw_only=kw_only)

        def decorated(cls: type[T]) -> type[T]:
            own = set(vars(cls))
            if vars(cls).get("__hash__") is None and "__eq__" in own:
                own.discard("__hash__")  # Python put it there
            if cls.__doc__ is None:
                cls.__doc__ = f"{cls.__name__}()"  # else Python's own decorator would look for its signature
            made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
            for name, method in (_LATER | _AT_ONCE).items():
                if name not in own:
                    setattr(made, name, method)
            return made

        return decorated
