"""Routines, their runs, and jobs as the API and `--json` show them. Times are integer microseconds UTC."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from core.lazy import LazyModule, dataclass

if TYPE_CHECKING:
    from core import routine, routine_json
    from core.job import JobEvent, JobRow
    from core.jobs.service import JobDispatcher
    from core.routines import definitions, trial
    from core.routines.trial import Day, Draft, Trial
    from core.runs.unseen_models import Expected
    from core.store.routine_rows import RoutineRow, RoutineRunRow
else:
    # A command that reads them off the API needs none of these.
    routine = LazyModule("core.routine")
    routine_json = LazyModule("core.routine_json")
    definitions = LazyModule("core.routines.definitions")
    trial = LazyModule("core.routines.trial")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutineView:
    """A routine. `fires_on`: what fires it, in words; `status`: see core.routines.definitions; `definition`:
    as one writes it; `problem`: why this version cannot read it."""

    id: str
    name: str
    kind: str
    fires_on: str
    enabled: bool
    status: str
    definition: dict[str, Any]
    next_at: int | None
    last_run_at: int | None
    run_count: int
    failures: int
    skipped_slots: int
    paused_because: str | None
    tested: bool
    problem: str | None
    version: int
    created_at: int
    updated_at: int

    @classmethod
    def of(cls, row: "RoutineRow", newest: "RoutineRunRow | None") -> Self:
        """Return a stored routine with its newest run."""
        status, tested, problem = "unreadable", False, None
        written: dict[str, Any] = {}
        fires_on = row.text.kind
        try:
            definition = definitions.definition_of(row)
            fires_on = trial.what_fires(definition.trigger)
        except ValueError as error:
            problem = str(error)
        else:
            running = 1 if newest is not None and newest.state is routine.RunStatus.RUNNING else 0
            progress = definitions.progress_of(row, None if newest is None else newest.state, running)
            status = definitions.display_status(definition, progress).value
            if row.paused_because and not row.enabled:
                status = "paused"
            tested = row.tested_as == definitions.fingerprint(definition)
            written = routine_json.definition_to_json(definition)
        return cls(
            id=row.id,
            name=row.text.name,
            kind=row.text.kind,
            fires_on=fires_on,
            enabled=row.enabled,
            status=status,
            definition=written,
            next_at=row.text.next_slot_at,
            last_run_at=row.last_ended_at,
            run_count=row.run_count,
            failures=row.failures,
            skipped_slots=row.skipped_slots,
            paused_because=row.paused_because,
            tested=tested,
            problem=problem,
            version=row.version,
            created_at=row.created_at,
            updated_at=row.updated_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One run. `input`: what fired it; `notice`: none, due, sent or dropped; `job_id`: the job that does its
    work; `missing_grants`: the grants that refused calls lacked, each whole and exact."""

    id: str
    routine_id: str
    key: str
    kind: str
    status: str
    input: dict[str, Any]
    due_at: int
    started_at: int | None
    ended_at: int | None
    attempts: int
    result: str | None
    error: str | None
    input_tokens: int
    output_tokens: int
    cost_micro_usd: int
    notice: str
    job_id: str | None
    missing_grants: list[str]

    @classmethod
    def of(cls, run: "RoutineRunRow") -> Self:
        """Return a stored run."""
        return cls(
            id=run.id,
            routine_id=run.routine_id,
            key=run.key,
            kind=run.kind,
            status=run.state.value,
            input=json.loads(run.input),
            due_at=run.due_at,
            started_at=run.started_at,
            ended_at=run.ended_at,
            attempts=run.attempts,
            result=run.result,
            error=run.error,
            input_tokens=run.input_tokens,
            output_tokens=run.output_tokens,
            cost_micro_usd=run.cost_micro_usd,
            notice=run.notice_state,
            job_id=run.job_id,
            missing_grants=list(run.missing_grants),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FiredView:
    """A run that was asked for."""

    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EmittedView:
    """The routines that an event fired, by name."""

    fired: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialView:
    """The trial of a text. `why`: in words; `system`, `input`: the model's prompts, None if the pattern
    does not match."""

    fires: bool
    why: str
    system: str | None
    input: str | None

    @classmethod
    def of(cls, trial: "Trial") -> Self:
        """Return a trial's result."""
        return cls(fires=trial.fires, why=trial.why, system=trial.system, input=trial.model_input)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedView:
    """The expected outcome of a tool's calls, a grant or a call. `outcome`: runs, some (by its arguments) or
    refused;
    `grants`: they would allow exactly this call."""

    about: str
    outcome: str
    why: str
    grants: list[str]

    @classmethod
    def of(cls, one: "Expected") -> Self:
        """Return an expectation."""
        return cls(about=one.about, outcome=one.outcome.value, why=one.why, grants=list(one.grants))


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutineTestView:
    """The test of a routine. `fires`: None without a message; `why`, `system`, `input`: see TrialView;
    `tools`,
    `grants`: as the routine names them; `calls`: as they were given."""

    fires: bool | None
    why: str
    system: str | None
    input: str | None
    tools: list[ExpectedView]
    grants: list[ExpectedView]
    calls: list[ExpectedView]

    @property
    def expected(self) -> list[ExpectedView]:
        """All that was judged."""
        return [*self.tools, *self.grants, *self.calls]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemView:
    """A problem with a field, "" for none in particular."""

    field: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftView:
    """A routine that is still being written; see core.routines.trial.Draft. `agents`, `images`: what a full
    job of it can choose in the place of the usual worker and the usual image."""

    problems: list[ProblemView]
    fires_on: str | None
    slots: list[int]
    trial: TrialView | None
    agents: list[str]
    images: list[str]

    @classmethod
    def of(cls, draft: "Draft", jobs: "JobDispatcher | None") -> Self:
        """Return the view of a draft. `jobs`: None if there are none."""
        return cls(
            problems=[ProblemView(field=one.field, message=one.message) for one in draft.problems],
            fires_on=draft.fires_on,
            slots=list(draft.slots),
            trial=None if draft.trial is None else TrialView.of(draft.trial),
            agents=[] if jobs is None else list(jobs.choices.agents),
            images=[] if jobs is None else list(jobs.choices.images),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DaySlotsView:
    """One routine's slots of one day: the first ones, and how many there are, 24 for "or more"."""

    routine_id: str
    name: str
    slots: list[int]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DayView:
    """A day with slots, such as 2026-03-01."""

    date: str
    routines: list[DaySlotsView]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarView:
    """Slots to come, by days of the time zone; `more`: later schedules are left out."""

    timezone: str
    days: list[DayView]
    more: bool

    @classmethod
    def of(cls, days: "Sequence[Day]", timezone: str, *, more: bool) -> Self:
        """Return the days that have slots."""
        return cls(
            timezone=timezone,
            days=[
                DayView(
                    date=day.date.isoformat(),
                    routines=[
                        DaySlotsView(
                            routine_id=one.routine_id, name=one.name, slots=list(one.slots), count=one.count
                        )
                        for one in day.routines
                    ],
                )
                for day in days
            ],
            more=more,
        )


# Jobs.


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """A job. `short_id`: unique among its owner's jobs. `reason`: of its last change. `routine_id`: the
    routine whose work it is. `missing_grants`: the grants that refused calls lacked, each whole and exact.
    `project`: the directory of the workspace that it works on a copy of, in a container; null: it works on
    the host. `mode`: "worker", or the agent CLI that works inside; `image`: chosen for it, null for the
    configured one. `digest`: of the changes that its owner may accept. Times are integer microseconds UTC."""

    id: str
    short_id: str
    title: str
    task: str
    state: str
    reason: str
    result: str | None
    tools: list[str]
    priority: int
    rounds: int
    max_iterations: int
    timeout_s: int
    max_tokens: int | None
    max_micro_usd: int | None
    last_tool: str | None
    input_tokens: int
    output_tokens: int
    cost_micro_usd: int
    repair_attempts: int
    thread_id: str | None
    parent: str | None
    routine_id: str | None
    missing_grants: list[str]
    project: str | None
    mode: str
    image: str | None
    digest: str | None
    created_at: int
    started_at: int | None
    ended_at: int | None

    @classmethod
    def of(cls, row: "JobRow") -> Self:
        """Return a stored job."""
        return cls(
            id=row.id,
            short_id=row.short_id,
            title=row.title,
            task=row.task,
            state=row.state.value,
            reason=row.reason,
            result=row.result,
            tools=list(row.scope),
            priority=row.priority,
            rounds=row.rounds,
            max_iterations=row.budget.iterations,
            timeout_s=row.budget.timeout_s,
            max_tokens=row.budget.tokens,
            max_micro_usd=row.budget.micro_usd,
            last_tool=row.last_tool,
            input_tokens=row.input_tokens,
            output_tokens=row.output_tokens,
            cost_micro_usd=row.cost_micro_usd,
            repair_attempts=row.repair_attempts,
            thread_id=row.thread_id,
            parent=row.parent,
            routine_id=row.routine_id,
            missing_grants=list(row.missing_grants),
            project=row.project,
            mode=row.mode,
            image=row.image,
            digest=row.digest,
            created_at=row.created_at,
            started_at=row.started_at,
            ended_at=row.ended_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEventView:
    """An event of a job: `(job, seq)` names it for good. `text`: a preview without credentials."""

    seq: int
    at: int
    kind: str
    name: str
    text: str
    detail: str

    @classmethod
    def of(cls, event: "JobEvent") -> Self:
        """Return a stored event."""
        return cls(
            seq=event.seq,
            at=event.at,
            kind=event.kind.value,
            name=event.name,
            text=event.text,
            detail=event.detail,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesView:
    """Changes to a project. `digest`: what a person accepts; `diff`: unified, for people."""

    digest: str
    diff: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SentFile:
    """A file that was sent, with its URL, which is null if it was not stored. `size_bytes` is null also if
    the file is written when it is downloaded."""

    name: str
    media_type: str
    size_bytes: int | None
    url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskView:
    """A subtask of a job. `task`: a preview of what it was given. Times are integer microseconds UTC."""

    id: str
    task: str
    state: str
    created_at: int
    ended_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPartsView:
    """The subtasks of a job, in order, and the files that it handed over."""

    subtasks: list[SubtaskView]
    files: list[SentFile]
