"""Changes of jobs, each recorded among its events: of its state, from their start on, and of the plan it
begins with.

Waiting jobs of a kind are claimed while there are slots, and people take turns. Jobs of the host and jobs in
containers have separate limits.

A plan is stored before its first step, so that a restart goes on with the same one. The next step is not
stored: a run's first calls are those of its plan, in order.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Sequence
from dataclasses import replace

from core.clock import SECOND_US
from core.errors import StaleTurn
from core.events import ModelTrace, RunKind
from core.gates import Gate, GateKind, Option, Options, VoteRule
from core.job import JobLimits, JobPlan, JobRow, JobState, PlanState, changes
from core.store.codecs import encode, storable
from core.store.rows import TurnStart
from core.store.sql.feed import position
from core.store.sql.gate_open import put_gate
from core.store.sql.job_views import JOB, job_of, plan_from_json
from core.store.sql.mapping import ACTIVE
from core.store.sql.people import known_user
from core.store.sql.turns import append, keep_models, progress, start_turn, thread
from core.store.units import Facet, Transaction, writes
from core.transcript import AssistantSaid, Note, UserSaid
from core.usage import CallKind, Payer


def change(tx: Transaction, job: JobRow, to: JobState, reason: str, actor: str | None = None) -> JobRow:
    """Change a job's state, with the reason and the person who did it. Raises IllegalChange."""
    if not changes(job.state, to):
        return job
    record(tx, job.id, job.state, to, reason, actor)
    return replace(job, state=to, reason=reason)


def record(
    tx: Transaction, job_id: str, before: JobState | None, to: JobState, reason: str, actor: str | None
) -> None:
    """Record a job's new state."""
    now = tx.clock.now()
    tx.run(
        "UPDATE jobs SET state = ?1, reason = ?2,"
        " started_at = CASE WHEN ?1 = 'in_progress' THEN coalesce(started_at, ?3) ELSE started_at END,"
        " ended_at = CASE WHEN ?1 IN ('completed', 'accepted', 'failed', 'cancelled') THEN ?3"
        " ELSE ended_at END,"
        " repair_attempts = repair_attempts + CASE WHEN ?4 = 'stuck' AND ?1 = 'in_progress' THEN 1 ELSE 0 END"
        " WHERE id = ?5",
        to.value,
        storable(reason),
        now,
        None if before is None else before.value,
        job_id,
    )
    tx.run(
        "INSERT INTO job_changes (job_id, seq, at, before, state, reason, actor)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        job_id,
        position(tx, job_id),
        now,
        None if before is None else before.value,
        to.value,
        storable(reason),
        actor,
    )
    tx.changes.jobs.add(job_id)
    tx.changes.job_changes.append((before, to))


def ask_to_stop(tx: Transaction, job_id: str) -> None:
    """Ask the run of a job to stop, if there is one. It has its slot until it did."""
    tx.run(f"UPDATE runs SET stop_requested = 1 WHERE id = ? AND state IN {ACTIVE}", job_id)


def cancel_of_routine(tx: Transaction, routine_id: str, reason: str) -> None:
    """Cancel the jobs of a routine's runs that still work."""
    working = tx.all(
        f"SELECT {JOB} FROM jobs j WHERE j.state IN ('pending', 'in_progress', 'stuck')"
        " AND j.run_id IN (SELECT id FROM routine_runs WHERE routine_id = ?)",
        routine_id,
    )
    for row in working:
        change(tx, job_of(row), JobState.CANCELLED, reason)
        ask_to_stop(tx, row[0])


def accept_changes(tx: Transaction, job: JobRow, reason: str, actor: str | None) -> JobRow:
    """Record that a person accepted a job's changes. It is accepted once its project has them."""
    report(tx, job.id, reason, job.state, actor)
    tx.run("UPDATE job_containers SET accepted_by = ? WHERE job_id = ?", actor, job.id)
    tx.run("UPDATE jobs SET reason = ? WHERE id = ?", storable(reason), job.id)
    return replace(job, reason=reason)


