"""The configured models of a hub in order, and how each is doing: cooldown, circuit breaker, resting keys.

A model that failed several times in a row is cooled: other models are preferred for a while. If it fails
further, its breaker opens and it is not called at all, until one probe may try it again. A key that was
rejected or limited rests, and the model's next key is used.
"""

import math
import random
from collections.abc import Callable, Collection, Mapping, Sequence

from core.clock import Clock
from core.errors import ModelFault
from core.lazy import dataclass
from core.model.base import Model, ModelAbilities, Price, TokenRatio
from core.runs.metering import Metering
from core.usage import Usage
from core.users import Thinking

Uniform = Callable[[float, float], float]
"""Returns a random number between two bounds, as random.uniform."""

JITTER = 0.25
COOLED_AFTER = 3
"""The number of failures in a row after which other models are preferred."""
FIRST_COOLDOWN_S, LONGEST_COOLDOWN_S = 60.0, 900.0
"""The cooldown doubles with each further failure."""
OPENS_AFTER = 5
"""The number of failures in a row after which a model is not called."""
FIRST_OPEN_S, LONGEST_OPEN_S = 30.0, 300.0
LIMITED_KEY_REST_S = 30.0
"""The rest of a rate-limited key if the provider names no time."""
REJECTED_KEY_REST_S = 3600.0


@dataclass(frozen=True, slots=True)
class Permit:
    """The permission for one call. `probe`: the only one that a half-open breaker lets through."""

    began_s: float
    probe: bool


class ModelHealth:
    """The recent failures of one model, and what follows from them.

    Failures of calls that were under way at the same time count once, so that a moment's outage under
    load weighs as much as one without."""

    def __init__(self, clock: Clock, uniform: Uniform) -> None:
        self._clock = clock
        self._uniform = uniform
        self._failures = 0
        self._failed_s = self._open_until_s = self._cooled_until_s = -math.inf
        self._probing = False
        self.cooled_s = -math.inf
        """When it was cooled last."""

    @property
    def cooled(self) -> bool:
        """Return whether other models are preferred now."""
        return self._clock.monotonic_s() < self._cooled_until_s

    def begin(self) -> Permit | None:
        """Return the permission for a call, or None while the breaker lets none through.

        The call must end with `answered`, `failed` or `left`."""
        now_s = self._clock.monotonic_s()
        if self._failures < OPENS_AFTER:
            return Permit(now_s, probe=False)
        if self._probing or now_s < self._open_until_s:
            return None
        self._probing = True
        return Permit(now_s, probe=True)

    def answered(self, permit: Permit) -> None:
        """Record that the provider answered, also if it refused the request."""
        self.left(permit)
        self._failures = 0
        self._cooled_until_s = -math.inf

    def failed(self, permit: Permit, retry_after_s: float | None = None) -> None:
        """Record a failure that may be over soon."""
        self.left(permit)
        if permit.began_s < self._failed_s:
            return
        self._failed_s = now_s = self._clock.monotonic_s()
        self._failures += 1
        if self._failures >= COOLED_AFTER:
            grown_s = self._grown_s(FIRST_COOLDOWN_S, self._failures - COOLED_AFTER, LONGEST_COOLDOWN_S)
            self.cool(max(grown_s, retry_after_s or 0.0))
        if self._failures >= OPENS_AFTER:
            grown_s = self._grown_s(FIRST_OPEN_S, self._failures - OPENS_AFTER, LONGEST_OPEN_S)
            self._open_until_s = now_s + grown_s

    def left(self, permit: Permit) -> None:
        """Record that a call ended without an answer or a failure, as when it was cancelled."""
        if permit.probe:
            self._probing = False

    def cool(self, seconds: float) -> None:
        """Prefer other models for that time."""
        self.cooled_s = self._clock.monotonic_s()
        self._cooled_until_s = self.cooled_s + seconds

    def _grown_s(self, first_s: float, doublings: int, longest_s: float) -> float:
        grown_s = min(longest_s, first_s * 2 ** min(doublings, 16))
        return grown_s * self._uniform(1 - JITTER, 1 + JITTER)


@dataclass(frozen=True, slots=True)
class ConfiguredModel:
    """One entry of the list. `per_key`: the model with each of its keys, in order; `price`: if known;
    `thinking`: its effort unless a request asks for another."""

    name: str
    provider: str
    context_tokens: int
    per_key: tuple[Model, ...]
    price: Price | None = None
    thinking: Thinking = Thinking.OFF


