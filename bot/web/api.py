"""The API below `/api`: JSON in and out, for the console, for commands and for programs.

Errors are `{"error": {"code", "message", "field"?}}`. Times are integer microseconds UTC.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.types import ASGIApp

from bot.desk import HubDesk
from bot.keeping import Keeping
from bot.reload_view import Reloading
from bot.routine_desk import DeskOfRoutines
from bot.status_views import StatusView
from bot.web.approval_policy import ApprovalPolicies
from bot.web.callers import ApiGuard, Gate
from bot.web.chat import Chat
from bot.web.deciding import Deciding
from bot.web.endpoints import Endpoint, routes_of
from bot.web.errors import HANDLERS
from bot.web.keeping import KeepingApi
from bot.web.list_stream import ChannelStates
from bot.web.live import Live
from bot.web.login import LoginDesk
from bot.web.looking import Looking
from bot.web.openapi import openapi_endpoint
from bot.web.people import People
from bot.web.presenting import Presenter, SensitiveArguments
from bot.web.routines import RoutinesApi
from bot.web.sent_files import SentFiles
from bot.web.threads import Threads
from bot.web.uploads import FileUploads
from bot.web.webhooks import documented
from channels.webchat import WebChannel
from core.clock import Clock
from core.consent.laws import ConsentLaws
from core.hub import Hub
from core.ids import Ids
from core.safety.paths import PathGuard
from core.store.base import Store
from core.users import Principal


@dataclass(frozen=True, slots=True)
class ApiParts:
    """What the API shows and changes. `platforms`: of each channel; `url`: where people reach the hub."""

    store: Store
    hub: Hub
    desk: HubDesk
    keeping: Keeping
    reloading: Reloading
    web: WebChannel
    live: Live
    login: LoginDesk
    uploads: FileUploads
    workspace: PathGuard
    states: ChannelStates
    platforms: Mapping[str, str]
    status: Callable[[], Awaitable[StatusView]]
    routines: Callable[[Principal], DeskOfRoutines]
    sensitive: SensitiveArguments
    laws: ConsentLaws
    url: str
    clock: Clock
    ids: Ids


def endpoints(parts: ApiParts, gate: Gate) -> list[Endpoint]:
    """Everything there is."""
    presenter = Presenter(parts.sensitive)
    store, ids = parts.store, parts.ids
    threads = Threads(
        store, parts.live, presenter, parts.web, parts.hub, parts.states, gate, parts.clock, ids
    )
    chat = Chat(store, parts.web, parts.uploads, ids)
    deciding = Deciding(store, parts.desk, presenter)
    people = People(store, parts.desk, parts.login, parts.url, parts.status, parts.states)
    looking = Looking(store, parts.states, dict(parts.platforms))
    keeping = KeepingApi(store, parts.keeping, parts.reloading)
    found = [*people.endpoints(), *threads.endpoints(), *chat.endpoints(), *deciding.endpoints()]
    found += [*looking.endpoints(), *keeping.endpoints(), *ApprovalPolicies(store, parts.laws).endpoints()]
    found += [
        *RoutinesApi(parts.routines).endpoints(),
        *SentFiles(store, parts.workspace, gate.links).endpoints(),
    ]
    return [*found, openapi_endpoint([*found, documented()])]


def api(parts: ApiParts, gate: Gate) -> ASGIApp:
    """Everything below `/api`, for those who bring a key."""
    return Starlette(
        routes=routes_of(endpoints(parts, gate)),
        middleware=[Middleware(ApiGuard, gate=gate)],
        exception_handlers=dict(HANDLERS),
    )
