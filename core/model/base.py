"""The port to language models, their known limits and prices (`models.toml`), and estimates of tokens.

One request produces one stream of deltas that ends with the whole reply.

The estimate of a text's tokens is a sum over kinds of characters and the places where one kind follows
another, which is where tokens usually begin. Its weights were fitted to OpenAI's o200k tokenizer on English,
Chinese, Russian, code, JSON and logs (tests/payloads/tokens/). It is linear, and takes about 20 ns for a
character. It is corrected by what a model's provider counts.
"""

import json
import math
import tomllib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from core.lazy import dataclass
from core.transcript import Entry, Origin, Said, ToolCalled, UserSaid
from core.usage import Usage
from core.users import Thinking

_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = b"0123456789"
_NEWLINES = b"\n\r"
_SPACES = b" \t"
_OTHER_THAN_PUNCTUATION = _LETTERS + _DIGITS + _NEWLINES + _SPACES


def _marked(kind: bytes) -> bytes:
    """Return the table that marks the characters of one kind, and dots all others."""
    return bytes(ord("x") if byte in kind else ord(".") for byte in range(256))


_WORD, _NUMBER, _BREAK, _SPACE = map(_marked, (_LETTERS, _DIGITS, _NEWLINES, _SPACES))
_PUNCTUATION = _marked(bytes(byte for byte in range(128) if byte not in _OTHER_THAN_PUNCTUATION))
_CASE = bytes(
    ord("l") if chr(byte).islower() and byte < 128 else ord("U") if chr(byte).isupper() and byte < 128 else 46
    for byte in range(256)
)
_LONG_WORD = b"x" * 9

# Per thousand characters of other scripts, by the upper byte of their code point.
_SYMBOLS, _LATIN, _CYRILLIC, _ALPHABETS, _IDEOGRAPHS = 1500, 900, 330, 550, 900
_SCRIPTS = (
    (range(0x04, 0x06), _CYRILLIC),
    (range(0x01, 0x20), _ALPHABETS),
    (range(0x2E, 0xA0), _IDEOGRAPHS),
    (range(0xAC, 0xD8), _IDEOGRAPHS),
    (range(0xD8, 0xE0), 1000),  # halves of surrogate pairs, such as emoji
    (range(0xF9, 0x100), _IDEOGRAPHS),
)


def _weight_of(upper: int) -> int:
    return next((weight for uppers, weight in _SCRIPTS if upper in uppers), _SYMBOLS)


_WEIGHTS = tuple(sorted({_weight_of(upper) for upper in range(1, 256)}))
_BY_WEIGHT = bytes([0, *(_WEIGHTS.index(_weight_of(upper)) + 1 for upper in range(1, 256))])


def text_tokens(text: str) -> int:
    """Return the estimated number of tokens in a text: at least 1."""
    if text.isascii():
        return _ascii(text.encode()) // 1000 + 1
    ascii_only = text.encode("ascii", "ignore")
    scripts = text.encode("utf-16-le", "surrogatepass")[1::2].translate(_BY_WEIGHT)
    other = sum(scripts.count(place) * weight for place, weight in enumerate(_WEIGHTS, start=1))
    latin = scripts.count(0) - len(ascii_only)
    return (_ascii(ascii_only) + latin * _LATIN + other) // 1000 + 1


def _ascii(text: bytes) -> int:
    """Return the thousandths of a token that ASCII characters take."""
    text = b" " + text
    words = text.translate(_WORD)
    letters = words.count(b"x")
    digits = len(text) - len(text.translate(None, _DIGITS))
    punctuation = len(text.translate(None, _OTHER_THAN_PUNCTUATION))
    return (
        1060 * words.count(b".x")
        + 30 * letters
        + 1170 * words.count(_LONG_WORD)
        + 2200 * text.translate(_CASE).count(b"lU")
        + 1070 * text.translate(_NUMBER).count(b".x")
        + 380 * digits
        + 550 * text.translate(_PUNCTUATION).count(b".x")
        + 115 * punctuation
        + 850 * text.translate(_BREAK).count(b".x")
        + 160 * text.translate(_SPACE).count(b"xx")
    )


MESSAGE_TOKENS = 4
"""The tokens that a message takes in addition to its text."""
TIME_NOTE_TOKENS = 32
"""The tokens of the note about the time that follows what a person said."""

prompt_tokens = lru_cache(64)(text_tokens)
"""The same for system prompts, which are the same text in all requests of a thread."""


