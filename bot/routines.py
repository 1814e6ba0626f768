"""Builds what carries routines out, with the first routine there is."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot.config.schema import Config
from core.clock import Clock
from core.ids import Ids
from core.messages import InboundMessage, Message
from core.model.base import Model
from core.routines.service import Engine, RoutineService, RoutineSignals
from core.runs.services import ReplyHook
from core.safety.leaks import LeakDetector
from core.store.port import Store
from core.tools.pipeline import CallPipeline
from core.tools.processes import end_process
from core.users import Principal

if TYPE_CHECKING:
    from bot.operator.routines import DeskOfRoutines
    from core.people.notices import Notices, Recipient
    from core.routine import Match
    from core.routines.manage import RoutineDesk
    from core.routines.notices import ThreadOpener
    from core.routines.trial import RoutinesInWords


def build_routines(
    config: Config,
    store: Store,
    model: Model,
    pipeline: CallPipeline,
    notices: "Callable[[], Notices]",
    open_thread: "ThreadOpener",
    clock: Clock,
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
        from bot.platforms import readable_files
        from core.routine_json import read_hours
        from core.routines.engine import EngineParts, RoutineEngine
        from core.routines.events import HubEvents, SystemEvents
        from core.routines.heartbeat import Heartbeat
        from core.routines.notices import OwnThreads, Telling
        from core.routines.pattern_registry import Doors, Listening
        from core.routines.run import LightweightRuns
        from core.routines.tool_run import ActingRuns, ActingServices
        from core.runs.redacted_reply import UnseenModel
        from core.safety.paths import PathGuard

        async def send(key: str, to: "Recipient", message: Message) -> bool:
            return await notices().send(key, to, message)

        zone = config.hub.timezone
        unseen = UnseenModel(model, leaks, hook)
        read_file = readable_files(PathGuard(config.workspace.dir, closed))
        acting = ActingRuns(ActingServices(store, unseen, pipeline, clock, ids))
        runs = LightweightRuns(unseen, read_file, store.user, clock, zone, acting)
        own_threads = OwnThreads(store, lambda to: notices().places(to), open_thread)
        telling = Telling(store, send, own_threads, clock)
        heartbeat = Heartbeat(read_file, read_hours(config.heartbeat.active_hours), zone, clock)
        events = HubEvents(SystemEvents(store, lambda _: signals.wake(), clock, ids), config.hub.owner, ids)
        parts = EngineParts(
            store, runs, telling, Listening(), Doors(), heartbeat, events, signals, clock, ids, end_process
        )
        return RoutineEngine(parts, most=config.routines.max_concurrent, timezone=zone)

    own = partial(_keep_heartbeat, config, store, clock)
    return RoutineService(store, build, own, beats=config.heartbeat.enabled)


async def _keep_heartbeat(config: Config, store: Store, clock: Clock) -> None:
    from core.routines.heartbeat import keep_heartbeat

    every_s = config.heartbeat.every_s if config.heartbeat.enabled else None
    await keep_heartbeat(store, config.hub.owner, every_s, config.hub.timezone, clock)


def build_desk(
    config: Config,
    store: Store,
    service: RoutineService,
    clock: Clock,
    ids: Ids,
    leaks: LeakDetector | None = None,
) -> "RoutineDesk":
    """What people do with routines."""
    from core.routines.manage import RoutineDesk

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
) -> "RoutinesInWords":
    """What people do with routines by talking."""
    from core.routines.trial import RoutinesInWords

    return RoutinesInWords(build_desk(config, store, service, clock, ids, leaks))


def desks(
    config: Config,
    store: Store,
    service: RoutineService,
    clock: Clock,
    ids: Ids,
    leaks: LeakDetector | None = None,
) -> "Callable[[Principal], DeskOfRoutines]":
    """Everybody's routines, for the API and for commands."""

    def desk_of(principal: Principal) -> "DeskOfRoutines":
        from bot.operator.routines import DeskOfRoutines

        desk = build_desk(config, store, service, clock, ids, leaks)
        return DeskOfRoutines(desk, store, principal, clock, ids, timezone=config.hub.timezone)

    return desk_of


class Resting:
    """An Engine that does nothing: no hub runs, or `[routines] enabled = false`."""

    async def prepare(self) -> None:
        """Nothing is loaded."""

    async def run(self) -> None:
        """Nothing is run."""

    def matches(self, message: InboundMessage) -> "tuple[Match, ...]":
        """Nothing is heard."""
        del message
        return ()

    def door(self, path: str) -> None:
        """Nobody is let in."""
        del path

    def changed(self, row: object) -> None:
        """It is in the store."""

    def deleted(self, routine_id: str) -> None:
        """It is not in the store any more."""


def resting_routines(store: Store) -> RoutineService:
    """Routines that can be changed and are not carried out."""
    return RoutineService(store, lambda _: Resting())
