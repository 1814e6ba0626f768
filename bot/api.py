"""Puts the API together. Imported when somebody first asks the hub for it (see bot.web.ondemand)."""

from collections.abc import Awaitable, Callable, Collection

from starlette.types import ASGIApp

from bot.assembly import Answering, Calling, Speaking
from bot.desk import HubDesk
from bot.ground import Ground
from bot.keeping import HubKeeping
from bot.reloading import ChannelReloading
from bot.routines import desks
from bot.tools import build_tools, path_guard
from bot.web.api import ApiParts, api
from bot.web.callers import Gate
from bot.web.health import Readiness
from bot.web.login import LoginDesk
from bot.web.status import status
from core.ports import Inbox


def build_api(
    ground: Ground,
    speaking: Speaking,
    calling: Calling,
    answering: Answering,
    gate: Gate,
    login: LoginDesk,
    inbox: Inbox,
    readiness: Callable[[], Awaitable[Readiness]],
    url: str,
) -> ASGIApp:
    """The application below `/api` of a hub that runs. `url`: where people reach it."""
    loaded, store, clock, ids = ground.loaded, ground.store, ground.clock, ground.ids
    reloading = ChannelReloading(loaded, speaking.manager, speaking.builder, ground.leaks.learn)

    def tools() -> Collection[str]:
        return build_tools(loaded, store, clock).names

    parts = ApiParts(
        store=store,
        hub=answering.hub,
        desk=HubDesk(store, inbox, answering.pairing, gate.owner, clock, ids, calling.editing),
        keeping=HubKeeping(store, ground.ring, tools, clock, gate.owner.user_id, calling.halt, reloading),
        reloading=reloading,
        web=speaking.webchat,
        live=ground.live,
        login=login,
        uploads=speaking.uploads,
        workspace=path_guard(loaded),
        states=speaking.manager.states,
        platforms={name: channel.platform for name, channel in ground.config.channels.items()},
        status=lambda: status(store, readiness),
        routines=desks(ground.config, store, calling.routines, clock, ids, ground.leaks),
        sensitive=calling.pipeline.sensitive,
        laws=calling.pipeline.laws,
        url=url,
        clock=clock,
        ids=ids,
    )
    return api(parts, gate)
