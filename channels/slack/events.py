"""Events, presses and commands of Slack, by HTTP and by Socket Mode.

slack-bolt receives: it checks signatures, tells requests apart, and answers each one after its listener has
returned, which is once the content is durable.
"""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, cast
from urllib.parse import parse_qsl

from slack_bolt.adapter.socket_mode.async_base_handler import AsyncBaseSocketModeHandler
from slack_bolt.adapter.socket_mode.async_internals import run_async_bolt_app, send_async_response
from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncBoltRequest
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.authorization.async_authorize import AsyncAuthorize
from slack_bolt.error import BoltUnhandledRequestError
from slack_bolt.middleware.async_builtins import AsyncRequestVerification, AsyncSslCheck
from slack_bolt.response import BoltResponse
from slack_sdk.errors import SlackApiError
from slack_sdk.signature import Clock as SignatureClock
from slack_sdk.signature import SignatureVerifier
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.web.async_client import AsyncWebClient

from channels.channel import HttpRequest, HttpResponse
from channels.slack.client import FAILURES, channel_error
from channels.slack.handler import EventHandler
from channels.slack.inbound import is_by_bot
from core.clock import SECOND_US, Clock
from core.errors import AuthRejected, ChannelError, InboxUnavailable, Unavailable
from core.off_loop import json_off_loop, json_with_breaks, off_loop

logger = logging.getLogger(__name__)

# Bolt's app: one listener for each kind of request. An exception means no acknowledgement.

_BOLT: Final = "slack_bolt.hubbub"
_BOLT_LOGGER: Final = logging.getLogger(_BOLT)
"""Below ERROR, Bolt writes out the bodies of refused requests and warns about tokens it finds in the
environment."""
_BOLT_LOGGER.setLevel(logging.ERROR)

_ANY: Final = re.compile("")
"""Bolt's listeners are registered by name or pattern; the reader decides which names concern the hub."""
_READ: Final = "hubbub_read"
"""Stands in the context of a request that Bolt could read: failures from then on are the hub's."""

Body = dict[str, Any]


class _Authorize(AsyncAuthorize):
    """The one workspace the bot's token belongs to; Bolt on its own asks Slack for it."""

    def __init__(self, reader: EventHandler) -> None:
        super().__init__()
        self._reader = reader
        self._result: AuthorizeResult | None = None

    async def __call__(self, **_: object) -> AuthorizeResult:
        if self._result is None:
            us = self._reader.account
            self._result = AuthorizeResult(
                enterprise_id=None, team_id=us.team_id, bot_user_id=us.user_id, bot_id=us.bot_id
            )
        return self._result


def _app(name: str, reader: EventHandler, verification: AsyncRequestVerification | None = None) -> AsyncApp:
    """Return the app whose listeners hand everything to `reader`: status 200 means that it is durable."""
    app = AsyncApp(
        logger=_BOLT_LOGGER,
        name=_BOLT,
        process_before_response=True,
        raise_error_for_unhandled_request=True,
        authorize=_Authorize(reader),
        before_authorize=verification,
        # `verification` is Bolt's own with the hub's clock; sockets need none.
        signing_secret="",
        request_verification_enabled=False,
        # The reader knows the bot's own messages, in the history as well.
        ignoring_self_events_enabled=False,
        ssl_check_enabled=False,
        attaching_function_token_enabled=False,
        attaching_conversation_kwargs_enabled=False,
    )
    register = cast("Any", app)  # its types are incomplete
    register.use(AsyncSslCheck(base_logger=_BOLT_LOGGER))  # Bolt's place for it is before the verification

    async def event(body: Body, context: Body) -> None:
        context[_READ] = True
        await reader.event(body)

    async def press(body: Body, context: Body, ack: AsyncAck) -> None:
        context[_READ] = True
        await ack(await reader.press(body) or "")

    async def command(body: Body, context: Body, ack: AsyncAck) -> None:
        context[_READ] = True
        acceptance = await reader.command({key: str(value) for key, value in body.items()})
        answer = acceptance.answer if acceptance is not None else ""
        await (ack(answer, response_type="ephemeral") if answer else ack())

    async def failed(error: Exception, body: Body, context: Body) -> BoltResponse:
        if isinstance(error, BoltUnhandledRequestError):
            await event(body, context)  # records what should have been an event
            return BoltResponse(status=200)
        if isinstance(error, InboxUnavailable):
            return _again(name, error)
        if _READ not in context:
            raise error
        logger.error("slack.request_crashed channel=%s", name, exc_info=error)
        return BoltResponse(status=500)

    register.event(_ANY)(event)
    register.block_action({"action_id": _ANY})(press)
    register.view_submission(_ANY)(press)
    register.command(_ANY)(command)
    app.error(failed)
    return app


