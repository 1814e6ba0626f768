"""When a schema that a server wrote is judged: at once, or when it is first used."""

from collections.abc import Callable, Mapping
from typing import Any

Judge = Callable[[Any], str | None]
"""What of a value does not fit; None if all of it does. Raises SchemaRefused where that cannot be told."""


def judge_of(schema: Mapping[str, Any], *, at_once: bool) -> Judge:
    """Raises SchemaRefused for a schema that will not do, and takes milliseconds; not `at_once`, the first
    use of the judge does."""
    made: list[Judge] = [_made(schema)] if at_once else []

    def judge(value: Any) -> str | None:
        if not made:
            made.append(_made(schema))
        return made[0](value)

    return judge


def _made(schema: Mapping[str, Any]) -> Judge:
    from core.tools.mcp.schemas import ForeignSchema  # its library: a quarter of a second to load

    return ForeignSchema(schema).problem
