"""Rating a command line: everything it may run is looked at, and the worst counts."""

import re
from collections import deque
from dataclasses import dataclass, field

from core.safety.plain_sight import hides_something
from core.safety.shell import names
from core.safety.shell.closed import ClosedPlaces
from core.safety.shell.fed import SPEAK, fed, inputs_of
from core.safety.shell.findings import CHANGES, READS, Finding, Level, blocked, high, worst
from core.safety.shell.insight import outlives_its_call, shows_secrets
from core.safety.shell.options import by_options
from core.safety.shell.parsed import ParsedLine
from core.safety.shell.paths import is_vital, normal
from core.safety.shell.patterns import pattern_of, program_of
from core.safety.shell.programs import by_arguments
from core.safety.shell.runners import WRAPPERS
from core.safety.shell.scripts import files_run
from core.safety.shell.services import acts_on_data
from core.safety.shell.surroundings import of_assignment, of_redirect, of_word
from core.safety.shell.syntax import parse, readings
from core.safety.shell.verbs import by_verbs
from core.safety.shell.words import Args, Word
from core.safety.shell.wrappers import Inner, unwrap

_DEPTH_LIMIT = 6
_SYSTEM_PROGRAM = re.compile(r"^(?:/usr(?:/local)?)?/s?bin/[^/]+$")
_RUN_TEXTS = names.SHELLS | {"source", ".", "eval"}
_BETWEEN_COMMANDS = re.compile(r"[;&|\n(){}`]+")
_MOST_TEXTS = 20
_ENTERS = frozenset({"cd", "pushd"})
_HERE = frozenset({".", "./", "*", "./*", "..", "../*", ".*", "{*,.*}"})
_HUBS_OWN = high("may touch the hub's own files")


@dataclass(frozen=True, slots=True)
class ShellRating:
    """`high`: a person must agree every time. `pattern`: what an "always" would cover, None: nothing can.

    `blocked`: why it is refused in every mode. `reason`: what makes it risky, for the person who decides.
    `runs`: the files it plainly names to be run, as written, where it was not refused.
    """

    high: bool
    pattern: str | None = None
    blocked: str | None = None
    reason: str = ""
    runs: tuple[str, ...] = ()


def rate_command_line(command_line: str, closed: ClosedPlaces | None = None) -> ShellRating:
    """Rate a command line; never raises. What can't be understood is high, and so is what touches `closed`.

    A pattern is offered for a simple command alone: its first word if it only reads, program and
    subcommand where the subcommand is harmless with any arguments that are not high by themselves,
    otherwise exactly this command.
    """
    judge = _Judge(closed)
    parsed = [judge.line(reading, 0) for reading in readings(command_line)]
    judge.texts_that_may_be_run()
    if hides_something(command_line):
        judge.findings.append(high("contains characters that are not to be seen"))
    if closed is not None and closed.touched_by(command_line):
        judge.findings.append(_HUBS_OWN)
    finding = worst(judge.findings)
    pattern = pattern_of(parsed[0], finding.level) if len(parsed) == 1 else None
    if finding.level is Level.BLOCKED:
        return ShellRating(True, pattern, f"{finding.reason}.", f"It is refused: {finding.reason}.")
    reason = f"This command {finding.reason}." if finding.reason else ""
    return ShellRating(finding.level is Level.HIGH, pattern, None, reason, judge.files_run())


