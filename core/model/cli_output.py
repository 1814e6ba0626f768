"""The output of an agent CLI, in JSON or as a stream of JSON lines, as one reply after another.

The events are those of Claude Code; other CLIs have taken them over.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from core.errors import ModelError, ModelFault, ModelMisconfigured, ModelReplyInvalid
from core.lazy_dataclass import dataclass
from core.model.base import CallRequest, StopReason
from core.model.conversation import wire_tool_name
from core.model.lenient_json import JoinedText, as_array, as_count, as_object, as_text
from core.model.provider import CALLS_LIMIT, REPLY_LIMIT_CHARS
from core.model.provider_errors import ProviderError, model_error, read_error_body
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
