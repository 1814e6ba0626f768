"""The engine that carries routines out, made of its parts."""

from collections.abc import Callable, Sequence
from pathlib import Path

from bot.config.schema import Config
from bot.jobs.builder import build_dispatcher
from bot.platforms import readable_files
from core.clock import Clock, Timers
from core.ids import Ids
from core.jobs.service import ContainerProbe
from core.messages import Message
from core.people.notices import Notices, Recipient
from core.routine_json import read_hours
from core.routines.engine import EngineParts, RoutineEngine
from core.routines.events import Heartbeat, HubEvents, SystemEvents
from core.routines.notices import NoticeThreads, RoutineNotifier, ThreadOpener
from core.routines.registry import PatternRegistry, WebhookRegistry
from core.routines.run import LightweightRuns
from core.routines.tool_runs import FullJobs, FullJobServices, ToolRuns
from core.runs.model_list import ModelList
from core.runs.registry import RunRegistry, RunSignals
from core.runs.services import ReplyHook
from core.runs.unattended import UnattendedServices
from core.runs.unseen_models import UnseenModels
from core.runs.workspace_texts import WorkspaceTexts
from core.safety.leaks import LeakDetector
from core.safety.paths import PathGuard
from core.store.port import Store
from core.timezones import TimeZones
from core.tools.pipeline import CallPipeline


def build_engine(
    signals: RunSignals,
    config: Config,
    store: Store,
    models: ModelList,
    registry: RunRegistry,
    pipeline: CallPipeline,
    probe: ContainerProbe,
    notices: Callable[[], Notices],
    open_thread: ThreadOpener,
    clock: Clock,
    timers: Timers,
    ids: Ids,
    leaks: LeakDetector,
    hook: ReplyHook | None,
    closed: Sequence[Path],
    texts: WorkspaceTexts | None,
) -> RoutineEngine:
    """Build the engine. `closed`: files and directories of which routines read nothing."""

    async def send(key: str, to: "Recipient", message: Message) -> bool:
        return await notices().send(key, to, message)

    timezones = TimeZones(store.people.preferences, config.hub.timezone)
    unseen = UnseenModels(models, leaks, hook)
    read_file = readable_files(PathGuard(config.workspace.dir, closed))
    tool_runs = ToolRuns(UnattendedServices(store, pipeline, clock, ids))
    configured, owner_of = config.agent.system_prompt, store.people.user
    runs = LightweightRuns(unseen, read_file, owner_of, clock, timezones, tool_runs, texts, configured)
    notice_threads = NoticeThreads(store.run_views, lambda to: notices().addresses(to), open_thread)
    notifier = RoutineNotifier(store.run_views, send, notice_threads, clock)
    # Someone who chose the time of day wants it then.
    awake = None if config.heartbeat.at else read_hours(config.heartbeat.active_hours)
    heartbeat = Heartbeat(read_file, awake, clock)
    jobs = FullJobServices(
        store.runs, lambda: build_dispatcher(config, pipeline, ids), probe, owner_of, timezones, clock
    )
    events = HubEvents(SystemEvents(store, lambda _: signals.wake(), clock, ids), config.hub.owner, ids)
    parts = EngineParts(
        store,
        runs,
        notifier,
        PatternRegistry(),
        WebhookRegistry(),
        FullJobs(jobs),
        heartbeat,
        events,
        signals,
        clock,
        timers,
        ids,
        registry,
    )
    return RoutineEngine(parts, most=config.routines.max_concurrent, timezones=timezones)
