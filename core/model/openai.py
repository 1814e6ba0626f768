"""Models with the OpenAI-compatible chat completions API: OpenAI and the many compatible providers."""

import asyncio
import json
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from operator import is_
from typing import Any, Protocol

import aiohttp
import httpx

from core.clock import Clock
from core.errors import ModelFault, ModelMisconfigured, ModelRejected, ModelReplyInvalid, ModelUnavailable
from core.model.base import ModelReply, ModelRequest, ReplyDelta, ToolSpec, closing
from core.model.lenient_json import as_object, parse
from core.model.openai_messages import Dialect, answered, conversation_messages, options, tool_object
from core.model.openai_reply import PROVIDER, ReplyAssembler
from core.model.provider_errors import model_error, read_error_body, retry_after_s
from core.model.sse import SseParser
from core.off_loop import off_loop
from core.transcript import AssistantSaid, Origin, Said, ToolCalled, ToolResult, UserSaid

# Requests as the JSON that is sent. The parts that an earlier request contained are not written
# again: a conversation grows at its end, and the same few lists of tools are sent repeatedly.

LISTS_KEPT = 32
CONVERSATIONS_LIMIT_CHARS = 4_000_000
"""The limit on all stored JSON together, equal to the limit on transcripts in core.runs.runner."""

_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class RequestTexts:
    """A writer of requests to one model at one host."""

    def __init__(self, *, model: str, host: str) -> None:
        self._model = model
        self._host = host
        self._tools = ToolTexts()
        self._conversations = ConversationTexts()

    def encoded(self, request: ModelRequest, dialect: Dialect, *, stream: bool) -> bytes:
        """Return the body of `POST {base_url}/chat/completions` as UTF-8.

        Lone surrogates, which no provider accepts, become question marks."""
        messages = self._conversations.of(
            request.conversation, MessageWriter(self._model, self._host, dialect)
        )
        system = _json({"role": "system", "content": request.system}) if request.system else ""
        comma = "," if system and messages else ""
        begun = _json(options(request, dialect, model=self._model, stream=stream))[:-1]
        body = f'{begun},"messages":[{system}{comma}{messages}]'.encode("utf-8", "replace")
        if not request.tools:
            return body + b"}"
        return b"".join((body, b',"tools":', self._tools.of(request.tools), b"}"))


class Writer(Protocol):
    """A writer of parts of conversations. It equals any writer that would produce the same text."""

    def written(self, piece: Sequence[Said]) -> str:
        """Return the messages of `piece` in JSON, separated by commas."""
        ...


@dataclass(frozen=True, slots=True)
class MessageWriter:
    """A Writer for one model."""

    model: str
    host: str
    dialect: Dialect

    def written(self, piece: Sequence[Said]) -> str:
        messages = conversation_messages(piece, self._kept)
        if not self.dialect.user_after_tool:
            messages = answered(messages)
        return _json(messages)[1:-1]

    def _kept(self, origin: Origin | None) -> Mapping[str, Any]:
        """Return the data to replay, if this model at this provider left it; empty for any other."""
        if not self.dialect.replay or origin is None or not origin.opaque:
            return {}
        if (origin.provider, origin.model) != (PROVIDER, self.model):
            return {}
        try:
            opaque = as_object(json.loads(origin.opaque))
        except (ValueError, RecursionError):
            return {}
        return opaque if opaque.get("host") == self.host else {}


@dataclass(frozen=True, slots=True)
class _Kept:
    """The beginning of a conversation, and its text in JSON."""

    said: Sequence[Said]
    writer: Writer
    text: str