@dataclass
class _Judge:
    """Collects findings on a line and on all lines and commands inside it; each is looked at once."""

    closed: ClosedPlaces | None = None
    findings: list[Finding | None] = field(default_factory=lambda: list[Finding | None]())
    _seen: set[object] = field(default_factory=lambda: set[object]())
    _depths: dict[tuple[Word, ...], int] = field(default_factory=lambda: dict[tuple[Word, ...], int]())
    _programs: set[str] = field(default_factory=lambda: set[str]())
    _run_files: set[str] = field(default_factory=lambda: set[str]())
    _written: set[str] = field(default_factory=lambda: set[str]())
    _entered: list[str] = field(default_factory=lambda: list[str]())
    _texts: list[str] = field(default_factory=lambda: list[str]())
    _runs_texts: bool = False
    _guess: "_Judge | None" = None

    def line(self, text: str, depth: int) -> ParsedLine:
        """Look at a command line."""
        parsed = ParsedLine() if text in self._seen else parse(text)
        self._seen.add(text)
        if depth > _DEPTH_LIMIT:
            self.findings.append(high("is nested too deeply to be understood"))
            return parsed
        if not parsed.commands and depth == 0 and not parsed.redirects and not parsed.assignments:
            self.findings.append(high("runs nothing that can be named"))
        self.findings += [high(f"can't be judged: {problem}") for problem in parsed.problems]
        if parsed.bomb:
            self.findings.append(blocked("it would multiply itself without end"))
        for command in parsed.commands:
            self._command(command.words, depth)
        self.findings += [of_redirect(redirect) for redirect in parsed.redirects]
        self.findings += [of_assignment(assignment.name) for assignment in parsed.assignments]
        self.findings += [of_word(word) for word in parsed.loose]
        inputs = inputs_of(parsed.redirects)
        self.findings += [fed(command, inputs) for command in parsed.commands]
        self._whole_line(text, parsed)
        self._texts += [*parsed.here, *(word.text for word in parsed.loose if len(word.text.split()) > 1)]
        if parsed.problems:
            self._runs_texts = True
            self._texts += [
                piece for piece in _BETWEEN_COMMANDS.split(text) if piece.strip() and piece != text
            ]
        return parsed

    def files_run(self) -> tuple[str, ...]:
        """Paths of scripts and programs, in order of their names."""
        return tuple(sorted(self._run_files))

    def texts_that_may_be_run(self) -> None:
        """Where a line runs text that can't be followed, or can't be parsed, all text on it is tried as
        commands: so that what is blocked stays blocked when it is piped into a shell, or goes through a
        variable."""
        if not self._runs_texts:
            return
        waiting, tried = deque(self._texts), 0
        while waiting and tried < _MOST_TEXTS:
            inside, tried = _Judge(), tried + 1
            inside.line(waiting.popleft(), 1)
            self.findings += [one for one in inside.findings if one and one.level is Level.BLOCKED]
            waiting.extend(inside._texts)

    def _command(self, words: tuple[Word, ...], depth: int) -> None:
        if not words or self._depths.get(words, depth + 1) <= depth:
            return
        self._depths[words] = depth
        self.findings += [of_word(word) for word in words]
        if self.closed is not None and any(self.closed.touched_by(word.text) for word in words):
            self.findings.append(_HUBS_OWN)
        program = program_of(words[0])
        if program is None:
            self.findings.append(high("computes which program it runs"))
            self._runs_texts = True
            return
        args = _args(program, words)
        self._note(program, words[0].text, args)
        self.findings.append(_rateprogram_of(program, words[0].text, args))
        if program in WRAPPERS and WRAPPERS[program].assigns:
            self.findings += [of_assignment(text.partition("=")[0]) for text in args.texts if "=" in text]
        inner = unwrap(program, args)
        if inner.guessed:
            self._guess = self._guess or _Judge(self.closed)
            self._guess.runs(inner, depth)
            self.findings.append(_at_most_high(worst(self._guess.findings)))
        else:
            self.runs(inner, depth)

    def runs(self, inner: Inner, depth: int) -> None:
        """Look at what a command runs in turn."""
        for command in inner.commands:
            if depth < _DEPTH_LIMIT:
                self._command(command, depth + 1)
            else:
                self.findings.append(high("is nested too deeply to be understood"))
        for text in inner.texts:
            if text.known:
                self.line(text.text, depth + 1)
            else:
                self.findings.append(high("runs text as commands"))
                self._runs_texts = True

    def _note(self, program: str, written: str, args: Args) -> None:
        """Remember what matters for the line as a whole."""
        self._programs.add(program)
        self._runs_texts |= program in _RUN_TEXTS
        if program in SPEAK:
            self._texts.append(" ".join(args.texts))
        self._run_files.update(files_run(program, written, args))
        if program in names.FETCHERS or program in ("tee", "cp", "mv", "dd", "ln"):
            self._written.update(normal(text.removeprefix("of=")) for text in args.texts)
        if program in _ENTERS:
            self._entered += args.positionals[:1]
        if program == "rm" and args.may_have("rR", "recursive"):
            here = any(path in _HERE for path in args.positionals)
            if here and any(is_vital(path) for path in self._entered):
                self.findings.append(blocked("it would delete the system or a home directory"))

    def _whole_line(self, text: str, parsed: ParsedLine) -> None:
        """What only shows when all commands are seen together."""
        outputs = [redirect.target for redirect in parsed.redirects if ">" in redirect.operator]
        self._written.update(normal(target.text) for target in outputs if target is not None)
        if self._written & self._run_files:
            self.findings.append(high("runs a file that it has just written"))
        if self._programs & names.DATABASES and acts_on_data(text):
            self.findings.append(high("changes or deletes data"))


def _at_most_high(finding: Finding) -> Finding:
    """What is only guessed is never refused outright: a person decides."""
    if finding.level is not Level.BLOCKED:
        return finding
    return high(f"may run what is refused elsewhere: {finding.reason}")


def _args(program: str, words: tuple[Word, ...]) -> Args:
    """Its arguments; those of tar begin with options even without a dash."""
    if program == "tar" and len(words) > 1 and words[1].text[:1] not in ("", "-"):
        first = words[1]
        dashed = Word(f"-{first.text}", first.known, first.spread, first.substituted)
        return Args((dashed, *words[2:]))
    return Args(words[1:])


def _rateprogram_of(program: str, written: str, args: Args) -> Finding:
    """What running this program with these arguments means, not looking at what it runs in turn."""
    if program in names.KEYWORDS:
        return high("can't be judged: it can't be parsed")
    if program in names.BLOCKED or program == "mkfs" or program.startswith("mkfs."):
        return blocked(names.BLOCKED.get(program, "it would erase a disk"))
    by_name = high(names.HIGH[program]) if program in names.HIGH and not _only_asks(program, args) else None
    local = "/" in written and not _SYSTEM_PROGRAM.match(written)
    ordinary = READS if program in names.READ_ONLY and not local else CHANGES
    found = worst(
        [
            by_arguments(program, args),
            by_options(program, args),
            by_verbs(program, args),
            shows_secrets(program, args),
            outlives_its_call(program, args),
            by_name,
        ]
    )
    return found if found.level > ordinary.level or program in ("find", "gfind") else ordinary


def _only_asks(program: str, args: Args) -> bool:
    plain = all(word.plain for word in args.words)
    return plain and names.only_asks(program, "".join(f" {text}" for text in args.texts))