CHANGES_EXPIRE_AFTER_US = 30 * 86_400 * SECOND_US
"""How long changes wait for their owner before they count as rejected."""


def ask_about_changes(tx: Transaction, job: JobRow, listed: str, problem: str = "") -> None:
    """Open the gate about a job's changes, which only its owner decides. `listed`: the files, a line each;
    `problem`: why accepted changes were not made."""
    now = tx.clock.now()
    where = "the workspace" if job.project == "." else job.project
    title = f"Make the changes of job {job.short_id} “{job.title}” in {where}?"
    gate = Gate(
        id=tx.ids.gate_id(),
        kind=GateKind.CHANGES,
        thread_id=job.thread_id or job.id,
        turn_id=job.id,
        call_id=None,
        requester_id=job.owner_id,
        title=f"{title}\n{problem}" if problem else title,
        detail=listed,
        offer=Options((Option.APPROVE, Option.DENY)),
        rule=VoteRule(approvers=(job.owner_id,)),
        binding=job.digest or "",
        created_at=now,
        expires_at=now + CHANGES_EXPIRE_AFTER_US,
    )
    put_gate(tx, gate)


def ask_again(tx: Transaction, job: JobRow, problem: str) -> None:
    """Open the gate about a job's changes once more, because they could not be made."""
    before = tx.one(
        "SELECT detail FROM gates WHERE turn_id = ? AND kind = 'changes' ORDER BY created_at DESC LIMIT 1",
        job.id,
    )
    ask_about_changes(tx, job, "" if before is None else before[0], problem)


def judge_changes(
    tx: Transaction, job_id: str, digest: str, reason: str, actor: str | None, *, accepted: bool
) -> None:
    """Record the decision about the changes with that digest. If a job has others, it is submitted still."""
    row = tx.one(f"SELECT {JOB} FROM jobs j WHERE j.id = ?", job_id)
    if row is None or (job := job_of(row)).state is not JobState.SUBMITTED:
        return
    if not accepted:
        change(tx, job, JobState.FAILED, reason, actor)
    elif digest == job.digest:
        accept_changes(tx, job, reason, actor)


INTERRUPTED = "Plan interrupted by user message, re-evaluating…"


def plan_to_json(plan: JobPlan) -> str:
    """Return a plan as JSON."""
    steps = [[step.tool, step.arguments, step.reasoning] for step in plan.steps]
    return storable(encode({"goal": plan.goal, "confidence": plan.confidence, "steps": steps}))


def interrupt(tx: Transaction, job_id: str) -> None:
    """End a job's plan, if one runs, because a person has written to the job."""
    row = tx.one(
        "SELECT plan, (SELECT count(*) FROM calls c WHERE c.turn_id = j.id) FROM jobs j"
        " WHERE id = ? AND plan_state = 'running'",
        job_id,
    )
    if row is None:
        return
    _end(tx, job_id)
    if row[1] < len(plan_from_json(row[0]).steps):
        report(tx, job_id, INTERRUPTED)


def _end(tx: Transaction, job_id: str) -> None:
    tx.run("UPDATE jobs SET plan_state = ? WHERE id = ?", PlanState.ENDED.value, job_id)


def report(
    tx: Transaction,
    job_id: str,
    status: str,
    state: JobState = JobState.IN_PROGRESS,
    actor: str | None = None,
) -> None:
    """Add a status to a job's events. Its state stays."""
    tx.run(
        "INSERT INTO job_changes (job_id, seq, at, before, state, reason, actor)"
        " VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6)",
        job_id,
        position(tx, job_id),
        tx.clock.now(),
        state.value,
        storable(status),
        actor,
    )
    tx.changes.jobs.add(job_id)


