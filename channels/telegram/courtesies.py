"""What is done beside the receiving of updates; a failure of it is only logged."""

import asyncio
import logging

from channels.telegram.account import Account
from channels.telegram.client import BotClient
from channels.telegram.inbound import moved
from core.clock import Clock
from core.errors import ChannelError, InboxUnavailable
from core.ports import Acceptance, Inbox

logger = logging.getLogger(__name__)

MAX_PRESS_ANSWERS = 64
"""Presses answered at the same time; an answer is a courtesy, so more than these go without."""

MAX_PRESS_ANSWER_CHARS = 200
"""Bot API, answerCallbackQuery: "Text of the notification … 0-200 characters"."""


class PressAnswers:
    """Tells people who pressed a button what became of it, beside everything else."""

    def __init__(self, client: BotClient, tasks: asyncio.TaskGroup) -> None:
        self._client = client
        self._tasks = tasks
        self._open = 0

    def give(self, query_id: str, acceptance: Acceptance) -> None:
        """Answer once, soon; a failure is only logged."""
        if self._open >= MAX_PRESS_ANSWERS:
            logger.warning("press %s goes unanswered: too many at once", query_id)
            return
        self._open += 1
        self._tasks.create_task(self._answer(query_id, acceptance), name=f"answer press {query_id}")

    async def _answer(self, query_id: str, acceptance: Acceptance) -> None:
        text = acceptance.answer[:MAX_PRESS_ANSWER_CHARS] if acceptance.answer else None
        try:
            await self._client.answer_press(query_id, text, alert=acceptance.outcome.startswith("refused"))
        except ChannelError as error:
            logger.info("press %s could not be answered: %s", query_id, error)
        finally:
            self._open -= 1


class MoveNotices:
    """Tells the hub of groups that became supergroups when a request learned it; Telegram says so once more
    in an update, which is the same event."""

    def __init__(
        self, account: Account, channel: str, inbox: Inbox, clock: Clock, tasks: asyncio.TaskGroup
    ) -> None:
        self._account = account
        self._channel = channel
        self._inbox = inbox
        self._clock = clock
        self._tasks = tasks

    def give(self, old_chat_id: int, chat_id: int) -> None:
        """Have what is kept under the old chat led to the new one, soon."""
        logger.info("the group %d of %s became the supergroup %d", old_chat_id, self._channel, chat_id)
        self._tasks.create_task(self._tell(old_chat_id, chat_id), name=f"move {old_chat_id} to {chat_id}")

    async def _tell(self, old_chat_id: int, chat_id: int) -> None:
        event = moved(old_chat_id, chat_id, self._account, self._channel, self._clock.now())
        try:
            await self._inbox.accept(event)
        except InboxUnavailable as error:
            logger.warning("the move of %d to %d is kept later: %s", old_chat_id, chat_id, error)
