"""The extensions that people have added, and sign-ins at their servers. Names are unique in the hub, since
tools are named after them. Implements core.store.accounts.SignIns.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Callable, Sequence

from core.audit_chain import AuditKind
from core.extension import (
    MAX_OF_ONE_PERSON,
    Extension,
    ExtensionChange,
    ExtensionRefused,
    definition_to_json,
    extension_of,
)
from core.gates import Gate, Option
from core.ids import attempt_name, code_name, sign_in_client_name, sign_in_name
from core.messages import Message, plain
from core.ports import OutboxRow
from core.store.accounts import SignInRow, SignOut
from core.store.codecs import storable
from core.store.effects import UseExtensions
from core.store.facets import Expired, SealedSecret
from core.store.rows import Draft
from core.store.sql import gate_open, gates, memory
from core.store.sql.audit import record
from core.store.sql.feed import put_messages
from core.store.sql.mapping import GATE, SEALED, gate_of, not_held, secret_of
from core.store.sql.outbox import Cause, enqueue
from core.store.sql.people import known_user
from core.store.sql.turns import thread
from core.store.units import Facet, Row, Transaction, reads, writes

_ATTEMPT = (
    "s.id, s.server, s.user_id, s.digest, s.key_id, s.sealed, s.expires_at, s.code_key_id, s.code,"
    " EXISTS (SELECT 1 FROM gates g WHERE g.id = s.id)"
)


def _attempt_of(row: Row) -> SignInRow:
    attempt_id, server, user_id, digest, key_id, sealed, expires_at, code_key_id, code, gated = row
    attempt = SealedSecret(attempt_name(attempt_id), key_id, sealed, 0)
    answer = None if code is None else SealedSecret(code_name(attempt_id), code_key_id, code, 0)
    return SignInRow(attempt_id, server, user_id, digest, attempt, expires_at, answer, bool(gated))


def _insert(tx: Transaction, attempt: SignInRow) -> None:
    tx.run("DELETE FROM sign_ins WHERE expires_at <= ?", tx.clock.now())
    tx.run(
        "INSERT INTO sign_ins (id, server, user_id, state, digest, key_id, sealed, expires_at)"
        " VALUES (?, ?, ?, 'shown', ?, ?, ?, ?)",
        attempt.id,
        attempt.server,
        attempt.user_id,
        attempt.digest,
        attempt.attempt.key_id,
        attempt.attempt.sealed,
        attempt.expires_at,
    )


def _open_gate(tx: Transaction, gate_id: str) -> Gate | None:
    row = tx.one(f"SELECT {GATE} FROM gates g WHERE g.id = ? AND g.state = 'open'", gate_id)
    return None if row is None else gate_of(row)


def await_code(tx: Transaction, gate_id: str) -> None:
    """Let the requester's next text be the code of a sign-in."""
    tx.run(
        "UPDATE gates SET awaits = 1, changed_at = ? WHERE id = ? AND state = 'open'", tx.clock.now(), gate_id
    )


def take_code(tx: Transaction, gate_id: str, code: SealedSecret) -> bool:
    """Store the answer to a sign-in. Return False if it had one, is over, or has expired."""
    now = tx.clock.now()
    changed = tx.run(
        "UPDATE sign_ins SET state = 'answered', code_key_id = ?, code = ?"
        " WHERE id = ? AND state = 'shown' AND expires_at > ?",
        code.key_id,
        code.sealed,
        gate_id,
        now,
    )
    tx.run("UPDATE gates SET awaits = 0 WHERE id = ? AND state = 'open'", gate_id)
    row = tx.one("SELECT thread_id FROM gates WHERE id = ?", gate_id)
    if row is not None:
        tx.changes.gates[gate_id] = row[0]
    return bool(changed)


