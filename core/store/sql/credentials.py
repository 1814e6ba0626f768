"""Credential requests that concern an event, found by its person and channel, never by its thread."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from core.messages import InboundMessage, MessageRef
from core.store.accept import ASKED_FOR, AskedCredentials, ShownCard
from core.store.codecs import refs_from_json
from core.store.rows import GateView
from core.store.sql.mapping import GATE_VIEW, GATE_VIEW_FROM, gate_views_of
from core.store.transaction import Transaction
from core.users import Identity

_AWAITED = "g.requester_id = ? AND g.secret IS NOT NULL AND g.awaits = 1 AND t.channel = ?"


def asked(tx: Transaction, event: InboundMessage, user_id: str) -> AskedCredentials | None:
    """Return the requests a person's text on this channel may answer. None for nearly every text."""
    sql = f"SELECT {GATE_VIEW} FROM {GATE_VIEW_FROM} WHERE {_AWAITED} ORDER BY g.created_at, g.id, v.at"
    waits = "SELECT 1 FROM gates WHERE requester_id = ? AND secret IS NOT NULL AND awaits = 1 LIMIT 1"
    requests = gate_views_of(tx.all(sql, user_id, event.channel)) if tx.one(waits, user_id) else ()
    replied = None if event.reply_to is None else _shown_as(tx, event.channel, user_id, event.reply_to)
    joins = event.album is not None and _album_withheld(tx, event.album, event.channel, user_id)
    if not requests and replied is None and not joins:
        return None
    cards = tuple(card for request in requests for card in _cards(tx, request))
    return AskedCredentials(requests, replied, cards, joins_withheld=joins)


def is_awaited(tx: Transaction, identity: Identity | None, channel: str) -> bool:
    """Return True if a text of this account may be a credential that its person was asked for."""
    if identity is None:
        return False
    sql = f"SELECT 1 FROM gates g JOIN threads t ON t.id = g.thread_id WHERE {_AWAITED} LIMIT 1"
    return tx.one(sql, identity.user.user_id, channel) is not None


def forget(tx: Transaction, gate_ids: tuple[str, ...]) -> None:
    """Forget requests that the person knows are over. Their texts are ordinary again."""
    for gate_id in gate_ids:
        tx.run("UPDATE gates SET awaits = 0 WHERE id = ?", gate_id)


def _cards(tx: Transaction, request: GateView) -> list[ShownCard]:
    """Return the request's cards in its own conversation."""
    rows = tx.all(
        "SELECT refs, order_key FROM outbox WHERE gate_id = ? AND channel = ? AND address = ?"
        " AND edit_of IS NULL AND order_key IS NOT NULL ORDER BY id",
        request.gate.id,
        request.thread.channel,
        request.thread.address,
    )
    return [ShownCard(request.gate.id, refs_from_json(refs), order_key) for refs, order_key in rows]


def _shown_as(tx: Transaction, channel: str, user_id: str, ref: MessageRef) -> GateView | None:
    """Return the request, open or closed, that a message is a card of."""
    rows = tx.all(
        "SELECT g.id, o.refs FROM gates g JOIN outbox o ON o.gate_id = g.id"
        " WHERE g.requester_id = ? AND g.secret IS NOT NULL AND o.channel = ? AND o.edit_of IS NULL",
        user_id,
        channel,
    )
    found = next((gate_id for gate_id, refs in rows if ref in refs_from_json(refs)), None)
    if found is None:
        return None
    sql = f"SELECT {GATE_VIEW} FROM {GATE_VIEW_FROM} WHERE g.id = ? ORDER BY v.at"
    return gate_views_of(tx.all(sql, found))[0]


def _album_withheld(tx: Transaction, album: str, channel: str, user_id: str) -> bool:
    """Return True if another part of the album was withheld: one message is one credential."""
    return None is not tx.one(
        "SELECT 1 FROM inbox WHERE album = ? AND channel = ? AND user_id = ?"
        " AND substr(outcome, 1, ?) = ? LIMIT 1",
        album,
        channel,
        user_id,
        len(ASKED_FOR),
        ASKED_FOR,
    )
