"""Builds the parts of a running hub, each once, in the order in which they need one another.

Every class here is one stage of that: made from the stages before it, its attributes are what it built.
"""

import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from bot.config.load import Loaded
from bot.config.schema import Config
from bot.jobs.builder import (
    LOOK_EVERY_S,
    DockerProbe,
    build_commands,
    build_dispatcher,
    build_jobs,
    build_registry,
)
from bot.live import ChangeListeners
from bot.models.builder import ModelOpener, first_call
from bot.operator.config_file import SettingsFile
from bot.operator.reload import ChannelReloader
from bot.ops.logs import fields
from bot.parts import (
    Dependencies,
    build_audit,
    build_budget,
    build_chat,
    build_credentials,
    build_extensions,
    build_pipeline,
    build_rules,
    build_sign_ins,
)
from bot.platforms import ChannelBuilder, build_prompts
from bot.routines.service import build_routines, build_words
from bot.tools import build_approvals, build_policy, build_tools, loop_limits
from bot.web.files import UPLOADS_NAME, FileUploads
from channels.delivery import OnPosted
from channels.manager import ChannelManager
from channels.webchat import WEB, WebChannel
from core.clock import Clock
from core.consent.rules import EffectivePolicy
from core.errors import NobodyToTell, StoreError, ToolFailed
from core.events import ModelTrace, RunKind, TurnListener, TurnListeners
from core.inbound.extension_commands import no_servers
from core.inbound.hub import Hub, nothing_held
from core.messages import plain
from core.people.notices import ApproverCopies, ToPerson
from core.people.pairing import ClaimRules, PairingService
from core.runs.actors import Acknowledgements, AlbumCollector, ThreadActors
from core.runs.model_list import ModelList
from core.runs.recovery import ChatTurns, GateExpiry, RunRecovery, RunsOfKind, Subtasks
from core.runs.registry import FailingTools, RunRegistry
from core.runs.reply_stream import TurnPreviews
from core.runs.runner import ChatTurnRunner
from core.store.facets import Expired, ModelUsage
from core.store.units import patiently
from core.tool import ProcessInfo
from core.tools.builtin.extension_tools import sign_in_tools
from core.tools.call_edits import CallEditor
from core.tools.execution import Executor, ToolPause
from core.tools.processes import end_process
from core.tools.registry import ToolRegistry
from core.web import Interceptor

if TYPE_CHECKING:
    from bot.mcp.extensions import ExtensionManager
    from core.jobs.registry import JobsInWords
    from core.jobs.service import ContainerProbe, JobOutcomes
    from core.people.notices import Notices
    from core.routines.trial import RoutinesInWords
    from core.safety.network import Lookup
    from core.tools.mcp.server import McpServers
    from core.tools.sign_in import SignIns

logger = logging.getLogger(__name__)

MAX_CONCURRENT_TURNS = 256

BuildServers = Callable[[Loaded, ToolRegistry, Clock, Interceptor, "SignIns | None"], "McpServers | None"]


class Channels:
    """The channels, and the listeners to turns: previews, streams, metrics and `listener`."""

    def __init__(
        self,
        dependencies: Dependencies,
        builder: ChannelBuilder,
        listener: TurnListener | None,
        posted: OnPosted,
    ) -> None:
        config, clock, hooks = dependencies.config, dependencies.clock, dependencies.hooks
        self.builder = builder
        self.uploads = FileUploads(config.hub.data_dir / UPLOADS_NAME, clock, dependencies.ids)
        self.webchat = WebChannel(self.uploads, clock)
        self.manager = ChannelManager(
            [*builder.all(config), self.webchat],
            dependencies.store.outbox,
            clock,
            on_state=dependencies.live.channel_changed,
            on_send=dependencies.metrics.sent,
            gate=hooks.gate if hooks is not None else None,
            on_posted=posted,
        )
        texts = config.agent.stream and not (hooks is not None and hooks.show_steps_only)
        self.previews = TurnPreviews(self.manager, clock, shows_text=texts, seen_live=[WEB])
        self.turns = TurnListeners(listener, self.previews, dependencies.live, dependencies.metrics)


