"""The gateway's side of one websocket: https://docs.discord.com/developers/events/gateway."""

import asyncio
import json
import time
import zlib
from collections import deque
from typing import Any

from aiohttp import WSMessage, WSMsgType, web

from tests.simulators.discord import intents, limits
from tests.simulators.discord.payloads import guild_create_json, member_json, user_json
from tests.simulators.discord.posting import Posting
from tests.simulators.discord.sessions import Session
from tests.simulators.discord.world import Bot

Json = dict[str, Any]
DISPATCH, HEARTBEAT, IDENTIFY, PRESENCE, VOICE_STATE, RESUME = 0, 1, 2, 3, 4, 6
RECONNECT, REQUEST_MEMBERS, INVALID_SESSION, HELLO, HEARTBEAT_ACK = 7, 8, 9, 10, 11
OUTBOX_LIMIT = 10_000
GRACE = 1.5
"""A client may be this many intervals late with its heartbeat ("there is already tolerance")."""
ENDED_BY_CLIENT = {1000, 1001}
"""events/gateway#initiating-a-disconnect: these codes of a client invalidate its session."""
ENDED_BY_SERVER = {4003, 4004, 4007, 4009, 4010, 4011, 4012, 4013, 4014}
"""topics/opcodes-and-status-codes#gateway-gateway-close-event-codes: after these a new session is needed."""


class Closing(Exception):
    """The connection is to be closed with a code of
    https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes.
    """

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"{code} {reason}")
        self.code = code
        self.reason = reason


