"""Lexer for plain command lines: literal words, a few operators, nothing for a shell to expand.

The grammar is positive, so that we run exactly what bash would run. All else is not plain:

    line     = [ "cd" word "&&" ] pipeline { ("&&" | "||" | ";") pipeline } [ ";" ]
    pipeline = program { "|" program }
    program  = word { word } { redirect }
    redirect = ">" word | ">>" word | "2>" word | "<" word | "2>&1"
"""

import re
from collections import deque
from enum import StrEnum
from typing import NoReturn

from core.lazy import dataclass
from core.safety.confusables import hides_something

# A plain command line as it is judged, shown, bound and run: programs with their argv, and no shell.


class Joiner(StrEnum):
    """The condition of a step on the exit status of the step that ran last; the first step is `THEN`."""

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
    """`/dev/null` as the target."""


@dataclass(frozen=True, slots=True)
class ToStdout:
    """`2>&1`: the target of standard output at that point of the redirects."""


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
    """A pipeline of one or more programs, with the exit status of its last program."""

    joiner: Joiner
    programs: tuple[Program, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The expanded line. `directory`: where all programs run, relative to the workspace (`.` for itself)."""

    steps: tuple[Step, ...]
    directory: str = "."


MAX_LINE_CHARS = 16_000

_PIECE = re.compile(
    r"(?P<redirect>2>&1|2>|>>|>|<)"
    r"|'(?P<single>[^'\x00-\x08\x0b-\x1f\x7f]*+)'"
    r'|"(?P<double>(?:[^"$`\\\x00-\x08\x0b-\x1f\x7f]|\\[^$"\\\n`\x00-\x08\x0b-\x1f\x7f])*+)"'
    r"|(?P<bare>(?:[A-Za-z0-9_./^@-]~|[A-Za-z0-9_./:,+@%=^!-]|\{[A-Za-z0-9_]*+\}|[^\x00-\x7f])++)"
    r"|(?P<wild>[*?])"
    r"|(?P<operator>&&|\|\||[;|])"
    r"|(?P<blank> ++)"
)
"""One piece. Linear: its first two characters select the alternative, and no loop backtracks."""
_SHELLS_OWN = frozenset(
    # reserved words, and builtins but for `echo printf test pwd true false kill`: these mean programs
    "if then else elif fi case esac for select while until do done in function time { } ! [[ ]] coproc . : [ "  # noqa: SIM905
    "alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown "
    "enable eval exec exit export fc fg getopts hash help history jobs let local logout mapfile popd pushd "
    "read readarray readonly return set shift shopt source suspend times trap type typeset ulimit umask "
    "unalias unset wait".split()
)
_JOINERS = {joiner.value: joiner for joiner in Joiner}
_STREAMS = {"<": Stream.STDIN, ">": Stream.STDOUT, ">>": Stream.STDOUT, "2>": Stream.STDERR}


@dataclass(frozen=True, slots=True)
class NotPlain:
    """A line that we do not carry out ourselves; `reason` completes "This line …"."""

    reason: str


@dataclass(frozen=True, slots=True)
class Word:
    """A word without its quotes. `wild`: positions in `text` of an unquoted `*` or `?`."""

    text: str
    wild: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """A program with its words as written, wildcards still in them."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands whose output goes to the next one's input."""

    joiner: Joiner
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A plain line. `directory`: the directory it changes to first, as written; None if it doesn't."""

    pipelines: tuple[Pipeline, ...]
    directory: str | None = None


@dataclass(frozen=True, slots=True)
class _Sign:
    """An operator or redirect sign between words."""

    text: str


class _Problem(Exception):
    """The reason a line is not plain."""


def read_line(text: str) -> Line | NotPlain:
    """Return the line as values, or the reason it is not plain. Takes linear time."""
    if len(text) > MAX_LINE_CHARS:
        return NotPlain(f"is longer than {MAX_LINE_CHARS} characters")
    if hides_something(text):
        return NotPlain("contains invisible characters")
    try:
        return _line(deque(_tokens(text)))
    except _Problem as problem:
        return NotPlain(str(problem))


def _reject(reason: str) -> NoReturn:
    raise _Problem(reason)


# --- from characters to words and signs ---------------------------------------------------------------------


def _tokens(text: str) -> list[Word | _Sign]:
    tokens: list[Word | _Sign] = []
    pieces: list[str] = []
    wild: list[int] = []
    at = length = 0
    in_word = False
    while at < len(text):
        found = _PIECE.match(text, at)
        if found is None:
            _reject(_unreadable(text, at))
        at, kind = found.end(), found.lastgroup or ""
        piece = found[kind]
        if kind == "redirect" and piece[0] == "2" and in_word:
            at, kind, piece = found.start() + 1, "bare", "2"
        if kind in ("blank", "operator", "redirect"):
            if kind == "redirect" and in_word:
                _reject(f"has {piece} right after a word")
            if in_word:
                tokens.append(_wild_word("".join(pieces), tuple(wild)))
                pieces, wild, length, in_word = [], [], 0, False
            if kind != "blank":
                _judge_sign(piece, text[at : at + 1])
                tokens.append(_Sign(piece))
            continue
        if kind == "bare" and not piece.isprintable():
            _reject("contains an unusual space outside quotes")
        if kind == "wild":
            wild.append(length)
        pieces.append(piece)
        length, in_word = length + len(piece), True
    return [*tokens, _wild_word("".join(pieces), tuple(wild))] if in_word else tokens


def _judge_sign(sign: str, following: str) -> None:
    if following in (set("&|;") if sign in _JOINERS or sign == "|" else set("<>&|(")) and following:
        _reject(f"contains {sign}{following}, which only a shell can carry out")
    if sign == "2>&1" and following not in ("", " ", "|", "&", ";"):
        _reject("continues right after 2>&1")


def _wild_word(text: str, wild: tuple[int, ...]) -> Word:
    """Return the word if its wildcards stand for names that are not hidden, from the plan's directory
    on."""
    if wild:
        parts = text.removeprefix("./").split("/")
        from_wild = text[text.rfind("/", 0, wild[0]) + 1 :].split("/")
        if ".." in parts or "" in parts[:-1] or any(part.startswith(".") for part in from_wild):
            _reject("uses a wildcard for hidden names, or in a directory that is not named literally")
    return Word(text, wild)


def _unreadable(text: str, at: int) -> str:
    """Return the reason no piece begins there."""
    sign = text[at]
    if sign == "'":
        return "has a quote that is not closed, or control characters in quotes"
    if sign == '"':
        return "has double quotes with $, ` or an escape in them, or not closed"
    names = {"\\": "a backslash", "\n": "a line break", "&": "& by itself"}
    named = names.get(sign, sign if sign.isprintable() else f"U+{ord(sign):04X}")
    return f"contains {named} outside quotes"


# --- from words and signs to the line -----------------------------------------------------------------------


def _line(tokens: deque[Word | _Sign]) -> Line:
    directory = _change_of_directory(tokens)
    pipelines: list[Pipeline] = []
    joiner = Joiner.THEN
    while True:
        commands = [_command(tokens)]
        while tokens and tokens[0] == _Sign("|"):
            tokens.popleft()
            commands.append(_command(tokens))
        pipelines.append(Pipeline(joiner, tuple(commands)))
        if not tokens or (len(tokens) == 1 and tokens[0] == _Sign(";")):
            return Line(tuple(pipelines), directory)
        sign = tokens.popleft()
        joiner = _JOINERS[sign.text]


def _change_of_directory(tokens: deque[Word | _Sign]) -> str | None:
    if not tokens or tokens[0] != Word("cd"):
        return None
    tokens.popleft()
    word, sign = (tokens.popleft() if tokens else None for _ in range(2))
    if not isinstance(word, Word) or sign != _Sign("&&"):
        _reject("uses cd other than as `cd DIRECTORY &&` at its start")
    if word.wild or not word.text or word.text.startswith("-") or ".." in word.text.split("/"):
        _reject("changes to a directory that is not named literally")
    return word.text


def _command(tokens: deque[Word | _Sign]) -> Command:
    words: list[Word] = []
    redirects: list[Redirect] = []
    while tokens and isinstance(token := tokens[0], Word):
        words.append(token)
        tokens.popleft()
    while tokens and (sign := tokens[0].text) in (*_STREAMS, "2>&1"):
        tokens.popleft()
        redirects.append(Redirect(Stream.STDERR, ToStdout()) if sign == "2>&1" else _redirect(sign, tokens))
    if not words:
        _reject("has a redirect without a program before it" if redirects else "has an empty command")
    if tokens and isinstance(tokens[0], Word):
        _reject("has words after a redirect")
    name = words[0].text
    if not name or words[0].wild or name in _SHELLS_OWN or set(name) & set("={}!~"):
        _reject(f"starts a command with {name or 'an empty word'}, which a shell handles itself")
    return Command(tuple(words), tuple(redirects))


def _redirect(sign: str, tokens: deque[Word | _Sign]) -> Redirect:
    target = tokens.popleft() if tokens else None
    parts = target.text.split("/") if isinstance(target, Word) and not target.wild else [""]
    if not isinstance(target, Word) or ".." in parts or parts[-1] in ("", "."):
        _reject("redirects to a file that is not named literally")
    into = ToNull() if target.text == "/dev/null" else ToFile(target.text, append=sign == ">>")
    return Redirect(_STREAMS[sign], into)
