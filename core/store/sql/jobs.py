"""Jobs: dispatch, the start within the limits, changes of state, messages and the end.

A running one is a row of `runs` too, as every run that a hub has in hand. It has its own thread, whose
positions its journal and its changes of state share.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from core.gates import Option
from core.job import (
    MAX_QUEUED,
    MAX_QUEUED_EACH,
    WORKING,
    JobEvent,
    JobLimits,
    JobRefused,
    JobRow,
    JobState,
    NewJob,
)
from core.messages import Message
from core.store.codecs import storable
from core.store.effects import CancelJob, JobEffect, JudgeJob, ShowJobs, StartJob, TellJob
from core.store.facets import NoticeAddress
from core.store.routine_rows import StartedJob
from core.store.rows import TurnState
from core.store.sql.feed import position
from core.store.sql.gates import cast_vote, close
from core.store.sql.inbox import notices_thread
from core.store.sql.job_changes import (
    CHANNEL,
    OVER,
    JobPlanUnits,
    ask_to_stop,
    change,
    claim,
    interrupt,
    job_row,
    judge_changes,
    record,
)
from core.store.sql.job_views import (
    COUNTS,
    HELD,
    JOB,
    UNSHOWN,
    by_menu,
    events_after,
    find,
    hold,
    job_of,
    lineage,
    newest,
    short_id,
    shown,
    tell_end,
)
from core.store.sql.mapping import SPENT_SINCE, marks
from core.store.sql.people import known_user, preferences, user
from core.store.sql.recovery import resume
from core.store.sql.run_journal import close_run, settle, standing, steps, with_subtasks
from core.store.sql.turns import append, keep_models, models_of, progress, thread
from core.store.sql.usage import unanswered, used_by_job_so_far
from core.store.unattended_port import JobEnd, JobEnded, JobRepaired
from core.store.units import Transaction, reads, writes
from core.transcript import AssistantSaid, Note, UserSaid
from core.usage import Reservation

# --- dispatch -------------------------------------------------------------------------------------------


def save(tx: Transaction, new: NewJob) -> JobRow:
    known = tx.one(f"SELECT {JOB} FROM jobs j WHERE j.owner_id = ? AND j.key = ?", new.owner_id, new.key)
    if known is not None:
        return job_of(known)
    if user(tx, new.owner_id) is None:
        raise JobRefused("only people whom the hub knows have jobs")
    _require_room(tx, new.owner_id)
    now = tx.clock.now()
    origin, routine_id = lineage(tx, new)
    heard_in = new.thread_id
    if heard_in is None and new.told_in is not None:
        heard_in = notices_thread(tx, new.owner_id, NoticeAddress(*new.told_in))
    tx.run(
        "INSERT INTO threads (id, owner_id, channel, scope, address, title, created_at, last_active_at, kind)"
        " VALUES (?1, ?2, ?3, ?1, '', ?4, ?5, ?5, 'job')",
        new.id,
        new.owner_id,
        CHANNEL,
        storable(new.title),
        now,
    )
    tx.run(
        "INSERT INTO jobs (id, short_id, owner_id, key, title, task, question, state, scope, iterations,"
        " timeout_s, max_tokens, max_micro_usd, priority, thread_id, parent, review, reason, created_at,"
        " monitor_menu, run_id, routine_id, origin, day_tokens, day_micro_usd)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?, ?, ?, ?, ?, ?)",
        new.id,
        short_id(tx, new.owner_id),
        new.owner_id,
        new.key,
        storable(new.title),
        storable(new.task),
        None if new.question is None else storable(new.question),
        json.dumps(new.scope),
        new.budget.iterations,
        new.budget.timeout_s,
        new.budget.tokens,
        new.budget.micro_usd,
        new.priority,
        heard_in,
        new.parent,
        int(new.review),
        now,
        tx.ids.gate_id(),
        new.run_id,
        routine_id,
        origin,
        new.budget.day_tokens,
        new.budget.day_micro_usd,
    )
    if new.project is not None:
        tx.run(
            "INSERT INTO job_containers (job_id, number, project, mode, image)"
            " SELECT ?, coalesce(max(number), 0) + 1, ?, ?, ? FROM job_containers",
            new.id,
            new.project,
            new.mode,
            new.image,
        )
    record(tx, new.id, None, JobState.PENDING, "Created", new.actor)
    return job_row(tx, new.id)


def _require_room(tx: Transaction, owner_id: str) -> None:
    row = tx.one(
        "SELECT count(*), coalesce(sum(CASE WHEN owner_id = ? THEN 1 ELSE 0 END), 0) FROM jobs"
        " WHERE state = 'pending'",
        owner_id,
    )
    total, own = (0, 0) if row is None else row
    if own >= MAX_QUEUED_EACH:
        raise JobRefused(f"{own} of your jobs are waiting already, which is the limit; try later")
    if total >= MAX_QUEUED:
        raise JobRefused(f"{total} jobs are waiting already, which is the limit; try later")


# --- changes of state -----------------------------------------------------------------------------------


def change_for(
    tx: Transaction, owner_id: str, named: str, to: JobState, reason: str, actor: str | None
) -> JobRow | None:
    """Change the state of a person's job; None if there is none. Raises IllegalChange."""
    job = find(tx, owner_id, named)
    if job is None:
        return None
    decided = {JobState.ACCEPTED: Option.APPROVE, JobState.FAILED: Option.DENY}.get(to)
    if job.state is JobState.SUBMITTED and job.digest is not None and decided is not None:
        _decide(tx, job, job.digest, decided, reason, actor)
        return job_row(tx, job.id)
    changed = change(tx, job, to, reason, actor)
    ask_to_stop(tx, job.id)
    return changed


