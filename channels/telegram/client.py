"""Requests to the Bot API through python-telegram-bot's `Bot`, on aiohttp connections.

Parameters and results remain plain JSON. Building and parsing the library's objects costs more than
the rest of a request, and incoming updates are validated in `inbound` anyway.
"""

import ssl
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, cast

import aiohttp
import httpx
from telegram import Bot, InputFile
from telegram.error import NetworkError, TelegramError, TimedOut
from telegram.request import BaseRequest, RequestData
from telegram.warnings import PTBUserWarning

from channels.telegram.addresses import Account, GroupRights, Timeouts
from channels.telegram.errors import AnswerTooLarge, channel_error
from channels.telegram.inbound import ALLOWED_UPDATES, DOWNLOAD_LIMIT_BYTES
from channels.telegram.outbound import UploadMethod
from core.errors import AttachmentTooLarge, MessageRejected, Unanswered
from core.off_loop import json_encoder

# The connection of python-telegram-bot's `Bot` to Telegram, directly through aiohttp.
#
# Using httpx in between, as a client or only for the shape of requests and answers, costs as much
# as the request itself and brings nothing that the Bot API has.

KEEP_ALIVE_S: Final = 30.0
JSON: Final = "application/json"
BODY: Final = "body"
"""The name of a parameter that is the whole body of a request. The library encodes each of several
parameters for itself, after searching it for files."""

ANSWER_LIMIT_BYTES: Final = 512 * 1024
"""The limit on a parsed answer. One update stays far below it.

Its text has at most 4,096 characters and 100 entities, as does the message it replies to, and each
character takes at most twelve bytes of JSON. With all other fields that is less than 200 kB. A
hundred updates together may be larger; they are requested in parts."""

_UPDATE_ID: Final = b'"update_id"'
"""The key as it appears in an answer. Inside a text, the quotes would be escaped."""
_UPDATE_ID_BYTES: Final = 64
"""The number of bytes examined from the key on. The id has at most 16 digits."""


@dataclass(frozen=True, slots=True)
class RequestTimeouts:
    """The timeouts of a request.

    `pool_s`: for a free connection and for connecting, together.
    `read_s`: of silence."""

    connect_s: float
    pool_s: float
    read_s: float


class OverSize(TelegramError):
    """An answer with more bytes than are read. `update_id`: of the first update in it, if there is one."""

    __slots__ = ("update_id",)

    def __init__(self, limit_bytes: int, update_id: int | None = None) -> None:
        super().__init__(f"more than {limit_bytes:,} bytes")
        self.update_id = update_id


class BotRequest(BaseRequest):
    """python-telegram-bot's network port, on aiohttp.

    Raises OverSize, and TimedOut and NetworkError with aiohttp's error as their cause.
    `tls`: shared with other clients, because creating one takes tens of milliseconds.
    """

    __slots__ = (
        "_answer_date",
        "_connections",
        "_headers",
        "_json_headers",
        "_limits",
        "_session",
        "_timeouts",
        "_tls",
    )

    def __init__(self, tls: ssl.SSLContext, connections: int, timeouts: RequestTimeouts) -> None:
        self._tls = tls
        self._connections = connections
        self._timeouts = timeouts
        self._answer_date: str | None = None
        self._headers = {"User-Agent": self.USER_AGENT}
        self._json_headers = {**self._headers, "Content-Type": JSON}
        self._limits = aiohttp.ClientTimeout(
            sock_read=timeouts.read_s, sock_connect=timeouts.connect_s, connect=timeouts.pool_s
        )
        self._session: aiohttp.ClientSession | None = None

    @property
    def read_timeout(self) -> float | None:
        """The seconds of silence after which a request is abandoned."""
        return self._timeouts.read_s

    @property
    def answer_date(self) -> str | None:
        """The time of the newest answer by Telegram's clock, as an HTTP date."""
        return self._answer_date

    async def initialize(self) -> None:
        """Do nothing: connections are opened when needed."""

    async def shutdown(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        *_: Any,
        **__: Any,
    ) -> tuple[int, bytes]:
        """Return the status and the body of the answer. The timeouts are this object's own."""
        headers, body = self._payload(request_data)
        try:
            async with self._opened().request(
                method, url, headers=headers, data=body, timeout=self._limits, allow_redirects=False
            ) as response:
                content = await (_answer if method == "POST" else _file)(response.content)
        except TimeoutError as error:
            raise TimedOut from error
        except (aiohttp.ClientError, OSError) as error:  # its text may quote the URL, and so the token
            raise NetworkError(type(error).__name__) from error
        self._answer_date = response.headers.get("Date")
        return response.status, content

    def _opened(self) -> aiohttp.ClientSession:
        """Open the session at the first request, because it belongs to the running event loop."""
        if self._session is None:
            connector = aiohttp.TCPConnector(
                ssl=self._tls, limit=self._connections, keepalive_timeout=KEEP_ALIVE_S
            )
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        return self._session

    def _payload(self, data: RequestData | None) -> tuple[dict[str, str], bytes | aiohttp.FormData | None]:
        """Return headers and body: a form if there are files, else JSON."""
        if data is None:
            return self._headers, None
        if not data.contains_files:
            body = data.parameters.get(BODY)
            return self._json_headers, data.json_payload if body is None else cast("str", body).encode()
        form = aiohttp.FormData(data.json_parameters)
        for field, (name, content, media_type) in data.multipart_data.items():
            form.add_field(field, content, filename=name, content_type=media_type)
        return self._headers, form


