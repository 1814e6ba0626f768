"""Previews of a conversation's running turns: a typing indicator, and the text so far.

Previews yield to everything else. Only one request is made at a time, at most one preview per
second for all turns of the conversation, and only while nothing else waits to be sent there. A
preview's row is durable before its first request, and its ref before its first change. Its text
and its changes are not recorded.
"""

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from channels.channel import Channel, LiveMessages, Look, Payload
from channels.delivery import SendReceipts
from channels.text.blocks import weight
from core.clock import SECOND_US, Clock
from core.errors import AddressGone, ChannelError, MessageRejected, StoreUnavailable, Unanswered
from core.messages import Address, Message, MessageRef, Plain
from core.off_loop import off_loop
from core.ports import OutboxRow, Posted, Preview, PreviewRows

logger = logging.getLogger(__name__)

PACE_S = 1.0
"""The minimum time between the answer to one preview and the next."""
LONGEST_PACE_S = 30.0
TYPING_AFTER_S = 4.0
"""The time after which a typing indicator is shown (again): Telegram shows one for 5 s."""

PLACEHOLDER = Message((Plain("…"),))
"""The content of a recovered preview until there is text."""


@dataclass(slots=True, eq=False)
class _Slot:
    """One turn.

    `said`, `payload`: the content last shown.
    `muted`: nothing more will be shown, because the turn has ended or the platform refuses."""

    preview: Preview
    row: OutboxRow | None = None
    ref: MessageRef | None = None
    said: Message | None = None
    payload: Payload | None = None
    muted: bool = False


