"""A Telegram bot as a channel (https://core.telegram.org/bots/api), receiving by long polls."""

import asyncio
import logging
import ssl
from collections.abc import Callable, Mapping, Sequence

from channels.channel import Payload, Route
from channels.telegram import outbound
from channels.telegram.client import BotClient, Timeouts
from channels.telegram.lost import candidates
from channels.telegram.places import address_of, order_key_of, place_of, ref_of, spot_of
from channels.telegram.polling import UpdatePoller
from core.clock import Clock
from core.errors import ChannelError
from core.messages import Address, Attachment, Message, MessageRef
from core.ports import Acceptance, Inbox, Posted, Surroundings

logger = logging.getLogger(__name__)

MAX_PRESS_ANSWERS = 64
"""Presses answered at the same time; an answer is a courtesy, so more than these go without."""

MAX_PRESS_ANSWER_CHARS = 200
"""Bot API, answerCallbackQuery: "Text of the notification … 0-200 characters"."""


class TelegramChannel:
    """See Channel. `commands`: the menu offered in chats, names (without slash) to descriptions."""

    def __init__(
        self,
        name: str,
        token: str,
        api_base_url: str,
        clock: Clock,
        commands: Mapping[str, str],
        *,
        tls: ssl.SSLContext | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        self._name = name
        self._client = BotClient(token, api_base_url, timeouts or Timeouts(), tls)
        self._poller = UpdatePoller(self._client, name, clock)
        self._commands = list(commands.items())

    @property
    def name(self) -> str:
        """See Channel."""
        return self._name

    # --- receiving ---------------------------------------------------------------------------------------
    def routes(self, inbox: Inbox) -> Sequence[Route]:  # noqa: ARG002
        """See Channel: the bot asks for its updates, nothing is called."""
        return ()

    async def check(self) -> None:
        """See Channel."""
        await self._client.me()

    async def run(self, inbox: Inbox, connected: Callable[[], None]) -> None:
        """See Channel."""
        account = await self._client.me()
        connected()
        try:
            async with asyncio.TaskGroup() as courtesies:
                courtesies.create_task(self._offer_commands(), name=f"menu of {self._name}")
                answers = _PressAnswers(self._client, courtesies)
                await self._poller.run(account, inbox, answers.give)
        except ExceptionGroup as group:
            raise group.exceptions[0] from None  # the poller's: courtesies raise nothing

    async def _offer_commands(self) -> None:
        try:
            if self._commands and await self._client.commands() != self._commands:
                await self._client.set_commands(self._commands)
        except ChannelError as error:
            logger.warning("the menu of %s could not be set: %s", self._name, error)

    # --- sending -----------------------------------------------------------------------------------------
    def render(self, message: Message) -> tuple[Payload, ...]:
        """See Channel."""
        return outbound.render(message)

    async def post(self, to: Address, payload: Payload, *, nonce: str) -> Posted:  # noqa: ARG002
        """See Channel. Telegram knows no nonce."""
        message_id = await self._client.send({**_where(to), **payload})
        return Posted(ref_of(place_of(to).chat_id, message_id), order_key_of(message_id))

    async def edit(self, ref: MessageRef, payload: Payload) -> None:
        """See Channel."""
        spot = spot_of(ref)
        await self._client.edit({"chat_id": spot.chat_id, "message_id": spot.message_id, **payload})

    async def retract(self, ref: MessageRef) -> bool:
        """See Channel."""
        spot = spot_of(ref)
        return await self._client.delete(spot.chat_id, spot.message_id)

    async def typing(self, to: Address) -> None:
        """See Channel."""
        await self._client.typing(_where(to))

    async def find_lost(self, to: Address, payload: Payload, around: Surroundings) -> Posted | None:
        """See Channel. Ids of messages are consecutive, and only a message of ours can be edited."""
        place = place_of(to)
        for message_id in candidates(place.chat_id, around):
            params = {"chat_id": place.chat_id, "message_id": message_id, **payload}
            if await self._client.edit_if_ours(params, place.topic_id):
                return Posted(ref_of(place.chat_id, message_id), order_key_of(message_id))
        return None

    async def fetch(self, attachment: Attachment, limit_bytes: int) -> bytes:
        """See Channel."""
        return await self._client.download(attachment.handle, limit_bytes)

    def direct(self, platform_user_id: str) -> Address:
        """See Channel: a private chat has its person's id."""
        return address_of(int(platform_user_id))

    async def close(self) -> None:
        """See Channel."""
        await self._client.close()


def _where(to: Address) -> dict[str, object]:
    """The parameters that name a chat, or one topic of it."""
    place = place_of(to)
    where: dict[str, object] = {"chat_id": place.chat_id}
    if place.topic_id is not None:
        where["message_thread_id"] = place.topic_id
    return where


class _PressAnswers:
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