def _decide(
    tx: Transaction, job: JobRow, digest: str, decided: Option, reason: str, actor: str | None
) -> None:
    """Decide about a job's changes at their gate. It has no cards: the job's own message has the buttons.
    There is none once its conversation is deleted, or while accepted changes are being made."""
    open_gate = "SELECT id FROM gates WHERE turn_id = ? AND kind = 'changes' AND state = 'open'"
    gate = tx.one(open_gate, job.id)
    if gate is None or actor is None:
        judge_changes(tx, job.id, digest, reason, actor, accepted=decided is Option.APPROVE)
        return
    person = known_user(tx, actor)
    cast_vote(tx, gate[0], person, decided)
    close(tx, gate[0], decided, reason, None, person)


def started(tx: Transaction, job_id: str, reserved: Reservation | None = None) -> StartedJob:
    job = job_row(tx, job_id)
    row = tx.one("SELECT spent_us FROM runs WHERE id = ?", job_id)
    return StartedJob(
        job,
        known_user(tx, job.owner_id),
        standing(tx, job_id, job.owner_id, job.thread_id),
        steps(tx, job_id),
        0 if row is None else row[0],
        *used_by_job_so_far(tx, job_id),
        models_of(tx, job_id),
        reserved,
    )


def in_hand(tx: Transaction, job_id: str) -> bool:
    held = "SELECT 1 FROM runs WHERE id = ? AND state = 'running' AND fence = ?"
    return tx.one(held, job_id, tx.lease.fence) is not None


def _repair(tx: Transaction, job: JobRow, end: JobEnd, most: int) -> StartedJob:
    """Take a stuck job up again. The time that it was stuck counts as spent."""
    keep_models(tx, job.id, end.models)
    unanswered(tx, job.id)
    settle(tx, job.id, goes_on=True)
    now = tx.clock.now()
    tx.run(
        f"UPDATE runs SET spent_us = spent_us + {SPENT_SINCE}, running_since = ? WHERE id = ?",
        now,
        now,
        now,
        job.id,
    )
    stuck = change(tx, job, *end.path[0])
    change(tx, stuck, JobState.IN_PROGRESS, f"Taken up again: repair {job.repair_attempts + 1} of {most}")
    return started(tx, job.id)


# --- messages and the end -------------------------------------------------------------------------------


def tell(tx: Transaction, owner_id: str, named: str, key: str, text: str) -> JobRow | None:
    job = find(tx, owner_id, named)
    if job is None:
        return None
    if job.state not in WORKING:
        raise JobRefused(f"Job {job.short_id} is {job.state}; it hears nothing any more.")
    over = "SELECT 1 FROM job_requests WHERE job_id = ? AND kind = 'complete' AND answer = ?"
    if tx.one(over, job.id, OVER) is not None:
        raise JobRefused(f"Job {job.short_id} is done; it hears nothing any more.")
    tx.run(
        "INSERT INTO job_messages (job_id, key, text, at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (job_id, key) DO NOTHING",
        job.id,
        key,
        storable(text),
        tx.clock.now(),
    )
    return job


