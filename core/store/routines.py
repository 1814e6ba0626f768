"""Routines and their runs as the store keeps them. What a routine says is JSON text (core.routine_json); the
store decides by the other columns alone. Times are integer microseconds UTC."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from core.routine import RunStatus, Spent
from core.store.rows import CallRow
from core.transcript import Said


@dataclass(frozen=True, slots=True)
class RoutineText:
    """What a routine says: its definition, as JSON text of core.routine_json. The rest is what the store
    heeds of it; `kind`: of its trigger.

    `next_slot_at`: of a cron routine; `reruns`: a run that a crash cut off goes on; `daily_…`: what its runs
    of a day may come to together, None: as much as they like."""

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
    """A routine. `failures`: runs that failed one after the other, up to now; `state`: its own document;
    `version` grows with each change by a person, and with none by a run; `own_place`:
    see Routines.keep_own_place."""

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

    @property
    def cools_until(self) -> int:
        """End of the cooldown, in microseconds UTC: counted from the end of the last run, and from its
        claim until it has ended. 0 if it never ran."""
        last = max(self.last_claimed_at or 0, self.last_ended_at or 0)
        return last + self.text.cooldown_us if last else 0


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

    @property
    def spent(self) -> Spent:
        """What it used so far, as far as that was kept."""
        return Spent(self.input_tokens, self.output_tokens, self.cost_micro_usd)


@dataclass(frozen=True, slots=True)
class BudgetDay:
    """The day whose budgets hold, from `since` on. `told`: the notice of a routine of that definition about
    what is used up, and when it is told."""

    since: int
    told: Callable[[str, str], tuple[str, int]]


@dataclass(frozen=True, slots=True)
class DayLeft:
    """What a routine's runs may still use today; None: as much as they like."""

    tokens: int | None = None
    micro_usd: int | None = None


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run that is now ours to carry out. `left`: when it was started, what it used before not counted."""

    run: RoutineRunRow
    routine: RoutineRow
    left: DayLeft = DayLeft()


@dataclass(frozen=True, slots=True)
class RunSteps:
    """What a run has done so far. `scope`: what it was given when it began, as JSON text, None if nothing was
    kept yet; `said`: its question, replies, calls and results in order; `calls`: its calls in order, whose
    `turn_id` is the run's id."""

    scope: str | None = None
    said: tuple[Said, ...] = ()
    calls: tuple[CallRow, ...] = ()


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended. `document`: the routine's new state document, None: as it was; `notice`: what its
    owner is to be told at `notice_at`, and `menu_id` what its buttons are known by; `missing_grants`:
    what calls were refused for want of, see core.routine.Lightweight; `tested_as`: the fingerprint of what
    ended well.

    `budget_since`: the budget of the day that began then ended it; its owner is told once a day, and it
    counts as no failure. A failure waits `backoff_us` before the next try; the `pause_after`th in a row
    pauses the routine for `pause_reason`, and then the owner is told `pause_notice` instead."""

    state: RunStatus
    result: str | None = None
    error: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micro_usd: int = 0
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
    """What an owner is to be told of a run."""

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
    """The run whose notice has buttons of this id. `definition`: the routine's, as JSON text."""

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
    missing_grants: tuple[str, ...]
