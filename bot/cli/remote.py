"""Admin service, settings and routines of the hub that runs on this machine, over its API."""

import asyncio
import http.client
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from pydantic import BaseModel, TypeAdapter, ValidationError

from bot.operator.reload import ReloadView
from bot.operator.routine_views import FiredView, RoutineView, RunView, TrialView
from bot.ops.api_access import ApiAccess
from bot.runtime import AdminError
from bot.views import DecisionView, PairingRequestView, StatusView, UserView
from core.gates import Option, ToolSetting
from core.people.pairing import PairAs

ANSWER_LIMIT_S = 15.0
OTHER_VERSION = "the running hub's response does not match this version; restart the hub with this version"

View = TypeVar("View")


class HubClient:
    """Goes straight to the hub, past any configured proxy. Methods raise AdminError."""

    def __init__(self, access: ApiAccess) -> None:
        self._access = access

    async def _post(self, path: str, **body: str | None) -> Any:
        return await asyncio.to_thread(self._request, "POST", path, json.dumps(body))

    def _request(self, method: str, path: str, body: str | None) -> Any:
        """The answer's JSON; AdminError with the hub's own words if it is an error."""
        at = urlsplit(self._access.url)
        connection = http.client.HTTPConnection(at.hostname or "", at.port, timeout=ANSWER_LIMIT_S)
        # The name the API answers to, also where the hub listens on one of this machine's other addresses.
        headers = {"Host": "localhost", "Authorization": f"Bearer {self._access.token}"}
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            page = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise AdminError(
                "unavailable",
                f"the hub at {self._access.url} does not respond ({error or type(error).__name__}); "
                "it may be starting or stopping: try again in a moment",
            ) from error
        finally:
            connection.close()
        if answer.status >= http.client.BAD_REQUEST:
            raise _refusal(page)
        return page


class RemoteAdminService(HubClient):
    """See bot.operator.decisions.AdminService."""

    async def status(self) -> StatusView:
        """The hub at a glance."""
        return read_page(StatusView, await asyncio.to_thread(self._request, "GET", "/api/status", None))

    async def login_link(self) -> str:
        """A fresh link to the console, good once."""
        return read_page(LoginLink, await self._post("/api/login-links")).url

    async def decide(self, gate_id: str, option: Option) -> DecisionView:
        page = await self._post("/api/chat/gate/resolve", request_id=gate_id, action=option.value)
        return read_page(DecisionView, page)

    async def pairing_requests(self) -> Sequence[PairingRequestView]:
        page = await asyncio.to_thread(self._request, "GET", "/api/pairing", None)
        entries = page["requests"] if isinstance(page, dict) else page
        return [read_page(PairingRequestView, entry) for entry in entries]

    async def let_in(self, code: str, pair_as: PairAs) -> DecisionView:
        page = await self._post("/api/pairing/approve", **{"code": code, "as": pair_as.value})
        return read_page(DecisionView, page)

    async def turn_down(self, code: str) -> DecisionView:
        return read_page(DecisionView, await self._post("/api/pairing/reject", code=code))

    async def revoke(self, channel: str, platform_user_id: str) -> DecisionView:
        page = await self._post("/api/pairing/revoke", channel=channel, platform_user_id=platform_user_id)
        return read_page(DecisionView, page)

    async def add_user(self, name: str) -> UserView:
        return read_page(UserView, await self._post("/api/users", name=name))

    async def link(self, user_id: str, channel: str, platform_user_id: str) -> DecisionView:
        account = {"user_id": user_id, "channel": channel, "platform_user_id": platform_user_id}
        return read_page(DecisionView, await self._post("/api/users/link", **account))

    async def set_timezone(self, user_id: str, timezone: str | None) -> DecisionView:
        page = await self._post("/api/users/timezone", user_id=user_id, timezone=timezone)
        return read_page(DecisionView, page)