async def _answer(stream: aiohttp.StreamReader) -> bytes:
    """Return the whole body. An oversized one is not parsed, but its bytes are searched for the first id."""
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
    """Return the content. If it exceeds the limit, at least one byte more than the limit is returned."""
    pieces: list[bytes] = []
    size_bytes = 0
    while size_bytes <= limit_bytes and (piece := await stream.readany()):
        pieces.append(piece)
        size_bytes += len(piece)
    return b"".join(pieces)


SEND_CONNECTIONS: Final = 256

GET_ME: Final = "getMe"
GET_UPDATES: Final = "getUpdates"
DELETE_WEBHOOK: Final = "deleteWebhook"
SET_WEBHOOK: Final = "setWebhook"
GET_WEBHOOK_INFO: Final = "getWebhookInfo"
GET_MY_COMMANDS: Final = "getMyCommands"
SET_MY_COMMANDS: Final = "setMyCommands"
SEND_MESSAGE: Final = "sendMessage"
EDIT_MESSAGE_TEXT: Final = "editMessageText"
EDIT_MESSAGE_CAPTION: Final = "editMessageCaption"
EDIT_MESSAGE_REPLY_MARKUP: Final = "editMessageReplyMarkup"
DELETE_MESSAGE: Final = "deleteMessage"
CREATE_FORUM_TOPIC: Final = "createForumTopic"
SEND_CHAT_ACTION: Final = "sendChatAction"
SET_MESSAGE_REACTION: Final = "setMessageReaction"
ANSWER_CALLBACK_QUERY: Final = "answerCallbackQuery"

# The library recommends its typed methods at each call of these. They build and parse its objects,
# which takes 0.18 ms per message and reply, a tenth of what the hub needs for both.
warnings.filterwarnings("ignore", "Please use 'Bot\\.", PTBUserWarning)


class EditRefusal(Enum):
    """The reason an edit changed nothing: identical content, or no editable message of ours."""

    NOT_MODIFIED = "not modified"
    NOT_EDITABLE = "not editable"