class ConversationTexts:
    """Conversations as JSON messages, separated by commas.

    Their beginnings are cached; the least recently used are dropped first."""

    def __init__(self, limit_chars: int = CONVERSATIONS_LIMIT_CHARS) -> None:
        self._limit_chars = limit_chars
        self._size_chars = 0
        # Keyed by the identity of the first entry. The entry is held here, so its id stays unique.
        self._kept: OrderedDict[int, _Kept] = OrderedDict()

    def of(self, conversation: Sequence[Said], writer: Writer) -> str:
        """Return the whole conversation as written by `writer`."""
        settled = _settled_length(conversation)
        if not settled:
            return writer.written(conversation)
        known = self._beginning(conversation, settled, writer)
        begun = len(known.said) if known is not None else 0
        middle, rest = conversation[begun:settled], conversation[settled:]
        if not (_stands_alone(middle) and _stands_alone(rest)):
            return writer.written(conversation)
        text = known.text if known is not None else ""
        if middle:
            text = f"{text},{writer.written(middle)}" if text else writer.written(middle)
            self._keep(_Kept(conversation[:settled], writer, text))
        return f"{text},{writer.written(rest)}"

    def _beginning(self, conversation: Sequence[Said], settled: int, writer: Writer) -> _Kept | None:
        kept = self._kept.get(id(conversation[0]))
        if kept is None or kept.writer != writer or len(kept.said) > settled:
            return None
        # Later entries may have been undone and replaced by others.
        if not isinstance(conversation[len(kept.said)], UserSaid):
            return None
        if not all(map(is_, kept.said, conversation)):
            return None
        self._kept.move_to_end(id(conversation[0]))
        return kept

    def _keep(self, kept: _Kept) -> None:
        before = self._kept.pop(id(kept.said[0]), None)
        self._size_chars += len(kept.text) - (len(before.text) if before is not None else 0)
        self._kept[id(kept.said[0])] = kept
        while self._size_chars > self._limit_chars:
            _, dropped = self._kept.popitem(last=False)
            self._size_chars -= len(dropped.text)


def _settled_length(conversation: Sequence[Said]) -> int:
    """Return the length of the part that no later entry is merged into.

    It ends at the newest answer that a person replied to."""
    for place in range(len(conversation) - 1, 0, -1):
        before = conversation[place - 1]
        if isinstance(conversation[place], UserSaid) and isinstance(before, AssistantSaid) and before.text:
            return place
    return 0


def _stands_alone(piece: Sequence[Said]) -> bool:
    """Return whether every result in `piece` belongs to a call in it."""
    called = {said.call_id for said in piece if isinstance(said, ToolCalled)}
    return all(said.call_id in called for said in piece if isinstance(said, ToolResult))


