"""The exchange with an agent CLI: its sessions and what each is told, and its output as replies.

The events are those of Claude Code; other CLIs have taken them over. A session is kept with a digest of what
it holds.
"""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from core.errors import ModelError, ModelFault, ModelMisconfigured, ModelReplyInvalid
from core.lazy import dataclass
from core.model.base import CallRequest, ImagePart, StopReason, ToolSpec
from core.model.conversation import Heard, Replied, result_text, to_json, wire_arguments, wire_tool_name
from core.model.provider import CALLS_LIMIT, REPLY_LIMIT_CHARS
from core.model.provider_data import JoinedText, as_array, as_count, as_object, as_text
from core.model.provider_http import ProviderError, model_error, read_error_body
from core.transcript import AssistantSaid, Said, ToolCalled, ToolResult
from core.usage import Usage

ERROR_STARTS = ("[API Error: ", "API Error: ")
"""CLIs report a failed request as a text, some of them as a successful reply."""
_STOPS: Mapping[str, StopReason] = {
    "max_tokens": StopReason.LENGTH,
    "refusal": StopReason.FILTERED,
    "model_context_window_exceeded": StopReason.OVERFLOW,
}


@dataclass(frozen=True, slots=True)
class Spoken:
    """One reply of the model: up to its end, or to the calls whose results it waits for."""

    text: str
    calls: tuple[CallRequest, ...]
    usage: Usage
    stop: StopReason


