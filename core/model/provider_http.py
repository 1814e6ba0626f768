"""HTTP with providers: the one client of all model calls, and HTTP statuses and error objects as
ModelErrors.

A typed code decides first; the wording matters only if a provider sends no code. The codes and phrases are
those of OpenAI, Azure, Anthropic, Mistral, llama.cpp, vLLM and similar servers.

The client is httpx's interface over aiohttp's connections. httpx's own transport costs about twice the CPU
per call, and its pool slows down with every idle connection. aiohttp's does not, so hundreds of calls that
each last minutes can share one pool.
"""

import asyncio
import http
import json
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from core.clock import SECOND_US, Clock
from core.errors import (
    ContextOverflow,
    ModelAuthRejected,
    ModelError,
    ModelFault,
    ModelMisconfigured,
    ModelOrderConflict,
    ModelRateLimited,
    ModelRejected,
    ModelUnavailable,
)
from core.lazy import dataclass
from core.model.base import closing
from core.model.provider_data import as_array, as_object, as_text, excerpt

RETRY_AFTER_LIMIT_S = 3600.0

OVERFLOW_CODES = frozenset(
    {
        "context_length_exceeded",
        "context_window_exceeded",
        "model_context_window_exceeded",
        "exceed_context_size_error",
        "request_too_large",
        "tokens_limit_reached",
    }
)
TRANSIENT_CODES = frozenset(
    {
        "rate_limit_exceeded",
        "rate_limit_error",
        "overloaded_error",
        "server_error",
        "api_error",
        "timeout_error",
        "internal_server_error",
        "service_unavailable",
    }
)
REFUSAL_CODES = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter"})
AUTH_CODES = frozenset({"invalid_api_key", "authentication_error", "permission_error"})

RATE_CODES = frozenset({"rate_limit_exceeded", "rate_limit_error"})
CREDIT_CODES = frozenset(
    {
        "insufficient_quota",
        "insufficient_credits",
        "billing_hard_limit_reached",
        "billing_not_active",
        "exceeded_current_quota_error",
    }
)
MODEL_CODES = frozenset({"model_not_found", "model_not_exist", "unknown_model", "invalid_model"})
_FAULT_PHRASES: Mapping[ModelFault, tuple[str, ...]] = {
    ModelFault.CREDITS: ("credit balance is too low", "insufficient balance", "insufficient credits"),
    ModelFault.NO_TOOLS: (
        "does not support tools",
        "not support function calling",
        "that support tool use",
        "tool use is not supported",
        "tools is not supported",
        "tools are not supported",
        "enable-auto-tool-choice",
    ),
    ModelFault.NO_STREAMING: (
        "verified to stream",
        "does not support streaming",
        "streaming is not supported",
    ),
}
"""Phrases in lower case, for providers that send no code."""
_ORDER_PHRASES = (
    "roles must alternate",
    "must alternate between",
    "role information",
    "must be followed by tool messages",
    "must be a response to a prec",
    "ids were found without",
    "unexpected `tool_use_id`",
    "function call turn",
    "function response turn",
    "number of function response parts",
    "expected last role",
    "unexpected role",
)
"""Phrases in lower case. No provider has a code for the order of messages."""

_OVERFLOW = re.compile(
    r"maximum context length|context length exceeded|exceeds? (?:the )?(?:available |model'?s? )?context"
    r"|exceeds? the (?:maximum|model'?s?) (?:context|input)|(?:longer|greater) than the (?:model'?s )?context"
    r"|context (?:window|size|length) (?:of|is|has been) .{0,40}exceeded|prompt is too long|prompt too long"
    r"|too many (?:input )?tokens|input (?:is|token count) .{0,60}(?:too long|exceeds)|request too large"
    r"|payload too large|context (?:the )?overflow|exceeded model token limit|ran out of room"
    r"|maximum number of tokens|上下文.{0,12}(?:超|过长)|(?:超出|超过).{0,12}上下文",
    re.IGNORECASE,
)
_NOT_OVERFLOW = re.compile(r"rate limit|per min|quota|\btpm\b|too many requests", re.IGNORECASE)

_REFUSALS = (
    "unsupported parameter",
    "unknown parameter",
    "unknown field",
    "unrecognized request argument",
    "extra inputs are not permitted",
    "extra_forbidden",
    "not permitted",
    "not supported",
    "does not support",
    "is deprecated for this model",
)
_TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})
_BAD_KEY = re.compile(
    r"api key (?:is )?(?:not valid|invalid|expired)|(?:incorrect|invalid) api key", re.IGNORECASE
)
_WORD = re.compile(r"\S+")
_MASKED = "***"
MESSAGE_LIMIT_CHARS = 4000
"""The limit on a provider's message. The rest is ignored."""
_KEY_HEAD_CHARS = 8