async def _unreadable(
    name: str, reader: EventHandler, body: Body, error: Exception, envelope_id: str = ""
) -> BoltResponse:
    """Record a request in which Bolt itself failed, and return the answer to it."""
    logger.warning("slack.request_unreadable channel=%s", name, exc_info=error)
    request_id = str(body.get("event_id") or envelope_id)
    return await _unread(name, reader, request_id, f"Bolt cannot read it ({type(error).__name__})")


async def _unread(name: str, reader: EventHandler, request_id: str, why: str) -> BoltResponse:
    """Record that a request is passed over, and return the answer to it."""
    try:
        await reader.unread(request_id, why)
    except InboxUnavailable as error:
        return _again(name, error)
    return BoltResponse(status=200)


def _again(name: str, error: InboxUnavailable) -> BoltResponse:
    logger.warning("slack.request_not_accepted channel=%s error=%s", name, error)
    return BoltResponse(status=503, body="not now\n", headers={"Retry-After": "5"})


# By HTTP, each request signed: https://docs.slack.dev/authentication/verifying-requests-from-slack.

EVENTS, INTERACTIVITY, COMMANDS = "/events", "/interactivity", "/commands"

_STAMP, _SIGNATURE = "x-slack-request-timestamp", "x-slack-signature"
MAX_STAMP_CHARS = 12
MAX_FIELDS = 100
"""Of a form; Slack sends about fifteen."""
_LATER = HttpResponse(503, b"not now\n", {"Retry-After": "5"})


