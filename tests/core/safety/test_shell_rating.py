"""Shell command lines are rated by what they would do, however they are written."""

import shlex
import time
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.safety.shell import ShellRating, rate_command_line
from tests.core.safety.shell_lines import BENIGN, BLOCKED, DESTRUCTIVE
from tests.core.safety.shell_wrappings import around, before, look_lower
from tests.plugins.profile import Profile


def misjudged(lines: tuple[str, ...], right: Callable[[ShellRating], bool]) -> list[tuple[str, ShellRating]]:
    """The lines whose rating isn't right, with that rating."""
    return [(line, rating) for line in lines if not right(rating := rate_command_line(line))]


def test_what_would_destroy_the_system_is_refused_in_every_mode() -> None:
    assert misjudged(BLOCKED, lambda rating: rating.blocked is not None and rating.high) == []


def test_destructive_and_disguised_lines_need_a_person_every_time() -> None:
    assert misjudged(DESTRUCTIVE, lambda rating: rating.high and rating.blocked is None) == []


def test_everyday_lines_are_not_rated_high() -> None:
    assert misjudged(BENIGN, lambda rating: not rating.high and rating.blocked is None) == []


def test_the_person_who_decides_is_told_in_a_sentence_what_is_risky() -> None:
    assert misjudged(DESTRUCTIVE, lambda rating: rating.reason.startswith("This command ")) == []
    assert rate_command_line("ls; rm a").reason == "This command deletes files."


# --- however it is wrapped -----------------------------------------------------------------------------


SIMPLE = (
    "rm -rf /",
    "rm -rf build",
    "dd if=/dev/zero of=/dev/sda",
    "mkfs.ext4 /dev/sdb1",
    "git push --force",
    "git reset --hard",
    "find . -delete",
    "sed -i s/a/b/ notes.txt",
    "chmod -R 777 .",
    "kill -9 1234",
    "docker rm -f web",
    "cat .env",
    "shutdown -h now",
)
WRAPPABLE = tuple(line for line in (*BLOCKED, *DESTRUCTIVE) if line.isprintable())


def test_no_surroundings_make_a_line_look_harmless(profile: Profile) -> None:
    step = profile.pick(test=4, proof=1)
    assert look_lower(WRAPPABLE[::step], around) == []


def test_no_way_of_writing_makes_a_command_look_harmless() -> None:
    assert look_lower(SIMPLE, before) == []


# --- what "always" would cover ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line,pattern",
    [
        ("ls -la", "ls"),
        ("cat notes.txt 2>/dev/null", "cat"),
        ("git status -s", "git status"),
        ("git commit -m 'a; b'", "git commit"),
        ("systemctl status nginx", "systemctl status"),
        ("make test", "make test"),
        ("python3 a.py 'b c'", "python3 a.py 'b c'"),
        ("cp a b", "cp a b"),
        ("git push origin main", "git push origin main"),
        ("./ls", "./ls"),
        ("rm a", "rm a"),  # for explicit grants to autonomous runs; a person is never offered it
        ("cat .env", "cat .env"),
        ("cp *.txt b", None),
        ("make $TARGET", None),
        ("cp ~/a b", None),
        ("FOO=1 make", None),
        ("ls > out.txt", None),
        ("ls | head", None),
        ("ls; ls", None),
        ("ls &", None),
        ("ls $(pwd)", None),
        ("(ls)", None),
        ("! ls", None),
        ("ls -l \\\n src", None),
        ("$x", None),
        ("ls 'unclosed", None),
        ("", None),
    ],
)
def test_a_pattern_covers_only_what_is_plain(line: str, pattern: str | None) -> None:
    assert rate_command_line(line).pattern == pattern


def test_a_bare_star_never_gets_into_a_pattern() -> None:
    """In a grant it would mean "anything after this"."""
    assert rate_command_line("make '*'").pattern == "make '*'"
    assert rate_command_line("make *").pattern is None


# --- anything ----------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    (
        *("rm", "ls", "-rf", "sh -c ", "xargs ", "env ", "~", "/", "$x", "E", "é"),
        *(" ", "\n", "\\\n", "\\", ";", "&&", "|", "&", "!", "=", "=~", "*", "#", ">", "<", '"', "'", "`"),
        *("$(", ")", "(", "{", "}", "${", "$((", "))", "[[", "]]", "<<E", "\nE\n", "\x00", "\ud800"),
        *("if ", "then ", "fi", "for ", "do ", "done", "case ", "esac"),
    )
)


@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=200))
@example("")
@example("\x00")
@example("(" * 4000)
@example("$(" * 2000)
@example("env " * 1000)
@example("sh -c 'sh -c \"sh -c ls\"'")
def test_rating_never_raises_and_what_is_blocked_is_high(line: str) -> None:
    rating = rate_command_line(line)
    assert rating.high or rating.blocked is None


@given(st.lists(PIECES, max_size=20).map("".join))
def test_what_follows_a_destructive_command_never_makes_it_harmless(tail: str) -> None:
    assert rate_command_line(f"rm -rf build\n{tail}").high


@pytest.mark.parametrize("nesting", [2, 5, 20])
def test_commands_are_found_at_any_depth_or_refused(nesting: int) -> None:
    line = "rm a"
    for _ in range(nesting):
        line = f"env nice {line}" if nesting > 5 else f"sh -c {shlex.quote(line)}"
    assert rate_command_line(line).high


@pytest.mark.parametrize(
    "piece", ["a|", "$[", "x=(", "f() ", "<<E ", "${", "((", "$((", "a;", "env ", "[[ ", "a&&", "`", "{ "]
)
def test_hostile_lines_are_judged_in_bounded_time(piece: str) -> None:
    """However long the line: past a limit it is refused unread. The bound is far above what is needed."""
    started = time.process_time()
    for length in (1_000, 4_000, 16_000, 1_000_000):
        rate_command_line(piece * (length // len(piece)))
    assert time.process_time() - started < 5
