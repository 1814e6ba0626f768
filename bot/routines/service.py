"""Routines of a hub as their services see them; the engine is loaded with the first routine there is."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot.config.schema import Config
from core.clock import Clock
from core.ids import Ids
from core.lazy_module import LazyModule
from core.messages import InboundMessage
from core.model.base import Model
from core.routines.service import Engine, RoutineService, RoutineSignals
from core.runs.services import ReplyHook
from core.safety.leaks import LeakDetector
from core.store.port import Store
from core.timers import Timers
from core.tools.pipeline import CallPipeline

if TYPE_CHECKING:
    from bot.routines import engine_builder
    from core.people.notices import Notices
    from core.routine import Match
    from core.routines import heartbeat
    from core.routines.notices import ThreadOpener
else:
    engine_builder = LazyModule("bot.routines.engine_builder")
    heartbeat = LazyModule("core.routines.heartbeat")


def build_routines(
    config: Config,
    store: Store,
    model: Model,
    pipeline: CallPipeline,
    notices: "Callable[[], Notices]",
    open_thread: "ThreadOpener",
    clock: Clock,
    timers: Timers,
    ids: Ids,
    leaks: LeakDetector,
    hook: ReplyHook | None = None,
    closed: Sequence[Path] = (),
) -> RoutineService:
    """Routines of this hub; nothing of them is loaded before there is one. `closed`: files and directories of
    which they read nothing."""
    if not config.routines.enabled:
        return resting_routines(store)

    def build(signals: RoutineSignals) -> Engine:
        return engine_builder.build_engine(
            signals,
            config,
            store,
            model,
            pipeline,
            notices,
            open_thread,
            clock,
            timers,
            ids,
            leaks,
            hook,
            closed,
        )

    own = partial(_keep_heartbeat, config, store, clock)
    return RoutineService(store.routines, build, own, beats=config.heartbeat.enabled)


async def _keep_heartbeat(config: Config, store: Store, clock: Clock) -> None:
    every_s = config.heartbeat.every_s if config.heartbeat.enabled else None
    await heartbeat.keep_heartbeat(store, config.hub.owner, every_s, config.hub.timezone, clock)


class IdleEngine:
    """An Engine that does nothing: no hub runs, or `[routines] enabled = false`."""

    async def prepare(self) -> None:
        """Nothing is loaded."""

    async def load(self) -> None:
        """Nothing is loaded."""

    async def take_over(self) -> None:
        """Nothing is run."""

    async def run(self) -> None:
        """Nothing is run."""

    def matches(self, message: InboundMessage) -> "tuple[Match, ...]":
        """Nothing is heard."""
        del message
        return ()

    def webhook(self, path: str) -> None:
        """Return no webhook."""
        del path

    def changed(self, row: object) -> None:
        """It is in the store."""

    def deleted(self, routine_id: str) -> None:
        """It is not in the store any more."""


def resting_routines(store: Store) -> RoutineService:
    """Routines that can be changed and are not carried out."""
    return RoutineService(store.routines, lambda _: IdleEngine())
