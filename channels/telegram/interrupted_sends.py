"""Recovery of a message whose sending was never answered, without changing any other.

Only our own messages can be edited. An edit of the buttons to their current state is refused as
"not modified", which makes an id a candidate. It is the message if it then has exactly this
content, or accepts an edit to it. If one other message is possible, the edits use the other's
content, so that only ours can change. If several others are possible, nothing is tried.
"""

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from channels.channel import Look, Payload
from channels.telegram.addresses import Timeouts, order_key_of, parse_address, parse_ref, ref_of
from channels.telegram.client import (
    EDIT_MESSAGE_CAPTION,
    EDIT_MESSAGE_REPLY_MARKUP,
    EDIT_MESSAGE_TEXT,
    BotClient,
    EditRefusal,
)
from channels.telegram.outbound import FILE, REPLY
from channels.text.blocks import weight
from core.clock import SECOND_US, Clock
from core.errors import RateLimited, Unanswered, Unavailable
from core.messages import Address, Message
from core.off_loop import off_loop
from core.ports import KnownMessage, OutboxRow, PostContext, Posted, SendState, Uncertain

# The possible ids of a message whose sending was never answered, and the other messages that may
# have them. Pure.

MAX_GROUP_DIGITS = 12
"""The limit that separates ids: those of supergroups and channels are -100 followed by at least ten
digits, those of other groups are shorter."""

CLOCK_SKEW_US = 60 * SECOND_US
"""The largest assumed difference between Telegram's clock and ours."""

LATE = 2
"""A factor on the acceptance time. A request not accepted within the product never will be."""

MARKUP = "reply_markup"
Render = Callable[[Message], Sequence[Payload]]
"""Renders a message as it is shown."""

_PREVIEWS = frozenset({SendState.STREAMING, SendState.REPLACED})


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a message, with only the content that can distinguish it."""

    content: Payload

    @classmethod
    def of(cls, payload: Payload) -> "Part":
        """Return a part without its reply reference, which an edit leaves unchanged."""
        return cls({name: value for name, value in payload.items() if name != REPLY})

    @property
    def is_file(self) -> bool:
        """True if the part is a file, without text."""
        return FILE in self.content

    @property
    def markup(self) -> object:
        """The part's buttons, if any."""
        return self.content.get(MARKUP)


UNREADABLE = None
"""A placeholder for a message whose content is unknown."""


# --- possible ids ---------------------------------------------------------------------------------


def candidates(chat_id: int, around: PostContext, taken_within_us: int, after: int) -> Iterator[int]:
    """Yield the unknown ids after `after` to try, in order. Yields none if no earlier message is known.

    They lie between the newest id from before the request and the first id assigned after it could be
    accepted. Ids are assigned in order within a supergroup, and otherwise across all of the bot's
    private chats and groups.
    """
    newest = _newest(chat_id, around)
    if newest is None:
        return
    known = {number for _, number in _numbered((*around.earlier, *around.later), chat_id)}
    spots = (parse_ref(ref) for ref in around.shown)
    known |= {spot.message_id for spot in spots if _series(spot.chat_id) == _series(chat_id)}
    taken_by = around.asked_by + taken_within_us + CLOCK_SKEW_US
    later = [message for message in around.later if message.taken_at > taken_by]
    end = min((number for message, number in _numbered(later, chat_id) if not _edited(message)), default=None)
    for number in count(max(newest[0], after) + 1):
        if end is not None and number >= end:
            return
        if number not in known:
            yield number


def _newest(chat_id: int, around: PostContext) -> tuple[int, int] | None:
    """Return the newest id from before the request, and the earliest time it was assigned."""
    numbered = ((number, known.taken_at) for known, number in _numbered(around.earlier, chat_id))
    return max(numbered, default=None)


def _numbered(messages: Sequence[KnownMessage], chat_id: int) -> Iterator[tuple[KnownMessage, int]]:
    """Yield the messages in the chat's id series, with their ids."""
    for message in messages:
        digits = re.match("[0-9]{1,20}", message.order_key)
        if digits is not None and _series(parse_address(message.address).chat_id) == _series(chat_id):
            yield message, int(digits.group())


def _edited(message: KnownMessage) -> bool:
    """Return whether the message was edited. Its key then has more after the id, and its time is the
    edit's."""
    return not message.order_key.isdecimal()


def _series(chat_id: int) -> int | None:
    """Return the id series of a chat: a supergroup's own, or None for all other chats together."""
    return chat_id if chat_id < 0 and len(str(-chat_id)) > MAX_GROUP_DIGITS else None


# --- other possible messages ----------------------------------------------------------------------


