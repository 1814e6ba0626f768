"""The gateway: Discord delivers all events over a websocket that the hub opens.

discord.py maintains the session: heartbeats, resuming, and a new session if resuming fails. Events
are read from its raw payloads rather than its objects, so that reading them stays pure. Its channel
cache distinguishes threads from channels. An event that it cannot read is logged and skipped: it would
end the connection otherwise, and again after each resume.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, cast

import aiohttp
import discord
import yarl
from discord.backoff import ExponentialBackoff
from discord.gateway import DiscordWebSocket, ReconnectWebSocket

from channels.channel import Connected
from channels.discord.client import FAILURES, DiscordHttp, Server, channel_error, entered
from channels.discord.handler import EventHandler
from channels.discord.inbound import Where
from core.errors import Unavailable
from core.off_loop import json_off_loop

logger = logging.getLogger(__name__)

LOST_AFTER_S = 15.0
"""The longest time without a connection. The SDK reconnects by itself; after this time the channel
reports the failure and the supervisor restarts it."""
CLOSE_LIMIT_S = 1.0
GUILDS_LIMIT_S = 5.0
"""The longest wait for guilds, because Discord itself may not reach some of them."""
MAX_AT_ONCE = 2_000
"""The limit on events in progress. Beyond it the run ends, and later events are read from the history
once there is room."""

OPEN_LIMIT_S = 60.0
"""The limit on opening the connection, up to the identification."""
MAX_EVENT_CHARS = 1024 * 1024
"""The limit on one event. The SDK parses it on the event loop, where this much takes some 20 ms. A message
has at most a tenth of it. The largest events describe servers, without their members. A server beyond the
limit is served, but the messages of an interruption are not read there."""

CLOSED = "the connection to Discord's gateway was closed"
_INTENT_NOT_ALLOWED, _NORMAL_CLOSURE = 4014, 1000
"""Gateway close codes."""

_INTENTS = discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True)


class EventTooLarge(ValueError):
    """An event is longer than `MAX_EVENT_CHARS`."""


class _Socket(DiscordWebSocket):
    """The SDK's connection, except that it skips events that the SDK cannot read."""

    def debug_log_receive(self, data: Any, /) -> None:
        """Refuse a payload that is too long. The library calls this with each payload before
        parsing it."""
        if len(data) > MAX_EVENT_CHARS:
            raise EventTooLarge(f"{len(data)} characters")
        super().debug_log_receive(data)

    async def received_message(self, msg: Any, /) -> None:
        try:
            await super().received_message(msg)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            logger.warning("discord.event_skipped type=%s error=%s", type(error).__name__, error)


class _Sdk(discord.Client):
    """The SDK's client. `heard` gets each payload; `lost` is called when the connection is lost."""

    def __init__(
        self,
        heard: Callable[[Mapping[str, Any]], None],
        lost: Callable[[], None],
        server: Server,
        tls: ssl.SSLContext | None,
    ) -> None:
        super().__init__(
            intents=_INTENTS,
            enable_debug_events=True,
            max_messages=None,
            chunk_guilds_at_startup=False,
            member_cache_flags=discord.MemberCacheFlags.none(),
        )
        self.http = DiscordHttp(server.api_url, tls)
        self._gateway = yarl.URL(server.gateway_url)
        self._heard = heard
        self._lost = lost
        self._in_order = asyncio.Lock()

    async def on_socket_raw_receive(self, payload: str) -> None:
        """Handle a payload, which the SDK has read as well by now."""
        async with self._in_order:  # no payload overtakes a long one being parsed in a thread
            self._heard(await json_off_loop(payload))

    async def receive(self) -> None:
        """Receive until the client is closed; resume the session when a connection is lost.

        Raises the error of a first connection that fails, and ConnectionClosed if Discord allows no
        other connection."""
        backoff, session = (
            ExponentialBackoff[Literal[False]](),
            dict[str, Any](initial=True, gateway=self._gateway),
        )
        while not self.is_closed():
            try:
                async with asyncio.timeout(OPEN_LIMIT_S):
                    self.ws = await _Socket.from_client(self, **session)
                while True:
                    await self.ws.poll_event()
            except ReconnectWebSocket as again:
                session = self._session(again, resume=again.resume)
            except discord.ConnectionClosed as closed:
                if closed.code == _INTENT_NOT_ALLOWED:
                    raise discord.PrivilegedIntentsRequired(closed.shard_id) from None
                if closed.code != _NORMAL_CLOSURE:
                    raise
                session = self._session(closed)
            except (OSError, aiohttp.ClientError, TimeoutError) as error:
                session = self._session(error)
                await asyncio.sleep(backoff.delay())

    def _session(self, lost: Exception, *, resume: bool = True) -> dict[str, Any]:
        """Return the arguments of the next connection. Raises `lost` if there was no connection yet."""
        self._lost()
        socket = cast("DiscordWebSocket | None", self.ws)
        if socket is None:
            raise lost if isinstance(lost, FAILURES) else Unavailable(CLOSED)
        found = {"sequence": socket.sequence, "session": socket.session_id, "resume": resume}
        return found | {"gateway": socket.gateway if resume else self._gateway}


