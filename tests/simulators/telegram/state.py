"""The state that all parts of the simulator share: the world, the log, the switches, and waiting for a
change."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.simulators.changes import Changes
from tests.simulators.faults import FaultBook
from tests.simulators.request_log import AsJson
from tests.simulators.telegram.faults import KINDS, Fault
from tests.simulators.telegram.files import FileStore
from tests.simulators.telegram.limits import CALLBACK_ANSWER_TTL_S
from tests.simulators.telegram.log import Log, UpdateRecord
from tests.simulators.telegram.privacy import sees_message
from tests.simulators.telegram.updates import LongPolls, UpdateQueue
from tests.simulators.telegram.webhooks import Webhook
from tests.simulators.telegram.world import CHANNEL, PRIVATE, Bot, Message, User, World

Json = dict[str, Any]


@dataclass(slots=True)
class CallbackQuery(AsJson):
    """A pressed button and what the bot answered."""

    id: str
    bot_id: int
    user_id: int
    chat_id: int
    message_id: int
    data: str
    pressed_at: float
    answers: list[Json]


class SimulatorState(Changes):
    """The shared state. Everything runs on one event loop; nothing here is thread-safe."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.time,
        log_limit: int | None = None,
        enforce_rate_limits: bool = False,
        enforce_poll_pacing: bool = False,
        webhook_retry_s: float = 0.2,
    ) -> None:
        super().__init__()
        self.clock = clock
        self.world = World()
        self.log = Log(log_limit)
        self.faults = FaultBook(Fault, KINDS)
        self.files = FileStore()
        self.enforce_rate_limits = enforce_rate_limits
        self.enforce_poll_pacing = enforce_poll_pacing
        self.webhook_retry_s = webhook_retry_s
        self.callback_answer_ttl_s = float(CALLBACK_ANSWER_TTL_S)
        self.queues: dict[int, UpdateQueue] = {}
        self.polls: dict[int, LongPolls] = {}
        self.webhooks: dict[int, Webhook] = {}
        self.callbacks: dict[str, CallbackQuery] = {}

    def now(self) -> int:
        """The platform's date, in whole seconds."""
        return int(self.clock())

    # -- looking things up

    def bot(self, bot: int | str | None = None) -> Bot:
        """A bot by token, id or username; without a name the only one. Raises ``LookupError``."""
        bots = list(self.world.bots.values())
        if bot is None and len(bots) == 1:
            return bots[0]
        for candidate in bots:
            if bot in {candidate.token, candidate.id, candidate.user.username}:
                return candidate
        raise LookupError(f"no bot {bot!r}" if bot is not None else f"name one of the {len(bots)} bots")

    def person(self, user_id: int) -> User:
        """A person by id. Raises ``LookupError``."""
        if user_id not in self.world.users:
            raise LookupError(f"no user {user_id}")
        return self.world.users[user_id]

    # -- updates

    def push_update(self, bot: Bot, kind: str, body: Json) -> UpdateRecord | None:
        """Queues an update for a bot; None if the bot did not ask for this kind."""
        record = self.queues[bot.id].push(kind, body)
        self.changed()
        return record

    def deliver(self, message: Message, *, edited: bool = False) -> list[UpdateRecord]:
        """Queues a person's message (or its edit) for every bot that may see it."""
        chat = message.chat
        kind = "channel_post" if chat.kind == CHANNEL else "message"
        kind = f"edited_{kind}" if edited else kind
        body: Json | None = None
        records: list[UpdateRecord] = []
        for bot in self.world.bots.values():
            if chat.kind == PRIVATE and chat.bot_id != bot.id:
                continue
            if not sees_message(bot, message, self.world):
                continue
            body = body or message.to_json()
            record = self.push_update(bot, kind, body)
            if record is not None:
                records.append(record)
        return records
