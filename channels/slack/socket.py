"""Socket Mode: Slack brings everything over a websocket the hub opened, each envelope acknowledged once what
is in it is durable.

slack_sdk's client keeps the socket; Bolt, which is built on it, answers an envelope by its own rules, and
here the answer has to follow the commit.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, cast

from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from channels.slack.errors import FAILURES, channel_error
from channels.slack.reading import Reader
from core.errors import AuthRejected, ChannelError, InboxUnavailable, Unavailable
from core.off_loop import off_loop

logger = logging.getLogger(__name__)

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
        reader: Reader,
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


async def _handled(reader: Reader, request: SocketModeRequest) -> Answer:
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
