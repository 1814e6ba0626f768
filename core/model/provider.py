"""The common part of models behind HTTP APIs: sending, reading, limits, learning what a provider takes."""

import asyncio
import json
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import aiohttp
import httpx

from core.clock import Clock
from core.errors import (
    ModelError,
    ModelFault,
    ModelMisconfigured,
    ModelRejected,
    ModelReplyInvalid,
    ModelUnavailable,
)
from core.lazy import replace
from core.model.base import (
    THINKING_TOKENS,
    ImagePart,
    ModelAbilities,
    ModelReply,
    ModelRequest,
    ReplyDelta,
    ThinkingStyle,
    closing,
)
from core.model.provider_data import JoinedText, SseParser, parse
from core.model.provider_http import (
    ProviderError,
    body_pieces,
    model_error,
    read_error,
    read_error_body,
    retry_after_s,
)
from core.off_loop import off_loop
from core.users import Thinking

ERROR_LIMIT_BYTES = 64 * 1024
BODY_LIMIT_BYTES = 2 * 1024 * 1024
WHOLE_REPLY_TIMEOUT_S = 600.0
"""The limit without streaming, where nothing arrives until the whole reply is written. OpenAI's own
clients wait as long."""
END_TIMEOUT_S = 2.0
"""The longest wait, after a reply has ended, for its usage."""
DRAIN_TIMEOUT_S = 0.25
"""The longest wait, once nothing more is expected, for the end of the body. Only then is the connection
reused."""
REPLY_LIMIT_CHARS = 1024 * 1024
CALLS_LIMIT = 128
"""OpenAI's own limit on calls in one message, which therefore limits the calls that can be replayed."""
OPAQUE_LIMIT_CHARS = 256 * 1024
"""The limit on data replayed with every later request. Longer data is dropped."""
MAYBE_COUNTED = frozenset({408, 499, 502, 504, 520, 522, 524})
"""Statuses of gateways that gave up on a provider, which may have replied to them later. All other failures
are the provider's own, and it bills none."""
BLIND = "this model does not accept images"

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"

log = logging.getLogger(__name__)


class Dialect(Protocol):
    """The parts of an API that a provider takes, learned from its errors."""

    @property
    def stream(self) -> bool:
        """Whether replies are streamed."""
        ...

    @property
    def images(self) -> bool:
        """Whether images are sent."""
        ...

    @property
    def limits_output(self) -> bool:
        """Whether the limit on the length of the reply is sent."""
        ...

    def after(self, error: ProviderError, request: ModelRequest) -> Self | None:
        """Return the dialect without the part of the request that this error refuses, or None if it is about
        something else."""
        ...

    def learned(self) -> tuple[str, ...]:
        """Return the lessons learned, each in a few words."""
        ...


class Assembler(ABC):
    """One reply under construction. Its public methods raise only ModelError, for any input.

    `host` is stored with the data that the provider wants replayed to itself. Not reusable.
    """

    def __init__(self, *, name: str, model: str, host: str, api_key: str = "") -> None:
        self._name = name
        self._model = model
        self._host = host
        self._api_key = api_key
        self._text = JoinedText()
        self._size_chars = 0

    @property
    @abstractmethod
    def ended(self) -> bool:
        """Whether the reply is complete. Its usage may follow."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether nothing more is expected."""

    @abstractmethod
    def add(self, data: str) -> str:
        """Process one event of the stream and return the text that it adds to the reply."""

    @abstractmethod
    def add_object(self, value: Any) -> str:
        """Process a whole reply, or an event, and return the text that it adds."""

    @abstractmethod
    def finish(self) -> ModelReply:
        """Return the whole reply after the end of the stream.

        Raises ModelReplyInvalid without an end mark, because the reply is then incomplete."""

    def _add_text(self, piece: str) -> str:
        if not piece:
            return ""
        self._size_chars += len(piece)
        if self._size_chars > REPLY_LIMIT_CHARS:
            self._grow("")
        return self._text.add(piece)

    def _grow(self, piece: str) -> None:
        self._size_chars += len(piece)
        if self._size_chars > REPLY_LIMIT_CHARS:
            raise self._invalid(f"a reply of more than {REPLY_LIMIT_CHARS} characters")

    def _check_calls(self, number: int) -> None:
        if number > CALLS_LIMIT:
            raise self._invalid(f"more than {CALLS_LIMIT} calls in one reply")

    def _invalid(self, problem: str) -> ModelReplyInvalid:
        return ModelReplyInvalid(f"model {self._name}: {problem}")

    def _error(self, parsed: Any) -> ModelError:
        return model_error(read_error(parsed), model=self._name, api_key=self._api_key)

    def _opaque(self, kept: Mapping[str, Any]) -> str:
        """Return the data that this provider expects back, as text; empty if there is none, or too much."""
        opaque = json.dumps({"host": self._host, **kept}) if kept else ""
        return opaque if len(opaque) <= OPAQUE_LIMIT_CHARS else ""


