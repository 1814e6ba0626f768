"""Pairing requests, and the wrong codes people brought."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Callable, Sequence
from itertools import groupby

from core.audit_chain import AuditKind
from core.messages import Address, Sender
from core.ports import OutboxRow
from core.store.accounts import (
    CODE_LIFE_US,
    ClaimRefused,
    ClaimView,
    Decision,
    LinkOffer,
    MemberInvited,
    PairingApproved,
    PairingDenied,
    PairingRequest,
    RequestState,
    Settled,
    WrongCodes,
)
from core.store.codecs import storable
from core.store.effects import OfferLink
from core.store.port import KeyKind
from core.store.rows import Draft
from core.store.sql import grants, people
from core.store.sql.audit import record
from core.store.sql.mapping import PREFERENCES, PRINCIPAL, REQUEST, preferences_of, principal_of, request_of
from core.store.sql.outbox import Cause, enqueue
from core.store.units import Facet, Row, Transaction, reads, writes
from core.users import Account, Person, Preferences, Principal, Role, Via

HOUR_US = 4 * CODE_LIFE_US
WEEK_US = 7 * 24 * HOUR_US
LATE_LIMIT = 50
"""Maximum number of the last hour's requests a code is compared with. A channel may have three
open at a time."""


def guesser_of(channel: str, sender: Sender) -> str:
    """Return the name under which a sender's wrong codes are counted."""
    return f"{channel}:{sender.platform_user_id}"


# --- requests -------------------------------------------------------------------------------------------


def claims(tx: Transaction, channel: str | None, guesser: str) -> ClaimView:
    """Return the state on which a request of the channel (None: of any) is decided."""
    now = tx.clock.now()
    rows = tx.all(
        f"SELECT {REQUEST} FROM pairing_requests r WHERE r.created_at > ? AND (? IS NULL OR r.channel = ?)"
        " ORDER BY r.created_at DESC, r.id DESC LIMIT ?",
        now - HOUR_US,
        channel,
        channel,
        LATE_LIMIT,
    )
    requests = tuple(request_of(row) for row in rows)
    identities = {
        request.id: identity
        for request in requests
        if (identity := people.identity(tx, request.channel, request.sender.platform_user_id)) is not None
    }
    return ClaimView(now, requests, identities, _owner_paired(tx), wrong_codes(tx, guesser))


def _owner_paired(tx: Transaction) -> bool:
    found = tx.one(
        "SELECT 1 FROM users u JOIN identities i ON i.user_id = u.id WHERE u.role = ? AND i.via = ? LIMIT 1",
        Role.OWNER.value,
        Via.PAIRED.value,
    )
    return found is not None


def approve_pairing(tx: Transaction, granted: PairingApproved) -> Draft:
    """Bind the account of an approved request. Return the notice to it."""
    request = granted.request
    _close(tx, request, RequestState.APPROVED, granted.by)
    known = people.identity(tx, request.channel, request.sender.platform_user_id)
    people.bind_identity(tx, request.channel, request.sender, known, granted.principal, Via.PAIRED)
    to = granted.principal
    record(tx, AuditKind.PAIRED, _account(request), actor=granted.by, user=to.user_id, role=to.role.value)
    return Draft(request.channel, request.address, granted.message, tx.ids.row_id())


def invite(tx: Transaction, invited: MemberInvited, by: str) -> None:
    """Add a member, with an account of the console and a key that begins its session."""
    user_id = people.ensure_user(tx, invited.user_id, Role.MEMBER, invited.name).user_id
    people.link_account(tx, user_id, invited.channel, Sender(user_id, invited.name), by)
    people.store_key(tx, invited.hash, KeyKind.INVITATION, user_id, invited.expires_at, by)


def _account(request: PairingRequest) -> str:
    return f"{request.channel}:{request.sender.platform_user_id}"


