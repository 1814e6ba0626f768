"""Builds the parts of a running hub, each once, in the order in which they need one another.

Every class here is one stage of that: made from the stages before it, its attributes are what it built.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bot.parts import (
    Dependencies,
    build_audit,
    build_chat,
    build_credentials,
    build_mcp,
    build_pipeline,
    build_rules,
)
from bot.platforms import ChannelBuilder
from bot.routines.service import build_routines
from bot.tools import build_approvals, build_tools
from bot.web.uploads import UPLOADS_NAME, FileUploads
from channels.manager import ChannelManager
from channels.webchat import WEB, WebChannel
from core.events import TurnListener, TurnListeners
from core.inbound.acknowledgements import Acknowledgements
from core.inbound.hub import Hub
from core.model.base import Model
from core.people.notices import ApproverCopies
from core.people.pairing import ClaimRules, PairingService
from core.ports import OutboxReady
from core.runs.actors import ThreadActors
from core.runs.albums import AlbumCollector
from core.runs.previews import TurnPreviews
from core.runs.recovery import GateExpiry, RunRecovery
from core.runs.runner import ChatTurnRunner
from core.store.wakes import (
    AuditWritten,
    Changes,
    InputWaiting,
    RoutineChanged,
    RoutinesFired,
    RunMayStart,
    RunStopped,
    ToolsPaused,
    Wakes,
)
from core.tools.call_edits import CallEditor
from core.tools.execution import ToolPause
from core.tools.processes import end_process

if TYPE_CHECKING:
    from core.people.notices import Notices
    from core.routines.trial import RoutinesInWords
    from core.safety.network import Lookup

MAX_CONCURRENT_TURNS = 256


class Channels:
    """The channels, and the listeners to turns: previews, streams, metrics and `listener`."""

    def __init__(self, dependencies: Dependencies, builder: ChannelBuilder, listener: TurnListener) -> None:
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
        )
        texts = config.agent.stream and not (hooks is not None and hooks.show_steps_only)
        self.previews = TurnPreviews(self.manager, clock, texts=texts, seen_live=[WEB])
        self.turns = TurnListeners(listener, self.previews, dependencies.live, dependencies.metrics)


class Tools:
    """Tools and the one path of their calls, the rules they are judged by, and what calls them unasked."""

    def __init__(
        self,
        dependencies: Dependencies,
        channels: Channels,
        models: Model,
        pause: ToolPause,
        lookup: "Lookup | None",
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
        registry = build_tools(
            loaded, store, clock, self.notices, self._in_words, lookup, lambda: self._manager
        )
        self.servers = build_mcp(loaded, registry, clock)
        self.pipeline = build_pipeline(loaded, registry, clock, dependencies.leaks, pause, dependencies.hooks)
        self.editing = CallEditor(store, self.pipeline, build_approvals(config))
        self.rules = build_rules(config, dependencies.owner, dependencies.ids, self.pipeline.effective_policy)
        self.audit = build_audit(loaded, store, self.pipeline.effective_policy, clock)
        self.routines = build_routines(
            config,
            store,
            models,
            self.pipeline,
            self.notices,
            channels.manager.open_thread,
            clock,
            dependencies.timers,
            dependencies.ids,
            dependencies.leaks,
            dependencies.hooks.replies if dependencies.hooks is not None else None,
            loaded.closed,
        )

    def notices(self) -> "Notices":
        """Return the sender of the hub's own notices."""
        from bot.parts import build_notices  # a hub that only answers does not need it

        return build_notices(self._dependencies.store, self._manager, self.rules, self._dependencies.leaks)

    def _in_words(self) -> "RoutinesInWords":
        from bot.routines.management import build_words  # the first such tool that is used needs it

        dependencies = self._dependencies
        return build_words(
            dependencies.config,
            dependencies.store,
            dependencies.clock,
            dependencies.ids,
            dependencies.leaks,
        )


class Turns:
    """The hub, the turns it gives to actors, and their recovery.

    `beside`: tasks that hooks need for as long as the hub runs, by name.
    """

    def __init__(self, dependencies: Dependencies, channels: Channels, tools: Tools, models: Model) -> None:
        store, manager, clock, ids = (
            dependencies.store,
            channels.manager,
            dependencies.clock,
            dependencies.ids,
        )
        approver_copies = ApproverCopies(store.notices, tools.rules.access, manager, ids)
        delegates = build_chat(dependencies, models, tools.pipeline, channels.turns, approver_copies)
        runner = ChatTurnRunner(store.turns, delegates, manager, channels.turns, clock, ids)
        self.actors = ThreadActors(runner, MAX_CONCURRENT_TURNS)
        self.gathering = AlbumCollector(store.recovery, self.actors, clock, ids)
        self.acknowledgements = Acknowledgements(store.explanations, manager, clock)
        self.held = dependencies.hooks.inbound() if dependencies.hooks is not None else None
        self.hub = Hub(
            store,
            tools.rules,
            manager,
            clock,
            self.acknowledgements,
            tools.editing,
            build_credentials(dependencies.leaks, dependencies.ring, clock, ids),
            tools.routines,
        )
        self.beside: Mapping[str, Callable[[], Coroutine[Any, Any, None]]] = (
            dependencies.hooks.beside(self.held) if dependencies.hooks is not None else {}
        )
        self.pairing = PairingService(store.people, ClaimRules(tools.rules.access, ids))
        self.expiry = GateExpiry(store, clock, approver_copies, ids, tools.editing.editable)
        self.recovery = RunRecovery(store, self.actors, end_process, clock, ids, tools.pipeline.shown)


def connect(
    wakes: Wakes, dependencies: Dependencies, channels: Channels, tools: Tools, turns: Turns
) -> Sequence[Callable[[], Awaitable[None]]]:
    """Have what a commit lets move next move: each part listens to the wakes that concern it.

    Returns what looks, now and then, for work of which no wake was heard."""
    dependencies.store.tell(wakes)
    wakes.listen(OutboxReady, channels.manager.outbox_ready)
    wakes.listen(RunMayStart, turns.actors.may_start)
    wakes.listen(RunStopped, turns.actors.stopped)
    wakes.listen(InputWaiting, turns.gathering.expect)
    wakes.listen(ToolsPaused, tools.pause.set)
    wakes.listen(RoutineChanged, tools.routines.changed)
    wakes.listen(RoutinesFired, tools.routines.fired)
    wakes.listen(AuditWritten, tools.audit.written)
    wakes.listen(Changes, dependencies.live.changed)
    looks = [
        channels.manager.look,
        partial(tools.pause.look, dependencies.store.kill_switch.tools_paused),
        tools.routines.look,
        tools.audit.look,
    ]
    if turns.held is not None:
        wakes.listen(InputWaiting, turns.held.wake)
        looks.append(turns.held.look)
    return looks
