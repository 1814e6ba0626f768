"""Random plain lines over a small workspace, for running them by us and by bash.

Lines are made so that both must come to the same end: what runs at the same time (the programs of one
pipeline) shares no file, and a wildcard never stands for a name that the line itself makes or takes away,
because our wildcards are worked out before the first program starts, and bash's when theirs does. Where we
differ on purpose lines are few, and the comparison knows them: what stands for nothing fails (`nothing-*`), a
name that begins with `-` gets `./` (DASHES). No pattern begins with a dot: ours never stand for hidden names.
`?` stands for a character with us and for a byte with bash under LC_ALL=C, so it meets ASCII names alone.
"""

import random
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

TEXT = "alpha\nbeta\ngamma\ndelta\n"
FILES = {
    **dict.fromkeys(
        ("a.txt", "b.txt", "two words.txt", "中文.txt", "😀.txt", "it's", 'quo"te', "plain.sh"), TEXT
    ),
    **dict.fromkeys(
        ("dir/one.txt", "dir/two.txt", "dir/sub/three.txt", ".hidden.txt", "dir/.hidden.txt"), TEXT
    ),
    **dict.fromkeys(
        ("odd/-n", "odd/--all", "odd/-x.txt", "odd/plain.txt", "odd/*", "odd/a b", "odd/$x"), TEXT
    ),
    **dict.fromkeys(("中/文.txt", "中/é.txt", "numbers.log"), "3\n1\n2\n"),
}
LINKS = {"link.txt": "a.txt", "dirlink": "dir"}
SCRIPT = "script.sh"
"""In the workspace, and executable."""
PROGRAMS = {
    "say": "for word; do printf '<%s>\\n' \"$word\"; done",
    "warn": "printf '%s\\n' \"$@\" >&2",
    "both": "printf 'out\\n'; printf 'err\\n' >&2; printf 'out again\\n'",
    "fail": 'exit "$1"',
    "die": 'kill -s "$1" $$',
    "nap": "sleep 0.01",
    "中": "printf '%s\\n' \"$@\"",
}
"""On the search path, outside the workspace; each a script of sh."""

_DIRECTORIES = {
    ".": (
        "a.txt",
        "b.txt",
        "two words.txt",
        "中文.txt",
        "😀.txt",
        "it's",
        'quo"te',
        "dir/one.txt",
        "link.txt",
    ),
    "dir": ("one.txt", "two.txt", "sub/three.txt"),
    "dirlink": ("one.txt", "two.txt", "sub/three.txt"),
    "odd": ("./-n", "./--all", "plain.txt", "*", "a b", "$x"),
    "中": ("文.txt", "é.txt"),
}
_PATTERNS = {
    ".": (
        "*.txt",
        "dir/t?o.txt",
        "dir/*.txt",
        "dir/*",
        "d*/*.txt",
        "*/sub/t*.txt",
        "d*/*/*",
        "中/*",
        "odd/*",
    ),
    "dir": ("*.txt", "t*.txt", "sub/*", "./*.txt"),
    "dirlink": ("*.txt", "s*/*"),
    "odd": ("p*.txt", "a*", "p*"),
    "中": ("*.txt",),
}
DASHES = ("*", "-*", "--*", "*.txt", "-?")
"""In the directory `odd` these stand for names that begin with `-`, too."""
_WORDS = (
    *(
        "x",
        "7",
        "-a",
        "--long=value",
        "a=b",
        "a,b",
        "{}",
        "{0}",
        "a~b",
        "50%",
        "^x",
        "@",
        "a:b",
        "!",
        "a!b",
        "中文",
        "😀",
        "é",
    ),
    *(
        "two words",
        "",
        " ",
        "$x",
        "$(say no)",
        "`say no`",
        "*",
        "?",
        "#",
        "#x",
        "a#b",
        "a\nb",
        "\\",
        "\\n",
        "a\\b",
        "~",
        "|",
    ),
    *(
        ";",
        "&&",
        ">f",
        "<",
        "(",
        ")",
        "it's",
        'a"b',
        "'",
        "[a]",
        "{a,b}",
        "a{1..3}",
        "=",
        "-",
        "--",
        "&",
        "2>&1",
        "!x",
        "\t",
    ),
)
_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+@%=^")
_NEW = ("out", "out2", "新", "new file", "o-😀", "made/deep")
_MISSING = ("nothing", "nothing/there", "dir/nothing", "no such")
_NO_PROGRAM = ("nosuch", "./nosuch", "./plain.sh", "./dir", "./a.txt/x", "Nosuch-中")
_FILTERS = (
    "cat",
    "sort",
    "wc -l",
    "head -n 2",
    "tail -n 1",
    "tr a-z A-Z",
    "grep a",
    "grep -c zzz",
    "uniq",
    "sort -r",
    "cat -n",
)


