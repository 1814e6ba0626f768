"""An agent CLI in the test's own process: a port for its output, a session for what it was told.

It echoes its message, and asks for `shell` where a line says `please run: COMMAND` and its system prompt
offers that tool as text.
"""

import asyncio
import itertools
import json
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_RUN = re.compile(r"^please run: (.+)$", re.MULTILINE)


@dataclass(slots=True)
class AgentCli:
    """The program, which can be started any number of times.

    `tools`: its own, unless its arguments switch them off; `cuts`: whether the next reply breaks off;
    `sessions`: what each of its sessions was told."""

    tools: tuple[str, ...] = ("Bash",)
    cuts: bool = False
    sessions: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    starts: list["AgentProcess"] = field(default_factory=list["AgentProcess"])

    def launch(
        self, command: Sequence[str], environment: Mapping[str, str], directory: str
    ) -> "AgentProcess":
        """Start it: implements core.model.cli.Launch."""
        started = AgentProcess(self, command, environment, directory)
        self.starts.append(started)
        return started


@dataclass(slots=True)
class AgentProcess:
    """One start of it: implements core.model.cli.Child."""

    cli: AgentCli
    command: Sequence[str]
    environment: Mapping[str, str]
    directory: str
    ended: bool = False
    _lines: deque[bytes] = field(default_factory=deque[bytes])

    async def connect(self) -> None: ...

    async def tell(self, text: bytes) -> None:
        said = text.decode()
        if "--resume" in self.command:
            session = self.command[self.command.index("--resume") + 1]
        else:
            session = f"session-{len(self.cli.sessions)}"
        self.cli.sessions.setdefault(session, []).append(said)
        system = Path(self.command[self.command.index("--system-prompt-file") + 1]).read_text()
        events = [*self._events(session, self._reply(said, system))]
        self._lines += [
            f"{json.dumps(event)}\n".encode() for event in (events[:-1] if self.cli.cuts else events)
        ]
        self.cli.cuts = False

    async def line(self) -> bytes:
        await asyncio.sleep(0)
        return self._lines.popleft() if self._lines else b""

    def complaint(self) -> str:
        return "simulated"

    async def end(self) -> None:
        self.ended = True

    def _reply(self, said: str, system: str) -> str:
        commands = _RUN.findall(said)
        if not commands:
            return f"You said: {said}"
        if '"name":"shell"' not in system:
            return "I have no tool named shell."
        calls = [json.dumps({"name": "shell", "arguments": {"command": one}}) for one in commands]
        return "\n".join(f"<tool_call>{call}</tool_call>" for call in calls)

    def _events(self, session: str, reply: str) -> Iterator[Mapping[str, Any]]:
        usage = {"input_tokens": 7, "output_tokens": 1}
        is_off = ("--tools", "") in itertools.pairwise(self.command)
        tools = [] if is_off else list(self.cli.tools)
        yield {"type": "system", "subtype": "init", "session_id": session, "tools": tools}
        yield _piece({"type": "message_start", "message": {"usage": usage}})
        for place in range(0, len(reply), 9):
            delta = {"type": "text_delta", "text": reply[place : place + 9]}
            yield _piece({"type": "content_block_delta", "index": 0, "delta": delta})
        content = [{"type": "text", "text": reply}]
        yield {"type": "assistant", "message": {"content": content, "usage": usage}}
        yield _piece({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage})
        yield {"type": "result", "subtype": "success", "is_error": False, "result": reply, "usage": usage}


def _piece(event: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": "stream_event", "event": event}