def _close(tx: Transaction, request: PairingRequest, state: RequestState, by: str) -> None:
    tx.changes.people = True
    tx.run(
        "UPDATE pairing_requests SET state = ?, closed_at = ?, closed_by = ? WHERE id = ? AND state = 'open'",
        state.value,
        tx.clock.now(),
        by,
        request.id,
    )


def keep_request(tx: Transaction, request: PairingRequest) -> None:
    """Store a new request. The channel's expired requests lapse, and unapproved ones older than a week
    are deleted."""
    tx.changes.people = True
    now = tx.clock.now()
    tx.run(
        "UPDATE pairing_requests SET state = 'lapsed', closed_at = expires_at"
        " WHERE state = 'open' AND channel = ? AND expires_at <= ?",
        request.channel,
        now,
    )
    tx.run("DELETE FROM pairing_requests WHERE created_at < ? AND state <> 'approved'", now - WEEK_US)
    tx.run(
        "INSERT INTO pairing_requests (id, code, channel, platform_user_id, name, username, address, state,"
        " created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, 'open', ?, ?)",
        request.id,
        request.code,
        request.channel,
        request.sender.platform_user_id,
        storable(request.sender.name),
        None if request.sender.username is None else storable(request.sender.username),
        request.address,
        request.created_at,
        request.expires_at,
    )


def newest_request(tx: Transaction, channel: str, platform_user_id: str) -> PairingRequest | None:
    """Return the account's newest request."""
    row = tx.one(
        f"SELECT {REQUEST} FROM pairing_requests r WHERE r.channel = ? AND r.platform_user_id = ?"
        " ORDER BY r.created_at DESC LIMIT 1",
        channel,
        platform_user_id,
    )
    return None if row is None else request_of(row)


def open_requests(tx: Transaction, channel: str) -> tuple[PairingRequest, ...]:
    """Return the channel's requests whose codes are valid."""
    rows = tx.all(
        f"SELECT {REQUEST} FROM pairing_requests r"
        " WHERE r.state = 'open' AND r.channel = ? AND r.expires_at > ?",
        channel,
        tx.clock.now(),
    )
    return tuple(request_of(row) for row in rows)


def withdraw_request(tx: Transaction, channel: str, platform_user_id: str) -> None:
    """Close the open request of an account that was allowed in another way."""
    tx.changes.people = True
    tx.run(
        "UPDATE pairing_requests SET state = 'lapsed', closed_at = ?"
        " WHERE state = 'open' AND channel = ? AND platform_user_id = ?",
        tx.clock.now(),
        channel,
        platform_user_id,
    )


# --- wrong codes ----------------------------------------------------------------------------------------


def wrong_codes(tx: Transaction, guesser: str) -> WrongCodes:
    """Return the number of recent wrong codes."""
    now = tx.clock.now()
    mine = tx.one(
        "SELECT count(*) FROM wrong_codes WHERE guesser = ? AND at > ? AND at <= ?",
        guesser,
        now - CODE_LIFE_US,
        now,
    )
    all_of_them = tx.one("SELECT count(*) FROM wrong_codes WHERE at > ? AND at <= ?", now - CODE_LIFE_US, now)
    return WrongCodes(0 if mine is None else mine[0], 0 if all_of_them is None else all_of_them[0])


def note_wrong_code(tx: Transaction, guesser: str) -> None:
    """Count one more wrong code, and delete expired ones."""
    now = tx.clock.now()
    tx.run("DELETE FROM wrong_codes WHERE at <= ?", now - CODE_LIFE_US)
    tx.run("INSERT INTO wrong_codes (guesser, at) VALUES (?, ?)", guesser, now)


# Linking codes: the user who made one, and whether it was used.


def offer_link(
    tx: Transaction, user_id: str, channel: str, sender: Sender, address: Address, offer: OfferLink
) -> None:
    """Store a code with which another account may join the sender's user."""
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
    """Return all recent codes: each is compared with the one a sender brings."""
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
    """Mark an offer's code as used. It never works again."""
    tx.run("UPDATE link_offers SET used_at = ? WHERE code = ?", tx.clock.now(), offer.code)


