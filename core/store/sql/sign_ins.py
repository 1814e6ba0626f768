"""Attempts to sign in at servers, and sign-outs: implements core.store.sign_in_port.SignIns."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Callable, Sequence

from core.gates import Gate, Option
from core.ids import attempt_name, code_name, sign_in_name
from core.messages import Message, plain
from core.ports import OutboxRow
from core.store.facets import Expired, SealedSecret
from core.store.rows import Draft
from core.store.sign_in_port import SignInRow, SignOut
from core.store.sql import gate_open, gates, memory
from core.store.sql.feed import put_messages
from core.store.sql.leases import not_held
from core.store.sql.mapping import GATE, gate_of
from core.store.sql.outbox import Cause, enqueue
from core.store.sql.people import known_user
from core.store.sql.turns import thread
from core.store.transaction import Row, Transaction
from core.store.units import Facet, reads, writes

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
