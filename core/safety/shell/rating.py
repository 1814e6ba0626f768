"""What a command line would do, worked out once: its plan, whether a person must agree every time, and what a
grant for it is called.

A plain line is low where every program in it is covered by a row of the table (commands.toml); all others ask
every time. What is not plain, bash runs, and only where a person approved that exact text.
"""

import hashlib
import itertools
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from core.errors import ToolDenied
from core.safety.digests import file_digest
from core.safety.paths import PathGuard
from core.safety.places import Places
from core.safety.shell.expansion import expand
from core.safety.shell.harm import harm_of_argv, harm_of_text
from core.safety.shell.lexer import NotPlain, read_line
from core.safety.shell.plan import Plan, Program, Redirect, Stream, ToFile, ToNull
from core.safety.shell.table import Verdict, look_up
from core.safety.written_places import WrittenPlace, written_place
from core.tool import Need

EXPANDED = "the names that the wildcards stand for"


class Level(StrEnum):
    """Whether a grant can spare a person the question."""

    LOW = "low"
    ALWAYS_ASK = "always_ask"


@dataclass(frozen=True, slots=True)
class ShellRating:
    """`plan`: what to run; None for a line that only a shell can carry out.

    `reason`: why it needs a person. `needs`: what grants must cover. `pattern`: what "Always" would record,
    a pattern a line; None where it is not offered. `blocked`: why it is refused in every mode. `digests`: of
    the files it runs or writes and of the names its wildcards stand for; consent is bound to them. `shown`:
    the line as it will be run, where that is not what was written; "" otherwise.
    """

    level: Level
    plan: Plan | None
    needs: tuple[Need, ...]
    pattern: str | None = None
    blocked: str | None = None
    reason: str = ""
    digests: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())
    shown: str = ""


@dataclass(frozen=True, slots=True)
class _Judged:
    """One program of a plan. `pattern`: what "Always" would record; None where it is not offered. `reads`: it
    never changes what a program could run or obey."""

    need: Need
    pattern: str | None
    reasons: tuple[str, ...]
    digests: Mapping[str, str]
    reads: bool


def judge(text: str, guard: PathGuard, home: str = "") -> ShellRating:
    """Return what a command line means in the workspace as it is now. `home`: the home directory of what it
    runs. Raises ToolFailed, mostly LineFails, where it can't be carried out; the text is for the model."""
    line = read_line(text)
    if isinstance(line, NotPlain):
        return _not_plain(text, line.reason)
    try:
        plan = expand(line, guard)
    except ToolDenied as denied:
        return _not_plain(text, f"names a place that is not open to it: {denied.reason}")
    wild = any(word.wild for pipeline in line.pipelines for one in pipeline.commands for word in one.words)
    return _plain(plan, Places(guard, plan.directory), home, shown=" ".join(_rendered(plan)) if wild else "")


def _not_plain(text: str, reason: str) -> ShellRating:
    harm = harm_of_text(text)
    told = f"It is refused: {harm}." if harm else f"This line {reason}."
    needs = (Need(text, exactly=True),)
    return ShellRating(Level.ALWAYS_ASK, None, needs, blocked=harm and f"{harm}.", reason=told)


def _plain(plan: Plan, places: Places, home: str, shown: str) -> ShellRating:
    programs = [program for step in plan.steps for program in step.programs]
    harm = next((found for program in programs if (found := harm_of_argv(program.argv))), None)
    judged = [_judged(program, places, home) for program in programs]
    reasons = dict.fromkeys(
        [*(reason for one in judged for reason in one.reasons), *_overtaken(plan, judged)]
    )
    told = f"It is refused: {harm}." if harm else "; ".join(reasons)
    digests = {path: digest for one in judged for path, digest in one.digests.items()}
    if shown:
        digests[EXPANDED] = hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()
    patterns = list(dict.fromkeys(one.pattern or "" for one in judged))
    return ShellRating(
        Level.ALWAYS_ASK if told else Level.LOW,
        plan,
        tuple(dict.fromkeys(one.need for one in judged)),
        pattern="\n".join(patterns) if all(patterns) and not told else None,
        blocked=harm and f"{harm}.",
        reason=f"{told.rstrip('.')}." if told else "",
        digests=digests,
        shown=shown,
    )