@dataclass(frozen=True, slots=True)
class ProviderError:
    """A provider's error, as far as it can be read. `status` is 0 without an HTTP status, as in a stream."""

    status: int
    message: str
    codes: frozenset[str] = frozenset()
    param: str = ""

    def names(self, *words: str) -> bool:
        """Return whether the error is about one of these parameters."""
        return any(word == self.param.split(".")[0] or word in self.message for word in words)

    def says(self, *phrases: str) -> bool:
        """Return whether the message contains one of these phrases, which are in lower case."""
        message = self.message.lower()
        return any(phrase in message for phrase in phrases)

    def wants_shorter(self) -> bool:
        """Return whether the model can't write as much as it was asked for."""
        return self.names("max_tokens", "max_completion_tokens") and not self.says("context")

    def refuses(self, word: str) -> bool:
        """Return whether the error rejects this parameter altogether, not only its value."""
        if (self.param.split(".")[0] != word) if self.param else (word not in self.message):
            return False
        return bool(self.codes & REFUSAL_CODES) or self.says(*_REFUSALS)


def read_error_body(status: int, body: bytes) -> ProviderError:
    """Read the body of an error response. Any content is accepted, including HTML from a gateway or an
    empty body."""
    try:
        parsed: Any = json.loads(body)
    except (ValueError, RecursionError):
        text = excerpt(body)
        return ProviderError(status, "" if text.startswith("<") else text)
    first = as_array(parsed)
    return read_error(first[0] if first else parsed, status)


def read_error(parsed: Any, status: int = 0) -> ProviderError:
    """Read an error object: `{"error": {…} | "…"}`, the fields themselves, or FastAPI's `detail`."""
    outer = as_object(parsed)
    inner: Any = outer.get("error", outer)
    error = as_object(inner)
    message = as_text(inner) or as_text(error.get("message")) or as_text(error.get("detail"))
    if not message and (detail := as_array(error.get("detail"))):
        message = json.dumps(detail, ensure_ascii=False)
    code: Any = error.get("code")
    codes = {as_text(value).lower() for value in (code, error.get("type"), error.get("status"))}
    in_body = int(code) if re.fullmatch(r"[45]\d\d", str(code), re.ASCII) else 0
    message = message[:MESSAGE_LIMIT_CHARS]
    return ProviderError(status or in_body, message, frozenset(codes - {""}), as_text(error.get("param")))


def model_error(
    error: ProviderError, *, model: str, api_key: str = "", retry_after_s: float | None = None
) -> ModelError:
    """Return the ModelError to raise. Its text names `model`, is short, and never contains the key."""
    what = f"model {model}: {_described(error, api_key)}"
    if _is_overflow(error):
        return ContextOverflow(what)
    if _is_about_the_key(error):
        return ModelAuthRejected(what)
    if (fault := _fault(error)) is not None:
        return ModelMisconfigured(what, fault)
    if error.status == 429 or error.codes & RATE_CODES:
        return ModelRateLimited(what, retry_after_s)
    if _is_about_the_order(error):
        return ModelOrderConflict(what)
    if _is_transient(error):
        return ModelUnavailable(what, retry_after_s)
    return ModelRejected(what)


def retry_after_s(headers: Mapping[str, str], clock: Clock) -> float | None:
    """Return the provider's `Retry-After` (RFC 9110 §10.2.3) in seconds from now, 0 to 3600, if any."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value, re.ASCII):
        wait_s = float(value)
    else:
        try:
            at = parsedate_to_datetime(value)
        except ValueError:
            return None
        wait_s = at.replace(tzinfo=at.tzinfo or UTC).timestamp() - clock.now() / SECOND_US
    return min(max(wait_s, 0.0), RETRY_AFTER_LIMIT_S)


def _is_overflow(error: ProviderError) -> bool:
    if error.status == 413 or error.codes & OVERFLOW_CODES:
        return True
    if error.status not in (0, 400, 422, 500):  # some servers report an overlong prompt as an internal error
        return False
    return bool(_OVERFLOW.search(error.message)) and not _NOT_OVERFLOW.search(error.message)


def _is_about_the_key(error: ProviderError) -> bool:
    if error.status in (401, 403):
        return True
    if error.status not in (0, 400):  # Google and xAI answer 400 for an invalid key
        return False
    return bool(error.codes & AUTH_CODES) or bool(_BAD_KEY.search(error.message))


def _is_about_the_order(error: ProviderError) -> bool:
    if error.status not in (0, 400, 422, 500):  # servers with chat templates answer 500
        return False
    message = error.message.lower()
    return any(phrase in message for phrase in _ORDER_PHRASES)


def _fault(error: ProviderError) -> ModelFault | None:
    """Return the fault of the model's setup that the error shows, or None if it shows none."""
    if error.status == 402 or error.codes & CREDIT_CODES:
        return ModelFault.CREDITS
    if 300 <= error.status < 400 or error.status == 405:
        return ModelFault.ADDRESS
    if error.status not in (0, 400, 404, 422):
        return None
    message = error.message.lower()
    for fault, phrases in _FAULT_PHRASES.items():
        if any(phrase in message for phrase in phrases):
            return fault
    if error.codes & MODEL_CODES:
        return ModelFault.UNKNOWN_MODEL
    if error.status == 404:
        return ModelFault.UNKNOWN_MODEL if "model" in message else ModelFault.ADDRESS
    return None


