"""Jobs as values: their states and the changes between these, budgets, and dispatches.

A job is a run without a person in the loop. Times are integer microseconds UTC.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from core.errors import HubError, IllegalChange
from core.lazy import dataclass
from core.messages import Address


class JobState(StrEnum):
    """A job's state. ACCEPTED, FAILED and CANCELLED are final."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    SUBMITTED = "submitted"
    ACCEPTED = "accepted"
    FAILED = "failed"
    STUCK = "stuck"
    CANCELLED = "cancelled"


EDGES: Mapping[JobState, frozenset[JobState]] = {
    JobState.PENDING: frozenset({JobState.IN_PROGRESS, JobState.FAILED, JobState.CANCELLED}),
    JobState.IN_PROGRESS: frozenset(
        {JobState.COMPLETED, JobState.FAILED, JobState.STUCK, JobState.CANCELLED}
    ),
    JobState.COMPLETED: frozenset({JobState.SUBMITTED, JobState.FAILED}),
    JobState.SUBMITTED: frozenset({JobState.ACCEPTED, JobState.FAILED}),
    JobState.STUCK: frozenset({JobState.IN_PROGRESS, JobState.FAILED, JobState.CANCELLED}),
    JobState.ACCEPTED: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.CANCELLED: frozenset(),
}
"""Every change there is. `completed → completed` is no change: it records nothing."""

WORKING = frozenset({JobState.PENDING, JobState.IN_PROGRESS, JobState.STUCK})
"""The states of jobs whose work isn't done."""


class NoSuchJob(HubError):
    """Error for a job that the person does not have."""


class JobRefused(HubError):
    """Error for a job that can't be dispatched, or for an operation on one; the text says why."""


def changes(state: JobState, to: JobState) -> bool:
    """Return whether going from one state to the other is a change to record. Raises IllegalChange."""
    if state is to is JobState.COMPLETED:
        return False
    if to not in EDGES[state]:
        raise IllegalChange(f"Cannot transition from {state} to {to}")
    return True


DEFAULT_ITERATIONS = 50
MAX_ITERATIONS = 500
"""The hard ceiling of a job's rounds."""
MAX_REPAIRS = 3
"""How often a job that is stuck is taken up again."""
MAX_QUEUED = 1_000
MAX_QUEUED_EACH = 200
"""The limits of jobs that wait for a slot, of all people and of each."""
MAX_TASK_CHARS = 20_000
TITLE_CHARS = 80
PREVIEW_CHARS = 500
"""The limit on what an event shows of a text."""


@dataclass(frozen=True, slots=True)
class JobBudget:
    """The limits of one job, fixed when it is dispatched. `tokens`, `micro_usd`: None for no limit.

    `day_tokens`, `day_micro_usd`: what its routine's budget of the day had left then; None for no limit."""

    iterations: int = DEFAULT_ITERATIONS
    timeout_s: int = 3600
    tokens: int | None = None
    micro_usd: int | None = None
    day_tokens: int | None = None
    day_micro_usd: int | None = None


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A call that a job's plan names. `arguments`: its JSON text; `reasoning`: for people."""

    tool: str
    arguments: str
    reasoning: str


MAX_PLAN_STEPS = 20


@dataclass(frozen=True, slots=True)
class JobPlan:
    """A plan of a job: calls that are made in order, without the model in between. `confidence`: 0 to 1."""

    goal: str
    steps: tuple[PlanStep, ...]
    confidence: float

    @property
    def percent(self) -> str:
        """The confidence in words."""
        return f"{self.confidence:.0%} confidence"


class PlanState(StrEnum):
    """The state of a job's plan. ENDED: its steps were made, it was abandoned, or there was none to use."""

    RUNNING = "running"
    ENDED = "ended"


WORKER = "worker"
"""The mode of a job whose model is asked by the hub's own worker."""