def said_tokens(said: Said) -> int:
    """Return the estimated tokens of one line of a conversation, as the model reads it."""
    if isinstance(said, ToolCalled):
        return MESSAGE_TOKENS + text_tokens(said.tool) + text_tokens(said.arguments)
    dated = TIME_NOTE_TOKENS if isinstance(said, UserSaid) else 0
    return MESSAGE_TOKENS + dated + text_tokens(said.text)


def entry_tokens(entry: Entry) -> int:
    """Return the estimated tokens of an entry, which are counted once."""
    if not entry.tokens:
        object.__setattr__(entry, "tokens", said_tokens(entry.said))
    return entry.tokens


# The correction by the provider's own counts.

_LEAST_COUNTED_TOKENS = 200
"""Requests below that say little about the estimate."""
_LOWEST, _HIGHEST = 0.5, 8.0
_FALLS_BY = 0.1
_OVERFLOW_MARGIN = 1.05


class TokenRatio:
    """The tokens that a model's provider counts for each estimated one: 1 until it has counted.

    It rises at once and falls slowly, because too long a request is worse than one shorter than needed."""

    def __init__(self) -> None:
        self.value = 1.0
        self._known = False

    def counted(self, estimated_tokens: int, tokens: int) -> None:
        """Learn from a request that the provider counted."""
        if estimated_tokens < _LEAST_COUNTED_TOKENS or tokens <= 0:
            return
        ratio = min(max(tokens / estimated_tokens, _LOWEST), _HIGHEST)
        if not self._known or ratio > self.value:
            self.value, self._known = ratio, True
        else:
            self.value += (ratio - self.value) * _FALLS_BY

    def overflowed(self, estimated_tokens: int, room_tokens: int) -> None:
        """Learn from a request that did not fit, although `room_tokens` had been left for it.

        The ratio at most doubles, because the window may be smaller than configured."""
        if estimated_tokens > 0:
            least = _OVERFLOW_MARGIN * room_tokens / estimated_tokens
            self.value = max(self.value, min(least, 2 * self.value, _HIGHEST))
            self._known = True


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


def reply_limit(request: "ModelRequest", *, roomy: bool) -> int:
    """Return the limit on a reply's output, in tokens. Unless `roomy`, it has no room for thinking alone."""
    extra = 0 if roomy else THINKING_TOKENS[request.thinking or Thinking.OFF]
    return max(1, request.max_output_tokens - extra)


def has_room_to_think(request: "ModelRequest") -> bool:
    """Return whether a request asks for more than the answer's own length."""
    return reply_limit(request, roomy=False) < request.max_output_tokens


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


TABLE = Path(__file__).with_name("models.toml")
ANTHROPIC_MAX_TEMPERATURE = 1.0


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A row of the table, or what is assumed of a model that has none."""

    abilities: ModelAbilities
    price: Price | None = None


def known_model(provider: str, model: str) -> KnownModel:
    """Return what is known of a provider's model. `provider`: the API through which it is called."""
    name = model.lower().rpartition("/")[2].replace(".", "-")
    fitting = (start for start in _table() if _begins(name, start))
    row = _table().get(max(fitting, key=len, default=""), KnownModel(ModelAbilities()))
    able = row.abilities
    assumed = row.abilities == ModelAbilities()
    if provider == "cli":
        style = able.thinking
    elif provider == "anthropic":
        style = able.thinking if able.thinking is ThinkingStyle.BUDGET else ThinkingStyle.ADAPTIVE
        highest = able.max_temperature
        highest = None if highest is None else min(highest, ANTHROPIC_MAX_TEMPERATURE)
        able = replace(able, max_temperature=highest)
    else:
        style = ThinkingStyle.EFFORT
    if assumed or able.thinking is not ThinkingStyle.NONE:
        able = replace(able, thinking=style)
    return KnownModel(able, None if model.endswith(":free") else row.price)


def _begins(name: str, start: str) -> bool:
    """Return whether the name is the start, or goes on with anything but a letter or digit."""
    return name.startswith(start) and not name[len(start) : len(start) + 1].isalnum()


@lru_cache(1)
def _table() -> Mapping[str, KnownModel]:
    rows: Mapping[str, Mapping[str, Any]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {start: _row(row) for start, row in rows.items()}


def _row(row: Mapping[str, Any]) -> KnownModel:
    abilities = ModelAbilities(
        context_tokens=row["context"],
        max_output_tokens=row["output"],
        images=row.get("images", False),
        max_temperature=row.get("temperature"),
        thinking=ThinkingStyle(row.get("thinking", "none")),
    )
    return KnownModel(abilities, Price(*row["usd"]) if "usd" in row else None)
