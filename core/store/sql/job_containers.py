"""Jobs in containers: what their workers ask for, each request once, and the changes that people accept."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, assert_never

from core.audit_chain import AuditKind
from core.errors import StaleTurn
from core.gates import Gate
from core.job import JobLimits, JobState
from core.messages import Message, plain
from core.ports import OutboxRow
from core.store.codecs import encode, storable
from core.store.container_port import (
    CREDENTIAL,
    AcceptedChanges,
    Answered,
    AskedForCredential,
    AskedForMessages,
    CallEnded,
    ContainerEnd,
    ContainerRow,
    ContainerUse,
    EgressUse,
    Noted,
    OutOfOrder,
    Replied,
    RequestEffect,
    SaidComplete,
    StartedContainer,
    StoredChanges,
    Told,
    UseSample,
)
from core.store.rows import Draft, TurnState
from core.store.sql.audit import record
from core.store.sql.gate_open import put_gate
from core.store.sql.gates import close
from core.store.sql.grants import own_grants
from core.store.sql.job_changes import OVER, ask_about_changes, ask_again, change, claim, job_row, report
from core.store.sql.job_views import tell_below_notice, tell_end
from core.store.sql.jobs import end_run, in_hand, is_waited_for, join, started
from core.store.sql.outbox import Cause, enqueue
from core.store.sql.people import known_user
from core.store.sql.recovery import resume
from core.store.sql.run_journal import close_run
from core.store.sql.steps import end_calls, finish_calls, record_reply
from core.store.sql.turns import append, keep_models, progress, thread
from core.store.unattended_port import JobEnded
from core.store.units import Facet, Transaction, reads, writes
from core.transcript import Note, ResultStatus, ToolResult
from core.usage import Reservation
from core.users import Role

CUT_SHORT = "The container ended before its result arrived; whether it took effect is not known."
GO_ON = encode({"over": False})
NOTHING = "{}"
_KIND = {
    Replied: "model",
    CallEnded: "result",
    Noted: "note",
    AskedForMessages: "messages",
    Told: "told",
    AskedForCredential: "credential",
    SaidComplete: "complete",
}


def row_of(tx: Transaction, job_id: str) -> ContainerRow | None:
    row = tx.one(
        "SELECT number, project, token_hash, mode, image FROM job_containers WHERE job_id = ?", job_id
    )
    if row is None:
        return None
    last = tx.one(
        "SELECT seq, kind, answer FROM job_requests WHERE job_id = ? ORDER BY seq DESC LIMIT 1", job_id
    )
    complete = last is not None and last[1] == "complete" and last[2] == OVER
    number, project, token_hash, mode, image = row
    return ContainerRow(number, project, token_hash, 0 if last is None else last[0], complete, mode, image)


def _known(tx: Transaction, job_id: str) -> ContainerRow:
    row = row_of(tx, job_id)
    if row is None:
        raise StaleTurn(f"job {job_id} has no container")
    return row


def _started(tx: Transaction, job_id: str, reserved: Reservation | None = None) -> StartedContainer:
    job = started(tx, job_id, reserved)
    given = {one.name: getattr(job, one.name) for one in fields(job)}
    # A reply of which the agent has not told the journal yet is a round as well.
    told = tx.all("SELECT answer FROM job_requests WHERE job_id = ? AND kind = 'told'", job_id)
    rounds = sum(bool(json.loads(answer).get("calls")) for (answer,) in told)
    given["job"] = replace(job.job, rounds=max(job.job.rounds, rounds))
    return StartedContainer(**given, row=_known(tx, job_id))


def _applied(tx: Transaction, job_id: str, effect: RequestEffect) -> Answered:
    """Apply what a worker asked for, and return the answer."""
    match effect:
        case Replied(said, calls, models, answer):
            record_reply(tx, job_id, said, calls, ())
            keep_models(tx, job_id, models)
            return Answered(answer)
        case CallEnded(result):
            finish_calls(tx, job_id, [result])
            return Answered(NOTHING)
        case Noted(text):
            append(tx, progress(tx, job_id), job_id, [Note(text)])
            return Answered(NOTHING)
        case AskedForMessages(texts):
            joined = join(tx, job_id)
            told = {"texts": [one.text for one in joined]} if texts else {}
            return Answered(encode({"joined": len(joined), **told}), joined)
        case Told(answer, models):
            if models is not None:
                keep_models(tx, job_id, models)
            return Answered(answer)
        case AskedForCredential(name):
            return Answered(encode(_given(tx, job_id, name)))
        case SaidComplete():
            return Answered(GO_ON if is_waited_for(tx, job_id) else OVER)
        case _:
            assert_never(effect)


# --- secrets --------------------------------------------------------------------------------------------

MAX_ASKED = 8
"""The number of secrets of which one job may make the hub ask a person."""
JOB_ENDED = "The job has ended."
_ASKED = "SELECT id, state, outcome, closed_by FROM gates WHERE turn_id = ? AND kind = 'credential'"


def _approved(tx: Transaction, job_id: str) -> frozenset[str]:
    """Return the secrets that a person approved for the job. Its owner must still be one of the hub."""
    rows = tx.all(
        "SELECT g.pattern FROM gates g JOIN jobs j ON j.id = g.turn_id JOIN users u ON u.id = j.owner_id"
        " WHERE g.turn_id = ? AND g.kind = 'credential' AND g.outcome = 'approve' AND u.role = 'owner'",
        job_id,
    )
    return frozenset(name for (name,) in rows)


def _may_have(tx: Transaction, job_id: str) -> frozenset[str]:
    own = frozenset(name for tool, name in own_grants(tx, job_id) if tool == CREDENTIAL)
    return own | _approved(tx, job_id)


def _given(tx: Transaction, job_id: str, name: str) -> Mapping[str, Any]:
    """Return whether a job gets a secret, which is recorded."""
    granted, job = name in _may_have(tx, job_id), job_row(tx, job_id)
    gate = tx.one(f"{_ASKED} AND pattern = ?", job_id, name)
    denied = not granted and gate is not None and gate[3] is not None
    word = "was given" if granted else "was denied" if denied else "has no grant for"
    report(tx, job_id, f"The job {word} the credential “{name}”", job.state)
    if granted:
        record(tx, AuditKind.SECRET_USED, name, job=job_id, owner=job.owner_id)
    return {"credential": name, "granted": granted, **({"denied": True} if denied else {})}


def _asked_for(tx: Transaction, job_id: str, *, granted: bool) -> list[str]:
    """Return the names of the secrets that a job asked for and got, or that still wait for a decision."""
    asked = "SELECT answer FROM job_requests WHERE job_id = ? AND kind = 'credential' ORDER BY seq"
    answers = [json.loads(answer) for (answer,) in tx.all(asked, job_id)]
    found = [one for one in answers if one["granted"] is granted and not one.get("denied")]
    return list(dict.fromkeys(one["credential"] for one in found))


def _close_requests(tx: Transaction, job_id: str) -> tuple[OutboxRow, ...]:
    """Close what the job still asks its owner for."""
    rows: list[OutboxRow] = []
    for gate_id, *_ in tx.all(f"{_ASKED} AND state = 'open'", job_id):
        closed = close(tx, gate_id, None, JOB_ENDED, None, None)
        rows.extend(closed.outbox if closed is not None else ())
    return tuple(rows)


def _cut_short(tx: Transaction, job_id: str) -> None:
    """Give the calls whose results never arrived an outcome that says so."""
    calls = tx.all(
        "SELECT id, thread_id FROM calls WHERE turn_id = ? AND state <> 'ended' ORDER BY seq", job_id
    )
    for call_id, thread_id in calls:
        end_calls(tx, thread_id, job_id, [ToolResult(call_id, ResultStatus.UNKNOWN, CUT_SHORT)])


def _use_from_json(text: str) -> ContainerUse:
    stored: dict[str, Any] = json.loads(text)
    egress, samples, connections = (stored.pop(name) for name in ("egress", "samples", "connections"))
    return ContainerUse(
        **stored,
        egress=tuple(egress),
        samples=tuple(UseSample(**one) for one in samples),
        connections=tuple(EgressUse(**one) for one in connections),
    )


class ContainerJobUnits(Facet):
    """The units of ContainerJobs."""

    @writes
    def begin_container_jobs(self, tx: Transaction, limits: JobLimits) -> Sequence[StartedContainer]:
        return tuple(_started(tx, one.turn_id, one.reserved) for one in claim(tx, limits, contained=True))

    @writes
    def adopt_container_job(self, tx: Transaction, job_id: str) -> StartedContainer | None:
        if not in_hand(tx, job_id):
            return None
        if job_row(tx, job_id).state is not JobState.IN_PROGRESS:
            self._close(tx, job_id)
            close_run(tx, job_id, TurnState.STOPPED)
            return None
        resume(tx, job_id)
        return _started(tx, job_id)

    @writes
    def arm_container(self, tx: Transaction, job_id: str, token_hash: str) -> None:
        progress(tx, job_id)
        tx.run("UPDATE job_containers SET token_hash = ? WHERE job_id = ?", token_hash, job_id)

    @reads
    def answer_to(self, tx: Transaction, job_id: str, seq: int) -> str | None:
        row = tx.one("SELECT answer FROM job_requests WHERE job_id = ? AND seq = ?", job_id, seq)
        return None if row is None else row[0]

    @writes
    def answer_request(self, tx: Transaction, job_id: str, seq: int, effect: RequestEffect) -> Answered:
        known = tx.one("SELECT answer FROM job_requests WHERE job_id = ? AND seq = ?", job_id, seq)
        if known is not None:
            return Answered(known[0])
        last = tx.one("SELECT coalesce(max(seq), 0) FROM job_requests WHERE job_id = ?", job_id)
        if last is None or last[0] + 1 != seq:
            raise OutOfOrder(f"request {seq} is not the next one of job {job_id}")
        if not in_hand(tx, job_id):
            raise StaleTurn(f"job {job_id} is not in this hub's hand")
        progress(tx, job_id)
        done = _applied(tx, job_id, effect)
        tx.run(
            "INSERT INTO job_requests (job_id, seq, at, kind, answer) VALUES (?, ?, ?, ?, ?)",
            job_id,
            seq,
            tx.clock.now(),
            _KIND[type(effect)],
            done.answer,
        )
        return done

    @writes
    def ask_for_credential(self, tx: Transaction, gate: Gate, card: Message) -> Sequence[OutboxRow]:
        job_id, job = gate.turn_id, job_row(tx, gate.turn_id)
        asked = tx.all("SELECT pattern FROM gates WHERE turn_id = ? AND kind = 'credential'", job_id)
        owner = known_user(tx, job.owner_id)
        if (gate.pattern,) in map(tuple, asked) or len(asked) >= MAX_ASKED or owner.role is not Role.OWNER:
            return ()
        if job.state is not JobState.IN_PROGRESS or not in_hand(tx, job_id):
            raise StaleTurn(f"job {job_id} is not in this hub's hand")
        progress(tx, job_id)
        put_gate(tx, gate)
        report(tx, job_id, f"The job asks its owner for the credential “{gate.pattern}”", job.state)
        if job.thread_id is None:
            return ()  # started by a program: it is among the approvals
        on = thread(tx, job.thread_id)
        draft = Draft(on.channel, on.address, card, tx.ids.row_id(), gate_id=gate.id)
        return enqueue(tx, [draft], Cause(turn_id=job_id))

    @reads
    def is_asked_for(self, tx: Transaction, job_id: str, name: str) -> bool:
        return tx.one(f"{_ASKED} AND pattern = ? AND state = 'open'", job_id, name) is not None

    @reads
    def granted_credentials(self, tx: Transaction, job_id: str) -> frozenset[str]:
        return _may_have(tx, job_id)

    @reads
    def credentials_given(self, tx: Transaction, job_id: str) -> Sequence[str]:
        return _asked_for(tx, job_id, granted=True)

    @writes
    def end_container_job(self, tx: Transaction, job_id: str, end: ContainerEnd) -> JobEnded:
        if in_hand(tx, job_id):
            _cut_short(tx, job_id)
        refused = [f"{CREDENTIAL} {name}" for name in _asked_for(tx, job_id, granted=False)]
        missing = tuple(dict.fromkeys([*end.end.missing_grants, *refused]))
        done = end_run(tx, job_id, replace(end.end, missing_grants=missing))
        if not done.heard:
            done = replace(done, outbox=(*self._close(tx, job_id), *done.outbox))
            if end.changes is not None and job_row(tx, job_id).state is JobState.SUBMITTED:
                tx.run(
                    "UPDATE job_containers SET changes = ?, digest = ?, diff = ? WHERE job_id = ?",
                    storable(end.changes.files),
                    end.changes.digest,
                    storable(end.changes.diff),
                    job_id,
                )
                ask_about_changes(tx, job_row(tx, job_id), end.changes.listed)
        return done

    def _close(self, tx: Transaction, job_id: str) -> tuple[OutboxRow, ...]:
        tx.run("UPDATE job_containers SET token_hash = NULL WHERE job_id = ?", job_id)
        return _close_requests(tx, job_id)

    @reads
    def accepted_changes(self, tx: Transaction) -> Sequence[AcceptedChanges]:
        rows = tx.all(
            "SELECT c.job_id, c.number, c.project, c.changes, c.digest FROM job_containers c"
            " JOIN jobs j ON j.id = c.job_id WHERE c.accepted_by IS NOT NULL AND j.state = 'submitted'"
            " ORDER BY c.number"
        )
        return [AcceptedChanges(*row) for row in rows]

    @writes
    def settle_changes(self, tx: Transaction, job_id: str, problem: str | None) -> Sequence[OutboxRow]:
        row = tx.one("SELECT accepted_by FROM job_containers WHERE job_id = ?", job_id)
        job = job_row(tx, job_id)
        if row is None or row[0] is None or job.state is not JobState.SUBMITTED:
            return ()
        tx.run("UPDATE job_containers SET accepted_by = NULL WHERE job_id = ?", job_id)
        if problem is None:
            change(tx, job, JobState.ACCEPTED, job.reason, row[0])
            said = f"✅ Job {job.short_id} “{job.title}” is accepted: the project has its changes."
        else:
            report(tx, job_id, problem, job.state)
            tx.run("UPDATE jobs SET reason = ? WHERE id = ?", problem, job_id)
            ask_again(tx, job, problem)
            said = f"Job {job.short_id} “{job.title}”: {problem}"
        if job.thread_id is None:
            return tell_below_notice(tx, job_id, plain(said))
        return tell_end(tx, job_id, job.thread_id, plain(said))

    @reads
    def container_row(self, tx: Transaction, job_id: str) -> ContainerRow | None:
        return row_of(tx, job_id)

    @reads
    def container_states(self, tx: Transaction) -> Mapping[int, tuple[str, JobState]]:
        rows = tx.all(
            "SELECT c.number, j.id, j.state FROM job_containers c JOIN jobs j ON j.id = c.job_id"
            " WHERE j.state IN ('pending', 'in_progress', 'stuck', 'completed', 'submitted')"
        )
        return {number: (job_id, JobState(state)) for number, job_id, state in rows}

    @writes
    def record_use(self, tx: Transaction, job_id: str, use: ContainerUse) -> None:
        tx.run("UPDATE job_containers SET used = ? WHERE job_id = ?", storable(encode(asdict(use))), job_id)

    @reads
    def use_of(self, tx: Transaction, job_id: str) -> ContainerUse | None:
        row = tx.one("SELECT used FROM job_containers WHERE job_id = ?", job_id)
        return None if row is None or row[0] is None else _use_from_json(row[0])

    @reads
    def changes_of(self, tx: Transaction, job_id: str) -> StoredChanges | None:
        row = tx.one("SELECT changes, digest, diff FROM job_containers WHERE job_id = ?", job_id)
        return None if row is None or row[1] is None else StoredChanges(*row)