def comes_first(to: Address, around: PostContext) -> bool:
    """Return whether another conversation of the chat has an open row that must be resolved first."""
    return any(
        other.open
        and _elsewhere_in_chat(other, to)
        and (_is_preview(other.row), -other.row.id) > (_is_preview(around.row), -around.row.id)
        for other in around.uncertain
    )


def rivals(
    to: Address, own: Part, around: PostContext, taken_within_us: int, render: Render
) -> list[Part | None]:
    """Return the possible contents of other unknown messages of ours in the chat.

    UNREADABLE stands for content that cannot be distinguished from `own`."""
    found: list[Part | None] = []
    newest = _newest(parse_address(to).chat_id, around)
    arrived_by = 0 if newest is None else newest[1] - LATE * taken_within_us
    for other in around.uncertain:
        if not _may_be_met(other, to, around, arrived_by):
            continue
        if _is_preview(other.row):
            found += [] if own.is_file else [UNREADABLE if own.markup is None else Part({})]
            continue
        rendered = render(other.row.message)
        parts = [Part.of(rendered[index]) for index in other.parts if index < len(rendered)]
        here = other.row.address == to
        found += [_told_apart(part, own, here=here) for part in parts if not _harmless(part, own, here=here)]
    return list({repr(part): part for part in found}.values())


def _may_be_met(other: Uncertain, to: Address, around: PostContext, arrived_by: int) -> bool:
    """Return whether a message of this row can be among the tried ones.

    Requests made by `arrived_by` had arrived, if at all, before the newest message from before ours.
    Requests to one address are made one after the other. Later requests there have later ids than this
    one, which by then was answered.
    """
    if parse_address(other.row.address).chat_id != parse_address(to).chat_id:
        return False
    over = not other.open and other.row.state is not SendState.SENDING
    if over and other.asked_by < arrived_by:
        return False
    if other.row.address != to:
        return True
    return not _is_preview(other.row) and (_is_preview(around.row) or other.row.id < around.row.id)


def _harmless(part: Part, own: Part, *, here: bool) -> bool:
    """Return whether trying a message with this content changes nothing.

    Either it is distinguished from ours before any change, or it has the same content in the same
    place."""
    if part.is_file != own.is_file:
        return part.markup == own.markup
    return here and not own.is_file and part == own


def _told_apart(part: Part, own: Part, *, here: bool) -> Part | None:
    """Return the part if it can be distinguished from `own`, else UNREADABLE.

    Files cannot be compared, and equal content does not reveal its topic."""
    if part.markup == own.markup and (own.is_file or (part == own and not here)):
        return UNREADABLE
    return part


def _elsewhere_in_chat(other: Uncertain, to: Address) -> bool:
    return other.row.address != to and parse_address(other.row.address).chat_id == parse_address(to).chat_id


def _is_preview(row: OutboxRow) -> bool:
    return row.state in _PREVIEWS


def buttons_of(to: Address, text: object, around: PostContext, render: Render) -> object:
    """Return the buttons of the message with this text in the chat, if it may be shown without being
    known."""
    here = parse_address(to).chat_id
    rows = (other.row for other in around.uncertain if parse_address(other.row.address).chat_id == here)
    parts = (payload for row in rows for payload in render(row.message))
    return next((part[MARKUP] for part in parts if part.get("text") == text and MARKUP in part), None)


logger = logging.getLogger(__name__)

MAX_REQUESTS: Final = 12
"""The limit on requests for one message."""

Params = Mapping[str, object]


class _GivenUp(Exception):
    """The end of a search without a result."""


@dataclass(frozen=True, slots=True)
class Prober:
    """A searcher for lost messages. `render`: renders messages as they are shown."""

    client: BotClient
    clock: Clock
    timeouts: Timeouts
    render: Render

    async def find(self, to: Address, payload: Payload, look: Look) -> Posted | None:
        """Find the message that was to show this part, and show the part in it. Raises ChannelError."""
        around = await look()
        while comes_first(to, around):
            await self.clock.sleep(self.timeouts.probe_pace_s)
            around = await look()
        search = _Search(self, to, Part.of(payload), look)
        try:
            message_id = await search.run(around)
        except _GivenUp as reason:
            logger.info("telegram.lookup_gave_up address=%s reason=%s", to, reason)
            message_id = None
        finally:
            logger.info("telegram.lookup_ended address=%s requests=%d", to, search.spent)
        if message_id is None:
            return None
        return Posted(ref_of(parse_address(to).chat_id, message_id), order_key_of(message_id))


