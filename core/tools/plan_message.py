"""The plan of a command as the hub writes it to the leader that carries it out (core.tools.leader)."""

import marshal
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from core.lazy_dataclass import dataclass
from core.safety.shell.lexer import Joiner, Plan, Program, Redirect, Step, ToFile, ToNull, ToStdout

if TYPE_CHECKING:
    from core.tools.leader import Job

MARSHAL_VERSION = 4
"""Read by every Python that a leader runs on, which in a container is not the hub's."""


@dataclass(frozen=True, slots=True)
class Command:
    """A plan and its surroundings. `closed`: paths that no redirect opens, see PathGuard."""

    plan: Plan
    workspace: str
    environment: Mapping[str, str]
    closed: Collection[Path] = ()


def one_program(*argv: str) -> Plan:
    """Return the plan that runs only this program."""
    return Plan((Step(Joiner.THEN, (Program(argv),)),))


def encode(command: Command) -> bytes:
    """Return the message. Raises ValueError for a value that cannot be passed to a program."""
    from core.tools.leader import LENGTH_BYTES  # with its imports: needed only for a command

    plan = command.plan
    job: Job = (
        tuple((step.joiner.value, tuple(map(_program, step.programs))) for step in plan.steps),
        _bytes(plan.directory),
        _bytes(command.workspace),
        tuple(os.fsencode(path) for path in command.closed),
        {_bytes(name): _bytes(value) for name, value in command.environment.items()},
    )
    message = marshal.dumps(job, MARSHAL_VERSION)
    return len(message).to_bytes(LENGTH_BYTES, "big") + message


def _program(program: Program) -> tuple[tuple[bytes, ...], tuple[tuple[str, str, bytes], ...]]:
    return tuple(map(_bytes, program.argv)), tuple(map(_redirect, program.redirects))


def _redirect(redirect: Redirect) -> tuple[str, str, bytes]:
    match redirect.target:
        case ToFile(path, append):
            return redirect.stream.value, "append" if append else "file", _bytes(path)
        case ToNull():
            return redirect.stream.value, "null", b""
        case ToStdout():
            return redirect.stream.value, "stdout", b""
        case _:
            assert_never(redirect.target)


def _bytes(text: str) -> bytes:
    """Return text in the system's encoding, independent of the leader's locale."""
    if "\0" in text:
        raise ValueError("it contains a NUL character")
    try:
        return os.fsencode(text)
    except UnicodeEncodeError:
        raise ValueError("it contains a lone surrogate") from None
