"""Pages of threads and gates for the console, and explanations of events, each one statement.

The rows of a page are chosen first and completed afterwards, so that a page costs no more with
ten thousand threads.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from core.clock import SECOND_US
from core.messages import Address, Message
from core.ports import Seen
from core.routine import message_key
from core.store.accounts import NoiseRow
from core.store.codecs import (
    message_from_json,
    refs_from_json,
    strings_from_json,
    strings_to_json,
    trace_from_json,
)
from core.store.conversations import SearchHit, SearchWanted, WordSearch, parse_search
from core.store.feed import (
    DeletedFile,
    FeedItem,
    GateGlance,
    GatesWanted,
    PersonSaid,
    ThreadGlance,
    ThreadsWanted,
)
from core.store.routine_rows import RESTING
from core.store.rows import Delivery, Explanation, ThreadChange, ThreadRow, TurnState
from core.store.sql import feed, threads
from core.store.sql.gate_open import asked_in, ran_under
from core.store.sql.inbox import NOTICES
from core.store.sql.mapping import (
    ACTIVE_TURN,
    ENTRY,
    GATE_VIEW,
    GATE_VIEW_FROM,
    LIVE,
    NEWEST_MODELS,
    PRINCIPAL,
    THREAD,
    THREAD_COLUMNS,
    contains,
    entry_of,
    gate_views_of,
    holds,
    like,
    marks,
    principal_of,
    thread_of,
)
from core.store.sql.memory import UNSEARCHED, hits_of, index_said, search_statement, stretches_where
from core.store.sql.turns import thread
from core.store.units import Facet, Row, Transaction, reads, writes
from core.transcript import Entry
from core.users import scope_of

Ask = Callable[..., Awaitable[list[Row]]]
"""A function that runs a statement with its parameters and returns the rows."""

PREVIEW_CHARS = 200

_SPOKEN = "e.thread_id = t.id AND e.kind IN ('user', 'assistant', 'operator') AND e.text <> ''"
_GLANCE = (
    f"{THREAD}, {PRINCIPAL},"
    f" (SELECT substr(e.text, 1, {PREVIEW_CHARS}) FROM entries e WHERE {_SPOKEN} AND {LIVE}"
    " ORDER BY e.seq DESC LIMIT 1), (SELECT e.name IS NOT NULL FROM entries e WHERE e.thread_id = t.id"
    " AND e.kind = 'user' ORDER BY e.seq DESC LIMIT 1), a.stop_requested,"
    " (SELECT count(*) FROM gates g WHERE g.thread_id = t.id AND g.state = 'open'), t.last_seq,"
    f" {NEWEST_MODELS},"
    " (SELECT tn.state FROM runs tn WHERE tn.id = (SELECT e.turn_id FROM entries e WHERE e.thread_id = t.id"
    f" AND e.turn_id IS NOT NULL AND {LIVE} ORDER BY e.seq DESC LIMIT 1)),"
    " t.tags, t.archived_at, t.origin_id, t.origin_turn, t.last_turn,"
    " (SELECT coalesce(sum(c.input_tokens + c.output_tokens), 0) FROM usage c WHERE c.thread_id = t.id),"
    " EXISTS (SELECT 1 FROM sessions s WHERE s.user_id = t.owner_id AND s.active_thread = t.id),"
    f" CASE WHEN t.scope = '{scope_of(NOTICES)}' THEN (SELECT o.message FROM feed f JOIN outbox o"
    " ON o.id = f.outbox_id WHERE f.thread_id = t.id AND f.kind = 'message' ORDER BY f.seq DESC LIMIT 1) END,"
    " (SELECT coalesce(sum(c.micro_usd), 0) FROM usage c WHERE c.thread_id = t.id AND c.state <> 'reserved')"
)
_GLANCE_FROM = f"threads t JOIN users u ON u.id = t.owner_id {ACTIVE_TURN}"
_GATE = f"rq.name, coalesce(ca.edited, ce.text), cb.name, g.closed_by, g.closed_at, {GATE_VIEW}"
_GATE_FROM = (
    f"{GATE_VIEW_FROM} JOIN users rq ON rq.id = g.requester_id"
    " LEFT JOIN users cb ON cb.id = g.closed_by LEFT JOIN calls ca ON ca.id = g.call_id"
    " LEFT JOIN entries ce ON ce.thread_id = ca.thread_id AND ce.seq = ca.seq"
)
_OWN_COLUMNS = 5
"""The number of columns before those of GATE_VIEW."""


def _threads_where(words: WordSearch, wanted: ThreadsWanted) -> tuple[list[str], list[Any]]:
    conditions = ["t.kind = 'chat'"]
    parameters: list[Any] = []
    if wanted.before is not None:
        conditions.append("(t.last_active_at, t.id) < (?, ?)")
        parameters += wanted.before
    if wanted.owner_id is not None:
        conditions.append("t.owner_id = ?")
        parameters.append(wanted.owner_id)
    if wanted.channel is not None:
        conditions.append("t.channel = ?")
        parameters.append(wanted.channel)
    if wanted.waiting:
        conditions.append("EXISTS (SELECT 1 FROM gates w WHERE w.thread_id = t.id AND w.state = 'open')")
    if not (wanted.archived or wanted.text):
        conditions.append("t.archived_at IS NULL")
    if wanted.text:
        search = parse_search(wanted.text)
        found = [f"{contains('t.title')} OR {contains('u.name')}"]
        parameters += [like(wanted.text)] * 2
        if search.phrases:
            where, more = stretches_where(words, search)
            found.append(f"t.id IN (SELECT s.thread_id FROM said s WHERE s.thread_id = t.id AND {where})")
            parameters += more
        conditions.append(f"({' OR '.join(found)})")
    return conditions, parameters


def _glance_of(row: Row) -> ThreadGlance:
    own = row[THREAD_COLUMNS:]
    return ThreadGlance(
        thread=thread_of(row),
        owner=principal_of(own[:3]),
        preview=own[3] or _notice_preview(own[17]),
        group=bool(own[4]),
        stopping=bool(own[5]),
        waiting=own[6],
        last_seq=own[7],
        context=trace_from_json(own[8]).context,
        newest=None if own[9] is None else TurnState(own[9]),
        tags=strings_from_json(own[10]),
        archived_at=own[11],
        origin_id=own[12],
        origin_turn=own[13],
        turns=own[14],
        tokens=own[15],
        micro_usd=own[18],
        active=bool(own[16]),
    )


def _notice_preview(message: str | None) -> str:
    if message is None:
        return ""
    return " ".join(block.text for block in message_from_json(message).blocks)[:PREVIEW_CHARS]


def _gate_of(rows: Sequence[Row]) -> GateGlance:
    (view,) = gate_views_of([row[_OWN_COLUMNS:] for row in rows])
    return GateGlance(view.gate, view.votes, view.thread, *rows[0][:_OWN_COLUMNS])


_HOUR_US = 3600 * SECOND_US
_CONCERNS = f"(x.requester_id = ? OR {holds('x.approvers')} OR x.escalated = 1 AND {holds('x.escalate_to')})"


def _concerning(user_id: str) -> list[str]:
    """Return the values of _CONCERNS."""
    listed = strings_to_json((user_id,))[1:-1]
    return [user_id, listed, listed]


class FeedUnits(Facet):
    """The units of Feeds."""

    @reads
    def feed_after(self, tx: Transaction, thread_id: str, after: int, limit: int) -> Sequence[FeedItem]:
        return feed.after(tx, thread_id, after, limit)

    @reads
    def feed_before(
        self, tx: Transaction, thread_id: str, before: int | None, limit: int
    ) -> Sequence[FeedItem]:
        return feed.before(tx, thread_id, before, limit)

    @reads
    def job_line(self, tx: Transaction, thread_id: str, job_id: str) -> FeedItem | None:
        return feed.of_job(tx, thread_id, job_id)

    @reads
    def waiting_in(self, tx: Transaction, thread_id: str, limit: int) -> Sequence[PersonSaid]:
        return feed.waiting(tx, thread_id, limit)

    async def thread_glance(self, thread_id: str) -> ThreadGlance | None:
        rows = await self._engine.ask(
            f"SELECT {_GLANCE} FROM {_GLANCE_FROM} WHERE t.id = ? AND t.kind = 'chat'", thread_id
        )
        return _glance_of(rows[0]) if rows else None

    async def thread_glances(self, wanted: ThreadsWanted) -> Sequence[ThreadGlance]:
        conditions, parameters = _threads_where(self._engine.words, wanted)
        page = (
            f"SELECT t.id FROM threads t JOIN users u ON u.id = t.owner_id WHERE {' AND '.join(conditions)}"
            " ORDER BY t.last_active_at DESC, t.id DESC LIMIT ?"
        )
        rows = await self._engine.ask(
            f"SELECT {_GLANCE} FROM {_GLANCE_FROM} WHERE t.id IN ({page})"
            " ORDER BY t.last_active_at DESC, t.id DESC",
            *parameters,
            wanted.limit,
        )
        return [_glance_of(row) for row in rows]

    async def gate_glance(self, gate_id: str) -> GateGlance | None:
        found = await self._gates("g.id = ?", "g.id", gate_id)
        return found[0] if found else None

    async def gate_glances(self, wanted: GatesWanted) -> Sequence[GateGlance]:
        at, order, beyond = ("created_at", "", ">") if wanted.open else ("closed_at", " DESC", "<")
        conditions = [f"x.state = '{'open' if wanted.open else 'closed'}'"]
        parameters: list[Any] = []
        if wanted.before is not None:
            conditions.append(f"(x.{at}, x.id) {beyond} (?, ?)")
            parameters += wanted.before
        if wanted.concerning is not None:
            conditions.append(_CONCERNS)
            parameters += _concerning(wanted.concerning)
        if wanted.text:
            asked_by = f"x.requester_id IN (SELECT u.id FROM users u WHERE {contains('u.name')})"
            places = ("x.title", "x.detail", "x.tool", "coalesce(x.outcome_text, '')")
            conditions.append(f"({' OR '.join([*map(contains, places), asked_by])})")
            parameters += [like(wanted.text)] * (len(places) + 1)
        if wanted.outcomes:
            marks = ", ".join("?" * len(wanted.outcomes))
            conditions.append(f"coalesce(x.outcome, '') IN ({marks})")
            parameters += ["" if one is None else one.value for one in wanted.outcomes]
        page = (
            f"SELECT x.id FROM gates x WHERE {' AND '.join(conditions)}"
            f" ORDER BY x.{at}{order}, x.id{order} LIMIT ?"
        )
        return await self._gates(
            f"g.id IN ({page})", f"g.{at}{order}, g.id{order}", *parameters, wanted.limit
        )

    async def decisions(self, since: int, concerning: str | None) -> Sequence[tuple[int, str | None, int]]:
        mine = "" if concerning is None else f" AND {_CONCERNS}"
        rows = await self._engine.ask(
            f"SELECT x.closed_at / {_HOUR_US}, x.outcome, count(*) FROM gates x"
            f" WHERE x.state = 'closed' AND x.closed_at >= ?{mine} GROUP BY 1, 2 ORDER BY 1",
            since,
            *([] if concerning is None else _concerning(concerning)),
        )
        return [(hour, outcome, count) for hour, outcome, count in rows]

    async def gates_in(self, thread_id: str, shown: Collection[str]) -> Sequence[GateGlance]:
        marks = ", ".join("?" * len(shown))
        wanted = f"g.state = 'open' OR g.id IN ({marks})" if shown else "g.state = 'open'"
        return await self._gates(f"g.thread_id = ? AND ({wanted})", "g.created_at, g.id", thread_id, *shown)

    async def _gates(self, condition: str, order: str, *parameters: Any) -> Sequence[GateGlance]:
        sql = f"SELECT {_GATE} FROM {_GATE_FROM} WHERE {condition} ORDER BY {order}, v.at"
        rows = await self._engine.ask(sql, *parameters)
        return [_gate_of(list(group)) for _, group in groupby(rows, key=lambda row: row[_OWN_COLUMNS])]

    async def said_to(self, event_key: str) -> Sequence[Message]:
        rows = await self._engine.ask(
            "SELECT o.message FROM inbox i JOIN outbox o ON o.event_id = i.id"
            " WHERE i.key = ? AND o.edit_of IS NULL AND o.state NOT IN ('streaming', 'replaced')"
            " ORDER BY o.id",
            event_key,
        )
        return [message_from_json(row[0]) for row in rows]


class ThreadUnits(Facet):
    """The units of Threads."""

    async def thread(self, thread_id: str) -> ThreadRow | None:
        rows = await self._engine.ask(
            f"SELECT {THREAD} FROM threads t {ACTIVE_TURN} WHERE t.id = ? AND t.kind = 'chat'", thread_id
        )
        return thread_of(rows[0]) if rows else None

    async def threads(self, limit: int) -> Sequence[ThreadRow]:
        rows = await self._engine.ask(
            f"SELECT {THREAD} FROM threads t {ACTIVE_TURN} WHERE t.kind = 'chat'"
            " ORDER BY t.last_active_at DESC LIMIT ?",
            limit,
        )
        return [thread_of(row) for row in rows]

    async def entries(self, thread_id: str, limit: int) -> Sequence[Entry]:
        newest = f"SELECT {ENTRY} FROM entries e WHERE e.thread_id = ? AND {LIVE} ORDER BY e.seq DESC LIMIT ?"
        return [entry_of(row) for row in reversed(await self._engine.ask(newest, thread_id, limit))]

    async def all_entries(self, thread_id: str, limit: int) -> Sequence[Entry]:
        newest = f"SELECT {ENTRY}, {LIVE} FROM entries e WHERE e.thread_id = ? ORDER BY e.seq DESC LIMIT ?"
        return [entry_of(row) for row in reversed(await self._engine.ask(newest, thread_id, limit))]

    @writes
    def change_thread(self, tx: Transaction, thread_id: str, change: ThreadChange) -> None:
        threads.change(tx, thread_id, change)

    @writes
    def delete_thread(self, tx: Transaction, thread_id: str, by: str) -> None:
        threads.delete(tx, thread(tx, thread_id), by)

    async def deleted_files(self, limit: int) -> Sequence[DeletedFile]:
        return threads.noted(await self._engine.ask(threads.NOTED, limit))

    async def unknown_calls(self, call_ids: Sequence[str]) -> Sequence[str]:
        left = list(call_ids)
        for statement in threads.KNOWN_CALLS if left else ():
            known = {row[0] for row in await self._engine.ask(statement + marks(left), *left)}
            left = [call_id for call_id in left if call_id not in known]
        return left

    @writes
    def files_removed(self, tx: Transaction, files: Sequence[DeletedFile]) -> None:
        threads.forget(tx, files)

    async def index_said(self, limit: int) -> bool:
        if not await self._engine.ask(UNSEARCHED, 1):
            return False
        return await self._engine.write(lambda tx: index_said(tx, limit))

    async def search(self, wanted: SearchWanted) -> Sequence[SearchHit]:
        if not wanted.phrases:
            return ()
        statement, parameters = search_statement(self._engine.words, wanted)
        return hits_of(await self._engine.ask(statement, *parameters), wanted)

    async def active_thread(self, user_id: str) -> ThreadRow | None:
        rows = await self._engine.ask(
            f"SELECT {THREAD} FROM sessions s JOIN threads t ON t.id = s.active_thread {ACTIVE_TURN}"
            " WHERE s.user_id = ?",
            user_id,
        )
        return thread_of(rows[0]) if rows else None

    async def last_seen(self, channel: str, since: int) -> Sequence[Seen]:
        rows = await self._engine.ask(
            "SELECT address, max(order_key) FROM inbox WHERE channel = ? AND kind = 'message'"
            " AND received_at >= ? AND address IS NOT NULL AND order_key <> '' GROUP BY address",
            channel,
            since,
        )
        return [Seen(Address(row[0]), row[1]) for row in rows]


# Explanations of inbound events: everything recorded about them, each question one statement.

_EXPLANATION = (
    "i.key, i.channel, i.sender, i.received_at, i.outcome, i.thread_id, i.turn_id, tn.state, tn.error,"
    " o.id, o.state, o.refs, o.repeats, o.error, i.text, tn.models"
)
_CAUSED = (
    "LEFT JOIN runs tn ON tn.id = i.turn_id"
    " LEFT JOIN outbox o ON (o.turn_id = i.turn_id OR o.event_id = i.id) AND o.edit_of IS NULL"
    " AND o.state NOT IN ('streaming', 'replaced')"
)


class ExplanationUnits(Facet):
    """The units of Explanations."""

    async def explain(self, event_key: str) -> Explanation | None:
        sql = f"SELECT {_EXPLANATION} FROM inbox i {_CAUSED} WHERE i.key = ? ORDER BY o.id"
        found = await self._explained(sql, event_key)
        return found[0] if found else None

    async def explain_recent(self, limit: int) -> Sequence[Explanation]:
        newest = "SELECT * FROM inbox ORDER BY id DESC LIMIT ?"
        sql = f"SELECT {_EXPLANATION} FROM ({newest}) i {_CAUSED} ORDER BY i.id DESC, o.id"
        return await self._explained(sql, limit)

    async def explain_matching(self, text: str, limit: int) -> Sequence[Explanation]:
        matching = (
            f"SELECT * FROM inbox WHERE {contains('key')} OR {contains('sender')} OR {contains('text')}"
            " ORDER BY id DESC LIMIT ?"
        )
        sql = f"SELECT {_EXPLANATION} FROM ({matching}) i {_CAUSED} ORDER BY i.id DESC, o.id"
        part = like(text)
        return await self._explained(sql, part, part, part, limit)

    async def _explained(self, sql: str, *parameters: str | int) -> Sequence[Explanation]:
        found = _explanations(await self._engine.ask(sql, *parameters))
        keys = {message_key(one.key): one.key for one in found}
        rows = await self._engine.ask(
            "SELECT r.key, o.name, r.error FROM routines o JOIN routine_runs r ON r.routine_id = o.id"
            f" WHERE r.key IN {marks(keys)} AND substr(r.error, 1, {len(RESTING)}) = '{RESTING}'"
            " ORDER BY o.name, o.id",
            *keys,
        )
        resting: dict[str, tuple[str, ...]] = {}
        for key, name, error in rows:
            resting[keys[key]] = (*resting.get(keys[key], ()), f"{name} {error}")
        turns = {one.turn_id for one in found if one.turn_id is not None}
        asked, under = await asked_in(self._engine, turns), await ran_under(self._engine, turns)
        return [
            replace(
                one,
                resting=resting.get(one.key, ()),
                approvals=asked.get(one.turn_id or "", ()),
                under_grants=under.get(one.turn_id or "", ()),
            )
            for one in found
        ]

    async def noise(self, limit: int) -> Sequence[NoiseRow]:
        rows = await self._engine.ask(
            "SELECT channel, address, platform_user_id, reason, seen, first_at, last_at FROM noise"
            " ORDER BY last_at DESC LIMIT ?",
            limit,
        )
        return [NoiseRow(row[0], Address(row[1]), *row[2:]) for row in rows]


def _explanations(rows: Sequence[Row]) -> list[Explanation]:
    return [_explanation(list(group)) for _, group in groupby(rows, key=lambda row: row[0])]


def _explanation(rows: Sequence[Row]) -> Explanation:
    key, channel, sender, received_at, outcome, thread_id, turn_id, turn_state, turn_error = rows[0][:9]
    return Explanation(
        key=key,
        channel=channel,
        sender=sender or "",
        received_at=received_at,
        outcome=outcome,
        thread_id=thread_id,
        turn_id=turn_id,
        turn_state=turn_state,
        turn_error=turn_error,
        deliveries=tuple(
            Delivery(row[9], row[10], len(refs_from_json(row[11])), *row[12:14])
            for row in rows
            if row[9] is not None
        ),
        text=rows[0][14] or "",
        models=trace_from_json(rows[0][15]),
    )