class RemoteSettings(HubClient):
    """See bot.operator.settings.SettingsService."""

    async def keep_secret(self, name: str, value: str) -> DecisionView:
        return read_page(DecisionView, await self._post("/api/secrets", name=name, value=value))

    async def drop_secret(self, name: str) -> DecisionView:
        return read_page(DecisionView, await self._post("/api/secrets/delete", name=name))

    async def change_vault_key(self) -> DecisionView:
        return read_page(DecisionView, await self._post("/api/secrets/rotate"))

    async def revoke_grant(self, grant_id: str) -> DecisionView:
        return read_page(DecisionView, await self._post("/api/grants/revoke", id=grant_id))

    async def set_permission(self, user_id: str, tool: str, setting: ToolSetting | None) -> DecisionView:
        word = None if setting is None else setting.value
        page = await self._post("/api/permissions", user_id=user_id, tool=tool, setting=word)
        return read_page(DecisionView, page)

    async def pause_tools(self, *, paused: bool) -> DecisionView:
        return read_page(DecisionView, await self._post(f"/api/tools/{'pause' if paused else 'unpause'}"))


class RemoteHub(HubClient):
    """See bot.operator.reload.Reloading."""

    async def reload(self) -> ReloadView:
        return read_page(ReloadView, await self._post("/api/config/reload"))


class LoginLink(BaseModel):
    """The answer to a wish for a link."""

    url: str


def read_page(view: type[View], page: Any) -> View:
    """An answer of the hub. Raises AdminError for one of another version."""
    try:
        return TypeAdapter(view).validate_python(page)
    except ValidationError as error:
        raise AdminError("unavailable", OTHER_VERSION) from error


def _refusal(page: Any) -> AdminError:
    match page:
        case {"error": {"code": "invalid", "message": str(message), "field": str(field)}}:
            return AdminError("invalid", f"{field}: {message}")  # what of the words typed is meant
        case {"error": {"code": str(code), "message": str(message)}}:
            return AdminError(code, message)
        case _:
            return AdminError("unavailable", OTHER_VERSION)


# Routines of the owner in a hub that runs on this machine, over its API.

ROUTINES = "/api/routines"


class RemoteRoutines(HubClient):
    """See bot.operator.routines.RoutineActions."""

    async def listed(
        self, *, after: str = "", limit: int | None = None, containing: str = ""
    ) -> Sequence[RoutineView]:
        found: list[RoutineView] = []
        while limit is None or len(found) < limit:
            query = urlencode({"after": found[-1].name if found else after, "query": containing})
            pages = await self._call("GET", f"{ROUTINES}?{query}")
            found += [read_page(RoutineView, page) for page in pages]
            if not pages:
                break
        return found[:limit]

    async def show(self, name: str) -> RoutineView:
        return read_page(RoutineView, await self._call("GET", _of(name)))

    async def create(self, page: Mapping[str, Any]) -> RoutineView:
        return read_page(RoutineView, await self._call("POST", ROUTINES, page))

    async def change(self, name: str, page: Mapping[str, Any]) -> RoutineView:
        return read_page(RoutineView, await self._call("PATCH", _of(name), page))

    async def switch(self, name: str, *, enabled: bool) -> RoutineView:
        action = "enable" if enabled else "disable"
        return read_page(RoutineView, await self._call("POST", f"{_of(name)}/{action}"))

    async def delete(self, name: str) -> RoutineView:
        return read_page(RoutineView, await self._call("DELETE", _of(name)))

    async def fire(self, name: str) -> FiredView:
        return read_page(FiredView, await self._call("POST", f"{_of(name)}/fire"))

    async def history(self, name: str, limit: int) -> Sequence[RunView]:
        pages = await self._call("GET", f"{_of(name)}/runs?limit={limit}")
        return [read_page(RunView, page) for page in pages]

    async def test(self, name: str, text: str) -> TrialView:
        return read_page(TrialView, await self._call("POST", f"{_of(name)}/test", {"text": text}))

    async def _call(self, method: str, path: str, page: Mapping[str, Any] | None = None) -> Any:
        body = None if page is None else json.dumps(dict(page))
        return await asyncio.to_thread(self._request, method, path, body)


def _of(name: str) -> str:
    return f"{ROUTINES}/{quote(name, safe='')}"