class BotClient:
    """The requests of one bot. Every method raises only ChannelError.

    `tls`: shared with other clients, because creating one takes tens of milliseconds.
    """

    def __init__(
        self, token: str, api_base_url: str, timeouts: Timeouts, tls: ssl.SSLContext | None = None
    ) -> None:
        base_url = api_base_url.rstrip("/")
        plain_http = base_url.lower().startswith("http:")  # needs no certificates, which are slow to load
        tls = tls or httpx.create_ssl_context(verify=not plain_http)
        connect_s = timeouts.connect_s
        polling = BotRequest(tls, 1, RequestTimeouts(connect_s, connect_s, timeouts.poll_read_s))
        sending = BotRequest(tls, SEND_CONNECTIONS, RequestTimeouts(connect_s, connect_s, timeouts.read_s))
        self._requests = (polling, sending)
        self._poll_s = timeouts.poll_s
        self._bot = Bot(
            token,
            base_url=f"{base_url}/bot",
            base_file_url=f"{base_url}/file/bot",
            get_updates_request=polling,
            request=sending,
        )

    async def me(self) -> Account:
        """Return the bot's account."""
        me = await self._call(GET_ME)
        try:
            return Account(int(me["id"]), str(me.get("username", "")), GroupRights.read(me))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Unanswered("could not read Telegram's response about the bot") from error

    @property
    def answer_date(self) -> str | None:
        """The time of Telegram's last answer other than to a poll, by its clock, as an HTTP date."""
        return self._requests[1].answer_date

    async def updates(self, offset: int | None, most: int) -> list[object]:
        """Wait for updates for up to one poll, and confirm all before `offset`. Raises AnswerTooLarge."""
        params: dict[str, object] = {
            "timeout": self._poll_s,
            "limit": most,
            "allowed_updates": list(ALLOWED_UPDATES),
        }
        if offset is not None:
            params["offset"] = offset
        updates = await self._call(GET_UPDATES, params)
        if not isinstance(updates, list):
            raise Unanswered("could not read Telegram's response with updates")
        return cast("list[object]", updates)

    async def delete_webhook(self) -> None:
        """Switch to polling. No updates are dropped."""
        await self._call(DELETE_WEBHOOK)

    async def set_webhook(self, url: str, secret: str, allowed_updates: Sequence[str]) -> None:
        """Have updates delivered to `url`, with the secret in a header. No updates are dropped."""
        params = {"url": url, "secret_token": secret, "allowed_updates": list(allowed_updates)}
        await self._call(SET_WEBHOOK, params)

    async def webhook(self) -> tuple[str, list[str], str | None]:
        """Return the URL that receives updates ("" if none), their kinds, and the last delivery error."""
        info = await self._call(GET_WEBHOOK_INFO)
        try:
            return str(info["url"]), list(info.get("allowed_updates", ())), info.get("last_error_message")
        except (KeyError, TypeError, AttributeError) as error:
            raise Unanswered("could not read Telegram's response about the webhook") from error

    async def send(self, params: Mapping[str, object]) -> int:
        """Send a message (sendMessage) and return its id."""
        message = await self._call(SEND_MESSAGE, params)
        try:
            return int(message["message_id"])
        except (KeyError, TypeError, ValueError) as error:
            raise Unanswered("could not read Telegram's response to a message") from error

    async def upload(
        self, params: Mapping[str, object], method: UploadMethod, content: bytes, name: str, media_type: str
    ) -> int:
        """Send a file (sendPhoto or sendDocument) and return the message's id."""
        file = InputFile(content, filename=name)
        file.mimetype = media_type
        message = await self._call(method.method, params, {method.field: file})
        try:
            return int(message["message_id"])
        except (KeyError, TypeError, ValueError) as error:
            raise Unanswered("could not read Telegram's response to a file") from error

    async def edit(self, params: Mapping[str, object]) -> None:
        """Edit a message (editMessageText). Identical content is a success."""
        try:
            await self._call(EDIT_MESSAGE_TEXT, params)
        except MessageRejected as error:
            if "message is not modified" not in str(error).lower():
                raise

    async def try_edit(self, method: str, params: Mapping[str, object]) -> Mapping[str, object] | EditRefusal:
        """Call an edit method. Returns the changed message, or why nothing was changed."""
        try:
            message = await self._call(method, params)
        except MessageRejected as error:
            same = "message is not modified" in str(error).lower()
            return EditRefusal.NOT_MODIFIED if same else EditRefusal.NOT_EDITABLE
        if not isinstance(message, Mapping):
            raise Unanswered("could not read Telegram's response to an edit")
        return cast("Mapping[str, object]", message)

    async def open_topic(self, chat_id: int, name: str) -> int:
        """Open a topic (createForumTopic) and return its id.

        Raises MessageRejected if there are no topics or the bot may not open one."""
        topic = await self._call(CREATE_FORUM_TOPIC, {"chat_id": chat_id, "name": name})
        try:
            return int(topic["message_thread_id"])
        except (KeyError, TypeError, ValueError) as error:
            raise Unanswered("could not read Telegram's response about the topic") from error

    async def typing(self, params: Mapping[str, object]) -> None:
        """Show a typing indicator (sendChatAction) for five seconds, or until a message arrives."""
        await self._call(SEND_CHAT_ACTION, {**params, "action": "typing"})

    async def react(self, chat_id: int, message_id: int, emoji: str) -> None:
        """React to a message (setMessageReaction), replacing any earlier reaction of ours."""
        reaction = [{"type": "emoji", "emoji": emoji}]
        await self._call(
            SET_MESSAGE_REACTION, {"chat_id": chat_id, "message_id": message_id, "reaction": reaction}
        )

    async def delete(self, chat_id: int, message_id: int) -> bool:
        """Delete a message (deleteMessage). Returns False if Telegram does not allow it (too old, gone, not
        ours)."""
        try:
            await self._call(DELETE_MESSAGE, {"chat_id": chat_id, "message_id": message_id})
        except MessageRejected:
            return False
        return True

    async def answer_press(self, query_id: str, text: str | None, *, alert: bool) -> None:
        """Answer a button press (answerCallbackQuery), which ends the button's waiting state, with a text if
        given."""
        params: dict[str, object] = {"callback_query_id": query_id}
        if text:
            params |= {"text": text, "show_alert": alert}
        await self._call(ANSWER_CALLBACK_QUERY, params)

    async def commands(self) -> list[tuple[str, str]]:
        """Return the current menu: names and descriptions."""
        commands = await self._call(GET_MY_COMMANDS)
        try:
            return [(command["command"], command["description"]) for command in commands]
        except (KeyError, TypeError) as error:
            raise Unanswered("could not read Telegram's response with the menu") from error

    async def set_commands(self, commands: Sequence[tuple[str, str]]) -> None:
        """Replace the menu."""
        menu = [{"command": name, "description": description} for name, description in commands]
        await self._call(SET_MY_COMMANDS, {"commands": menu})

    async def download(self, file_id: str, limit_bytes: int) -> bytes:
        """Download a received file. Telegram itself provides none over 20 MB."""
        try:
            file = await self._bot.get_file(file_id)
            if (file.file_size or 0) > limit_bytes:
                raise AttachmentTooLarge(f"the file has {file.file_size} bytes; the limit is {limit_bytes}")
            content = bytes(await file.download_as_bytearray())
        except TelegramError as error:
            if isinstance(error, OverSize) or "file is too big" in error.message.lower():
                raise AttachmentTooLarge("Telegram does not let bots download a file this large") from None
            raise channel_error(error) from None
        if len(content) > limit_bytes:
            raise AttachmentTooLarge(f"the file has {len(content)} bytes; the limit is {limit_bytes}")
        return content

    async def close(self) -> None:
        """Close all connections."""
        for request in self._requests:
            await request.shutdown()

    async def _call(
        self,
        method: str,
        params: Mapping[str, object] | None = None,
        files: Mapping[str, InputFile] | None = None,
    ) -> Any:
        written = _written(params) if params else {}
        asked = {**written, **files} if files else {BODY: _body(written)} if written else None
        try:
            return await self._bot.do_api_request(method, asked)
        except OverSize as error:
            raise AnswerTooLarge(error.message, error.update_id) from None
        except TelegramError as error:
            raise channel_error(error) from None  # its own text may contain the token
        except (KeyError, TypeError, AttributeError, RecursionError) as error:  # JSON, but not as documented
            raise Unanswered("could not read Telegram's response") from error


_body = json_encoder()
_json = json_encoder(ensure_ascii=False)


def _written(params: Mapping[str, object]) -> dict[str, str]:
    """Return the parameters as the Bot API takes them: texts, or JSON. Those that are None are left out."""
    return {
        name: value if isinstance(value, str) else _json(value)
        for name, value in params.items()
        if value is not None
    }
