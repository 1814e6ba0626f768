"""`echo` and `json`: they reach nothing."""

import json as json_format
from typing import Annotated, Any, cast

from core.errors import InvalidArguments
from core.tool import CallContext, Data, Effect, Requirement, Tool
from core.tools.definition import tool


def echo_tool() -> Tool:
    """The tool."""

    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE)
    async def echo(
        call: CallContext,  # noqa: ARG001 — every tool gets its call
        text: Annotated[str, "what comes back"],
    ) -> str:
        """Return the text as it is, to see how tools answer."""
        return text

    return echo


def json_tool() -> Tool:
    """The tool."""

    @tool(name="json", requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE)
    async def read_json(
        call: CallContext,  # noqa: ARG001 — every tool gets its call
        text: Annotated[str, "the JSON"],
        pointer: Annotated[str, "a part of it, as RFC 6901 says: /items/0/name; left out: all"] = "",
    ) -> str:
        """Check JSON, and return it or a part of it, indented."""
        try:
            found: Any = json_format.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidArguments(f"text: is no JSON: {error}") from error
        return json_format.dumps(_at(found, pointer), ensure_ascii=False, indent=2)

    return read_json


def _at(found: Any, pointer: str) -> Any:
    if pointer and not pointer.startswith("/"):
        raise InvalidArguments("pointer: begins with /")
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        try:
            found = cast("list[Any]", found)[int(name)] if isinstance(found, list) else found[name]
        except (KeyError, IndexError, TypeError, ValueError):
            raise InvalidArguments(f"pointer: there is nothing at {name[:60]!r}") from None
    return found
