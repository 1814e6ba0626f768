"""Jobs as people see them: rows, lists, the events of one in their order, and the message that shows a job.

There is one such message for each job, changed in place. Its change is one row of the outbox that is queued
again and again: a change that was not sent yet is replaced by a newer one.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from core.job import (
    WORKER,
    WORKING,
    JobBudget,
    JobEvent,
    JobEventKind,
    JobPlan,
    JobRow,
    JobState,
    NewJob,
    PlanState,
    PlanStep,
)
from core.messages import Address, Message, MessageRef
from core.ports import OutboxRow, SendState
from core.store.codecs import encode, message_from_json, message_to_json, refs_from_json
from core.store.rows import Draft, TurnState
from core.store.sql.feed import put_messages
from core.store.sql.mapping import CALL_FROM, OUTBOX, holds, outbox_of
from core.store.sql.outbox import Cause, enqueue
from core.store.sql.turns import thread
from core.store.sql.usage import used_by_job
from core.store.unattended_port import JobParts, JobsShown, SubtaskRow
from core.store.units import Engine, Facet, Row, Transaction, reads, writes

SHORT_ID_CHARS = 4
LISTED = 20
"""The number of jobs that `/jobs` lists."""
JOB = (
    "j.id, j.short_id, j.owner_id, j.key, j.title, j.task, j.state, j.scope, j.iterations, j.timeout_s,"
    " j.max_tokens, j.max_micro_usd, j.priority, j.thread_id, j.parent, j.repair_attempts, j.reason,"
    f" j.result, {used_by_job('input_tokens')}, {used_by_job('output_tokens')}, {used_by_job('micro_usd')},"
    " j.created_at, j.started_at, j.ended_at,"
    " (SELECT coalesce(max(c.round), 0) FROM calls c WHERE c.turn_id = j.id),"
    " (SELECT c.tool FROM calls c WHERE c.turn_id = j.id ORDER BY c.seq DESC LIMIT 1),"
    " j.review, j.monitor_menu,"
    " (SELECT e.at FROM entries e WHERE e.thread_id = j.id ORDER BY e.seq DESC LIMIT 1),"
    " j.plan, j.plan_state, j.origin, j.routine_id, j.missing_grants,"
    " (SELECT s.project FROM job_containers s WHERE s.job_id = j.id),"
    " (SELECT s.digest FROM job_containers s WHERE s.job_id = j.id),"
    " (SELECT s.mode FROM job_containers s WHERE s.job_id = j.id),"
    " (SELECT s.image FROM job_containers s WHERE s.job_id = j.id),"
    " j.day_tokens, j.day_micro_usd"
)


COUNTS = "SELECT state, count(*) FROM jobs GROUP BY state"


def plan_from_json(text: str) -> JobPlan:
    """Return the plan stored by `plan_to_json`."""
    stored = json.loads(text)
    steps = tuple(PlanStep(*step) for step in stored["steps"])
    return JobPlan(stored["goal"], steps, stored["confidence"])


def job_of(row: Row) -> JobRow:
    """Return a job from the columns `JOB`."""
    budget = JobBudget(*row[8:12], *row[-2:])
    scope = tuple(json.loads(row[7]))
    id_, short_id, owner_id, key, title, task, state = row[:7]
    plan, planned, origin, routine_id, missing, project, digest, mode, image = row[-11:-2]
    job = replace(
        JobRow(id_, short_id, owner_id, key, title, task, JobState(state), scope, budget, *row[12:-11]),
        origin=origin,
        routine_id=routine_id,
        missing_grants=() if missing is None else tuple(json.loads(missing)),
        project=project,
        digest=digest,
        mode=mode or WORKER,
        image=image,
    )
    if planned is None:
        return job
    return replace(job, plan=None if plan is None else plan_from_json(plan), plan_state=PlanState(planned))


def find(tx: Transaction, owner_id: str, named: str) -> JobRow | None:
    """Return a person's job by its short id or its id."""
    row = tx.one(
        f"SELECT {JOB} FROM jobs j WHERE j.owner_id = ?1 AND (j.short_id = ?2 OR j.id = ?2)",
        owner_id,
        named.strip().lower(),
    )
    return None if row is None else job_of(row)


def by_menu(tx: Transaction, menu_id: str) -> JobRow | None:
    """Return the job that has that menu, below its newest message or below the one that shows it."""
    row = tx.one(f"SELECT {JOB} FROM jobs j WHERE j.menu_id = ?1 OR j.monitor_menu = ?1", menu_id)
    return None if row is None else job_of(row)


def shown_as(tx: Transaction, channel: str, ref: MessageRef) -> JobRow | None:
    """Return the job that a message on a channel shows as it runs."""
    rows = tx.all(
        "SELECT job_id, refs FROM outbox"
        f" WHERE job_id IS NOT NULL AND edit_of IS NULL AND channel = ? AND {holds('refs')}",
        channel,
        encode(ref),
    )
    for job_id, refs in rows:
        if ref in refs_from_json(refs):
            row = tx.one(f"SELECT {JOB} FROM jobs j WHERE j.id = ?", job_id)
            return None if row is None else job_of(row)
    return None


_FIRST = "ORDER BY j.state = 'submitted' DESC, j.created_at DESC, j.id DESC"
"""Jobs that wait for a decision, then the newest."""


