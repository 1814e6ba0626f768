"""Routines of a hub as their services see them; the engine is loaded with the first routine there is."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot.config.schema import Config
from core.clock import Clock, Timers
from core.ids import Ids
from core.lazy import LazyModule
from core.messages import InboundMessage
from core.routines.service import Engine, RoutineService
from core.runs.model_list import ModelList
from core.runs.registry import RunRegistry, RunSignals
from core.runs.services import ReplyHook
from core.safety.leaks import LeakDetector
from core.store.port import Store
from core.tools.pipeline import CallPipeline

if TYPE_CHECKING:
    from bot.routines import engine_builder
    from core.jobs.service import ContainerProbe
    from core.people.notices import Notices
    from core.routine import Match
    from core.routines import events
    from core.routines.notices import ThreadOpener
    from core.runs.workspace_texts import WorkspaceTexts
else:
    engine_builder = LazyModule("bot.routines.engine_builder")
    events = LazyModule("core.routines.events")


def build_routines(
    config: Config,
    store: Store,
    models: ModelList,
    registry: RunRegistry,
    pipeline: CallPipeline,
    probe: "ContainerProbe",
    notices: "Callable[[], Notices]",
    open_thread: "ThreadOpener",
    clock: Clock,
    timers: Timers,
    ids: Ids,
    leaks: LeakDetector,
    hook: ReplyHook | None = None,
    closed: Sequence[Path] = (),
    texts: "WorkspaceTexts | None" = None,
) -> RoutineService:
    """Build this hub's routines. Their parts are loaded with the first routine. `closed`: files and
    directories from which routines read nothing."""
    if not config.routines.enabled:
        return resting_routines(store)

    def build(signals: RunSignals) -> Engine:
        return engine_builder.build_engine(
            signals,
            config,
            store,
            models,
            registry,
            pipeline,
            probe,
            notices,
            open_thread,
            clock,
            timers,
            ids,
            leaks,
            hook,
            closed,
            texts,
        )

    own = partial(_keep_heartbeat, config, store, clock)
    return RoutineService(store.routines, build, own, beats=config.heartbeat.enabled)


async def _keep_heartbeat(config: Config, store: Store, clock: Clock) -> None:
    beat = config.heartbeat
    schedule = events.schedule_of_beats(beat.every_s, beat.at) if beat.enabled else None
    await events.keep_heartbeat(store, config.hub.owner, schedule, config.hub.timezone, clock)


class IdleEngine:
    """An Engine that does nothing: no hub runs, or `[routines] enabled = false`."""

    async def prepare(self) -> None:
        # There is nothing to load.
        pass

    async def resume(self, run: object) -> None:
        # There is nothing to run.
        pass

    async def join(self, run: object, timeout_s: float) -> None:
        # There is nothing to wait for.
        pass

    async def set_aside(self, run: object) -> None:
        # There is nothing to run.
        pass

    def unfinished(self) -> tuple[str, ...]:
        """Return no runs."""
        return ()

    async def run(self) -> None:
        # There is nothing to run.
        pass

    def matches(self, message: InboundMessage) -> "tuple[Match, ...]":
        # No routine hears anything.
        del message
        return ()

    def webhook(self, path: str) -> None:
        """Return no webhook."""
        del path

    def changed(self, row: object) -> None:
        # The change is in the store.
        pass

    def deleted(self, routine_id: str) -> None:
        # The routine is no longer in the store.
        pass


def resting_routines(store: Store) -> RoutineService:
    """Return routines that can be changed but do not run."""
    return RoutineService(store.routines, lambda _: IdleEngine())
