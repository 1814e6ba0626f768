"""Socket Mode: Slack brings everything over a websocket the hub opened, each envelope acknowledged once what
is in it is durable.

slack_sdk's client keeps the socket; Bolt, which is built on it, answers an envelope by its own rules, and
here the answer has to follow the commit.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
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

logger = logging.getLogger(__name__)

PING_INTERVAL_S = 5.0
LOOK_INTERVAL_S = 0.5
LOST_AFTER_S = 15.0
"""The SDK opens a broken socket again by itself; after so long without one the channel says so, and the
supervisor starts over."""

Answer = dict[str, Any] | None


class _Socket(SocketModeClient):
    """The SDK's client, which tells why no address for a new socket is to be had."""

    refusal: ChannelError | None = None

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
        socket = _Socket(self._app_token, web_client=web, ping_interval=PING_INTERVAL_S)
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
            await self._take(socket, reader, request)

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

    async def _take(self, socket: _Socket, reader: Reader, request: SocketModeRequest) -> None:
        try:
            answer = await _handled(reader, request)
        except InboxUnavailable as error:
            logger.warning("%s: an envelope is left to be brought again: %s", self._name, error)
            return
        response = SocketModeResponse(envelope_id=request.envelope_id, payload=answer)
        try:
            await socket.send_socket_mode_response(response)
        except (OSError, AttributeError) as error:  # the socket went away, and the SDK may have none at all
            # Slack brings it again, which changes nothing.
            logger.info("%s: an envelope could not be acknowledged: %s", self._name, error)
        except Exception:  # one envelope's acknowledgement, at the edge of the SDK's task for it
            logger.exception("%s: acknowledging an envelope broke", self._name)


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
