"""A server's list as tools of this hub: named, bounded, with the requirement the operator gave them.

A server's own hints about its tools (read-only, idempotent, …) are ignored: the configuration decides who
is asked
and what may be repeated. Descriptions and schemas are cut and cleaned, since each model call carries them.
A tool is
identified by its description and schemas as well as its name: consent to one holds for that one alone.
"""

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, cast

from core.errors import InvalidArguments, SchemaRefused
from core.extension import SEPARATOR
from core.lazy import dataclass
from core.messages import folded
from core.safety.fencing import sanitise
from core.tool import Arguments, CallContext, Data, Effect, Requirement, Risk, Tool

# The time at which a server's schema is judged: at once, or at first use.

Judge = Callable[[Any], str | None]
"""Function that returns the problem with a value; None if it fits. Raises SchemaRefused if it can't tell."""


def judge_of(schema: Mapping[str, Any], *, at_once: bool) -> Judge:
    """Return the judge of a schema. Raises SchemaRefused for an unusable schema, and takes
    milliseconds; without `at_once`, the judge's first use does."""
    made: list[Judge] = [_made(schema)] if at_once else []

    def judge(value: Any) -> str | None:
        if not made:
            made.append(_made(schema))
        return made[0](value)

    return judge


def _made(schema: Mapping[str, Any]) -> Judge:
    from core.tools.mcp.schemas import ForeignSchema  # its library takes a quarter of a second to load

    return ForeignSchema(schema).problem


# Names of a server's tools here: `SERVER__TOOL`, of small letters, digits, `_` and `-`.
#
# A server's own name has no double underscore, so no two servers can take each other's names, nor one of the
# hub's
# own tools.

LIMIT_CHARS = 64
"""Limit of both model protocols for a function's name."""

_WORD_BEGINS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9-]+")
_DIGEST_CHARS = 6


def own_name(server: str, tool: str) -> str | None:
    """Return the local name of a server's tool; None if nothing of its name can be used.

    A long name is cut; a few digits of its digest tell it from others with the same beginning.
    """
    words = _WORD_BEGINS.sub("_", tool).lower()
    name = _NOT_IN_NAMES.sub("_", words).strip("_-")
    if not name:
        return None
    room = LIMIT_CHARS - len(server) - len(SEPARATOR)
    if len(name) > room:
        digest = hashlib.sha256(tool.encode(errors="replace")).hexdigest()[:_DIGEST_CHARS]
        name = f"{name[: room - _DIGEST_CHARS - 1]}_{digest}"
    return f"{server}{SEPARATOR}{name}"


MAX_LISTED = 512
"""Limit of tools read from a list: reading takes a tenth of a millisecond a tool, during which nothing
else runs."""
MAX_TOOLS = 64
"""Limit per server. Models get lost among more, and each is sent with every request."""
DESCRIPTION_CHARS = 1_000
ALL_SPECS_BYTES = 64 * 1024
"""Limit of descriptions and schemas of one server together: 16,000 tokens."""
REFUSALS_KEPT = 20
_SHOWN_CHARS = 80
_NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool as a server lists it. `output`: the declared schema of its structured results."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    output: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolTerms:
    """The configuration of one tool; None: as the server's."""

    requirement: Requirement | None = None
    effect: Effect | None = None
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """The configuration of a server. `only`: the wanted tools, None for all; those, and those of `tools`, by
    the part of
    their names here that follows the server's."""

    server: str
    users: frozenset[str]
    requirement: Requirement = Requirement.ASK
    timeout_s: float | None = None
    only: frozenset[str] | None = None
    tools: Mapping[str, ToolTerms] = field(default_factory=dict[str, ToolTerms])


@dataclass(frozen=True, slots=True)
class Offer:
    """A server's tools, their listed form, and the reasons why others are refused, by the server's own
    names (the first of them)."""

    tools: tuple[Tool, ...] = ()
    listed: tuple[Listed, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict[str, str])


Run = Callable[[Tool, Listed, Judge | None, CallContext, Arguments], Awaitable[str]]
"""Function that carries out a call; the judge is that of results."""


