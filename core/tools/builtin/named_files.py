"""Consent to a command line that no rule knows: it may run any file it names, so it covers what they hold."""

import posixpath
from collections.abc import Iterator, Mapping

from core.safety.digests import file_digest
from core.safety.paths import PathGuard
from core.safety.shell.plan import Plan

MAX_FILES = 20
"""More files that one line names are not bound to consent: reading them takes time."""
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
