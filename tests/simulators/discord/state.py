"""The state that all parts of the simulator share: the world, the log, the switches, and looking things
up."""

import hashlib
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from tests.simulators.changes import Changes
from tests.simulators.discord import limits
from tests.simulators.discord.faults import Fault
from tests.simulators.discord.log import GatewayRecord, Log
from tests.simulators.discord.rates import RateLimits
from tests.simulators.discord.sessions import Sessions, Wire
from tests.simulators.discord.snowflakes import Snowflakes
from tests.simulators.discord.world import Attachment, Bot, Channel, Guild, Message, User, World
from tests.simulators.faults import FaultBook

Json = dict[str, Any]
BotName = int | str | None


class SimulatorState(Changes):
    """The shared state. Everything runs on one event loop; nothing here is thread-safe."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.time,
        log_limit: int | None = None,
        enforce_rate_limits: bool = False,
        heartbeat_interval_s: float = limits.HEARTBEAT_INTERVAL_S,
        session_ttl_s: float = limits.SESSION_TTL_S,
        interaction_limit_s: float = limits.INTERACTION_LIMIT_S,
        interaction_token_ttl_s: float = limits.INTERACTION_TOKEN_TTL_S,
        nonce_window_s: float = limits.NONCE_WINDOW_S,
    ) -> None:
        super().__init__()
        self.clock = clock
        self.world = World()
        self.ids = Snowflakes(clock)
        self.log = Log(log_limit)
        self.faults = FaultBook(Fault)
        self.rates = RateLimits(enforce=enforce_rate_limits)
        self.sessions = Sessions(clock, session_ttl_s)
        self.heartbeat_interval_s = heartbeat_interval_s
        self.interaction_limit_s = interaction_limit_s
        self.interaction_token_ttl_s = interaction_token_ttl_s
        self.nonce_window_s = nonce_window_s
        self.attachment_url_ttl_s = float(limits.ATTACHMENT_URL_TTL_S)
        self.nonces: dict[tuple[int, str], Message] = {}
        self.base_url = ""
        self.wires: set[Wire] = set()
        self.gateway_closed_until: float | None = None

    # -- looking things up

    def bot(self, bot: BotName = None) -> Bot:
        """A bot by token, id or username; without a name the only one. Raises ``LookupError``."""
        bots = list(self.world.bots.values())
        if bot is None and len(bots) == 1:
            return bots[0]
        for candidate in bots:
            if bot is not None and str(bot) in {candidate.token, str(candidate.id), candidate.user.username}:
                return candidate
        raise LookupError(f"no bot {bot!r}" if bot is not None else f"name one of the {len(bots)} bots")

    def person(self, user_id: int | str) -> User:
        """Somebody by id. Raises ``LookupError``."""
        found = self.world.users.get(int(user_id))
        if found is None:
            raise LookupError(f"no user {user_id}")
        return found

    def guild(self, guild_id: int | str) -> Guild:
        """A guild by id. Raises ``LookupError``."""
        found = self.world.guilds.get(int(guild_id))
        if found is None:
            raise LookupError(f"no guild {guild_id}")
        return found

    def channel(self, channel_id: int | str) -> Channel:
        """A channel, thread or direct conversation by id. Raises ``LookupError``."""
        found = self.world.channels.get(int(channel_id))
        if found is None:
            raise LookupError(f"no channel {channel_id}")
        return found

    def message(self, message_id: int | str, channel_id: int | str | None = None) -> Message:
        """A message, deleted ones included. Raises ``LookupError``."""
        places = self.world.channels.values() if channel_id is None else [self.channel(channel_id)]
        for place in places:
            if int(message_id) in place.messages:
                return place.messages[int(message_id)]
        raise LookupError(f"no message {message_id}")

    # -- attachments and the gateway's diary

    def attachment_url(self, channel: Channel, attachment: Attachment) -> str:
        """A signed link to a file, good for a day."""
        issued = int(self.clock())
        expires = issued + int(self.attachment_url_ttl_s)
        path = f"/attachments/{channel.id}/{attachment.id}/{attachment.name}"
        query = f"ex={expires:x}&is={issued:x}&hm={self.signature(path, expires)}&"
        return f"{self.base_url}{quote(path)}?{query}"

    def signature(self, path: str, expires: int) -> str:
        """Return what makes a link to a file valid until then."""
        return hashlib.sha256(f"{path}?{expires}".encode()).hexdigest()

    def note(self, bot_id: int, what: str, detail: Any = None) -> None:
        """Writes down what happened on the gateway."""
        self.log.gateway.append(GatewayRecord(self.clock(), bot_id, what, detail))
        self.changed()
