"""Queries of a judge: the log, the state of chats, and whether something has come to pass."""

from typing import Any

from tests.patience import PATIENCE_S
from tests.simulators.control import operation
from tests.simulators.platform import Platform
from tests.simulators.telegram.log import Log, RequestRecord, UpdateRecord
from tests.simulators.telegram.people import PeopleActions
from tests.simulators.telegram.state import CallbackQuery
from tests.simulators.telegram.world import Message

Json = dict[str, Any]


class Inspection(Platform, PeopleActions):
    """Questions about what has happened so far."""

    log: Log

    @operation
    def requests(
        self,
        method: str | None = None,
        chat_id: int | None = None,
        bot: int | str | None = None,
        outcome: str | None = None,
        ok: bool | None = None,
        since: int = 0,
    ) -> list[RequestRecord]:
        """Requests in order, filtered; ``ok`` means taken and accepted, ``since`` a number to start after."""
        bot_id = None if bot is None else self.bot(bot).id
        return self.log.select(
            method=method, chat_id=chat_id, bot_id=bot_id, outcome=outcome, ok=ok, since=since
        )

    @operation
    def updates(self, bot: int | str | None = None, kind: str | None = None) -> list[UpdateRecord]:
        """Updates in order of creation, with deliveries and confirmation."""
        bot_id = None if bot is None else self.bot(bot).id
        return self.log.select_updates(
            lambda record: bot_id in {None, record.bot_id} and kind in {None, record.kind}
        )

    @operation
    def messages(
        self,
        chat_id: int,
        bot: int | str | None = None,
        by: str | None = None,
        topic_id: int | None = None,
        deleted: bool = False,
    ) -> list[Message]:
        """A chat's messages in order; ``by`` ("bot" or "user") leaves service messages out."""
        if chat_id > 0 and (self.bot(bot).id, chat_id) not in self.world.private:
            return []
        return [
            message
            for message in self.chat(chat_id, bot).messages.values()
            if (deleted or not message.deleted)
            and (by is None or (by == "bot") == (message.request is not None))
            and not (by is not None and message.is_service)
            and (topic_id is None or message.topic_id == topic_id)
        ]

    def bot_messages(self, chat_id: int, bot: int | str | None = None) -> list[Message]:
        """The messages bots have put into a chat, in order."""
        return self.messages(chat_id, bot, by="bot")

    @operation
    def chat_state(self, chat_id: int, bot: int | str | None = None) -> Json:
        """A chat with its members, topics, chat actions (typing …) and all messages, deleted ones
        included.
        """
        chat = self.chat(chat_id, bot)
        return {
            "chat": chat.to_json(),
            "members": {str(user): status for user, status in chat.members.items()},
            "migrated_to": chat.migrated_to,
            "topics": [
                {"id": topic.id, "name": topic.name, "closed": topic.closed, "deleted": topic.deleted}
                for topic in chat.topics.values()
            ],
            "actions": [
                {"at": at, "bot_id": bot_id, "action": action} for at, bot_id, action in chat.actions
            ],
            "messages": [message.state() for message in chat.messages.values()],
        }

    @operation
    def callback_queries(self) -> list[CallbackQuery]:
        """Pressed buttons in order, each with the bot's answers."""
        return list(self.callbacks.values())

    @operation
    def commands(self, bot: int | str | None = None) -> Json:
        """The bot's menus of commands, by scope and language as JSON text."""
        return dict(self.bot(bot).commands)

    @operation
    def is_polling(self, bot: int | str | None = None) -> bool:
        """Return whether a long poll of this bot waits right now."""
        return self.polls[self.bot(bot).id].is_waiting

    @operation
    def all_confirmed(self, bot: int | str | None = None) -> bool:
        """Return whether no update of this bot waits to be delivered or confirmed."""
        queue = self.queues[self.bot(bot).id]
        return not queue.pending and not queue.again

    @operation
    def whole_log(self, since: int = 0) -> Json:
        """All requests after number ``since`` and all updates; the control API calls it ``log``."""
        return {"requests": self.requests(since=since), "updates": self.updates()}

    @operation
    async def wait_bot_messages(
        self, chat_id: int, count: int = 1, bot: int | str | None = None, timeout_s: float = PATIENCE_S
    ) -> list[Message]:
        """Waits until bots have put at least ``count`` messages into a chat."""
        return await self.wait_count(lambda: self.bot_messages(chat_id, bot), count, timeout_s)

    @operation
    async def wait_text(
        self, chat_id: int, contains: str, bot: int | str | None = None, timeout_s: float = PATIENCE_S
    ) -> Message:
        """Waits until a bot's message in a chat shows this text (after edits)."""
        return await self.wait_for(
            lambda: next((m for m in self.bot_messages(chat_id, bot) if contains in m.text), None), timeout_s
        )

    @operation
    async def wait_polling(self, bot: int | str | None = None, timeout_s: float = PATIENCE_S) -> bool:
        """Waits until a long poll of this bot is open."""
        return await self.wait_for(lambda: self.is_polling(bot), timeout_s)

    @operation
    async def wait_confirmed(self, bot: int | str | None = None, timeout_s: float = PATIENCE_S) -> bool:
        """Waits until every update of this bot is confirmed."""
        return await self.wait_for(lambda: self.all_confirmed(bot), timeout_s)

    @operation
    async def wait_callback_answer(self, query_id: str, timeout_s: float = PATIENCE_S) -> CallbackQuery:
        """Waits until the bot has answered a pressed button."""
        return await self.wait_for(
            lambda: self.callbacks[query_id] if self.callbacks[query_id].answers else None, timeout_s
        )