_SPEAKS_TWICE = frozenset({"both", "printf", "dir/*", "*"})
"""What has one of these for a word writes to standard error after standard output: in a pipe that nobody
reads any more, it may end in between."""


class PlainLines:
    """Lines from a seed; the same seed gives the same lines."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._directory = "."
        self._first = True

    def next(self) -> str:
        """Make a line of one to five pipelines."""
        self._directory, self._first = ".", True
        if self._chance(0.03):
            return f"cd odd && say {self._pick(*DASHES)} {self._pick(*DASHES)}{self._pick('', ' > out')}"
        head = ""
        if self._chance(0.25):
            self._directory = self._pick(*list(_DIRECTORIES)[1:])
            head = f"cd {self._quoted(self._directory)}{self._gap()}&&{self._gap()}"
        parts: list[str] = []
        for _ in range(self._pick(1, 1, 2, 2, 3, 4, 5)):
            parts.append(self._pipeline())
            parts.append(self._gap() + self._pick("&&", "&&", "||", "||", ";") + self._gap())
            self._first = False
        return head + "".join(parts[:-1]) + self._pick("", "", "", ";", " ; ")

    def _pipeline(self) -> str:
        length = self._pick(1, 1, 1, 2, 2, 3, 4)
        if length == 1:
            return self._alone()
        targets = self._random.sample(_NEW, len(_NEW))
        programs = [self._source(), *(self._filter() for _ in range(length - 1))]
        wild = self._first and any("*" in program for program in programs)
        said: list[str] = []
        for place, program in enumerate(programs):
            if place + 1 < length and _SPEAKS_TWICE & set(program.split()):
                said.append(f"{program} 2>&1 ")
            elif wild:
                said.append(program)
            else:
                said.append(program + self._redirects([targets.pop()], place=place, of=length))
        return f"{self._gap()}|{self._gap()}".join(said)

    def _alone(self) -> str:
        if self._chance(0.3):
            return self._changing()
        program = self._source() if self._chance(0.8) else self._filter() + self._input()
        return program + self._redirects(self._random.sample(_NEW, 2))

    def _source(self) -> str:
        """A program that changes no file."""
        kind = self._random.random()
        if kind < 0.35:
            return " ".join([self._pick("say", "say", "say", "'say'", 'sa"y"', "中"), *self._words()])
        if kind < 0.5:
            return f"{self._pick('say', 'cat', 'wc -c')} {self._pattern()}"
        if kind < 0.62:
            name = self._pick("echo", "printf", "test", "pwd", "true", "false", "kill")
            return self._of_builtin_name(name)
        if kind < 0.75:
            code = self._pick("0", "1", "2", "77", "125", "126", "127", "128", "255")
            dying = self._pick("die TERM", "die KILL", "die USR1", "die PIPE", "die HUP")
            script = f"./{SCRIPT} x" if self._directory == "." else "both"
            return self._pick("true", "false", f"fail {code}", f"fail {code}", dying, "both", "nap", script)
        if kind < 0.82:
            return self._pick(*_NO_PROGRAM)
        if kind < 0.87:
            return f"warn {self._word()}"
        return f"{self._pick('cat', 'cat', 'head -n 1', 'ls', 'wc -l')} {self._file()}"

    def _of_builtin_name(self, name: str) -> str:
        match name:
            case "echo":
                return " ".join(["echo", *self._words()])
            case "printf":
                form = self._pick("%s|", "%5d\\n", "x\\ty", "%b")
                return f"printf {self._quoted(form)} {self._quoted(self._pick('1', '22', 'x y'))}"
            case "test":
                return (
                    f"test {self._pick('-f a.txt', '-d dir', 'a = b', '1 -lt 2', '-z x', '-e nothing', 'a')}"
                )
            case "kill":
                return self._pick("kill -l", "kill -0 999999999", "kill")
            case "pwd":
                return self._pick("pwd", "pwd -P")
            case _:
                return f"{name} {self._quoted(self._pick(*_WORDS))}"

    def _changing(self) -> str:
        """A program that changes files, and runs with no other."""
        new, other = (self._quoted(name) for name in self._random.sample(_NEW, 2))
        return self._pick(
            f"touch {new}",
            f"cp {self._file()} {new}",
            f"mv {new} {other}",
            f"rm {new}",
            f"rm -f {new} {other}",
            f"mkdir {new}",
            "mkdir -p made",
            f"tee {new} {other} < {self._file()}",
        )

    def _filter(self) -> str:
        kind = self._random.random()
        if kind < 0.8:
            return self._pick(*_FILTERS)
        return self._pick(
            "say x", "true", "false", "fail 3", "both", "both", "nosuch", "die TERM", "pwd", "echo end"
        )

    def _input(self) -> str:
        return f" <{self._gap()}{self._file()}" if self._chance(0.7) else ""

    def _redirects(self, targets: list[str], *, place: int = 0, of: int = 1) -> str:
        """Some, each to another file. Complaints, which we word otherwise than bash, go into no pipe."""
        found = ""
        if self._chance(0.55):
            return found
        if place == 0 and self._chance(0.2):
            found += f" <{self._gap()}{self._file()}"
        folder = "made" if self._directory == "." else "nothing/there"  # elsewhere it would be a file of two
        for target in targets:
            into = self._quoted(
                self._pick(target, target, target, target, "/dev/null", folder, "nothing/there")
            )
            kind = self._pick("> ", "> ", ">> ", "2> ", "2>&1", ">", ">>", "2>")
            if kind != "2>&1":
                found += f" {kind}{into}"
            elif place + 1 == of:
                found += " 2>&1 "
        return found

    def _file(self) -> str:
        """A file to read, which nothing else touches, or seldom one that is not there."""
        names = _MISSING if self._chance(0.1) else _DIRECTORIES[self._directory]
        return self._quoted(self._pick(*names))

    def _pattern(self) -> str:
        if self._chance(0.04):
            return self._pick("nothing-*", "nothing-?.txt", "nothing/*")
        patterns = list(_PATTERNS[self._directory])
        if self._first and self._directory not in (".", "odd"):
            patterns.append("*")
        pattern = self._pick(*patterns)
        return f"{pattern} {pattern}" if self._chance(0.1) else pattern

    def _words(self) -> list[str]:
        return [self._word() for _ in range(self._pick(0, 1, 1, 2, 2, 3, 5))]

    def _word(self) -> str:
        if self._chance(0.15):
            return self._pattern()
        text = self._pick(*_WORDS)
        return self._quoted(text) + (self._quoted(self._pick(*_WORDS)) if self._chance(0.15) else "")

    def _quoted(self, text: str) -> str:
        """The word, bare where it may be, or in one of its spellings."""
        ways: list[str] = []
        if text and all(one in _BARE or not one.isascii() for one in text) and not text.startswith("="):
            ways += [text, text]
        if "'" not in text:
            ways.append(f"'{text}'")
        if not set(text) & set('"$`\\!'):
            ways.append(f'"{text}"')
        if not ways:
            ways.append("".join(f"'{one}'" if one != "'" else '"\'"' for one in text))
        if len(text) > 1 and text.isalnum() and text.isascii():
            ways.append(f"{text[0]}'{text[1:]}'")
        return self._pick(*ways)

    def _gap(self) -> str:
        return self._pick("", " ", " ", " ", "  ")

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _pick(self, *choices: T) -> T:
        return self._random.choice(choices)


def lay_out(workspace: Path) -> None:
    """Make the small workspace."""
    for name, text in FILES.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)
    for name, target in LINKS.items():
        (workspace / name).symlink_to(target)
    (workspace / "made").mkdir()
    _script(workspace / SCRIPT, "printf 'script %s\\n' \"$@\"; exit 3")


def lay_out_programs(directory: Path) -> None:
    """Make the programs of the search path."""
    directory.mkdir()
    for name, body in PROGRAMS.items():
        _script(directory / name, body)


def _script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
