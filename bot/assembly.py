"""Builds the parts of a running hub, each once, in the order in which they need one another.

Every class here is one stage of that: made from the stages before it, its attributes are what it built.
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from bot.parts import (
    ChangeListeners,
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
from core.inbound.hub import Hub, nothing_held
from core.model.base import Model
from core.people.notices import ApproverCopies
from core.people.pairing import ClaimRules, PairingService
from core.runs.actors import ThreadActors
from core.runs.albums import AlbumCollector
from core.runs.previews import TurnPreviews
from core.runs.recovery import ChatTurns, GateExpiry, RunRecovery, RunsOfKind
from core.runs.runner import ChatTurnRunner
from core.store.rows import RunKind
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

    def __init__(self, ground: Dependencies, builder: ChannelBuilder, listener: TurnListener) -> None:
        config, clock, hooks = ground.config, ground.clock, ground.hooks
        self.builder = builder
        self.uploads = FileUploads(config.hub.data_dir / UPLOADS_NAME, clock, ground.ids)
        self.webchat = WebChannel(self.uploads, clock)
        self.manager = ChannelManager(
            [*builder.all(config), self.webchat],
            ground.store.outbox,
            clock,
            on_state=ground.live.channel_changed,
            on_send=ground.metrics.sent,
            gate=hooks.gate if hooks is not None else None,
        )
        texts = config.agent.stream and not (hooks is not None and hooks.show_steps_only)
        self.previews = TurnPreviews(self.manager, clock, texts=texts, seen_live=[WEB])
        self.turns = TurnListeners(listener, self.previews, ground.live, ground.metrics)


class Tools:
    """Tools and the one path of their calls, the rules they are judged by, and what calls them unasked."""

    def __init__(
        self,
        ground: Dependencies,
        speaking: Channels,
        models: Model,
        pause: ToolPause,
        lookup: "Lookup | None",
    ) -> None:
        loaded, config, store, clock = ground.loaded, ground.config, ground.store, ground.clock
        self._ground = ground
        self._manager = speaking.manager
        self.pause = pause
        tools = build_tools(loaded, store, clock, self.notices, self._in_words, lookup, lambda: self._manager)
        self.servers = build_mcp(loaded, tools, clock)
        self.pipeline = build_pipeline(loaded, tools, clock, ground.leaks, pause, ground.hooks)
        self.editing = CallEditor(store, self.pipeline, build_approvals(config))
        self.rules = build_rules(config, ground.owner, ground.ids, self.pipeline.laws)
        self.audit = build_audit(loaded, store, self.pipeline.laws, clock)
        store.watch(ChangeListeners(ground.live, self.audit))
        self.routines = build_routines(
            config,
            store,
            models,
            self.pipeline,
            self.notices,
            speaking.manager.open_thread,
            clock,
            ground.timers,
            ground.ids,
            ground.leaks,
            ground.hooks.replies if ground.hooks is not None else None,
            loaded.closed,
        )

    def notices(self) -> "Notices":
        """Return the sender of the hub's own notices."""
        from bot.parts import build_notices  # a hub that only answers does not need it

        return build_notices(self._ground.store, self._manager, self.rules, self._ground.leaks)

    def _in_words(self) -> "RoutinesInWords":
        from bot.routines.management import build_words  # the first such tool that is used needs it

        ground = self._ground
        return build_words(ground.config, ground.store, self.routines, ground.clock, ground.ids, ground.leaks)


class Turns:
    """The hub, the turns it gives to actors, and their recovery.

    `beside`: tasks that hooks need for as long as the hub runs, by name.
    """

    def __init__(self, ground: Dependencies, speaking: Channels, calling: Tools, models: Model) -> None:
        store, manager, clock, ids = ground.store, speaking.manager, ground.clock, ground.ids
        elsewhere = ApproverCopies(store.notices, calling.rules.access, manager, ids)
        delegates = build_chat(ground, models, calling.pipeline, manager, speaking.turns, elsewhere)
        runner = ChatTurnRunner(store.turns, delegates, manager, speaking.turns, clock, ids)
        self.actors = ThreadActors(runner, MAX_CONCURRENT_TURNS)
        self.gathering = AlbumCollector(store.recovery, self.actors, clock, ids)
        self.acknowledgements = Acknowledgements(store.explanations, manager, clock)
        inbound = ground.hooks.inbound(self.gathering, manager) if ground.hooks is not None else None
        self.hub = Hub(
            store,
            calling.rules,
            self.actors,
            manager,
            clock,
            self.gathering,
            self.acknowledgements,
            calling.editing,
            build_credentials(ground.leaks, ground.ring, clock, ids),
            calling.routines,
            calling.pause,
            inbound.wake if inbound is not None else nothing_held,
        )
        self.beside: Mapping[str, Callable[[], Coroutine[Any, Any, None]]] = (
            ground.hooks.beside(inbound) if ground.hooks is not None else {}
        )
        self.pairing = PairingService(store.people, ClaimRules(calling.rules.access, ids), manager)
        editable = calling.editing.editable
        self.expiry = GateExpiry(store, self.actors, manager, clock, elsewhere, ids, editable)
        chats = ChatTurns(store, self.actors, manager, clock, ids, self.gathering, calling.pipeline.shown)
        kinds: dict[RunKind, RunsOfKind] = {RunKind.CHAT: chats}
        if ground.config.routines.enabled:
            kinds[RunKind.ROUTINE] = calling.routines
        self.recovery = RunRecovery(store.recovery, kinds, chats.start_waiting, end_process, clock)
