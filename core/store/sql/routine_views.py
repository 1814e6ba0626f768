"""Listings of routine runs, and their notices."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Sequence

from core.audit_chain import AuditKind
from core.messages import File
from core.routine import RunStatus
from core.store.codecs import message_from_json
from core.store.routine_rows import DueNotice, MenuView, NextDue, RoutineRunRow
from core.store.sql.audit import record
from core.store.sql.job_changes import job_row
from core.store.sql.routine_runs import RUN, grants_of, run_of
from core.store.sql.usage import used_by_run
from core.store.transaction import Transaction
from core.store.units import Facet, reads, writes

_CHANGED_BY = (
    "SELECT j.id FROM jobs j JOIN job_containers s ON s.job_id = j.id"
    " WHERE j.run_id = r.id AND s.digest IS NOT NULL"
)


def _files_of(held: str | None) -> tuple[File, ...]:
    """Return the files that a run's job hands over, from the message held back for it."""
    return () if held is None else message_from_json(held).files


def _record_answer(tx: Transaction, run_id: str) -> None:
    """Close the audit chain of a run, from its trigger over its calls to its notice. A run without
    calls has no records."""
    row = tx.one(
        "SELECT r.state, r.key, n.outbox_id FROM routine_runs r"
        " LEFT JOIN notices n ON n.key = 'routine:' || r.id"
        " WHERE r.id = ? AND EXISTS (SELECT 1 FROM calls c WHERE c.turn_id = r.id)",
        run_id,
    )
    if row is not None:
        state, trigger, outbox_id = row
        outbox = [] if outbox_id is None else [outbox_id]
        record(tx, AuditKind.ANSWERED, run_id, state=state, trigger=trigger, outbox=outbox)


def menu(tx: Transaction, menu_id: str) -> MenuView | None:
    """Return the run whose notice has buttons with this id."""
    row = tx.one(
        "SELECT r.id, o.id, o.owner_id, o.name, o.enabled, r.state, r.kind, r.started_at, r.ended_at,"
        f" r.input, r.result, r.error, {used_by_run('input_tokens')}, {used_by_run('output_tokens')},"
        " o.definition, EXISTS (SELECT 1 FROM routine_runs a WHERE a.routine_id = o.id"
        " AND a.key = 'manual:snooze:' || r.id),"
        f" ({_CHANGED_BY}), r.missing_grants"
        " FROM routine_runs r JOIN routines o ON o.id = r.routine_id WHERE r.menu_id = ?",
        menu_id,
    )
    if row is None:
        return None
    run_id, routine_id, owner_id, name, enabled, state = row[:6]
    return MenuView(
        run_id,
        routine_id,
        owner_id,
        name,
        bool(enabled),
        RunStatus(state),
        *row[6:-3],
        snoozed=bool(row[-3]),
        changed_by=None if row[-2] is None else job_row(tx, row[-2]),
        missing_grants=grants_of(row[-1]),
    )


class RunViewUnits(Facet):
    """The units of RunViews."""

    @reads
    def next_due(self, tx: Transaction) -> NextDue:
        row = tx.one(
            "SELECT (SELECT min(next_slot_at) FROM routines WHERE enabled = 1),"
            " (SELECT min(not_before) FROM routine_runs WHERE state = 'waiting'),"
            " (SELECT min(notice_at) FROM routine_runs WHERE notice_state = 'due')"
        )
        return NextDue(None, None, None) if row is None else NextDue(*row)

    @reads
    def routine_runs(self, tx: Transaction, routine_id: str, limit: int) -> Sequence[RoutineRunRow]:
        rows = tx.all(
            f"SELECT {RUN} FROM routine_runs r WHERE r.routine_id = ? ORDER BY r.created_at DESC, r.id DESC"
            " LIMIT ?",
            routine_id,
            limit,
        )
        return tuple(run_of(row) for row in rows)

    @reads
    def due_notices(self, tx: Transaction, now: int) -> "Sequence[DueNotice]":
        rows = tx.all(
            "SELECT r.id, o.id, o.owner_id, o.name, o.definition, o.thread_id, r.notice, r.menu_id,"
            " o.own_place,"
            f" r.missing_grants, ({_CHANGED_BY}),"
            " (SELECT j.notice FROM jobs j WHERE j.run_id = r.id)"
            " FROM routine_runs r JOIN routines o ON o.id = r.routine_id"
            " WHERE r.notice_state = 'due' AND r.notice_at <= ? ORDER BY r.notice_at, r.id",
            now,
        )
        return tuple(
            DueNotice(
                *row[:-3],
                missing_grants=grants_of(row[-3]),
                files=_files_of(row[-1]),
                changes=row[-2] is not None,
            )
            for row in rows
        )

    @writes
    def keep_own_place(self, tx: Transaction, routine_id: str, place: str) -> None:
        tx.run("UPDATE routines SET own_place = ? WHERE id = ?", place, routine_id)

    @writes
    def settle_notice(self, tx: Transaction, run_id: str, *, sent: bool) -> None:
        changed = tx.run(
            "UPDATE routine_runs SET notice_state = ?, notice_at = ? WHERE id = ? AND notice_state = 'due'",
            "sent" if sent else "dropped",
            tx.clock.now(),
            run_id,
        )
        if changed:
            _record_answer(tx, run_id)

    @reads
    def notices_sent(self, tx: Transaction, routine_id: str, since: int) -> int:
        row = tx.one(
            "SELECT count(*) FROM routine_runs WHERE routine_id = ? AND notice_state = 'sent' AND"
            " notice_at > ?",
            routine_id,
            since,
        )
        return 0 if row is None else int(row[0])
