"""Users, their identities and sessions."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import json
from collections.abc import Callable, Mapping
from typing import Any

from core.audit_chain import AuditKind
from core.clock import SECOND_US
from core.messages import Sender
from core.store.codecs import storable
from core.store.port import KeyKind
from core.store.sql.audit import record
from core.store.sql.mapping import PREFERENCES, PRINCIPAL, preferences_of, principal_of
from core.store.units import Facet, Transaction, reads, writes
from core.users import NO_PREFERENCES, Account, Identity, Preferences, Principal, Role, Via

_RECORDED = {Via.PAIRED, Via.LINKED}
"""The ways to gain access that record themselves, with the person who decided."""


def user(tx: Transaction, user_id: str) -> Principal | None:
    """Return a user by id."""
    row = tx.one(f"SELECT {PRINCIPAL} FROM users u WHERE u.id = ?", user_id)
    return None if row is None else principal_of(row)


def known_user(tx: Transaction, user_id: str) -> Principal:
    """Return a user that other rows refer to, so that it must exist."""
    found = user(tx, user_id)
    if found is None:
        raise LookupError(f"no user {user_id}")
    return found


def ensure_user(tx: Transaction, user_id: str, role: Role, name: str) -> Principal:
    """Create or update the user as given, and return it."""
    before = user(tx, user_id)
    # Guests have no rights. A hub's first owner comes from the configuration, which is recorded as a
    # whole.
    if role is Role.MEMBER if before is None else before.role is not role:
        record(tx, AuditKind.ROLE, user_id, role=role.value, before=before and before.role.value)
    tx.run(
        "INSERT INTO users (id, role, name, created_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET role = excluded.role, name = excluded.name",
        user_id,
        role.value,
        storable(name),
        tx.clock.now(),
    )
    return Principal(user_id, role, storable(name))


def set_role(tx: Transaction, user_id: str, role: Role, by: str) -> Role | None:
    """Set the role of a member or guest. Return the one before; None if there is no such user."""
    before = user(tx, user_id)
    if before is None or before.role in {role, Role.OWNER}:
        return None if before is None else before.role
    record(tx, AuditKind.ROLE, user_id, actor=by, role=role.value, before=before.role.value)
    tx.run("UPDATE users SET role = ? WHERE id = ?", role.value, user_id)
    tx.changes.people = True
    return before.role


def preferences(tx: Transaction, user_id: str) -> Preferences:
    row = tx.one(f"SELECT {PREFERENCES} FROM users u WHERE u.id = ?", user_id)
    return NO_PREFERENCES if row is None else preferences_of(row)


def choices(tx: Transaction, user_id: str) -> tuple[Preferences, frozenset[str]]:
    """Return a person's preferences, and the tools that they have disabled."""
    rows = tx.all(
        f"SELECT d.tool, {PREFERENCES} FROM users u"
        " LEFT JOIN tool_settings d ON d.user_id = u.id AND d.setting = 'disabled' WHERE u.id = ?",
        user_id,
    )
    if not rows:
        return NO_PREFERENCES, frozenset()
    return preferences_of(rows[0][1:]), frozenset(row[0] for row in rows if row[0] is not None)


def set_preferences(tx: Transaction, user_id: str, changed: Callable[[Preferences], Preferences]) -> bool:
    wanted = changed(preferences(tx, user_id))
    return (
        tx.run(
            "UPDATE users SET timezone = ?, model = ?, thinking = ? WHERE id = ?",
            wanted.timezone,
            wanted.chosen.model,
            wanted.chosen.thinking,
            user_id,
        )
        > 0
    )


def identity(tx: Transaction, channel: str, platform_user_id: str) -> Identity | None:
    """Return the identity of an account on a channel."""
    row = tx.one(
        f"SELECT {PRINCIPAL}, i.via, i.root_channel, i.root_platform_user_id, i.direct_address"
        " FROM identities i JOIN users u ON u.id = i.user_id"
        " WHERE i.channel = ? AND i.platform_user_id = ?",
        channel,
        platform_user_id,
    )
    if row is None:
        return None
    root = None if row[4] is None else _root(tx, row[0], row[4], row[5])
    return Identity(channel, platform_user_id, principal_of(row), row[3], root, row[6])


def _root(tx: Transaction, user_id: str, channel: str, platform_user_id: str) -> Account | None:
    row = tx.one(
        "SELECT via FROM identities WHERE channel = ? AND platform_user_id = ? AND user_id = ?",
        channel,
        platform_user_id,
        user_id,
    )
    return None if row is None else Account(channel, platform_user_id, row[0])


