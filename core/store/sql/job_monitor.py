"""The message that shows a job as it runs: one for each job, changed in place.

Its change is one row of the outbox that is queued again and again: a change that was not sent yet is replaced
by a newer one.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Callable, Sequence
from dataclasses import replace

from core.job import WORKING, JobRow
from core.messages import Address, Message
from core.ports import OutboxRow, SendState
from core.store.codecs import message_from_json, message_to_json
from core.store.job_port import JobParts, JobsShown
from core.store.rows import Draft
from core.store.sql.feed import put_messages
from core.store.sql.job_views import JOB, job_of, parts_of
from core.store.sql.mapping import OUTBOX, outbox_of
from core.store.sql.outbox import Cause, enqueue
from core.store.sql.turns import thread
from core.store.units import Facet, Transaction, reads, writes

_MONITORED = "j.thread_id IS NOT NULL AND j.shown_seq < t.last_seq"
UNSHOWN = f"SELECT j.id FROM jobs j JOIN threads t ON t.id = j.id WHERE {_MONITORED}"
"""The jobs whose message is out of date."""
HELD = "SELECT id FROM jobs WHERE notice_at IS NOT NULL"
"""The jobs whose end is reported after quiet hours."""


def unshown(tx: Transaction, menu_id: str | None) -> str | None:
    """Return the job whose buttons have that id, if no message shows it yet."""
    row = tx.one(
        "SELECT id FROM jobs j WHERE monitor_menu = ?"
        " AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.job_id = j.id)",
        menu_id,
    )
    return None if row is None else row[0]


def _show(tx: Transaction, job: JobRow, message: Message) -> OutboxRow | None:
    """Queue what shows the job as it is now, if that is news. Raises _UnderWay."""
    shown, change = _row(tx, job.id, "IS NULL"), _row(tx, job.id, "IS NOT NULL")
    if shown is None:
        return _begin(tx, job, message)
    newest = change or shown
    if newest.state is SendState.SENDING:
        raise _UnderWay
    if newest.message.blocks == message.blocks and newest.message.choices == message.choices:
        return None
    if newest.state is SendState.FAILED:  # somebody deleted it, or it was never shown
        return None
    if newest.state is SendState.QUEUED:
        return _replace(tx, newest, replace(newest.message, blocks=message.blocks, choices=message.choices))
    return _replace(tx, _new_change(tx, job.id, shown) if change is None else change, message)


class _UnderWay(Exception):
    """Signal that the last change is being sent, so that its row can't be used yet."""


def _row(tx: Transaction, job_id: str, edit_of: str) -> OutboxRow | None:
    row = tx.one(f"SELECT {OUTBOX} FROM outbox WHERE job_id = ? AND edit_of {edit_of}", job_id)
    return None if row is None else outbox_of(row)


def _begin(tx: Transaction, job: JobRow, message: Message) -> OutboxRow | None:
    if job.state not in WORKING or job.thread_id is None:
        return None  # it ended before anybody looked: its result says so
    on = thread(tx, job.thread_id)
    draft = Draft(on.channel, on.address, message, tx.ids.row_id(), job_id=job.id, paced=True)
    (row,) = enqueue(tx, [draft], Cause())
    put_messages(tx, on.id, [row])
    return row


def _new_change(tx: Transaction, job_id: str, shown: OutboxRow) -> OutboxRow:
    row_id = tx.insert(
        "INSERT INTO outbox (channel, address, message, state, settled, nonce, edit_of, job_id, paced,"
        " attempts, created_at) VALUES (?, ?, ?, 'queued', 0, ?, ?, ?, 1, 0, ?)",
        shown.channel,
        shown.address,
        message_to_json(shown.message),
        tx.ids.row_id(),
        shown.id,
        job_id,
        tx.clock.now(),
    )
    return replace(shown, id=row_id, edit_of=shown.id, refs=(), paced=True, repeats=0)


def _replace(tx: Transaction, row: OutboxRow, message: Message) -> OutboxRow:
    tx.run(
        "UPDATE outbox SET message = ?, state = 'queued', settled = 0, not_before = 0, repeats = 0,"
        " error = NULL WHERE id = ?",
        message_to_json(message),
        row.id,
    )
    return replace(row, message=message, state=SendState.QUEUED, not_before=0, repeats=0)