class ToolTexts:
    """Tools as the JSON that is sent."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Sequence[ToolSpec], bytes]] = {}

    def of(self, tools: Sequence[ToolSpec]) -> bytes:
        """Return the tools as a JSON array in UTF-8. The same list object must always hold the same tools."""
        _, text = self._kept.get(id(tools), ((), b""))
        if not text:
            if len(self._kept) >= LISTS_KEPT:
                self._kept.clear()
            text = _json([tool_object(tool) for tool in tools]).encode("utf-8", "replace")
            self._kept[id(tools)] = (tools, text)
        return text


ERROR_LIMIT_BYTES = 64 * 1024
BODY_LIMIT_BYTES = 2 * 1024 * 1024
WHOLE_REPLY_TIMEOUT_S = 600.0
"""The limit without streaming, where nothing arrives until the whole reply is written. OpenAI's own
clients wait as long."""
DRAIN_TIMEOUT_S = 0.25
"""The longest wait, after the end mark, for the end of the body. Only then is the connection reused."""


class OpenAIModel:
    """One model at one provider. It shares `client`, which its creator must close.

    Options that the provider turns out to reject (usage in streams, the old name of the output
    limit, …) are left out from then on. Waiting and retries are left to RetryingModel.
    """

    def __init__(
        self,
        *,
        name: str,
        model: str,
        base_url: str,
        api_key: str,
        client: httpx.AsyncClient,
        clock: Clock,
        stream: bool = True,
    ) -> None:
        """Take a `base_url` that includes `/v1` and an `api_key` that may be empty.

        Raises ValueError if either is unusable."""
        url = httpx.URL(f"{base_url.rstrip('/')}/chat/completions")
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
        self._stream = stream
        self._dialect = Dialect()
        self._texts = RequestTexts(model=model, host=url.host)
        # Complete, so that httpx adds no headers per request.
        host = self._url.netloc.decode("ascii")
        headers = {"Host": host, "Content-Type": "application/json", "User-Agent": "hubbub"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        if stream:  # a gateway that compresses a stream delays its events
            headers |= {"Accept": "text/event-stream", "Accept-Encoding": "identity"}
        self._headers = httpx.Headers(headers, encoding="ascii")

    @property
    def name(self) -> str:
        """The model's name in the configuration."""
        return self._name

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        # Closing the iterator ends the request at the provider.
        assembler = ReplyAssembler(
            name=self._name, model=self._model, host=self._url.host, api_key=self._api_key
        )
        with self._transport_errors():
            async with self._answer(request) as response:
                if self._is_stream(response):
                    async with closing(self._read_stream(response, assembler)) as texts:
                        async for text in texts:
                            yield ReplyDelta(text)
                else:
                    body = await _read_up_to(response, BODY_LIMIT_BYTES + 1)
                    if len(body) > BODY_LIMIT_BYTES:
                        raise ModelReplyInvalid(
                            f"model {self._name}: a reply of over {BODY_LIMIT_BYTES} bytes"
                        )
                    self._refuse_page(body)
                    reply = await off_loop(len(body), partial(parse, body, model=self._name))
                    assembler.add_object(reply)
        yield assembler.finish()

    @asynccontextmanager
    async def _answer(self, request: ModelRequest) -> AsyncGenerator[httpx.Response]:
        """Return the successful answer to the request, its body unread. Raises ModelError for any other."""
        dialect = self._dialect
        while True:
            response = await self._post(request, dialect)
            try:
                if response.status_code == 200:
                    yield response
                    return
                error = read_error_body(response.status_code, await _read_up_to(response, ERROR_LIMIT_BYTES))
            finally:
                await response.aclose()
            adapted = dialect.after(error)
            if adapted is None:
                wait_s = retry_after_s(response.headers, self._clock)
                raise model_error(error, model=self._name, api_key=self._api_key, retry_after_s=wait_s)
            self._dialect = dialect = adapted

    async def _post(self, request: ModelRequest, dialect: Dialect) -> httpx.Response:
        timeout = self._client.timeout.as_dict()
        if not self._stream:
            timeout |= {"read": WHOLE_REPLY_TIMEOUT_S}
        content = self._texts.encoded(request, dialect, stream=self._stream)
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
        return await self._client.send(sent, stream=True)

    def _is_stream(self, response: httpx.Response) -> bool:
        """Return whether the answer is a stream. Some servers send one piece although a stream was
        requested, most often for errors."""
        return self._stream and "json" not in response.headers.get("content-type", "")

    async def _read_stream(self, response: httpx.Response, assembler: ReplyAssembler) -> AsyncIterator[str]:
        """Yield the text of the reply as it arrives, joining text that arrived together."""
        parser, begun = SseParser(), False
        async with closing(_pieces(response)) as chunks:
            async for chunk in chunks:
                if not begun:
                    self._refuse_page(chunk)
                begun = True
                texts = [await off_loop(len(one), partial(assembler.add, one)) for one in parser.feed(chunk)]
                text = "".join(texts)
                if text:
                    yield text
                if assembler.done:
                    break
            await _drain(chunks)

    def _refuse_page(self, begun: bytes) -> None:
        """Raise ModelMisconfigured if a body begins as a web page does, such as a login's."""
        if begun.lstrip().startswith(b"<"):
            what = f"model {self._name}: a web page came in place of a reply; check base_url"
            raise ModelMisconfigured(what, ModelFault.ADDRESS)

    @contextmanager
    def _transport_errors(self) -> Generator[None]:
        """Raise any failure between the hub and the provider as a ModelError."""
        try:
            yield
        except httpx.UnsupportedProtocol as error:
            raise ModelRejected(f"model {self._name}: base_url is not usable: {error}") from error
        except (httpx.RequestError, aiohttp.ClientError, TimeoutError, OSError) as error:
            what = str(error) or "timed out"
            raise ModelUnavailable(f"model {self._name}: {type(error).__name__}: {what}") from error


def _pieces(response: httpx.Response) -> AsyncIterator[bytes]:
    """Return the body as it arrives. An uncompressed body bypasses httpx's decoders, which cost as much
    as the reading."""
    stream = response.stream
    if "content-encoding" not in response.headers and isinstance(stream, httpx.AsyncByteStream):
        return aiter(stream)
    return response.aiter_bytes()


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read to the end of the body if it is near. Only then is the connection reused."""
    try:
        async with asyncio.timeout(DRAIN_TIMEOUT_S):
            async for _ in chunks:
                pass
    except (TimeoutError, httpx.RequestError):
        pass  # the reply is complete; the connection is abandoned


async def _read_up_to(response: httpx.Response, limit_bytes: int) -> bytes:
    parts: list[bytes] = []
    size_bytes = 0
    async with closing(response.aiter_bytes()) as chunks:
        async for chunk in chunks:
            parts.append(chunk)
            size_bytes += len(chunk)
            if size_bytes >= limit_bytes:
                break
    return b"".join(parts)[:limit_bytes]
