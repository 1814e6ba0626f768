"""Operations on routines, for commands, the API and the chat assistant."""

from collections.abc import Callable

from bot.config.schema import Config
from bot.jobs.builder import build_dispatcher
from bot.web.routines_api import RoutinesApi
from core.clock import Clock
from core.ids import Ids
from core.routines.manage import RoutineManager
from core.routines.service import RoutineService
from core.routines.trial import RoutinesInWords
from core.safety.leaks import LeakDetector
from core.store.port import Store
from core.tools.pipeline import CallPipeline


def build_manager(
    config: Config,
    store: Store,
    service: RoutineService,
    clock: Clock,
    ids: Ids,
    leaks: LeakDetector | None = None,
    pipeline: Callable[[], CallPipeline] | None = None,
) -> RoutineManager:
    """Return the operations on routines. `pipeline`: None where there are no tools, and so no jobs."""
    return RoutineManager(
        store,
        service,
        clock,
        ids,
        timezone=config.hub.timezone,
        cooldown_s=config.routines.default_cooldown_s,
        priced=any(model.priced for model in config.models),
        leaks=leaks,
        jobs=lambda: None if pipeline is None else build_dispatcher(config, pipeline(), ids),
    )


def build_words(
    config: Config,
    store: Store,
    service: RoutineService,
    clock: Clock,
    ids: Ids,
    leaks: LeakDetector,
    pipeline: Callable[[], CallPipeline],
) -> RoutinesInWords:
    """Return the operations on routines for the chat assistant."""
    return RoutinesInWords(build_manager(config, store, service, clock, ids, leaks, pipeline))


def routines_api(
    config: Config,
    store: Store,
    service: RoutineService,
    clock: Clock,
    ids: Ids,
    pipeline: Callable[[], CallPipeline],
    leaks: LeakDetector | None = None,
) -> RoutinesApi:
    """Return the endpoints for routines."""
    manager = build_manager(config, store, service, clock, ids, leaks, pipeline)
    return RoutinesApi(manager, store, clock, ids, pipeline, timezone=config.hub.timezone)