def hold(tx: Transaction, job_id: str, message: Message, until: int | None) -> None:
    """Hold the message about a job's end back until that time; None: for the notice of its routine's run."""
    tx.run("UPDATE jobs SET notice = ?, notice_at = ? WHERE id = ?", message_to_json(message), until, job_id)


def tell_end(tx: Transaction, job_id: str, thread_id: str, message: Message) -> tuple[OutboxRow, ...]:
    """Queue the message about a job's end for the conversation it was started in."""
    on = thread(tx, thread_id)
    draft = Draft(on.channel, on.address, message, tx.ids.row_id())
    rows = enqueue(tx, [draft], Cause(turn_id=job_id))
    put_messages(tx, on.id, rows)
    return rows


def tell_below_notice(tx: Transaction, job_id: str, message: Message) -> tuple[OutboxRow, ...]:
    """Queue a message about a routine's job for the place where the notice of its run went, if any did."""
    told = tx.one(
        "SELECT o.channel, o.address, f.thread_id FROM jobs j"
        " JOIN notices n ON n.key = 'routine:' || j.run_id JOIN outbox o ON o.id = n.outbox_id"
        " LEFT JOIN feed f ON f.outbox_id = o.id WHERE j.id = ?",
        job_id,
    )
    if told is None:
        return ()
    channel, at, thread_id = told
    rows = enqueue(tx, [Draft(channel, Address(at), message, tx.ids.row_id())], Cause())
    if thread_id is not None:
        put_messages(tx, thread_id, rows)
    return rows


class JobMonitorUnits(Facet):
    """The units of JobMonitors."""

    @writes
    def show_jobs(
        self, tx: Transaction, job_ids: Sequence[str], said: Callable[[JobRow], Message]
    ) -> JobsShown:
        rows: list[OutboxRow] = []
        over: set[str] = set()
        later: set[str] = set()
        for job_id in job_ids:
            found = tx.one(
                f"SELECT t.last_seq, {JOB} FROM jobs j JOIN threads t ON t.id = j.id WHERE j.id = ?", job_id
            )
            if found is None:
                continue
            job = job_of(found[1:])
            try:
                row = None if job.thread_id is None else _show(tx, job, said(job))
            except _UnderWay:
                later.add(job_id)
                continue
            if row is not None and job.thread_id is not None:
                rows.append(row)
                tx.changes.shown_jobs[job_id] = job.thread_id
            if job.state not in WORKING:
                over.add(job_id)
            tx.run("UPDATE jobs SET shown_seq = ? WHERE id = ?", found[0], job_id)
        return JobsShown(tuple(rows), frozenset(later), frozenset(over))

    @reads
    def jobs_to_show(self, tx: Transaction) -> Sequence[str]:
        working = "SELECT id FROM jobs WHERE state IN ('pending', 'in_progress', 'stuck')"
        return [row[0] for row in tx.all(f"{UNSHOWN} UNION {working}")]

    @reads
    def next_job_notice(self, tx: Transaction) -> int | None:
        row = tx.one("SELECT min(notice_at) FROM jobs WHERE notice_at IS NOT NULL")
        return None if row is None else row[0]

    @writes
    def send_job_notices(self, tx: Transaction, now: int) -> Sequence[OutboxRow]:
        due = tx.all(
            "SELECT j.id, j.thread_id, j.notice, EXISTS (SELECT 1 FROM job_changes h"
            " WHERE h.job_id = j.id AND h.seq > j.result_seq)"
            " FROM jobs j WHERE j.notice_at <= ? ORDER BY j.notice_at, j.id",
            now,
        )
        sent: list[OutboxRow] = []
        for job_id, thread_id, notice, judged in due:
            message = message_from_json(notice)
            if judged:
                message = replace(message, choices=(), gate_id=None)
            sent += tell_end(tx, job_id, thread_id, message)
            tx.run("UPDATE jobs SET notice = NULL, notice_at = NULL WHERE id = ?", job_id)
        return sent

    @reads
    def job_parts(self, tx: Transaction, job_id: str) -> JobParts:
        return parts_of(tx, job_id)