@dataclass(frozen=True, slots=True)
class JobOrder:
    """A job as it is asked for.

    `tools`: those it may use besides the ones that need no approval.
    `priority`: higher ones of the same person start first.
    `project`: the directory of the workspace that it is to work on a copy of, in a container; None: it is to
    work on the host. A job that is to work in a container never works on the host.
    `mode`: what works in the container: WORKER, or the name of an agent CLI.
    `image`: of the container, one of those that the operator named; None: the usual one."""

    task: str
    tools: Sequence[str] = ()
    priority: int = 0
    project: str | None = None
    mode: str = WORKER
    image: str | None = None


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to be dispatched.

    `key`: unique among its owner's jobs; repeated, it names the job that is there.
    `scope`: the tools that its runs may call, fixed from here on.
    `thread_id`: the conversation that hears of it; None for none, or for their conversation for notices.
    `told_in`: the channel of that conversation, and its address there.
    `question`: the model's first message; None for the task.
    `priority`: higher ones of the same person start first.
    `parent`: the id of the job that this one repeats.
    `review`: its owner accepts or rejects the result.
    `name`: its title; empty for the beginning of its task.
    `run_id`: the routine's run whose work it is.
    `project`: the directory of the workspace that it works on a copy of, in a container; None: it works on
    the host. `mode`: what works in the container: WORKER, or the name of an agent CLI; `image`: of the
    container; None: the configured one."""

    id: str
    owner_id: str
    key: str
    task: str
    scope: tuple[str, ...]
    budget: JobBudget = JobBudget()
    thread_id: str | None = None
    question: str | None = None
    priority: int = 0
    parent: str | None = None
    actor: str | None = None
    review: bool = False
    name: str = ""
    run_id: str | None = None
    project: str | None = None
    mode: str = WORKER
    image: str | None = None
    told_in: tuple[str, Address] | None = None

    @property
    def title(self) -> str:
        """Its name, or the beginning of its task, on one line."""
        line = " ".join((self.name or self.task).split())
        return line if len(line) <= TITLE_CHARS else f"{line[: TITLE_CHARS - 1]}…"


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as stored. `short_id`: unique among its owner's jobs.

    `reason`: of its last change. `result`: its last words, also partial ones.
    `rounds`: of the model so far. `thread_id`: see NewJob.
    `monitor_menu`: the id in the buttons of the message that shows it as it runs.
    `active_at`: the time of its last recorded step.
    `plan_state`: None before the model was asked for a plan.
    `origin`: the id of the first in a series of repeated jobs, which share its grants.
    `routine_id`: the routine whose work it is, and whose grants it has instead.
    `missing_grants`: the grants its refused calls lacked, each a tool's name, a space and a pattern.
    `project`, `mode`, `image`: see NewJob. `digest`: of the changes to its files that its owner may
    accept."""

    id: str
    short_id: str
    owner_id: str
    key: str
    title: str
    task: str
    state: JobState
    scope: tuple[str, ...]
    budget: JobBudget
    priority: int
    thread_id: str | None
    parent: str | None
    repair_attempts: int
    reason: str
    result: str | None
    input_tokens: int
    output_tokens: int
    cost_micro_usd: int
    created_at: int
    started_at: int | None
    ended_at: int | None
    rounds: int = 0
    last_tool: str | None = None
    review: bool = False
    monitor_menu: str | None = None
    active_at: int | None = None
    plan: JobPlan | None = None
    plan_state: PlanState | None = None
    origin: str = ""
    routine_id: str | None = None
    missing_grants: tuple[str, ...] = ()
    project: str | None = None
    digest: str | None = None
    mode: str = WORKER
    image: str | None = None


class JobEventKind(StrEnum):
    """A kind of event in a job's journal."""

    MESSAGE = "message"
    TOOL_USE = "tool_use"
    TOOL_RESULT = "tool_result"
    STATUS = "status"
    RESULT = "result"


@dataclass(frozen=True, slots=True)
class JobEvent:
    """A line of a job's journal; `(job, seq)` names it for good.

    `name`: of a message, who speaks; of a call or result, the tool; of a status, the new state; of the job's
    result, the state in which the work ended.
    `detail`: of a result of a call, its status; of a status, who made the change."""

    seq: int
    at: int
    kind: JobEventKind
    name: str
    text: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class JobLimits:
    """The configured limits: jobs that run at a time, and those of one person."""

    max_parallel: int = 5
    max_per_user: int = 5


@dataclass(frozen=True, slots=True)
class RepairTerms:
    """When a job is stuck, and how often it is taken up again.

    `model_silence_s`: the longest that a model which is at work says nothing; a tool's call has its own time
    limit. `after_s`: how long after these limits a job is stuck that shows no sign of life."""

    model_silence_s: float
    most: int = MAX_REPAIRS
    after_s: float = 300
