"""Events, presses and commands of Slack: by HTTP, by Socket Mode, and what was missed, by the history.

HTTP requests are signed, and answered with 200 once what they hold is durable.
"""

import asyncio
import hashlib
import hmac
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, cast
from urllib.parse import parse_qsl

from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from channels.channel import HttpRequest, HttpResponse
from channels.keyed_lock import HeldConversations
from channels.slack.client import Json, SlackClient
from channels.slack.errors import FAILURES, channel_error
from channels.slack.handler import EventHandler
from channels.slack.places import is_person, place_of, ts_of
from core.clock import SECOND_US, Clock
from core.errors import AuthRejected, ChannelError, InboxUnavailable, RateLimited, Unanswered, Unavailable
from core.off_loop import off_loop
from core.ports import Seen

# Whether a request comes from Slack: https://docs.slack.dev/authentication/verifying-requests-from-slack.

WINDOW_S = 300
"""Older requests may be replays."""


def refusal(secret: str, headers: Mapping[str, str], body: bytes, now_us: int) -> str | None:
    """Why the request is not believed; None if it is Slack's. `headers` in lower case, `body` as it came."""
    stamp = headers.get("x-slack-request-timestamp", "")
    if not (stamp.isascii() and stamp.isdecimal() and len(stamp) <= 12):
        return "no timestamp"
    if abs(now_us // SECOND_US - int(stamp)) > WINDOW_S:
        return "the timestamp is not of the last five minutes"
    base = b"v0:" + stamp.encode() + b":" + body
    expected = "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
    given = headers.get("x-slack-signature", "")
    return None if hmac.compare_digest(expected.encode(), given.encode()) else "the signature is not right"


logger = logging.getLogger(__name__)

EVENTS, INTERACTIVITY, COMMANDS = "/events", "/interactivity", "/commands"

_LATER = HttpResponse(503, b"not now\n", {"Retry-After": "5"})


class HttpReceiver:
    """Receives for one bot; believes nothing that `signing_secret` did not sign."""

    def __init__(self, name: str, signing_secret: str, clock: Clock) -> None:
        self._name = name
        self._secret = signing_secret
        self._clock = clock
        self._reader: EventHandler | None = None

    async def run(self, reader: EventHandler, connected: Callable[[], None]) -> None:
        """Take requests until cancelled; before and after, Slack is told to come again."""
        self._reader = reader
        connected()
        try:
            await asyncio.Event().wait()
        finally:
            self._reader = None

    async def events(self, request: HttpRequest) -> HttpResponse:
        """The Events API's request URL."""

        async def take(reader: EventHandler, body: bytes) -> HttpResponse:
            payload = await off_loop(len(body), partial(_object, body))
            if payload is None:
                return HttpResponse(400, b"not a JSON object\n")
            if payload.get("type") == "url_verification":
                return HttpResponse(200, str(payload.get("challenge", "")).encode())
            await reader.event(payload)
            return HttpResponse(200)

        return await self._believed(request, take)

    async def interactivity(self, request: HttpRequest) -> HttpResponse:
        """The request URL of buttons."""

        async def take(reader: EventHandler, body: bytes) -> HttpResponse:
            payload = await off_loop(len(body), partial(_form_object, body))
            if payload is None:
                return HttpResponse(400, b"no payload\n")
            answer = await reader.press(payload)
            if answer is None:
                return HttpResponse(200)
            return HttpResponse(200, json.dumps(answer).encode(), {"Content-Type": "application/json"})

        return await self._believed(request, take)

    async def commands(self, request: HttpRequest) -> HttpResponse:
        """The request URL of the slash command."""

        async def take(reader: EventHandler, body: bytes) -> HttpResponse:
            form = await off_loop(len(body), partial(_form, body))
            if form.get("ssl_check") == "1":
                return HttpResponse(200)
            acceptance = await reader.command(form)
            if acceptance is None or not acceptance.answer:
                return HttpResponse(200)
            said = {"response_type": "ephemeral", "text": acceptance.answer}
            return HttpResponse(200, json.dumps(said).encode(), {"Content-Type": "application/json"})

        return await self._believed(request, take)

    async def _believed(
        self, request: HttpRequest, take: Callable[[EventHandler, bytes], Awaitable[HttpResponse]]
    ) -> HttpResponse:
        why = refusal(self._secret, request.headers, request.body, self._clock.now())
        if why is not None:
            logger.warning("%s: a request to %s is refused: %s", self._name, request.path, why)
            return HttpResponse(401, b"not signed by Slack\n")
        if self._reader is None:
            return _LATER
        try:
            return await take(self._reader, request.body)
        except InboxUnavailable as error:
            logger.warning("%s: a request is left to be brought again: %s", self._name, error)
            return _LATER


def _object(body: bytes) -> Mapping[str, Any] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None


def _form_object(body: bytes) -> Mapping[str, Any] | None:
    return _object(_form(body).get("payload", "").encode())


def _form(body: bytes) -> Mapping[str, str]:
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=100))


