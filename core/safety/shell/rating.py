"""Rating a command line: everything it may run is looked at, and the worst counts."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from core.safety.shell import names
from core.safety.shell.closed import ClosedPlaces
from core.safety.shell.findings import CHANGES, READS, Finding, Level, blocked, high, worst
from core.safety.shell.options import by_options
from core.safety.shell.paths import is_credential, is_device, is_outside, is_vital, normal
from core.safety.shell.programs import acts_on_data, by_arguments
from core.safety.shell.syntax import ParsedLine, Redirect, parse, readings
from core.safety.shell.words import Args, Word
from core.safety.shell.wrappers import WRAPPERS, unwrap

_DEPTH_LIMIT = 6
_VERSION = re.compile(r"^(python|pypy|perl|ruby|lua|luajit|php|node|tclsh|julia|guile)[\d.]+$")
_SYSTEM_PROGRAM = re.compile(r"^(?:/usr(?:/local)?)?/s?bin/[^/]+$")
_PRINT_NOTHING = (["cat", "/dev/null"], ["echo", "-n"], ["echo", "-n", ""], ["printf", ""])
_RUN_TEXTS = names.SHELLS | {"source", ".", "eval"}
_SPEAK = frozenset({"echo", "printf"})
_MOST_TEXTS = 20
_ENTERS = frozenset({"cd", "pushd"})
_HERE = frozenset({".", "./", "*", "./*", "..", "../*", ".*", "{*,.*}"})
_SOCKET = re.compile(r"/dev/(?:tcp|udp)/")
_HUBS_OWN = high("may touch the hub's own files")
_SUBSCRIPT_RUNS = re.compile(r"\[[^\]]*(?:\$\(|`)")


@dataclass(frozen=True, slots=True)
class ShellRating:
    """`high`: a person must agree every time. `pattern`: what an "always" would cover, None: nothing can.

    `blocked`: why it is refused in every mode. `reason`: what makes it risky, for the person who decides.
    """

    high: bool
    pattern: str | None = None
    blocked: str | None = None
    reason: str = ""


def rate_command_line(command_line: str, closed: ClosedPlaces | None = None) -> ShellRating:
    """Rate a command line; never raises. What can't be understood is high, and so is what touches `closed`.

    A pattern is offered for a simple command alone: its first word if it only reads, program and
    subcommand where the subcommand is harmless with any arguments that are not high by themselves,
    otherwise exactly this command.
    """
    judge = _Judge(closed)
    parsed = [judge.line(reading, 0) for reading in readings(command_line)]
    judge.texts_that_may_be_run()
    if closed is not None and closed.touched_by(command_line):
        judge.findings.append(_HUBS_OWN)
    finding = worst(judge.findings)
    pattern = _pattern(parsed[0], finding.level) if len(parsed) == 1 else None
    if finding.level is Level.BLOCKED:
        return ShellRating(True, pattern, f"{finding.reason}.", f"It is refused: {finding.reason}.")
    reason = f"This command {finding.reason}." if finding.reason else ""
    return ShellRating(finding.level is Level.HIGH, pattern, None, reason)


@dataclass
class _Judge:
    """Collects findings on a line and on all lines and commands inside it; each is looked at once."""

    closed: ClosedPlaces | None = None
    findings: list[Finding | None] = field(default_factory=lambda: list[Finding | None]())
    _seen: set[object] = field(default_factory=lambda: set[object]())
    _programs: set[str] = field(default_factory=lambda: set[str]())
    _run_files: set[str] = field(default_factory=lambda: set[str]())
    _written: set[str] = field(default_factory=lambda: set[str]())
    _entered: list[str] = field(default_factory=lambda: list[str]())
    _texts: list[str] = field(default_factory=lambda: list[str]())
    _runs_texts: bool = False

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
        self.findings += [_redirected(redirect) for redirect in parsed.redirects]
        self.findings += [_assigned(assignment.name) for assignment in parsed.assignments]
        self.findings += [_word(word) for word in parsed.loose]
        self._whole_line(text, parsed)
        self._texts += [*parsed.here, *(word.text for word in parsed.loose if " " in word.text)]
        return parsed

    def texts_that_may_be_run(self) -> None:
        """Where a line runs text that can't be followed, all text on it is tried as commands: so that
        what is blocked stays blocked when it is piped into a shell, or goes through a variable."""
        if not self._runs_texts:
            return
        for text in self._texts[:_MOST_TEXTS]:
            inside = _Judge()
            inside.line(text, 1)
            self.findings += [one for one in inside.findings if one and one.level is Level.BLOCKED]

    def _command(self, words: tuple[Word, ...], depth: int) -> None:
        if not words or (words, depth) in self._seen:
            return
        self._seen.add((words, depth))
        self.findings += [_word(word) for word in words]
        if self.closed is not None and any(self.closed.touched_by(word.text) for word in words):
            self.findings.append(_HUBS_OWN)
        program = _program(words[0])
        if program is None:
            self.findings.append(high("computes which program it runs"))
            self._runs_texts = True
            return
        args = Args(words[1:])
        self._note(program, words[0].text, args)
        self.findings.append(_rate_program(program, words[0].text, args))
        if program in WRAPPERS and WRAPPERS[program].assigns:
            self.findings += [_assigned(text.partition("=")[0]) for text in args.texts if "=" in text]
        inner = unwrap(program, args)
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
        if program in _SPEAK:
            self._texts.append(" ".join(args.texts))
        if "/" in written:
            self._run_files.add(normal(written))
        if program in names.SHELLS or program in names.INTERPRETERS or program in ("source", "."):
            self._run_files.update(normal(path) for path in args.positionals[:1])
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


def _program(name: Word) -> str | None:
    """The program a command's first word names, without directory and version; None: not known."""
    if not name.plain or not name.text.strip():
        return None
    program = name.text.rpartition("/")[2]
    versioned = _VERSION.match(program)
    return versioned.group(1) if versioned else program


