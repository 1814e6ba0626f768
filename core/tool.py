"""Tools: a typed function, and its declarations."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from core.errors import ToolDenied
from core.gates import Replies
from core.lazy import dataclass
from core.users import Principal

if TYPE_CHECKING:
    from core.web import Interceptor

TOOLS_PAUSED = "all tools are paused; the owner lets them run again with /unpause"
"""The reason a call is not run, for the model and its person."""


class Requirement(StrEnum):
    """The need of a person's approval before the tool runs."""

    NEVER = "never"
    ASK = "ask"
    ALWAYS_ASK = "always_ask"


class Effect(StrEnum):
    """The effect of running the tool twice. Only `EFFECT` calls can end as unknown (P5)."""

    NONE = "none"
    IDEMPOTENT = "idempotent"
    EFFECT = "effect"


class Data(StrEnum):
    """The data the tool can reach; a guest's list holds only `OWN` and `NONE`."""

    OWN = "own"
    SHARED = "shared"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """A child process of a call: enough to find exactly this process after the hub died.

    `host`: where it runs, as `host_id` names it; "": on this host.
    `started_ticks` is field 22 of /proc/PID/stat (clock ticks after boot): it differs for a reused
    pid.
    """

    pid: int
    process_group: int
    started_ticks: int
    host: str = ""


@dataclass(frozen=True, slots=True)
class Workspace:
    """The place a run's tools work in. `root`: their working directory, absolute; `outputs`: the directory
    for whole results that are too long for the model; `closed`: files and directories that stay closed to
    tools even inside `root`; `owner`: the user and group whose files new ones become, None for the hub's own;
    `sent_as`: what the path of a file begins with where it is sent."""

    root: Path
    outputs: Path
    closed: tuple[Path, ...] = ()
    owner: tuple[int, int] | None = None
    sent_as: str = ""

    def for_everyone(self, _: object) -> "Workspace":
        """Return this workspace, whoever asks."""
        return self


class CallContext(Protocol):
    """The context of a running tool."""

    @property
    def principal(self) -> Principal:
        """The person that the call is for."""
        ...

    @property
    def thread_id(self) -> str:
        """The thread the call belongs to."""
        ...

    @property
    def idempotency_key(self) -> str:
        """The call's own random id, created when the call was journaled.

        It is the same for every try of this call, also after a restart, and unique to this call.
        """
        ...

    @property
    def workspace(self) -> Workspace:
        """The place the run's tools work in."""
        ...

    @property
    def deadline_s(self) -> float:
        """Seconds left for the tool."""
        ...

    @property
    def interceptor(self) -> "Interceptor":
        """What every HTTP request of the tool passes; clients take it from here."""
        ...

    @property
    def process_started(self) -> Callable[[ProcessInfo], Awaitable[None]]:
        """A recorder of a child, to be awaited before the child can have any effect."""
        ...

    def shows(self, output: bytes) -> None:
        """Show people more of the running tool's output, as a program wrote it; secrets are taken out."""
        ...

    async def delegate(self, task: str, tools: Sequence[str] | None) -> str:
        """Carry out a subtask of this call's run and return its result. `tools`: those that it has of the
        run's; None for all that it can have. Raises ToolError."""
        ...


Subtask = Callable[[str, str, Sequence[str] | None], Awaitable[str]]
"""Carries out the subtask of the call with that id: its task and tools; see CallContext.delegate."""


@dataclass(frozen=True, slots=True)
class RunningCall:
    """A tool's view of its call; implements core.tool.CallContext."""

    principal: Principal
    thread_id: str
    idempotency_key: str
    workspace: Workspace
    deadline_s: float
    interceptor: "Interceptor"
    process_started: Callable[[ProcessInfo], Awaitable[None]]
    subtask: Subtask | None = None
    show: Callable[[bytes], None] | None = None

    def shows(self, output: bytes) -> None:
        if self.show is not None:
            self.show(output)

    async def delegate(self, task: str, tools: Sequence[str] | None) -> str:
        if self.subtask is None:
            raise ToolDenied("nothing can be delegated here")
        return await self.subtask(self.idempotency_key, task, tools)


Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Need:
    """One of several things a call needs consent to, all of which grants must cover.

    `name`: its exact name. `row`: the name of a wider class it belongs to, which a grant may name instead.
    `exactly`:
    only a grant of this very name covers it, never a pattern. `granted_only`: it runs files with content
    from anyone,
    so no preset, setting or scope lets it run, only a grant that covers it.
    """

    name: str
    row: str | None = None
    exactly: bool = False
    granted_only: bool = False