def _overtaken(plan: Plan, judged: Sequence[_Judged]) -> Iterator[str]:
    """Why what was judged may not be what runs: files that a program runs are looked at before the line, so
    whatever runs before it or beside it must not change any."""
    changes_before, rest = False, iter(judged)
    for step in plan.steps:
        beside = list(itertools.islice(rest, len(step.programs)))
        changing = sum(not one.reads for one in beside)
        for one in beside:
            if one.need.granted_only and (changes_before or changing > (not one.reads)):
                name = one.need.name.partition(" [")[0]
                yield f"what {name} runs may be changed by another part of the line"
        changes_before |= changing > 0


def _judged(program: Program, places: Places, home: str) -> _Judged:
    verdict = look_up(program.argv, places, home)
    reasons = [verdict.reason] if verdict.reason else []
    digests = dict(verdict.runs)
    whole, read_only, reads = Places(places.guard, "."), True, verdict.reads
    files = [(one.stream, one.target) for one in program.redirects if isinstance(one.target, ToFile)]
    for stream, target in files:
        if stream is Stream.STDIN:
            reason = whole.file(target.path)
        else:
            reason = whole.written(target.path, replaced=not target.append)
            reads = False
            read_only &= written_place(places.guard.name(target.path)) is WrittenPlace.DOCUMENT
            if places.guard.name(target.path) in verdict.runs:
                reason = reason or f"{target.path} is among what it runs"
            if not target.append:  # what is there stays, whoever else adds to it
                digests[target.path] = file_digest(places.guard, target.path)
        reasons += [reason] if reason else []
    name = _name(program, verdict, places.directory)
    row = None if files or verdict.exact else verdict.row
    pattern = (row or (name if name.isprintable() else None)) if read_only and not reasons else None
    return _Judged(Need(name, row, granted_only=bool(verdict.runs)), pattern, tuple(reasons), digests, reads)


def _name(program: Program, verdict: Verdict, directory: str) -> str:
    """What a grant for exactly this program is called: files it is redirected to or from come first, so that
    no pattern that begins with a program covers them; then its words; then in brackets, which no word can
    forge, what it runs, and where."""
    files = [_redirect(one) for one in program.redirects if isinstance(one.target, ToFile)]
    words = [shlex.quote(word) for word in program.argv]
    if words[0].startswith("@"):  # so begin the names of rows
        words[0] = f"'{words[0]}'"
    marks: list[str] = []
    if verdict.runs:
        together = "\n".join(f"{path}\0{digest}" for path, digest in sorted(verdict.runs.items()))
        there = ", ".join(path for path, digest in verdict.runs.items() if digest != "absent")
        marks.append(f"[{there} unchanged, {hashlib.sha256(together.encode()).hexdigest()}]")
    if directory != ".":
        marks.append(f"[in {shlex.quote(directory)}]")
    return " ".join([*files, *words, *marks])


def _rendered(plan: Plan) -> Iterator[str]:
    """The plan as words of a shell."""
    if plan.directory != ".":
        yield from ("cd", shlex.quote(plan.directory), "&&")
    for number, step in enumerate(plan.steps):
        yield from [step.joiner.value] if number else []
        for position, program in enumerate(step.programs):
            yield from ["|"] if position else []
            yield from map(shlex.quote, program.argv)
            yield from map(_redirect, program.redirects)


def _redirect(redirect: Redirect) -> str:
    match redirect.target:
        case ToFile(path, append):
            return f"{redirect.stream}{'>' if append else ''} {shlex.quote(path)}"
        case ToNull():
            return f"{redirect.stream} /dev/null"
        case _:
            return "2>&1"
