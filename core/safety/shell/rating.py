"""Rating of command lines, worked out once: the plan, whether a person must approve every time, and the name
of a
grant.

A plain line is low where every program in it is covered by a row of the table (commands.toml); all others ask
every time. Bash runs a line that is not plain, and only where a person approved that exact text.
"""

import hashlib
import itertools
import posixpath
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum

from core.errors import ToolDenied
from core.lazy import dataclass
from core.safety.path_names import WrittenPlace, written_place
from core.safety.paths import PathGuard, file_digest
from core.safety.places import Names, Places
from core.safety.shell.lexer import (
    Line,
    NotPlain,
    Plan,
    Program,
    Redirect,
    Step,
    Stream,
    ToFile,
    ToNull,
    read_line,
)
from core.safety.shell.table import Verdict, look_up
from core.tool import Need

# From a plain line to the plan that is judged, shown and run: wildcards become workspace names.


def expand(line: Line, guard: PathGuard) -> Plan:
    """Return the plan of the line. Raises LineFails if a wildcard stands for no names or too many, and
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


# Lines refused in every mode: erasing the system, a home or a disk, or multiplying without end.
#
# Exact for the argv of a plain line. For other lines it is a scan of words, a seat belt: the real protection
# there
# is that a person approves that exact text each time.

_DELETES = "it would delete the system or a home directory"
_OPENS = "it would change the permissions of the whole system"
_DISK = "it would erase a disk"
_BOMB = "it would start endless copies of itself"

_OF_SYSTEM = frozenset([
    "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "media", "mnt", "opt", "proc",
    "root", "run", "sbin", "srv", "sys", "usr", "var", "Applications", "Library", "System", "Users",
])  # fmt: skip
_DISKS = ("/dev/sd", "/dev/hd", "/dev/vd", "/dev/xvd", "/dev/nvme", "/dev/mmcblk", "/dev/disk", "/dev/dm-")
_ERASERS = frozenset({"mkfs", "mke2fs", "wipefs", "blkdiscard"})
_GO_ON = frozenset(
    {"sudo", "doas", "env", "nohup", "nice", "timeout", "time", "exec", "command", "busybox", "then", "do"}
)
_BEFORE_PROGRAM = frozenset("-0123456789")
"""First characters of options, numbers and durations before the program that such a program starts."""
_HERE = frozenset({".", "./", "*", "./*", ".*"})
_BETWEEN = ";|&\n(){}"


def harm_of_argv(argv: Sequence[str]) -> str | None:
    """Return the reason a program with these words is refused; None if it is not."""
    start = 0
    while start < len(argv) and (argv[start] in _GO_ON or (start and argv[start][:1] in _BEFORE_PROGRAM)):
        start += 1
    if start == len(argv):
        return None
    program, words = posixpath.basename(argv[start]), argv[start + 1 :]
    if program in _ERASERS or program.startswith("mkfs."):
        return _DISK
    if program in ("shred", "tee", "cp", "dd", "mv") and any(_is_disk(word) for word in words):
        return None if program == "dd" and not any(_is_disk(w) for w in words if w[:3] == "of=") else _DISK
    if not any(map(_is_vital, words)):
        return None
    match program:
        case "rm" | "mv" if program == "mv" or _recursive(words, "rR"):
            return _DELETES
        case "find" if {"-delete", "-exec"} & set(words):
            return _DELETES
        case "chmod" | "chown" | "chgrp" if _recursive(words, "R"):
            return _OPENS
        case _:
            return None


def harm_of_text(text: str) -> str | None:
    """Return the reason a line that is not plain is refused; None if its words give none."""
    squeezed = "".join(text.split())
    if _is_bomb(squeezed):
        return _BOMB
    before_texts = text.replace("${HOME}", "$HOME").partition("<<")[0]
    at_vital = False
    for part in before_texts.translate({ord(one): "\n" for one in _BETWEEN}).split("\n"):
        written, target, output = part.partition(">")
        words = [_bare(word) for word in written.split()]
        if words[:1] == ["cd"] and any(map(_is_vital, words[1:])):
            at_vital = True
        if at_vital and words[:1] == ["rm"] and _recursive(words, "rR") and _HERE & set(words):
            return _DELETES
        if target and any(map(_is_disk, map(_bare, output.split()))):
            return _DISK
        if (harm := harm_of_argv(words)) is not None:
            return harm
    return None


def _recursive(words: Sequence[str], letters: str) -> bool:
    return any(
        word == "--recursive" or (word[:1] == "-" and word[1:2] != "-" and set(letters) & set(word))
        for word in words
    )


def _is_disk(word: str) -> bool:
    return word.removeprefix("of=").startswith(_DISKS)


def _is_vital(word: str) -> bool:
    """Return whether it is the root, a system directory, all homes, or a home."""
    if word in ("~", "$HOME") or not word.startswith("/"):
        return word in ("~", "$HOME")
    parts = [part for part in posixpath.normpath(word.removesuffix("*") or "/").split("/") if part]
    return not parts or (parts[0] in _OF_SYSTEM and len(parts) <= (2 if parts[0] in ("home", "Users") else 1))


def _bare(word: str) -> str:
    """Return the word without quotes, backslashes, a final `/*` and final slashes."""
    bare = word.translate({ord(one): None for one in "'\"\\"}).removesuffix("/*")
    return bare.rstrip("/") or ("/" if bare or word[:2] == "/*" else bare)


def _is_bomb(squeezed: str) -> bool:
    """Return whether it is `f(){f|f&};f`, under any name."""
    head, found, tail = squeezed.partition("(){")
    return bool(found) and (name := head.rpartition(";")[2]) != "" and tail.startswith(f"{name}|{name}&")


EXPANDED = "the names that the wildcards stand for"


class Level(StrEnum):
    """The need of consent for a command: whether a grant can replace the question."""

    LOW = "low"
    ALWAYS_ASK = "always_ask"


@dataclass(frozen=True, slots=True)
class ShellRating:
    """A rating. `plan`: what to run; None for a line that only a shell can carry out.

    `reason`: why it needs a person. `needs`: what grants must cover. `pattern`: what "Always" would record,
    a pattern a line; None where it is not offered. `blocked`: why it is refused in every mode. `digests`: of
    the files it runs or writes and of the names its wildcards stand for; consent is bound to them. `shown`:
    the line as it will be run, if it differs from the written one; "" otherwise.
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
    """One judged program of a plan. `pattern`: the pattern that "Always" would record; None if it is
    not offered. `reads`: it never changes files that a program could run or obey."""

    need: Need
    pattern: str | None
    reasons: tuple[str, ...]
    digests: Mapping[str, str]
    reads: bool