class ConversationPreviews:
    """The previews of one address.

    The sender of that address calls `find` and `show` in turn. Both make one request (`find` a few)
    and raise errors that concern the whole conversation.

    `look`: returns the context loader of a row.
    `missed_us`: the time at which the newest missed preview was missed.
    """

    def __init__(
        self,
        address: Address,
        outbox: PreviewRows,
        records: SendReceipts,
        look: Callable[[int], Look],
        clock: Clock,
    ) -> None:
        self._address = address
        self._outbox = outbox
        self._records = records
        self._look = look
        self._clock = clock
        self._slots: dict[str, _Slot] = {}
        self._lost: dict[int, OutboxRow] = {}
        self._pace_s = PACE_S
        self._due_us = self._shown_us = self._typing_us = 0
        self.missed_us = 0

    # --- state ----------------------------------------------------------------------------------------

    def open(self, preview: Preview) -> None:
        """Show this turn from now on."""
        self._slots[preview.turn_id] = _Slot(preview)

    def close(self, preview: Preview) -> None:
        """Stop showing this turn."""
        slot = self._slots.get(preview.turn_id)
        if slot is not None and slot.preview is preview:
            slot.muted = True
            del self._slots[preview.turn_id]

    def miss(self, row: OutboxRow) -> None:
        """Register a preview whose request may have been accepted.

        It is searched for before anything else is sent to the conversation."""
        self._lost[row.id] = row
        self.missed_us = self._clock.now()

    @property
    def missed(self) -> bool:
        """True if `find` has work to do."""
        return bool(self._lost)

    @property
    def active(self) -> bool:
        """True if anything will be shown, now or later."""
        return not all([slot.muted for slot in self._slots.values()])

    @property
    def due_us(self) -> int:
        """The time from which `show` may be called."""
        return self._due_us

    @property
    def replaceable_us(self) -> int:
        """The time from which a preview may become its turn's message, which edits it once more."""
        return self._shown_us + _us(PACE_S)

    @property
    def keep_pace(self) -> bool:
        """True if messages may have to wait for a preview that is shown, searched for, or was
        shown recently."""
        return self.active or self.missed or self.replaceable_us > self._clock.now()

    def slow_down(self) -> None:
        """Reduce the rate, because the platform asks for fewer requests."""
        self._pace_s = min(LONGEST_PACE_S, self._pace_s * 2)
        self._due_us = self._clock.now() + _us(self._pace_s)

    # --- showing -------------------------------------------------------------------------------------------

    async def show(self, channel: Channel, gives_way: Callable[[], bool]) -> None:
        """Make the one request that is due, if any. `gives_way` returns whether something else is waiting."""
        for slot in [slot for slot in self._slots.values() if not slot.muted]:
            with _blamed(slot):
                if await self._show_text(channel, slot, gives_way):
                    break
        else:
            await self._give_sign(channel)
        self._due_us = self._clock.now() + _us(self._pace_s)

    async def _show_text(self, channel: Channel, slot: _Slot, gives_way: Callable[[], bool]) -> bool:
        """Show the first part of the text so far. Returns False if it is already shown."""
        said = slot.preview.said()
        if said is None or said == slot.said:
            return False
        row = slot.row or await self._begin(slot)
        if row is None or slot.muted or gives_way() or row.id in self._lost:
            return True
        shown = replace(said, reply_to=row.message.reply_to)
        parts = await off_loop(weight(shown.blocks), lambda: channel.render(shown))
        if not parts or parts[0] == slot.payload:
            slot.said = said  # everything new belongs to later parts
            return False
        if slot.ref is not None:
            if not (isinstance(channel, LiveMessages) and await channel.grow(slot.ref, said)):
                await channel.edit(slot.ref, parts[0])
        else:
            posted = await self._post(channel, row, said, parts[0])
            if posted is None:
                return True
            await self._records.durably(lambda: self._outbox.record_preview(row.id, posted))
            slot.ref = posted.ref
        self._is_shown(slot, parts[0])
        return True

    def _is_shown(self, slot: _Slot, payload: Payload) -> None:
        slot.payload = payload
        if not slot.muted:  # the other turns come first next time
            self._slots[slot.preview.turn_id] = self._slots.pop(slot.preview.turn_id)
        self._shown_us = self._clock.now()
        self._typing_us = self._shown_us + _us(TYPING_AFTER_S)

    async def _begin(self, slot: _Slot) -> OutboxRow | None:
        """Return the turn's row. A row from an earlier start may be shown at an unknown place."""
        await self._records.settled()  # messages around a lost preview are recognized by their records
        preview = slot.preview
        row = slot.row = await self._outbox.begin_preview(preview.turn_id, preview.channel, preview.address)
        if row is None:
            slot.muted = True
        elif row.refs:
            slot.ref = row.refs[-1]
        elif row.attempts > 1:
            self.miss(row)
        return row

    async def _post(self, channel: Channel, row: OutboxRow, said: Message, payload: Payload) -> Posted | None:
        try:
            if isinstance(channel, LiveMessages):
                posted = await channel.begin(self._address, said, row.nonce)
                if posted is not None:
                    return posted
            return await channel.post(self._address, payload, nonce=row.nonce)
        except Unanswered as error:
            logger.info("preview.send_ambiguous row=%d address=%s error=%s", row.id, self._address, error)
            self.miss(row)
            return None
        except ChannelError:
            raise
        except Exception:  # whatever failed, the request may have been sent
            self.miss(row)
            raise

    async def _give_sign(self, channel: Channel) -> None:
        slot = next((slot for slot in self._slots.values() if not slot.muted), None)
        if slot is not None and self._clock.now() >= self._typing_us:
            with _blamed(slot):
                await channel.typing(self._address)
            self._typing_us = self._clock.now() + _us(TYPING_AFTER_S)

    # --- finding -------------------------------------------------------------------------------------------

    async def find(self, channel: Channel) -> None:
        """Search for the first of the missed previews."""
        row = next(iter(self._lost.values()))
        posted = await self._records.durably(lambda: self._outbox.preview_shown(row.id))
        if posted is None:
            posted = await self._find(channel, row)
            await self._records.durably(lambda: self._outbox.record_preview(row.id, posted))
        logger.info(
            "preview.lookup_done row=%d address=%s found=%s", row.id, self._address, posted is not None
        )
        del self._lost[row.id]
        for slot in self._slots.values():
            if posted is not None and slot.row is not None and slot.row.id == row.id:
                slot.ref, slot.said, slot.payload = posted.ref, None, None

    async def _find(self, channel: Channel, row: OutboxRow) -> Posted | None:
        payload, look = channel.render(PLACEHOLDER)[0], self._look(row.id)
        try:
            return await channel.recover_post(self._address, payload, row.nonce, look)
        except (MessageRejected, AddressGone) as error:
            logger.info("preview.lookup_failed row=%d address=%s error=%s", row.id, self._address, error)
        except ChannelError:
            raise
        except Exception:  # a defect must not hold up the conversation
            logger.exception("preview.lookup_crashed row=%d address=%s", row.id, self._address)
        return None


@contextmanager
def _blamed(slot: _Slot) -> Generator[None]:
    """End one turn's preview on errors that do not concern the whole conversation."""
    try:
        yield
    except (MessageRejected, AddressGone) as error:
        logger.info("preview.failed turn=%s error=%s", slot.preview.turn_id, error)
        slot.muted = True
    except (ChannelError, StoreUnavailable):
        raise
    except Exception:  # a defect met by one preview: messages continue
        logger.exception("preview.crashed turn=%s", slot.preview.turn_id)
        slot.muted = True


def _us(seconds: float) -> int:
    return int(seconds * SECOND_US)
