"""The parts that both wires share: the provider's limits, what is read from a request, and what a wire can
do."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tests.simulators.model.faults import StreamError
from tests.simulators.model.replies import CHARS_PER_TOKEN, Reply, tokens_in


@dataclass(slots=True)
class Provider:
    """The account and the model being played. Fields may be changed while the simulator runs."""

    api_key: str = "test-key"
    models: tuple[str, ...] = ("sim-1", "sim-2")
    context_tokens: int = 128_000
    max_output_tokens: int = 16_384
    tokenizer: Callable[[str], int] = tokens_in
    """Counts requests on the OpenAI wire."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The parts of an accepted request that a script may look at.

    `user_text` joins with newlines the texts of the user's messages since the model last spoke, without notes
    of the time that a client adds below them; when the request ends with tool results, it is that of the
    last such group before them. `tool_results` are the
    texts of the results the request ends with, in order.
    """

    model: str
    stream: bool
    user_text: str
    tool_results: tuple[str, ...]
    tool_names: tuple[str, ...]
    prompt_tokens: int
    max_output_tokens: int | None = None
    include_usage: bool = False
    thinking: bool = False
    cached_tokens: int = 0
    """Those of `prompt_tokens` that an earlier prompt began with too."""
    cache_write_tokens: int = 0


class ApiError(Exception):
    """A request the provider refuses: `body` is the answer's JSON, in the provider's own words."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(f"{status} {body}")
        self.status = status
        self.body = body


class Wire(Protocol):
    """One provider's protocol: reads requests, writes replies. Stateless apart from the provider's limits."""

    name: str
    request_id_header: str
    malformed_event: bytes
    """An event whose JSON is cut off."""

    def authenticate(self, headers: Mapping[str, str]) -> None:
        """Check the key alone. Raises ApiError."""
        ...

    def models(self) -> dict[str, Any]:
        """The body of the list of models."""
        ...

    def model(self, name: str) -> dict[str, Any]:
        """The body about one model. Raises ApiError."""
        ...

    def read(self, headers: Mapping[str, str], raw: bytes) -> Prompt:
        """Check a request as the provider does. Raises ApiError."""
        ...

    def counted(self, reply: Reply, prompt: Prompt) -> tuple[int, int, int, int]:
        """The tokens of an answer: input with what the cache read and wrote, output, and both of these."""
        ...

    def body(self, reply: Reply, prompt: Prompt) -> bytes:
        """The whole answer as one JSON body."""
        ...

    def events(self, reply: Reply, prompt: Prompt) -> list[bytes]:
        """The answer as server-sent events; the last one is the end marker."""
        ...

    def failure(self, error: StreamError) -> dict[str, Any]:
        """An error in the provider's form that arrives in place of an answer."""
        ...

    def error_event(self, error: StreamError) -> bytes:
        """The same as an event, telling a client mid-stream that the answer failed."""
        ...

    def http_error(self, status: int, code: str | None) -> dict[str, Any]:
        """The provider's own body for a failure that is not the request's fault."""
        ...

    def with_request_id(self, body: dict[str, Any], request_id: str) -> dict[str, Any]:
        """An error body as it leaves, for providers that name the request in it."""
        ...


_TIME_NOTE = re.compile(r"\n\n\[Note from the hub, not from a person: time: [^\]\n]*\]")


def said_by_user(texts: Iterable[str]) -> str:
    """What scripts search: the user's messages, as a model would repeat them."""
    return _TIME_NOTE.sub("", "\n".join(texts))


def cut_to(content: str, prompt: Prompt) -> tuple[str, bool]:
    """The text as far as the request's output limit lets it go, and whether something was cut."""
    if prompt.max_output_tokens is None:
        return content, False
    kept = content[: prompt.max_output_tokens * CHARS_PER_TOKEN]
    return kept, len(kept) < len(content)


def completion_tokens(reply: Reply, content: str) -> int:
    """Return what the simulator counts for an answer whose text is `content`."""
    calls = sum(
        tokens_in(call.name)
        + tokens_in(call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments))
        for call in reply.calls
    )
    return tokens_in(content) + tokens_in(reply.thinking) + calls


def pieces(content: str, size: int) -> list[str]:
    """`content` in order, in parts of `size` characters; an empty text has no parts."""
    return [content[i : i + size] for i in range(0, len(content), size)]
