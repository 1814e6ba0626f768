"""How python-telegram-bot's `Bot` reaches Telegram: straight through aiohttp's connections.

httpx between the two, as a client or only as the shape of requests and answers, costs as much as the request
itself and brings nothing that the Bot API has.
"""

import ssl
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
from telegram.error import NetworkError, TelegramError, TimedOut
from telegram.request import BaseRequest, RequestData

from channels.telegram.content import DOWNLOAD_LIMIT_BYTES

KEEP_ALIVE_S: Final = 30.0
JSON: Final = "application/json"

ANSWER_LIMIT_BYTES: Final = 512 * 1024
"""Of an answer that is parsed. One update stays far below: its text has at most 4,096 characters and 100
entities, and so has the message it replies to, each character at most twelve bytes of JSON; with every other
field that makes less than 200 kB. A hundred updates may be larger together; they are asked for in parts."""

_UPDATE_ID: Final = b'"update_id"'
"""Within a text the quotes would have a backslash before them."""
_UPDATE_ID_BYTES: Final = 64
"""So much is looked at from there on: the id has 16 digits at most."""


@dataclass(frozen=True, slots=True)
class RequestTimeouts:
    """`pool_s`: for a place among the connections and connecting altogether; `read_s`: of silence."""

    connect_s: float
    pool_s: float
    read_s: float


class OverSize(TelegramError):
    """An answer had more bytes than are read. `update_id`: of the first update in it, if there is one."""

    __slots__ = ("update_id",)

    def __init__(self, limit_bytes: int, update_id: int | None = None) -> None:
        super().__init__(f"more than {limit_bytes:,} bytes")
        self.update_id = update_id


class BotRequest(BaseRequest):
    """Implements python-telegram-bot's port to the network. Raises TimedOut and NetworkError, their cause
    being aiohttp's error, and OverSize.

    `tls`: shared with other clients, since making one takes tens of milliseconds.
    """

    __slots__ = ("_answer_date", "_connections", "_headers", "_session", "_timeouts", "_tls")

    def __init__(self, tls: ssl.SSLContext, connections: int, timeouts: RequestTimeouts) -> None:
        self._tls = tls
        self._connections = connections
        self._timeouts = timeouts
        self._answer_date: str | None = None
        self._headers = {"User-Agent": self.USER_AGENT}
        self._session: aiohttp.ClientSession | None = None

    @property
    def read_timeout(self) -> float | None:
        """Seconds of silence after which an answer is given up."""
        return self._timeouts.read_s

    @property
    def answer_date(self) -> str | None:
        """When the newest answer was given, by Telegram's clock: an HTTP date."""
        return self._answer_date

    async def initialize(self) -> None:
        """Nothing to do: connections are made when they are needed."""

    async def shutdown(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: Any = BaseRequest.DEFAULT_NONE,
        write_timeout: Any = BaseRequest.DEFAULT_NONE,  # noqa: ARG002 - aiohttp has none
        connect_timeout: Any = BaseRequest.DEFAULT_NONE,
        pool_timeout: Any = BaseRequest.DEFAULT_NONE,
    ) -> tuple[int, bytes]:
        """See BaseRequest: the status and the body of the answer."""
        own = self._timeouts
        limits = aiohttp.ClientTimeout(
            sock_read=_seconds(read_timeout, own.read_s),
            sock_connect=_seconds(connect_timeout, own.connect_s),
            connect=_seconds(pool_timeout, own.pool_s),
        )
        headers, body = self._payload(request_data)
        try:
            async with self._opened().request(
                method, url, headers=headers, data=body, timeout=limits, allow_redirects=False
            ) as response:
                content = await (_answer if method == "POST" else _file)(response.content)
        except TimeoutError as error:
            raise TimedOut from error
        except (aiohttp.ClientError, OSError) as error:  # its text may quote the address, and so the token
            raise NetworkError(type(error).__name__) from error
        self._answer_date = response.headers.get("Date")
        return response.status, content

    def _opened(self) -> aiohttp.ClientSession:
        """Made at the first request: a session belongs to the running event loop."""
        if self._session is None:
            connector = aiohttp.TCPConnector(
                ssl=self._tls, limit=self._connections, keepalive_timeout=KEEP_ALIVE_S
            )
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        return self._session

    def _payload(self, data: RequestData | None) -> tuple[dict[str, str], bytes | aiohttp.FormData | None]:
        """Headers and body: a form if there are files, else JSON."""
        if data is None:
            return self._headers, None
        files = data.multipart_data
        if not files:
            return {**self._headers, "Content-Type": JSON}, data.json_payload
        form = aiohttp.FormData(data.json_parameters)
        for field, (name, content, media_type) in files.items():
            form.add_field(field, content, filename=name, content_type=media_type)
        return self._headers, form


async def _answer(stream: aiohttp.StreamReader) -> bytes:
    """The whole body. Of one that is over its size nothing is parsed: the first id is looked for in the bytes
    as they come."""
    content = await _up_to(ANSWER_LIMIT_BYTES, stream)
    if len(content) <= ANSWER_LIMIT_BYTES:
        return content
    while (update_id := _first_update_id(content)) is None:
        if not (piece := await stream.readany()):
            break
        content = content[-_UPDATE_ID_BYTES:] + piece
    raise OverSize(ANSWER_LIMIT_BYTES, update_id)


def _first_update_id(content: bytes) -> int | None:
    at = content.find(_UPDATE_ID)
    if at < 0:
        return None
    said = content[at + len(_UPDATE_ID) : at + _UPDATE_ID_BYTES].lstrip(b" :")
    number = said.removesuffix(said.lstrip(b"0123456789"))
    return int(number) if number and len(number) < len(said) else None  # the number may be cut off


async def _file(stream: aiohttp.StreamReader) -> bytes:
    content = await _up_to(DOWNLOAD_LIMIT_BYTES, stream)
    if len(content) > DOWNLOAD_LIMIT_BYTES:
        raise OverSize(DOWNLOAD_LIMIT_BYTES)
    return content


async def _up_to(limit_bytes: int, stream: aiohttp.StreamReader) -> bytes:
    """What there is; of what is over the limit, at least one byte more than it."""
    pieces: list[bytes] = []
    size_bytes = 0
    while size_bytes <= limit_bytes and (piece := await stream.readany()):
        pieces.append(piece)
        size_bytes += len(piece)
    return b"".join(pieces)


def _seconds(asked: Any, own: float) -> float | None:
    """What the caller of a Bot method asked for: a number, None for no limit, or the library's mark for
    "nothing"."""
    return asked if asked is None or isinstance(asked, (int, float)) else own
