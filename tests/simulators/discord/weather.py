"""Troubles of the gateway: cuts, closes, requests to reconnect, zombies, events that come twice."""

import math
import time
from typing import Any

from tests.simulators.control import operation
from tests.simulators.discord.gateway import HEARTBEAT, INVALID_SESSION, RECONNECT
from tests.simulators.discord.inspection import Inspection
from tests.simulators.discord.people import Id
from tests.simulators.discord.sessions import Session
from tests.simulators.discord.state import BotName

Json = dict[str, Any]


class Weather(Inspection):
    """Trouble on the websockets. ``bot=None`` means every bot's."""

    @operation
    def cut_gateway(self, duration_s: float | None = None) -> None:
        """Cuts every websocket, and every new one for so long (None: until ``mend_gateway``)."""
        self.gateway_closed_until = math.inf if duration_s is None else time.monotonic() + duration_s
        for wire in list(self.wires):
            wire.abort()

    @operation
    def mend_gateway(self) -> None:
        """Lets websockets in again."""
        self.gateway_closed_until = None

    @operation
    def close_gateway(self, code: int = 4000, reason: str = "Unknown error.", bot: BotName = None) -> None:
        """Closes the websockets of one bot (of all) with a code; but for 4007 and 4009 they can resume."""
        for session in self._connected(bot):
            if session.wire is not None:
                session.wire.close(code, reason)

    @operation
    def sends_event(self, name: str, data: Any, bot: BotName = None) -> None:
        """An event as it is given, of whatever shape: a client must expect what it does not know."""
        for session in self._connected(bot):
            session.dispatch(name, data)

    @operation
    def ask_reconnect(self, bot: BotName = None) -> None:
        """RECONNECT (opcode 7): the client is to reconnect and resume."""
        for session in self._connected(bot):
            _say(session, {"op": RECONNECT, "s": None, "t": None, "d": None})

    @operation
    def ask_heartbeat(self, bot: BotName = None) -> None:
        """HEARTBEAT (opcode 1): the client is to beat at once."""
        for session in self._connected(bot):
            _say(session, {"op": HEARTBEAT, "s": None, "t": None, "d": None})

    @operation
    def invalidate_sessions(self, bot: BotName = None, resumable: bool = False) -> None:
        """INVALID_SESSION (opcode 9); unless ``resumable`` the client has to identify anew."""
        for session in self._connected(bot):
            if not resumable:
                self.sessions.forget(session)
            _say(session, {"op": INVALID_SESSION, "s": None, "t": None, "d": resumable})

    @operation
    def forget_sessions(self, bot: BotName = None) -> None:
        """No session of one bot (of any) can be resumed any more; live connections stay."""
        for session in self.sessions.of(None if bot is None else self.bot(bot).id):
            self.sessions.forget(session)

    @operation
    def withhold_acks(self, bot: BotName = None) -> None:
        """Heartbeats of the present connections are not acknowledged: they become zombies."""
        for session in self._connected(bot):
            session.acks_heartbeats = False

    @operation
    def redeliver(self, message_id: Id, times: int = 1) -> None:
        """The MESSAGE_CREATE of a message again, as a new event ("up to N times", reference#consistency)."""
        for _ in range(times):
            self.announce_message("MESSAGE_CREATE", self.message(message_id))

    @operation
    def inject_event(self, name: str, data: Any, bot: BotName = None) -> None:
        """Anything as an event."""
        for session in self.sessions.of(None if bot is None else self.bot(bot).id):
            session.dispatch(name, data)
        self.changed()

    def _connected(self, bot: BotName) -> list[Session]:
        return self.sessions.connected(None if bot is None else self.bot(bot).id)


def _say(session: Session, payload: Json) -> None:
    if session.wire is not None:
        session.wire.send(payload)
