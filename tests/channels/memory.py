"""In-memory ends for channels: an inbox, and an outbox with the store's rules.

They keep the contracts of core.ports and forget everything with the process; nothing here pretends to have
been called.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from core.errors import StoreUnavailable
from core.messages import Address, InboundEvent, InboundMessage, Message, MessageRef, Plain
from core.ports import (
    Acceptance,
    KnownMessage,
    OutboxListener,
    OutboxRow,
    PostContext,
    Posted,
    Seen,
    SendState,
)
from tests.patience import PATIENCE_S

T = TypeVar("T")


class Watched:
    """State that a test can wait on."""

    def __init__(self) -> None:
        self._condition: asyncio.Event = asyncio.Event()

    def changed(self) -> None:
        """Let every waiter look again."""
        self._condition.set()

    async def until(self, predicate: Callable[[], T], limit_s: float = PATIENCE_S) -> T:
        """The predicate's first true value. Raises TimeoutError."""
        async with asyncio.timeout(limit_s):
            while not (value := predicate()):
                self._condition.clear()
                await self._condition.wait()
        return value


class MemoryInbox(Watched):
    """Keeps every event once, by key, in order of acceptance.

    `failure`: raised instead of accepting; `closed_chats`: addresses whose events wait until `open_chat`;
    `answers`: what is said to whoever presses a button of this prompt.
    """

    def __init__(self) -> None:
        super().__init__()
        self.events: dict[str, InboundEvent] = {}
        self.offered: list[str] = []
        self.failure: Callable[[InboundEvent], Exception | None] = lambda _: None
        self.answers: dict[str, Acceptance] = {}
        self._closed: dict[str, asyncio.Event] = {}

    async def accept(self, event: InboundEvent) -> Acceptance:
        """See Inbox."""
        self.offered.append(event.key)
        self.changed()
        gate = self._closed.get(getattr(event, "address", ""))
        if gate is not None:
            await gate.wait()
        error = self.failure(event)
        if error is not None:
            raise error
        duplicate = event.key in self.events
        self.events.setdefault(event.key, event)
        self.changed()
        answer = self.answers.get(getattr(event, "gate_id", ""), Acceptance("kept"))
        return replace(answer, duplicate=duplicate)

    async def last_seen(self, channel: str) -> Sequence[Seen]:
        """See Inbox."""
        newest: dict[Address, str] = {}
        for event in self.events.values():
            if isinstance(event, InboundMessage) and event.channel == channel:
                newest[event.address] = max(newest.get(event.address, ""), event.order_key)
        return [Seen(address, key) for address, key in newest.items()]

    def close_chat(self, address: str) -> None:
        """Events of this address are held from now on."""
        self._closed[address] = asyncio.Event()

    def open_chat(self, address: str) -> None:
        """They go on."""
        self._closed.pop(address).set()

    @property
    def texts(self) -> list[str]:
        """The texts of all messages, in order."""
        return [event.text for event in self.events.values() if hasattr(event, "text")]  # type: ignore[union-attr]


@dataclass(slots=True)
class _Kept:
    row: OutboxRow
    settled: bool = False
    reason: str | None = None
    asked_by: int = 0


PREVIEWS = {SendState.STREAMING, SendState.REPLACED}


