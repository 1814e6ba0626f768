"""The extensions that people have added. Names are unique in the hub, since tools are named after them."""

from collections.abc import Sequence

from core.audit_chain import AuditKind
from core.extension import (
    MAX_OF_ONE_PERSON,
    Extension,
    ExtensionChange,
    ExtensionRefused,
    definition_to_json,
    extension_of,
)
from core.gates import Option
from core.ids import sign_in_client_name, sign_in_name
from core.store.codecs import storable
from core.store.effects import UseExtensions
from core.store.facets import Expired
from core.store.sql import gates, sign_ins
from core.store.sql.audit import record
from core.store.sql.mapping import SEALED, secret_of
from core.store.transaction import Transaction
from core.store.units import Facet, writes

LIST = "SELECT name, owner_id, definition, enabled, changed_at FROM extensions ORDER BY name"


def of_person(tx: Transaction, owner_id: str) -> Sequence[Extension]:
    """Return the extensions of a person, by name."""
    rows = tx.all(
        "SELECT name, owner_id, definition, enabled, changed_at FROM extensions WHERE owner_id = ?"
        " ORDER BY name",
        owner_id,
    )
    return [
        extension_of(name, owner, definition, enabled=bool(enabled), changed_at=at)
        for name, owner, definition, enabled, at in rows
    ]


def change(tx: Transaction, name: str, owner_id: str, to: ExtensionChange, by: str) -> bool:
    """Enable, disable or remove an extension of a person. Return False if they have none of that name."""
    if to is ExtensionChange.REMOVE:
        found = tx.run("DELETE FROM extensions WHERE name = ? AND owner_id = ?", name, owner_id)
        if found:
            _sign_out(tx, name, owner_id)
    else:
        found = tx.run(
            "UPDATE extensions SET enabled = ?, changed_at = ? WHERE name = ? AND owner_id = ?",
            int(to is ExtensionChange.ENABLE),
            tx.clock.now(),
            name,
            owner_id,
        )
    if found:
        tx.changes.extensions = True
        record(tx, AuditKind.EXTENSION, name, actor=by, owner=owner_id, change=to.value)
    return found > 0


def use(tx: Transaction, effect: UseExtensions, user_id: str) -> str:
    """Carry out what a person asked of their extensions. Return the answer."""
    if effect.sign_in:
        tx.changes.sign_ins.append((effect.sign_in, user_id))
    found = effect.change is not None and change(tx, effect.change[0], user_id, effect.change[1], user_id)
    return effect.said(of_person(tx, user_id), found)


def _sign_out(tx: Transaction, name: str, owner_id: str) -> None:
    """Forget the owner's sign-in, and close the requests for one: a server that has the name later must not
    be given it. Its tokens are noted to be revoked."""
    tokens = sign_in_name(name, owner_id)
    kept = tx.one(f"SELECT {SEALED} FROM secrets WHERE name = ?", tokens)  # noqa: S608 - a constant
    waiting = tx.all("SELECT id FROM gates WHERE kind = 'auth' AND state = 'open' AND secret = ?", tokens)
    outcome, said = Option.NOT_SIGNED_IN, "The extension was removed or replaced."
    ended = [gates.close(tx, gate_id, outcome, said, None, None) for (gate_id,) in waiting]
    closed = Expired(
        tuple(one.started for one in ended if one is not None and one.started is not None),
        tuple(row for one in ended if one is not None for row in one.outbox),
    )
    tx.changes.sign_outs.append(closed)
    if kept is not None:
        sign_ins.note_sign_out(tx, name, owner_id, secret_of(kept))
    tx.run("DELETE FROM sign_ins WHERE server = ? AND user_id = ?", name, owner_id)
    for secret in (tokens, sign_in_client_name(name)):
        if tx.run("DELETE FROM secrets WHERE name = ?", secret):
            record(tx, AuditKind.SECRET_DELETED, secret, actor=owner_id)


class ExtensionUnits(Facet):
    """The units of Extensions."""

    async def extensions(self) -> Sequence[Extension]:
        rows = await self._engine.ask(LIST)
        return [
            extension_of(name, owner, definition, enabled=bool(enabled), changed_at=at)
            for name, owner, definition, enabled, at in rows
        ]

    @writes
    def put_extension(self, tx: Transaction, extension: Extension, by: str) -> None:
        owned = of_person(tx, extension.owner_id)
        known = next((one for one in owned if one.name == extension.name), None)
        new = known is None
        if new and len(owned) >= MAX_OF_ONE_PERSON:
            raise ExtensionRefused(f"A person has at most {MAX_OF_ONE_PERSON} extensions; remove one first.")
        if new and tx.one("SELECT 1 FROM extensions WHERE name = ?", extension.name) is not None:
            raise ExtensionRefused("That name is taken in this hub; choose another.")
        if known is None or not known.same_server(extension):
            _sign_out(tx, extension.name, extension.owner_id)
        definition, now = storable(definition_to_json(extension)), tx.clock.now()
        tx.run(
            "INSERT INTO extensions (name, owner_id, definition, enabled, changed_at)"
            " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (name) DO UPDATE"
            " SET definition = ?3, enabled = ?4, changed_at = ?5",
            extension.name,
            extension.owner_id,
            definition,
            int(extension.enabled),
            now,
        )
        tx.changes.extensions = True
        record(
            tx,
            AuditKind.EXTENSION,
            extension.name,
            actor=by,
            owner=extension.owner_id,
            change="add" if new else "replace",
            server=extension.shown,
        )

    @writes
    def change_extension(
        self, tx: Transaction, name: str, owner_id: str, to: ExtensionChange, by: str
    ) -> bool:
        return change(tx, name, owner_id, to, by)