def join(tx: Transaction, job_id: str) -> tuple[UserSaid, ...]:
    """Journal the messages that wait, in order."""
    waiting = tx.all(
        "SELECT id, text FROM job_messages WHERE job_id = ? AND joined_at IS NULL ORDER BY id", job_id
    )
    if not waiting:
        return ()
    on, said = progress(tx, job_id), tuple(UserSaid(text) for _, text in waiting)
    append(tx, on, job_id, said)
    for message_id, _ in waiting:
        tx.run("UPDATE job_messages SET joined_at = ? WHERE id = ?", tx.clock.now(), message_id)
    interrupt(tx, job_id)
    return said


def is_waited_for(tx: Transaction, job_id: str) -> bool:
    waiting = "SELECT 1 FROM job_messages WHERE job_id = ? AND joined_at IS NULL LIMIT 1"
    return tx.one(waiting, job_id) is not None


def _end(tx: Transaction, job: JobRow, end: JobEnd) -> JobEnded:
    """End a job in progress. Its message goes to the conversation it was started in."""
    last = end.path[-1][0]
    ok = last in {JobState.COMPLETED, JobState.SUBMITTED}
    before = with_subtasks(tx, job.id)
    close_run(tx, job.id, TurnState.DONE if ok else TurnState.FAILED, end.answer, end.models)
    for state, reason in end.path:
        job = change(tx, job, state, reason)
    tx.run(
        "UPDATE jobs SET result = ?, result_seq = ?, missing_grants = ? WHERE id = ?",
        None if end.result is None else storable(end.result),
        position(tx, job.id),
        storable(json.dumps(end.missing_grants)) if end.missing_grants else None,
        job.id,
    )
    if job.thread_id is None:
        if end.files:  # the notice of its routine's run brings them
            hold(tx, job.id, Message((), files=end.files), None)
        return JobEnded()
    message, note = end.told(job_row(tx, job.id), before, _new_menu(tx, job.id))
    message = replace(message, files=end.files)
    on = thread(tx, job.thread_id)
    append(tx, on.id, on.active_turn_id, [Note(note)])
    if end.told_at is not None:
        until = end.told_at(preferences(tx, job.owner_id).timezone)
        if until > tx.clock.now():
            hold(tx, job.id, message, until)
            return JobEnded()
    return JobEnded(tell_end(tx, job.id, on.id, message))


def end_run(tx: Transaction, job_id: str, end: JobEnd) -> JobEnded:
    """End the run of a job, unless messages keep it at work."""
    if not in_hand(tx, job_id):
        return JobEnded()
    job = job_row(tx, job_id)
    if job.state is not JobState.IN_PROGRESS:
        close_run(tx, job_id, TurnState.STOPPED, models=end.models)
        tx.changes.jobs.add(job_id)
        return JobEnded()
    if end.hears and is_waited_for(tx, job_id):
        if end.answer is not None:
            append(tx, progress(tx, job_id), job_id, [AssistantSaid(end.answer.text, end.answer.origin)])
        return JobEnded(heard=True)
    return _end(tx, job, end)


def _new_menu(tx: Transaction, job_id: str) -> str:
    """Give a job's next message its own menu. Buttons of earlier messages mean nothing any more."""
    menu_id = tx.ids.gate_id()
    tx.run("UPDATE jobs SET menu_id = ? WHERE id = ?", menu_id, job_id)
    return menu_id


def conversation(tx: Transaction, menu_id: str) -> str | None:
    """Return the conversation of the job that has that menu."""
    job = by_menu(tx, menu_id)
    return None if job is None else job.thread_id


# --- what chat commands do ------------------------------------------------------------------------------