def judge(text: str, guard: PathGuard, home: str = "") -> ShellRating:
    """Return the rating of a command line in the workspace as it is now. `home`: the home directory of
    its programs.

    Raises ToolFailed, mostly LineFails, if it cannot be carried out; the text is for the model."""
    line = read_line(text)
    if isinstance(line, NotPlain):
        return _not_plain(text, line.reason)
    try:
        plan = expand(line, guard)
    except ToolDenied as denied:
        return _not_plain(text, f"names a path that is off limits: {denied.reason}")
    wild = any(word.wild for pipeline in line.pipelines for one in pipeline.commands for word in one.words)
    return _plain(plan, Places(guard, plan.directory), home, shown=" ".join(_rendered(plan)) if wild else "")


def _not_plain(text: str, reason: str) -> ShellRating:
    harm = harm_of_text(text)
    told = f"Blocked: {harm}." if harm else f"This line {reason}."
    needs = (Need(text, exactly=True),)
    return ShellRating(Level.ALWAYS_ASK, None, needs, blocked=harm and f"{harm}.", reason=told)


def _plain(plan: Plan, places: Places, home: str, shown: str) -> ShellRating:
    programs = [program for step in plan.steps for program in step.programs]
    harm = next((found for program in programs if (found := harm_of_argv(program.argv))), None)
    judged = [_judged(program, places, home) for program in programs]
    reasons = dict.fromkeys(
        [*(reason for one in judged for reason in one.reasons), *_overtaken(plan, judged)]
    )
    told = f"Blocked: {harm}." if harm else "; ".join(reasons)
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
    """Yield reasons the judged line may not be the one that runs: the files a program runs are checked before
    the line, so
    programs before it or in the same pipeline must not change them."""
    changes_before, rest = False, iter(judged)
    for step in plan.steps:
        beside = list(itertools.islice(rest, len(step.programs)))
        changing = sum(not one.reads for one in beside)
        for one in beside:
            if one.need.granted_only and (changes_before or changing > (not one.reads)):
                name = one.need.name.partition(" [")[0]
                yield f"another part of the line may change what {name} runs"
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
                reason = reason or f"it writes to {target.path}, which it also runs"
            if not target.append:  # existing content stays, whatever others add to it
                digests[target.path] = file_digest(places.guard, target.path)
        reasons += [reason] if reason else []
    name = _name(program, verdict, places.directory)
    row = None if files or verdict.exact else verdict.row
    pattern = (row or (name if name.isprintable() else None)) if read_only and not reasons else None
    return _Judged(Need(name, row, granted_only=bool(verdict.runs)), pattern, tuple(reasons), digests, reads)


def _name(program: Program, verdict: Verdict, directory: str) -> str:
    """Return the name of a grant for exactly this program: files it is redirected to or from come first, so
    that no pattern
    that begins with a program covers them; then its words; then in brackets, which no word can forge, what
    it runs, and
    where."""
    files = [_redirect(one) for one in program.redirects if isinstance(one.target, ToFile)]
    words = [shlex.quote(word) for word in program.argv]
    if words[0].startswith("@"):  # names of rows begin like this
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
    """Yield the plan as words of a shell."""
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