class PeopleUnits(Facet):
    """The units of People."""

    @writes
    def ensure_user(self, tx: Transaction, user_id: str, role: Role, name: str) -> Principal:
        return people.ensure_user(tx, user_id, role, name)

    async def user(self, user_id: str) -> Principal | None:
        rows = await self._engine.ask(f"SELECT {PRINCIPAL} FROM users u WHERE u.id = ?", user_id)
        return principal_of(rows[0]) if rows else None

    async def people(self) -> Sequence[Person]:
        rows = await self._engine.ask(
            f"SELECT {PRINCIPAL}, {PREFERENCES}, i.channel, i.platform_user_id, i.via, i.name FROM users u"
            " LEFT JOIN identities i ON i.user_id = u.id ORDER BY u.name, u.id, i.channel, i.created_at"
        )
        return [_person(list(group)) for _, group in groupby(rows, key=lambda row: row[0])]

    @reads
    def preferences(self, tx: Transaction, user_id: str) -> Preferences:
        return people.preferences(tx, user_id)

    @writes
    def set_preferences(
        self, tx: Transaction, user_id: str, changed: Callable[[Preferences], Preferences]
    ) -> bool:
        return people.set_preferences(tx, user_id, changed)

    @writes
    def set_role(self, tx: Transaction, user_id: str, role: Role, *, by: str) -> Role | None:
        return people.set_role(tx, user_id, role, by)

    async def pairing_requests(self) -> Sequence[PairingRequest]:
        rows = await self._engine.ask(
            f"SELECT {REQUEST} FROM pairing_requests r WHERE r.state = 'open' AND r.expires_at > ?"
            " ORDER BY r.created_at, r.id",
            self._engine.clock.now(),
        )
        return [request_of(row) for row in rows]

    @writes
    def settle_pairing(
        self, tx: Transaction, channel: str | None, guesser: str, judge: Callable[[ClaimView], Decision]
    ) -> Settled:
        decision = judge(claims(tx, channel, guesser))
        outbox: tuple[OutboxRow, ...] = ()
        match decision:
            case PairingApproved():
                outbox = enqueue(tx, (approve_pairing(tx, decision),), Cause())
            case PairingDenied(request, by, message):
                _close(tx, request, RequestState.REJECTED, by)
                record(tx, AuditKind.PAIRING_REJECTED, _account(request), actor=by)
                draft = Draft(request.channel, request.address, message, tx.ids.row_id())
                outbox = enqueue(tx, (draft,), Cause())
            case ClaimRefused(wrong_code=wrong_code):
                if wrong_code:
                    note_wrong_code(tx, guesser)
        return Settled(decision, outbox)

    @writes
    def revoke_account(
        self, tx: Transaction, channel: str, platform_user_id: str, *, by: str | None = None
    ) -> str | None:
        return people.revoke_account(tx, channel, platform_user_id, by)

    @writes
    def restore_account(self, tx: Transaction, undo: str, *, by: str | None = None) -> str | None:
        return people.restore_account(tx, undo, by)

    @writes
    def link_account(
        self,
        tx: Transaction,
        user_id: str,
        channel: str,
        platform_user_id: str,
        name: str,
        *,
        by: str | None = None,
    ) -> Principal | None:
        return people.link_account(tx, user_id, channel, Sender(platform_user_id, name), by)

    @writes
    def count_model_call(self, tx: Transaction, user_id: str, day: str, most: int) -> bool:
        return grants.count_model_call(tx, user_id, day, most)


def _person(rows: Sequence[Row]) -> Person:
    accounts = tuple(Account(*row[6:10]) for row in rows if row[6] is not None)
    return Person(principal_of(rows[0][:3]), accounts, preferences_of(rows[0][3:6]))
