"""From a plain line to the plan that is judged, shown and run: wildcards become names of the workspace."""

import posixpath
from dataclasses import replace

from core.safety.paths import PathGuard
from core.safety.shell.lexer import Line
from core.safety.shell.plan import Plan, Program, Redirect, Step, ToFile
from core.safety.wildcards import Names


def expand(line: Line, guard: PathGuard) -> Plan:
    """Return the plan of the line. Raises LineFails where a wildcard stands for nothing or for too much, and
    ToolFailed or ToolDenied for a path that leads nowhere or out of the workspace."""
    directory = guard.name(line.directory or ".")
    with guard.listing(directory):
        pass
    names = Names(guard, directory)
    steps = tuple(
        Step(
            pipeline.joiner,
            tuple(
                Program(
                    tuple(text for word in command.words for text in names.of(word.text, word.wild)),
                    tuple(_placed(redirect, directory, guard) for redirect in command.redirects),
                )
                for command in pipeline.commands
            ),
        )
        for pipeline in line.pipelines
    )
    return Plan(steps, directory)


def _placed(redirect: Redirect, directory: str, guard: PathGuard) -> Redirect:
    if not isinstance(redirect.target, ToFile):
        return redirect
    path = guard.name(posixpath.join(directory, redirect.target.path))
    return replace(redirect, target=replace(redirect.target, path=path))