def shown(tx: Transaction, user_id: str, named: str | None) -> Sequence[JobRow]:
    """Return one of the person's jobs, or (None) the newest ones, after jobs that wait for a decision."""
    if named is not None:
        found = find(tx, user_id, named)
        return () if found is None else (found,)
    rows = tx.all(
        # Chosen by their ids, so that only the chosen ones are added up.
        f"SELECT {JOB} FROM jobs j WHERE j.id IN"
        f" (SELECT j.id FROM jobs j WHERE j.owner_id = ? {_FIRST} LIMIT ?) {_FIRST}",
        user_id,
        LISTED,
    )
    return [job_of(row) for row in rows]


async def newest(engine: Engine, owner_id: str | None, limit: int, *, working: bool) -> Sequence[JobRow]:
    """Return the newest jobs of one person, or of all, after jobs that wait for their owner's decision."""
    only = " AND j.state IN ('pending', 'in_progress', 'stuck')" if working else ""
    rows = await engine.ask(
        f"SELECT {JOB} FROM jobs j WHERE j.id IN (SELECT j.id FROM jobs j"
        f" WHERE j.owner_id = coalesce(?, j.owner_id){only} {_FIRST} LIMIT ?) {_FIRST}",
        owner_id,
        limit,
    )
    return [job_of(row) for row in rows]


_EVENTS = (
    "SELECT seq, at, kind, name, text, detail FROM ("
    "SELECT e.seq AS seq, e.at AS at, e.kind AS kind,"
    " CASE e.kind WHEN 'result' THEN (SELECT c.tool FROM calls c WHERE c.id = e.call_id)"
    " WHEN 'call' THEN e.name ELSE e.kind END AS name, e.text AS text,"
    " CASE e.kind WHEN 'result' THEN coalesce(e.name, '') ELSE '' END AS detail"
    " FROM entries e WHERE e.thread_id = ?1 AND e.seq > ?2"
    " UNION ALL SELECT h.seq, h.at, 'status', h.state, h.reason, coalesce(h.actor, '')"
    " FROM job_changes h WHERE h.job_id = ?1 AND h.seq > ?2"
    " UNION ALL SELECT j.result_seq, h.at, 'end', h.state, coalesce(j.result, ''), ''"
    " FROM jobs j JOIN job_changes h ON h.job_id = j.id AND h.seq = j.result_seq - 1"
    " WHERE j.id = ?1 AND j.result_seq > ?2) AS found"
    " WHERE kind <> 'assistant' OR text <> '' ORDER BY seq LIMIT ?3"
)
_KINDS = {
    "call": JobEventKind.TOOL_USE,
    "result": JobEventKind.TOOL_RESULT,
    "status": JobEventKind.STATUS,
    "end": JobEventKind.RESULT,
}


async def events_after(engine: Engine, job_id: str, after: int, limit: int) -> Sequence[JobEvent]:
    """Return a job's events after that position."""
    rows = await engine.ask(_EVENTS, job_id, after, limit)
    return [
        JobEvent(seq, at, _KINDS.get(kind, JobEventKind.MESSAGE), name or "", text, detail)
        for seq, at, kind, name, text, detail in rows
    ]


def parts_of(tx: Transaction, job_id: str) -> JobParts:
    """Return the subtasks of a job and its files: sent with its result or its routine's notice, or held for
    one that was not sent, or not to a conversation. Those are named, and can't be downloaded."""
    subtasks = tx.all(
        f"SELECT c.id, e.text, s.state, s.created_at, s.ended_at FROM {CALL_FROM} JOIN runs s ON s.id = c.id"
        " WHERE c.turn_id = ? ORDER BY c.seq",
        job_id,
    )
    parts = JobParts(tuple(SubtaskRow(row[0], row[1], TurnState(row[2]), *row[3:]) for row in subtasks))
    told = tx.one(
        "SELECT f.thread_id, f.seq, o.message FROM jobs j JOIN outbox o ON o.turn_id = j.id"
        " JOIN feed f ON f.thread_id = j.thread_id AND f.outbox_id = o.id WHERE j.id = ?1"
        " UNION ALL SELECT f.thread_id, f.seq, o.message FROM jobs j"
        " JOIN notices n ON n.key = 'routine:' || j.run_id JOIN outbox o ON o.id = n.outbox_id"
        " JOIN feed f ON f.outbox_id = o.id WHERE j.id = ?1"
        " UNION ALL SELECT '', 0, j.notice FROM jobs j WHERE j.id = ?1 AND j.notice IS NOT NULL"
        " ORDER BY 2 DESC LIMIT 1",
        job_id,
    )
    if told is None:
        return parts
    thread_id, seq, message = told
    return replace(parts, files=message_from_json(message).files, thread_id=thread_id, seq=seq)


def lineage(tx: Transaction, new: NewJob) -> tuple[str, str | None]:
    """Return the first of the jobs that a new one repeats, and the routine whose work it is."""
    if new.parent is not None:
        repeated = tx.one("SELECT origin, routine_id FROM jobs WHERE id = ?", new.parent)
        if repeated is not None:
            return repeated[0], repeated[1]
    run = tx.one("SELECT routine_id FROM routine_runs WHERE id = ?", new.run_id)
    return new.id, None if run is None else run[0]


def short_id(tx: Transaction, owner_id: str) -> str:
    """Return a new short id: the fewest characters of a random one that its owner has no job of yet."""
    while True:
        whole = tx.ids.gate_id()
        for length in range(SHORT_ID_CHARS, len(whole) + 1):
            short = whole[-length:]
            if tx.one("SELECT 1 FROM jobs WHERE owner_id = ? AND short_id = ?", owner_id, short) is None:
                return short


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
