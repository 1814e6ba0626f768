"""A Telegram bot as a channel (https://core.telegram.org/bots/api), receiving by long polls or a webhook."""

import asyncio
import logging
import ssl
from collections.abc import Mapping, Sequence
from functools import partial

from channels.channel import Connected, HttpRequest, HttpResponse, Look, Payload, Route
from channels.telegram import outbound
from channels.telegram.account import Account
from channels.telegram.client import BotClient
from channels.telegram.courtesies import MoveNotices, PressAnswers
from channels.telegram.delivery import Delivery, where
from channels.telegram.files import ReadFile
from channels.telegram.places import address_of, place_of, spot_of
from channels.telegram.polling import UpdatePoller
from channels.telegram.privacy import Groups, Hint, hints
from channels.telegram.probing import Prober
from channels.telegram.time_check import clock_remark
from channels.telegram.timeouts import Timeouts
from channels.telegram.webhook import PATH, Webhook, WebhookReceiver
from core.clock import Clock
from core.errors import ChannelError, MessageRejected
from core.messages import Address, Attachment, Message, MessageRef
from core.ports import Inbox, Posted

logger = logging.getLogger(__name__)

SEEN = "👀"
"""One of the reactions open to every bot (Bot API, ReactionTypeEmoji)."""


class TelegramChannel:
    """See Channel. `commands`: the menu offered in chats, names (without slash) to descriptions; `webhook`:
    where Telegram brings updates, None to ask for them; `read_file`: what gives files to be sent; `groups`:
    whom the hub answers in groups, for a hint in the log on what Telegram shows it there."""

    def __init__(
        self,
        name: str,
        token: str,
        api_base_url: str,
        clock: Clock,
        commands: Mapping[str, str],
        *,
        webhook: Webhook | None = None,
        read_file: ReadFile | None = None,
        tls: ssl.SSLContext | None = None,
        timeouts: Timeouts | None = None,
        groups: Groups = "off",
    ) -> None:
        self._name = name
        timeouts = timeouts or Timeouts()
        self._client = BotClient(token, api_base_url, timeouts, tls)
        self._prober = Prober(self._client, clock, timeouts, self.render)
        self._taken_within_s = timeouts.taken_within_s
        self._poller = UpdatePoller(self._client, name, clock)
        self._webhook = WebhookReceiver(self._client, name, clock, webhook) if webhook is not None else None
        self._commands = list(commands.items())
        self._clock = clock
        self._groups: Groups = groups
        self._hinted: list[Hint] = []
        self._moves: MoveNotices | None = None
        self._delivery = Delivery(self._client, read_file, self._on_moved)

    @property
    def name(self) -> str:
        """See Channel."""
        return self._name

    # --- receiving ---------------------------------------------------------------------------------------
    def routes(self, inbox: Inbox) -> Sequence[Route]:
        """See Channel."""
        webhook = self._webhook
        if webhook is None:
            return ()

        async def handle(request: HttpRequest) -> HttpResponse:
            return await webhook.handle(request, inbox)

        return (Route("POST", PATH, handle),)

    async def check(self) -> None:
        """See Channel."""
        await self._client.me()

    async def run(self, inbox: Inbox, connected: Connected) -> None:
        """See Channel."""
        account = await self._client.me()
        self._hint_at_groups(account)
        remark = clock_remark(self._clock.now(), self._client.answer_date)
        try:
            async with asyncio.TaskGroup() as courtesies:
                courtesies.create_task(self._offer_commands(), name=f"menu of {self._name}")
                answers = PressAnswers(self._client, courtesies)
                self._moves = MoveNotices(account, self._name, inbox, self._clock, courtesies)
                if self._webhook is not None:
                    await self._webhook.run(account, answers.give, partial(connected, remark))
                else:
                    connected(remark)
                    await self._poller.run(account, inbox, answers.give)
        except ExceptionGroup as group:
            raise group.exceptions[0] from None  # the receiver's: courtesies raise nothing
        finally:
            self._moves = None

    def _hint_at_groups(self, account: Account) -> None:
        """Once, and again when it has changed."""
        found = list(hints(self._groups, account.group_rights))
        for hint in found if found != self._hinted else ():
            level = logging.WARNING if hint.fix else logging.INFO
            advice = f"; {hint.fix}" if hint.fix else ""
            logger.log(level, "channel %s: %s%s", self._name, hint.text, advice)
        self._hinted = found

    def _on_moved(self, old_chat_id: int, chat_id: int) -> None:
        if self._moves is not None:
            self._moves.give(old_chat_id, chat_id)

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

    async def post(
        self,
        to: Address,
        payload: Payload,
        *,
        nonce: str,  # noqa: ARG002 - Telegram knows none
        repeated: bool = False,  # noqa: ARG002 - it is not told apart
    ) -> Posted:
        """See Channel. Telegram knows no nonce."""
        return await self._delivery.post(to, payload)

    async def edit(self, ref: MessageRef, payload: Payload) -> None:
        """See Channel."""
        if outbound.FILE in payload:
            raise MessageRejected("a message with text cannot become a file")
        spot = spot_of(ref)
        await self._client.edit({"chat_id": spot.chat_id, "message_id": spot.message_id, **_change(payload)})

    async def retract(self, ref: MessageRef) -> bool:
        """See Channel."""
        spot = spot_of(ref)
        return await self._client.delete(spot.chat_id, spot.message_id)

    async def open_thread(
        self,
        at: Address,
        title: str,
        nonce: str,  # noqa: ARG002 - Telegram knows none
    ) -> Address | None:
        """See Threaded: a topic of a forum."""
        chat_id = place_of(at).chat_id
        try:
            return address_of(chat_id, await self._client.open_topic(chat_id, title))
        except MessageRejected as error:
            logger.info("no topic can be opened in %d: %s", chat_id, error)
            return None

    async def typing(self, to: Address) -> None:
        """See Channel."""
        await self._client.typing(where(to))

    async def acknowledge(self, ref: MessageRef) -> None:
        """See Channel: an eye on the message."""
        spot = spot_of(ref)
        await self._client.react(spot.chat_id, spot.message_id, SEEN)

    @property
    def taken_within_s(self) -> float:
        """See Seeking."""
        return self._taken_within_s

    async def find_lost(
        self,
        to: Address,
        payload: Payload,
        nonce: str,  # noqa: ARG002 - Telegram knows none
        look: Look,
    ) -> Posted | None:
        """See Channel. Ids of messages are given in order, and only a message of ours can be edited."""
        return await self._prober.find(to, payload, look)

    async def fetch(self, attachment: Attachment, limit_bytes: int) -> bytes:
        """See Channel."""
        return await self._client.download(attachment.handle, limit_bytes)

    def direct(self, platform_user_id: str) -> Address:
        """See Channel: a private chat has its person's id."""
        return address_of(int(platform_user_id))

    async def close(self) -> None:
        """See Channel."""
        await self._client.close()


def _change(payload: Payload) -> dict[str, object]:
    """A part as a change of one that is shown: what it replies to stays."""
    return {name: value for name, value in payload.items() if name != outbound.REPLY}
