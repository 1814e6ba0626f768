"""The port to language models, and the wrappers for any model: prices, retries, failover.

One request produces one stream of deltas that ends with the whole reply.
"""

import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar, cast

from core.clock import Clock
from core.errors import ModelAuthRejected, ModelError, ModelRejected, ModelReplyInvalid, ModelUnavailable
from core.transcript import Origin, Said


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as described to a model. `parameters` is a JSON schema object."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    _size_chars: list[int] = field(default_factory=list[int], init=False, repr=False, compare=False)

    @property
    def size_chars(self) -> int:
        """The length of the name, description and parameters as text, computed once, on first use."""
        if not self._size_chars:
            whole = len(self.name) + len(self.description) + len(str(self.parameters))
            self._size_chars.append(whole)
        return self._size_chars[0]


class Thinking(StrEnum):
    """The effort a model spends on reasoning before it answers."""

    OFF = "off"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """The model's input: one system text, the conversation in order, and the available tools."""

    system: str
    conversation: Sequence[Said]
    tools: Sequence[ToolSpec] = ()
    max_output_tokens: int = 4096
    temperature: float | None = None
    thinking: Thinking = Thinking.OFF


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as counted by the provider, and their cost at the model's prices.

    Counts are zero where the provider gave none; the cost is zero without known prices.
    `input_tokens` includes `cached_input_tokens` (read from the provider's cache) and `cache_write_tokens`
    (written to it). `estimated`: the provider gave no counts, and the hub estimated them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cost_micro_usd: int = 0
    cache_write_tokens: int = 0
    estimated: bool = False


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
    """A whole reply."""

    text: str
    calls: tuple[CallRequest, ...]
    usage: Usage
    origin: Origin
    stop: StopReason = StopReason.END

    @property
    def truncated(self) -> bool:
        """Whether the reply was cut off, so that its calls must not run."""
        return self.stop is not StopReason.END


@dataclass(frozen=True, slots=True)
class ReplyDelta:
    """A piece of the reply's text, as it arrives.

    `attempt` counts from 0. A new attempt begins the reply again; earlier pieces no longer count."""

    text: str
    attempt: int = 0


class Model(Protocol):
    """One configured model."""

    @property
    def name(self) -> str:
        """The model's name in the configuration."""
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
        stream: object = self._stream
        if isinstance(stream, AsyncGenerator):
            await cast("AsyncGenerator[T, Any]", stream).aclose()


# Several models as one: the first that can answer is used.

log = logging.getLogger(__name__)


class FailoverModel:
    """A model that tries several models in order until one begins to answer.

    The next one is tried after ModelUnavailable, ModelAuthRejected or ModelRejected, but only before
    the first delta. ContextOverflow and ModelReplyInvalid are raised at once, so that the caller can
    shorten the request or retry.
    """

    def __init__(self, name: str, models: Sequence[Model]) -> None:
        """Take at least one model, in order of preference."""
        if not models:
            raise ValueError("a list of models needs at least one")
        self._name = name
        self._models = tuple(models)

    @property
    def name(self) -> str:
        """The name of the list. A reply's origin shows which model answered."""
        return self._name

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """If every model fails: the only one's error, or one that sums all up."""
        failures: list[ModelError] = []
        for number, model in enumerate(self._models, start=1):
            shown, reply = False, None
            try:
                async with closing(model.reply(request)) as stream:
                    async for piece in stream:
                        if isinstance(piece, ModelReply):
                            reply = piece
                        else:
                            shown = True
                            yield piece
            except (ModelUnavailable, ModelAuthRejected, ModelRejected) as error:
                if shown:
                    raise
                log.warning(
                    "model.failed model=%s number=%d of=%d error=%s",
                    model.name,
                    number,
                    len(self._models),
                    error,
                )
                failures.append(error)
            else:
                if reply is not None:
                    yield reply
                return
        raise _summed_up(failures)


def _summed_up(failures: Sequence[ModelError]) -> ModelError:
    """Return one error for all failures.

    It is retryable if any failure was; otherwise it has the type of the first failure."""
    if len(failures) == 1:
        return failures[0]
    what = f"all {len(failures)} models failed: {'; '.join(str(failure) for failure in failures)}"
    transient = [failure for failure in failures if isinstance(failure, ModelUnavailable)]
    if transient:
        waits_s = [failure.retry_after_s for failure in transient if failure.retry_after_s is not None]
        return ModelUnavailable(what, min(waits_s) if len(waits_s) == len(transient) else None)
    return type(failures[0])(what)


# The cost of a model's replies, by its configured prices.


@dataclass(frozen=True, slots=True)
class Price:
    """A price in US dollars per million tokens, which equals micro-USD per token."""

    input_usd: float
    output_usd: float


class PricedModel:
    """A Model that adds the cost to another model's replies."""

    def __init__(self, model: Model, price: Price) -> None:
        self._model = model
        self._price = price

    @property
    def name(self) -> str:
        return self._model.name

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        async with closing(self._model.reply(request)) as pieces:
            async for piece in pieces:
                yield self._priced(piece) if isinstance(piece, ModelReply) else piece

    def _priced(self, reply: ModelReply) -> ModelReply:
        usage, price = reply.usage, self._price
        cost = usage.input_tokens * price.input_usd + usage.output_tokens * price.output_usd
        return replace(reply, usage=replace(usage, cost_micro_usd=round(cost)))


# Retries, while a retry can help and no one has seen any of the reply.

RETRIES = 3
FIRST_WAIT_S = 1.0
JITTER = 0.25
LONGEST_WAIT_S = 60.0
"""The longest wait between retries. If a provider asks for more, the error is raised with its
`retry_after_s`, and another model may be tried."""


class RetryingModel:
    """A Model that retries after transient failures: the model is unavailable or the reply is invalid.

    Waits 1, 2 and 4 s (each ± 25 %), or as long as the provider asks for if that is longer. It
    retries only before the first delta. After that the error is raised, because only the caller
    knows whether a person has read the beginning and whether it can be replaced.
    """

    def __init__(
        self,
        model: Model,
        clock: Clock,
        *,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._model = model
        self._clock = clock
        self._uniform = uniform

    @property
    def name(self) -> str:
        """The name of the wrapped model."""
        return self._model.name

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        attempt = 0
        while True:
            shown, reply = False, None
            try:
                async with closing(self._model.reply(request)) as stream:
                    async for piece in stream:
                        if isinstance(piece, ModelReply):
                            reply = piece
                        else:
                            shown = True
                            yield piece
            except (ModelUnavailable, ModelReplyInvalid) as error:
                wait_s = self._wait_s(error, attempt)
                if shown or attempt >= RETRIES or wait_s > LONGEST_WAIT_S:
                    raise
                attempt += 1
                log.info(
                    "model.retry attempt=%d of=%d delay_s=%.1f error=%s", attempt, RETRIES, wait_s, error
                )
            else:
                if reply is not None:
                    yield reply
                return
            await self._clock.sleep(wait_s)

    def _wait_s(self, error: ModelUnavailable | ModelReplyInvalid, attempt: int) -> float:
        wished_s = error.retry_after_s if isinstance(error, ModelUnavailable) else None
        return max(FIRST_WAIT_S * 2**attempt * self._uniform(1 - JITTER, 1 + JITTER), wished_s or 0.0)
