"""Plans of jobs: stored before their first step, so that a restart goes on with the same one.

The next step is not stored: a run's first calls are those of its plan, in order.
"""

import json

from core.events import ModelTrace
from core.job import JobPlan, JobState, PlanState, PlanStep
from core.store.codecs import encode, storable
from core.store.sql.feed import position
from core.store.sql.turns import append, keep_models, progress
from core.store.transaction import Transaction
from core.store.units import Facet, writes
from core.transcript import AssistantSaid, Note

INTERRUPTED = "Plan interrupted by user message, re-evaluating…"


def plan_to_json(plan: JobPlan) -> str:
    """Return a plan as JSON."""
    steps = [[step.tool, step.arguments, step.reasoning] for step in plan.steps]
    return storable(encode({"goal": plan.goal, "confidence": plan.confidence, "steps": steps}))


def plan_from_json(text: str) -> JobPlan:
    """Return the plan stored by `plan_to_json`."""
    stored = json.loads(text)
    steps = tuple(PlanStep(*step) for step in stored["steps"])
    return JobPlan(stored["goal"], steps, stored["confidence"])


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