def _sign_out_of(row: Row) -> SignOut:
    row_id, server, user_id, key_id, sealed, tries, due_at = row
    tokens = SealedSecret(sign_in_name(server, user_id), key_id, sealed, 0)
    return SignOut(row_id, server, user_id, tokens, tries, due_at)


def note_sign_out(tx: Transaction, server: str, user_id: str, tokens: SealedSecret) -> None:
    """Note tokens that are kept no longer: a running hub, or the next one, revokes them."""
    tx.run(
        "INSERT INTO sign_outs (id, server, user_id, key_id, sealed, tries, due_at)"
        " VALUES (?, ?, ?, ?, ?, 0, ?)",
        tx.ids.row_id(),
        server,
        user_id,
        tokens.key_id,
        tokens.sealed,
        tx.clock.now(),
    )
    tx.changes.sign_outs.append(Expired((), ()))


class SignInUnits(Facet):
    """The units of SignIns."""

    @writes
    def ask_to_sign_in(
        self, tx: Transaction, gate: Gate, cards: Sequence[Draft], attempt: SignInRow | None
    ) -> tuple[OutboxRow, ...]:
        shown = gate_open.ask_to_sign_in(tx, gate, cards)
        if attempt is not None:
            _insert(tx, attempt)
        return shown

    @writes
    def show_sign_in(self, tx: Transaction, attempt: SignInRow, now: int, *, anew: bool = False) -> bool:
        if anew:
            tx.run(
                "DELETE FROM sign_ins WHERE user_id = ? AND server = ? AND state = 'shown'"
                " AND NOT EXISTS (SELECT 1 FROM gates g WHERE g.id = sign_ins.id)",
                attempt.user_id,
                attempt.server,
            )
        pending = tx.one(
            "SELECT 1 FROM sign_ins s WHERE s.user_id = ? AND s.server = ? AND s.state = 'shown'"
            " AND s.expires_at > ? LIMIT 1",
            attempt.user_id,
            attempt.server,
            now,
        )
        if pending is not None and not anew:
            return False
        _insert(tx, attempt)
        return True

    @reads
    def sign_in(self, tx: Transaction, attempt_id: str) -> SignInRow | None:
        row = tx.one(f"SELECT {_ATTEMPT} FROM sign_ins s WHERE s.id = ? AND s.state = 'shown'", attempt_id)
        return None if row is None else _attempt_of(row)

    @writes
    def answer_sign_in(self, tx: Transaction, attempt_id: str, code: SealedSecret) -> bool:
        return take_code(tx, attempt_id, code)

    @reads
    def answered_sign_ins(self, tx: Transaction) -> tuple[Sequence[str], Sequence[SignInRow]]:
        answered = tx.all("SELECT id FROM sign_ins WHERE state = 'answered' ORDER BY id")
        cut_off = tx.all(
            f"SELECT {_ATTEMPT} FROM sign_ins s WHERE s.state = 'redeeming' AND {not_held('s')} ORDER BY s.id"
        )
        return [attempt_id for (attempt_id,) in answered], [_attempt_of(row) for row in cut_off]

    @writes
    def redeem_sign_in(self, tx: Transaction, attempt_id: str) -> SignInRow | None:
        changed = tx.run(
            "UPDATE sign_ins SET state = 'redeeming', fence = ? WHERE id = ? AND state = 'answered'",
            tx.lease.fence,
            attempt_id,
        )
        row = tx.one(f"SELECT {_ATTEMPT} FROM sign_ins s WHERE s.id = ?", attempt_id) if changed else None
        return None if row is None else _attempt_of(row)

    @writes
    def finish_sign_in(
        self,
        tx: Transaction,
        attempt: SignInRow,
        sealed: Sequence[SealedSecret],
        text: str,
        card: Callable[[Gate], Message],
    ) -> Expired | None:
        if not tx.run("DELETE FROM sign_ins WHERE id = ?", attempt.id):
            for tokens in sealed:
                note_sign_out(tx, attempt.server, attempt.user_id, tokens)
            return None
        memory.keep(tx, sealed, attempt.user_id)
        gate = _open_gate(tx, attempt.id)
        if gate is None:
            return Expired((), ())
        person = known_user(tx, attempt.user_id)
        closed = gates.close(tx, gate.id, Option.SIGNED_IN, text, card(gate), person)
        if closed is None:
            return Expired((), ())
        return Expired(() if closed.started is None else (closed.started,), closed.outbox)

    @writes
    def renew_sign_in(
        self, tx: Transaction, renewed: SignInRow, link: str, said: str, card: Callable[[Gate], Message]
    ) -> tuple[OutboxRow, ...]:
        known = tx.run("DELETE FROM sign_ins WHERE id = ?", renewed.id)
        gate = _open_gate(tx, renewed.id)
        if not known or gate is None:
            return ()
        _insert(tx, renewed)
        tx.run("UPDATE gates SET link = ?, awaits = 0, changed_at = NULL WHERE id = ?", link, gate.id)
        renewed_gate = _open_gate(tx, renewed.id)
        assert renewed_gate is not None  # noqa: S101 - it was just read
        tx.changes.gates[gate.id] = gate.thread_id
        changed = gates.change_cards(tx, gate.id, card(renewed_gate), "")
        home = thread(tx, gate.thread_id)
        draft = Draft(home.channel, home.address, plain(said), tx.ids.row_id())
        told = enqueue(tx, [draft], Cause(turn_id=gate.turn_id))
        put_messages(tx, gate.thread_id, told, gate.turn_id)
        return (*changed, *told)

    @writes
    def renew_tokens(self, tx: Transaction, held: SealedSecret, renewed: SealedSecret) -> bool:
        if tx.one("SELECT 1 FROM secrets WHERE name = ? AND sealed = ?", held.name, held.sealed) is None:
            return False
        memory.keep(tx, [renewed])
        return True

    @reads
    def signed_in_for(self, tx: Transaction, call_id: str) -> bool:
        row = tx.one(
            "SELECT 1 FROM gates WHERE call_id = ? AND kind = 'auth' AND state = 'closed'"
            " AND outcome IS NOT NULL LIMIT 1",
            call_id,
        )
        return row is not None

    @writes
    def sign_out(self, tx: Transaction, server: str, user_id: str, tokens: SealedSecret) -> None:
        note_sign_out(tx, server, user_id, tokens)

    @reads
    def sign_outs(self, tx: Transaction) -> Sequence[SignOut]:
        rows = tx.all(
            "SELECT id, server, user_id, key_id, sealed, tries, due_at FROM sign_outs ORDER BY due_at, id"
        )
        return [_sign_out_of(row) for row in rows]

    @writes
    def begin_sign_out(self, tx: Transaction, sign_out: SignOut, again_at: int) -> None:
        tx.run(
            "UPDATE sign_outs SET tries = ?, due_at = ? WHERE id = ?",
            sign_out.tries + 1,
            again_at,
            sign_out.id,
        )

    @writes
    def end_sign_out(self, tx: Transaction, sign_out_id: str) -> None:
        tx.run("DELETE FROM sign_outs WHERE id = ?", sign_out_id)


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
    kept = tx.one(f"SELECT {SEALED} FROM secrets WHERE name = ?", tokens)
    waiting = tx.all("SELECT id FROM gates WHERE kind = 'auth' AND state = 'open' AND secret = ?", tokens)
    outcome, said = Option.NOT_SIGNED_IN, "The extension was removed or replaced."
    ended = [gates.close(tx, gate_id, outcome, said, None, None) for (gate_id,) in waiting]
    closed = Expired(
        tuple(one.started for one in ended if one is not None and one.started is not None),
        tuple(row for one in ended if one is not None for row in one.outbox),
    )
    tx.changes.sign_outs.append(closed)
    if kept is not None:
        note_sign_out(tx, name, owner_id, secret_of(kept))
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
