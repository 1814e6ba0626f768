"""The API as a table: method, path, what it takes and what it answers. Routes and the OpenAPI document are
made of the same rows."""

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any

from pydantic import Field, TypeAdapter
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from bot.views import DecisionView
from bot.web.auth import Caller, caller_of
from bot.web.responses import HANDLERS, ApiError, Given, body_of, not_found
from core.lazy import dataclass
from core.off_loop import ValueCount
from core.users import Principal

MAX_BODY_VALUES = 20_000
"""Limit of the JSON values in a body: they are parsed and checked on the event loop."""
MAX_LIMIT = 1000


class Nothing(Given):
    """No parameters, or no body."""


ShortText = Annotated[str, Field(min_length=1, max_length=200)]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT)]


@dataclass(frozen=True, slots=True)
class Call:
    """A request whose caller, parameters and body were found good. `query` and `body` are of the models that
    the endpoint names."""

    request: Request
    caller: Caller
    query: Any
    body: Any

    @property
    def principal(self) -> Principal:
        """The person who calls."""
        return self.caller.principal

    @property
    def named(self) -> str:
        """What the path names: an id, or another name of it."""
        return str(self.request.path_params["id"])

    @property
    def thread_id(self) -> str:
        """The thread the path names, in its dashed form. Raises ApiError."""
        try:
            return str(uuid.UUID(self.request.path_params["id"]))
        except ValueError as error:
            raise not_found("no thread has this ID") from error


Handler = Callable[[Call], Awaitable[Any]]
"""Returns what `answer` describes, or a whole Response."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One row. `answer` None: the handler makes the whole response, described by `media_type`.

    `refusals`: statuses beyond those every endpoint may give; `owner_only`: others get 403; `raw_body`:
    the handler reads
    the body itself; `tokens_only`: not for browsers' sessions; `by_link`: also by an address signed for
    it; `public`:
    without a key, and served elsewhere; `also`: other statuses with the same answer, and their meaning.
    """

    method: str
    path: str
    handle: Handler
    answer: Any
    query: type[Given] = Nothing
    body: type[Given] | None = None
    status: int = 200
    refusals: Sequence[int] = field(default=())
    owner_only: bool = False
    tokens_only: bool = False
    raw_body: bool = False
    by_link: bool = False
    public: bool = False
    also: Sequence[tuple[int, str]] = field(default=())
    media_type: str = "application/json"

    @property
    def summary(self) -> str:
        """The first line of the handler's documentation."""
        return (self.handle.__doc__ or "").strip().partition("\n")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedView(DecisionView):
    """A removal, or its undo. `undo`: the id that brings it back within five minutes; null after an undo."""

    undo: str | None


class UndoOf(Given):
    """The id that a removal returned."""

    undo: ShortText


def decision_endpoint(
    path: str,
    handle: Callable[[Call], Awaitable[DecisionView]],
    body: type[Given],
    refusals: tuple[int, ...] = (404, 409, 503),
) -> Endpoint:
    """Return the endpoint of a decision that only the owner may make."""
    return Endpoint("POST", path, handle, DecisionView, body=body, refusals=refusals, owner_only=True)


def routes_of(endpoints: Sequence[Endpoint]) -> list[Route]:
    """Return the endpoints as routes. Methods of one path are one route, so that other methods get
    405."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in endpoints:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    return [Route(path, _serve(of_path), methods=list(of_path)) for path, of_path in by_path.items()]


def application(endpoints: Sequence[Endpoint], guard: Middleware) -> ASGIApp:
    """Return the endpoints behind a guard, which names each request's caller."""
    return Starlette(routes=routes_of(endpoints), middleware=[guard], exception_handlers=dict(HANDLERS))


def _serve(of_path: Mapping[str, Endpoint]) -> Callable[[Request], Awaitable[Response]]:
    writers: dict[str, TypeAdapter[Any]] = {}

    async def serve(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        endpoint = of_path[method]
        caller = caller_of(request)
        if endpoint.owner_only and not caller.is_owner:
            raise ApiError(403, "forbidden", "only the owner may do this")
        if endpoint.tokens_only and caller.by_session:
            raise ApiError(403, "forbidden", "browser sessions can't do this; send a token")
        if caller.by_link and not endpoint.by_link:
            raise ApiError(403, "forbidden", "this address requires a key")
        query = endpoint.query.model_validate(_query(request))
        body = endpoint.body.model_validate_json(await _json_of(request)) if endpoint.body else None
        answer = await endpoint.handle(Call(request, caller, query, body))
        if endpoint.answer is None:
            return answer
        if method not in writers:  # most of what there is, nobody asks for: a tenth of an MB each
            writers[method] = TypeAdapter(endpoint.answer)
        text = writers[method].dump_json(answer, by_alias=True)
        return Response(text, endpoint.status, media_type="application/json")

    return serve


def _query(request: Request) -> dict[str, str]:
    given: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name in given:
            raise ApiError(400, "invalid", "is given twice", name)
        given[name] = value
    return given


async def _json_of(request: Request) -> bytes:
    """Return the body if it has no more values than are parsed on the event loop. Raises HTTPException."""
    body = await body_of(request)
    if ValueCount().add(body) > MAX_BODY_VALUES:
        raise HTTPException(413, f"the body has over {MAX_BODY_VALUES:,} JSON values")
    return body


# Where a page of a list ends, as a text that only the hub makes sense of.

Cursor = Annotated[str, Field(pattern=r"^[0-9]{1,18}\.[0-9a-z-]{1,64}$", max_length=83)]


def cursor_of(at: int, row_id: str) -> str:
    """Return the cursor after the row with this time and id."""
    return f"{at}.{row_id}"


def position_of(cursor: str) -> tuple[int, str]:
    """Return the time and id of the row that a cursor follows."""
    at, _, row_id = cursor.partition(".")
    return int(at), row_id