class CliOutput:
    """The output of one process. `tools`: the hub's tools, by the names under which the CLI announces them;
    any other tool is one of its own."""

    def __init__(self, name: str, tools: Mapping[str, str], api_key: str = "") -> None:
        self.session = ""
        self.spoken: Spoken | None = None
        """The reply once it is complete."""
        self.ended = False
        """Whether the process has nothing more to say."""
        self._name = name
        self._tools = tools
        self._api_key = api_key
        self._announced = False
        self._begin()

    def _begin(self) -> None:
        self._text = JoinedText()
        self._size_chars = 0
        self._held = ""
        self._streamed = False
        self._breaks = False
        self._calls: dict[str, CallRequest] = {}
        self._usage = Usage()
        self._counted = False
        self._output_before = 0
        self._stop = ""

    def take(self) -> Spoken | None:
        """Return the reply if it is complete, and begin the next one."""
        spoken, self.spoken = self.spoken, None
        if spoken is not None:
            self._begin()
        return spoken

    def add(self, line: bytes) -> str:
        """Read a line and return the text that it adds to the reply. Raises ModelError."""
        try:
            value: Any = json.loads(line)
        except (ValueError, RecursionError):
            return ""  # a warning in plain text
        events = as_array(value) or [value]
        return "".join(self._event(as_object(event)) for event in events)

    def _event(self, event: Mapping[str, Any]) -> str:
        self.session = as_text(event.get("session_id")) or self.session
        kind = as_text(event.get("type"))
        if kind == "system" and event.get("subtype") == "init":
            self._check_tools([as_text(tool) for tool in as_array(event.get("tools"))])
            self._announced = True
        if kind not in ("stream_event", "assistant", "result"):
            return ""
        if not self._announced:
            raise self._own_tools("doesn't say which tools it has")
        if kind == "stream_event":
            return self._piece(as_object(event.get("event")))
        if kind == "assistant":
            return self._message(as_object(event.get("message")))
        return self._result(event)

    def _check_tools(self, announced: Collection[str]) -> None:
        if own := [tool for tool in announced if tool not in self._tools]:
            raise self._own_tools(f"has tools of its own switched on: {', '.join(own)[:200]}")

    def _own_tools(self, problem: str) -> ModelError:
        return ModelMisconfigured(f"model {self._name}: the CLI {problem}", ModelFault.OWN_TOOLS)

    def _piece(self, event: Mapping[str, Any]) -> str:
        match as_text(event.get("type")):
            case "message_start":
                self._breaks = self._size_chars > 0
                self._streamed = False
                self._count(as_object(as_object(event.get("message")).get("usage")))
            case "content_block_delta":
                self._streamed = True
                return self._say(as_text(as_object(event.get("delta")).get("text")))
            case "message_delta":
                self._stop = as_text(as_object(event.get("delta")).get("stop_reason")) or self._stop
                self._count(as_object(event.get("usage")), further=True)
            case "message_stop" if (self._stop == "tool_use" and self._calls) or self._stop in _STOPS:
                self._complete()  # of a reply that was cut, CLIs ask for the rest unasked
            case _:
                pass
        return ""

    def _message(self, message: Mapping[str, Any]) -> str:
        """Read a whole message. Its text was streamed before, if the CLI streams."""
        said = ""
        for block in map(as_object, as_array(message.get("content"))):
            match as_text(block.get("type")):
                case "text" if not self._streamed:
                    said += self._say(as_text(block.get("text")))
                case "tool_use":
                    self._call(block)
                case _:
                    pass
        self._stop = as_text(message.get("stop_reason")) or self._stop
        if not self._counted:
            self._count(as_object(message.get("usage")))
        return said

    def _call(self, block: Mapping[str, Any]) -> None:
        tool = self._tools.get(as_text(block.get("name")))
        if tool is None:
            return  # the CLI itself refuses it; its model will say more
        if len(self._calls) >= CALLS_LIMIT:
            raise self._invalid(f"more than {CALLS_LIMIT} calls in one reply")
        call_id = as_text(block.get("id"))
        arguments = json.dumps(as_object(block.get("input")), ensure_ascii=False)
        self._calls[call_id] = CallRequest(call_id, tool, arguments)

    def _say(self, text: str) -> str:
        if not text:
            return ""
        if self._breaks:
            self._breaks = False
            text = f"\n\n{text}"
        self._size_chars += len(text)
        if self._size_chars > REPLY_LIMIT_CHARS:
            raise self._invalid(f"a reply of more than {REPLY_LIMIT_CHARS} characters")
        self._held += text
        if any(start.startswith(self._held) or self._held.startswith(start) for start in ERROR_STARTS):
            return ""  # held back until it is known whether it is a reply
        return self._release()

    def _release(self) -> str:
        text, self._held = self._held, ""
        return self._text.add(text)

    def _count(self, usage: Mapping[str, Any], *, further: bool = False) -> None:
        """Count a message's usage. `further`: its output is known better now."""
        if not usage:
            return
        output = as_count(usage.get("output_tokens"))
        known = self._usage
        if further:
            self._usage = Usage(
                known.input_tokens,
                max(self._output_before + output, known.output_tokens),
                known.cached_input_tokens,
                cache_write_tokens=known.cache_write_tokens,
            )
            return
        cached = as_count(usage.get("cache_read_input_tokens"))
        written = as_count(usage.get("cache_creation_input_tokens"))
        fresh = as_count(usage.get("input_tokens"))
        if not (fresh or cached or written):
            return
        self._counted = True
        self._output_before = known.output_tokens
        self._usage = Usage(
            known.input_tokens + fresh + cached + written,
            known.output_tokens + output,
            known.cached_input_tokens + cached,
            cache_write_tokens=known.cache_write_tokens + written,
        )

    def _result(self, event: Mapping[str, Any]) -> str:
        self.ended = True
        text = as_text(event.get("result"))
        failed = event.get("is_error") is True or text.startswith(ERROR_STARTS)
        if failed and not self._usage.output_tokens:
            raise self._failure(text or as_text(event.get("subtype")) or "failed")
        if failed:
            raise self._invalid(f"the CLI ended with {as_text(event.get('subtype'))}")
        if not self._counted:
            self._count(as_object(event.get("usage")))
        said = self._release() if self._held else ""
        if not self._size_chars:
            said = self._text.add(text)
        self._complete()
        return said

    def _complete(self) -> None:
        stop = _STOPS.get(self._stop, StopReason.END)
        self.spoken = Spoken(self._text.whole(), tuple(self._calls.values()), self._usage, stop)

    def _failure(self, text: str) -> ModelError:
        for start in ERROR_STARTS:
            text = text.removeprefix(start)
        status, _, rest = text.partition(" ")
        if len(status) == 3 and status.isascii() and status.isdigit():
            error = read_error_body(int(status), rest.removesuffix("]").encode())
        else:
            error = ProviderError(0, text[:500])
        return model_error(error, model=self._name, api_key=self._api_key)

    def _invalid(self, problem: str) -> ModelReplyInvalid:
        return ModelReplyInvalid(f"model {self._name}: {problem}")


def announced(tools: Sequence[str], pattern: str) -> Mapping[str, str]:
    """Return the hub's tools by the names under which a CLI announces them."""
    return {pattern.format(tool=wire_tool_name(tool)): tool for tool in tools} if pattern else {}


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
