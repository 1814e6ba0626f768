"""Gate reminders, expiry and notices to people: implements core.store.facets."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from core.audit_chain import AuditKind
from core.gates import Gate, GateKind, Option
from core.messages import Address, Message, MessageRef
from core.ports import OutboxRow, PostContext, Posted
from core.store.codecs import message_from_json, refs_from_json, storable
from core.store.facets import REACH_THREADS, Expired, NoticeAddress, Reach, SettingsChange
from core.store.rows import Draft, GateView, TurnStart
from core.store.sql import feed, gates, outbox, people, recovery
from core.store.sql.audit import record
from core.store.sql.feed import put_messages
from core.store.sql.gate_open import put_gate
from core.store.sql.inbox import notices_thread
from core.store.sql.mapping import (
    ACTIVE_TURN,
    GATE,
    GATE_VIEW,
    GATE_VIEW_FROM,
    THREAD,
    gate_of,
    gate_views_of,
    thread_of,
)
from core.store.sql.memory import drop_secrets_of
from core.store.sql.outbox import Cause, enqueue
from core.store.sql.recovery import hold
from core.store.units import Facet, Transaction, reads, writes

_OUTCOME_AT_EXPIRY = {
    GateKind.APPROVAL: Option.DENY,
    GateKind.QUESTION: Option.SKIP,
    GateKind.BUDGET: Option.STOP,
    GateKind.CONTINUE: Option.STOP,
    GateKind.AUTH: Option.NOT_SIGNED_IN,
    GateKind.CHANGES: Option.DENY,
    GateKind.CREDENTIAL: Option.DENY,
    GateKind.SETTINGS: Option.DENY,
}
"""The outcomes of gates on expiry. Silence is not consent. An unknown outcome stays unknown, since
no person answered."""


def _addresses(tx: Transaction, gate_id: str) -> dict[tuple[str, Address], MessageRef | None]:
    """Return the addresses of a gate's cards, each with its newest card."""
    copies = tx.all(
        "SELECT channel, address, refs FROM outbox"
        " WHERE gate_id = ? AND edit_of IS NULL AND state <> 'failed' ORDER BY id",
        gate_id,
    )
    addresses: dict[tuple[str, Address], MessageRef | None] = {}
    for channel, address, refs in copies:
        shown = refs_from_json(refs)
        at = (channel, Address(address))
        addresses[at] = shown[-1] if shown else addresses.get(at)
    return addresses


def _say(tx: Transaction, thread_id: str, turn_id: str, drafts: Sequence[Draft]) -> tuple[OutboxRow, ...]:
    """Queue messages of the hub itself. Those sent to the thread's own address also appear in the
    thread."""
    rows = enqueue(tx, drafts, Cause(turn_id=turn_id))
    home = tx.one("SELECT channel, address FROM threads WHERE id = ?", thread_id)
    feed.put_messages(tx, thread_id, [row for row in rows if (row.channel, row.address) == home], turn_id)
    return rows


# Notices: one message for each key, at the first address that takes it.


def fail(tx: Transaction, row_id: int, reason: str) -> tuple[OutboxRow, ...]:
    if not outbox.fail(tx, row_id, reason):
        return ()
    notice = tx.one(
        "SELECT n.key, n.elsewhere, o.message FROM notices n JOIN outbox o ON o.id = n.outbox_id"
        " WHERE n.outbox_id = ?",
        row_id,
    )
    if notice is None:
        return outbox.instead_of(tx, row_id)
    if not (addresses := _addresses_from_json(notice[1])):
        return ()
    row = _queue(tx, message_from_json(notice[2]), addresses[0])
    tx.run(
        "UPDATE notices SET outbox_id = ?, elsewhere = ? WHERE key = ?",
        row.id,
        _addresses_to_json(addresses[1:]),
        notice[0],
    )
    return (row,)


def _queue(tx: Transaction, message: Message, at: NoticeAddress) -> OutboxRow:
    draft = Draft(at.channel, at.address, message, tx.ids.row_id(), _gate_of(tx, message))
    (row,) = outbox.enqueue(tx, [draft], outbox.Cause())
    thread_id = at.thread_id
    if at.notices_of is not None:
        thread_id = notices_thread(tx, at.notices_of, at)
        tx.run("UPDATE threads SET last_active_at = ? WHERE id = ?", tx.clock.now(), thread_id)
    if thread_id is not None:
        put_messages(tx, thread_id, [row])
    return row


def _gate_of(tx: Transaction, message: Message) -> str | None:
    """Return the id of the gate the message is a card of. Buttons of other notices belong to no gate."""
    if message.gate_id is None:
        return None
    known = tx.one("SELECT 1 FROM gates WHERE id = ?", message.gate_id)
    return None if known is None else message.gate_id


def _addresses_to_json(addresses: Sequence[NoticeAddress]) -> str:
    return json.dumps([[at.channel, at.address, at.thread_id, at.notices_of] for at in addresses])


