"""One tool. It says that it needs no approval, which counts once the operator trusts it."""

import secrets
from typing import Annotated

from hubbub import CallContext, Data, Effect, Requirement, ToolFailed, tool


@tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE)
async def example_dice(call: CallContext, sides: Annotated[int, "the number of sides"] = 6) -> str:
    """Roll a die."""
    del call
    if not 2 <= sides <= 1000:
        raise ToolFailed("A die has 2 to 1,000 sides.")
    return f"It shows {secrets.randbelow(sides) + 1}."


TOOLS = [example_dice]
