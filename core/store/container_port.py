"""The store's units for jobs in containers: part of core.store.port.Store, with the same promises."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from core.errors import HubError
from core.events import ModelTrace
from core.gates import Gate
from core.job import WORKER, JobLimits, JobState
from core.lazy import dataclass
from core.messages import Message
from core.ports import OutboxRow
from core.store.routine_rows import StartedJob
from core.store.rows import NewCall
from core.store.unattended_port import JobEnd, JobEnded
from core.transcript import AssistantSaid, ToolResult, UserSaid


class OutOfOrder(HubError):
    """Error for a request of a worker that is neither its next one nor one that was answered."""


@dataclass(frozen=True, slots=True)
class ContainerRow:
    """What the store knows of a job's container. `number`: of its user and directory; `project`, `mode`,
    `image`: see NewJob; `token_hash`: None if no request of its is answered; `last_seq`: of its newest
    request, 0 for none; `complete`: this request said that its work is done."""

    number: int
    project: str
    token_hash: str | None
    last_seq: int
    complete: bool
    mode: str = WORKER
    image: str | None = None


NO_CONTAINER = ContainerRow(0, ".", None, 0, complete=False)


@dataclass(frozen=True, slots=True)
class StartedContainer(StartedJob):
    """A job in a container that this hub carries out."""

    row: ContainerRow = NO_CONTAINER


@dataclass(frozen=True, slots=True)
class Replied:
    """A reply of the model, with the calls that the worker makes. `answer`: for the worker, as JSON."""

    said: AssistantSaid
    calls: tuple[NewCall, ...]
    models: ModelTrace
    answer: str


@dataclass(frozen=True, slots=True)
class CallEnded:
    """The outcome of a call."""

    result: ToolResult


@dataclass(frozen=True, slots=True)
class Noted:
    """A note for the model."""

    text: str


@dataclass(frozen=True, slots=True)
class AskedForMessages:
    """The worker wants to hear the messages that wait. `texts`: the answer has their words."""

    texts: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """An answer that changes nothing of the conversation. `models`: what the job has used of them by now, if
    it used any for this; `calls`: a model asked for calls with it."""

    answer: str
    models: ModelTrace | None = None
    calls: bool = False


@dataclass(frozen=True, slots=True)
class SaidComplete:
    """The worker says that its work is done, which is true unless messages wait."""


CREDENTIAL = "credential"
"""The tool of grants for secrets; their pattern is the name of one."""


@dataclass(frozen=True, slots=True)
class AskedForCredential:
    """The worker asks for a secret by its name. The answer says whether the job may have it, or a person
    denied that, and never its value."""

    name: str


RequestEffect = Replied | CallEnded | Noted | AskedForMessages | Told | AskedForCredential | SaidComplete


@dataclass(frozen=True, slots=True)
class Answered:
    """The stored answer to a request. `joined`: the messages that were journalled with it, the first time."""

    answer: str
    joined: Sequence[UserSaid] = ()


@dataclass(frozen=True, slots=True)
class StoredChanges:
    """The changes of a job to its project. `files`: as JSON; `digest`: of these; `diff`: for people.
    `listed`: the files in words, a line each; only the gate about them has it."""

    files: str
    digest: str
    diff: str
    listed: str = ""


@dataclass(frozen=True, slots=True)
class UseSample:
    """What a container used until a moment. `at`: microseconds UTC; `cpu_us`: time of processors since its
    start; `memory_bytes`: without the cache of files; `disk_bytes`: of its copy of the project."""

    at: int
    cpu_us: int
    memory_bytes: int
    disk_bytes: int


@dataclass(frozen=True, slots=True)
class EgressUse:
    """A job's connections to one target, HOST:PORT, that came to one end. `refused`: why; None: they were
    made. `moved_bytes`: in both directions."""

    target: str
    refused: str | None
    connections: int
    moved_bytes: int


@dataclass(frozen=True, slots=True)
class ContainerUse:
    """The limits of a job's container, and what it used of them and reached. `cpus`: processors; `egress`:
    the targets that it may reach; `samples`: in order, further apart the longer it works."""

    image: str
    memory_mb: int
    disk_mb: int
    cpus: int
    pids: int
    egress: tuple[str, ...] = ()
    samples: tuple[UseSample, ...] = ()
    connections: tuple[EgressUse, ...] = ()


@dataclass(frozen=True, slots=True)
class ContainerEnd:
    """The end of a job in a container. `changes`: of its project's files; a gate then asks its owner."""

    end: JobEnd
    changes: StoredChanges | None = None


