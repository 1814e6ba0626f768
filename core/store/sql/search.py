"""The search in conversations: indexing messages a turn at a time, and finding them."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from core.store.search import INDEX_LIMIT_CHARS, SearchHit, SearchWanted, WordSearch, beginning, excerpt
from core.store.sql.mapping import ACTIVE
from core.store.transaction import Row, Transaction

SPOKEN = "e.kind IN ('user', 'assistant', 'operator') AND e.text <> ''"


MOST_AT_ONCE = 100
"""The threads that one transaction makes searchable."""


UNSEARCHED = (
    "SELECT id, searched_seq, ended_seq FROM (SELECT t.id, t.searched_seq, t.last_active_at,"
    " COALESCE((SELECT min(e.seq) - 1 FROM runs a JOIN entries e ON e.turn_id = a.id"
    f" WHERE a.thread_id = t.id AND a.state IN {ACTIVE}), t.last_seq) AS ended_seq"
    " FROM threads t WHERE t.kind = 'chat' AND t.last_seq > t.searched_seq) AS w"
    " WHERE ended_seq > searched_seq ORDER BY last_active_at LIMIT ?"
)
"""The threads with new messages of ended turns, and the positions after and up to which to index them."""


def index_said(tx: Transaction, limit: int) -> bool:
    """Index the new messages of ended turns, in at most `limit` threads. Return whether there may be more."""
    waiting = tx.all(UNSEARCHED, limit)
    for thread_id, searched_seq, ended_seq in waiting:
        _index_thread(tx, thread_id, searched_seq, ended_seq)
    return len(waiting) == limit


def _index_thread(tx: Transaction, thread_id: str, after_seq: int, last_seq: int) -> None:
    rows = tx.all(
        f"SELECT e.turn_id, e.seq, e.at, substr(e.text, 1, {INDEX_LIMIT_CHARS}) FROM entries e"
        f" WHERE e.thread_id = ? AND e.seq > ? AND e.seq <= ? AND {SPOKEN} ORDER BY e.seq",
        thread_id,
        after_seq,
        last_seq,
    )
    for _, turn in groupby(rows, key=lambda row: row[0]):
        said = list(turn)
        row_id = tx.insert(
            "INSERT INTO said (thread_id, first_seq, last_seq, at) VALUES (?, ?, ?, ?)",
            thread_id,
            said[0][1],
            said[-1][1],
            said[-1][2],
        )
        tx.said.add(row_id, [row[3] for row in said])
    tx.run("UPDATE threads SET searched_seq = ? WHERE id = ?", last_seq, thread_id)


def forget_said(tx: Transaction, thread_id: str) -> None:
    """Remove a thread's words from the search. Call it while its entries are still there."""
    for row_id, first_seq, last_seq in tx.all(
        "SELECT id, first_seq, last_seq FROM said WHERE thread_id = ?", thread_id
    ):
        rows = tx.all(
            f"SELECT substr(e.text, 1, {INDEX_LIMIT_CHARS}) FROM entries e WHERE e.thread_id = ?"
            f" AND e.seq BETWEEN ? AND ? AND {SPOKEN} ORDER BY e.seq",
            thread_id,
            first_seq,
            last_seq,
        )
        tx.said.remove(row_id, [row[0] for row in rows])
    tx.run("DELETE FROM said WHERE thread_id = ?", thread_id)


def search_statement(words: WordSearch, wanted: SearchWanted) -> tuple[str, list[Any]]:
    """Return the statement of a search, newest first, with its parameters.

    Its rows are the messages of each turn that fits, for `hits_of`."""
    where, parameters = stretches_where(words, wanted)
    chosen = (
        f"SELECT s.id FROM said s JOIN threads t ON t.id = s.thread_id JOIN users u ON u.id = t.owner_id"
        f" WHERE {where} ORDER BY s.id DESC LIMIT ?"
    )
    statement = (
        "SELECT s.id, t.id, t.title, t.channel, t.owner_id, u.name, e.seq, e.at, e.kind,"
        f" substr(e.text, 1, {INDEX_LIMIT_CHARS}), e.undone FROM said s JOIN threads t ON t.id = s.thread_id"
        " JOIN users u ON u.id = t.owner_id JOIN entries e ON e.thread_id = s.thread_id"
        f" AND e.seq BETWEEN s.first_seq AND s.last_seq AND {SPOKEN}"
        f" WHERE s.id IN ({chosen}) ORDER BY s.id DESC, e.seq"
    )
    return statement, [*parameters, wanted.limit]


def stretches_where(words: WordSearch, wanted: SearchWanted) -> tuple[str, list[Any]]:
    """Return the condition on `said s`, `threads t` and `users u`, and its parameters."""
    conditions = ["t.kind = 'chat'", words.condition]
    parameters: list[Any] = [words.parameter(wanted.phrases)]
    compared = {
        "t.owner_id = ?": wanted.owner_id,
        "t.id = ?": wanted.thread_id,
        "t.channel = ?": wanted.channel,
        "s.at >= ?": wanted.after,
        "s.at < ?": wanted.before,
    }
    for condition, value in compared.items():
        if value is not None:
            conditions.append(condition)
            parameters.append(value)
    if wanted.asked_in is not None:
        conditions.append(
            "(t.id = ? OR NOT EXISTS (SELECT 1 FROM entries g"
            " WHERE g.thread_id = ? AND g.kind = 'user' AND g.name IS NOT NULL))"
        )
        parameters += [wanted.asked_in, wanted.asked_in]
    if wanted.person is not None:
        conditions.append("(lower(u.name) = lower(?) OR u.id = ?)")
        parameters += [wanted.person, wanted.person]
    return " AND ".join(conditions), parameters


def hits_of(rows: Sequence[Row], wanted: SearchWanted) -> tuple[SearchHit, ...]:
    """Return one hit for each turn: its first message with one of the words."""
    return tuple(_hit(list(turn), wanted) for _, turn in groupby(rows, key=lambda row: row[0]))


def _hit(turn: Sequence[Row], wanted: SearchWanted) -> SearchHit:
    for row in turn:
        part = excerpt(row[9], wanted.phrases)
        if part is not None:
            return _found(row, part)
    return _found(turn[0], beginning(turn[0][9]))


def _found(row: Row, part: str) -> SearchHit:
    _, thread_id, title, channel, owner_id, owner, seq, at, kind, _, undone = row
    return SearchHit(thread_id, title, channel, owner_id, owner, seq, at, kind, part, undone is not None)


def search(tx: Transaction, wanted: SearchWanted) -> tuple[SearchHit, ...]:
    """Search inside a transaction."""
    if not wanted.phrases:
        return ()
    statement, parameters = search_statement(tx.said, wanted)
    return hits_of(tx.all(statement, *parameters), wanted)
