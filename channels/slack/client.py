"""One bot's requests to Slack's Web API, through slack_sdk. Every method raises only ChannelError: errors are
separated by whether Slack accepted the request.

The SDK's own retries are off: it repeats requests after a broken connection, although Slack may
already have accepted the message.
"""

import asyncio
import logging
import math
import ssl
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar, cast

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from channels.channel import request_error, wait_s
from channels.slack.inbound import Account
from core.errors import (
    AddressGone,
    AuthRejected,
    ChannelError,
    MessageRejected,
    RateLimited,
    Unanswered,
    Unavailable,
)
from core.off_loop import ON_LOOP_CHARS, json_with_breaks

_AUTH = frozenset(
    {
        "account_inactive",
        "invalid_auth",
        "no_permission",
        "not_allowed_token_type",
        "not_authed",
        "org_login_required",
        "team_access_not_granted",
        "token_expired",
        "token_revoked",
    }
)
_GONE = frozenset(
    {
        "cannot_dm_bot",
        "channel_not_found",
        "is_archived",
        "message_not_found_in_thread",
        "messages_tab_disabled",
        "not_in_channel",
        "restricted_action",
        "restricted_action_read_only_channel",
        "restricted_action_thread_locked",
        "thread_not_found",
        "user_disabled",
        "user_not_found",
    }
)
_DOWN = frozenset({"service_unavailable", "team_added_to_org", "accesslimited"})
_DOUBTFUL = frozenset({"fatal_error", "internal_error", "request_timeout"})
"""Errors after which, according to Slack, part of the request may have been carried out."""

FAILURES = (SlackClientError, aiohttp.ClientError, TimeoutError, OSError, KeyError, TypeError, ValueError)
"""The errors that a request or connection can raise. Any other is a defect of the hub."""


class Declined(MessageRejected):
    """A refusal that the caller can handle. `code` is Slack's error code."""

    def __init__(self, code: str) -> None:
        super().__init__(f"Slack: {code}")
        self.code = code


def channel_error(error: Exception, declines: Container[str] = ()) -> ChannelError:
    """Return the hub's error for a failed request. `declines`: error codes that become Declined."""
    return _refused(error, declines) if isinstance(error, SlackApiError) else request_error(error, "Slack")


def _refused(error: SlackApiError, declines: Container[str]) -> ChannelError:
    response = cast("Any", error.response)
    status = int(getattr(response, "status_code", None) or getattr(response, "status", None) or 0)
    headers = cast("Mapping[str, str]", getattr(response, "headers", None) or {})
    data = cast("object", getattr(response, "data", None))
    body: Mapping[str, Any] = cast("Mapping[str, Any]", data) if isinstance(data, dict) else {}
    code = str(body.get("error", ""))
    if status == 429 or code in ("ratelimited", "rate_limited"):
        return RateLimited(wait_s(headers))
    if code in declines:
        return Declined(code)
    if code in _AUTH:
        return AuthRejected(f"Slack rejected the token ({code})")
    if code in _GONE:
        return AddressGone(f"Slack: {code}")
    if code in _DOUBTFUL:
        return Unanswered(f"Slack: {code}")
    if code in _DOWN or status >= 500:
        return Unavailable(f"Slack is not available ({code or status})")
    return MessageRejected(f"Slack: {code or f'HTTP {status}'}{_details(body)}")


def _details(body: Mapping[str, Any]) -> str:
    """Return Slack's messages about the blocks it refused."""
    more = body.get("response_metadata")
    said = cast("Mapping[str, Any]", more).get("messages") if isinstance(more, dict) else None
    if not isinstance(said, list):
        return ""
    return f" ({'; '.join(str(line) for line in cast('list[object]', said))[:300]})"


TIMEOUT_S: Final = 20
CONNECTIONS: Final = 100
GROWS: Final = "streaming_state_conflict"
"""The error for a message that cannot be changed because it is still growing and must be stopped
first."""
METADATA_TYPE: Final = "hubbub_outbox"
PAGE: Final = 200
"""The page size. Slack advises at most 200 messages or conversations per page."""