class MemoryOutbox(Watched):
    """The rows and their states; every change of state is kept in `history` as (row id, what happened).

    `unavailable`: while true, no unit is taken (StoreUnavailable). `running`: turns that run, each with the
    row of its preview, if it has one. `earlier`: what is known from before any request.
    """

    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[int, _Kept] = {}
        self.running: dict[str, int | None] = {}
        self.history: list[tuple[int, str]] = []
        self.listener: OutboxListener | None = None
        self.unavailable = False
        self.earlier: tuple[KnownMessage, ...] = ()

    # --- for tests ---------------------------------------------------------------------------------------
    def enqueue(
        self,
        address: str,
        message: Message | str,
        *,
        channel: str = "tg",
        edit_of: int | None = None,
        state: SendState = SendState.QUEUED,
        repeats: int = 0,
        replaces: int | None = None,
        marks: bool = False,
        tell: bool = True,
    ) -> OutboxRow:
        """Commit a row and, with `tell`, notify the listener."""
        if isinstance(message, str):
            message = Message((Plain(message),) if message else ())
        row_id = len(self._rows) + 1
        row = OutboxRow(
            row_id,
            channel,
            Address(address),
            message,
            state,
            f"nonce{row_id}",
            edit_of=edit_of,
            repeats=repeats,
            replaces=replaces,
            marks=marks,
            paced=marks,
        )
        self._rows[row_id] = _Kept(row)
        if tell and self.listener is not None:
            self.listener.outbox_ready((row,))
        return row

    def finish_turn(self, turn_id: str, address: str, answer: str, channel: str = "tg") -> OutboxRow | None:
        """The turn ends with this answer in place of its preview; with none, the preview is taken away."""
        preview_id = self.running.pop(turn_id)
        if preview_id is not None:
            kept = self._rows[preview_id]
            self._change(kept, "replaced", state=SendState.REPLACED)
            kept.settled = bool(kept.row.refs)
        if answer:
            return self.enqueue(address, answer, channel=channel, replaces=preview_id)
        return self.enqueue(address, "", channel=channel, edit_of=preview_id) if preview_id else None

    def preview_left(self, turn_id: str, address: str, ref: str | None = None) -> OutboxRow:
        """A turn that an earlier hub showed, or was about to."""
        row = self.enqueue(address, "", state=SendState.STREAMING, tell=False)
        refs = () if ref is None else (MessageRef(ref),)
        self._change(self._rows[row.id], "begun", refs=refs, attempts=1)
        self.running[turn_id] = row.id
        return self.row(row.id)

    def row(self, row_id: int) -> OutboxRow:
        """A row as it is now."""
        return self._rows[row_id].row

    def reason(self, row_id: int) -> str | None:
        """Why the row failed, waits or is ambiguous."""
        return self._rows[row_id].reason

    @property
    def all_settled(self) -> bool:
        """Return whether nothing is left to do; previews are for others to settle."""
        return all(kept.settled or kept.row.state in PREVIEWS for kept in self._rows.values())

    async def settled(self, limit_s: float = PATIENCE_S) -> None:
        """Until nothing is left to do."""
        await self.until(lambda: self.all_settled, limit_s)

    async def reaches(self, row_id: int, state: SendState, limit_s: float = PATIENCE_S) -> OutboxRow:
        """Until a row is in this state."""
        await self.until(lambda: self.row(row_id).state is state, limit_s)
        return self.row(row_id)

    # --- see Outbox --------------------------------------------------------------------------------------
    async def pending_outbox(self, channel: str) -> Sequence[OutboxRow]:
        """See Outbox."""
        await self._commit()
        return [k.row for k in self._rows.values() if k.row.channel == channel and not k.settled]

    async def hold_lease(self) -> None:
        """It is never lost."""

    async def claim_outbox(self, row_id: int) -> OutboxRow:
        """See Outbox; a settled row is returned as it is."""
        await self._commit()
        kept = self._rows[row_id]
        if not kept.settled:
            again = kept.row.state is SendState.AMBIGUOUS
            self._change(kept, "claimed", state=SendState.SENDING, repeats=kept.row.repeats + again)
        return kept.row

    async def sent_refs(self, row_id: int) -> tuple[MessageRef, ...]:
        """See Outbox."""
        await self._commit()
        kept = self._rows[row_id]
        return kept.row.refs if kept.row.state in {SendState.SENT, SendState.REPLACED} else ()

    async def record_part_sent(self, row_id: int, posted: Posted, *, last: bool) -> None:
        """See Outbox."""
        await self._commit()
        kept = self._rows[row_id]
        assert kept.row.state in {SendState.SENDING, SendState.AMBIGUOUS}
        kept.settled = last
        state = SendState.SENT if last else SendState.SENDING
        self._change(kept, f"part {len(kept.row.refs)}", state=state, refs=(*kept.row.refs, posted.ref))

    async def record_sent(self, row_id: int) -> None:
        """See Outbox."""
        await self._commit()
        kept = self._rows[row_id]
        assert kept.row.state is SendState.SENDING
        kept.settled = True
        self._change(kept, "sent", state=SendState.SENT)

    async def retry_outbox(self, row_id: int, *, not_before: int, reason: str) -> None:
        """See Outbox."""
        await self._commit()
        kept = self._rows[row_id]
        kept.reason = reason
        self._change(kept, "retry", state=SendState.QUEUED, not_before=not_before)

    async def mark_ambiguous(self, row_id: int, reason: str, asked_by: int | None = None) -> OutboxRow:
        """See Outbox."""
        await self._commit()
        kept = self._rows[row_id]
        assert kept.row.state is SendState.SENDING
        kept.reason, kept.asked_by = reason, asked_by or 0
        kept.settled = kept.row.repeats >= 1
        self._change(kept, "ambiguous", state=SendState.AMBIGUOUS)
        return kept.row

    async def fail_outbox(self, row_id: int, reason: str) -> Sequence[OutboxRow]:
        """See Outbox: no row of these may go elsewhere."""
        await self._commit()
        kept = self._rows[row_id]
        kept.reason, kept.settled = reason, True
        self._change(kept, "failed", state=SendState.FAILED)
        return ()

    async def begin_preview(self, turn_id: str, channel: str, address: Address) -> OutboxRow | None:
        """See Outbox."""
        await self._commit()
        if turn_id not in self.running:
            return None
        row_id = self.running[turn_id]
        if row_id is None:
            row = self.enqueue(address, "", channel=channel, state=SendState.STREAMING, tell=False)
            row_id = self.running[turn_id] = row.id
        kept = self._rows[row_id]
        self._change(kept, "begun", attempts=kept.row.attempts + 1)
        return kept.row

    async def record_preview(self, row_id: int, posted: Posted | None) -> None:
        """See Outbox."""
        await self._commit()
        kept = self._rows[row_id]
        assert kept.row.state in PREVIEWS
        kept.settled = kept.row.state is SendState.REPLACED
        self._change(kept, "shown" if posted else "not shown", refs=(posted.ref,) if posted else ())

    async def preview_shown(self, row_id: int) -> Posted | None:
        """See Outbox."""
        await self._commit()
        refs = self._rows[row_id].row.refs
        return Posted(refs[-1], f"{refs[-1]:>020}") if refs else None

    async def post_context(self, row_id: int) -> PostContext:
        """See Outbox."""
        await self._commit()
        shown = frozenset(ref for kept in self._rows.values() for ref in kept.row.refs)
        kept = self._rows[row_id]
        return PostContext(kept.row, kept.asked_by, self.earlier, shown=shown)

    async def _commit(self) -> None:
        await asyncio.sleep(0)
        if self.unavailable:
            raise StoreUnavailable("disk full")

    def _change(self, kept: _Kept, what: str, **changes: object) -> None:
        kept.row = replace(kept.row, **changes)
        self.history.append((kept.row.id, what))
        self.changed()