class Tools:
    """Tools and the one path of their calls, the rules they are judged by, and what calls them unasked."""

    def __init__(
        self,
        dependencies: Dependencies,
        channels: Channels,
        pause: ToolPause,
        lookup: "Lookup | None",
        executor: Executor,
        servers: BuildServers,
        probe: "ContainerProbe | None",
        outcomes: "JobOutcomes",
        alone: bool,
    ) -> None:
        loaded, config, store, clock = (
            dependencies.loaded,
            dependencies.config,
            dependencies.store,
            dependencies.clock,
        )
        self._dependencies = dependencies
        self._manager = channels.manager
        self.pause = pause
        self.commands = build_commands(loaded, clock, alone=alone)
        if self.commands is not None and outcomes.instead is None:
            dependencies.timers.every("commands.idle", LOOK_EVERY_S, self.commands.look)
        self.registry = RunRegistry(channels.turns, self._tell_owner, self._keep_models, fields)
        tools = build_tools(
            loaded,
            store,
            clock,
            self.notices,
            self._in_words,
            lookup,
            lambda: self._manager,
            self._jobs_in_words,
            self._installer,
            self.commands,
        )
        self.sign_ins = build_sign_ins(dependencies, self.notices, lookup)
        tools.replace("sign-in", sign_in_tools(self.sign_ins))
        self.tool_registry = tools
        self.servers = servers(loaded, tools, clock, dependencies.interceptor, self.sign_ins)
        self.extensions = build_extensions(dependencies, tools, self.servers, self.sign_ins)
        self.pipeline = build_pipeline(
            loaded,
            tools,
            clock,
            dependencies.leaks,
            pause,
            dependencies.hooks,
            executor,
            dependencies.interceptor,
            self.sign_ins,
        )
        self.prompts = build_prompts(config, dependencies.texts, self.pipeline.unattended)
        self.editing = CallEditor(store, self.pipeline, build_approvals(config))
        self.rules = build_rules(
            config,
            dependencies.owner,
            dependencies.ids,
            self.pipeline.effective_policy,
            self.registry.trace,
            lambda principal: dependencies.texts.latest().skills_for(principal),
            build_dispatcher(config, self.pipeline, dependencies.ids),
            self.extensions.servers_of if self.extensions is not None else no_servers,
            dependencies.model_names,
        )
        self.failing = FailingTools(store.tool_failures, self._tell_owner)
        self.jobs = build_jobs(
            dependencies,
            self.pipeline,
            self.registry,
            channels.manager,
            lambda: self.routines.job_changed(),
            lookup,
            outcomes,
        )
        self.audit = build_audit(loaded, store, self.pipeline.effective_policy, clock)
        self.reloading, self.settings = self._settings(channels.builder)
        watching = [dependencies.metrics, dependencies.live, self.audit]
        store.watch(ChangeListeners(self.jobs, self.extensions, self.sign_ins, self.settings, *watching))
        self.routines = build_routines(
            config,
            store,
            dependencies.models,
            self.registry,
            self.pipeline,
            probe or DockerProbe(enabled=config.sandbox.enabled, environment=loaded.environment),
            self.notices,
            channels.manager.open_thread,
            clock,
            dependencies.timers,
            dependencies.ids,
            dependencies.leaks,
            dependencies.hooks.replies if dependencies.hooks is not None else None,
            loaded.closed,
            dependencies.texts,
        )

    async def end_process(self, process: ProcessInfo, call_id: str) -> bool:
        """End what a dead hub left running of a call; see `core.tools.processes.end_process`."""
        if self.commands is not None:
            return await self.commands.end_process(process, call_id)
        return await end_process(process, call_id)

    async def close(self) -> None:
        """End what commands run in, once no call is left."""
        if self.commands is not None:
            await self.commands.close()

    def _settings(self, builder: ChannelBuilder) -> tuple[ChannelReloader, SettingsFile]:
        of, manager = self._dependencies, self._manager
        live = LiveSettings(
            self.pipeline.effective_policy, of.models, of.opener, of.store.usage, of.model_names
        )
        reloading = ChannelReloader(of.loaded, manager, builder, of.leaks.learn, live)
        file = SettingsFile(of.loaded, of.store, reloading, of.owner.user_id, self.notices, of.clock, of.ids)
        return reloading, file

    def notices(self) -> "Notices":
        """Return the sender of the hub's own notices."""
        from bot.parts import build_notices  # a hub that only answers does not need it

        return build_notices(self._dependencies.store, self._manager, self.rules, self._dependencies.leaks)

    async def _tell_owner(self, text: str, once: str = "") -> None:
        """Send the owner a notice, if they can be reached. `once`: see TellOwner."""
        dependencies = self._dependencies
        try:
            key = f"models:{once or dependencies.ids.row_id()}"
            await self.notices().send(key, ToPerson(dependencies.owner.user_id), plain(text))
        except (NobodyToTell, StoreError) as error:
            logger.warning("model.fault_not_told owner=%s error=%s", dependencies.owner.user_id, error)

    async def _keep_models(self, run_id: str, models: ModelTrace) -> None:
        """Store the models of a run."""
        dependencies = self._dependencies
        await patiently(lambda: dependencies.store.journal.keep_models(run_id, models), dependencies.clock)

    def _in_words(self) -> "RoutinesInWords":
        dependencies = self._dependencies
        return build_words(
            dependencies.config,
            dependencies.store,
            self.routines,
            dependencies.clock,
            dependencies.ids,
            dependencies.leaks,
            lambda: self.pipeline,
        )

    def _installer(self) -> "ExtensionManager":
        if self.extensions is None:
            raise ToolFailed("Extensions can't be changed here.")
        return self.extensions

    def _jobs_in_words(self) -> "JobsInWords":
        from core.jobs.registry import JobsInWords  # the first such tool that is used needs it

        of = self._dependencies
        return JobsInWords(build_registry(of.config, of.store, self.pipeline, of.ids, of.leaks))


