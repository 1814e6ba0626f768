"""The parts of OpenAI-compatible chat completion requests, as strict providers accept them (API reference,
Chat). What the providers take differs; see Dialect."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from core.model.base import ModelRequest, ToolSpec
from core.model.openai_messages import Json
from core.model.provider_errors import ProviderError


@dataclass(frozen=True, slots=True)
class Dialect:
    """Which optional parts of the API a provider takes; learned from its refusals."""

    include_usage: bool = True
    output_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    replay: bool = True
    user_after_tool: bool = True

    def after(self, error: ProviderError) -> "Dialect | None":
        """The dialect without the part this error objects to; None if it is about something else."""
        if error.status not in (400, 422):
            return None
        if self.include_usage and error.names("stream_options", "include_usage"):
            return replace(self, include_usage=False)
        if self.output_limit == "max_tokens" and error.names("max_completion_tokens"):
            return replace(self, output_limit="max_completion_tokens")
        if self.temperature and error.param == "temperature" and "unsupported" in " ".join(error.codes):
            return replace(self, temperature=False)
        if self.replay and error.names("reasoning_content", "extra_content"):
            return replace(self, replay=False)
        if self.user_after_tool and "after role 'tool'" in error.message:
            return replace(self, user_after_tool=False)
        return None


def options(request: ModelRequest, dialect: Dialect, *, model: str, stream: bool) -> Json:
    """The JSON object of a request but for its messages and tools."""
    body: Json = {"model": model, dialect.output_limit: request.max_output_tokens}
    if request.temperature is not None and dialect.temperature:
        body["temperature"] = request.temperature
    if stream:
        body["stream"] = True
        if dialect.include_usage:
            body["stream_options"] = {"include_usage": True}
    return body


def tool_object(tool: ToolSpec) -> Json:
    """A tool as the API describes one."""
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def answered(messages: Sequence[Json]) -> list[Json]:
    """The messages with a placeholder wherever tool results got no answer, as Mistral wants it."""
    bridged: list[Json] = []
    for message in messages:
        if message["role"] == "user" and bridged and bridged[-1]["role"] == "tool":
            bridged.append({"role": "assistant", "content": "(no answer was given)"})
        bridged.append(message)
    return bridged
