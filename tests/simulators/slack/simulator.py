"""The simulator as one object: workspace, people, faults, log and the two HTTP servers."""

import asyncio
from typing import Any

from tests.simulators.control import ControlApi, operation
from tests.simulators.listener import Listener
from tests.simulators.slack.inspection import Inspection
from tests.simulators.slack.log import DeliveryRecord
from tests.simulators.slack.server import ApiServer
from tests.simulators.slack.world import ALL_EVENTS, App, User

Json = dict[str, Any]
SCOPES = frozenset(
    {
        *(
            "app_mentions:read",
            "channels:history",
            "channels:join",
            "channels:read",
            "chat:write",
            "commands",
        ),
        *("files:read", "files:write", "groups:history", "groups:read", "im:history", "im:read", "im:write"),
        *("mpim:history", "mpim:read", "reactions:read", "reactions:write", "users:read"),
    }
)


class SlackSimulator(Inspection):
    """A whole Slack workspace; the Web API is ``{url}/api/<method>``."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._leaving: set[asyncio.Task[None]] = set()

    def _listener(self, control: ControlApi, host: str, port: int) -> Listener:
        return ApiServer(self, control, host, port).listener

    async def _end(self) -> None:
        await self.close_deliveries()
        for task in list(self._leaving):
            task.cancel()
        await asyncio.gather(*self._leaving, return_exceptions=True)

    def _aimed(self, details: Json) -> Json:
        app = details.pop("app", None)
        return details | {"app_id": None if app is None else self.app(app).id}

    @property
    def api_url(self) -> str:
        """The base URL that SDKs take, ending in ``/api/``."""
        return f"{self.url}/api/"

    # -- accounts

    @operation
    def add_app(
        self,
        bot_token: str,
        app_token: str | None = None,
        signing_secret: str = "signing-secret",
        name: str = "hub",
        mode: str = "socket",
        commands: list[str] | None = None,
        events: list[str] | None = None,
        scopes: list[str] | None = None,
    ) -> App:
        """Installs an app with a bot. ``mode`` is "socket" or "http" (see ``set_request_urls``)."""
        if any(bot_token == app.bot_token for app in self.world.apps.values()):
            raise ValueError("this app is installed already")
        if mode not in {"socket", "http"}:
            raise ValueError('mode is "socket" or "http"')
        app_id = self.ids.object("A")
        face = User(self.ids.object("U"), self.world.team_id, name.lower(), name, is_bot=True, app_id=app_id)
        app = App(
            id=app_id,
            name=name,
            bot_id=self.ids.object("B"),
            user=face,
            bot_token=bot_token,
            app_token=app_token or f"xapp-1-{app_id}",
            signing_secret=signing_secret,
            scopes=set(SCOPES if scopes is None else scopes),
            mode=mode,
            events=ALL_EVENTS if events is None else frozenset(events),
            commands=tuple(commands or ()),
        )
        self.world.users[face.id] = face
        self.world.apps[app.id] = app
        return app

    @operation
    def add_user(
        self,
        user_id: str | None = None,
        name: str = "ann",
        real_name: str | None = None,
        tz: str = "Europe/Berlin",
    ) -> User:
        """Registers a person."""
        user_id = user_id or self.ids.object("U")
        if user_id in self.world.users:
            raise ValueError(f"user {user_id} exists already")
        user = User(user_id, self.world.team_id, name, real_name or name.capitalize(), tz)
        self.world.users[user_id] = user
        return user

    @operation
    async def set_request_urls(
        self,
        events_url: str = "",
        interactivity_url: str = "",
        commands_url: str = "",
        app: str | None = None,
        verify: bool = True,
    ) -> bool:
        """Return where an app in mode "http" takes its requests; whether it passed the URL verification.

        The URLs are kept only if it did (or with ``verify=False``).
        """
        account = self.app(app)
        if verify and events_url and not await self.verify_url(account, events_url):
            return False
        account.events_url = events_url or account.events_url
        account.interactivity_url = interactivity_url or account.interactivity_url
        account.commands_url = commands_url or account.commands_url
        return True

    @operation
    def revoke_token(self, token: str, error: str = "token_revoked") -> None:
        """A token is refused from now on (``account_inactive``, ``invalid_auth`` … by name).

        Sockets opened with the app's token are told ``link_disabled`` by ``close_sockets``, not here.
        """
        self.app(token).revoked[token] = error

    @operation
    def renew_token(self, token: str, new_token: str) -> None:
        """Another token takes the place of one."""
        account = self.app(token)
        if token == account.bot_token:
            account.bot_token = new_token
        else:
            account.app_token = new_token

    @operation
    def set_scopes(self, scopes: list[str], app: str | None = None) -> None:
        """Return what an app may do from now on."""
        self.app(app).scopes = set(scopes)

    @operation
    def configure(
        self,
        ack_timeout_s: float | None = None,
        retry_delays_s: list[float] | None = None,
        trigger_ttl_s: float | None = None,
        response_url_ttl_s: float | None = None,
        enforce_rate_limits: bool | None = None,
        mention_first: bool | None = None,
        stream_ttl_s: float | None = None,
        stream_kinds: list[str] | None = None,
    ) -> None:
        """Changes how long things live and what is enforced; what is left out stays.

        ``ack_timeout_s``: how long an app has to acknowledge (3 s). ``retry_delays_s``: pauses before each
        further delivery of an event (0, 60 and 300 s). ``mention_first``: ``app_mention`` comes before its
        ``message``. ``stream_ttl_s``: when the platform closes a stream by itself (300 s). ``stream_kinds``:
        conversations that take streams ("im", "channel" …; none: the method is unknown).
        """
        changes = {
            "ack_timeout_s": ack_timeout_s,
            "retry_delays_s": None if retry_delays_s is None else tuple(retry_delays_s),
            "trigger_ttl_s": trigger_ttl_s,
            "response_url_ttl_s": response_url_ttl_s,
            "enforce_rate_limits": enforce_rate_limits,
            "mention_first": mention_first,
            "stream_ttl_s": stream_ttl_s,
            "stream_kinds": None if stream_kinds is None else frozenset(stream_kinds),
        }
        for name, value in changes.items():
            if value is not None:
                setattr(self, name, value)

    # -- events again, and broken ones

    @operation
    def redeliver(self, delivery_id: str | None = None, times: int = 1) -> DeliveryRecord:
        """Delivers a known event or interaction (the newest event if None) again."""
        known = [
            record
            for record in self.log.deliveries
            if record.id == delivery_id or (delivery_id is None and record.kind == "events_api")
        ]
        if not known:
            raise LookupError(f"no delivery {delivery_id}")
        for _ in range(times):
            self.deliver_again(known[-1])
        return known[-1]

    @operation
    def inject_event(self, event: Json, app: str | None = None) -> DeliveryRecord:
        """Anything as an event."""
        return self.emit(self.app(app), {"type": "raw", **event})

    # -- sockets

    @operation
    async def close_sockets(
        self,
        reason: str = "refresh_requested",
        app: str | None = None,
        connection: int | None = None,
        after_s: float = 0.0,
    ) -> int:
        """Asks sockets to go (``warning``, ``refresh_requested``, ``link_disabled``); how many there were.

        After a ``warning`` they stay open; otherwise no more envelopes come and the server closes them after
        ``after_s``.
        """
        chosen = await self.sockets.ask_to_leave(self.app(app).id, reason, connection)
        if reason == "warning":
            return len(chosen)

        async def close() -> None:
            await asyncio.sleep(after_s)
            for one in chosen:
                await one.socket.close()

        task = asyncio.create_task(close(), name="close-sockets")
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)
        return len(chosen)

    @operation
    def cut_sockets(
        self, duration_s: float = 0.0, app: str | None = None, connection: int | None = None
    ) -> None:
        """Cuts sockets without a word; for ``duration_s`` no new one can be opened."""
        self.sockets.cut_until = self.clock() + duration_s
        self.sockets.abort(None if app is None else self.app(app).id, connection)