class _Search:
    """The search for one message. `spent`: requests so far."""

    def __init__(self, prober: Prober, to: Address, own: Part, look: Look) -> None:
        self._prober = prober
        self._to = to
        self._target = parse_address(to)
        self._own = own
        self._look = look
        self.spent = 0

    async def run(self, around: PostContext) -> int | None:
        """Return the message's id, or None if it is not found. Raises _GivenUp."""
        within_us, tried = int(self._prober.timeouts.taken_within_s * SECOND_US), 0
        while (tried := next(candidates(self._target.chat_id, around, within_us, tried), 0)) > 0:
            match await self._rivals(around, within_us):
                case []:
                    found = await self._is_ours(tried, around)
                case [Part() as rival]:
                    found = await self._is_not_the_rivals(tried, rival, around)
                case _:
                    raise _GivenUp("it can't be distinguished from other messages")
            if found:
                return tried
            around = await self._look()  # messages sent by others since then are known now, or may be met
        return None

    async def _rivals(self, around: PostContext, within_us: int) -> list[Part | None]:
        """Return the contents of other possible messages, rendered in a thread if there are many."""
        chars = sum(weight(other.row.message.blocks) for other in around.uncertain)
        return await off_loop(
            chars, lambda: rivals(self._to, self._own, around, within_us, self._prober.render)
        )

    async def _is_ours(self, message_id: int, around: PostContext) -> bool:
        """Return whether the message is ours if no other one is possible."""
        answer = await self._press(message_id, self._own.markup, around, left=1)
        return answer is EditRefusal.NOT_MODIFIED and await self._becomes_ours(message_id)

    async def _is_not_the_rivals(self, message_id: int, rival: Part, around: PostContext) -> bool:
        """Return whether the message is ours if one other is possible."""
        if rival.markup == self._own.markup:
            answer = await self._press(message_id, rival.markup, around, left=2)
            if answer is not EditRefusal.NOT_MODIFIED:
                return False
            answer = await self._try(*_saying(rival), message_id, left=1, again=False)
        else:
            answer = await self._try(
                EDIT_MESSAGE_REPLY_MARKUP, _buttons(rival.markup), message_id, left=1, again=False
            )
        return not isinstance(answer, EditRefusal) and await self._becomes_ours(message_id)

    async def _press(self, message_id: int, markup: object, around: PostContext, left: int) -> EditRefusal:
        """Check whether a message of ours has these buttons. If it had others, they are restored."""
        answer = await self._try(EDIT_MESSAGE_REPLY_MARKUP, _buttons(markup), message_id, left=left)
        if isinstance(answer, EditRefusal):
            return answer
        chars = sum(weight(other.row.message.blocks) for other in around.uncertain)
        said = answer.get("text")
        had = await off_loop(chars, lambda: buttons_of(self._to, said, around, self._prober.render))
        if had is not None or markup is not None:
            await self._try(EDIT_MESSAGE_REPLY_MARKUP, _buttons(had), message_id)
        raise _GivenUp(f"message {message_id} is a different message")

    async def _becomes_ours(self, message_id: int) -> bool:
        answer = await self._try(*_saying(self._own), message_id)
        if isinstance(answer, EditRefusal):
            return answer is EditRefusal.NOT_MODIFIED
        return (answer.get("message_thread_id") if answer.get("is_topic_message") else None) == (
            self._target.topic_id
        )

    async def _try(
        self, method: str, content: Params, message_id: int, *, left: int = 0, again: bool = True
    ) -> Params | EditRefusal:
        """Make one edit at the pace of messages. Raises _GivenUp if no requests are left.

        `left`: the number of further requests that it may cause.
        `again`: it may be repeated, because the second answer is just as informative."""
        while self.spent + left < MAX_REQUESTS:
            pause_s = self._prober.timeouts.probe_pace_s
            if self.spent:
                await self._prober.clock.sleep(pause_s)
            try:
                return await self._request(method, content, message_id)
            except RateLimited as error:
                pause_s = error.retry_after_s
            except Unavailable as error:
                self.spent -= 1
                logger.info("telegram.lookup_delayed address=%s error=%s", self._to, error)
            except Unanswered as error:
                if not again:
                    raise _GivenUp(str(error)) from error
            await self._prober.clock.sleep(pause_s)
        raise _GivenUp(f"the limit of {self.spent} requests is reached")

    async def _request(self, method: str, content: Params, message_id: int) -> Params | EditRefusal:
        self.spent += 1
        where = {"chat_id": self._target.chat_id, "message_id": message_id}
        return await self._prober.client.try_edit(method, {**where, **content})


def _buttons(markup: object) -> Params:
    return {} if markup is None else {MARKUP: markup}


def _saying(part: Part) -> tuple[str, Params]:
    """Return the edit that gives a message a part's content. For a file that is the caption, which is
    empty."""
    return (EDIT_MESSAGE_CAPTION, {}) if part.is_file else (EDIT_MESSAGE_TEXT, part.content)
