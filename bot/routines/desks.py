"""Operations on routines: by commands, the API and by talking."""

from collections.abc import Callable

from bot.config.schema import Config
from bot.operator.routines import DeskOfRoutines
from core.clock import Clock
from core.ids import Ids
from core.routines.manage import RoutineDesk
from core.routines.service import RoutineService
from core.routines.trial import RoutinesInWords
from core.safety.leaks import LeakDetector
from core.store.port import Store
from core.users import Principal


def build_desk(
    config: Config,
    store: Store,
    service: RoutineService,
    clock: Clock,
    ids: Ids,
    leaks: LeakDetector | None = None,
) -> RoutineDesk:
    """Return the operations on routines."""
    return RoutineDesk(
        store,
        service,
        clock,
        ids,
        timezone=config.hub.timezone,
        cooldown_s=config.routines.default_cooldown_s,
        priced=any(model.priced for model in config.models),
        leaks=leaks,
    )


def build_words(
    config: Config, store: Store, service: RoutineService, clock: Clock, ids: Ids, leaks: LeakDetector
) -> RoutinesInWords:
    """Return the operations on routines by talking."""
    return RoutinesInWords(build_desk(config, store, service, clock, ids, leaks))


def desks(
    config: Config,
    store: Store,
    service: RoutineService,
    clock: Clock,
    ids: Ids,
    leaks: LeakDetector | None = None,
) -> Callable[[Principal], DeskOfRoutines]:
    """Everybody's routines, for the API and for commands."""

    def desk_of(principal: Principal) -> DeskOfRoutines:
        desk = build_desk(config, store, service, clock, ids, leaks)
        return DeskOfRoutines(desk, store, principal, clock, ids, timezone=config.hub.timezone)

    return desk_of
