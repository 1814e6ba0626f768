"""The port to language models: one request, one stream of deltas that ends with the whole reply."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from core.transcript import Origin, Said


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model is told about it; `parameters` is a JSON schema object."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    size_chars: int = field(init=False, repr=False, compare=False)
    """How long all of it is as text, measured once."""

    def __post_init__(self) -> None:
        size_chars = len(self.name) + len(self.description) + len(str(self.parameters))
        object.__setattr__(self, "size_chars", size_chars)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What the model sees: one system text, then the conversation in order, then the tools on offer."""

    system: str
    conversation: Sequence[Said]
    tools: Sequence[ToolSpec] = ()
    max_output_tokens: int = 4096
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them, zero where it did not say; and what they cost by the model's
    configured prices, zero where it has none."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cost_micro_usd: int = 0


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A tool call the model asks for. `arguments` is its JSON text, unparsed."""

    provider_call_id: str
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A whole reply. `truncated`: the provider cut it at the output limit."""

    text: str
    calls: tuple[CallRequest, ...]
    usage: Usage
    origin: Origin
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class ReplyDelta:
    """A piece of the reply's text, as it arrives."""

    text: str


class Model(Protocol):
    """One configured model."""

    @property
    def name(self) -> str:
        """The name it has in the configuration."""
        ...

    def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """Yield deltas, then exactly one ModelReply, which is authoritative.

        Raises ModelError (see core.errors). A stream that ends without the provider's end mark raises
        ModelReplyInvalid; it is never a short success.
        """
        ...