D = TypeVar("D", bound=Dialect)


class ProviderModel(ABC, Generic[D]):
    """One model at one provider. It shares `client`, which its creator must close.

    Parts of a request that the provider turns out to refuse (streaming, usage in streams, tools, …) are
    left out from then on. Waiting and retries are left to the caller.
    """

    PATH: ClassVar[str]
    """The path of the endpoint, appended to the base URL."""

    def __init__(
        self,
        dialect: D,
        *,
        name: str,
        model: str,
        base_url: str,
        api_key: str,
        client: httpx.AsyncClient,
        clock: Clock,
        abilities: ModelAbilities | None = None,
        thinking: Thinking = Thinking.OFF,
    ) -> None:
        """Take an `api_key` that may be empty. `abilities`: by default, nothing is known of the model.

        Raises ValueError if the address or the key is unusable."""
        url = httpx.URL(f"{base_url.rstrip('/')}{self.PATH}")
        if url.scheme not in ("http", "https") or not url.host:
            raise ValueError(f"model {name}: base_url must be an http or https URL")
        api_key = api_key.strip()
        if not (api_key.isascii() and api_key.isprintable()):
            raise ValueError(f"model {name}: api_key contains invalid characters")
        self._name = name
        self._model = model
        self._url = url
        self._api_key = api_key
        self._client = client
        self._clock = clock
        self._known = abilities or ModelAbilities()
        self._thinking = thinking
        self._speak(dialect)
        # Complete, so that httpx adds no headers per request.
        headers = {"Host": url.netloc.decode("ascii"), "Content-Type": "application/json"}
        headers |= {"User-Agent": "hubbub", **self._key_headers(api_key)}
        if dialect.stream:  # a gateway that compresses a stream delays its events
            headers |= {"Accept": "text/event-stream", "Accept-Encoding": "identity"}
        self._headers = httpx.Headers(headers, encoding="ascii")

    @property
    def name(self) -> str:
        """The model's name in the configuration."""
        return self._name

    def _speak(self, dialect: D) -> None:
        """Leave out what the dialect leaves out, from now on."""
        self._dialect = dialect
        self.abilities = replace(
            self._known,
            images=self._known.images and dialect.images,
            learned=dialect.learned(),
            limits_output=dialect.limits_output,
        )
        """The known facts of the model, less the parts its provider refused."""

    # --- the provider's own part ----------------------------------------------------------------------

    @abstractmethod
    def _key_headers(self, api_key: str) -> Mapping[str, str]:
        """Return the headers that carry the key, if there is one, and the API's version."""

    @abstractmethod
    def _encoded(self, request: ModelRequest, dialect: D) -> bytes:
        """Return the body of a request."""

    @abstractmethod
    def _assembler(self) -> Assembler:
        """Return the assembler of one reply."""

    # --- one call -------------------------------------------------------------------------------------

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """Closing the iterator ends the request at the provider."""
        assembler = self._assembler()
        try:
            response = await self._answered(self._fitting(request))
            try:
                async with closing(self._read(response, assembler)) as texts:
                    async for text in texts:
                        yield ReplyDelta(text)
            finally:
                await response.aclose()
        except httpx.UnsupportedProtocol as error:
            raise ModelRejected(f"model {self._name}: base_url is not usable: {error}") from error
        except (httpx.RequestError, aiohttp.ClientError, TimeoutError, OSError) as error:
            what = str(error) or "timed out"
            failure = ModelUnavailable(f"model {self._name}: {type(error).__name__}: {what}")
            # httpx has no error of its own for a request that certainly wasn't sent.
            failure.uncounted = isinstance(error.__cause__, aiohttp.ClientConnectorError)
            raise failure from error
        yield assembler.finish()

    def _fitting(self, request: ModelRequest) -> ModelRequest:
        """Return the request as this model can take it."""
        able = self._known
        thinking = request.thinking if request.thinking is not None else self._thinking
        if able.thinking is ThinkingStyle.NONE:
            thinking = Thinking.OFF
        temperature = request.temperature
        if temperature is not None and (able.max_temperature is None or thinking is not Thinking.OFF):
            temperature = None
        elif temperature is not None and able.max_temperature is not None:
            temperature = min(temperature, able.max_temperature)
        max_output_tokens = request.max_output_tokens + THINKING_TOKENS[thinking]
        if able.max_output_tokens is not None:
            max_output_tokens = min(max_output_tokens, able.max_output_tokens)
        images = request.images if self.abilities.images else _unseen(request.images, BLIND)
        return replace(
            request,
            max_output_tokens=max_output_tokens,
            temperature=temperature,
            thinking=thinking,
            images=images,
        )

    async def _answered(self, request: ModelRequest) -> httpx.Response:
        """Return the successful answer, unread; the caller closes it. Raises ModelError for any other."""
        dialect = self._dialect
        while True:
            response = await self._post(request, dialect)
            if 200 <= response.status_code < 300:
                return response
            try:
                error = read_error_body(response.status_code, await _read_error(response))
            finally:
                await response.aclose()
            adapted = dialect.after(error, request)
            if adapted is not None:
                log.info("model.learned model=%s lessons=%s", self._name, "; ".join(adapted.learned()))
                dialect = adapted
                self._speak(dialect)
                if not dialect.images:
                    request = replace(request, images=_unseen(request.images, BLIND))
            elif _is_about_an_image(error, request):
                problem = "the provider can't read it"
                request = replace(request, images=_unseen(request.images, problem))
            else:
                wait_s = retry_after_s(response.headers, self._clock)
                failure = model_error(error, model=self._name, api_key=self._api_key, retry_after_s=wait_s)
                failure.uncounted = response.status_code not in MAYBE_COUNTED
                raise failure

    async def _post(self, request: ModelRequest, dialect: D) -> httpx.Response:
        timeout = self._client.timeout.as_dict()
        if not dialect.stream:
            timeout |= {"read": WHOLE_REPLY_TIMEOUT_S}
        content = self._encoded(request, dialect)
        sent = httpx.Request(
            "POST",
            self._url,
            headers=self._headers,
            stream=httpx.ByteStream(content),
            extensions={"timeout": timeout},
        )
        sent.read()
        sent.headers.encoding = "ascii"  # otherwise httpx guesses it again for each header it reads
        sent.headers["Content-Length"] = str(len(content))
        if request.id:
            sent.headers["X-Client-Request-Id"] = request.id
        return await self._client.send(sent, stream=True)

    async def _read(self, response: httpx.Response, assembler: Assembler) -> AsyncIterator[str]:
        """Yield the text of the reply as it arrives, joining text that arrived together.

        The first byte tells a whole reply from a stream: servers answer either way, under either media type,
        whatever the request asked for."""
        async with closing(body_pieces(response)) as chunks:
            head = await _head(chunks)
            if head.startswith((b"{", b"[")):
                body = await self._whole(head, chunks)
                assembler.add_object(await off_loop(len(body), partial(parse, body, model=self._name)))
                return
            if head.startswith(b"<"):
                what = f"model {self._name}: a web page came in place of a reply; check base_url"
                raise ModelMisconfigured(what, ModelFault.ADDRESS)
            parser = SseParser()
            if text := await _added(assembler, parser, head):
                yield text
            if not assembler.ended:
                async for chunk in chunks:
                    if text := await _added(assembler, parser, chunk):
                        yield text
                    if assembler.ended:
                        break
            if text := await _rest(chunks, parser, assembler):
                yield text

    async def _whole(self, head: bytes, chunks: AsyncIterator[bytes]) -> bytes:
        body = await _read_up_to(head, chunks, BODY_LIMIT_BYTES + 1)
        if len(body) > BODY_LIMIT_BYTES:
            raise ModelReplyInvalid(f"model {self._name}: a reply of over {BODY_LIMIT_BYTES} bytes")
        return body


