"""The parts that tests of tools share: a call's surroundings, and calls by their arguments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from core.tool import ProcessInfo, Tool, Workspace
from core.tools.builtin.shell import Commands
from core.users import Principal, Role
from core.web import UNINTERCEPTED, Interceptor

OWNER = Principal("u1", Role.OWNER, "Olivia")


def place(root: Path, closed: tuple[Path, ...] = ()) -> Workspace:
    """A workspace; long results go to a directory beside it."""
    return Workspace(root, root.parent / "results", closed)


NOWHERE = place(Path("/nowhere"))


@dataclass(slots=True)
class Call:
    """See core.tool.CallContext. `commands`: where its command runs; None for this machine."""

    principal: Principal = OWNER
    thread_id: str = "t1"
    idempotency_key: str = "call-1"
    workspace: Workspace = NOWHERE
    deadline_s: float = 20.0
    interceptor: Interceptor = UNINTERCEPTED
    processes: list[ProcessInfo] = field(default_factory=list)
    commands: Commands | None = None
    shown: bytes = b""

    async def process_started(self, process: ProcessInfo) -> None:
        self.processes.append(process)

    def shows(self, output: bytes) -> None:
        self.shown += output

    async def delegate(self, task: str, tools: Sequence[str] | None) -> str:
        raise AssertionError("no tool here delegates")


def in_place(tool: Tool, workspace: Workspace) -> Tool:
    """The tool as runs in that workspace have it, whatever their call says."""

    async def run_there(call: Any, arguments: Mapping[str, Any]) -> str:
        call.workspace = workspace
        return await tool.run(call, arguments)

    return replace(tool, run=run_there)


async def run(tool: Tool, arguments: Mapping[str, Any], call: Call | None = None) -> str:
    """As the pipeline does: arguments as a model gave them, validated, then run."""
    return await tool.run(call or Call(), tool.validate(arguments))
