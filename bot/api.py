"""Puts the API together. Imported when somebody first asks the hub for it (see bot.web.ondemand)."""

from collections.abc import Awaitable, Callable, Collection

from starlette.types import ASGIApp

from bot.config import Loaded
from bot.desk import HubDesk
from bot.keeping import HubKeeping
from bot.platforms import ChannelBuilder
from bot.reloading import ChannelReloading
from bot.routines import desks
from bot.tools import build_tools
from bot.vault_keys import VaultKeyRing
from bot.web.api import ApiParts, api
from bot.web.callers import Gate
from bot.web.health import Readiness
from bot.web.live import Live
from bot.web.login import LoginDesk
from bot.web.status import status
from bot.web.uploads import FileUploads
from channels.manager import ChannelManager
from channels.webchat import WebChannel
from core.clock import Clock
from core.conversation.pairing import PairingDesk
from core.hub import Hub
from core.ids import Ids
from core.ports import Inbox
from core.routines.service import RoutineService
from core.safety.leaks import LeakDetector
from core.store.base import Store
from core.tools.editing import CallEditing
from core.tools.pipeline import CallPipeline


def build_api(
    loaded: Loaded,
    gate: Gate,
    store: Store,
    hub: Hub,
    inbox: Inbox,
    manager: ChannelManager,
    builder: ChannelBuilder,
    leaks: LeakDetector,
    webchat: WebChannel,
    pipeline: CallPipeline,
    editing: CallEditing,
    pairing: PairingDesk,
    ring: VaultKeyRing,
    login: LoginDesk,
    live: Live,
    uploads: FileUploads,
    readiness: Callable[[], Awaitable[Readiness]],
    routines: RoutineService,
    url: str,
    clock: Clock,
    ids: Ids,
) -> ASGIApp:
    """The application below `/api` of a hub that runs."""
    reloading = ChannelReloading(loaded, manager, builder, leaks.learn)

    def tools() -> Collection[str]:
        return build_tools(loaded, store, clock).names

    parts = ApiParts(
        store=store,
        hub=hub,
        desk=HubDesk(store, inbox, pairing, gate.owner, clock, ids, editing),
        keeping=HubKeeping(store, ring, tools, clock, gate.owner.user_id, pipeline.halt, reloading),
        reloading=reloading,
        web=webchat,
        live=live,
        login=login,
        uploads=uploads,
        states=manager.states,
        platforms={name: channel.platform for name, channel in loaded.config.channels.items()},
        status=lambda: status(store, readiness),
        routines=desks(loaded.config, store, routines, clock, ids),
        sensitive=pipeline.sensitive,
        laws=pipeline.laws,
        url=url,
        clock=clock,
        ids=ids,
    )
    return api(parts, gate)