def offer(listed: Sequence[Listed], terms: Terms, run: Run, *, judged: bool = False) -> Offer:
    """Return the offer made of a list. It may be long and its schemas odd: call this in a thread, unless all
    of it was
    `judged` before."""
    tools: dict[str, Tool] = {}
    kept: list[Listed] = []
    refused: dict[str, str] = {}
    room_bytes, more = ALL_SPECS_BYTES, 0
    for one in listed:
        name = own_name(terms.server, one.name)
        if name is not None and terms.only is not None and _bare(terms, name) not in terms.only:
            continue
        try:
            tool = _tool(one, name, terms, run, room_bytes, tools, judged=judged)
        except SchemaRefused as error:
            more += len(refused) >= REFUSALS_KEPT
            if len(refused) < REFUSALS_KEPT:
                refused[sanitise(one.name)[:_SHOWN_CHARS]] = str(error)
        else:
            tools[_folded(tool.name)] = tool
            kept.append(one)
            room_bytes -= _size(tool)
    if more:
        refused["…"] = f"and {more} more"
    return Offer(tuple(tools.values()), tuple(kept), refused)


def _tool(
    one: Listed,
    name: str | None,
    terms: Terms,
    run: Run,
    room_bytes: int,
    known: Mapping[str, Tool],
    *,
    judged: bool,
) -> Tool:
    """Return the tool. Raises SchemaRefused."""
    if name is None:
        raise SchemaRefused("its name has no letter or digit")
    if _folded(name) in known:
        raise SchemaRefused(f"another tool is also named {name}")
    if len(known) >= MAX_TOOLS:
        raise SchemaRefused(f"a server may offer at most {MAX_TOOLS} tools; select some with `only`")
    tool = _built(one, name, terms, run, judged=judged)
    if _size(tool) > room_bytes:
        text = f"the server's tools take more than {ALL_SPECS_BYTES} bytes; select some with `only`"
        raise SchemaRefused(text)
    return tool


def _built(one: Listed, name: str, terms: Terms, run: Run, *, judged: bool) -> Tool:
    own = terms.tools.get(_bare(terms, name), ToolTerms())
    requirement = own.requirement or terms.requirement
    parameters = _parameters(one.parameters)
    of_arguments = _judge("its arguments' schema", parameters, judged=judged)
    of_results = None if one.output is None else _judge("its results' schema", one.output, judged=judged)
    definition = _digest(one)

    def validate(arguments: Mapping[str, Any]) -> Arguments:
        try:
            problem = of_arguments(arguments)
        except SchemaRefused as error:
            raise InvalidArguments(f"The schema {name} has {error}.") from error
        if problem is not None:
            raise InvalidArguments(problem)
        return dict(arguments)

    async def run_it(call: CallContext, arguments: Arguments) -> str:
        return await run(tool, one, of_results, call, arguments)

    tool = Tool(
        name=name,
        description=f"{_description(one)} (from {folded(terms.server)})",
        parameters=parameters,
        validate=validate,
        run=run_it,
        requirement=requirement,
        effect=own.effect or Effect.EFFECT,
        data=Data.SHARED,
        rate=lambda _, __: Risk(requirement, pattern=f"as described in {definition}"),
        timeout_s=own.timeout_s or terms.timeout_s,
        version=int(definition, 16),
        users=terms.users,
        foreign=True,
    )
    return tool


def _parameters(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an object's schema with text-only descriptions."""
    if not given:
        return _NO_ARGUMENTS
    if given.get("type", "object") != "object":
        raise SchemaRefused("its arguments are not an object")
    try:
        cleaned = cast("dict[str, Any]", _cleaned(given))
    except RecursionError as error:
        raise SchemaRefused("its arguments' schema is nested too deep") from error
    return {**cleaned, "type": "object", "properties": cleaned.get("properties", {})}


def _cleaned(node: Any) -> Any:
    match node:
        case str():
            return sanitise(node)
        case list():
            return [_cleaned(inner) for inner in cast("list[Any]", node)]
        case dict():
            return {key: _cleaned(inner) for key, inner in cast("dict[str, Any]", node).items()}
        case _:
            return node


def _judge(what: str, schema: Mapping[str, Any], *, judged: bool) -> Judge:
    try:
        return judge_of(schema, at_once=not judged)
    except SchemaRefused as error:
        raise SchemaRefused(f"{what} {error}") from error


def _description(one: Listed) -> str:
    text = sanitise(one.description).strip() or folded(one.name)
    return text if len(text) <= DESCRIPTION_CHARS else f"{text[:DESCRIPTION_CHARS]}…"


def _digest(one: Listed) -> str:
    whole = [one.name, one.description, one.parameters, one.output]
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def _size(tool: Tool) -> int:
    return len(tool.description.encode()) + len(json.dumps(dict(tool.parameters)).encode())


def _bare(terms: Terms, name: str) -> str:
    return name[len(terms.server) + 2 :]


def _folded(name: str) -> str:
    return name.replace("-", "_")
