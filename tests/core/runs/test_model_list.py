"""How a model's failures set it aside: cooldown, breaker with one probe, resting keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from core.runs.model_list import (
    COOLED_AFTER,
    FIRST_COOLDOWN_S,
    FIRST_OPEN_S,
    LONGEST_COOLDOWN_S,
    LONGEST_OPEN_S,
    OPENS_AFTER,
    Candidate,
    ConfiguredModel,
    ModelHealth,
    ModelList,
    Permit,
)
from tests.clock import ManualClock
from tests.core.runs.models_bench import scripted, unrecorded


def middle(low: float, high: float) -> float:
    return (low + high) / 2


def health(clock: ManualClock) -> ModelHealth:
    return ModelHealth(clock, middle)


def begun(one: ModelHealth) -> Permit:
    permit = one.begin()
    assert permit is not None
    return permit


def fail(one: ModelHealth, times: int, retry_after_s: float | None = None) -> None:
    for _ in range(times):
        one.failed(begun(one), retry_after_s)


def test_three_failures_in_a_row_cool_a_model_and_an_answer_ends_it() -> None:
    clock = ManualClock()
    one = health(clock)
    fail(one, COOLED_AFTER - 1)
    assert not one.cooled
    fail(one, 1)
    assert one.cooled
    clock.advance(FIRST_COOLDOWN_S - 1)
    assert one.cooled
    clock.advance(2)
    assert not one.cooled
    fail(one, 1)
    assert one.cooled, "a failure right after the cooldown cools it again"
    clock.advance(FIRST_COOLDOWN_S + 1)
    assert one.cooled, "for twice as long"
    one.answered(begun(one))
    assert not one.cooled
    fail(one, COOLED_AFTER - 1)
    assert not one.cooled, "an answer ends the row"


def test_a_cooldown_lasts_at_least_as_long_as_the_provider_asks() -> None:
    clock = ManualClock()
    one = health(clock)
    fail(one, COOLED_AFTER, retry_after_s=1234.0)
    clock.advance(1233)
    assert one.cooled
    clock.advance(2)
    assert not one.cooled


@given(st.integers(0, 60), st.floats(0, 1))
def test_cooldowns_grow_with_jitter_up_to_a_limit(more: int, share: float) -> None:
    clock = ManualClock()
    one = ModelHealth(clock, lambda low, high: low + (high - low) * share)
    permits = [Permit(clock.monotonic_s(), probe=False)] * (COOLED_AFTER + more)
    for permit in permits:
        one.failed(permit)
    expected_s = min(LONGEST_COOLDOWN_S, FIRST_COOLDOWN_S * 2**more) * (0.75 + share / 2)
    clock.advance(expected_s - 0.01)
    assert one.cooled
    clock.advance(0.02)
    assert not one.cooled


def test_failures_of_concurrent_calls_count_once() -> None:
    clock = ManualClock()
    one = health(clock)
    permits = [begun(one) for _ in range(50)]
    clock.advance(1)
    for permit in permits:
        one.failed(permit)
    assert not one.cooled
    assert one.begin() is not None


def test_five_failures_open_the_breaker_and_one_probe_at_a_time_tries_again() -> None:
    clock = ManualClock()
    one = health(clock)
    fail(one, OPENS_AFTER)
    assert one.begin() is None
    clock.advance(FIRST_OPEN_S - 1)
    assert one.begin() is None
    clock.advance(2)
    probe = begun(one)
    assert probe.probe
    assert one.begin() is None, "one probe at a time"
    one.left(probe)
    probe = begun(one)
    one.failed(probe)
    clock.advance(FIRST_OPEN_S + 1)
    assert one.begin() is None, "open for longer"
    clock.advance(FIRST_OPEN_S)
    one.answered(begun(one))
    assert not begun(one).probe, "closed"


class Breaker(RuleBasedStateMachine):
    """A machine in which there is never more than one probe, and an answer lets everybody through."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.one = health(self.clock)
        self.out: list[Permit] = []
        self.row = 0

    @rule()
    def begin(self) -> None:
        permit = self.one.begin()
        if permit is not None:
            self.out.append(permit)
        assert permit is not None or self.row >= OPENS_AFTER

    @rule(seconds=st.sampled_from([0.5, 20.0, LONGEST_OPEN_S * 2]))
    def pass_by(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(number=st.integers(0, 99), end=st.sampled_from(["answered", "failed", "left"]))
    def end(self, number: int, end: str) -> None:
        if not self.out:
            return
        permit = self.out.pop(number % len(self.out))
        getattr(self.one, end)(permit)
        self.row = {"answered": 0, "failed": self.row + 1, "left": self.row}[end]

    @invariant()
    def one_probe(self) -> None:
        assert sum(permit.probe for permit in self.out) <= 1


TestBreaker = Breaker.TestCase


# ---------------------------------------------------------------- keys, and the order


def candidate(clock: ManualClock, keys: int) -> Candidate:
    model = scripted("main")
    return Candidate(ConfiguredModel("main", "test", 1000, (model,) * keys), clock, middle)


def test_keys_that_cool_down_are_skipped_until_all_cool_down() -> None:
    clock = ManualClock()
    one = candidate(clock, 3)
    assert one.key == 0
    one.rest_key(0, 100)
    assert (one.key, one.awake) == (1, True)
    one.rest_key(1, 50)
    one.rest_key(2, 70)
    assert (one.key, one.awake) == (1, False), "the one whose rest ends first"
    assert not one.preferred
    clock.advance(51)
    assert (one.key, one.preferred) == (1, True)
    clock.advance(50)
    assert one.key == 0


def test_models_that_are_set_aside_are_called_only_when_no_other_is_left() -> None:
    clock = ManualClock()
    made = ModelList(
        [ConfiguredModel(name, "test", 1000 * size, (scripted(name),)) for size, name in enumerate("abc", 1)],
        clock,
        unrecorded(),
        middle,
    )
    a, b, c = made.in_order()
    assert [one.name for one in (a, b, c)] == ["a", "b", "c"]
    a.health.cool(100)
    clock.advance(1)
    assert [one.name for one in made.in_order()] == ["b", "c"]
    assert [one.name for one in made.in_order(1000)] == ["b", "c"]
    assert [one.name for one in made.in_order(2000)] == ["c"]
    assert list(made.in_order(3000)) == []
    assert [one.name for one in made.in_order(without={"b"})] == ["c"]
    assert [one.name for one in made.in_order(without={"a", "b", "c"})] == ["b", "c"]
    c.rest_key(0, 100)
    clock.advance(1)
    b.health.cool(100)
    assert [one.name for one in made.in_order()] == ["a"], "the one set aside longest ago"
    clock.advance(99.5)
    assert [one.name for one in made.in_order()] == ["a", "c"]


def test_a_list_needs_a_model() -> None:
    with pytest.raises(ValueError, match="at least one"):
        ModelList([], ManualClock(), unrecorded())