# What was said while nobody listened: read from Slack's history, each conversation from the last message
# the hub has seen of it.
#
# Bounded by age and count, and in order; what came live as well is known by its key. Only a hub that has
# heard something before has missed anything.

MAX_AGE_S = 3 * 24 * 3600
MAX_CONVERSATIONS = 100
MAX_MESSAGES = 500
"""Of one conversation, the newest."""
PATIENCE_S = 120.0
"""So long is waited for Slack and its rate limit; a conversation not to be had by then is given up."""
AGAIN_AFTER_S = 2.0

T = TypeVar("T")


@dataclass(slots=True)
class _Known:
    """The newest `ts` seen of a conversation, and of each of its threads."""

    newest: str = ""
    threads: dict[str, str] = field(default_factory=dict[str, str])


class CatchUp:
    """Reads the history of one bot's conversations."""

    def __init__(self, client: SlackClient, reader: EventHandler, name: str, clock: Clock) -> None:
        self._client = client
        self._reader = reader
        self._name = name
        self._clock = clock

    async def run(self, seen: Sequence[Seen], held: HeldConversations) -> None:
        """Bring every conversation up to date and release it. Raises AuthRejected and InboxUnavailable."""
        try:
            if seen:
                await self._all(seen, held)
        finally:
            held.release_all()

    async def _all(self, seen: Sequence[Seen], held: HeldConversations) -> None:
        oldest_ts = _ts(self._clock.now() - MAX_AGE_S * SECOND_US)
        known = _known(seen)
        newest = max(ts_of(one.order_key) for one in seen)
        for channel_id in await self._conversations(known):
            there = known.get(channel_id, _Known(newest))
            try:
                async with self._reader.lane(channel_id):
                    await self._conversation(channel_id, there, oldest_ts)
            except AuthRejected:
                raise
            except ChannelError as error:
                logger.warning("%s: %s could not be caught up with: %s", self._name, channel_id, error)
            held.release(channel_id)

    async def _conversations(self, known: Mapping[str, _Known]) -> Sequence[str]:
        """Those with something newest first, then the others the bot is in."""
        found = sorted(known, key=lambda channel_id: known[channel_id].newest, reverse=True)
        try:
            joined = await self._patiently(lambda: self._client.conversations(MAX_CONVERSATIONS))
        except AuthRejected:
            raise
        except ChannelError as error:
            logger.warning("%s: the list of conversations is not to be had: %s", self._name, error)
            joined = ()
        found += [channel_id for channel_id in joined if channel_id not in known]
        return [channel_id for channel_id in found if not is_person(channel_id)][:MAX_CONVERSATIONS]

    async def _conversation(self, channel_id: str, there: _Known, oldest_ts: str) -> None:
        since = max(there.newest, oldest_ts)
        messages = await self._history(channel_id, None, since)
        threads = {root: ts for root, ts in there.threads.items() if ts > oldest_ts}
        for message in messages:
            if message.get("reply_count"):
                threads.setdefault(str(message.get("ts")), str(message.get("ts")))
            await self._reader.missed(channel_id, message)
        for root, last in threads.items():
            for message in await self._history(channel_id, root, max(last, oldest_ts)):
                await self._reader.missed(channel_id, message)

    async def _history(self, channel_id: str, thread_ts: str | None, since: str) -> Sequence[Json]:
        return await self._patiently(
            lambda: self._client.history(channel_id, oldest=since, thread_ts=thread_ts, limit=MAX_MESSAGES)
        )

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        waited_s = 0.0
        while True:
            try:
                return await ask()
            except (RateLimited, Unavailable, Unanswered) as error:
                pause_s = error.retry_after_s if isinstance(error, RateLimited) else AGAIN_AFTER_S
                waited_s += pause_s
                if waited_s > PATIENCE_S:
                    raise
                await self._clock.sleep(pause_s)