def _rate_program(program: str, written: str, args: Args) -> Finding:
    """What running this program with these arguments means, not looking at what it runs in turn."""
    if program in names.KEYWORDS:
        return high("can't be judged: it can't be parsed")
    if program in names.BLOCKED or program == "mkfs" or program.startswith("mkfs."):
        return blocked(names.BLOCKED.get(program, "it would erase a disk"))
    by_name = high(names.HIGH[program]) if program in names.HIGH else None
    local = "/" in written and not _SYSTEM_PROGRAM.match(written)
    ordinary = READS if program in names.READ_ONLY and not local else CHANGES
    found = worst([by_arguments(program, args), by_options(program, args), by_name])
    return found if found.level > ordinary.level or program in ("find", "gfind") else ordinary


def _word(word: Word) -> Finding | None:
    if is_credential(word.text):
        return high("touches credentials or keys")
    if _SOCKET.search(word.text):
        return high("talks to another machine")
    if word.known and _SUBSCRIPT_RUNS.search(word.text):
        return high("may run a command hidden in an index")
    return None


def _assigned(name: str) -> Finding | None:
    if name in names.RISKY_VARIABLES or name.startswith(("LD_", "DYLD_")):
        return high(f"changes which programs run, by {name}")
    return None


def _redirected(redirect: Redirect) -> Finding | None:
    """What a redirect does to its target; where it has none, or only another descriptor, nothing."""
    target = redirect.target
    if target is None or ">" not in redirect.operator:
        return _word(target) if target is not None else None
    if _leaves_no_trace(redirect):
        return None
    if is_device(target.text):
        return blocked("it would overwrite a device")
    if not target.known:
        return high("writes to a file it computes")
    if is_outside(target.text):
        return high("writes outside the workspace")
    if ">>" not in redirect.operator and redirect.words is not None and _is_silent(redirect.words):
        return high("empties a file")
    return worst([CHANGES, _word(target)])


def _is_silent(words: Sequence[Word]) -> bool:
    """Whether the command prints nothing, so that redirecting it only empties the target."""
    texts = [word.text for word in words]
    return texts[:1] in ([], [":"], ["true"]) or texts in _PRINT_NOTHING


def _leaves_no_trace(redirect: Redirect) -> bool:
    """`2>&1`, `>&-`, `> /dev/null`."""
    target = redirect.target
    if target is None:
        return False
    duplicates = redirect.operator in (">&", ">&-", "<&") and (target.text.isdecimal() or target.text == "-")
    return duplicates or target.text == "/dev/null"


def _pattern(parsed: ParsedLine, level: Level) -> str | None:
    if not parsed.alone or parsed.problems or not all(map(_leaves_no_trace, parsed.redirects)):
        return None
    words = parsed.commands[0].words
    program = _program(words[0]) if words else None
    if program is None:
        return None
    if (
        level is Level.READS
        and all(word.known for word in words)
        and "/" not in words[0].text
        and program in names.READ_ONLY
    ):
        return program
    args = Args(words[1:])
    if level <= Level.CHANGES and words[0].text in names.SUBCOMMANDS and words[1:2]:
        subcommand = words[1]
        if subcommand.plain and args.words and subcommand.text in names.SUBCOMMANDS[words[0].text]:
            return f"{words[0].text} {subcommand.text}"
    return shlex.join(word.text for word in words) if all(word.plain for word in words) else None