class Connection:
    """One client's websocket, from HELLO to its end."""

    def __init__(self, sim: Posting, request: web.BaseRequest) -> None:
        self._sim = sim
        self._request = request
        self._ws = web.WebSocketResponse(autoping=True, compress=False, max_msg_size=0)
        stream = request.query.get("compress") == "zlib-stream"
        self._stream = zlib.compressobj() if stream else None
        self._packs_payloads = False
        self._outbox: asyncio.Queue[Json | Closing] = asyncio.Queue(OUTBOX_LIMIT)
        self._session: Session | None = None
        self._beaten = asyncio.Event()
        self._closing = False
        self._closed_with: int | None = None
        self._received: deque[float] = deque()

    # -- what sessions do with it

    def send(self, payload: Json) -> None:
        """Queues a payload; a client that reads too slowly is cut."""
        try:
            self._outbox.put_nowait(payload)
        except asyncio.QueueFull:
            self.abort()

    def close(self, code: int, reason: str) -> None:
        """Closes after what is already queued."""
        try:
            self._outbox.put_nowait(Closing(code, reason))
        except asyncio.QueueFull:
            self.abort()

    def abort(self) -> None:
        """Cuts the connection without a close frame."""
        if self._request.transport is not None:
            self._request.transport.abort()

    # -- its life

    async def serve(self) -> web.WebSocketResponse:
        """Speaks with the client until one side ends it."""
        await self._ws.prepare(self._request)
        interval_ms = round(self._sim.heartbeat_interval_s * 1000)
        self.send({"op": HELLO, "s": None, "t": None, "d": {"heartbeat_interval": interval_ms, "_trace": []}})
        self._sim.note(0, "connected", dict(self._request.query))
        tasks = [
            asyncio.create_task(work, name=f"gateway {name}")
            for name, work in (("writer", self._write()), ("reader", self._read()), ("watch", self._watch()))
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._ended()
        return self._ws

    def _ended(self) -> None:
        session, self._session = self._session, None
        code = self._closed_with or self._ws.close_code
        self._sim.note(0 if session is None else session.bot_id, "disconnected", code)
        if session is None or session.wire is not self:
            return
        session.wire = None
        session.disconnected_at = self._sim.clock()
        if code in (ENDED_BY_SERVER if self._closed_with else ENDED_BY_CLIENT):
            self._sim.sessions.forget(session)
        self._sim.changed()

    async def _write(self) -> None:
        try:
            while True:
                payload = await self._outbox.get()
                if isinstance(payload, Closing):
                    self._closing, self._closed_with = True, payload.code
                    await self._ws.close(code=payload.code, message=payload.reason.encode())
                    return
                await self._put(json.dumps(payload))
        except ConnectionError:
            return

    async def _put(self, text: str) -> None:
        if self._stream is not None:
            packed = self._stream.compress(text.encode()) + self._stream.flush(zlib.Z_SYNC_FLUSH)
            await self._ws.send_bytes(packed)
        elif self._packs_payloads:
            await self._ws.send_bytes(zlib.compress(text.encode()))
        else:
            await self._ws.send_str(text)

    async def _watch(self) -> None:
        """Ends a connection whose client has stopped its heartbeats; it may resume (the code is a guess)."""
        limit_s = self._sim.heartbeat_interval_s * GRACE
        try:
            while True:
                self._beaten.clear()
                async with asyncio.timeout(limit_s):
                    await self._beaten.wait()
        except TimeoutError:
            self._sim.note(0, "heartbeats missing")
        self.close(4000, "Unknown error.")
        await asyncio.Event().wait()

    async def _read(self) -> None:
        try:
            async for message in self._ws:
                self._take(message)
        except Closing as closing:
            self.close(closing.code, closing.reason)
            self._closing = True
        if self._closing:
            await asyncio.Event().wait()  # the writer says good-bye, and then everything ends

    # -- what the client says

    def _take(self, message: WSMessage) -> None:
        if message.type not in {WSMsgType.TEXT, WSMsgType.BINARY}:
            return
        self._check_pace()
        raw = message.data if isinstance(message.data, bytes) else str(message.data).encode()
        if len(raw) > limits.MAX_GATEWAY_PAYLOAD_BYTES:
            raise Closing(4002, "Error while decoding payload.")
        try:
            payload = json.loads(raw)
            op, data = payload["op"], payload.get("d")
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Closing(4002, "Error while decoding payload.") from None
        self._handle(op, data)

    def _check_pace(self) -> None:
        now = time.monotonic()
        while self._received and self._received[0] <= now - 60:
            self._received.popleft()
        self._received.append(now)
        if len(self._received) > limits.MAX_GATEWAY_EVENTS_PER_MINUTE:
            raise Closing(4008, "You are being rate limited.")

    def _handle(self, op: Any, data: Any) -> None:
        if op == HEARTBEAT:
            self._heartbeat(data)
        elif op in {IDENTIFY, RESUME} and not isinstance(data, dict):
            raise Closing(4002, "Error while decoding payload.")
        elif op == IDENTIFY:
            self._identify(data)
        elif op == RESUME:
            self._resume(data)
        elif op not in {PRESENCE, VOICE_STATE, REQUEST_MEMBERS}:
            raise Closing(4001, "Unknown opcode.")
        elif self._session is None:
            raise Closing(4003, "Not authenticated.")
        elif op == REQUEST_MEMBERS:
            self._send_members(self._session, data)

    def _heartbeat(self, seq: Any) -> None:
        self._beaten.set()
        session = self._session
        self._sim.note(0 if session is None else session.bot_id, "heartbeat", seq)
        if session is None or session.acks_heartbeats:
            self.send({"op": HEARTBEAT_ACK, "s": None, "t": None, "d": None})

    def _identify(self, data: Json) -> None:
        if self._session is not None:
            raise Closing(4005, "Already authenticated.")
        bot = self._sim.world.bot_of_token(str(data.get("token", "")).removeprefix("Bot "))
        if bot is None:
            raise Closing(4004, "Authentication failed.")
        shard = tuple(data.get("shard") or (0, 1))
        if len(shard) != 2 or not all(isinstance(n, int) for n in shard) or not 0 <= shard[0] < shard[1]:
            raise Closing(4010, "Invalid shard.")
        wanted = _checked_intents(bot, data.get("intents"))
        self._packs_payloads = bool(data.get("compress")) and self._stream is None
        session = Session(bot.id, wanted, (shard[0], shard[1]), self._sim.log, self._sim.clock)
        self._sim.sessions.add(session)
        self._adopt(session)
        self._sim.note(bot.id, "identified", {"session_id": session.id, "intents": wanted})
        self._greet(bot, session)

    def _adopt(self, session: Session) -> None:
        if session.wire is not None:
            session.wire.abort()
        session.wire, session.disconnected_at, self._session = self, None, session
        session.acks_heartbeats = True

    def _greet(self, bot: Bot, session: Session) -> None:
        """READY, and each guild as it becomes available."""
        guilds = [guild for guild in self._sim.world.guilds_of(bot.id) if session.serves(guild.id)]
        flags = (1 << 19) if bot.message_content else 0
        url = "ws" + self._sim.base_url.removeprefix("http") + "/gateway/resume"
        ready: Json = {
            "v": 10,
            "user": user_json(bot.user) | {"verified": True, "mfa_enabled": True, "email": None, "flags": 0},
            "guilds": [{"id": str(guild.id), "unavailable": True} for guild in guilds],
            "session_id": session.id,
            "session_type": "normal",
            "resume_gateway_url": url,
            "shard": list(session.shard),
            "application": {"id": str(bot.id), "flags": flags},
            "private_channels": [],
            "relationships": [],
            "presences": [],
            "geo_ordered_rtc_regions": [],
            "user_settings": {},
            "_trace": [],
        }
        session.dispatch("READY", ready)
        if session.intents & intents.GUILDS:
            for guild in guilds:
                available = guild_create_json(guild, bot.id) | {"unavailable": False}
                session.dispatch("GUILD_CREATE", available)
        self._sim.changed()

    def _resume(self, data: Json) -> None:
        if self._session is not None:
            raise Closing(4005, "Already authenticated.")
        bot = self._sim.world.bot_of_token(str(data.get("token", "")).removeprefix("Bot "))
        if bot is None:
            raise Closing(4004, "Authentication failed.")
        session = self._sim.sessions.get(str(data.get("session_id")))
        seq = data.get("seq")
        if session is None or session.bot_id != bot.id or not isinstance(seq, int):
            self._refuse_resume(bot.id)
            return
        if seq > session.seq:
            raise Closing(4007, "Invalid seq.")
        if not session.can_replay_after(seq):
            self._refuse_resume(bot.id)
            return
        self._adopt(session)
        self._sim.note(bot.id, "resumed", {"session_id": session.id, "seq": seq})
        session.replay_after(seq)
        session.dispatch("RESUMED", {"_trace": []})

    def _refuse_resume(self, bot_id: int) -> None:
        self.send({"op": INVALID_SESSION, "s": None, "t": None, "d": False})
        self._sim.note(bot_id, "resume refused")

    def _send_members(self, session: Session, data: Any) -> None:
        guild = self._sim.world.guilds.get(int(data.get("guild_id", 0)))
        if guild is None or session.bot_id not in guild.members:
            return
        chunk = {
            "guild_id": str(guild.id),
            "members": [member_json(member) for member in guild.members.values()],
            "chunk_index": 0,
            "chunk_count": 1,
        }
        nonce = {"nonce": data["nonce"]} if data.get("nonce") else {}
        session.dispatch("GUILD_MEMBERS_CHUNK", chunk | nonce)


def _checked_intents(bot: Bot, wanted: Any) -> int:
    if not isinstance(wanted, int) or isinstance(wanted, bool) or wanted & ~intents.KNOWN or wanted < 0:
        raise Closing(4013, "Invalid intent(s).")
    if intents.disallowed(
        wanted,
        message_content=bot.message_content,
        members=bot.members_intent,
        presences=bot.presences_intent,
    ):
        raise Closing(4014, "Disallowed intent(s).")
    return wanted
