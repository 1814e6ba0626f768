"""`shell`: a command line in the workspace, recorded before it can act and ended with everything it began.

Nothing a command starts outlives the call (see core.tools.child for how it begins and ends).
"""

import os
import signal
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from core.errors import ToolTimeout
from core.safety.limits import HeadAndTail
from core.tool import Arguments, CallContext, Data, Effect, Requirement, Risk, Tool, UseLimit, use_limits
from core.tools.child import GatedChild
from core.tools.definition import tool
from core.tools.orphans import Orphans
from core.tools.processes import MARKER, process_info

if TYPE_CHECKING:
    from core.safety.paths import PathGuard
    from core.safety.shell import ClosedPlaces

OUTPUT_LIMIT_BYTES = 64 * 1024
TOOL_TIMEOUT_S = 120.0
LIMITS = use_limits(per_minute=30, per_hour=300)

_OWN_SHARE_OF_DEADLINE = 0.9
"""The command is stopped before its call is: then what it printed so far can still be told."""
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
"""Nobody can answer a pager or a password question."""


def shell_tool(
    environment: Mapping[str, str],
    workspace: Path | None = None,
    closed: Collection[Path] = (),
    limits: tuple[UseLimit, ...] = LIMITS,
) -> Tool:
    """The tool, given the hub's own environment; commands see only its harmless names. A command that may
    touch what is `closed` asks every time. `limits`: how often a person may use it.

    Commands run under bash where there is one, because command lines are rated by bash's grammar.
    """
    safe = safe_environment(environment)
    orphans = Orphans()
    shell = next((path for path in _SHELLS if os.access(path, os.X_OK)), "/bin/sh")

    def rate(arguments: Arguments) -> Risk:
        if workspace is None:
            return rate_shell(arguments)
        return rate_shell(arguments, _closed_places(workspace, closed, safe), guard(workspace))

    def scripts(arguments: Arguments) -> Mapping[str, str]:
        return digests_of_scripts(arguments, guard(workspace)) if workspace is not None else {}

    def guard(root: Path) -> "PathGuard":
        from core.safety.paths import PathGuard  # see rate_shell

        return PathGuard(root, closed)

    @tool(
        name="shell",
        requirement=Requirement.ASK,
        effect=Effect.EFFECT,
        data=Data.SHARED,
        rate=rate,
        digests=None if workspace is None else scripts,
        timeout_s=TOOL_TIMEOUT_S,
        limits=limits,
    )
    async def run_shell(
        call: CallContext,
        command: Annotated[str, "the command line, as typed into bash", Field(min_length=1)],
        timeout_s: Annotated[int, "stop it after so many seconds", Field(gt=0, le=3600)] = 30,
    ) -> str:
        """Run a command line in the workspace and return its exit code and output.

        It has no input and no terminal; stdout and stderr come back together. When the command ends,
        everything it left running in the background is ended too.
        """
        limit_s = min(float(timeout_s), call.deadline_s * _OWN_SHARE_OF_DEADLINE)
        argv = [shell, "-c", command]
        return await _run(call, argv, {**safe, MARKER: call.idempotency_key}, limit_s, orphans)

    return run_shell


def _closed_places(
    workspace: Path, closed: Collection[Path], environment: Mapping[str, str]
) -> "ClosedPlaces":
    from core.safety.shell import ClosedPlaces  # see rate_shell

    known = [str(path.absolute()) for path in (*closed, *(path.resolve() for path in closed))]
    return ClosedPlaces(str(workspace.absolute()), known, environment.get("HOME", ""))


def safe_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What a command may see of the hub's environment: never a token, whatever its name."""
    kept = {k: v for k, v in environment.items() if k in _SAFE_NAMES or k.startswith("LC_")}
    return {"PATH": os.defpath, **kept, **_QUIET}


def rate_shell(
    arguments: Arguments, closed: "ClosedPlaces | None" = None, guard: "PathGuard | None" = None
) -> Risk:
    """The risk of the command line a call asks for. With a `guard` what "always" would cover holds as long as
    the files that the line runs are what they are now."""
    from core.safety.shell import rate_command_line  # its parser: 1 MB, of no use before there is a command

    rating = rate_command_line(str(arguments.get("command", "")), closed)
    requirement = Requirement.ALWAYS_ASK if rating.high else Requirement.ASK
    pattern = rating.pattern
    if guard is not None and pattern is not None and rating.runs and not rating.high:
        from core.tools.builtin.scripts import as_they_are  # few lines run files

        pattern = as_they_are(pattern, rating.runs, guard)
    return Risk(requirement, pattern=pattern, blocked=rating.blocked, reason=rating.reason)


def digests_of_scripts(arguments: Arguments, guard: "PathGuard") -> Mapping[str, str]:
    """See scripts.digests_of."""
    from core.safety.shell import rate_command_line
    from core.tools.builtin.scripts import digests_of

    return digests_of(rate_command_line(str(arguments.get("command", ""))).runs, guard)


async def _run(
    call: CallContext, argv: list[str], environment: dict[str, str], limit_s: float, orphans: Orphans
) -> str:
    output = HeadAndTail(OUTPUT_LIMIT_BYTES)
    child = GatedChild(argv, environment, call.workspace, output, call.idempotency_key, orphans)
    try:
        await child.listen()
        await call.process_started(process_info(child.pid))
        child.open_gate()
        in_time = await child.exits_within(limit_s)
    finally:
        await child.end()
    if not in_time:
        raise ToolTimeout(f"Stopped after {limit_s:g} s. Output so far:\n{child.output.text()}")
    return _report(child.exit_code, child.output.text())


def _report(exit_code: int, output: str) -> str:
    if exit_code < 0:
        return f"ended by signal {-exit_code} ({signal.strsignal(-exit_code)})\n{output}"
    return f"exit code: {exit_code}\n{output}"