class Candidate:
    """One model of the list with its state."""

    def __init__(self, configured: ConfiguredModel, clock: Clock, uniform: Uniform) -> None:
        self.configured = configured
        self.name = configured.name
        self.provider = configured.provider
        self.context_tokens = configured.context_tokens
        self.thinking = configured.thinking
        self.health = ModelHealth(clock, uniform)
        self.ratio = TokenRatio()
        self.reported_fault: ModelFault | None = None
        """The fault of its setup that the owner knows of; None once it answers again."""
        self.reported_lessons: tuple[str, ...] = ()
        self._price = configured.price
        self._per_key = configured.per_key
        self._rest_until_s = [-math.inf] * len(configured.per_key)
        self._rested_s = -math.inf
        self._clock = clock

    @property
    def keys(self) -> int:
        """Return the number of its keys."""
        return len(self._per_key)

    def with_key(self, key: int) -> Model:
        """Return the model with one of its keys, for the metering point alone."""
        return self._per_key[key]

    def abilities(self, key: int) -> ModelAbilities:
        """Return the model's limits and abilities, as known with one of its keys."""
        return self._per_key[key].abilities

    def learned(self) -> tuple[str, ...]:
        """Return what its provider refused, with any of its keys."""
        return tuple(dict.fromkeys(one for model in self._per_key for one in model.abilities.learned))

    def cost_of(self, usage: Usage) -> Usage:
        """Return the usage with its cost, if the model's price is known."""
        return usage if self._price is None else self._price.applied(usage)

    def cost_at_most(self, input_tokens: int, output_tokens: int) -> int:
        """Return the highest cost of that many tokens in micro-USD; 0 if the model's price is not known."""
        return 0 if self._price is None else self._price.at_most(input_tokens, output_tokens)

    @property
    def key(self) -> int:
        """Return the number of the first key that doesn't rest, or of the one whose rest ends first."""
        if len(self._per_key) == 1:
            return 0
        now_s = self._clock.monotonic_s()
        awake = (number for number, until_s in enumerate(self._rest_until_s) if until_s <= now_s)
        soonest = min(range(len(self._rest_until_s)), key=self._rest_until_s.__getitem__)
        return next(awake, soonest)

    @property
    def awake(self) -> bool:
        """Return whether it has a key that doesn't rest."""
        return min(self._rest_until_s) <= self._clock.monotonic_s()

    def rest_key(self, key: int, seconds: float) -> None:
        """Use the other keys for that time."""
        self._rested_s = self._clock.monotonic_s()
        self._rest_until_s[key] = self._rested_s + seconds

    @property
    def preferred(self) -> bool:
        """Return whether nothing speaks against calling it now."""
        return self.set_aside_s == -math.inf or (self.awake and not self.health.cooled)

    @property
    def set_aside_s(self) -> float:
        """Return the time since which others are preferred."""
        return max(self.health.cooled_s, self._rested_s)


class ModelList:
    """The models of a hub, in order of preference, and the metering of their calls. It lives as long as the
    hub."""

    def __init__(
        self,
        models: Sequence[ConfiguredModel],
        clock: Clock,
        metering: Metering,
        uniform: Uniform = random.uniform,
        temperature: float | None = None,
    ) -> None:
        """Take at least one model. `temperature`: of runs without a person, where a model takes one."""
        if not models:
            raise ValueError("a list of models needs at least one")
        self.clock = clock
        self.metering = metering
        self.uniform = uniform
        self.temperature = temperature
        self._candidates = tuple(Candidate(model, clock, uniform) for model in models)

    def replace(self, models: Sequence[ConfiguredModel]) -> None:
        """Use these models from now on. Models used before keep their state, and replies in progress their
        model."""
        kept = {id(one.configured): one for one in self._candidates}
        self._candidates = tuple(
            kept.get(id(model)) or Candidate(model, self.clock, self.uniform) for model in models
        )

    @property
    def all(self) -> Sequence[Candidate]:
        """Return every model, in order."""
        return self._candidates

    @property
    def sees_images(self) -> bool:
        """Return whether any of them sees images."""
        return any(one.abilities(0).images for one in self._candidates)

    def unreported(self, faults: Mapping[str, ModelFault]) -> Mapping[str, ModelFault]:
        """Return the faults, by model, that the owner doesn't know of yet. From now on they do."""
        found: dict[str, ModelFault] = {}
        for one in self._candidates:
            fault = faults.get(one.name)
            if fault is not None and fault is not one.reported_fault:
                one.reported_fault = found[one.name] = fault
        return found

    def unreported_lessons(self, name: str) -> Collection[str]:
        """Return what the provider of the model of that name refused, unless that was returned before."""
        for one in self._candidates:
            if one.name == name:
                lessons = one.learned()
                if lessons != one.reported_lessons:
                    one.reported_lessons = lessons
                    return lessons
        return ()

    def in_order(
        self, above_tokens: int = 0, without: Collection[str] = (), first: str | None = None
    ) -> Sequence[Candidate]:
        """Return the models to try, in order: those that nothing speaks against, else the one that was
        set aside longest ago.

        `above_tokens`: only models with a larger window. `without`: names left out if others remain.
        `first`: the name of the preferred one, if it is configured."""
        allowed = list(self._candidates)
        if above_tokens:
            allowed = [one for one in allowed if one.context_tokens > above_tokens]
        if first is not None:
            allowed.sort(key=lambda one: one.name != first)
        if without:
            allowed = [one for one in allowed if one.name not in without] or allowed
        preferred = [one for one in allowed if one.preferred]
        return preferred or sorted(allowed, key=lambda one: one.set_aside_s)[:1]