@dataclass(frozen=True, slots=True)
class Risk:
    """The effect of particular arguments on a tool's requirement.

    `pattern`: what an "always" for these arguments would cover; None where the whole tool would be.
    Several patterns
    stand on a line each. `blocked`: a hard block's reason; such a call is refused in every mode. `needs`:
    what grants
    must cover; () where that is the pattern alone. `by_owner`: only an owner may approve such a call.
    """

    requirement: Requirement
    pattern: str | None = None
    blocked: str | None = None
    reason: str = ""
    needs: tuple[Need, ...] = ()
    by_owner: bool = False


@dataclass(frozen=True, slots=True)
class CallPlan:
    """The plan of a call, worked out once from its arguments and the state of the workspace.

    It is what is judged, shown and bound, and `run` does exactly this. `shown`: the arguments as people
    see them, ""
    for the arguments as they are. `digests`: of the files it will change or run and of the expanded
    arguments, by name;
    consent covers them as they were then.
    """

    risk: Risk
    run: "Callable[[CallContext], Awaitable[str]]"
    shown: str = ""
    digests: "Mapping[str, str]" = field(default_factory=lambda: dict[str, str]())


@dataclass(frozen=True, slots=True)
class UseLimit:
    """Limit of uses of a tool with an effect, per person and period."""

    most: int
    window_s: int


def use_limits(*, per_minute: int, per_hour: int) -> tuple[UseLimit, ...]:
    """Return both limits; they hold across restarts."""
    return UseLimit(per_minute, 60), UseLimit(per_hour, 3600)


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the person a call is made for, and its answers."""

    text: str
    replies: Replies


FAILURES_UNTIL_LEFT_OUT = 5
"""The number of failures of a tool in a row after which unattended runs go without it."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the registry holds it. `parameters` is a JSON schema object; `run` gets validated arguments.

    `asks`: the call is a question, and its result is the person's answer; may raise InvalidArguments. Such a
    tool runs only where no person can be asked.
    `plan`: for a tool whose arguments mean something only together with the workspace's state; it replaces
    `rate`,
    `digests` and `run`, and such a tool's arguments carry risk.
    `rate` judges arguments (never state); None where arguments carry no risk. `digests`: of the files
    these arguments
    would change or run, by path; consent covers them as they were then. `timeout_s` None: the configured
    default.
    `objection`: why a call would fail as things are now, found before a person is asked. It returns None if
    nothing is known against it.
    `limits` apply to tools with an effect. `sensitive`: argument names never shown to people or hooks.
    `users`: ids of
    the people it was made ready for, who have it whatever their role's list says; None: the roles decide.
    `foreign`: another program carries it out, so that an error it reports is a failure of the tool. Of a tool
    of the hub only a defect is.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    validate: Callable[[Mapping[str, Any]], Arguments]
    run: Callable[[CallContext, Arguments], Awaitable[str]]
    requirement: Requirement = Requirement.ASK
    effect: Effect = Effect.EFFECT
    data: Data = Data.SHARED
    rate: Callable[[Arguments, Workspace], Risk] | None = None
    digests: Callable[[Arguments, Workspace], Mapping[str, str]] | None = None
    plan: Callable[[Arguments, Workspace], CallPlan] | None = None
    asks: Callable[[Arguments], Question] | None = None
    objection: Callable[[Principal, Arguments], Awaitable[str | None]] | None = None
    timeout_s: float | None = None
    limits: tuple[UseLimit, ...] = ()
    version: int = 1
    sensitive: frozenset[str] = field(default_factory=lambda: frozenset[str]())
    users: frozenset[str] | None = None
    foreign: bool = False
