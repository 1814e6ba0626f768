"""The start of jobs: waiting ones of a kind are claimed while there are slots, and people take turns.

Those of the host and those in containers have limits of their own.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Sequence

from core.errors import StaleTurn
from core.events import RunKind
from core.job import JobLimits, JobRow, JobState
from core.store.codecs import encode
from core.store.rows import TurnStart
from core.store.sql.job_changes import change
from core.store.sql.job_views import JOB, job_of
from core.store.sql.people import known_user
from core.store.sql.turns import start_turn, thread
from core.store.transaction import Transaction
from core.transcript import UserSaid
from core.usage import CallKind, Payer

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
