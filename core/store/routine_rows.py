"""Routines, their runs and the starts of jobs as the store keeps them.

The definition is JSON text (core.routine_json); the store decides by the other columns alone.
Times are integer microseconds UTC."""

from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Self

from core.clock import SECOND_US
from core.events import NO_MODELS, ModelTrace
from core.gates import ConsentSettings
from core.job import JobRow
from core.lazy import dataclass
from core.messages import File
from core.routine import (
    ManualInput,
    MessageInput,
    RunInput,
    RunStatus,
    SlotInput,
    SystemInput,
    WebhookInput,
    claim_key,
)
from core.routine_json import input_to_json
from core.store.rows import CallRow
from core.transcript import AssistantSaid, Said, UserSaid
from core.usage import Reservation
from core.users import Principal


@dataclass(frozen=True, slots=True)
class RoutineText:
    """A routine's definition, as JSON text of core.routine_json, and the fields the store reads.

    `kind`: the kind of its trigger.
    `next_slot_at`: the next slot of a cron routine.
    `reruns`: a run interrupted by a crash continues.
    `daily_…`: the daily budget of all its runs together, None: unlimited."""

    name: str
    kind: str
    definition: str
    cooldown_us: int
    max_concurrent: int = 1
    dedup_window_us: int = 0
    reruns: bool = False
    webhook_path: str | None = None
    next_slot_at: int | None = None
    daily_runs: int | None = None
    daily_tokens: int | None = None
    daily_micro_usd: int | None = None


@dataclass(frozen=True, slots=True)
class RoutineRow:
    """A routine.

    `failures`: the current number of consecutive failed runs.
    `state`: the routine's own document.
    `version`: incremented by each change by a person, never by a run.
    `own_place`: see Routines.keep_own_place.
    `cools_until`: the end of its cooldown, 0 if it never ran.
    `done_at`: when the only slot of a one-time schedule was claimed or skipped."""

    id: str
    owner_id: str
    text: RoutineText
    enabled: bool
    paused_because: str | None
    thread_id: str | None
    backoff_until: int
    last_claimed_at: int | None
    last_ended_at: int | None
    run_count: int
    failures: int
    skipped_slots: int
    state: str
    tested_as: str | None
    version: int
    created_at: int
    updated_at: int
    own_place: str | None = None
    done_at: int | None = None
    cools_until: int = 0


RESTING = "resting until"


def resting(until: int) -> str:
    """Return in words that a routine's cooldown ends then (microseconds UTC)."""
    return f"{RESTING} {datetime.fromtimestamp(until // SECOND_US, UTC):%Y-%m-%d %H:%M:%S} UTC"


