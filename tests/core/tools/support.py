"""What the tests of tools share: a call's surroundings, and calls by their arguments."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.tool import ProcessInfo, Tool
from core.users import Principal, Role

OWNER = Principal("u1", Role.OWNER, "Olivia")


@dataclass(slots=True)
class Call:
    """See core.tool.CallContext."""

    principal: Principal = OWNER
    thread_id: str = "t1"
    idempotency_key: str = "call-1"
    workspace: str = "/nowhere"
    deadline_s: float = 20.0
    processes: list[ProcessInfo] = field(default_factory=list)

    async def process_started(self, process: ProcessInfo) -> None:
        self.processes.append(process)


async def run(tool: Tool, arguments: Mapping[str, Any], call: Call | None = None) -> str:
    """As the pipeline does: arguments as a model gave them, validated, then run."""
    return await tool.run(call or Call(), tool.validate(arguments))
