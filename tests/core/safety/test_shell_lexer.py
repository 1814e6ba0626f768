"""A plain line means to us what it means to bash; whatever a shell would have to work out is not plain."""

import random
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.safety.confusables import hides_something
from core.safety.shell.lexer import (
    MAX_LINE_CHARS,
    Joiner,
    Line,
    NotPlain,
    Redirect,
    Stream,
    ToFile,
    ToNull,
    ToStdout,
    read_line,
)
from tests.plugins.profile import Profile

SEEN = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cf", "Zl", "Zp")) | st.sampled_from(
    "\n\t'\"$`\\*~#"
)
WORDS = st.text(SEEN, max_size=12).filter(lambda text: not hides_something(f"a{text}a"))
BARE = st.text(st.sampled_from("abzAZ019_-./:,+@%=^"), min_size=1, max_size=8)


def argvs(text: str) -> list[list[str]]:
    """The words of each command of a plain line."""
    line = read_line(text)
    assert isinstance(line, Line), line
    return [[word.text for word in one.words] for pipeline in line.pipelines for one in pipeline.commands]


@given(st.lists(WORDS, max_size=6))
def test_quoted_arguments_arrive_unchanged(words: list[str]) -> None:
    assert argvs(shlex.join(["echo", *words])) == [["echo", *words]]


@given(BARE, WORDS, BARE, st.text(st.sampled_from("ab \\nx*~#'{"), max_size=6))
def test_pieces_that_touch_are_one_word(one: str, two: str, three: str, inside: str) -> None:
    inside = inside.replace("\\", "\\\\")[::2].replace("\\", "\\x")
    assert argvs(f'echo {one}{shlex.quote(two)}{three}"{inside}"') == [["echo", f"{one}{two}{three}{inside}"]]


@given(st.lists(st.lists(WORDS, max_size=3), min_size=1, max_size=5), st.sampled_from(["|", "&&", "||", ";"]))
def test_operators_do_not_consume_words(commands: list[list[str]], sign: str) -> None:
    written = [shlex.join(["echo", *words]) for words in commands]
    expected = [["echo", *words] for words in commands]
    assert argvs(f" {sign} ".join(written)) == argvs(sign.join(written)) == expected


PIECES = st.sampled_from(
    [
        "a",
        "ls",
        " ",
        "'x y'",
        '"z"',
        "'",
        '"',
        "|",
        "||",
        "&&",
        "&",
        ";",
        ">",
        ">>",
        "2>",
        "2>&1",
        "<",
        "2",
        "*",
        "?",
        ".",
        "~",
        "=",
        "{}",
        "{",
        "!",
        "#",
        "$",
        "\\",
        "é",
        "cd ",
        "\t",
        "\n",
        "[",
        "(",
        "if ",
        "\u3000",
        "3>",
        "\x00",
    ]
)


@given(st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=100))
@example("")
@example("cd")
@example("\ud800")
def test_reading_never_raises(text: str) -> None:
    assert isinstance(read_line(text), Line | NotPlain)


def test_a_line_is_split_into_its_parts() -> None:
    line = read_line("cd src && sort -u < a.txt 2>/dev/null | head -5 >> b.txt 2>&1 || echo no;")
    assert isinstance(line, Line)
    assert line.directory == "src"
    assert [pipeline.joiner for pipeline in line.pipelines] == [Joiner.THEN, Joiner.OR]
    assert [command.redirects for pipeline in line.pipelines for command in pipeline.commands] == [
        (Redirect(Stream.STDIN, ToFile("a.txt")), Redirect(Stream.STDERR, ToNull())),
        (Redirect(Stream.STDOUT, ToFile("b.txt", append=True)), Redirect(Stream.STDERR, ToStdout())),
        (),
    ]