def _known(seen: Sequence[Seen]) -> dict[str, _Known]:
    known: dict[str, _Known] = {}
    for one in seen:
        place, ts = place_of(one.address), ts_of(one.order_key)
        there = known.setdefault(place.channel, _Known())
        if place.thread_ts is None or place.thread_ts == ts:  # a message that opened its thread
            there.newest = max(there.newest, ts)
        if place.thread_ts is not None:
            there.threads[place.thread_ts] = max(there.threads.get(place.thread_ts, ""), ts)
            there.newest = max(there.newest, place.thread_ts)
    return known


def _ts(micros: int) -> str:
    return f"{max(micros, 0) // SECOND_US}.{max(micros, 0) % SECOND_US:06d}"


# Socket Mode: Slack brings everything over a websocket the hub opened, each envelope acknowledged once what
# is in it is durable.
#
# slack_sdk's client keeps the socket; Bolt, which is built on it, answers an envelope by its own rules, and
# here the answer has to follow the commit.

PING_INTERVAL_S = 5.0
LOOK_INTERVAL_S = 0.5
LOST_AFTER_S = 15.0
"""The SDK opens a broken socket again by itself; after so long without one the channel says so, and the
supervisor starts over."""

ENVELOPE_LIMIT_CHARS = 1024 * 1024
"""As by HTTP. The connection itself ends at a message of more than 4 MB."""

_ENVELOPE_ID = '"envelope_id"'
"""Within a text the quotes would have a backslash before them."""
_ID_CHARS = 100

Answer = dict[str, Any] | None


class _Socket(SocketModeClient):
    """The SDK's client, which tells why no address for a new socket is to be had, and parses no envelope that
    is over its size: `too_large` gets it."""

    refusal: ChannelError | None = None

    def __init__(
        self, app_token: str, web_client: AsyncWebClient, too_large: Callable[[str], Awaitable[None]]
    ) -> None:
        super().__init__(app_token, web_client=web_client, ping_interval=PING_INTERVAL_S)
        self._too_large = too_large
        self._handled: set[asyncio.Task[None]] = set()

    async def enqueue_message(self, message: str) -> None:
        """See AsyncBaseSocketModeClient."""
        if len(message) > ENVELOPE_LIMIT_CHARS:
            await self._too_large(message)
        else:
            await super().enqueue_message(message)

    async def process_message(self) -> None:
        """See AsyncBaseSocketModeClient, which would parse everything on the event loop."""
        sdk = cast("Any", self)
        raw: str | None = await sdk.message_queue.get()
        if raw is None:
            return
        message: Any = {}
        if raw.startswith("{"):
            message = await off_loop(len(raw), partial(json.loads, raw))
        task = asyncio.create_task(sdk.run_message_listeners(message, raw))
        self._handled.add(task)
        task.add_done_callback(self._handled.discard)

    async def issue_new_wss_url(self) -> str:
        """See AsyncBaseSocketModeClient."""
        try:
            response = await cast("Any", self.web_client).apps_connections_open(app_token=self.app_token)
        except SlackApiError as error:
            self.refusal = channel_error(error)
            raise
        self.refusal = None
        return str(response["url"])


