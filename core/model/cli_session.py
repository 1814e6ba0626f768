"""What an agent CLI is told: its sessions with a digest of what each holds, and messages as texts."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.model.base import ImagePart, ToolSpec
from core.model.conversation import Heard, Replied, result_text, wire_arguments
from core.model.request_texts import to_json
from core.transcript import AssistantSaid, Said, ToolCalled, ToolResult

SESSION_ID_LIMIT_CHARS = 64

# Sessions.


class CliSessions:
    """The sessions of a CLI, each with a digest of what it holds: a small file each.

    A file is taken away while its session is used, so that a session in which a reply broke off is never
    resumed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def claim(self, session: str, held: str) -> bool:
        """Return whether the session holds exactly that; then it is the caller's to use."""
        path = self._path(session)
        try:
            if path is None or path.read_text("ascii") != held:
                return False
            path.unlink()
        except (OSError, UnicodeDecodeError):
            return False
        return True

    def put(self, session: str, held: str) -> None:
        """Record what a session holds."""
        if (path := self._path(session)) is not None:
            path.write_text(held, "ascii")

    def _path(self, session: str) -> Path | None:
        plain = session.replace("-", "")
        if not (plain.isascii() and plain.isalnum() and len(session) <= SESSION_ID_LIMIT_CHARS):
            return None
        return self._directory / session


def digest(conversation: Sequence[Said]) -> str:
    """Return the digest of a conversation. Calls are told by tool and arguments: their ids are the hub's."""
    lines = hashlib.sha256()
    for said in conversation:
        match said:
            case AssistantSaid(text, origin):
                line = [said.kind, text, origin.opaque if origin is not None else ""]
            case ToolCalled(_, tool, arguments):
                line = [said.kind, tool, arguments]
            case ToolResult(_, status, text):
                line = [said.kind, status, text]
            case _:
                line = [said.kind, said.text, getattr(said, "sender", ""), getattr(said, "by", "")]
        lines.update(json.dumps(line).encode())
    return lines.hexdigest()


def settled(conversation: Sequence[Said]) -> int:
    """Return the length of the part that ends with the model's newest reply and its calls."""
    for place in range(len(conversation), 0, -1):
        if isinstance(conversation[place - 1], AssistantSaid | ToolCalled):
            return place
    return 0


# The message.


def safe(text: str) -> str:
    """Return a text in which the CLI finds no command of its own.

    CLIs read files that a message mentions with an at sign, whatever their tools, and take a message that
    begins with a slash as a command."""
    if "@" not in text and (text[:1].isalnum() or text[:1] == "["):
        return text
    return f"The message, as a JSON string:\n{_json(text)}"


def _json(value: Any) -> str:
    return to_json(value).replace("@", "\\u0040")


def new_words(heard: Sequence[Heard | Replied]) -> tuple[str, Sequence[ImagePart]]:
    """Return what came after the model's newest reply: results of its calls, and messages."""
    place = max((n for n, step in enumerate(heard) if isinstance(step, Replied)), default=-1)
    parts: list[str] = []
    images: list[ImagePart] = []
    for step in heard[max(place, 0) :]:
        if isinstance(step, Heard):
            parts.append(step.text)
            images += step.images
        else:
            parts += [
                f"[Result of your call of {call.tool} {call.arguments}]\n{result_text(result)}"
                for call, result in step.calls
            ]
    return "\n\n".join(parts), images


def history(heard: Sequence[Heard | Replied]) -> str:
    """Return the conversation up to the model's newest reply, for a session that doesn't hold it."""
    place = max((n for n, step in enumerate(heard) if isinstance(step, Replied)), default=-1)
    lines: list[str] = []
    for step in heard[: place + 1]:
        if isinstance(step, Heard):
            lines.append(_json({"said": step.text}))
            continue
        if step.text.strip():
            lines.append(_json({"you": step.text}))
        for call, result in step.calls:
            line = {"you_called": call.tool, "arguments": json.loads(wire_arguments(call.arguments))}
            lines.append(_json(line if step is heard[place] else line | {"result": result_text(result)}))
    if not lines:
        return ""
    return "The conversation so far, one JSON object a line:\n" + "\n".join(lines) + "\n\nIt goes on:\n"


NO_TOOLS = "You have no tools here."
TOOLS_AS_TEXT = """\
You have no tools but those below; the system you talk to runs them. To call some, end your reply with one \
line for each call, in exactly this form, and write nothing after the last:
<tool_call>{"name": "NAME", "arguments": {}}</tool_call>
Their results come with the next message. The tools, one JSON object a line:
"""


def tools_text(tools: Sequence[ToolSpec]) -> str:
    """Return the part of the system prompt that offers tools to a CLI without a bridge."""
    if not tools:
        return NO_TOOLS
    shapes = ({"name": t.name, "description": t.description, "parameters": dict(t.parameters)} for t in tools)
    return TOOLS_AS_TEXT + "\n".join(map(to_json, shapes))
