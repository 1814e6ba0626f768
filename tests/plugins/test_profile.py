"""A run is repeatable from the line it prints, and slices cover the slow tests exactly once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plugins.profile import Profile, read_profile


def test_the_default_is_the_short_profile_with_a_fixed_seed() -> None:
    assert read_profile({}) == Profile("test", seed=0, shard=1, shards=1)


def test_long_profiles_take_a_fresh_seed_by_default() -> None:
    seeds = {read_profile({"HUBBUB_PROFILE": "proof"}).seed for _ in range(5)}
    assert len(seeds) > 1
    told = read_profile({"HUBBUB_PROFILE": "ci", "HUBBUB_SEED": "7", "HUBBUB_SHARD": "2/3"})
    assert told == Profile("ci", seed=7, shard=2, shards=3)


@pytest.mark.parametrize(
    "variable,value",
    [
        ("HUBBUB_PROFILE", "prof"),
        ("HUBBUB_SEED", "-1"),
        ("HUBBUB_SEED", "x"),
        ("HUBBUB_SHARD", "0/2"),
        ("HUBBUB_SHARD", "3/2"),
        ("HUBBUB_SHARD", "2"),
    ],
)
def test_a_value_that_cannot_be_read_stops_the_run(variable: str, value: str) -> None:
    with pytest.raises(pytest.UsageError, match=variable):
        read_profile({variable: value})


@given(st.sets(st.text(min_size=1), max_size=30), st.integers(1, 7))
def test_the_slices_of_a_suite_cover_each_test_once(nodeids: set[str], shards: int) -> None:
    slices = [Profile("ci", 1, shard, shards) for shard in range(1, shards + 1)]
    for nodeid in nodeids:
        assert sum(one.takes(nodeid) for one in slices) == 1


def test_pick_scales_a_suite() -> None:
    picked = [Profile(name, 0, 1, 1).pick(test=10, proof=200) for name in ("test", "ci", "proof")]
    assert picked == [10, 10, 200]
    assert Profile("ci", 0, 1, 1).pick(test=10, ci=40, proof=200) == 40
