"""The hub's API for commands: the running hub's, or the same application in this process while none runs."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from bot.cli.conventions import data_dir_of, database_of, print_json, printable
from bot.config.place import ANSWER_LIMIT_S, ApiAccess, Exchange, NoAnswer, read_access
from bot.runtime import HTTPX_COMMAND_LINE, AdminError, CommandFailed, left_out, needed_to_start
from bot.views import DecisionView
from core.errors import StoreLocked
from core.lazy import LazyModule
from core.store.lease import DataDirectoryLock

if TYPE_CHECKING:
    import pydantic
    from starlette.types import ASGIApp

    from bot.cli import offline
    from bot.config import load
else:
    # The running hub has judged the configuration; only a hub's stand-in in this process reads all of it.
    load, offline = LazyModule("bot.config.load"), LazyModule("bot.cli.offline")
    pydantic = LazyModule("pydantic")

SETTLED_WITHIN_S = 30.0
"""A hub starts within a second; on a machine with too much to do it takes several."""
LOOK_AGAIN_S = 0.05
OTHER_VERSION = "the running hub's response does not match this version; restart the hub with this version"

T = TypeVar("T")
Body = Mapping[str, Any] | None
Query = Mapping[str, str | int] | None
Answer = tuple[int, Any]
"""The HTTP status and the JSON."""
Ask = Callable[[str, str, Body, Query, float], Awaitable[Answer]]
"""Sends method, path, body and query, and waits for the answer, in seconds. Raises NoAnswer."""


class HubApi:
    """Requests as the owner. `where`: its address, for people. All methods raise AdminError."""

    def __init__(self, ask: Ask, where: str, *, runs: bool = True) -> None:
        self._ask = ask
        self._where = where
        self.runs = runs
        """True if it is the API of a running hub."""

    async def get(self, path: str, answer: type[T], **query: str | int) -> T:
        """Return the answer, as a value of that type."""
        return await self.call("GET", path, answer, query=query)

    async def post(
        self,
        path: str,
        answer: type[T],
        body: Mapping[str, Any] | None = None,
        limit_s: float = ANSWER_LIMIT_S,
    ) -> T:
        """Return the answer, as a value of that type."""
        return await self.call("POST", path, answer, body or {}, limit_s=limit_s)

    async def call(
        self,
        method: str,
        path: str,
        answer: type[T],
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str | int] | None = None,
        limit_s: float = ANSWER_LIMIT_S,
    ) -> T:
        """Return the answer, as a value of that type; a refusal is raised with the hub's own words."""
        try:
            status, page = await self._ask(method, path, body, query, limit_s)
        except NoAnswer as error:
            raise AdminError(
                "unavailable",
                f"the hub at {self._where} does not respond ({error}); "
                "it may be starting or stopping: try again in a moment",
            ) from error
        if status >= HTTPStatus.BAD_REQUEST:
            raise _refusal(page)
        try:
            return pydantic.TypeAdapter(answer).validate_python(page)
        except pydantic.ValidationError as error:
            raise AdminError("unavailable", OTHER_VERSION) from error


def _refusal(page: Any) -> AdminError:
    match page:
        case {"error": {"code": "invalid", "message": str(message), "field": str(field)}}:
            return AdminError("invalid", f"{field}: {message}")  # what of the words typed is meant
        case {"error": {"code": str(code), "message": str(message)}}:
            return AdminError(code, message)
        case _:
            return AdminError("unavailable", OTHER_VERSION)


def api_at(access: ApiAccess) -> HubApi:
    """Return the running hub's API."""

    async def ask(method: str, path: str, body: Body, query: Query, limit_s: float) -> Answer:
        async with Exchange(access, method, f"/api{path}", query=query, body=body, limit_s=limit_s) as answer:
            return answer.status, await answer.json()

    return HubApi(ask, access.url)


@contextlib.asynccontextmanager
async def api_of(app: "ASGIApp") -> AsyncIterator[HubApi]:
    """Open the API of an application in this process."""
    with left_out(HTTPX_COMMAND_LINE):
        import httpx

    async def ask(method: str, path: str, body: Body, query: Query, limit_s: float) -> Answer:
        response = await client.request(method, path, json=body, params=query, timeout=limit_s)
        return response.status_code, response.json()

    async with httpx.AsyncClient(
        base_url="http://localhost", transport=httpx.ASGITransport(app), trust_env=False
    ) as client:
        yield HubApi(ask, "this machine", runs=False)


def with_api(path: Path | None, action: Callable[[HubApi], Awaitable[T]], *, new_database: bool = False) -> T:
    """Return the result of an operator's action: in this process where no hub runs, else through the running
    one. `new_database`: also before the first start of a hub.

    Raises CommandFailed with the reason if it is refused, ConfigError if no hub runs and the configuration
    can't be used."""
    data_dir = data_dir_of(path) if new_database else database_of(path).parent
    lock = DataDirectoryLock(data_dir)
    access = lock_or_hub(data_dir, lock)
    if access is not None:
        return running(access, action)
    try:
        loaded = load.load(path, secrets=False)

        async def here() -> T:
            async with offline.resting_api(loaded) as app, api_of(app) as api:
                return await action(api)

        return _settled(here())
    finally:
        lock.release()


def lock_or_hub(
    data_dir: Path,
    lock: DataDirectoryLock,
    limit_s: float = SETTLED_WITHIN_S,
    wait: Callable[[float], None] = time.sleep,
) -> ApiAccess | None:
    """Take the lock, or return the API of the hub that holds it. Whoever holds it may be a hub that is still
    starting or already stopping, or another command: wait for it.

    Raises CommandFailed if neither came within the limit.
    """
    looks_left = round(limit_s / LOOK_AGAIN_S)
    while True:
        try:
            with needed_to_start(data_dir, "run this as the hub's user"):
                lock.acquire()
        except StoreLocked as held:
            access = read_access(data_dir)
            if access is not None and access.holder == held.holder:
                return access
            looks_left -= 1
            if not looks_left:
                late = f"it has not published its API address within {limit_s:g} s: try again later"
                raise CommandFailed(f"hubbub: {held}; {late}") from held
        else:
            return None
        wait(LOOK_AGAIN_S)


def running(access: ApiAccess, action: Callable[[HubApi], Awaitable[T]]) -> T:
    """Return the result of an action through the running hub. Raises CommandFailed if it is refused."""

    return _settled(action(api_at(access)))


def _settled(doing: Awaitable[T]) -> T:
    async def settle() -> T:
        return await doing

    try:
        return asyncio.run(settle())
    except AdminError as refused:
        raise CommandFailed(printable(str(refused))) from refused


def change(
    path: Path | None,
    endpoint: str,
    body: Mapping[str, Any] | None = None,
    *,
    as_json: bool,
    new_database: bool = False,
) -> None:
    """Make an operator's change and print the decision. Raises CommandFailed."""
    decision = with_api(path, lambda api: api.post(endpoint, DecisionView, body), new_database=new_database)
    if as_json:
        print_json(decision)
    else:
        typer.echo(printable(f"{decision.id}: {decision.outcome}"))