def _addresses_from_json(text: str) -> list[NoticeAddress]:
    return [
        NoticeAddress(channel, Address(address), *rest)  # earlier versions wrote one field less
        for channel, address, *rest in json.loads(text)
    ]


SETTINGS_CHANNEL = "settings"
"""The channel of the threads of changes of the configuration file: no message comes from it, and none goes
there."""


class SettingsUnits(Facet):
    """The units of SettingsChanges. Each change has its own thread and run."""

    @writes
    def note_settings(
        self, tx: Transaction, keys: Sequence[str], by: str, gate_id: str | None = None
    ) -> None:
        approved = {} if gate_id is None else {"gate": gate_id}
        record(tx, AuditKind.SETTINGS, "configuration", actor=by, keys=list(keys), **approved)

    @writes
    def ask_settings(self, tx: Transaction, change: SettingsChange, gate: Gate) -> bool:
        if tx.one("SELECT 1 FROM settings_changes LIMIT 1") is not None:
            return False
        tx.run(
            "INSERT INTO threads (id, owner_id, channel, scope, address, title, created_at, last_active_at,"
            " last_turn, kind) VALUES (?1, ?2, ?3, ?1, '', '', ?4, ?4, 1, 'settings')",
            gate.thread_id,
            gate.requester_id,
            SETTINGS_CHANNEL,
            gate.created_at,
        )
        tx.run(
            "INSERT INTO runs (id, thread_id, number, principal_id, state, attempts, first_seq, last_seq,"
            " budget_from, created_at, kind) VALUES (?1, ?2, 1, ?3, 'waiting', 0, 1, 1, 0, ?4, 'settings')",
            gate.turn_id,
            gate.thread_id,
            gate.requester_id,
            gate.created_at,
        )
        put_gate(tx, gate)
        tx.run(
            "INSERT INTO settings_changes (id, before, after, wanted) VALUES (?, ?, ?, ?)",
            change.id,
            change.before,
            change.after,
            storable(change.wanted),
        )
        return True

    @reads
    def settings_changes(self, tx: Transaction) -> Sequence[SettingsChange]:
        rows = tx.all("SELECT id, before, after, wanted, approved FROM settings_changes ORDER BY id")
        return [SettingsChange(*row[:4], approved=bool(row[4])) for row in rows]

    @writes
    def end_settings(self, tx: Transaction, change_id: str, problem: str | None = None) -> None:
        ended = tx.one("DELETE FROM settings_changes WHERE id = ? RETURNING wanted", change_id)
        if ended is None:
            return
        if problem is not None:
            drop_secrets_of(tx, ended[0])
            record(tx, AuditKind.SETTINGS, "configuration", gate=change_id, refused=storable(problem))
        row = tx.one("SELECT thread_id FROM gates WHERE id = ?", change_id)
        if row is not None:  # its page shows what became of it
            tx.changes.gates[change_id] = row[0]


class GateUnits(SettingsUnits):
    """The units of Gates."""

    async def open_gates(self) -> Sequence[GateView]:
        rows = await self._engine.ask(
            f"SELECT {GATE_VIEW} FROM {GATE_VIEW_FROM} WHERE g.state = 'open'"
            " ORDER BY g.created_at, g.id, v.at"
        )
        return gate_views_of(rows)

    async def gate_shown_as(self, channel: str, ref: MessageRef) -> tuple[str, int] | None:
        found = await self._engine.read(lambda tx: gates.card_with(tx, channel, ref))
        return None if found is None else (found[0], message_from_json(found[1]).first_choice)

    @writes
    def expire_gates(
        self, tx: Transaction, now: int, outcome_text: Callable[[Gate], str], card: Callable[[Gate], Message]
    ) -> Expired:
        rows = tx.all(
            f"SELECT {GATE} FROM gates g WHERE g.state = 'open' AND g.expires_at <= ?"
            " ORDER BY g.expires_at, g.id",
            now,
        )
        starts: list[TurnStart] = []
        outbox: list[OutboxRow] = []
        for row in rows:
            gate = gate_of(row)
            outcome = _OUTCOME_AT_EXPIRY.get(gate.kind)
            closed = gates.close(tx, gate.id, outcome, outcome_text(gate), card(gate), None)
            if closed is not None:
                outbox.extend(closed.outbox)
                starts.extend([closed.started] if closed.started is not None else [])
        return Expired(tuple(starts), tuple(outbox))

    @writes
    def remind_gates(
        self, tx: Transaction, now: int, reminder: Callable[[Gate], Message]
    ) -> tuple[OutboxRow, ...]:
        due = tx.all(
            f"SELECT {GATE} FROM gates g WHERE g.state = 'open' AND g.remind_at <= ? ORDER BY"
            " g.remind_at, g.id",
            now,
        )
        sent: list[OutboxRow] = []
        for row in due:
            gate = gate_of(row)
            tx.run("UPDATE gates SET remind_at = NULL WHERE id = ?", gate.id)
            message = reminder(gate)
            drafts = [
                Draft(channel, address, replace(message, reply_to=ref), tx.ids.row_id())
                for (channel, address), ref in _addresses(tx, gate.id).items()
            ]
            sent += _say(tx, gate.thread_id, gate.turn_id, drafts)
        return tuple(sent)

    @reads
    def gates_to_escalate(self, tx: Transaction, now: int) -> Sequence[GateView]:
        rows = tx.all(
            f"SELECT {GATE_VIEW} FROM {GATE_VIEW_FROM}"
            " WHERE g.state = 'open' AND g.escalate_at <= ? ORDER BY g.escalate_at, g.id, v.at",
            now,
        )
        return gate_views_of(rows)

    @writes
    def escalate_gate(
        self, tx: Transaction, gate_id: str, cards: Sequence[Draft], told: Draft
    ) -> tuple[OutboxRow, ...]:
        row = tx.one(
            "UPDATE gates SET escalated = 1, escalate_at = NULL"
            " WHERE id = ? AND state = 'open' AND escalate_at IS NOT NULL RETURNING thread_id, turn_id",
            gate_id,
        )
        if row is None:
            return ()
        thread_id, turn_id = row
        tx.changes.gates[gate_id] = thread_id
        return (*enqueue(tx, cards, Cause(turn_id=turn_id)), *_say(tx, thread_id, turn_id, [told]))