class ClaimRefusal(StrEnum):
    """The reason no run was claimed."""

    GONE = "there is no such routine"
    PAUSED = "the routine is paused"
    COOLING_DOWN = "the routine fired a short time ago"
    REPEATED = "the same input arrived a short time ago"
    QUEUE_FULL = "too many of its runs are waiting"


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to be claimed.

    `key`: a name for its trigger, unique within the routine.
    `heeds_guardrails`: False to skip the cooldown and repetition checks, as for a run a person
    asked for."""

    id: str
    routine_id: str
    key: str
    kind: str
    input: str
    due_at: int
    content_hash: str | None = None
    heeds_guardrails: bool = True

    @classmethod
    def fired(
        cls,
        fired_by: RunInput,
        run_id: str,
        routine_id: str,
        due_at: int,
        *,
        content_hash: str | None = None,
        heeds_guardrails: bool = True,
    ) -> Self:
        """Return the run that an input fires. `due_at`: microseconds UTC."""
        kind, key, text = _KINDS[type(fired_by)], claim_key(fired_by), input_to_json(fired_by)
        return cls(run_id, routine_id, key, kind, text, due_at, content_hash, heeds_guardrails)


_KINDS = {
    SlotInput: "cron",
    MessageInput: "event",
    SystemInput: "system_event",
    WebhookInput: "webhook",
    ManualInput: "manual",
}


@dataclass(frozen=True, slots=True)
class Claim:
    """The result of claiming a run.

    `refusal`: the reason, if `run_id` is None.
    `repeated`: the run was claimed before.
    `rests_us`: the cooldown still remaining."""

    run_id: str | None
    refusal: ClaimRefusal | None = None
    repeated: bool = False
    rests_us: int = 0


@dataclass(frozen=True, slots=True)
class RoutineRunRow:
    """One run of a routine. `key`: its trigger; `input`: JSON; `error`: why it failed or was not run;
    `job_id`: the job that does its work; `missing_grants`: as of RunEnd."""

    id: str
    routine_id: str
    key: str
    kind: str
    input: str
    state: RunStatus
    due_at: int
    not_before: int
    attempts: int
    started_at: int | None
    ended_at: int | None
    result: str | None
    error: str | None
    input_tokens: int
    output_tokens: int
    notice: str | None
    notice_state: str
    created_at: int
    cost_micro_usd: int = 0
    job_id: str | None = None
    missing_grants: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BudgetDay:
    """The day whose budgets apply, starting at `since`.

    `told`: makes the notice about a used-up budget from the routine's definition, the reason and the
    owner's time zone (None: the hub's), with the time to send it."""

    since: int
    told: Callable[[str, str, str | None], tuple[str, int]]


@dataclass(frozen=True, slots=True)
class DayLeft:
    """The remaining budget of a routine's runs today. None: unlimited."""

    tokens: int | None = None
    micro_usd: int | None = None


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run to be executed by this hub.

    `left`: the remaining budget at its start.
    `models`: those that its earlier starts called.
    `reserved`: the reservation of its first model call, if one was made."""

    run: RoutineRunRow
    routine: RoutineRow
    left: DayLeft = DayLeft()
    models: ModelTrace = NO_MODELS
    reserved: Reservation | None = None


@dataclass(frozen=True, slots=True)
class JobOfRun:
    """A run whose work a job has done, and which is to be ended now. `steps`: the job's, its subtasks'
    included."""

    started: StartedRun
    job: JobRow
    steps: "RunSteps"


@dataclass(frozen=True, slots=True)
class RunSteps:
    """The steps of a run so far.

    `scope`: its scope when it began, as JSON text, None if nothing was stored yet.
    `said`: its question, replies, calls and results in order.
    `calls`: its calls in order, whose `turn_id` is the run's id.
    `subtask_rounds`: those of its subtasks, which count as its own."""

    scope: str | None = None
    said: tuple[Said, ...] = ()
    calls: tuple[CallRow, ...] = ()
    subtask_rounds: int = 0


@dataclass(frozen=True, slots=True)
class StartedSubtask:
    """A subtask that is carried out by this hub.

    `steps`: its journal. `answer`: its result, if it has ended already.
    `reserved`: the reservation of its first model call, if one was made."""

    steps: RunSteps
    answer: str | None = None
    reserved: Reservation | None = None


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The end of a run.

    `answer`: the model's last reply, and `models`: those it called, for the journal.
    `document`: the routine's new state document, None: unchanged.
    `notice`: the notice to its owner at `notice_at`; `menu_id`: the id of its buttons.
    `missing_grants`: the grants that refused calls lacked, see core.routine.Lightweight.
    `tested_as`: the fingerprint of the definition that ended well.
    `budget_since`: set if the budget of the day that began then ended the run. The owner is
    notified once a day, and the run does not count as a failure.
    `backoff_us`: the wait after a failure before the next try.
    `pause_after`: the number of consecutive failures that pauses the routine, for `pause_reason`.
    The owner then gets `pause_notice` instead."""

    state: RunStatus
    result: str | None = None
    error: str | None = None
    answer: AssistantSaid | None = None
    models: ModelTrace = NO_MODELS
    budget_since: int = 0
    document: str | None = None
    tested_as: str | None = None
    notice: str | None = None
    notice_at: int = 0
    menu_id: str | None = None
    missing_grants: tuple[str, ...] = ()
    backoff_us: int = 0
    pause_after: int = 0
    pause_reason: str = ""
    pause_notice: str | None = None


@dataclass(frozen=True, slots=True)
class DueNotice:
    """A notice about a run that is due to its owner. `files`: handed over by the run's job;
    `changes`: the job changed a project in a container."""

    run_id: str
    routine_id: str
    owner_id: str
    routine_name: str
    definition: str
    thread_id: str | None
    text: str
    menu_id: str | None
    own_place: str | None = None
    missing_grants: tuple[str, ...] = ()
    files: tuple[File, ...] = ()
    changes: bool = False


@dataclass(frozen=True, slots=True)
class NextDue:
    """The times of the next work. None: nothing of that kind waits."""

    slot_at: int | None
    run_at: int | None
    notice_at: int | None


@dataclass(frozen=True, slots=True)
class RoutineStanding:
    """The state a matching event is judged on, for one routine.

    `ready`: the routine would fire now, unless it is `resting`: its cooldown is not over.
    `owner_reads_groups`: its owner owns the hub."""

    id: str
    owner_id: str
    name: str
    ready: bool
    resting: bool
    owner_reads_groups: bool


@dataclass(frozen=True, slots=True)
class MenuView:
    """A run whose notice has buttons with this id. `definition`: the routine's, as JSON text; `snoozed`: it
    comes again, or came again; `changed_by`: its job, if that changed a project in a container."""

    run_id: str
    routine_id: str
    owner_id: str
    name: str
    enabled: bool
    state: RunStatus
    kind: str
    started_at: int | None
    ended_at: int | None
    input: str
    result: str | None
    error: str | None
    input_tokens: int
    output_tokens: int
    definition: str
    snoozed: bool
    changed_by: JobRow | None
    missing_grants: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StartedJob:
    """A job that this hub carries out. `spent_us`, `used_tokens`, `used_micro_usd`: by its earlier starts.

    `models`: the ones called by earlier starts.
    `reserved`: the reservation of its first model call, if one was made."""

    job: JobRow
    owner: Principal
    standing: ConsentSettings
    steps: RunSteps
    spent_us: int
    used_tokens: int
    used_micro_usd: int
    models: ModelTrace = NO_MODELS
    reserved: Reservation | None = None

    @property
    def consent_thread(self) -> str:
        """The thread whose grants hold for it, or a name for it."""
        return self.job.thread_id or self.job.id


def task_of(started: StartedJob) -> str:
    """Return what the job is to do, as its journal begins."""
    return next((one.text for one in started.steps.said if isinstance(one, UserSaid)), "")
