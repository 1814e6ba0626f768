"""`shell`: a command line in the workspace, recorded before it can act; nothing it starts outlives
it.

The hub ends everything a command started with the call, on this machine (see core.tools.child for start and
end) or wherever else commands are carried out.
"""

import asyncio
import os
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Protocol

from pydantic import Field

from core.errors import InvalidArguments, OutcomeUnknown, ToolFailed, ToolTimeout
from core.lazy import LazyModule
from core.safety.fencing import HeadAndTail
from core.safety.paths import PathGuard, file_digest, guard_of, outside_path
from core.safety.shell.lexer import Plan
from core.tool import (
    Arguments,
    CallContext,
    CallPlan,
    Data,
    Effect,
    Requirement,
    Risk,
    Tool,
    UseLimit,
    Workspace,
    use_limits,
)
from core.tools.child import Command, GatedChild, one_program
from core.tools.definition import tool
from core.tools.processes import IDEMPOTENCY_VARIABLE, MARKER, Orphans, process_info

if TYPE_CHECKING:
    from core.safety.shell import rating as rating_module
else:
    rating_module = LazyModule("core.safety.shell.rating")


OUTPUT_LIMIT_BYTES = 64 * 1024
SHOWN_EVERY_S = 0.25
TOOL_TIMEOUT_S = 120.0
LIMITS = use_limits(per_minute=30, per_hour=300)

_OWN_SHARE_OF_DEADLINE = 0.9
"""The command is stopped before its call is, so that its output so far can still be returned."""
_SHELLS = ("/bin/bash", "/bin/sh")

_SAFE_NAMES = frozenset(
    {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "TMP",
        "TEMP",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    }
)
_QUIET = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
"""Environment that keeps programs from waiting at a pager or a password question."""


class Commands(Protocol):
    """The place where commands are carried out. `environment`: their variables, without their call's id;
    `shell`: the words before a line that only a shell can carry out."""

    @property
    def environment(self) -> Mapping[str, str]: ...

    @property
    def shell(self) -> Sequence[str]: ...

    async def carry_out(
        self, command: Command, call: CallContext, output: HeadAndTail, limit_s: float
    ) -> int:
        """Record a command, then carry it out within a time limit; return its exit code.

        Raises ToolTimeout, ToolFailed (it did nothing, or was stopped) and OutcomeUnknown."""
        ...


class HostCommands:
    """Commands on this machine, as the hub's own user, each a child process of the hub. `environment`: the
    hub's own, of which commands see only the harmless names.

    Lines for a shell run under bash where there is one, or else under sh."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment: Mapping[str, str] = safe_environment(environment)
        self.shell = (next((path for path in _SHELLS if os.access(path, os.X_OK)), "/bin/sh"), "-c")
        self._orphans = Orphans()

    async def carry_out(
        self, command: Command, call: CallContext, output: HeadAndTail, limit_s: float
    ) -> int:
        child = GatedChild(command, output, call.idempotency_key, self._orphans)
        try:
            await child.listen()
            await call.process_started(process_info(child.pid))
            child.open_gate()
            in_time = await child.exits_within(limit_s)
        finally:
            await child.end()
        if not in_time:
            raise ToolTimeout(f"Stopped after {limit_s:g} s. Output so far:\n{output.text()}")
        if child.exit_code < 0:
            raise OutcomeUnknown(f"Killed by signal {-child.exit_code}. Output so far:\n{output.text()}")
        return child.exit_code


def shell_tool(
    environment: Mapping[str, str],
    limits: tuple[UseLimit, ...] = LIMITS,
    commands: Commands | None = None,
) -> Tool:
    """Return the tool, given the hub's own environment.

    `limits`: how often a person may use it; `commands`: where they are carried out, None for this machine.

    Plain lines are run from their argv, the rest by a shell.
    """
    runner = _Runner(commands or HostCommands(environment))

    @tool(
        name="shell",
        requirement=Requirement.ASK,
        effect=Effect.EFFECT,
        data=Data.SHARED,
        plan=runner.plan,
        timeout_s=TOOL_TIMEOUT_S,
        limits=limits,
    )
    async def run_shell(
        call: CallContext,
        command: Annotated[str, "the command line, as typed into bash", Field(min_length=1)],
        timeout_s: Annotated[int, "time limit in seconds", Field(gt=0, le=3600)] = 30,
    ) -> str:
        """Run a command line in the workspace and return its exit code and output.

        The command has no input and no terminal; stdout and stderr are combined. When the command ends,
        background processes it started are stopped as well.
        """
        return await runner.plan({"command": command, "timeout_s": timeout_s}, call.workspace).run(call)

    return run_shell


class _Runner:
    """Planner and runner of command lines."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._environment = commands.environment

    def plan(self, arguments: Arguments, workspace: Workspace) -> CallPlan:
        """Return the plan of a call in the workspace as it is.

        Raises InvalidArguments for a line that can't be carried out.
        """
        line, guard = str(arguments["command"]), guard_of(workspace)
        try:
            rating = rating_module.judge(line, guard, self._environment.get("HOME", ""))
        except ToolFailed as failed:
            there = workspace.root.is_dir()
            raise InvalidArguments(
                str(failed) if there else f"The workspace {workspace.root} is not a directory."
            ) from failed
        known = rating.level is rating_module.Level.LOW
        digests = rating.digests if known else {**named_files(line, rating.plan, guard), **rating.digests}
        plan = one_program(*self._commands.shell, line) if rating.plan is None else rating.plan
        return CallPlan(
            Risk(
                Requirement.ASK if known else Requirement.ALWAYS_ASK,
                pattern=rating.pattern,
                blocked=rating.blocked,
                reason=rating.reason,
                needs=rating.needs,
            ),
            run=partial(self._run, plan, float(arguments["timeout_s"])),
            shown=rating.shown,
            digests=digests,
        )

    async def _run(self, plan: Plan, timeout_s: float, call: CallContext) -> str:
        workspace = call.workspace
        found = outside_path(self._environment["PATH"], guard_of(workspace))
        environment = {
            **self._environment,
            "PATH": found or os.defpath,
            MARKER: call.idempotency_key,
            IDEMPOTENCY_VARIABLE: call.idempotency_key,
        }
        limit_s = min(timeout_s, call.deadline_s * _OWN_SHARE_OF_DEADLINE)
        command = Command(plan, str(workspace.root), environment, workspace.closed)
        output = _WatchedOutput(call.shows)
        watching = asyncio.create_task(output.shown(), name="output of a command")
        try:
            code = await self._commands.carry_out(command, call, output, limit_s)
        finally:
            watching.cancel()
        return f"exit code: {code}\n{output.text()}"


