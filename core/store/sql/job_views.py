"""Rows of jobs: reading one, the newest, and the events of one in the order of their positions."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import json
from collections.abc import Sequence
from dataclasses import replace

from core.job import (
    WORKER,
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
from core.messages import MessageRef
from core.store.codecs import encode, message_from_json, refs_from_json
from core.store.job_port import JobParts, SubtaskRow
from core.store.rows import TurnState
from core.store.sql.mapping import CALL_FROM, holds
from core.store.sql.usage import used_by_job
from core.store.units import Engine, Row, Transaction

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
