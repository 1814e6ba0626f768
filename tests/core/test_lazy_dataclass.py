"""`core.lazy` makes the classes that Python's own decorator makes."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any

import pytest

from core.lazy import dataclass
from core.transcript import Entry, UserSaid


def classes_of(decorator: Callable[..., Any]) -> tuple[type[Any], type[Any]]:
    """Return a class with every kind of field, and one that inherits from it."""

    @decorator(frozen=True, slots=True)
    class Base:
        """The base."""

        first: int
        many: list[int] = field(default_factory=list[int], compare=False)
        shown: str = field(default="s", repr=False, kw_only=True)
        counted: int = field(default=0, init=False)
        made: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "made", self.first + 1)

    @decorator(frozen=True, slots=True, kw_only=True)
    class Sub(Base):
        own: str

    return Base, Sub


OURS, PYTHONS = classes_of(dataclass), classes_of(dataclasses.dataclass)
TRIED: dict[str, Callable[[type[Any], type[Any]], object]] = {
    "repr": lambda base, sub: (repr(base(1, [2])), repr(sub(1, own="o"))),
    "equal": lambda base, sub: (base(1, [2]) == base(1), base(1) == base(2), base(1) == sub(1, own="o")),
    "hash": lambda base, _: hash(base(1, [2])) == hash(base(1)),
    "signature": lambda base, sub: (str(inspect.signature(base)), str(inspect.signature(sub))),
    "match": lambda base, sub: (base.__match_args__, sub.__match_args__, sub.__slots__),
    "replace": lambda base, _: repr(dataclasses.replace(base(1), first=5)),
    "as dict": lambda _, sub: dataclasses.asdict(sub(1, own="o")),
    "copy": lambda _, sub: repr(copy.deepcopy(sub(1, [3], own="o"))),
    "class": lambda base, sub: (type(base(1)) is base, type(sub(1, own="o")) is sub),
    "set after": lambda _, sub: setattr(sub(1, own="o"), "own", "p"),
    "set": lambda base, _: setattr(base(1), "first", 2),
    "delete": lambda base, _: delattr(base(1), "first"),
    "too few": lambda base, _: base(),
    "too many": lambda base, _: base(1, [], "s"),
    "unknown": lambda _, sub: sub(1, own="o", other=1),
}


@pytest.mark.parametrize("tried", TRIED)
def test_a_lazy_data_class_is_like_pythons_own(tried: str) -> None:
    found: list[object] = []
    for base, sub in (OURS, PYTHONS):
        try:
            found.append(TRIED[tried](base, sub))
        except (AttributeError, TypeError) as error:
            found.append((type(error), str(error)))
    assert found[0] == found[1]


def test_a_method_is_compiled_when_it_is_first_used() -> None:
    @dataclass(frozen=True, slots=True)
    class Value:
        """A value."""

        number: int

    before = vars(Value)["__init__"], vars(Value)["__eq__"]
    assert not any(map(inspect.isfunction, before))
    assert Value(1).number == 1
    assert [inspect.isfunction(vars(Value)[name]) for name in ("__init__", "__eq__")] == [True, False]
    assert Value(1) == Value(1)
    assert inspect.isfunction(vars(Value)["__eq__"])


def test_a_value_survives_pickling() -> None:
    entry = Entry(1, "t", 0, UserSaid("hello"))
    assert pickle.loads(pickle.dumps(entry)) == entry  # noqa: S301 - it is this test's own