def safe_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the part of the hub's environment that a command may see: never a token, whatever its name."""
    kept = {k: v for k, v in environment.items() if k in _SAFE_NAMES or k.startswith("LC_")}
    return {"PATH": os.defpath, **kept, **_QUIET}


class _WatchedOutput(HeadAndTail):
    """The output, of which people also see the beginning while it grows."""

    def __init__(self, show: Callable[[bytes], None]) -> None:
        super().__init__(OUTPUT_LIMIT_BYTES)
        self._show = show
        self._new = bytearray()
        self._taken_bytes = 0

    def add(self, chunk: bytes) -> None:
        super().add(chunk)
        if self._taken_bytes <= OUTPUT_LIMIT_BYTES:
            self._new += chunk[:OUTPUT_LIMIT_BYTES]
            self._taken_bytes += len(chunk)

    async def shown(self) -> None:
        """Show what is new from time to time, until cancelled."""
        while True:
            await asyncio.sleep(SHOWN_EVERY_S)
            if self._new:
                new, self._new = bytes(self._new), bytearray()
                self._show(new)


# Consent to a command line without a rule: it may run any file it names, so consent covers
# their content.

MAX_FILES = 20
"""Consent is not bound to further files named on the line: reading them takes time."""
MAX_WORDS = 500
_SIGNS = "'\";&|()<>{}`$=, \t\n\r"


def named_files(line: str, plan: Plan | None, guard: PathGuard) -> Mapping[str, str]:
    """Return digests of the workspace's files that the words of a line name, by path.

    `plan`: None where only a shell can carry it out; words are then what stands between blanks and signs.
    """
    directory = "." if plan is None else plan.directory
    found: dict[str, str] = {}
    for word, _ in zip(_words(line, plan), range(MAX_WORDS), strict=False):
        path = word if word.startswith("/") else posixpath.join(directory, word)
        if guard.refusal(path) is None and (digest := file_digest(guard, path)) != "absent":
            found[guard.name(path)] = digest
            if len(found) == MAX_FILES:
                break
    return found


def _words(line: str, plan: Plan | None) -> Iterator[str]:
    if plan is None:
        yield from line.translate(dict.fromkeys(map(ord, _SIGNS), " ")).split()
        return
    for step in plan.steps:
        for program in step.programs:
            for word in program.argv:
                yield word
                yield from word.split("=")[1:]
