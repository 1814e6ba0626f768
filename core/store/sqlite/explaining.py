"""What became of inbound events: everything recorded about them, each question one statement."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Sequence
from itertools import groupby

from core.store.rows import Delivery, Explanation
from core.store.sqlite.pages import Ask, like
from core.store.sqlite.transaction import Row

_EXPLANATION = (
    "i.key, i.channel, i.sender, i.received_at, i.outcome, i.thread_id, i.turn_id, tn.state, tn.error,"
    " o.id, o.state, json_array_length(o.refs), o.repeats, o.error, i.text"
)
_CAUSED = (
    "LEFT JOIN turns tn ON tn.id = i.turn_id"
    " LEFT JOIN outbox o ON (o.turn_id = i.turn_id OR o.event_id = i.id) AND o.edit_of IS NULL"
    " AND o.state NOT IN ('streaming', 'replaced')"
)


class Explanations:
    """`hubbub why` and the console ask them."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def of(self, event_key: str) -> Explanation | None:
        """See Store.explain."""
        sql = f"SELECT {_EXPLANATION} FROM inbox i {_CAUSED} WHERE i.key = ? ORDER BY o.id"
        found = _explanations(await self._ask(sql, event_key))
        return found[0] if found else None

    async def recent(self, limit: int) -> Sequence[Explanation]:
        """See Store.explain_recent."""
        newest = "SELECT * FROM inbox ORDER BY id DESC LIMIT ?"
        sql = f"SELECT {_EXPLANATION} FROM ({newest}) i {_CAUSED} ORDER BY i.id DESC, o.id"
        return _explanations(await self._ask(sql, limit))

    async def matching(self, text: str, limit: int) -> Sequence[Explanation]:
        """See Feeds.explain_matching."""
        matching = (
            "SELECT * FROM inbox WHERE key LIKE ?1 ESCAPE '\\' OR sender LIKE ?1 ESCAPE '\\'"
            " OR text LIKE ?1 ESCAPE '\\' ORDER BY id DESC LIMIT ?2"
        )
        sql = f"SELECT {_EXPLANATION} FROM ({matching}) i {_CAUSED} ORDER BY i.id DESC, o.id"
        return _explanations(await self._ask(sql, like(text), limit))


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
        deliveries=tuple(Delivery(*row[9:14]) for row in rows if row[9] is not None),
        text=rows[0][14] or "",
    )