class Gateway:
    """The gateway connection of one bot during one run."""

    def __init__(
        self, token: str, server: Server, tls: ssl.SSLContext | None, name: str, reader: EventHandler
    ) -> None:
        self._token = token
        self._name = name
        self._reader = reader
        self._sdk = _Sdk(self._heard, self._disconnected, server, tls)
        self._online, self._offline = asyncio.Event(), asyncio.Event()
        self._awaited: set[str] = set()
        self._told = asyncio.Event()
        self._tasks: asyncio.TaskGroup | None = None
        self._connected: Connected | None = None
        self._on_session: Callable[[], None] = lambda: None
        self._in_hand = 0

    async def run(self, connected: Connected, on_session: Callable[[], None]) -> None:
        """Receive until cancelled. Raises ChannelError and InboxUnavailable.

        `on_session` is called when a session begins, but not when one is resumed: events before a new
        session were missed."""
        self._connected, self._on_session = connected, on_session
        try:
            await entered(self._sdk.login(self._token), self._sdk.http.close)
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                tasks.create_task(self._watch(), name=f"connection of {self._name}")
                await self._connect()
        finally:
            self._tasks = None
            await self._close()

    # --- guilds ------------------------------------------------------------------------------------------

    async def known(self) -> None:
        """Wait until every guild of the session has been reported, or until that takes too long."""
        try:
            async with asyncio.timeout(GUILDS_LIMIT_S):
                await self._told.wait()
        except TimeoutError:
            logger.info("discord.servers_unavailable channel=%s count=%d", self._name, len(self._awaited))

    def where(self, channel_id: str) -> Where | None:
        """Return the kind of a guild's channel, or None if no guild has it."""
        channel = self._sdk.get_channel(int(channel_id))
        if channel is None or isinstance(channel, discord.abc.PrivateChannel):
            return None
        return Where(direct=False, thread=isinstance(channel, discord.Thread))

    def spoken_in(self, since: int) -> Iterator[str]:
        """Yield channels and threads with messages after an id."""
        for guild in self._sdk.guilds:
            for channel in (*guild.text_channels, *guild.threads):
                if channel.last_message_id is not None and channel.last_message_id > since:
                    yield str(channel.id)

    # --- inside ------------------------------------------------------------------------------------------

    async def _connect(self) -> None:
        try:
            await self._sdk.receive()
        except FAILURES as error:
            raise channel_error(error) from None
        raise Unavailable(CLOSED)

    async def _close(self) -> None:
        try:
            async with asyncio.timeout(CLOSE_LIMIT_S):
                await self._sdk.close()
        except TimeoutError:  # the connection no longer responds
            await self._sdk.http.close()

    async def _watch(self) -> None:
        while True:
            try:
                async with asyncio.timeout(LOST_AFTER_S):
                    await self._online.wait()
            except TimeoutError:
                raise Unavailable("the connection to Discord's gateway was lost") from None
            await self._offline.wait()

    def _disconnected(self) -> None:
        self._online.clear()
        self._offline.set()

    def _is_online(self) -> None:
        self._offline.clear()
        self._online.set()
        if self._connected is not None:
            self._connected()

    def _heard(self, payload: Mapping[str, Any]) -> None:
        match payload.get("t"), payload.get("d"):
            case "READY", {**data}:
                self._awaited = {str(guild["id"]) for guild in data.get("guilds", ())}
                self._is_told()
                self._on_session()
                self._is_online()
            case "RESUMED", _:
                self._is_online()
            case (("GUILD_CREATE" | "GUILD_DELETE"), {**data}):
                self._awaited.discard(str(data.get("id")))
                self._is_told()
            case ("MESSAGE_CREATE" | "MESSAGE_UPDATE" | "INTERACTION_CREATE") as kind, {**data}:
                self._take(kind, data)
            case _:
                pass

    def _is_told(self) -> None:
        if self._awaited:
            self._told.clear()
        else:
            self._told.set()

    def _take(self, kind: str, data: Mapping[str, object]) -> None:
        if self._tasks is None:
            return
        self._in_hand += 1
        task = self._tasks.create_task(self._handled(kind, data), name=f"{kind} of {self._name}")
        task.add_done_callback(self._put_down)

    def _put_down(self, _: asyncio.Task[None]) -> None:
        self._in_hand -= 1

    async def _handled(self, kind: str, data: Mapping[str, object]) -> None:
        if self._in_hand > MAX_AT_ONCE:
            raise Unavailable(f"more than {MAX_AT_ONCE} events are waiting to be accepted")
        if kind == "INTERACTION_CREATE":
            await self._reader.interaction(data)
            return
        where = self._where(data)
        if kind == "MESSAGE_CREATE":
            await self._reader.message(data, where)
        else:
            await self._reader.change(data, where)

    def _where(self, data: Mapping[str, object]) -> Where:
        if data.get("guild_id") is None:
            return Where(direct=True)
        channel_id = str(data.get("channel_id"))
        known = self.where(channel_id) if channel_id.isascii() and channel_id.isdecimal() else None
        return known or Where(direct=False)