def _unseen(images: Sequence[ImagePart], problem: str) -> tuple[ImagePart, ...]:
    """Return the images without their data, for a model that can only be told of them."""
    return tuple(
        replace(image, data=b"", problem=problem) if image.data or not image.problem else image
        for image in images
    )


def _is_about_an_image(error: ProviderError, request: ModelRequest) -> bool:
    """Return whether the provider refuses an image of the request, such as a damaged one."""
    sent = any(image.data for image in request.images)
    return sent and error.status in (400, 413, 415, 422) and "image" in error.message.lower()


async def _head(chunks: AsyncIterator[bytes]) -> bytes:
    """Return the beginning of a body, from its first byte that is neither blank nor a byte order mark."""
    head = b""
    async for chunk in chunks:
        head += chunk
        if not _BYTE_ORDER_MARK.startswith(head):
            head = head.removeprefix(_BYTE_ORDER_MARK).lstrip(_BLANK)
            if head:
                return head
    return b""


async def _added(assembler: Assembler, parser: SseParser, chunk: bytes) -> str:
    """Return the text that a chunk adds. Once the reply has ended, no failure matters any more."""
    events = parser.feed(chunk)

    def added() -> str:
        texts: list[str] = []
        for data in events:
            try:
                texts.append(assembler.add(data))
            except ModelError:
                if not assembler.ended:
                    raise
        return "".join(texts)

    return await off_loop(max(map(len, events), default=0), added)


