"""Routines and their runs as the store keeps them. What a routine says is JSON text (core.routine_json); the
store decides by the other columns alone. Times are integer microseconds UTC."""

from dataclasses import dataclass
from enum import StrEnum

from core.routine_run import RunStatus


@dataclass(frozen=True, slots=True)
class RoutineText:
    """What a routine says: its definition, as JSON text of core.routine_json. The rest is what the store
    heeds of it; `kind`: of its trigger.

    `next_slot_at`: of a cron routine; `reruns`: a run that a crash cut off starts again, unless a tool with
    an effect was started in it."""

    name: str
    kind: str
    definition: str
    cooldown_us: int
    max_concurrent: int = 1
    dedup_window_us: int = 0
    reruns: bool = False
    webhook_path: str | None = None
    next_slot_at: int | None = None


@dataclass(frozen=True, slots=True)
class RoutineRow:
    """A routine. `failures`: runs that failed one after the other, up to now; `state`: its own document;
    `version` grows with each change by a person, and with none by a run."""

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


class ClaimRefusal(StrEnum):
    """Why nothing was claimed."""

    GONE = "there is no such routine"
    PAUSED = "the routine is paused"
    COOLING_DOWN = "the routine fired a short time ago"
    REPEATED = "the same came in a short time ago"
    QUEUE_FULL = "too many of its runs are waiting"


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to be claimed. `key` names what fired it, once for all; `heeds_guardrails`: cooldown, repetition
    and pauses are no concern of a person who asks for a run."""

    id: str
    routine_id: str
    key: str
    kind: str
    input: str
    due_at: int
    content_hash: str | None = None
    heeds_guardrails: bool = True


@dataclass(frozen=True, slots=True)
class Claim:
    """What became of it. `run_id` None: `refusal` says why; `repeated`: it had been claimed before;
    `rests_us`: of a routine that cools down, how long it does yet."""

    run_id: str | None
    refusal: ClaimRefusal | None = None
    repeated: bool = False
    rests_us: int = 0


@dataclass(frozen=True, slots=True)
class RoutineRunRow:
    """One run. `key`: what fired it; `input`: JSON; `error`: why it failed, or was not run."""

    id: str
    routine_id: str
    key: str
    kind: str
    input: str
    state: RunStatus
    due_at: int
    not_before: int
    attempts: int
    effect_started: bool
    started_at: int | None
    ended_at: int | None
    result: str | None
    error: str | None
    input_tokens: int
    output_tokens: int
    notice: str | None
    notice_state: str
    created_at: int


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run that is now ours to carry out."""

    run: RoutineRunRow
    routine: RoutineRow


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended. `document`: the routine's new state document, None: as it was; `notice`: what its
    owner is to be told at `notice_at`, and `menu_id` what its buttons are known by; `tested_as`: the
    fingerprint of what ended well.

    A failure waits `backoff_us` before the next try; the `pause_after`th in a row pauses the routine for
    `pause_reason`, and then the owner is told `pause_notice` instead."""

    state: RunStatus
    result: str | None = None
    error: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    document: str | None = None
    tested_as: str | None = None
    notice: str | None = None
    notice_at: int = 0
    menu_id: str | None = None
    backoff_us: int = 0
    pause_after: int = 0
    pause_reason: str = ""
    pause_notice: str | None = None


@dataclass(frozen=True, slots=True)
class DueNotice:
    """What an owner is to be told of a run."""

    run_id: str
    routine_id: str
    owner_id: str
    routine_name: str
    definition: str
    thread_id: str | None
    text: str
    menu_id: str | None


@dataclass(frozen=True, slots=True)
class NextDue:
    """When there is something to do; None: nothing of that kind waits."""

    slot_at: int | None
    run_at: int | None
    notice_at: int | None


@dataclass(frozen=True, slots=True)
class RoutineStanding:
    """What an event is judged on of a routine whose pattern it matches; `ready`: it would fire now;
    `owner_reads_groups`: its owner owns the hub."""

    id: str
    owner_id: str
    name: str
    ready: bool
    owner_reads_groups: bool


@dataclass(frozen=True, slots=True)
class MenuView:
    """The run whose notice has buttons of this id."""

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
