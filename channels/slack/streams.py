"""Messages that grow while they are written (https://docs.slack.dev/reference/methods/chat.startStream).

A stream stands in a thread. Slack reads the Markdown it is given, which cannot be taken back, and gives no
way to put other blocks in its place: what it shows is for the time being, and in the end the message is
stopped and changed into what the hub renders. A stream has no metadata before it is stopped, and Slack closes
it by itself after some minutes; from then on the message is changed like any other.

Where Slack does not let us, it is not asked again: previews are posted and changed there.
"""

import logging
import re
from collections import OrderedDict
from typing import Final

from channels.slack.client import Sent, SlackClient, marked
from channels.slack.errors import Declined
from channels.slack.places import Place, Spot, address_of
from core.errors import MessageRejected, Unanswered
from core.messages import Address, InboundMessage, Markdown, Message

logger = logging.getLogger(__name__)

MAX_OPEN: Final = 1_000
RECIPIENTS_KEPT: Final = 1_000

_NEVER = frozenset(
    {
        "access_denied",
        "feature_not_enabled",
        "missing_scope",
        "no_permission",
        "not_allowed",
        "not_allowed_token_type",
        "unknown_method",
    }
)
"""This workspace or app has no streams."""
_NOT_IN_SUCH = frozenset({"channel_type_not_supported"})
"""It has none in conversations of this kind."""

_MEANING = re.compile(r"https?://[^\s<]*|([<@])", re.IGNORECASE)
_APART = "\u2060"


class Streams:
    """The growing messages of one bot. Every method raises ChannelError, nothing else. `team_id`: where the
    people are whom streams in channels are for."""

    def __init__(self, client: SlackClient) -> None:
        self._client = client
        self._open: OrderedDict[Spot, tuple[str, str]] = OrderedDict()  # what each says, and its nonce
        self._recipients: OrderedDict[Address, str] = OrderedDict()
        self._refused: set[bool] = set()  # of private conversations (True), of channels (False)
        self.team_id = ""

    def heard(self, message: InboundMessage) -> None:
        """Somebody spoke: in a channel's thread a stream is for whoever spoke there last."""
        if message.direct:
            return
        self._recipients[message.address] = message.sender.platform_user_id
        self._recipients.move_to_end(message.address)
        if len(self._recipients) > RECIPIENTS_KEPT:
            self._recipients.popitem(last=False)

    async def begin(self, place: Place, said: Message, nonce: str) -> Sent | None:
        """Start one; None where there are none."""
        direct = place.channel.startswith("D")
        text = _markdown(said)
        if place.thread_ts is None or text is None or direct in self._refused:
            return None
        recipient = self._recipients.get(address_of(place.channel, place.thread_ts))
        if recipient is None and not direct:
            return None
        whom = {} if direct else {"recipient_team_id": self.team_id, "recipient_user_id": recipient}
        try:
            answer = await self._client.call(
                "chat.startStream",
                declines=_NEVER | _NOT_IN_SUCH,
                channel=place.channel,
                thread_ts=place.thread_ts,
                markdown_text=text,
                **whom,
            )
        except Declined as error:
            self._refused |= {direct} if error.code in _NOT_IN_SUCH else {True, False}
            logger.info("previews are posted and changed from now on: %s", error)
            return None
        except MessageRejected as error:
            logger.info("a preview in %s is posted: %s", place.channel, error)
            return None
        sent = self._client.read(lambda: Sent(str(answer["channel"]), str(answer["ts"])))
        self._open[Spot(sent.channel, sent.ts)] = (text, nonce)
        if len(self._open) > MAX_OPEN:
            self._open.popitem(last=False)
        return sent

    async def grow(self, spot: Spot, said: Message) -> bool:
        """Append what is new; False if it is no stream (any more), or says something else now."""
        text = _markdown(said)
        shown, nonce = self._open.get(spot, (None, ""))
        if shown is None or text is None or not text.startswith(shown):
            return False
        if text == shown:
            return True
        try:
            await self._client.call(
                "chat.appendStream", channel=spot.channel, ts=spot.ts, markdown_text=text[len(shown) :]
            )
        except (MessageRejected, Unanswered) as error:
            # Slack has closed it, or nobody knows what it says: it is stopped and changed next time.
            logger.info("%s grows no more: %s", spot, error)
            self._open[spot] = ("\0", nonce)
            return False
        self._open[spot] = (text, nonce)
        return True

    def is_open(self, spot: Spot) -> bool:
        """Whether it is known to grow. One of an earlier process may."""
        return spot in self._open

    async def end(self, spot: Spot) -> None:
        """Let it grow no more; it is none any more if Slack refuses that."""
        _, nonce = self._open.get(spot, ("", ""))
        mark = {"metadata": marked(nonce)} if nonce else {}
        try:
            await self._client.call("chat.stopStream", channel=spot.channel, ts=spot.ts, **mark)
        except MessageRejected as error:
            logger.info("%s grows no more: %s", spot, error)
        self._open.pop(spot, None)


def _markdown(said: Message) -> str | None:
    match said.blocks:
        case (Markdown(text),):
            return _MEANING.sub(lambda sign: f"{sign[1]}{_APART}" if sign[1] else sign[0], text)
        case _:
            return None
