"""Routines of a hub, put together: what carries them out is loaded with the first one there is, what
changes them when somebody first asks."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot.config.schema import Config
from bot.jobs.builder import build_dispatcher
from bot.platforms import readable_files
from core import users
from core.clock import Clock, Timers
from core.ids import Ids
from core.lazy import LazyModule
from core.messages import InboundMessage, Message
from core.routines.service import Engine, RoutineService
from core.runs.model_list import ModelList
from core.runs.registry import RunRegistry, RunSignals
from core.runs.services import ReplyHook
from core.safety.leaks import LeakDetector
from core.safety.paths import PathGuard
from core.store.port import Store
from core.tools.pipeline import CallPipeline

if TYPE_CHECKING:
    from bot.web import routines_api as web
    from core import routine_json
    from core.jobs.service import ContainerProbe
    from core.people.notices import Notices, Recipient
    from core.routine import Match
    from core.routines import engine, manage, run, tool_runs, trial, triggers
    from core.routines import notices as routine_notices
    from core.runs import unattended, unseen_models
    from core.runs.workspace_texts import WorkspaceTexts
else:
    web = LazyModule("bot.web.routines_api")
    routine_json = LazyModule("core.routine_json")
    engine = LazyModule("core.routines.engine")
    manage = LazyModule("core.routines.manage")
    routine_notices = LazyModule("core.routines.notices")
    run = LazyModule("core.routines.run")
    tool_runs = LazyModule("core.routines.tool_runs")
    trial = LazyModule("core.routines.trial")
    triggers = LazyModule("core.routines.triggers")
    unattended = LazyModule("core.runs.unattended")
    unseen_models = LazyModule("core.runs.unseen_models")


def build_routines(
    config: Config,
    store: Store,
    models: ModelList,
    registry: RunRegistry,
    pipeline: CallPipeline,
    probe: "ContainerProbe",
    notices: "Callable[[], Notices]",
    open_thread: "routine_notices.ThreadOpener",
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
        return build_engine(
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
    schedule = triggers.schedule_of_beats(beat.every_s, beat.at) if beat.enabled else None
    await triggers.keep_heartbeat(store, config.hub.owner, schedule, config.hub.timezone, clock)


def build_engine(
    signals: RunSignals,
    config: Config,
    store: Store,
    models: ModelList,
    registry: RunRegistry,
    pipeline: CallPipeline,
    probe: "ContainerProbe",
    notices: "Callable[[], Notices]",
    open_thread: "routine_notices.ThreadOpener",
    clock: Clock,
    timers: Timers,
    ids: Ids,
    leaks: LeakDetector,
    hook: ReplyHook | None,
    closed: Sequence[Path],
    texts: "WorkspaceTexts | None",
) -> "engine.RoutineEngine":
    """Build the engine. `closed`: files and directories of which routines read nothing."""

    async def send(key: str, to: "Recipient", message: Message) -> bool:
        return await notices().send(key, to, message)

    zones = users.TimeZones(store.people.preferences, config.hub.timezone)
    unseen = unseen_models.UnseenModels(models, leaks, hook)
    read_file = readable_files(PathGuard(config.workspace.dir, closed))
    calls = tool_runs.ToolRuns(unattended.UnattendedServices(store, pipeline, clock, ids))
    configured, owner_of = config.agent.system_prompt, store.people.user
    runs = run.LightweightRuns(unseen, read_file, owner_of, clock, zones, calls, texts, configured)
    notice_threads = routine_notices.NoticeThreads(
        store.run_views, lambda to: notices().addresses(to), open_thread
    )
    notifier = routine_notices.RoutineNotifier(store.run_views, send, notice_threads, clock)
    # Someone who chose the time of day wants it then.
    awake = None if config.heartbeat.at else routine_json.read_hours(config.heartbeat.active_hours)
    beat = triggers.Heartbeat(read_file, awake, clock)
    jobs = tool_runs.FullJobServices(
        store.runs, lambda: build_dispatcher(config, pipeline, ids), probe, owner_of, zones, clock
    )
    hub_events = triggers.HubEvents(
        triggers.SystemEvents(store, lambda _: signals.wake(), clock, ids), config.hub.owner, ids
    )
    parts = engine.EngineParts(
        store,
        runs,
        notifier,
        triggers.PatternRegistry(),
        triggers.WebhookRegistry(),
        tool_runs.FullJobs(jobs),
        beat,
        hub_events,
        signals,
        clock,
        timers,
        ids,
        registry,
    )
    return engine.RoutineEngine(parts, most=config.routines.max_concurrent, timezones=zones)


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


# Operations on routines, for commands, the API and the chat assistant.


def build_manager(
    config: Config,
    store: Store,
    service: RoutineService,
    clock: Clock,
    ids: Ids,
    leaks: LeakDetector | None = None,
    pipeline: Callable[[], CallPipeline] | None = None,
) -> "manage.RoutineManager":
    """Return the operations on routines. `pipeline`: None where there are no tools, and so no jobs."""
    return manage.RoutineManager(
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
) -> "trial.RoutinesInWords":
    """Return the operations on routines for the chat assistant."""
    return trial.RoutinesInWords(build_manager(config, store, service, clock, ids, leaks, pipeline))


def routines_api(
    config: Config,
    store: Store,
    service: RoutineService,
    clock: Clock,
    ids: Ids,
    pipeline: Callable[[], CallPipeline],
    leaks: LeakDetector | None = None,
) -> "web.RoutinesApi":
    """Return the endpoints for routines."""
    manager = build_manager(config, store, service, clock, ids, leaks, pipeline)
    return web.RoutinesApi(manager, store, clock, ids, pipeline, timezone=config.hub.timezone)
