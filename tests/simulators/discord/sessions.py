"""Gateway sessions: sequence numbers, what can be replayed, and who is connected.

https://docs.discord.com/developers/events/gateway#resuming. A session outlives its connection for a while
and goes on collecting events, which a resume replays.
"""

import secrets
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from tests.simulators.discord.log import EventRecord, Log

Json = dict[str, Any]
REPLAY_LIMIT = 2000
"""Events kept for a resume; the platform's number is not published."""


class Wire(Protocol):
    """A live connection."""

    def send(self, payload: Json) -> None:
        """Queues a payload."""
        ...

    def close(self, code: int, reason: str) -> None:
        """Closes with a code."""
        ...

    def abort(self) -> None:
        """Cuts without a word."""
        ...


class Session:
    """One session of one bot."""

    def __init__(
        self, bot_id: int, intents: int, shard: tuple[int, int], log: Log, clock: Callable[[], float]
    ) -> None:
        self.id = secrets.token_hex(16)
        self.bot_id = bot_id
        self.intents = intents
        self.shard = shard
        self.seq = 0
        self.wire: Wire | None = None
        self.disconnected_at: float | None = None
        self.acks_heartbeats = True
        self._log = log
        self._clock = clock
        self._replayable: deque[tuple[EventRecord, Json]] = deque(maxlen=REPLAY_LIMIT)

    def dispatch(self, name: str, data: Any) -> EventRecord:
        """Numbers an event, keeps it for a resume and sends it if somebody is connected."""
        self.seq += 1
        record = EventRecord(self.bot_id, self.id, self.seq, name, data, self._clock())
        payload: Json = {"op": 0, "s": self.seq, "t": name, "d": data}
        self._replayable.append((record, payload))
        self._log.events.append(record)
        if self.wire is not None:
            self._send(record, payload)
        return record

    def can_replay_after(self, seq: int) -> bool:
        """Return whether every event after this one is still there."""
        oldest = self._replayable[0][0].seq if self._replayable else self.seq + 1
        return oldest - 1 <= seq <= self.seq

    def replay_after(self, seq: int) -> None:
        """Sends every event after this one again, under its old number."""
        for record, payload in list(self._replayable):
            if record.seq > seq:
                self._send(record, payload)

    def _send(self, record: EventRecord, payload: Json) -> None:
        assert self.wire is not None
        record.sent_at.append(self._clock())
        self.wire.send(payload)

    def serves(self, guild_id: int | None) -> bool:
        """Return whether events of this guild (None: direct messages) go to this session's shard."""
        number, count = self.shard
        return number == 0 if guild_id is None else (guild_id >> 22) % count == number


class Sessions:
    """All sessions; those that nobody resumes in time are forgotten."""

    def __init__(self, clock: Callable[[], float], ttl_s: float) -> None:
        self.ttl_s = ttl_s
        self._clock = clock
        self._sessions: dict[str, Session] = {}

    def add(self, session: Session) -> None:
        """Keeps a new session."""
        self._sessions[session.id] = session

    def get(self, session_id: str) -> Session | None:
        """A session that can still be resumed."""
        self._forget_old()
        return self._sessions.get(session_id)

    def forget(self, session: Session) -> None:
        """Makes a session impossible to resume; its connection stays as it is."""
        self._sessions.pop(session.id, None)

    def of(self, bot_id: int | None = None) -> list[Session]:
        """A bot's sessions (all bots': None), connected or waiting to be resumed."""
        self._forget_old()
        return [session for session in self._sessions.values() if bot_id in {None, session.bot_id}]

    def connected(self, bot_id: int | None = None) -> list[Session]:
        """The sessions with a live connection."""
        return [session for session in self.of(bot_id) if session.wire is not None]

    def _forget_old(self) -> None:
        now = self._clock()
        for session in list(self._sessions.values()):
            since = session.disconnected_at
            if session.wire is None and since is not None and now - since > self.ttl_s:
                del self._sessions[session.id]