_LOGGER: Final = logging.getLogger("slack_sdk.web.hubbub")
"""The SDK checks only this logger's own level. If none is set, it formats every answer just to discard
it."""
_LOGGER.setLevel(logging.INFO)

T = TypeVar("T")
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sent:
    """The place of a sent message. Its channel differs from the requested one if that was a person."""

    channel: str
    ts: str


class _Response(aiohttp.ClientResponse):
    """A response parsed in a thread if it is large. A page of history has up to 200 messages of 40,000
    characters."""

    async def json(self, **how: Any) -> Any:
        content = await self.read()
        if len(content) <= ON_LOOP_CHARS:
            return await super().json(**how)
        read = partial(json_with_breaks, most_values=math.inf)  # pages of history are not refused
        return await asyncio.to_thread(lambda: read(content.decode("utf-8", "replace")))


class SlackClient:
    """A client of Slack's Web API. `web` is shared with the socket, which requests its address with
    another token."""

    def __init__(self, bot_token: str, api_base_url: str, tls: ssl.SSLContext | None) -> None:
        self._token = bot_token
        self._base_url = api_base_url
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None
        self._web: AsyncWebClient | None = None

    @property
    def web(self) -> AsyncWebClient:
        """The SDK's client with separate connections, created in the event loop that uses it."""
        if self._web is None:
            connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=self._tls or True)
            timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
            self._session = aiohttp.ClientSession(
                connector=connector,
                timeout=timeout,
                cookie_jar=aiohttp.DummyCookieJar(),
                response_class=_Response,
            )
            self._web = AsyncWebClient(
                self._token,
                base_url=self._base_url,
                timeout=TIMEOUT_S,
                ssl=self._tls,
                session=self._session,
                logger=_LOGGER,
                retry_handlers=[],
            )
        return self._web

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    # --- accounts and conversations -------------------------------------------------------------------

    async def account(self) -> Account:
        """Return the bot's account."""
        said = await self.call("auth.test")
        return self.read(lambda: Account(said["team_id"], said["user_id"], said.get("bot_id") or ""))

    async def person(self, user_id: str) -> str:
        """Return a person's name as others see it."""
        said = await self.look("users.info", user=user_id)

        def name() -> str:
            user = cast("Json", said["user"])
            profile = cast("Json", user.get("profile") or {})
            return str(profile.get("display_name") or user.get("real_name") or user.get("name") or user_id)

        return self.read(name)

    async def conversations(self, limit: int) -> Sequence[str]:
        """Return the ids of up to `limit` conversations that the bot is in."""
        found: list[str] = []
        cursor = ""
        while len(found) < limit:
            said = await self.look(
                "users.conversations",
                types="im,mpim,public_channel,private_channel",
                exclude_archived="true",
                limit=PAGE,
                cursor=cursor,
            )
            found += self.read(lambda said=said: [str(one["id"]) for one in said["channels"]])
            cursor = _cursor(said)
            if not cursor:
                break
        return found[:limit]

    async def open_direct(self, user_id: str) -> str:
        """Open the private conversation with a person (conversations.open) and return its id."""
        try:
            said = await self.call("conversations.open", users=user_id)
        except Unanswered as error:  # no message was sent yet, and opening it twice changes nothing
            raise Unavailable(str(error)) from None
        return self.read(lambda: str(said["channel"]["id"]))

    # --- messages ----------------------------------------------------------------------------------------

    async def post(self, channel: str, thread_ts: str | None, content: Json, nonce: str) -> Sent:
        """Post a message (chat.postMessage), marked with the nonce so that it can be found again."""
        said = await self.call(
            "chat.postMessage",
            **content,
            channel=channel,
            metadata=marked(nonce),
            unfurl_links=False,
            unfurl_media=False,
            **in_thread(thread_ts),
        )
        return self.read(lambda: Sent(str(said["channel"]), str(said["ts"])))

    async def update(self, channel: str, ts: str, content: Json) -> None:
        """Update a message (chat.update). Raises Declined while the message grows."""
        await self.call("chat.update", declines=(GROWS,), channel=channel, ts=ts, **content)

    async def delete(self, channel: str, ts: str) -> bool:
        """Delete a message (chat.delete). Returns False if Slack does not allow it (gone, not ours).

        Raises Declined while the message grows."""
        try:
            await self.call("chat.delete", declines=(GROWS,), channel=channel, ts=ts)
        except Declined:
            raise
        except MessageRejected:
            return False
        return True

    async def open_view(self, trigger_id: str, view: Json) -> None:
        """Open a view (views.open). A trigger works once, for 3 s."""
        await self.call("views.open", trigger_id=trigger_id, view=dict(view))

    async def whisper(self, channel: str, thread_ts: str | None, user_id: str, text: str) -> None:
        """Post an ephemeral message (chat.postEphemeral), which only that person sees, until they reload."""
        await self.call(
            "chat.postEphemeral", channel=channel, user=user_id, text=text, **in_thread(thread_ts)
        )

    async def history(
        self, channel: str, *, oldest: str, thread_ts: str | None = None, limit: int, metadata: bool = False
    ) -> Sequence[Json]:
        """Return messages of a conversation or thread that are newer than `oldest`, oldest first.

        Beyond `limit`, the oldest are left out.
        """
        pages: list[Json] = []
        cursor = ""
        while len(pages) < limit:
            said = await self.look(
                "conversations.history" if thread_ts is None else "conversations.replies",
                channel=channel,
                oldest=oldest,
                limit=PAGE,
                cursor=cursor,
                include_all_metadata="true" if metadata else "false",
                **({"ts": thread_ts} if thread_ts is not None else {}),
            )
            pages += self.read(lambda said=said: list(said["messages"]))
            cursor = _cursor(said)
            if not cursor:
                break
        newer = [message for message in pages if str(message.get("ts", "")) > oldest]
        return sorted(newer, key=lambda message: str(message.get("ts", "")))[-limit:]

    # --- any method --------------------------------------------------------------------------------------

    @property
    def session(self) -> aiohttp.ClientSession:
        """The connections for requests outside the Web API."""
        _ = self.web
        assert self._session is not None  # noqa: S101 - made with the client
        return self._session

    @property
    def authorization(self) -> Mapping[str, str]:
        """The header that authenticates the bot."""
        return {"Authorization": f"Bearer {self._token}"}

    async def call(self, method: str, *, declines: Container[str] = (), **arguments: Any) -> Json:
        """Call a method that takes JSON. `declines`: error codes to be raised as Declined."""
        return await self._ask(method, declines, json=arguments)

    async def look(self, method: str, **arguments: Any) -> Json:
        """Call a read-only method, which takes its arguments in the URL."""
        return await self._ask(method, (), http_verb="GET", params=arguments)

    async def _ask(self, method: str, declines: Container[str], **how: Any) -> Json:
        web = cast("Any", self.web)
        try:
            return cast("Json", await web.api_call(method, **how))
        except FAILURES as error:
            raise channel_error(error, declines) from None  # its own text may contain the token

    def read(self, read: Callable[[], T]) -> T:
        """Return a part of an answer, which may have any shape. Raises Unanswered."""
        try:
            return read()
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Unanswered("could not read Slack's response") from error


def _cursor(said: Json) -> str:
    more = said.get("response_metadata")
    return str(cast("Json", more).get("next_cursor") or "") if isinstance(more, Mapping) else ""


def marked(nonce: str) -> Json:
    """Return the metadata by which a message is found again."""
    return {"event_type": METADATA_TYPE, "event_payload": {"nonce": nonce}}


def in_thread(thread_ts: str | None) -> dict[str, str]:
    """Return the argument that posts a message in another one's thread."""
    return {} if thread_ts is None else {"thread_ts": thread_ts}
