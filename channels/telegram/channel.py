"""A Telegram bot as a channel (https://core.telegram.org/bots/api), using long polling or a webhook."""

import asyncio
import logging
import ssl
from collections.abc import Callable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from functools import partial

from channels.channel import Connected, HttpRequest, HttpResponse, Look, Payload, Route
from channels.telegram import outbound
from channels.telegram.addresses import (
    Account,
    Groups,
    Hint,
    Timeouts,
    address_of,
    hints,
    order_key_of,
    parse_address,
    parse_ref,
    ref_of,
)
from channels.telegram.client import BotClient
from channels.telegram.errors import ChatMoved
from channels.telegram.inbound import moved
from channels.telegram.interrupted_sends import Prober
from channels.telegram.outbound import FILE, REPLY, UPLOAD_LIMIT_BYTES, Quoted, ReadFile, Upload, methods_for
from channels.telegram.updates import PATH, UpdatePoller, Webhook, WebhookReceiver
from core.clock import SECOND_US, Clock
from core.errors import ChannelError, InboxUnavailable, MessageRejected
from core.messages import Address, Attachment, Message, MessageRef
from core.ports import Acceptance, Inbox, Posted

# Background tasks during the receiving of updates. Their failures are only logged.

logger = logging.getLogger(__name__)

MAX_PRESS_ANSWERS = 64
"""The limit on presses answered at the same time. Answers are a courtesy, so the others get none."""

MAX_PRESS_ANSWER_CHARS = 200
"""Bot API, answerCallbackQuery: "Text of the notification … 0-200 characters"."""


CHAT_INTERVAL_S, GROUP_INTERVAL_S = 1.0, 3.0
"""Source: core.telegram.org/bots/faq#my-bot-is-hitting-limits: one message a second, in a group 20 a
minute."""


class PressAnswers:
    """A sender of background notifications that report the result of a button press."""

    def __init__(self, client: BotClient, tasks: asyncio.TaskGroup) -> None:
        self._client = client
        self._tasks = tasks
        self._open = 0

    def give(self, query_id: str, acceptance: Acceptance) -> None:
        """Answer a press once, soon. A failure is only logged."""
        if self._open >= MAX_PRESS_ANSWERS:
            logger.warning("telegram.button_unanswered query=%s reason=too_many", query_id)
            return
        self._open += 1
        self._tasks.create_task(self._answer(query_id, acceptance), name=f"answer press {query_id}")

    async def _answer(self, query_id: str, acceptance: Acceptance) -> None:
        text = acceptance.answer[:MAX_PRESS_ANSWER_CHARS] if acceptance.answer else None
        try:
            await self._client.answer_press(query_id, text, alert=acceptance.outcome.startswith("refused"))
        except ChannelError as error:
            logger.info("telegram.button_answer_failed query=%s error=%s", query_id, error)
        finally:
            self._open -= 1


class MoveNotices:
    """A reporter of groups that became supergroups, as learned from a request.

    Telegram also sends this in an update, which is the same event."""

    def __init__(
        self, account: Account, channel: str, inbox: Inbox, clock: Clock, tasks: asyncio.TaskGroup
    ) -> None:
        self._account = account
        self._channel = channel
        self._inbox = inbox
        self._clock = clock
        self._tasks = tasks

    def give(self, old_chat_id: int, chat_id: int) -> None:
        """Move stored data from the old chat to the new one soon."""
        logger.info(
            "telegram.group_upgraded chat=%d channel=%s new_chat=%d", old_chat_id, self._channel, chat_id
        )
        self._tasks.create_task(self._tell(old_chat_id, chat_id), name=f"move {old_chat_id} to {chat_id}")

    async def _tell(self, old_chat_id: int, chat_id: int) -> None:
        event = moved(old_chat_id, chat_id, self._account, self._channel, self._clock.now())
        try:
            await self._inbox.accept(event)
        except InboxUnavailable as error:
            logger.warning(
                "telegram.group_upgrade_delayed chat=%d new_chat=%d error=%s", old_chat_id, chat_id, error
            )


