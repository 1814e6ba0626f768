"""The state that all parts of the simulator share: the world, the log, the switches, and how long things
last."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.simulators.changes import Changes
from tests.simulators.faults import FaultBook
from tests.simulators.request_log import AsJson
from tests.simulators.slack import limits
from tests.simulators.slack.faults import Fault
from tests.simulators.slack.ids import Ids
from tests.simulators.slack.log import DeliveryRecord, Log
from tests.simulators.slack.world import App, Channel, Message, User, World

Json = dict[str, Any]


@dataclass(slots=True)
class Ephemeral(AsJson):
    """A message only one person sees; ``via`` is the method or ``response`` that made it."""

    ts: str
    channel: str
    user_id: str
    app_id: str
    body: Json
    via: str
    thread_ts: str | None = None
    deleted: bool = False
    history: list[Json] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The top-level text."""
        return str(self.body.get("text", ""))

    @property
    def blocks(self) -> list[Json]:
        """The layout blocks."""
        blocks: list[Json] = self.body.get("blocks", [])
        return blocks


@dataclass(slots=True)
class ResponseUrl:
    """A short-lived URL that answers one interaction."""

    key: str
    app_id: str
    channel: str
    user_id: str
    expires_at: float
    message: Message | Ephemeral | None = None
    thread_ts: str | None = None
    uses: int = 0


@dataclass(slots=True)
class Trigger:
    """A short-lived permission to open a view for somebody."""

    id: str
    app_id: str
    user_id: str
    expires_at: float
    used: bool = False


@dataclass(slots=True)
class View:
    """A modal that is open (or was)."""

    id: str
    app_id: str
    user_id: str
    body: Json
    hash: str
    is_open: bool = True
    errors: Json = field(default_factory=dict)

    def to_json(self) -> Json:
        """The view object of payloads and answers."""
        return {**self.body, "id": self.id, "hash": self.hash, "app_id": self.app_id}

    def state(self) -> Json:
        """The view, and whether a person still sees it and with which complaints."""
        return {**self.to_json(), "user": self.user_id, "is_open": self.is_open, "errors": self.errors}


class SlackState(Changes):
    """The shared state. Everything runs on one event loop; nothing here is thread-safe."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.time,
        log_limit: int | None = None,
        enforce_rate_limits: bool = False,
        ack_timeout_s: float = limits.ACK_TIMEOUT_S,
        retry_delays_s: tuple[float, ...] = limits.RETRY_DELAYS_S,
    ) -> None:
        super().__init__()
        self.clock = clock
        self.ids = Ids()
        self.world = World(self.ids)
        self.log = Log(log_limit)
        self.faults = FaultBook(Fault)
        self.enforce_rate_limits = enforce_rate_limits
        self.ack_timeout_s = ack_timeout_s
        self.retry_delays_s = retry_delays_s
        self.trigger_ttl_s = limits.TRIGGER_TTL_S
        self.response_url_ttl_s = float(limits.RESPONSE_URL_TTL_S)
        self.stream_ttl_s = float(limits.STREAM_TTL_S)
        self.stream_kinds: frozenset[str] | None = None
        self.mention_first = False
        self.ephemeral_messages: list[Ephemeral] = []
        self.response_urls: dict[str, ResponseUrl] = {}
        self.triggers: dict[str, Trigger] = {}
        self.views: dict[str, View] = {}

    @property
    def url(self) -> str:
        """Return where the simulator listens."""
        raise NotImplementedError

    def deliver(self, record: DeliveryRecord) -> None:
        """Hands an event or interaction to its app's connection."""
        raise NotImplementedError

    def now(self) -> int:
        """The platform's date, in whole seconds."""
        return int(self.clock())

    def grows(self, message: Message) -> bool:
        """Return whether a message is being streamed; the platform closes a stream after a while."""
        if message.stream is not None and self.clock() - float(message.ts) > self.stream_ttl_s:
            message.stream = None
        return message.stream is not None

    # -- looking things up

    def app(self, app: str | None = None) -> App:
        """An app by id, name or token; without a name the only one. Raises ``LookupError``."""
        apps = list(self.world.apps.values())
        if app is None and len(apps) == 1:
            return apps[0]
        for candidate in apps:
            if app in {candidate.id, candidate.name, candidate.bot_token, candidate.app_token}:
                return candidate
        raise LookupError(f"no app {app!r}" if app is not None else f"name one of the {len(apps)} apps")

    def person(self, user_id: str) -> User:
        """A person by id. Raises ``LookupError``."""
        if user_id not in self.world.users:
            raise LookupError(f"no user {user_id}")
        return self.world.users[user_id]

    def channel(self, channel: str) -> Channel:
        """A conversation by id or name. Raises ``LookupError``."""
        found = self.world.find_channel(channel)
        if found is None:
            raise LookupError(f"no conversation {channel}")
        return found

    def message(self, channel: str, ts: str) -> Message:
        """A message, deleted ones included. Raises ``LookupError``."""
        found = self.channel(channel).messages.get(ts)
        if found is None:
            raise LookupError(f"no message {ts} in {channel}")
        return found

    def file_json(self, file_id: str) -> Json:
        """A file as clients see it."""
        return self.world.files[file_id].to_json(self.url, self.world.team_id)
