"""The text parameters of the ports, found by walking their signatures."""

import dataclasses
import inspect
import types
import typing
from collections.abc import Iterator

import channels.channel
import core.hooks.chain
import core.model.base
import core.ports
import core.tool
import core.tools.mcp.connection
from core.web import Interceptor

MODULES = (
    core.ports,
    channels.channel,
    core.tool,
    core.model.base,
    core.tools.mcp.connection,
    core.hooks.chain,
)

LATER = {"Interceptor": Interceptor}
"""What the ports import for a type checker alone."""


def ports(modules: tuple[types.ModuleType, ...] = MODULES) -> Iterator[type]:
    """The protocols that these modules define."""
    for module in modules:
        for value in vars(module).values():
            if (
                inspect.isclass(value)
                and value.__module__ == module.__name__
                and getattr(value, "_is_protocol", False)
            ):
                yield value


def text_parameters(port: type) -> Iterator[str]:
    """`Port.method.parameter` for texts that are handed over as such, `Class.field` for those in values."""
    seen: set[type] = set()
    for name, member in vars(port).items():
        function = member.fget if isinstance(member, property) else member
        if not inspect.isfunction(function) or (name.startswith("_") and name != "__call__"):
            continue
        for parameter, hint in typing.get_type_hints(function, localns=LATER).items():
            yield from _texts_in(hint, f"{port.__name__}.{name}.{parameter}", seen)


def _texts_in(hint: object, where: str, seen: set[type]) -> Iterator[str]:
    if isinstance(hint, typing.NewType):
        hint = hint.__supertype__
    if hint in (str, bytes):
        yield where
    elif inspect.isclass(hint) and dataclasses.is_dataclass(hint):
        if hint not in seen:
            seen.add(hint)
            hints = typing.get_type_hints(hint, localns=LATER)
            for field in dataclasses.fields(hint):
                yield from _texts_in(hints[field.name], f"{hint.__name__}.{field.name}", seen)
    else:
        for part in typing.get_args(hint):
            for one in part if isinstance(part, list) else [part]:
                yield from _texts_in(one, where, seen)
