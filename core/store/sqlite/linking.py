"""Codes that join accounts: who made one, and whether it was used."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from core.messages import Address, Sender
from core.store.effects import OfferLink
from core.store.pairing import LinkOffer
from core.store.sqlite import people
from core.store.sqlite.mapping import PRINCIPAL, principal_of
from core.store.sqlite.pairing import HOUR_US
from core.store.sqlite.transaction import Row, Transaction
from core.users import Account


def offer_link(
    tx: Transaction, user_id: str, channel: str, sender: Sender, address: Address, offer: OfferLink
) -> None:
    """Keep a code by which another account may join the sender's user."""
    now = tx.clock.now()
    known = people.identity(tx, channel, sender.platform_user_id)
    here = Account(channel, sender.platform_user_id, "")
    root = here if known is None or known.root is None else known.root
    tx.run(
        "DELETE FROM link_offers WHERE expires_at < ? OR (user_id = ? AND used_at IS NULL)",
        now - HOUR_US,
        user_id,
    )
    tx.run(
        "INSERT INTO link_offers (code, user_id, root_channel, root_platform_user_id, channel, address,"
        " created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        offer.code,
        user_id,
        root.channel,
        root.platform_user_id,
        channel,
        address,
        now,
        offer.expires_at,
    )


def link_offers(tx: Transaction) -> tuple[LinkOffer, ...]:
    """All codes of late: each is compared with what somebody brings."""
    rows = tx.all(
        f"SELECT {PRINCIPAL}, l.code, l.channel, l.address, l.expires_at, l.used_at,"
        " r.channel, r.platform_user_id, r.via FROM link_offers l JOIN users u ON u.id = l.user_id"
        " LEFT JOIN identities r ON r.channel = l.root_channel"
        " AND r.platform_user_id = l.root_platform_user_id AND r.user_id = l.user_id"
    )
    return tuple(_offer_of(row) for row in rows)


def _offer_of(row: Row) -> LinkOffer:
    return LinkOffer(
        code=row[3],
        user=principal_of(row[:3]),
        root=None if row[8] is None else Account(row[8], row[9], row[10]),
        channel=row[4],
        address=Address(row[5]),
        expires_at=row[6],
        used=row[7] is not None,
    )


def use_offer(tx: Transaction, offer: LinkOffer) -> None:
    """The code worked once; it never does again."""
    tx.run("UPDATE link_offers SET used_at = ? WHERE code = ?", tx.clock.now(), offer.code)
