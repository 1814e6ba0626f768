"""Finding a message whose sending was never answered, without changing any other.

Only a message of ours can be edited. An edit of its buttons to what they are is refused as "not modified",
which makes an id a candidate; it is the message if it then says exactly this, or takes an edit to it. Where
one other message could be met, the edits are to what that other one says: then only ours can change. Where
several could be, nothing is tried.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from channels.blocks import weight
from channels.channel import Look, Payload
from channels.telegram.client import (
    EDIT_MESSAGE_CAPTION,
    EDIT_MESSAGE_REPLY_MARKUP,
    EDIT_MESSAGE_TEXT,
    BotClient,
    EditRefusal,
)
from channels.telegram.lost import MARKUP, Part, Render, buttons_of, candidates, comes_first, rivals
from channels.telegram.places import order_key_of, place_of, ref_of
from channels.telegram.timeouts import Timeouts
from core.clock import SECOND_US, Clock
from core.errors import RateLimited, Unanswered, Unavailable
from core.messages import Address
from core.off_loop import off_loop
from core.ports import Posted, Surroundings

logger = logging.getLogger(__name__)

MAX_REQUESTS: Final = 12
"""So many are spent on one message at most."""

Params = Mapping[str, object]


class _GivenUp(Exception):
    """Nothing more is to be tried."""


@dataclass(frozen=True, slots=True)
class Prober:
    """Looks for messages. `render`: how messages are shown here."""

    client: BotClient
    clock: Clock
    timeouts: Timeouts
    render: Render

    async def find(self, to: Address, payload: Payload, look: Look) -> Posted | None:
        """Find the message that was to show this part, and make it say so. Raises ChannelError."""
        around = await look()
        while comes_first(to, around):
            await self.clock.sleep(self.timeouts.probe_pace_s)
            around = await look()
        search = _Search(self, to, Part.of(payload), look)
        try:
            message_id = await search.run(around)
        except _GivenUp as reason:
            logger.info("what is lost at %s is not looked for any further: %s", to, reason)
            message_id = None
        finally:
            logger.info("looking for a message at %s took %d requests", to, search.spent)
        if message_id is None:
            return None
        return Posted(ref_of(place_of(to).chat_id, message_id), order_key_of(message_id))


class _Search:
    """One message that is looked for. `spent`: requests so far."""

    def __init__(self, prober: Prober, to: Address, own: Part, look: Look) -> None:
        self._prober = prober
        self._to = to
        self._place = place_of(to)
        self._own = own
        self._look = look
        self.spent = 0

    async def run(self, around: Surroundings) -> int | None:
        """Return the id under which it is shown. Raises _GivenUp."""
        within_us, tried = int(self._prober.timeouts.taken_within_s * SECOND_US), 0
        while (tried := next(candidates(self._place.chat_id, around, within_us, tried), 0)) > 0:
            match await self._rivals(around, within_us):
                case []:
                    found = await self._is_ours(tried, around)
                case [Part() as rival]:
                    found = await self._is_not_the_rivals(tried, rival, around)
                case _:
                    raise _GivenUp("it cannot be told from other messages")
            if found:
                return tried
            around = await self._look()  # what others sent meanwhile is known, or may be met
        return None

    async def _rivals(self, around: Surroundings, within_us: int) -> list[Part | None]:
        """What else could be met, drawn in a thread if there is much of it."""
        chars = sum(weight(other.row.message.blocks) for other in around.uncertain)
        return await off_loop(
            chars, lambda: rivals(self._to, self._own, around, within_us, self._prober.render)
        )

    async def _is_ours(self, message_id: int, around: Surroundings) -> bool:
        """Whether it is ours, there being no other that it could be."""
        answer = await self._press(message_id, self._own.markup, around, left=1)
        return answer is EditRefusal.NOT_MODIFIED and await self._becomes_ours(message_id)

    async def _is_not_the_rivals(self, message_id: int, rival: Part, around: Surroundings) -> bool:
        """Whether it is ours, there being one other that it could be."""
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

    async def _press(self, message_id: int, markup: object, around: Surroundings, left: int) -> EditRefusal:
        """Learn whether a message of ours has these buttons. One that had others gets them back."""
        answer = await self._try(EDIT_MESSAGE_REPLY_MARKUP, _buttons(markup), message_id, left=left)
        if isinstance(answer, EditRefusal):
            return answer
        chars = sum(weight(other.row.message.blocks) for other in around.uncertain)
        said = answer.get("text")
        had = await off_loop(chars, lambda: buttons_of(self._to, said, around, self._prober.render))
        if had is not None or markup is not None:
            await self._request(EDIT_MESSAGE_REPLY_MARKUP, _buttons(had), message_id)
        raise _GivenUp(f"message {message_id} is another one")

    async def _becomes_ours(self, message_id: int) -> bool:
        answer = await self._try(*_saying(self._own), message_id)
        if isinstance(answer, EditRefusal):
            return answer is EditRefusal.NOT_MODIFIED
        return (answer.get("message_thread_id") if answer.get("is_topic_message") else None) == (
            self._place.topic_id
        )

    async def _try(
        self, method: str, content: Params, message_id: int, *, left: int = 0, again: bool = True
    ) -> Params | EditRefusal:
        """Make one edit, at the pace of messages; `left`: so many may follow from it. `again`: it can be made
        twice, since the second answer tells as much. Raises _GivenUp where no request is left."""
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
                logger.info("looking for a message at %s waits: %s", self._to, error)
            except Unanswered as error:
                if not again:
                    raise _GivenUp(str(error)) from error
            await self._prober.clock.sleep(pause_s)
        raise _GivenUp(f"{self.spent} requests are spent")

    async def _request(self, method: str, content: Params, message_id: int) -> Params | EditRefusal:
        self.spent += 1
        where = {"chat_id": self._place.chat_id, "message_id": message_id}
        return await self._prober.client.try_edit(method, {**where, **content})


def _buttons(markup: object) -> Params:
    return {} if markup is None else {MARKUP: markup}


def _saying(part: Part) -> tuple[str, Params]:
    """The edit to what a part says: of a file that is its caption, and files are sent without."""
    return (EDIT_MESSAGE_CAPTION, {}) if part.is_file else (EDIT_MESSAGE_TEXT, part.content)
