"""Grants cover the person, tool, thread, time and pattern they were given for, and nothing else."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.consent.decide import ANY, Wanted, covered, covering
from core.gates import Grant, GrantScope
from core.tool import Need

GRANT = Grant("g1", "olivia", "shell", "git status", GrantScope.USER, None, "olivia", 0)
WANTED = Wanted("shell", rated=True, needs=(Need("git status"),), user_id="olivia", thread_id="t1")


def test_a_grant_covers_the_call_it_was_given_for() -> None:
    assert covering([GRANT], WANTED, now=1)
    assert not covering([], WANTED, now=1)


@pytest.mark.parametrize(
    "wanted",
    [
        replace(WANTED, tool="http"),
        replace(WANTED, user_id="milan"),
        replace(WANTED, needs=(Need("git push"),)),
        replace(WANTED, needs=(Need("git status -s"),)),
        replace(WANTED, needs=(Need("git"),)),
        replace(WANTED, needs=()),
        replace(WANTED, needs=(*WANTED.needs, Need("git push"))),
    ],
)
def test_a_grant_covers_nothing_else(wanted: Wanted) -> None:
    assert not covering([GRANT], wanted, now=1)


@pytest.mark.parametrize(
    "rated, needs, pattern",
    [(True, (), ANY), (False, (), None), (False, WANTED.needs, None), (True, WANTED.needs, ANY)],
)
def test_a_grant_of_all_calls_of_a_tool_covers_each(
    rated: bool, needs: tuple[Need, ...], pattern: str | None
) -> None:
    whole = replace(GRANT, id="whole", pattern=pattern)
    other = replace(GRANT, pattern="ls")
    assert covering([other, whole], replace(WANTED, rated=rated, needs=needs), now=1) == (whole,)


def test_one_grant_of_many_is_enough() -> None:
    others = [replace(GRANT, id=f"g{number}", pattern=f"git {number}") for number in range(5)]
    assert covering([*others, GRANT], WANTED, now=1)


@pytest.mark.parametrize(
    "expires_at,now,valid", [(None, 10**18, True), (100, 99, True), (100, 100, False), (100, 101, False)]
)
def test_a_grant_ends_when_it_expires(expires_at: int | None, now: int, valid: bool) -> None:
    assert bool(covering([replace(GRANT, expires_at=expires_at)], WANTED, now)) is valid


def test_a_grant_for_a_thread_covers_that_thread_alone() -> None:
    here = replace(GRANT, scope=GrantScope.THREAD, thread_id="t1")
    assert covering([here], WANTED, now=1)
    assert not covering([here], replace(WANTED, thread_id="t2"), now=1)


def needs_for(name: str | None) -> tuple[Need, ...]:
    return () if name is None else (Need(name),)


def test_several_grants_together_cover_what_none_covers_alone() -> None:
    both = replace(WANTED, needs=(Need("git status"), Need("sort -u")))
    other = replace(GRANT, id="g2", pattern="sort -u")
    assert not covering([GRANT], both, now=1)
    assert not covering([other], both, now=1)
    assert covering([GRANT, other], both, now=1)
    assert covering([replace(GRANT, pattern="*")], both, now=1)


@pytest.mark.parametrize(
    "pattern,fits",
    [
        ("@git log", True),
        ("git log -3", True),
        ("git *", True),
        ("@git *", False),
        ("@git", False),
        ("@sort", False),
        ("*", True),
    ],
)
def test_a_row_is_granted_by_its_name_and_not_by_a_pattern(pattern: str, fits: bool) -> None:
    assert covered([pattern], [Need("git log -3", row="@git log")], rated=True) is fits


@pytest.mark.parametrize("pattern", ["*", "rm *", "rm $x *", "rm $", "rm $x ", "@rm"])
def test_exact_grants_are_not_covered_by_patterns(pattern: str) -> None:
    need = Need("rm $x", row="@rm", exactly=True)
    assert not covered([pattern], [need], rated=True)
    assert covered(["rm $x"], [need], rated=True)


@pytest.mark.parametrize(
    "pattern,name,rated,fits",
    [
        (None, None, False, True),
        (None, "anything", False, True),
        (None, "git status", True, False),
        (None, None, True, False),
        ("*", "git status", True, True),
        ("*", None, True, True),
        ("git *", "git", True, True),
        ("git *", "git status", True, True),
        ("git *", "git-shell", True, False),
        ("git *", "gitk", True, False),
        ("git *", "sudo git", True, False),
        ("git *", None, True, False),
        ("git*", "git status", True, False),
        ("git*", "git*", True, True),
        ("git ?", "git x", True, False),
        ("", "", True, True),
        ("", "git", True, False),
        (" *", " x", True, True),
        (" *", "x", True, False),
    ],
)
def test_patterns_match_by_the_rules_of_their_language(
    pattern: str | None, name: str | None, rated: bool, fits: bool
) -> None:
    assert covered([pattern], needs_for(name), rated=rated) is fits


@given(st.text(), st.text())
def test_a_pattern_without_a_star_at_its_end_matches_only_itself(pattern: str, name: str) -> None:
    if not pattern.endswith("*"):
        assert covered([pattern], needs_for(name), rated=True) is (pattern == name)