@dataclass(frozen=True, slots=True)
class AcceptedChanges:
    """Changes that a person accepted and that the project does not have yet."""

    job_id: str
    number: int
    project: str
    changes: str
    digest: str


class ContainerSecrets(Protocol):
    """The secrets of the vault that jobs in containers ask for by name."""

    async def ask_for_credential(self, gate: Gate, card: Message) -> Sequence[OutboxRow]:
        """Ask a job's owner whether it may have a secret, unless somebody was asked that, or it has asked for
        too many already, or its owner gives no secrets away. Return the cards."""
        ...

    async def is_asked_for(self, job_id: str, name: str) -> bool:
        """Return whether a person is being asked whether a job may have that secret."""
        ...

    async def granted_credentials(self, job_id: str) -> frozenset[str]:
        """Return the names of the secrets that a job may have now: by a grant, or by a person's approval."""
        ...

    async def credentials_given(self, job_id: str) -> Sequence[str]:
        """Return the names of the secrets that a job was given."""
        ...


class ContainerRequests(ContainerSecrets, Protocol):
    """The requests of programs in containers, each answered once."""

    async def answer_to(self, job_id: str, seq: int) -> str | None:
        """Return the answer that a request got; None if it got none yet."""
        ...

    async def answer_request(self, job_id: str, seq: int, effect: RequestEffect) -> Answered:
        """Store a request's effect and answer in one transaction, or return the answer that it got before.

        Raises StaleTurn, OutOfOrder."""
        ...


class ContainerChanges(Protocol):
    """What people accepted of what jobs in containers changed, and whose files are still needed."""

    async def accepted_changes(self) -> Sequence[AcceptedChanges]:
        """Return the changes that people accepted, until `settle_changes`."""
        ...

    async def settle_changes(self, job_id: str, problem: str | None) -> Sequence[OutboxRow]:
        """Record that the project has the changes, which makes the job accepted; or why it does not, so that
        its owner may try again or reject it."""
        ...

    async def container_states(self) -> Mapping[int, tuple[str, JobState]]:
        """Return the job and its state of every container number whose files may still be needed."""
        ...


class ContainerRecords(Protocol):
    """Facts about jobs in containers that people see: what they used, reached and changed."""

    async def record_use(self, job_id: str, use: ContainerUse) -> None:
        """Record what a job's container used so far."""
        ...

    async def use_of(self, job_id: str) -> ContainerUse | None:
        """Return what a job's container used; None if it has none, or it never began."""
        ...

    async def changes_of(self, job_id: str) -> StoredChanges | None:
        """Return the changes of a job to its project; None if there are none."""
        ...


class ContainerJobs(ContainerRequests, ContainerChanges, ContainerRecords, Protocol):
    """The units of jobs in containers."""

    async def begin_container_jobs(self, limits: JobLimits) -> Sequence[StartedContainer]:
        """Start pending jobs in containers while there are slots; see Jobs.begin_jobs."""
        ...

    async def adopt_container_job(self, job_id: str) -> StartedContainer | None:
        """Go on with a job of an ended hub, whose container may still work. Return None if this hub does not
        have it in hand, or it was cancelled: then its journal is closed."""
        ...

    async def arm_container(self, job_id: str, token_hash: str) -> None:
        """Let a job's worker be answered, if it knows the token. Raises StaleTurn."""
        ...

    async def end_container_job(self, job_id: str, end: ContainerEnd) -> JobEnded:
        """End a job's run as Jobs.end_job does; credentials that it was refused are among the grants it
        lacks. From then on no request of its worker is answered."""
        ...

    async def container_row(self, job_id: str) -> ContainerRow | None:
        """Return what is known of a job's container; None if it works on the host."""
        ...
