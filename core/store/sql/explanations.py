"""Explanations of inbound events: everything recorded about them, each question one statement."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Sequence
from itertools import groupby

from core.messages import Address
from core.store.codecs import refs_from_json
from core.store.pairing import NoiseRow
from core.store.rows import Delivery, Explanation
from core.store.sql.mapping import contains, like
from core.store.transaction import Row
from core.store.units import Facet

# Explanations of inbound events: everything recorded about them, each question one statement.

_EXPLANATION = (
    "i.key, i.channel, i.sender, i.received_at, i.outcome, i.thread_id, i.turn_id, tn.state, tn.error,"
    " o.id, o.state, o.refs, o.repeats, o.error, i.text"
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
        found = _explanations(await self._engine.ask(sql, event_key))
        return found[0] if found else None

    async def explain_recent(self, limit: int) -> Sequence[Explanation]:
        newest = "SELECT * FROM inbox ORDER BY id DESC LIMIT ?"
        sql = f"SELECT {_EXPLANATION} FROM ({newest}) i {_CAUSED} ORDER BY i.id DESC, o.id"
        return _explanations(await self._engine.ask(sql, limit))

    async def explain_matching(self, text: str, limit: int) -> Sequence[Explanation]:
        matching = (
            f"SELECT * FROM inbox WHERE {contains('key')} OR {contains('sender')} OR {contains('text')}"
            " ORDER BY id DESC LIMIT ?"
        )
        sql = f"SELECT {_EXPLANATION} FROM ({matching}) i {_CAUSED} ORDER BY i.id DESC, o.id"
        part = like(text)
        return _explanations(await self._engine.ask(sql, part, part, part, limit))

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
    )