def bind_identity(
    tx: Transaction,
    channel: str,
    sender: Sender,
    known: Identity | None,
    principal: Principal,
    via: str,
    root: Account | None = None,
) -> None:
    """Record the user a sender was identified as, if that is new. `root`: the account that vouches for
    a linked one."""
    if known is None or known.user != principal:
        ensure_user(tx, principal.user_id, principal.role, principal.name)
    if (
        known is not None
        and (known.user.user_id, known.via) == (principal.user_id, via)
        and (root is None or root == known.root)
    ):
        return
    tx.run(
        "INSERT INTO identities (channel, platform_user_id, user_id, via, name, username, created_at,"
        " root_channel, root_platform_user_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (channel, platform_user_id) DO UPDATE"
        " SET user_id = excluded.user_id, via = excluded.via, root_channel = excluded.root_channel,"
        " root_platform_user_id = excluded.root_platform_user_id",
        channel,
        sender.platform_user_id,
        principal.user_id,
        via,
        storable(sender.name),
        None if sender.username is None else storable(sender.username),
        tx.clock.now(),
        None if root is None else root.channel,
        None if root is None else root.platform_user_id,
    )
    if principal.role is not Role.GUEST and via not in _RECORDED:
        account = f"{channel}:{sender.platform_user_id}"
        record(tx, AuditKind.ACCOUNT, account, user=principal.user_id, via=via)
    # Later refusals are explained to the sender again.
    tx.run(
        "DELETE FROM refusals WHERE channel = ? AND platform_user_id = ?", channel, sender.platform_user_id
    )


def heard_in_private(tx: Transaction, channel: str, sender: Sender, known: Identity | None, at: str) -> None:
    """Record the address where an account speaks in private, if that is new."""
    if known is None or known.direct_address != at:
        tx.run(
            "UPDATE identities SET direct_address = ? WHERE channel = ? AND platform_user_id = ?",
            at,
            channel,
            sender.platform_user_id,
        )


def link_account(
    tx: Transaction, user_id: str, channel: str, sender: Sender, by: str | None = None
) -> Principal | None:
    """Bind an account to a user. Return None if there is no such user."""
    found = user(tx, user_id)
    if found is not None:
        known = identity(tx, channel, sender.platform_user_id)
        bind_identity(tx, channel, sender, known, found, Via.PAIRED)
        record(tx, AuditKind.LINKED, f"{channel}:{sender.platform_user_id}", actor=by, user=user_id)
    return found


def revoke_account(tx: Transaction, channel: str, platform_user_id: str, by: str | None = None) -> str | None:
    """Remove a paired or linked account's access. Return the id of its undo; None if it is neither."""
    was = tx.one(
        "SELECT via, root_channel, root_platform_user_id FROM identities"
        " WHERE channel = ? AND platform_user_id = ?",
        channel,
        platform_user_id,
    )
    row = tx.one(
        "UPDATE identities SET via = ?, root_channel = NULL, root_platform_user_id = NULL"
        " WHERE channel = ? AND platform_user_id = ? AND via IN (?, ?) RETURNING user_id",
        Via.REVOKED.value,
        channel,
        platform_user_id,
        Via.PAIRED.value,
        Via.LINKED.value,
    )
    if row is None or was is None:
        return None
    record(tx, AuditKind.ACCOUNT_REVOKED, f"{channel}:{platform_user_id}", actor=by, user=row[0])
    keys: list[Any] = []
    # The account named as its user is the one that keys speak for: without it none may be left.
    if row[0] == platform_user_id:
        keys = tx.all("SELECT hash, kind, created_at, expires_at FROM api_keys WHERE user_id = ?", row[0])
        tx.run("DELETE FROM api_keys WHERE user_id = ?", row[0])
    tx.changes.people = True
    account = {"channel": channel, "id": platform_user_id, "via": was[0], "root": tuple(was[1:])}
    return put_away(tx, "access", row[0], {**account, "keys": [tuple(key) for key in keys]})


def restore_account(tx: Transaction, undo: str, by: str | None = None) -> str | None:
    """Undo a removal of access. Return the account; None if it is too late, or it has changed since."""
    found = taken_back(tx, "access", undo)
    if found is None:
        return None
    user_id, was = found
    changed = tx.run(
        "UPDATE identities SET via = ?, root_channel = ?, root_platform_user_id = ?"
        " WHERE channel = ? AND platform_user_id = ? AND user_id = ? AND via = ?",
        was["via"],
        *was["root"],
        was["channel"],
        was["id"],
        user_id,
        Via.REVOKED.value,
    )
    if not changed:
        return None
    for key in was["keys"]:
        tx.run(
            "INSERT INTO api_keys (hash, kind, created_at, expires_at, user_id) VALUES (?, ?, ?, ?, ?)",
            *key,
            user_id,
        )
    account = f"{was['channel']}:{was['id']}"
    record(tx, AuditKind.LINKED, account, actor=by, user=user_id, undo=True)
    tx.changes.people = True
    return account


