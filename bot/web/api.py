"""The API below `/api`: JSON in and out, for commands and programs on this machine.

Errors are `{"error": {"code", "message", "field"?}}`. Times are integer microseconds UTC.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from bot.desk import Desk, DeskRefused
from bot.views import ApprovalView, StatusView, ThreadView, UserView, conversation
from bot.web.guard import ApiGuard, error_response
from core.conversation.pairing import PairAs
from core.prompts import Option
from core.store.base import Store

API_PATH = "/api"
BODY_LIMIT_BYTES = 64 * 1024
BODY_LIMIT_S = 10.0
DEFAULT_LIMIT = 100
MOST_LIMIT = 1000

_STATUS = {"not_found": 404, "refused": 409, "unavailable": 503}

Model = TypeVar("Model", bound=BaseModel)
Text = Annotated[str, Field(min_length=1, max_length=200)]


class RequestBody(BaseModel):
    """Closed: an unknown key is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Resolve(RequestBody):
    """An answer to what waits; `action` is one of the answers it offers."""

    request_id: Text
    action: Option


class LetIn(RequestBody):
    """A code to be let in."""

    code: Text
    pair_as: PairAs = Field(default=PairAs.MEMBER, alias="as")


class TurnDown(RequestBody):
    """A code to be turned down."""

    code: Text


class AccountOf(RequestBody):
    """An account on a channel."""

    channel: Text
    platform_user_id: Text


class NewUser(RequestBody):
    """A person to be known."""

    name: Text


class Link(AccountOf):
    """An account and whose it is to be."""

    user_id: Text


@dataclass(frozen=True, slots=True)
class ApiParts:
    """What the API shows and changes."""

    store: Store
    desk: Desk
    status: Callable[[], Awaitable[StatusView]]


def api_routes(parts: ApiParts, token: str) -> list[BaseRoute]:
    """Everything below `/api`, for those who bring the token."""
    api = Api(parts)
    routes = [
        Route("/status", api.status),
        Route("/threads", api.threads),
        Route("/threads/{id}", api.thread),
        Route("/approvals", api.approvals),
        Route("/chat/gate/resolve", api.resolve, methods=["POST"]),
        Route("/pairing", api.pairing),
        Route("/pairing/approve", api.let_in, methods=["POST"]),
        Route("/pairing/reject", api.turn_down, methods=["POST"]),
        Route("/pairing/revoke", api.revoke, methods=["POST"]),
        Route("/users", api.users, methods=["GET"]),
        Route("/users", api.add_user, methods=["POST"]),
        Route("/users/link", api.link, methods=["POST"]),
    ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(ApiGuard, token=token)],
        exception_handlers={
            HTTPException: _http_error,
            ValidationError: _invalid,
            DeskRefused: _refused,
            Exception: _broke_down,
        },
    )
    return [Mount(API_PATH, app=app)]


class Api:
    """One method per endpoint."""

    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._store = parts.store
        self._desk = parts.desk

    async def status(self, _: Request) -> Response:
        """GET /status: StatusView."""
        return _answer(await self._parts.status())

    async def threads(self, request: Request) -> Response:
        """GET /threads?limit=N: the latest active first."""
        rows = await self._store.threads(_limit(request))
        return _answer([ThreadView.of(row) for row in rows])

    async def thread(self, request: Request) -> Response:
        """GET /threads/{id}?limit=N: ConversationView with the newest entries."""
        try:
            thread_id = str(uuid.UUID(request.path_params["id"]))
        except ValueError:
            thread_id = ""
        found = await conversation(self._store, thread_id, _limit(request))
        if found is None:
            raise HTTPException(404, "no thread has this id")
        return _answer(found)

    async def approvals(self, _: Request) -> Response:
        """GET /approvals: what waits for people, oldest first."""
        return _answer([ApprovalView.of(view) for view in await self._store.open_prompts()])

    async def resolve(self, request: Request) -> Response:
        """POST /chat/gate/resolve: DecisionView."""
        body = await _body(request, Resolve)
        return _answer(await self._desk.decide(body.request_id, body.action))

    async def pairing(self, _: Request) -> Response:
        """GET /pairing: who asks to be let in, oldest first."""
        return _answer(list(await self._desk.pairing_requests()))

    async def let_in(self, request: Request) -> Response:
        """POST /pairing/approve: DecisionView."""
        body = await _body(request, LetIn)
        return _answer(await self._desk.let_in(body.code, body.pair_as))

    async def turn_down(self, request: Request) -> Response:
        """POST /pairing/reject: DecisionView."""
        body = await _body(request, TurnDown)
        return _answer(await self._desk.turn_down(body.code))

    async def revoke(self, request: Request) -> Response:
        """POST /pairing/revoke: DecisionView."""
        body = await _body(request, AccountOf)
        return _answer(await self._desk.revoke(body.channel, body.platform_user_id))

    async def users(self, _: Request) -> Response:
        """GET /users: everybody who was ever let in."""
        return _answer([UserView.of(person) for person in await self._store.people()])

    async def add_user(self, request: Request) -> Response:
        """POST /users: UserView."""
        body = await _body(request, NewUser)
        return _answer(await self._desk.add_user(body.name), 201)

    async def link(self, request: Request) -> Response:
        """POST /users/link: DecisionView."""
        body = await _body(request, Link)
        return _answer(await self._desk.link(body.user_id, body.channel, body.platform_user_id))


# --- in and out -----------------------------------------------------------------------------------------


def _answer(page: BaseModel | list[Model], status: int = 200) -> Response:
    if isinstance(page, BaseModel):
        return JSONResponse(page.model_dump(mode="json"), status)
    return JSONResponse([entry.model_dump(mode="json") for entry in page], status)


def _limit(request: Request) -> int:
    text = request.query_params.get("limit", str(DEFAULT_LIMIT))
    if (
        text.isascii()
        and text.isdecimal()
        and len(text) <= len(str(MOST_LIMIT))
        and 0 < int(text) <= MOST_LIMIT
    ):
        return int(text)
    raise HTTPException(400, f"limit must be a whole number from 1 to {MOST_LIMIT}")


async def _body(request: Request, model: type[Model]) -> Model:
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_LIMIT_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > BODY_LIMIT_BYTES:
                    raise HTTPException(413, f"the body is over {BODY_LIMIT_BYTES} bytes")
    except TimeoutError as error:
        raise HTTPException(408, f"the body did not arrive within {BODY_LIMIT_S:g} s") from error
    return model.model_validate_json(bytes(body))


# --- what can go wrong ----------------------------------------------------------------------------------

_CODES = {400: "invalid", 404: "not_found", 405: "method_not_allowed", 408: "too_slow", 413: "too_large"}


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for nothing else
    code = _CODES.get(error.status_code, "failed")
    return error_response(error.status_code, code, error.detail, headers=error.headers)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, ValidationError)  # noqa: S101 - registered for nothing else
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = ".".join(str(step) for step in first["loc"])
    return error_response(400, "invalid", first["msg"], field or None)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, DeskRefused)  # noqa: S101 - registered for nothing else
    return error_response(_STATUS[error.code], error.code, str(error))


async def _broke_down(_: Request, __: Exception) -> Response:
    """The trace goes to the log: the server raises the error again."""
    return error_response(500, "failed", "the hub could not do this; its log says why")