class SocketReceiver:
    """Receives for one bot by one socket. `app_token` opens it."""

    def __init__(self, name: str, app_token: str) -> None:
        self._name = name
        self._app_token = app_token

    async def check(self, web: AsyncWebClient) -> None:
        """Ask for an address that nobody will use. Raises ChannelError."""
        try:
            await cast("Any", web).apps_connections_open(app_token=self._app_token)
        except FAILURES as error:
            raise channel_error(error) from None

    async def run(
        self,
        web: AsyncWebClient,
        reader: EventHandler,
        connected: Callable[[], None],
        reconnected: Callable[[], None],
    ) -> None:
        """Receive until cancelled. `reconnected` is called when another socket took the place of one.

        Raises AuthRejected or another ChannelError.
        """
        session: object = None

        def look() -> None:
            nonlocal session
            before, session = session, socket.current_session
            if session is not before:
                connected()
                if before is not None:
                    reconnected()

        async def handle(_: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
            look()  # what was missed goes before the first envelope of a new socket
            await self._take(socket, request.envelope_id, _handled(reader, request))

        async def too_large(envelope: str) -> None:
            envelope_id = _envelope_id_in(envelope)
            logger.warning("%s: an envelope of %d characters is passed over", self._name, len(envelope))
            why = f"an envelope of more than {ENVELOPE_LIMIT_CHARS:,} characters"
            await self._take(socket, envelope_id, reader.unread(envelope_id, why))

        socket = _Socket(self._app_token, web, too_large)
        socket.socket_mode_request_listeners.append(handle)
        try:
            socket.wss_uri = await self._address(socket)
            await socket.connect()
            look()
            await self._watch(socket, look)
        finally:
            await socket.close()

    async def _address(self, socket: _Socket) -> str:
        try:
            return await socket.issue_new_wss_url()
        except FAILURES as error:
            raise channel_error(error) from None

    async def _watch(self, socket: _Socket, look: Callable[[], None]) -> None:
        lost_s = 0.0
        while True:
            await asyncio.sleep(LOOK_INTERVAL_S)
            if isinstance(socket.refusal, AuthRejected):
                raise socket.refusal
            if await socket.is_connected():
                lost_s = 0.0
                look()
                continue
            lost_s += LOOK_INTERVAL_S
            if lost_s >= LOST_AFTER_S:
                raise socket.refusal or Unavailable("the socket to Slack is lost")

    async def _take(self, socket: _Socket, envelope_id: str, handled: Awaitable[Answer]) -> None:
        try:
            answer = await handled
        except InboxUnavailable as error:
            logger.warning("%s: an envelope is left to be brought again: %s", self._name, error)
            return
        response = SocketModeResponse(envelope_id=envelope_id, payload=answer)
        try:
            await socket.send_socket_mode_response(response)
        except (OSError, AttributeError) as error:  # the socket went away, and the SDK may have none at all
            # Slack brings it again, which changes nothing.
            logger.info("%s: an envelope could not be acknowledged: %s", self._name, error)
        except Exception:  # one envelope's acknowledgement, at the edge of the SDK's task for it
            logger.exception("%s: acknowledging an envelope broke", self._name)


def _envelope_id_in(envelope: str) -> str:
    """Of one that is not parsed; "" if it has none."""
    at = envelope.find(_ENVELOPE_ID)
    said = envelope[at + len(_ENVELOPE_ID) : at + len(_ENVELOPE_ID) + _ID_CHARS].lstrip(" :")
    return said[1:].partition('"')[0] if at >= 0 and said.startswith('"') else ""


async def _handled(reader: EventHandler, request: SocketModeRequest) -> Answer:
    payload = cast("Mapping[str, object]", cast("Any", request).payload)
    match request.type:
        case "events_api":
            await reader.event(payload)
        case "interactive":
            return await reader.press(payload)
        case "slash_commands":
            acceptance = await reader.command({key: str(value) for key, value in payload.items()})
            return {"text": acceptance.answer} if acceptance is not None and acceptance.answer else None
        case kind:
            logger.info("an envelope of kind %s is not understood", kind)
    return None
