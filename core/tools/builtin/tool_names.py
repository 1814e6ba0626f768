"""`tool_list` and `tool_info`: what the person's model can do, and how."""

import json
from collections.abc import Callable, Sequence
from typing import Annotated

from core.errors import ToolFailed
from core.tool import CallContext, Data, Effect, Requirement, Tool
from core.tools.definition import tool
from core.users import Principal

Visible = Callable[[Principal], Sequence[Tool]]

_ASKS = {
    Requirement.NEVER: "It asks nobody by itself.",
    Requirement.ASK: "A person may be asked first.",
    Requirement.ALWAYS_ASK: "A person is asked each time.",
}


def tool_name_tools(visible: Visible) -> tuple[Tool, Tool]:
    """The two. `visible`: what is on offer to somebody; nobody hears of other tools."""
    return _list_tool(visible), _info_tool(visible)


def _list_tool(visible: Visible) -> Tool:
    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE)
    async def tool_list(call: CallContext) -> str:
        """List the tools there are, a line each."""
        return "\n".join(f"{one.name}: {one.description.splitlines()[0]}" for one in visible(call.principal))

    return tool_list


def _info_tool(visible: Visible) -> Tool:
    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE)
    async def tool_info(call: CallContext, name: Annotated[str, "what tool_list names"]) -> str:
        """Describe a tool: what it does, whether it asks, and its arguments as a JSON schema."""
        found = next((one for one in visible(call.principal) if one.name == name), None)
        if found is None:
            raise ToolFailed(f"There is no tool called {name[:80]!r}.")
        schema = json.dumps(dict(found.parameters), indent=2)
        return f"{found.name}: {found.description}\n{_ASKS[found.requirement]}\n{schema}"

    return tool_info
