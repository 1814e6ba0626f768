"""Jobs of a hub, put together; what carries them out is loaded with the first one."""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from bot.config import keys
from bot.config.load import Loaded
from bot.config.schema import Config
from bot.parts import Dependencies
from bot.tools import network_guard, places_of
from core import users
from core.clock import Clock
from core.ids import Ids
from core.job import JobBudget, JobLimits, RepairTerms
from core.jobs.service import JobDispatcher, JobEngines, JobOutcomes, JobService, Readiness
from core.lazy import LazyModule
from core.ports import OutboxListener
from core.runs.registry import RunEngine, RunRegistry, RunSignals
from core.safety import network
from core.safety.leaks import LeakDetector
from core.store.port import Store
from core.tools.pipeline import CallPipeline
from core.usage import MICRO_USD

if TYPE_CHECKING:
    from bot.jobs import command_containers, containers, docker_engine, job_socket, upkeep
    from core import routine_json
    from core.jobs import notices, registry, scheduler, worker
    from core.runs import unattended, unseen_models
    from core.sandbox import orchestrator
else:
    command_containers = LazyModule("bot.jobs.command_containers")
    containers = LazyModule("bot.jobs.containers")
    docker_engine = LazyModule("bot.jobs.docker_engine")
    job_socket = LazyModule("bot.jobs.job_socket")
    orchestrator = LazyModule("core.sandbox.orchestrator")
    routine_json = LazyModule("core.routine_json")
    upkeep = LazyModule("bot.jobs.upkeep")
    registry = LazyModule("core.jobs.registry")
    scheduler = LazyModule("core.jobs.scheduler")
    worker = LazyModule("core.jobs.worker")
    notices = LazyModule("core.jobs.notices")
    unattended = LazyModule("core.runs.unattended")
    unseen_models = LazyModule("core.runs.unseen_models")


logger = logging.getLogger(__name__)

LOOK_EVERY_S = 30.0
"""Seconds between two looks for containers that have waited too long for a command."""


def build_dispatcher(config: Config, pipeline: CallPipeline, ids: Ids) -> JobDispatcher | None:
    """Build the maker of jobs; None if `[jobs] enabled = false`."""
    jobs = config.jobs
    if not jobs.enabled:
        return None
    micro_usd = round(jobs.max_usd * MICRO_USD) or None
    budget = JobBudget(jobs.max_iterations, jobs.timeout_s, jobs.max_tokens or None, micro_usd)
    sandbox = config.sandbox
    return JobDispatcher(
        pipeline,
        budget,
        ids,
        review=jobs.review is True,
        containers=sandbox.enabled,
        agents=sandbox.agents,
        images=(sandbox.image, *sandbox.images),
    )


def build_registry(
    config: Config, store: Store, pipeline: CallPipeline, ids: Ids, leaks: LeakDetector
) -> "registry.JobRegistry":
    """Build the operations on jobs."""
    dispatcher = build_dispatcher(config, pipeline, ids)
    return registry.JobRegistry(
        store.jobs, store.job_monitors, dispatcher, ids, pipeline.shown, leaks, store.containers
    )


def build_commands(
    loaded: Loaded, clock: Clock, *, alone: bool
) -> "command_containers.CommandContainers | None":
    """Build the containers of chats' commands; None where these run on this machine. `alone`: no other hub
    works on the data directory."""
    sandbox = loaded.config.sandbox
    if not sandbox.chat_tools:
        return None
    hub = places_of(loaded).hub
    terms = command_containers.WaitingTerms(
        sandbox.image, sandbox.memory_mb, sandbox.disk_mb, hub, alone=alone
    )
    engine = docker_engine.DockerEngine(loaded.environment)
    return command_containers.CommandContainers(engine, terms, clock)


class DockerProbe:
    """A ContainerProbe. `enabled`: containers are turned on; `environment`: names the Docker daemon."""

    def __init__(self, *, enabled: bool, environment: Mapping[str, str]) -> None:
        self._enabled = enabled
        self._environment = environment

    async def readiness(self) -> Readiness:
        if not self._enabled:
            return Readiness.HOST
        async with docker_engine.DockerEngine(self._environment) as engine:
            try:
                await engine.probe()
            except (docker_engine.DockerUnreachable, docker_engine.DockerRefused) as error:
                logger.warning("docker.unreachable error=%s", error)
                return Readiness.UNREACHABLE
        return Readiness.READY


def build_jobs(
    dependencies: Dependencies,
    pipeline: CallPipeline,
    runs: RunRegistry,
    listener: OutboxListener,
    changed: Callable[[], None],
    lookup: "network.Lookup | None",
    outcomes: JobOutcomes,
) -> JobService:
    """Build what carries jobs out. `changed`: called with every change of a job."""
    config, store, clock = dependencies.config, dependencies.store, dependencies.clock
    hook = dependencies.hooks.replies if dependencies.hooks is not None else None

    def repair() -> RepairTerms:
        jobs, slowest_s = config.jobs, max(model.timeout_s for model in config.models)
        return RepairTerms(slowest_s, jobs.max_repairs, jobs.stuck_after_s)

    def build(signals: RunSignals) -> RunEngine:
        models = unseen_models.UnseenModels(dependencies.models, dependencies.leaks, hook)
        zones = users.TimeZones(store.people.preferences, config.hub.timezone)
        of_host = worker.JobWorker(
            unattended.UnattendedServices(store, pipeline, clock, dependencies.ids),
            models,
            zones,
            listener,
            routine_json.read_hours(config.jobs.quiet_hours),
            plans=config.jobs.use_planning,
            reviews_doubts=config.jobs.review == "in_doubt",
        )

        def host(signals: RunSignals) -> RunEngine:
            limits = JobLimits(config.jobs.max_parallel, config.jobs.max_per_user)
            return scheduler.JobScheduler(store.jobs, of_host, runs, signals, clock, limits, repair())

        def contained(signals: RunSignals) -> RunEngine:
            limits = JobLimits(config.sandbox.max_parallel, config.sandbox.max_per_user)
            if outcomes.instead is not None:
                replayed = outcomes.instead(store, of_host, listener)
                return scheduler.JobScheduler(replayed, replayed, runs, signals, clock, limits, repair())
            allowed = frozenset(map(network.destination, config.sandbox.egress))
            guard = network_guard(config, lookup)
            docker = docker_engine.DockerEngine(dependencies.loaded.environment)
            manager = containers.ContainerJobManager(
                docker,
                upkeep.settings_of(dependencies.loaded, pipeline.workspace),
                store.containers,
                store.jobs,
                orchestrator.SessionServices(
                    store.containers,
                    clock,
                    dependencies.ids,
                    dependencies.leaks,
                    partial(keys.secret_of, dependencies.ring, store.secrets, clock),
                    listener,
                ),
                models,
                zones,
                of_host,
                listener,
                job_socket.EgressTerms(allowed, guard) if allowed else None,
                outcomes,
                pipeline.pause,
            )
            return containers.ContainerEngine(manager, runs, signals, clock, limits, repair())

        async def is_contained(job_id: str) -> bool:
            return await store.containers.container_row(job_id) is not None

        async def expects() -> bool:
            return config.sandbox.enabled or bool(await store.containers.container_states())

        return JobEngines(signals, host, contained, is_contained, expects)

    timers = dependencies.timers
    return JobService(
        lambda: store.jobs,
        build,
        lambda: notices.JobMonitor(store.job_monitors, listener, clock, timers),
        changed,
        places_of(dependencies.loaded).has_files,
    )
