"""What both wires share: the provider's limits, what is read from a request, and what a wire can do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tests.simulators.model.faults import StreamError
from tests.simulators.model.replies import Reply


@dataclass(slots=True)
class Provider:
    """The account and the model being played. Fields may be changed while the simulator runs."""

    api_key: str = "test-key"
    models: tuple[str, ...] = ("sim-1", "sim-2")
    context_tokens: int = 128_000
    max_output_tokens: int = 16_384


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a script may look at in a request that was accepted.

    `user_text` joins with newlines the texts of the user's messages since the model last spoke; when the
    request ends with tool results, it is that of the last such group before them. `tool_results` are the
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


class ApiError(Exception):
    """A request the provider refuses: `body` is the answer's JSON, in the provider's own words."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(f"{status} {body}")
        self.status = status
        self.body = body


class Wire(Protocol):
    """One provider's protocol: reads requests, writes replies. Stateless apart from the provider's limits."""

    name: str

    def read(self, headers: Mapping[str, str], raw: bytes) -> Prompt:
        """Check a request as the provider does. Raises ApiError."""
        ...

    def body(self, reply: Reply, prompt: Prompt) -> bytes:
        """The whole answer as one JSON body."""
        ...

    def events(self, reply: Reply, prompt: Prompt) -> list[bytes]:
        """The answer as server-sent events; the last one is the end marker."""
        ...

    def stream_error(self, error: StreamError) -> bytes:
        """The event that tells a client mid-stream that the answer failed."""
        ...

    def error_body(self, status: int, message: str, kind: str, code: str | None) -> dict[str, Any]:
        """An error in the provider's form."""
        ...

    def http_error(self, status: int, code: str | None) -> dict[str, Any]:
        """The provider's own body for a failure that is not the request's fault."""
        ...


def cut_to(reply_text: str, max_output_chars: int | None) -> tuple[str, bool]:
    """The text as far as the request's output limit lets it go, and whether something was cut."""
    if max_output_chars is None or len(reply_text) <= max_output_chars:
        return reply_text, False
    return reply_text[:max_output_chars], True


def pieces(content: str, size: int) -> list[str]:
    """`content` in order, in parts of `size` characters; an empty text has no parts."""
    return [content[i : i + size] for i in range(0, len(content), size)]