async def _rest(chunks: AsyncIterator[bytes], parser: SseParser, assembler: Assembler) -> str:
    """Read on after the reply has ended, usually to its usage and the end of the body, if they come soon.

    If they do not, the connection is abandoned."""
    texts: list[str] = []
    with suppress(TimeoutError, httpx.RequestError, aiohttp.ClientError, OSError, ModelError):
        async with asyncio.timeout(DRAIN_TIMEOUT_S if assembler.done else END_TIMEOUT_S) as limit:
            waits = not assembler.done
            async for chunk in chunks:
                texts.append(await _added(assembler, parser, chunk))
                if waits and assembler.done:
                    limit.reschedule(asyncio.get_running_loop().time() + DRAIN_TIMEOUT_S)
                    waits = False
    return "".join(texts)


async def _read_up_to(head: bytes, chunks: AsyncIterator[bytes], limit_bytes: int) -> bytes:
    parts, size_bytes = [head], len(head)
    async for chunk in chunks:
        parts.append(chunk)
        size_bytes += len(chunk)
        if size_bytes >= limit_bytes:
            break
    return b"".join(parts)[:limit_bytes]


async def _read_error(response: httpx.Response) -> bytes:
    async with closing(response.aiter_bytes()) as chunks:
        return await _read_up_to(b"", chunks, ERROR_LIMIT_BYTES)