class _Now(SignatureClock):
    """The hub's clock for the SDK's verifier, which counts in seconds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self) -> float:
        return self._clock.now() / SECOND_US


class _Verification(AsyncRequestVerification):
    """Bolt's verification, by the hub's clock. Only a signed body is parsed."""

    def __init__(self, signing_secret: str, clock: Clock) -> None:
        super().__init__(signing_secret, base_logger=_BOLT_LOGGER)
        self._by_clock = SignatureVerifier(signing_secret, _Now(clock))

    @property
    def verifier(self) -> SignatureVerifier:
        return self._by_clock

    async def async_process(
        self, *, req: AsyncBoltRequest, resp: BoltResponse, next: Callable[[], Awaitable[BoltResponse]]
    ) -> BoltResponse:
        async def parse() -> BoltResponse:
            body = await off_loop(len(req.raw_body), partial(_parsed, req.raw_body))
            if body is None:
                return BoltResponse(status=400, body="not a request from Slack\n")
            if is_by_bot(body):
                return BoltResponse(status=200)
            req.body = body
            return await next()

        return await super().async_process(req=req, resp=resp, next=parse)


class HttpReceiver:
    """A receiver for one bot that accepts only requests signed with `signing_secret`."""

    def __init__(self, name: str, signing_secret: str, clock: Clock) -> None:
        self._name = name
        self._verification = _Verification(signing_secret, clock)
        self._app: AsyncApp | None = None
        self._reader: EventHandler | None = None

    async def run(self, reader: EventHandler, connected: Callable[[], None]) -> None:
        """Accept requests until cancelled. At other times Slack is asked to retry."""
        self._reader, self._app = reader, _app(self._name, reader, self._verification)
        connected()
        try:
            await asyncio.Event().wait()
        finally:
            self._reader = self._app = None

    async def receive(self, request: HttpRequest) -> HttpResponse:
        """Answer a request to any of the request URLs: the body says what it is."""
        asked = await _unparsed(request)
        if (app := self._app) is None or (reader := self._reader) is None:
            return _LATER
        try:
            answer = await app.async_dispatch(asked) if asked is not None else BoltResponse(status=401)
        except Exception as error:  # at the edge of Bolt, which expects payloads of Slack's form
            if asked is None or not asked.body:
                raise
            answer = await _unreadable(self._name, reader, asked.body, error)
        if answer.status == 401:
            logger.warning("slack.signature_refused channel=%s path=%s", self._name, request.path)
        return HttpResponse(answer.status, answer.body.encode(), answer.first_headers())


async def _unparsed(request: HttpRequest) -> AsyncBoltRequest | None:
    """Return the request with nothing of its body parsed, which Bolt does before it verifies; None where the
    parts a signature covers are not of Slack's form, where its verification raises an exception. No other
    header is passed on: some of them steer Bolt."""
    stamp, signature = request.headers.get(_STAMP, ""), request.headers.get(_SIGNATURE, "")
    if not (stamp.isascii() and stamp.isdecimal() and len(stamp) <= MAX_STAMP_CHARS and signature.isascii()):
        return None
    try:
        body = await off_loop(len(request.body), partial(request.body.decode, "utf-8"))
    except UnicodeDecodeError:
        return None
    asked = AsyncBoltRequest(body="", headers={_STAMP: stamp, _SIGNATURE: signature})
    asked.raw_body = body
    return asked


def _parsed(body: str) -> Body | None:
    """Return the JSON object in a body, the one in a form, or the form of a command."""
    try:
        if body.startswith("{"):
            return json_with_breaks(body)
        fields = parse_qsl(body, keep_blank_values=True, strict_parsing=True, max_num_fields=MAX_FIELDS)
        form = dict(fields)
        payload = json_with_breaks(form["payload"]) if "payload" in form else form
    except (ValueError, RecursionError):
        return None
    return cast("Body", payload) if payload and isinstance(payload, dict) else None


# Socket Mode: Slack brings everything over a websocket the hub opened, each envelope acknowledged once what
# is in it is durable.

PING_INTERVAL_S = 5.0
LOOK_INTERVAL_S = 0.5
LOST_AFTER_S = 15.0
"""The longest time without a socket. The SDK reconnects by itself; after this time the channel reports
the failure and the supervisor restarts it."""

ENVELOPE_LIMIT_CHARS = 1024 * 1024
"""The limit on an envelope, as by HTTP. A message of more than 4 MB closes the connection itself."""

_ENVELOPE_ID = '"envelope_id"'
"""The key as it appears in an envelope. Inside a text, the quotes would be escaped."""
_ID_CHARS = 100


class _Socket(SocketModeClient):
    """The SDK's client, which records why no address for a new socket is available.

    Oversized envelopes are not parsed but passed to `too_large`."""

    refusal: ChannelError | None = None

    def __init__(
        self, app_token: str, web_client: AsyncWebClient, too_large: Callable[[str], Awaitable[None]]
    ) -> None:
        super().__init__(app_token, web_client=web_client, ping_interval=PING_INTERVAL_S)
        self._too_large = too_large
        self._handled: set[asyncio.Task[None]] = set()

    async def enqueue_message(self, message: str) -> None:
        if len(message) > ENVELOPE_LIMIT_CHARS:
            await self._too_large(message)
        else:
            await super().enqueue_message(message)

    async def process_message(self) -> None:
        """Process a message without parsing it on the event loop, as the library would."""
        sdk = cast("Any", self)
        raw: str | None = await sdk.message_queue.get()
        if raw is None:
            return
        message: Any = {}
        if raw.startswith("{"):
            message = await json_off_loop(raw)
        task = asyncio.create_task(sdk.run_message_listeners(message, raw))
        self._handled.add(task)
        task.add_done_callback(self._handled.discard)

    async def issue_new_wss_url(self) -> str:
        try:
            response = await cast("Any", self.web_client).apps_connections_open(app_token=self.app_token)
        except SlackApiError as error:
            self.refusal = channel_error(error)
            raise
        self.refusal = None
        return str(response["url"])


class _Handler(AsyncBaseSocketModeHandler):
    """Bolt's handler for the hub's own socket. `arriving` is called before each envelope is handled."""

    def __init__(
        self, name: str, reader: EventHandler, socket: _Socket, arriving: Callable[[], None]
    ) -> None:
        self._app = self.app = _app(name, reader)
        self.client = socket
        self._name = name
        self._reader = reader
        self._arriving = arriving
        socket.socket_mode_request_listeners.append(self.handle)

    async def handle(self, client: AsyncBaseSocketModeClient, req: SocketModeRequest) -> None:
        """Dispatch one envelope, and acknowledge it if Bolt's answer has status 200."""
        self._arriving()
        body = cast("Body", cast("Any", req).payload)
        # Each message of the bot comes back as an event, on which Bolt spends as much as on a person's.
        answer = BoltResponse(status=200) if is_by_bot(body) else await self._dispatched(req, body)
        await self._acknowledge(client, req, answer)

    async def _dispatched(self, req: SocketModeRequest, body: Body) -> BoltResponse:
        try:
            return await run_async_bolt_app(self._app, req)
        except Exception as error:  # at the edge of Bolt, which expects payloads of Slack's form
            return await _unreadable(self._name, self._reader, body, error, req.envelope_id)

    async def pass_over(self, envelope: str) -> None:
        """Record and acknowledge an envelope that is too large to be parsed."""
        logger.warning("slack.envelope_skipped channel=%s size_chars=%d", self._name, len(envelope))
        envelope_id = _envelope_id_in(envelope)
        why = f"an envelope of more than {ENVELOPE_LIMIT_CHARS:,} characters"
        answer = await _unread(self._name, self._reader, envelope_id, why)
        await self._acknowledge(self.client, SocketModeRequest("", envelope_id, {}), answer)

    async def _acknowledge(
        self, client: AsyncBaseSocketModeClient, req: SocketModeRequest, answer: BoltResponse
    ) -> None:
        try:
            await send_async_response(client, req, answer, time.time())
        except (OSError, AttributeError) as error:  # the socket is closed, and the SDK may have none at all
            # Slack delivers it again, which changes nothing.
            logger.info("slack.acknowledge_failed channel=%s error=%s", self._name, error)
        except Exception:  # one envelope's acknowledgement, in the task that the SDK runs for it
            logger.exception("slack.acknowledge_crashed channel=%s", self._name)


class SocketReceiver:
    """A receiver for one bot by one socket, which `app_token` opens."""

    def __init__(self, name: str, app_token: str) -> None:
        self._name = name
        self._app_token = app_token

    async def check(self, web: AsyncWebClient) -> None:
        """Request a socket address without using it. Raises ChannelError."""
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
        """Receive until cancelled. `reconnected` is called when a new socket replaces another.

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

        async def too_large(envelope: str) -> None:
            await handler.pass_over(envelope)

        socket = _Socket(self._app_token, web, too_large)
        # What was missed goes before the first envelope of a new socket.
        handler = _Handler(self._name, reader, socket, look)
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
                raise socket.refusal or Unavailable("the socket connection to Slack was lost")


def _envelope_id_in(envelope: str) -> str:
    """Return the id of an envelope that is not parsed, or "" if it has none."""
    at = envelope.find(_ENVELOPE_ID)
    said = envelope[at + len(_ENVELOPE_ID) : at + len(_ENVELOPE_ID) + _ID_CHARS].lstrip(" :")
    return said[1:].partition('"')[0] if at >= 0 and said.startswith('"') else ""
