"""A plain command line as it is judged, shown, bound and run: programs with their argv, and no shell."""

from dataclasses import dataclass
from enum import StrEnum


class Joiner(StrEnum):
    """When a step runs, given the exit status of the step that ran last; the first step is `THEN`."""

    THEN = ";"
    AND = "&&"
    OR = "||"


class Stream(StrEnum):
    """A standard stream of a program, as redirects name it."""

    STDIN = "<"
    STDOUT = ">"
    STDERR = "2>"


@dataclass(frozen=True, slots=True)
class ToFile:
    """A file of the workspace, named relative to it; opened by us when the program starts."""

    path: str
    append: bool = False


@dataclass(frozen=True, slots=True)
class ToNull:
    """`/dev/null`."""


@dataclass(frozen=True, slots=True)
class ToStdout:
    """`2>&1`: wherever standard output leads at that point of the redirects."""


@dataclass(frozen=True, slots=True)
class Redirect:
    """One redirect. A program's redirects apply in order, left to right."""

    stream: Stream
    target: ToFile | ToNull | ToStdout


@dataclass(frozen=True, slots=True)
class Program:
    """One program to start. `argv[0]` is its name as written; it is looked up on PATH, never as a builtin."""

    argv: tuple[str, ...]
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A pipeline of one or more programs; its exit status is that of its last program."""

    joiner: Joiner
    programs: tuple[Program, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The expanded line. `directory`: where all programs run, relative to the workspace (`.` for itself)."""

    steps: tuple[Step, ...]
    directory: str = "."