# Posting a rendered part in a chat: as a message or a file, as a reply, and in the chat's current
# place.

OnMoved = Callable[[int, int], None]
"""Called with the old and new ids of a group that became a supergroup. Must not block."""


class Delivery:
    """A sender of posts. `read_file` reads files to send; None disables files."""

    def __init__(self, client: BotClient, read_file: ReadFile | None, on_moved: OnMoved) -> None:
        self._client = client
        self._read_file = read_file
        self._on_moved = on_moved

    async def post(self, to: Address, payload: Payload) -> Posted:
        """Show one part, in the supergroup if the group became one. Raises ChannelError."""
        try:
            return await self._post(to, payload)
        except ChatMoved as error:
            self._on_moved(parse_address(to).chat_id, error.chat_id)
            return await self._post(address_of(error.chat_id), payload)

    async def _post(self, to: Address, payload: Payload) -> Posted:
        target = parse_address(to)
        params = {**where(to), **_reply_in(target.chat_id, payload)}
        match payload.get(FILE):
            case Upload() as upload:
                message_id = await self._upload(params, upload)
            case _:
                shown = {name: value for name, value in payload.items() if name != REPLY}
                message_id = await self._client.send({**shown, **params})
        return Posted(ref_of(target.chat_id, message_id), order_key_of(message_id))

    async def _upload(self, params: Mapping[str, object], upload: Upload) -> int:
        if self._read_file is None:
            raise MessageRejected("sending files is not available here")
        try:
            content = await self._read_file(upload.path, UPLOAD_LIMIT_BYTES)
        except ValueError as error:
            raise MessageRejected(f"{upload.name} can't be sent: {error}") from error
        *better, last = methods_for(upload, len(content))
        for method in better:
            try:
                return await self._client.upload(params, method, content, upload.name, upload.media_type)
            except MessageRejected as error:
                logger.info("telegram.sent_as_document file=%r error=%s", upload.name, error)
        return await self._client.upload(params, last, content, upload.name, upload.media_type)


def where(to: Address) -> dict[str, object]:
    """Return the parameters that name a chat, or one of its topics."""
    target = parse_address(to)
    named: dict[str, object] = {"chat_id": target.chat_id}
    if target.topic_id is not None:
        named["message_thread_id"] = target.topic_id
    return named


def _reply_in(chat_id: int, payload: Payload) -> dict[str, object]:
    """Return the reply parameters if the message is in this chat. Elsewhere its id names another message."""
    quoted = payload.get(REPLY)
    if not isinstance(quoted, Quoted) or quoted.chat_id != chat_id:
        return {}
    return {REPLY: {"message_id": quoted.message_id, "allow_sending_without_reply": True}}


# Comparison of this machine's clock with Telegram's, by the date of an answer. Pure.

SKEW_LIMIT_S = 60
"""The tolerated clock skew. Synchronized clocks agree within a second, and signatures are valid for
minutes."""


def clock_remark(now: int, answer_date: str | None) -> str | None:
    """Return a remark on a wrong clock, or None if it is right or nothing is known.

    `now`: microseconds UTC; `answer_date`: an HTTP date of the same moment, by Telegram's clock.
    """
    try:
        theirs_s = parsedate_to_datetime(answer_date or "").timestamp()
    except ValueError:
        return None
    skew_s = now / SECOND_US - theirs_s
    if abs(skew_s) <= SKEW_LIMIT_S:
        return None
    word = "ahead of" if skew_s > 0 else "behind"
    return f"this machine's clock is {abs(skew_s):.0f} s {word} Telegram's; correct it, for example with NTP"


SEEN = "👀"
"""One of the reactions open to every bot (Bot API, ReactionTypeEmoji)."""


