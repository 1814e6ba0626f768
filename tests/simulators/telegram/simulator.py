"""The simulator as one object: world, people, faults, log and the two HTTP servers."""

from typing import Any

from tests.simulators.control import ControlApi, operation
from tests.simulators.listener import Listener
from tests.simulators.telegram.chats import ChatActions
from tests.simulators.telegram.inspection import Inspection
from tests.simulators.telegram.log import UpdateRecord
from tests.simulators.telegram.people_files import FileActions
from tests.simulators.telegram.server import ApiServer
from tests.simulators.telegram.updates import LongPolls, UpdateQueue
from tests.simulators.telegram.world import Bot, User

Json = dict[str, Any]


class TelegramSimulator(Inspection, FileActions, ChatActions):
    """A whole Telegram; bots send requests to ``{url}/bot<token>/<method>``."""

    def _listener(self, control: ControlApi, host: str, port: int) -> Listener:
        return ApiServer(self, control, host, port).listener

    async def _end(self) -> None:
        for webhook in self.webhooks.values():
            await webhook.close()
        self.webhooks.clear()

    def _aimed(self, details: Json) -> Json:
        bot = details.pop("bot", None)
        return details | {"bot_id": None if bot is None else self.bot(bot).id}

    # -- accounts

    @operation
    def add_bot(
        self,
        token: str,
        username: str | None = None,
        first_name: str = "Bot",
        can_read_all_group_messages: bool = False,
        can_join_groups: bool = True,
        first_update_id: int = 870_000_001,
    ) -> Bot:
        """Registers a bot; its user id is the number before the colon of the token."""
        if token in self.world.bots:
            raise ValueError("this bot exists already")
        bot_id = int(token.partition(":")[0])
        face = User(
            id=bot_id,
            first_name=first_name,
            username=username or f"sim{bot_id}_bot",
            language_code=None,
            is_bot=True,
        )
        bot = Bot(
            token=token,
            user=face,
            can_join_groups=can_join_groups,
            can_read_all_group_messages=can_read_all_group_messages,
        )
        self.world.bots[token] = bot
        queue = UpdateQueue(bot_id, self.log, self.clock, first_update_id)
        polls = LongPolls(queue, pacing=self.enforce_poll_pacing, changed=self.changed)
        queue.on_push = lambda _record: polls.wake()
        self.queues[bot_id], self.polls[bot_id] = queue, polls
        return bot

    @operation
    def add_user(
        self,
        user_id: int | None = None,
        first_name: str = "Ann",
        last_name: str | None = None,
        username: str | None = None,
        language_code: str | None = "en",
    ) -> User:
        """Registers a person."""
        return self.world.add_user(
            id=user_id,
            first_name=first_name,
            last_name=last_name,
            username=username,
            language_code=language_code,
        )

    @operation
    def configure(
        self,
        bot: int | str | None = None,
        callback_answer_ttl_s: float | None = None,
        callback_update_ttl_s: float | None = None,
        message_update_ttl_s: float | None = None,
        conflict_pause_s: float | None = None,
        enforce_rate_limits: bool | None = None,
        webhook_retry_s: float | None = None,
    ) -> None:
        """Changes how long things live and what is enforced; what is left out stays.

        ``callback_answer_ttl_s``: a query answered later is too old. ``callback_update_ttl_s`` and
        ``message_update_ttl_s``: undelivered updates of this bot vanish after it (150 s and a day on the
        platform). ``conflict_pause_s``: pause before a 409 that follows another within it (3 s).
        """
        for name, value in (
            ("callback_answer_ttl_s", callback_answer_ttl_s),
            ("enforce_rate_limits", enforce_rate_limits),
            ("webhook_retry_s", webhook_retry_s),
        ):
            if value is not None:
                setattr(self, name, value)
        if callback_update_ttl_s is not None:
            self.queues[self.bot(bot).id].ttl_s["callback_query"] = callback_update_ttl_s
        if message_update_ttl_s is not None:
            self.queues[self.bot(bot).id].default_ttl_s = message_update_ttl_s
        if conflict_pause_s is not None:
            self.polls[self.bot(bot).id].conflict_pause_s = conflict_pause_s

    # -- updates again, and broken ones

    @operation
    def redeliver(
        self,
        update_id: int | None = None,
        bot: int | str | None = None,
        times: int = 1,
        new_ids: bool = False,
    ) -> list[UpdateRecord]:
        """Delivers a known update (the newest if None) again, under its old id whatever the offset, or
        new.
        """
        account = self.bot(bot)
        known = [r for r in self.log.updates if r.bot_id == account.id and update_id in {None, r.update_id}]
        if not known:
            raise LookupError(f"no update {update_id}")
        queue = self.queues[account.id]
        repeated: list[UpdateRecord] = []
        for _ in range(times):
            if new_ids:
                repeated.append(queue.push_raw(known[-1].kind, known[-1].payload))
            else:
                queue.push_again(known[-1])
                repeated.append(known[-1])
        self.changed()
        return repeated

    @operation
    def inject_update(
        self, payload: Json, bot: int | str | None = None, update_id: int | None = None
    ) -> UpdateRecord:
        """Queues any object as an update; an ``update_id`` inside the payload goes to the bot as it is."""
        record = self.queues[self.bot(bot).id].push_raw("raw", payload, update_id=update_id)
        self.changed()
        return record