def answer(tx: Transaction, effect: JobEffect, user_id: str) -> str | Message:
    """Apply a chat command or press of a person about their jobs, and return the answer."""
    try:
        match effect:
            case StartJob(new, said):
                return said(save(tx, new))
            case CancelJob(named, said):
                before = find(tx, user_id, named)
                if before is not None and before.state in WORKING:
                    change_for(tx, user_id, named, JobState.CANCELLED, "Cancelled by its owner", user_id)
                return said(before)
            case TellJob(named, key, text, said):
                return said(tell(tx, user_id, named, key, text))
            case JudgeJob(named, to, reason, said):
                judged = change_for(tx, user_id, named, to, reason, user_id)
                return said(judged, _new_menu(tx, judged.id)) if judged is not None else ""
            case ShowJobs(named, said):
                return said(shown(tx, user_id, named))
    except JobRefused as error:
        return str(error)


class JobUnits(JobPlanUnits):
    """The units of Jobs."""

    @writes
    def save_job(self, tx: Transaction, new: NewJob) -> JobRow:
        return save(tx, new)

    @writes
    def begin_jobs(self, tx: Transaction, limits: JobLimits) -> Sequence[StartedJob]:
        begun = claim(tx, limits, contained=False)
        return tuple(started(tx, start.turn_id, start.reserved) for start in begun)

    @writes
    def resume_job(self, tx: Transaction, job_id: str) -> StartedJob | None:
        if not in_hand(tx, job_id):
            return None
        if job_row(tx, job_id).state is not JobState.IN_PROGRESS:
            close_run(tx, job_id, TurnState.STOPPED)
            return None
        settle(tx, job_id, goes_on=True)
        resume(tx, job_id)
        return started(tx, job_id)

    @writes
    def join_job_messages(self, tx: Transaction, job_id: str) -> Sequence[UserSaid]:
        return join(tx, job_id)

    @writes
    def end_job(self, tx: Transaction, job_id: str, end: JobEnd) -> JobEnded:
        return end_run(tx, job_id, end)

    @writes
    def repair_job(self, tx: Transaction, job_id: str, end: JobEnd, most: int) -> JobRepaired:
        if not in_hand(tx, job_id):
            return JobRepaired()
        job = job_row(tx, job_id)
        if job.state is not JobState.IN_PROGRESS:
            close_run(tx, job_id, TurnState.STOPPED, models=end.models)
            tx.changes.jobs.add(job_id)
            return JobRepaired()
        if job.repair_attempts >= most:
            return JobRepaired(outbox=_end(tx, job, end).outbox)
        return JobRepaired(_repair(tx, job, end, most))

    @writes
    def change_job(
        self,
        tx: Transaction,
        owner_id: str,
        named: str,
        to: JobState,
        reason: str,
        *,
        actor: str | None,
    ) -> JobRow | None:
        return change_for(tx, owner_id, named, to, reason, actor)

    @writes
    def tell_job(self, tx: Transaction, owner_id: str, named: str, key: str, text: str) -> JobRow | None:
        return tell(tx, owner_id, named, key, text)

    @reads
    def job(self, tx: Transaction, owner_id: str, named: str) -> JobRow | None:
        return find(tx, owner_id, named)

    async def jobs(self, owner_id: str | None, limit: int, *, working: bool = False) -> Sequence[JobRow]:
        return await newest(self._engine, owner_id, limit, working=working)

    async def job_events(self, job_id: str, after: int, limit: int) -> Sequence[JobEvent]:
        return await events_after(self._engine, job_id, after, limit)

    @reads
    def stopped_jobs(self, tx: Transaction, job_ids: Sequence[str]) -> Sequence[str]:
        rows = tx.all(f"SELECT id FROM runs WHERE stop_requested = 1 AND id IN {marks(job_ids)}", *job_ids)
        return [row[0] for row in rows]

    @reads
    def job_counts(self, tx: Transaction) -> Mapping[JobState, int]:
        return {JobState(state): count for state, count in tx.all(COUNTS)}

    @reads
    def has_waiting_jobs(self, tx: Transaction) -> bool:
        waiting = "SELECT id FROM jobs WHERE state = 'pending'"
        accepted = "SELECT job_id FROM job_containers WHERE accepted_by IS NOT NULL"
        return tx.one(f"{waiting} UNION {UNSHOWN} UNION {HELD} UNION {accepted} LIMIT 1") is not None