REVIEWED = (
    "x=$ rm -rf DIR",
    "rm \\\r\n -rf a",
    "echo a \\\n b",
    "cat <<E\n $(rm a)\nE",
    'echo $(( "$(rm a)" ))',
    'echo ${a["$(rm a)"]}',
    "ls >& $(rm a)",
    "echo ${x@P}",
    'printf -v \'a["]"$(rm a)]\' x; test -v "$y"',
    "let 'a[$(rm a)]'",
    "read 'a[$(rm a)]'",
)
"""What an adversarial review ran unasked when lines were parsed one way and run by bash another."""
NOT_PLAIN = (
    *(
        "a\\ b",
        "a $x",
        "a `b`",
        "a ~",
        "a ~/b",
        "a b:~",
        "a b=~",
        "a [x]",
        "a {b,c}",
        "a {1..3}",
        "a (b)",
        "(a)",
        "! a",
    ),
    *(
        "A=1",
        "A=1 b",
        "A=/tmp b",
        "a+=1 b",
        "'A=1' b",
        "if a; then b; fi",
        "a; then",
        "time a",
        "a # b",
        "a#b",
        "a &",
        "a & b",
        "a |& b",
    ),
    *(
        "a >| b",
        "a <> b",
        "a << b",
        "a <<< b",
        "a &> b",
        "a >& b",
        "a 3> b",
        "a 1> b",
        "a 2>> b",
        "a {x}> b",
        "a>b",
        "a 2>&1b",
    ),
    *(
        "> b",
        "> b a",
        "a > b c",
        "a >",
        "a > *",
        "a > ''",
        "a > ../b",
        "a > b/",
        "a\nb",
        "a\n",
        "a\rb",
        "a\tb",
        "a '\x01'",
    ),
    *(
        "a\u200bb",
        "a\u00a0b",
        "a b\u3000",
        "'a",
        '"a',
        '"a$b"',
        '"a`b`"',
        '"a\\"b"',
        '"a\\\\b"',
        "*",
        "a*b c",
        "?s",
        "'' a",
    ),
    *(
        "",
        " ",
        ";",
        "a |",
        "a &&",
        "| a",
        "a ;; b",
        "a || | b",
        "a ||| b",
        "a; ; b",
        "a &&& b",
        "a;&b",
        "a <(b)",
    ),
    *(
        "cd",
        "cd a",
        "cd a; b",
        "cd a || b",
        "cd - && b",
        "cd '' && b",
        "cd a* && b",
        "cd ../a && b",
        "a && cd b && c",
        "cd a | b",
    ),
    *(
        "ls .*",
        "ls /*",
        "ls ../*",
        "ls */../a",
        "ls a//*",
        "ls */.a",
        "ls a/.*",
        "ls .?",
        "a" * (MAX_LINE_CHARS + 1),
    ),
    *(
        f"{name} a"
        for name in [
            "export",
            "source",
            ".",
            "eval",
            "exec",
            "set",
            "alias",
            "trap",
            "ulimit",
            "read",
            "let",
            "declare",
            "unset",
            "shift",
            "[",
            ":",
            "type",
        ]
    ),
    *("'eval' a", "a | read b", "a && export b"),
)


@pytest.mark.parametrize("text", [*REVIEWED, *NOT_PLAIN])
def test_lines_that_need_shell_evaluation_are_not_plain(text: str) -> None:
    assert isinstance(read_line(text), NotPlain)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "git show HEAD~2^:a.b",
            "git stash show stash@{0}",
            "find . ! -name 'a' -exec b {} +",
            "a b=c --d=e,f %g",
        ),
        *("echo a;", " a  b ", "ls .github/*.yml ./*.py */ a?", "echo '# $(x) `y` \\ ~' \"a\\n!\""),
        *("kill -l; pwd && test -f a || true", "echo 2>&1 | cat 2> e"),
    ],
)
def test_literal_lines_are_plain(text: str) -> None:
    assert isinstance(read_line(text), Line)


def test_a_line_that_is_not_plain_says_what_made_it_so() -> None:
    reasons = [read_line(text) for text in ("a $x", "export a", "a > b c", "a\nb", "cd a")]
    assert [one.reason for one in reasons if isinstance(one, NotPlain)] == [
        "contains $ outside quotes",
        "starts a command with export, which a shell handles itself",
        "has words after a redirect",
        "contains a line break outside quotes",
        "uses cd other than as `cd DIRECTORY &&` at its start",
    ]


ORACLE = (
    "a",
    "b c",
    "'x y'",
    '"z\\w"',
    "''",
    '""',
    "~",
    "^",
    "{}",
    "{a}",
    "@{1}",
    "!",
    "=",
    "%",
    "2",
    "é",
    " ",
    ":",
    "'*'",
    '"`"',
)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_hands_programs_the_words_that_we_read(profile: Profile) -> None:
    choose = random.Random(profile.seed)
    tails = (
        "".join(choose.choices(ORACLE, k=choose.randint(1, 8)))
        for _ in range(profile.pick(test=2_000, proof=50_000))
    )
    plain = [line for tail in tails if isinstance(read_line(line := f"printf '%s\\0' {tail}"), Line)]
    script = "\n".join(f"{line}; printf '\\1'" for line in plain)
    ran = subprocess.run(["bash", "--norc"], input=script.encode(), capture_output=True, check=False, cwd="/")
    told = [part.split("\0")[:-1] for part in ran.stdout.decode().split("\1")[:-1]]
    assert len(plain) > 500
    assert told == [argvs(line)[0][2:] or [""] for line in plain]


def steps(line: str) -> int:
    """Calls and returns, of Python's functions and of C's, while the line is read."""
    taken = 0

    def one_more(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal taken
        taken += 1

    before = sys.getprofile()
    sys.setprofile(one_more)
    try:
        read_line(line)
    finally:
        sys.setprofile(before)
    return taken


HOSTILE: Sequence[str] = (
    "a ",
    "a|",
    "'a'",
    '"a" ',
    "a;",
    "{a}",
    "a~",
    "*",
    "a*/",
    "a > b ",
    "a && ",
    "é",
    "a\\",
    "$(",
    "2>&1 ",
    "cd ",
)


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_line_twice_as_long_takes_at_most_two_and_a_half_times_the_steps(piece: str) -> None:
    once, twice = (steps(f"a {piece * (chars // len(piece))}") for chars in (2_000, 4_000))
    assert twice <= 2.5 * once + 20