def _is_transient(error: ProviderError) -> bool:
    if error.status:
        return error.status >= 500 or error.status in _TRANSIENT_STATUSES
    # Within a stream the request was already accepted, so an untyped error is the provider's fault.
    return bool(error.codes & TRANSIENT_CODES) or "invalid_request_error" not in error.codes


def _described(error: ProviderError, api_key: str) -> str:
    parts: list[str] = []
    if error.status:
        try:
            parts.append(f"{error.status} {http.HTTPStatus(error.status).phrase}")
        except ValueError:
            parts.append(str(error.status))
    message = excerpt(without_key(error.message, api_key))
    parts.append(message or ", ".join(sorted(error.codes)) or "no reason given")
    if 300 <= error.status < 400:
        parts.append("redirects are not followed; check base_url")
    return ": ".join(parts)


def without_key(text: str, api_key: str) -> str:
    """Return the text without the key and without the masked form that providers print
    (`sk-ab****wxyz`)."""
    if len(api_key) > _KEY_HEAD_CHARS:
        text = re.sub(re.escape(api_key[:_KEY_HEAD_CHARS]) + r"\S*", "[key]", text)
    elif api_key:  # a local server's "none" or "x": only as a separate word
        text = re.sub(rf"(?<!\w){re.escape(api_key)}(?!\w)", "[key]", text)
    return _WORD.sub(lambda word: "[key]" if _MASKED in word[0] else word[0], text)


PIECE_BYTES = 64 * 1024
"""The longest piece of a decompressed body: 64 kB can become 64 MB."""


def body_pieces(response: httpx.Response) -> AsyncIterator[bytes]:
    """Return the body as it arrives. An uncompressed body bypasses httpx's decoders, which cost as much
    as the reading."""
    stream = response.stream
    if "content-encoding" not in response.headers and isinstance(stream, httpx.AsyncByteStream):
        return aiter(stream)
    return _decompressed(response)


async def _decompressed(response: httpx.Response) -> AsyncIterator[bytes]:
    """Yield the body in short pieces, between which other work continues."""
    async with closing(response.aiter_bytes()) as decoded:
        async for whole in decoded:
            for start in range(0, len(whole), PIECE_BYTES):
                yield whole[start : start + PIECE_BYTES]
                await asyncio.sleep(0)


CONNECT_TIMEOUT_S = 10.0
"""The limit for TCP and TLS to one address of the provider."""
OPEN_TIMEOUT_S = 20.0
"""The limit for obtaining a connection: name lookup, all addresses tried, and a free pool slot."""
READ_TIMEOUT_S = 60.0
"""The longest silence before the answer's headers and between parts of its body. There is no total
limit."""
MAX_CONNECTIONS = 1000
KEEPALIVE_S = 60.0


class ProviderClient(httpx.AsyncClient):
    """An httpx client without cookies, redirects or credential lookup, which no provider's API uses.

    Leaving them out saves a third of a call's cost. Build its requests with `httpx.Request`, with
    all their headers."""

    def __init__(self, transport: AiohttpTransport, timeout: httpx.Timeout) -> None:
        super().__init__(transport=transport, timeout=timeout, trust_env=False)
        self._direct = transport

    async def send(self, request: httpx.Request, *, stream: bool = False, **_: Any) -> httpx.Response:
        """Hand the request to the transport, as httpx.AsyncClient.send. A key never travels to
        another host, since redirects are the caller's to follow."""
        if self.is_closed:
            raise RuntimeError("the client is closed")
        response = await self._direct.handle_async_request(request)
        if not stream:
            try:
                await response.aread()
            finally:
                await response.aclose()
        return response


def model_client(
    *, tls: ssl.SSLContext | None = None, read_timeout_s: float = READ_TIMEOUT_S
) -> httpx.AsyncClient:
    """Build the client. The caller closes it (`aclose`).

    It takes no proxy and no credentials from the environment. `tls`: a context shared with other
    clients; by default `tls_context()`. `read_timeout_s`: the longest silence of a provider.
    """
    context = tls if tls is not None else tls_context()

    def session() -> aiohttp.ClientSession:
        """Open a session. The transport calls this at the first request, because a session belongs to the
        running event loop."""
        connector = aiohttp.TCPConnector(ssl=context, limit=MAX_CONNECTIONS, keepalive_timeout=KEEPALIVE_S)
        return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())

    timeout = httpx.Timeout(connect=CONNECT_TIMEOUT_S, read=read_timeout_s, write=None, pool=OPEN_TIMEOUT_S)
    return ProviderClient(AiohttpTransport(verify=context, client=session), timeout)


def tls_context() -> ssl.SSLContext:
    """Return a context that trusts the public authorities and those installed on this machine."""
    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context