class JobPlanUnits(Facet):
    """The units of Jobs about their plans."""

    @writes
    def begin_plan(
        self, tx: Transaction, job_id: str, plan: JobPlan, said: AssistantSaid, models: ModelTrace
    ) -> None:
        append(tx, progress(tx, job_id), job_id, [said])
        tx.run(
            "UPDATE jobs SET plan = ?, plan_state = ? WHERE id = ?",
            plan_to_json(plan),
            PlanState.RUNNING.value,
            job_id,
        )
        keep_models(tx, job_id, models)

    @writes
    def end_plan(
        self,
        tx: Transaction,
        job_id: str,
        status: str,
        models: ModelTrace,
        note: Note | None = None,
    ) -> None:
        thread_id = progress(tx, job_id)
        _end(tx, job_id)
        report(tx, job_id, status)
        if note is not None:
            append(tx, thread_id, job_id, [note])
        keep_models(tx, job_id, models)


# Their start.

CHANNEL = "job"
"""The channel of a job's thread: no message comes from it, and none goes there."""
OVER = encode({"over": True})
"""The answer to a worker in a container whose job is done: no message reaches it any more."""


def job_row(tx: Transaction, job_id: str) -> JobRow:
    row = tx.one(f"SELECT {JOB} FROM jobs j WHERE j.id = ?", job_id)
    if row is None:
        raise StaleTurn(f"there is no job {job_id}")
    return job_of(row)


def claim(tx: Transaction, limits: JobLimits, *, contained: bool) -> Sequence[TurnStart]:
    """Start pending jobs while there are slots: those of the host, or those in containers."""
    kind = f"{'' if contained else 'NOT '}EXISTS (SELECT 1 FROM job_containers x WHERE x.job_id = j.id)"
    counted = tx.all(
        "SELECT principal_id, count(*) FROM runs j WHERE kind = 'job' AND state = 'running'"
        f" AND {kind} GROUP BY principal_id"
    )
    running: dict[str, int] = {owner_id: count for owner_id, count in counted}
    begun: list[TurnStart] = []
    while sum(running.values()) < limits.max_parallel:
        job_id = _choose(tx, running, limits, kind)
        if job_id is None:
            break
        begun.append(start := _begin(tx, job_id))
        owner_id = start.principal.user_id
        running[owner_id] = running.get(owner_id, 0) + 1
    return begun


def _choose(tx: Transaction, running: dict[str, int], limits: JobLimits, kind: str) -> str | None:
    """Return the job to start next: of the person with the fewest running ones, who waited longest."""
    waiting = tx.all(
        "SELECT owner_id, (SELECT coalesce(max(o.started_at), 0) FROM jobs o WHERE o.owner_id = j.owner_id)"
        f" FROM jobs j WHERE state = 'pending' AND {kind} GROUP BY owner_id"
    )
    turn = sorted(
        (running.get(owner_id, 0), last_started, owner_id)
        for owner_id, last_started in waiting
        if running.get(owner_id, 0) < limits.max_per_user
    )
    if not turn:
        return None
    row = tx.one(
        f"SELECT id FROM jobs j WHERE state = 'pending' AND owner_id = ? AND {kind}"
        " ORDER BY priority DESC, created_at, id LIMIT 1",
        turn[0][2],
    )
    return None if row is None else row[0]


def _begin(tx: Transaction, job_id: str) -> TurnStart:
    """Start a pending job with its journal."""
    job = change(tx, job_row(tx, job_id), JobState.IN_PROGRESS, "Scheduled for execution")
    row = tx.one("SELECT coalesce(question, task) FROM jobs WHERE id = ?", job_id)
    question = UserSaid("" if row is None else row[0])
    on, owner = thread(tx, job_id), known_user(tx, job.owner_id)
    events = [f"job:{job_id}"]
    payer = Payer(CallKind.JOB, job_id, owner.user_id, on.id, job.routine_id)
    begun = start_turn(tx, on, owner, job_id, [question], CHANNEL, on.address, events=events, payer=payer)
    tx.run(
        "UPDATE runs SET kind = ?, consent_thread = ? WHERE id = ?", RunKind.JOB.value, job.thread_id, job_id
    )
    return begun