class NoticeUnits(Facet):
    """The units of Notices."""

    @reads
    def reach(self, tx: Transaction, user_id: str) -> Reach:
        accounts = tx.all("SELECT channel, platform_user_id FROM identities WHERE user_id = ?", user_id)
        found = (people.identity(tx, channel, platform_user_id) for channel, platform_user_id in accounts)
        # Keys are looked up by person. Threads are not: other people may have very many.
        mine = "SELECT k.thread_id FROM thread_keys k WHERE k.owner_id = ?"
        threads = tx.all(
            f"SELECT {THREAD} FROM threads t {ACTIVE_TURN} WHERE t.id IN ({mine})"
            " ORDER BY t.last_active_at DESC LIMIT ?",
            user_id,
            REACH_THREADS,
        )
        return Reach(
            tuple(identity for identity in found if identity is not None),
            tuple(thread_of(row) for row in threads),
        )

    @writes
    def add_notice(
        self, tx: Transaction, key: str, message: Message, addresses: Sequence[NoticeAddress]
    ) -> tuple[OutboxRow, ...]:
        if tx.one("SELECT 1 FROM notices WHERE key = ?", key) is not None:
            return ()
        row = _queue(tx, message, addresses[0])
        tx.run(
            "INSERT INTO notices (key, outbox_id, elsewhere, created_at) VALUES (?, ?, ?, ?)",
            key,
            row.id,
            _addresses_to_json(addresses[1:]),
            tx.clock.now(),
        )
        return (row,)


class OutboxUnits(Facet):
    """The units of Outbox."""

    async def hold_lease(self) -> None:
        await hold(self.engine)

    @reads
    def pending_outbox(self, tx: Transaction, channel: str) -> Sequence[OutboxRow]:
        return outbox.pending(tx, channel)

    @writes
    def claim_outbox(self, tx: Transaction, row_id: int) -> OutboxRow:
        return outbox.claim(tx, row_id)

    @reads
    def sent_refs(self, tx: Transaction, row_id: int) -> tuple[MessageRef, ...]:
        return outbox.sent_refs(tx, row_id)

    async def record_part_sent(self, row_id: int, posted: Posted, *, last: bool) -> None:
        await self._engine.write(
            lambda tx: outbox.record_part_sent(tx, row_id, posted, last=last), unhurried=last
        )

    @writes
    def record_sent(self, tx: Transaction, row_id: int) -> None:
        return outbox.record_sent(tx, row_id)

    @writes
    def retry_outbox(self, tx: Transaction, row_id: int, *, not_before: int, reason: str) -> None:
        return outbox.retry(tx, row_id, not_before, reason)

    @writes
    def mark_ambiguous(
        self, tx: Transaction, row_id: int, reason: str, asked_by: int | None = None
    ) -> OutboxRow:
        return outbox.mark_ambiguous(tx, row_id, reason, asked_by)

    @writes
    def fail_outbox(self, tx: Transaction, row_id: int, reason: str) -> tuple[OutboxRow, ...]:
        return fail(tx, row_id, reason)

    @writes
    def begin_preview(
        self, tx: Transaction, turn_id: str, channel: str, address: Address
    ) -> OutboxRow | None:
        return recovery.begin(tx, turn_id, channel, address)

    @writes
    def record_preview(self, tx: Transaction, row_id: int, posted: Posted | None) -> None:
        return recovery.record(tx, row_id, posted)

    @reads
    def preview_shown(self, tx: Transaction, row_id: int) -> Posted | None:
        return recovery.shown(tx, row_id)

    @reads
    def post_context(self, tx: Transaction, row_id: int) -> PostContext:
        return outbox.post_context(tx, row_id)
