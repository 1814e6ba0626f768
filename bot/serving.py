"""Builds what the hub serves over HTTP."""

import socket

from starlette.routing import Mount
from starlette.types import ASGIApp

from bot.api_access import ApiAccess
from bot.assembly import Answering, Calling, Speaking
from bot.ground import Ground
from bot.metrics import Gauges, MeteredInbox
from bot.readiness import readiness_of
from bot.web.callers import Gate
from bot.web.channels import channel_routes
from bot.web.console import Console
from bot.web.file_links import FileLinks
from bot.web.health import Readiness, health_routes, metrics_routes
from bot.web.login import LoginDesk, login_routes, login_url
from bot.web.ondemand import OnDemand
from bot.web.server import WebServer, url_of

API_PATH = "/api"


class Serving:
    """The server on a listening socket. What few people ask of it is made by the first who does."""

    def __init__(
        self,
        ground: Ground,
        speaking: Speaking,
        calling: Calling,
        answering: Answering,
        sock: socket.socket,
    ) -> None:
        self._ground = ground
        self._speaking = speaking
        self._calling = calling
        self._answering = answering
        self.access = ApiAccess.new(url_of(sock))
        self.inbox = MeteredInbox(answering.hub, ground.metrics)
        self.login = LoginDesk(ground.store, ground.owner, ground.clock)
        self.gate = Gate(
            self.access.token,
            ground.owner,
            ground.store,
            FileLinks(ground.clock),
            ground.config.http.public_url,
        )
        self.people_reach = self.gate.public_url or self.access.url
        manager, live, actors = speaking.manager, ground.live, answering.actors
        ground.metrics.look_at(
            Gauges(manager.states, manager.waiting, lambda: len(actors.unfinished()), lambda: live.streams)
        )
        routes = [
            *health_routes(self.readiness, self.gate),
            Mount(f"{API_PATH}/webhooks", app=OnDemand(self._webhooks)),
            Mount(API_PATH, app=OnDemand(self._api)),
            *login_routes(self.login, self.gate),
            *metrics_routes(ground.metrics, self.gate),
            *channel_routes(manager.routes(self.inbox)),
            *Console().routes(),
        ]
        self.web = WebServer(sock, routes)

    def login_url(self) -> str:
        """A link that logs one browser in."""
        return login_url(self.people_reach, self.login)

    async def readiness(self) -> Readiness:
        """Whether the hub can do its work."""
        return await readiness_of(
            self._ground.store, self._answering.hub, self._speaking.manager, self._calling.servers
        )

    def _api(self) -> ASGIApp:
        from bot.api import build_api

        return build_api(
            self._ground,
            self._speaking,
            self._calling,
            self._answering,
            self.gate,
            self.login,
            self.inbox,
            self.readiness,
            self.people_reach,
        )

    def _webhooks(self) -> ASGIApp:
        from bot.routine_webhooks import build_webhooks

        ground = self._ground
        return build_webhooks(
            ground.store, self._calling.routines, ground.ring, ground.clock, ground.ids, ground.leaks
        )