def set_active_thread(tx: Transaction, user_id: str, thread_id: str) -> None:
    """Put the person's session on a thread. Creates the session if needed."""
    tx.run(
        "INSERT INTO sessions (user_id, active_thread, created_at) VALUES (?, ?, ?)"
        " ON CONFLICT (user_id) DO UPDATE SET active_thread = excluded.active_thread",
        user_id,
        thread_id,
        tx.clock.now(),
    )


# API keys: see core.store.port.


class KeyUnits(Facet):
    """The units of Keys."""

    @writes
    def keep_key(
        self,
        tx: Transaction,
        hash_: str,
        kind: KeyKind,
        user_id: str,
        expires_at: int | None,
        by: str | None = None,
    ) -> None:
        store_key(tx, hash_, kind, user_id, expires_at, by or user_id)

    @writes
    def redeem_invitation(self, tx: Transaction, hash_: str, session: str, expires_at: int) -> bool:
        row = tx.one(
            "DELETE FROM api_keys WHERE hash = ? AND kind = ? AND expires_at > ? RETURNING user_id",
            hash_,
            KeyKind.INVITATION.value,
            tx.clock.now(),
        )
        if row is not None:
            store_key(tx, session, KeyKind.SESSION, row[0], expires_at, row[0])
        return row is not None

    @reads
    def key_holder(self, tx: Transaction, hash_: str, kind: KeyKind) -> Principal | None:
        # Keys of members who became guests rest: they open everything again if the role is given back.
        row = tx.one(
            f"SELECT {PRINCIPAL} FROM api_keys k JOIN users u ON u.id = k.user_id"
            " WHERE k.hash = ? AND k.kind = ? AND (k.expires_at IS NULL OR k.expires_at > ?)"
            " AND u.role <> ?",
            hash_,
            kind.value,
            tx.clock.now(),
            Role.GUEST.value,
        )
        return None if row is None else principal_of(row)

    @writes
    def drop_key(self, tx: Transaction, hash_: str) -> None:
        row = tx.one("DELETE FROM api_keys WHERE hash = ? RETURNING user_id", hash_)
        if row is not None:
            record(tx, AuditKind.LOGOUT, row[0], actor=row[0])

    @writes
    def drop_keys_of(self, tx: Transaction, user_id: str, kind: KeyKind) -> int:
        dropped = tx.run("DELETE FROM api_keys WHERE user_id = ? AND kind = ?", user_id, kind.value)
        if dropped:
            record(tx, AuditKind.TOKENS_REVOKED, user_id, what=kind.value, keys=dropped)
        return dropped


_MADE = {
    KeyKind.SESSION: AuditKind.LOGIN,
    KeyKind.TOKEN: AuditKind.TOKEN_MADE,
    KeyKind.INVITATION: AuditKind.INVITED,
}


def store_key(
    tx: Transaction, hash_: str, kind: KeyKind, user_id: str, expires_at: int | None, by: str
) -> None:
    """Store a key; see Keys.keep_key."""
    # Expired keys make room.
    now = tx.clock.now()
    tx.run("DELETE FROM api_keys WHERE expires_at <= ?", now)
    tx.run(
        "INSERT INTO api_keys (hash, kind, user_id, created_at, expires_at) VALUES (?, ?, ?, ?, ?)",
        hash_,
        kind.value,
        user_id,
        now,
        expires_at,
    )
    record(tx, _MADE[kind], user_id, actor=by, expires_at=expires_at)


# Removed things, for people who want them back.

UNDO_US = 5 * 60 * SECOND_US
"""Time in which it can be brought back. Afterwards it is deleted when the hub next renews its lease."""


def put_away(tx: Transaction, kind: str, user_id: str, removed: Mapping[str, Any]) -> str:
    """Store a removed thing, as JSON. Return the id of its undo."""
    undo, now = tx.ids.row_id(), tx.clock.now()
    tx.run(
        "INSERT INTO undos (id, kind, user_id, removed, expires_at) VALUES (?, ?, ?, ?, ?)",
        undo,
        kind,
        user_id,
        json.dumps(removed),
        now + UNDO_US,
    )
    return undo


def taken_back(tx: Transaction, kind: str, undo: str) -> tuple[str, Mapping[str, Any]] | None:
    """Return a removed thing and its person, once; None if it is too late."""
    row = tx.one(
        "DELETE FROM undos WHERE id = ? AND kind = ? AND expires_at > ? RETURNING user_id, removed",
        undo,
        kind,
        tx.clock.now(),
    )
    return None if row is None else (row[0], json.loads(row[1]))
