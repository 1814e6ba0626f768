"""Operations on routines, for commands, the API and the chat assistant."""

from collections.abc import Callable

from bot.config.schema import Config
from bot.operator.personal_routines import PersonalRoutines
from core.clock import Clock
from core.ids import Ids
from core.routines.manage import RoutineManager
from core.routines.trial import RoutinesInWords
from core.safety.leaks import LeakDetector
from core.store.port import Store
from core.users import Principal


def build_manager(
    config: Config,
    store: Store,
    clock: Clock,
    ids: Ids,
    leaks: LeakDetector | None = None,
) -> RoutineManager:
    """Return the operations on routines."""
    return RoutineManager(
        store,
        clock,
        ids,
        timezone=config.hub.timezone,
        cooldown_s=config.routines.default_cooldown_s,
        priced=any(model.priced for model in config.models),
        leaks=leaks,
    )


def build_words(config: Config, store: Store, clock: Clock, ids: Ids, leaks: LeakDetector) -> RoutinesInWords:
    """Return the operations on routines for the chat assistant."""
    return RoutinesInWords(build_manager(config, store, clock, ids, leaks))


def personal_routines(
    config: Config,
    store: Store,
    clock: Clock,
    ids: Ids,
    leaks: LeakDetector | None = None,
) -> Callable[[Principal], PersonalRoutines]:
    """Return each person's routines, for the API and for commands."""

    def routines_of(principal: Principal) -> PersonalRoutines:
        manager = build_manager(config, store, clock, ids, leaks)
        return PersonalRoutines(manager, store, principal, clock, ids, timezone=config.hub.timezone)

    return routines_of
