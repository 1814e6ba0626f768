"""The port to language models, and the prices of their replies.

One request produces one stream of deltas that ends with the whole reply.
"""

import json
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

from core.lazy_dataclass import dataclass
from core.model.tokens import text_tokens
from core.transcript import Origin, Said
from core.usage import Usage
from core.users import Thinking


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as described to a model. `parameters` is a JSON schema object.

    `tokens`: the estimate for all three. `token_bound`: a number that no tokenizer exceeds for them, their
    length as ASCII, with escapes."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    tokens: int = field(init=False, repr=False, compare=False)
    token_bound: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        text = f"{self.name} {self.description} {json.dumps(dict(self.parameters), default=str)}"
        object.__setattr__(self, "tokens", text_tokens(text))
        object.__setattr__(self, "token_bound", len(json.dumps(text)))


THINKING_TOKENS = {Thinking.OFF: 0, Thinking.LOW: 2048, Thinking.MEDIUM: 8192, Thinking.HIGH: 16_384}
"""The room for thinking, in addition to the room for the answer: providers count both as output."""


class ThinkingStyle(StrEnum):
    """The way a model's API takes a `Thinking` effort."""

    NONE = "none"
    """Not at all."""
    EFFORT = "effort"
    """OpenAI's `reasoning_effort`."""
    ADAPTIVE = "adaptive"
    """Anthropic's newer models: an effort; the model decides when to think."""
    BUDGET = "budget"
    """Anthropic's older models: a number of tokens."""


@dataclass(frozen=True, slots=True)
class ModelAbilities:
    """The limits and abilities of a model, as far as they are known.

    `context_tokens`: its window, input and output together.
    `max_temperature`: the highest it takes; None: it takes none.
    `learned`: parts of the API that the provider refused since the hub started, each in a few words.
    `limits_output`: False once it refused a limit on the length of replies."""

    context_tokens: int | None = None
    max_output_tokens: int | None = None
    images: bool = False
    max_temperature: float | None = None
    thinking: ThinkingStyle = ThinkingStyle.NONE
    learned: tuple[str, ...] = ()
    limits_output: bool = True


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image for the model. `problem`: the reason why there is no `data`, which the model reads instead."""

    name: str
    media_type: str
    data: bytes = field(default=b"", repr=False)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """The model's input: one system text, the conversation in order, and the available tools.

    `images` came with the newest text of a person; they are in no journal. `temperature` is sent to
    models that take one. `thinking`: None means the effort configured for the model. Neither thinking nor
    images are counted in `max_output_tokens`. `conversation_tokens`: the estimate for the conversation, 0 if
    it was not counted. `id` names the call in the hub's usage and the provider's log; it is sent if it is not
    empty."""

    system: str
    conversation: Sequence[Said]
    tools: Sequence[ToolSpec] = ()
    max_output_tokens: int = 4096
    temperature: float | None = None
    thinking: Thinking | None = None
    images: Sequence[ImagePart] = ()
    conversation_tokens: int = field(default=0, compare=False)
    id: str = ""


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A tool call the model requests. `arguments` is its JSON text, unparsed.

    `reason`: the model's own explanation of the call, empty if it gave none."""

    provider_call_id: str
    tool: str
    arguments: str
    reason: str = ""


class StopReason(StrEnum):
    """The reason a reply ended."""

    END = "end"
    LENGTH = "length"
    """The output limit cut the reply off."""
    FILTERED = "filtered"
    """The provider's content filter cut the reply off."""
    OVERFLOW = "overflow"
    """The context window was full, reported in a reply instead of an error."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A whole reply. `suggestions`: short texts for the person's next message."""

    text: str
    calls: tuple[CallRequest, ...]
    usage: Usage
    origin: Origin
    stop: StopReason = StopReason.END
    suggestions: tuple[str, ...] = ()

    @property
    def truncated(self) -> bool:
        """True if the reply was cut off, so that its calls must not run."""
        return self.stop is not StopReason.END


@dataclass(frozen=True, slots=True)
class ReplyDelta:
    """A piece of the reply's text, as it arrives."""

    text: str


class Model(Protocol):
    """One configured model."""

    @property
    def name(self) -> str:
        """The model's name in the configuration."""
        ...

    @property
    def abilities(self) -> ModelAbilities:
        """Its limits and abilities. They shrink when the provider refuses something."""
        ...

    def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """Yield deltas, then exactly one ModelReply, which is authoritative.

        Raises ModelError (see core.errors). A stream that ends without the provider's end mark raises
        ModelReplyInvalid; it never counts as a short success.
        """
        ...


# Leaving a stream early without leaving its connection open.

T = TypeVar("T")


class closing(Generic[T]):
    """A context manager that closes a stream however the block ends.

    An abandoned generator holds its connection until it is garbage collected. This replaces
    contextlib's `aclosing`, because not every stream is a generator.
    """

    __slots__ = ("_stream",)

    def __init__(self, stream: AsyncIterator[T]) -> None:
        self._stream = stream

    async def __aenter__(self) -> AsyncIterator[T]:
        return self._stream

    async def __aexit__(self, *_: object) -> None:
        close = getattr(self._stream, "aclose", None)
        if close is not None:
            await close()


# The cost of a model's replies, by its configured prices.


@dataclass(frozen=True, slots=True)
class Price:
    """A price in US dollars per million tokens, which equals micro-USD per token.

    `cached_usd`, `cache_write_usd`: of input read from the cache and written to it; None: as other input."""

    input_usd: float
    output_usd: float
    cached_usd: float | None = None
    cache_write_usd: float | None = None

    def applied(self, usage: Usage) -> Usage:
        """Return the usage with its cost."""
        cached_usd = self.input_usd if self.cached_usd is None else self.cached_usd
        write_usd = self.input_usd if self.cache_write_usd is None else self.cache_write_usd
        fresh_tokens = usage.input_tokens - usage.cached_input_tokens - usage.cache_write_tokens
        cost = max(fresh_tokens, 0) * self.input_usd + usage.output_tokens * self.output_usd
        cost += usage.cached_input_tokens * cached_usd + usage.cache_write_tokens * write_usd
        return replace(usage, cost_micro_usd=round(cost))

    def at_most(self, input_tokens: int, output_tokens: int) -> int:
        """Return the highest cost of that many tokens, in micro-USD."""
        dearest_usd = max(self.input_usd, self.cached_usd or 0.0, self.cache_write_usd or 0.0)
        return math.ceil(input_tokens * dearest_usd + output_tokens * self.output_usd)
