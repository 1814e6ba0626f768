"""One bot's requests to Slack's Web API, through slack_sdk. Every method raises ChannelError, nothing else.

The SDK's own retries are off: it repeats requests whose connection broke, and a message may have been taken
by then.
"""

import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from channels.slack.errors import channel_error
from channels.slack.inbound import Account
from core.errors import AttachmentTooLarge, MessageRejected, Unanswered, Unavailable

TIMEOUT_S: Final = 20
CONNECTIONS: Final = 100
FILE_TIMEOUT_S: Final = 120.0
METADATA_TYPE: Final = "hubbub_outbox"
PAGE: Final = 200
"""Slack advises at most 200 messages or conversations a page."""

T = TypeVar("T")
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sent:
    """Where a message is shown: the channel may be another than asked for, when that was a person."""

    channel: str
    ts: str


class SlackClient:
    """`web` is shared with the socket, which asks for its address with another token."""

    def __init__(self, bot_token: str, api_base_url: str, tls: ssl.SSLContext | None) -> None:
        self._token = bot_token
        self._base_url = api_base_url
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None
        self._web: AsyncWebClient | None = None

    @property
    def web(self) -> AsyncWebClient:
        """The SDK's client, on connections of its own; made in the event loop that uses it."""
        if self._web is None:
            connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=self._tls or True)
            timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
            self._session = aiohttp.ClientSession(
                connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()
            )
            self._web = AsyncWebClient(
                self._token,
                base_url=self._base_url,
                timeout=TIMEOUT_S,
                ssl=self._tls,
                session=self._session,
                retry_handlers=[],
            )
        return self._web

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    # --- who and where -----------------------------------------------------------------------------------
    async def account(self) -> Account:
        """Who we are."""
        said = await self._call("auth.test")
        return self._read(lambda: Account(said["team_id"], said["user_id"], said.get("bot_id") or ""))

    async def person(self, user_id: str) -> str:
        """A person's name as others see it."""
        said = await self._look("users.info", user=user_id)

        def name() -> str:
            user = cast("Json", said["user"])
            profile = cast("Json", user.get("profile") or {})
            return str(profile.get("display_name") or user.get("real_name") or user.get("name") or user_id)

        return self._read(name)

    async def conversations(self, limit: int) -> Sequence[str]:
        """Ids of the conversations the bot is in, at most so many."""
        found: list[str] = []
        cursor = ""
        while len(found) < limit:
            said = await self._look(
                "users.conversations",
                types="im,mpim,public_channel,private_channel",
                exclude_archived="true",
                limit=PAGE,
                cursor=cursor,
            )
            found += self._read(lambda said=said: [str(one["id"]) for one in said["channels"]])
            cursor = _cursor(said)
            if not cursor:
                break
        return found[:limit]

    # --- messages ----------------------------------------------------------------------------------------
    async def post(self, channel: str, thread_ts: str | None, content: Json, nonce: str) -> Sent:
        """chat.postMessage, marked with the nonce so that it can be found again."""
        metadata = {"event_type": METADATA_TYPE, "event_payload": {"nonce": nonce}}
        said = await self._call(
            "chat.postMessage",
            **content,
            channel=channel,
            metadata=metadata,
            unfurl_links=False,
            unfurl_media=False,
            **_thread(thread_ts),
        )
        return self._read(lambda: Sent(str(said["channel"]), str(said["ts"])))

    async def update(self, channel: str, ts: str, content: Json) -> None:
        """chat.update."""
        await self._call("chat.update", channel=channel, ts=ts, **content)

    async def delete(self, channel: str, ts: str) -> bool:
        """chat.delete; False if Slack does not let us (gone, not ours)."""
        try:
            await self._call("chat.delete", channel=channel, ts=ts)
        except MessageRejected:
            return False
        return True

    async def whisper(self, channel: str, thread_ts: str | None, user_id: str, text: str) -> None:
        """chat.postEphemeral: seen by that person alone, until they reload."""
        await self._call("chat.postEphemeral", channel=channel, user=user_id, text=text, **_thread(thread_ts))

    async def history(
        self, channel: str, *, oldest: str, thread_ts: str | None = None, limit: int, metadata: bool = False
    ) -> Sequence[Json]:
        """Messages of a conversation, or of one of its threads, newer than `oldest`, oldest first.

        Of more than `limit` the oldest are left out.
        """
        pages: list[Json] = []
        cursor = ""
        while len(pages) < limit:
            said = await self._look(
                "conversations.history" if thread_ts is None else "conversations.replies",
                channel=channel,
                oldest=oldest,
                limit=PAGE,
                cursor=cursor,
                include_all_metadata="true" if metadata else "false",
                **({"ts": thread_ts} if thread_ts is not None else {}),
            )
            pages += self._read(lambda said=said: list(said["messages"]))
            cursor = _cursor(said)
            if not cursor:
                break
        newer = [message for message in pages if str(message.get("ts", "")) > oldest]
        return sorted(newer, key=lambda message: str(message.get("ts", "")))[-limit:]

    # --- files -------------------------------------------------------------------------------------------
    async def upload(self, channel: str, thread_ts: str | None, name: str, content: bytes) -> str:
        """Show a file in a conversation; returns its id."""
        asked = await self._look("files.getUploadURLExternal", filename=name, length=len(content))
        url, file_id = self._read(lambda: (str(asked["upload_url"]), str(asked["file_id"])))
        session = await self._opened()
        try:
            async with session.post(
                url, data=content, timeout=aiohttp.ClientTimeout(total=FILE_TIMEOUT_S)
            ) as answer:
                if answer.status != 200:
                    raise MessageRejected(f"Slack refuses the file (HTTP {answer.status})")
        except (aiohttp.ClientError, TimeoutError) as error:
            # Nobody sees it yet: what is uploaded and never completed is dropped.
            raise Unavailable(f"the file could not be uploaded ({type(error).__name__})") from error
        await self._call(
            "files.completeUploadExternal",
            files=[{"id": file_id, "title": name}],
            channel_id=channel,
            **_thread(thread_ts),
        )
        return file_id

    async def delete_file(self, file_id: str) -> bool:
        """files.delete; False if Slack does not let us."""
        try:
            await self._call("files.delete", file=file_id)
        except MessageRejected:
            return False
        return True

    async def download(self, url: str, limit_bytes: int) -> bytes:
        """A file people sent: Slack gives it to who brings the bot's token."""
        session = await self._opened()
        headers = {"Authorization": f"Bearer {self._token}"}
        timeout = aiohttp.ClientTimeout(total=FILE_TIMEOUT_S)
        try:
            async with session.get(url, headers=headers, timeout=timeout, allow_redirects=False) as answer:
                if answer.status != 200:
                    raise MessageRejected(f"Slack does not give the file (HTTP {answer.status})")
                content = bytearray()
                async for piece in answer.content.iter_chunked(64 * 1024):
                    content += piece
                    if len(content) > limit_bytes:
                        raise AttachmentTooLarge(f"the file has more than {limit_bytes} bytes")
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Unanswered(f"the file could not be fetched ({type(error).__name__})") from error
        return bytes(content)

    # --- inside ------------------------------------------------------------------------------------------
    async def _opened(self) -> aiohttp.ClientSession:
        _ = self.web
        assert self._session is not None  # noqa: S101 - made with the client
        return self._session

    async def _call(self, method: str, **arguments: Any) -> Json:
        """A method that takes JSON."""
        return await self._ask(method, json=arguments)

    async def _look(self, method: str, **arguments: Any) -> Json:
        """A method that takes its arguments in the address, as those that only look do."""
        return await self._ask(method, http_verb="GET", params=arguments)

    async def _ask(self, method: str, **how: Any) -> Json:
        web = cast("Any", self.web)
        try:
            return cast("Json", await web.api_call(method, **how))
        except Exception as error:  # told apart there; what is no error of a request is raised again
            raise channel_error(error) from None  # its own text may hold the token

    def _read(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Unanswered("Slack's answer could not be read") from error


def _cursor(said: Json) -> str:
    more = said.get("response_metadata")
    return str(cast("Json", more).get("next_cursor") or "") if isinstance(more, Mapping) else ""


def _thread(thread_ts: str | None) -> dict[str, str]:
    return {} if thread_ts is None else {"thread_ts": thread_ts}