class TelegramChannel:
    """The Telegram channel. `commands`: the menu offered in chats, names (without slash) to descriptions.
    `webhook`: where Telegram delivers updates; None: the hub polls. `read_file`: reads files to be sent.
    `groups`: the setting for groups, for a hint in the log on the messages Telegram shows the bot there."""

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
        return self._name

    # --- receiving ---------------------------------------------------------------------------------------

    def routes(self, inbox: Inbox) -> Sequence[Route]:
        webhook = self._webhook
        if webhook is None:
            return ()

        async def handle(request: HttpRequest) -> HttpResponse:
            return await webhook.handle(request, inbox)

        return (Route("POST", PATH, handle),)

    async def check(self) -> None:
        await self._client.me()

    async def run(self, inbox: Inbox, connected: Connected) -> None:
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
            raise group.exceptions[0] from None  # from the receiver: background tasks raise nothing
        finally:
            self._moves = None

    def _hint_at_groups(self, account: Account) -> None:
        """Log hints about groups once, and again when they change."""
        found = list(hints(self._groups, account.group_rights))
        for hint in found if found != self._hinted else ():
            level = logging.WARNING if hint.fix else logging.INFO
            advice = f"; {hint.fix}" if hint.fix else ""
            logger.log(level, "telegram.group_hint channel=%s hint=%s%s", self._name, hint.text, advice)
        self._hinted = found

    def _on_moved(self, old_chat_id: int, chat_id: int) -> None:
        if self._moves is not None:
            self._moves.give(old_chat_id, chat_id)

    async def _offer_commands(self) -> None:
        try:
            if self._commands and await self._client.commands() != self._commands:
                await self._client.set_commands(self._commands)
        except ChannelError as error:
            logger.warning("menu.update_failed channel=%s error=%s", self._name, error)

    # --- sending -----------------------------------------------------------------------------------------

    def render(self, message: Message) -> tuple[Payload, ...]:
        return outbound.render(message)

    async def post(
        self,
        to: Address,
        payload: Payload,
        *,
        nonce: str,  # noqa: ARG002 - Telegram knows none
        repeated: bool = False,  # noqa: ARG002 - it is not told apart
    ) -> Posted:
        # Telegram knows no nonce.
        return await self._delivery.post(to, payload)

    async def edit(self, ref: MessageRef, payload: Payload) -> None:
        if outbound.FILE in payload:
            raise MessageRejected("a text message can't be edited into a file")
        spot = parse_ref(ref)
        await self._client.edit({"chat_id": spot.chat_id, "message_id": spot.message_id, **_change(payload)})

    async def retract(self, ref: MessageRef) -> bool:
        spot = parse_ref(ref)
        return await self._client.delete(spot.chat_id, spot.message_id)

    async def open_thread(
        self,
        at: Address,
        title: str,
        nonce: str,  # noqa: ARG002 - Telegram knows none
    ) -> Address | None:
        # A topic of a forum.
        chat_id = parse_address(at).chat_id
        try:
            return address_of(chat_id, await self._client.open_topic(chat_id, title))
        except MessageRejected as error:
            logger.info("telegram.topic_failed chat=%d error=%s", chat_id, error)
            return None

    async def typing(self, to: Address) -> None:
        await self._client.typing(where(to))

    async def acknowledge(self, ref: MessageRef) -> None:
        # An eye on the message.
        spot = parse_ref(ref)
        await self._client.react(spot.chat_id, spot.message_id, SEEN)

    @property
    def taken_within_s(self) -> float:
        return self._taken_within_s

    async def recover_post(
        self,
        to: Address,
        payload: Payload,
        nonce: str,  # noqa: ARG002 - Telegram knows none
        look: Look,
    ) -> Posted | None:
        # Ids of messages are given in order, and only a message of ours can be edited.
        return await self._prober.find(to, payload, look)

    async def fetch(self, attachment: Attachment, limit_bytes: int) -> bytes:
        return await self._client.download(attachment.handle, limit_bytes)

    def interval_s(self, to: Address) -> float:
        return GROUP_INTERVAL_S if parse_address(to).chat_id < 0 else CHAT_INTERVAL_S

    def direct(self, platform_user_id: str) -> Address:
        # A private chat has its person's id.
        return address_of(int(platform_user_id))

    async def close(self) -> None:
        await self._client.close()


def _change(payload: Payload) -> dict[str, object]:
    """Return a part as an edit of a shown one, without its reply reference, which cannot change."""
    return {name: value for name, value in payload.items() if name != outbound.REPLY}