LIVE_APPROVALS = ("preset", "max_rounds", "max_tools", "loop_timeout_s")
"""The keys of `approvals` that a running hub takes up."""


class LiveSettings:
    """The settings that later calls of a running hub use as soon as they are taken up.

    `names`: of the models, each with what its provider calls it."""

    def __init__(
        self,
        policy: EffectivePolicy,
        models: ModelList,
        opener: ModelOpener,
        usage: ModelUsage,
        names: dict[str, str],
    ) -> None:
        self._policy = policy
        self._models = models
        self._opener = opener
        self._usage = usage
        self._names = names

    async def take_up(self, running: Config, written: Config) -> Config:
        """Use the written models, budget, preset and limits. Return the configuration that is in use now.
        Raises StartError: a model can't be opened, and nothing has changed."""
        approvals = {name: getattr(written.approvals, name) for name in LIVE_APPROVALS}
        now = running.model_copy(
            update={
                "models": written.models,
                "budget": written.budget,
                "approvals": running.approvals.model_copy(update=approvals),
            }
        )
        if now.models != running.models:
            self._models.replace(await self._opener.configured(now))
            self._names.clear()
            self._names.update({one.name: one.model for one in now.models})
        if (now.models, now.budget) != (running.models, running.budget):
            await self._usage.hold_to(build_budget(now), first_call(now))
        if now.approvals != running.approvals:
            self._policy.configure(build_policy(now), loop_limits(now))
        return now


class Turns:
    """The hub, the turns it gives to actors, and their recovery.

    `beside`: tasks that hooks need for as long as the hub runs, by name.
    """

    def __init__(self, dependencies: Dependencies, channels: Channels, tools: Tools) -> None:
        store, manager, clock, ids = (
            dependencies.store,
            channels.manager,
            dependencies.clock,
            dependencies.ids,
        )
        approver_copies = ApproverCopies(store.notices, tools.rules.access, manager, ids)
        delegates = build_chat(
            dependencies, tools.pipeline, manager, channels.turns, approver_copies, tools.prompts
        )
        runner = ChatTurnRunner(store.turns, delegates, manager, channels.turns, tools.registry, clock, ids)
        self.actors = ThreadActors(runner, MAX_CONCURRENT_TURNS)
        self.gathering = AlbumCollector(store.recovery, self.actors, clock, ids, tools.registry.joins)
        self.acknowledgements = Acknowledgements(store.explanations, manager, clock)
        inbound = (
            dependencies.hooks.inbound(self.gathering, manager) if dependencies.hooks is not None else None
        )
        self.hub = Hub(
            store,
            tools.rules,
            self.actors,
            manager,
            clock,
            self.gathering,
            self.acknowledgements,
            tools.editing,
            build_credentials(dependencies.leaks, dependencies.ring, clock, ids),
            tools.routines,
            tools.pause,
            inbound.wake if inbound is not None else nothing_held,
            tools.registry.joins,
        )
        self.beside: Mapping[str, Callable[[], Coroutine[Any, Any, None]]] = (
            dependencies.hooks.beside(inbound) if dependencies.hooks is not None else {}
        )
        tools.sign_ins.goes_on(self._go_on)
        self._manager = manager
        self.pairing = PairingService(store.people, ClaimRules(tools.rules.access, ids), manager)
        editable = tools.editing.editable
        self.expiry = GateExpiry(store, self.actors, manager, clock, approver_copies, ids, editable)
        chats = ChatTurns(store, self.actors, manager, clock, ids, self.gathering, tools.pipeline.shown)
        kinds: dict[RunKind, RunsOfKind] = {RunKind.CHAT: chats, RunKind.SUBTASK: Subtasks()}
        if dependencies.config.routines.enabled:
            kinds[RunKind.ROUTINE] = tools.routines
        if dependencies.config.jobs.enabled:
            kinds[RunKind.JOB] = tools.jobs
        self.recovery = RunRecovery(store.recovery, kinds, chats.start_waiting, tools.end_process, clock)

    def _go_on(self, done: Expired) -> None:
        """Send what a sign-in changed, and go on with the turns that waited for it."""
        if done.outbox:
            self._manager.outbox_ready(done.outbox)
        for start in done.started:
            self.actors.start(start)
