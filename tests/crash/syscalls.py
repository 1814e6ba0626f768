"""Reads what `strace -f -y` wrote: system calls in the order they began and ended, over all threads."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

TRACED = ("fdatasync", "fsync", "pwrite64", "write", "sendto", "sendmsg", "writev")

_CALL = re.compile(r"(?P<thread>\d+) +(?P<name>\w+)\(\d+<(?P<target>[^>]*)>(?P<rest>.*)")
_RESUMED = re.compile(r"(?P<thread>\d+) +<\.\.\. (?P<name>\w+) resumed>")
_UNFINISHED = "<unfinished ...>"


@dataclass(frozen=True, slots=True)
class Syscall:
    """One call on a file or socket. `data`: what it wrote, as strace shows it. `began` and `ended` are places
    in the trace: a call that ended at a lower place than another began was over before it."""

    name: str
    target: str
    data: str
    began: int
    ended: int


def command(output: Path) -> list[str]:
    """Return what to put in front of a command to trace it and everything it starts."""
    shown = ("-f", "-y", "-s", "16384")
    return ["strace", *shown, "-e", f"trace={','.join(TRACED)}", "-o", str(output), "--"]


def read(lines: Iterable[str]) -> list[Syscall]:
    """The calls, in the order they ended; what never ended is left out."""
    return sorted(_read(lines), key=lambda call: call.ended)


def _read(lines: Iterable[str]) -> Iterator[Syscall]:
    begun: dict[tuple[str, str], Syscall] = {}
    for place, line in enumerate(lines):
        if resumed := _RESUMED.match(line):
            call = begun.pop((resumed["thread"], resumed["name"]), None)
            if call is not None:
                yield replace(call, ended=place)
        elif found := _CALL.match(line):
            call = Syscall(found["name"], found["target"], found["rest"], place, place)
            if line.rstrip().endswith(_UNFINISHED):
                begun[found["thread"], found["name"]] = call
            else:
                yield call
