"""Prompts that nobody answers: implements core.store.tending.Tending."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Callable, Sequence
from dataclasses import replace

from core.messages import Address, Message, MessageRef
from core.ports import OutboxRow
from core.prompts import Option, Prompt, PromptKind
from core.store.codec import message_from_json, refs_from_json
from core.store.rows import Draft, PromptView, TurnStart
from core.store.sqlite import feed, prompts
from core.store.sqlite.outbox import Cause, enqueue
from core.store.sqlite.prompt_mapping import PROMPT, PROMPT_VIEW, PROMPT_VIEW_FROM, prompt_of, prompt_views_of
from core.store.sqlite.reader import ReaderThread
from core.store.sqlite.transaction import Transaction
from core.store.sqlite.writer import Writer
from core.store.tending import Expired

_OUTCOME_AT_EXPIRY = {
    PromptKind.APPROVAL: Option.DENY,
    PromptKind.QUESTION: Option.SKIP,
    PromptKind.BUDGET: Option.STOP,
    PromptKind.CONTINUE: Option.STOP,
}
"""Silence is no consent. An unknown outcome stays unknown: nobody said anything."""


class PromptTending:
    """See Tending."""

    _writer: Writer
    _reader: ReaderThread

    async def prompt_shown_as(self, channel: str, ref: MessageRef) -> tuple[str, int] | None:
        """See Tending."""
        found = await self._reader.run(lambda tx: prompts.card_with(tx, channel, ref))
        return None if found is None else (found[0], message_from_json(found[1]).first_choice)

    async def expire_prompts(
        self, now: int, outcome_text: Callable[[Prompt], str], card: Callable[[Prompt], Message]
    ) -> Expired:
        """See Tending."""
        return await self._writer.run(lambda tx: expire(tx, now, outcome_text, card))

    async def remind_prompts(self, now: int, reminder: Callable[[Prompt], Message]) -> tuple[OutboxRow, ...]:
        """See Tending."""
        return await self._writer.run(lambda tx: remind(tx, now, reminder))

    async def prompts_to_escalate(self, now: int) -> Sequence[PromptView]:
        """See Tending."""
        return await self._reader.run(lambda tx: to_escalate(tx, now))

    async def escalate_prompt(
        self, prompt_id: str, cards: Sequence[Draft], told: Draft
    ) -> tuple[OutboxRow, ...]:
        """See Tending."""
        return await self._writer.run(lambda tx: escalate(tx, prompt_id, cards, told))


def expire(
    tx: Transaction, now: int, outcome_text: Callable[[Prompt], str], card: Callable[[Prompt], Message]
) -> Expired:
    """See Tending.expire_prompts."""
    rows = tx.all(
        f"SELECT {PROMPT} FROM prompts p WHERE p.state = 'open' AND p.expires_at <= ?"
        " ORDER BY p.expires_at, p.id",
        now,
    )
    starts: list[TurnStart] = []
    outbox: list[OutboxRow] = []
    for row in rows:
        prompt = prompt_of(row)
        outcome = _OUTCOME_AT_EXPIRY.get(prompt.kind)
        closed = prompts.close(tx, prompt.id, outcome, outcome_text(prompt), card(prompt), None)
        if closed is not None:
            outbox.extend(closed.outbox)
            starts.extend([closed.started] if closed.started is not None else [])
    return Expired(tuple(starts), tuple(outbox))


def remind(tx: Transaction, now: int, reminder: Callable[[Prompt], Message]) -> tuple[OutboxRow, ...]:
    """See Tending.remind_prompts."""
    due = tx.all(
        f"SELECT {PROMPT} FROM prompts p WHERE p.state = 'open' AND p.remind_at <= ?"
        " ORDER BY p.remind_at, p.id",
        now,
    )
    sent: list[OutboxRow] = []
    for row in due:
        prompt = prompt_of(row)
        tx.run("UPDATE prompts SET remind_at = NULL WHERE id = ?", prompt.id)
        message = reminder(prompt)
        drafts = [
            Draft(channel, address, replace(message, reply_to=ref), tx.ids.row_id())
            for (channel, address), ref in _places(tx, prompt.id).items()
        ]
        sent += _say(tx, prompt.thread_id, prompt.turn_id, drafts)
    return tuple(sent)


def _places(tx: Transaction, prompt_id: str) -> dict[tuple[str, Address], MessageRef | None]:
    """Where cards of a prompt stand, each with its newest one."""
    copies = tx.all(
        "SELECT channel, address, refs FROM outbox"
        " WHERE prompt_id = ? AND edit_of IS NULL AND state <> 'failed' ORDER BY id",
        prompt_id,
    )
    places: dict[tuple[str, Address], MessageRef | None] = {}
    for channel, address, refs in copies:
        shown = refs_from_json(refs)
        place = (channel, Address(address))
        places[place] = shown[-1] if shown else places.get(place)
    return places


def _say(tx: Transaction, thread_id: str, turn_id: str, drafts: Sequence[Draft]) -> tuple[OutboxRow, ...]:
    """Messages of the hub's own, seen in the thread where they are meant for it."""
    rows = enqueue(tx, drafts, Cause(turn_id=turn_id))
    home = tx.one("SELECT channel, address FROM threads WHERE id = ?", thread_id)
    feed.put_messages(tx, thread_id, [row for row in rows if (row.channel, row.address) == home], turn_id)
    return rows


def to_escalate(tx: Transaction, now: int) -> tuple[PromptView, ...]:
    """See Tending.prompts_to_escalate."""
    rows = tx.all(
        f"SELECT {PROMPT_VIEW} FROM {PROMPT_VIEW_FROM}"
        " WHERE p.state = 'open' AND p.escalate_at <= ? ORDER BY p.escalate_at, p.id, v.at",
        now,
    )
    return prompt_views_of(rows)


def escalate(tx: Transaction, prompt_id: str, cards: Sequence[Draft], told: Draft) -> tuple[OutboxRow, ...]:
    """See Tending.escalate_prompt."""
    row = tx.one(
        "UPDATE prompts SET escalated = 1, escalate_at = NULL"
        " WHERE id = ? AND state = 'open' AND escalate_at IS NOT NULL RETURNING thread_id, turn_id",
        prompt_id,
    )
    if row is None:
        return ()
    thread_id, turn_id = row
    tx.changes.prompts[prompt_id] = thread_id
    return (*enqueue(tx, cards, Cause(turn_id=turn_id)), *_say(tx, thread_id, turn_id, [told]))
