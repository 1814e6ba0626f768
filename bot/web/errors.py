"""Error answers of the API: `{"error": {"code", "message", "field"?}}`, always."""

from collections.abc import Mapping

from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bot.runtime import AdminError
from core.errors import HubError, IllegalChange, InboxUnavailable, StoreUnavailable
from core.job import JobRefused, NoSuchJob
from core.routine_json import RoutineNotFound, RoutineRefused


class ErrorDetail(BaseModel):
    """`code` is for programs, `message` for people; `field`: the part of the request it is about."""

    code: str
    message: str
    field: str | None = None


class ErrorPage(BaseModel):
    """An error response."""

    error: ErrorDetail


class ApiError(HubError):
    """Refused; nothing was changed."""

    def __init__(self, status: int, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.field = field


def not_found(message: str) -> ApiError:
    """Return the error for something that does not exist, or that the caller may not know of."""
    return ApiError(404, "not_found", message)


def error_response(
    status: int, code: str, message: str, field: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an error in the API's one format."""
    error = {"code": code, "message": message} | ({"field": field} if field else {})
    return JSONResponse({"error": error}, status_code=status, headers=headers)


_STATUS = {"not_found": 404, "refused": 409, "unavailable": 503, "invalid": 400, "unusable": 422}
_CODES = {400: "invalid", 404: "not_found", 405: "method_not_allowed", 408: "too_slow", 413: "too_large"}


async def on_http_error(_: Request, error: Exception) -> Response:
    """Answer the framework's own refusals."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for nothing else
    code = _CODES.get(error.status_code, "failed")
    return error_response(error.status_code, code, error.detail, headers=error.headers)


async def on_invalid(_: Request, error: Exception) -> Response:
    """Answer a request with invalid fields."""
    assert isinstance(error, ValidationError)  # noqa: S101 - registered for nothing else
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = ".".join(str(step) for step in first["loc"])
    return error_response(400, "invalid", first["msg"], field or None)


async def on_api_error(_: Request, error: Exception) -> Response:
    """Answer an endpoint's refusal."""
    assert isinstance(error, ApiError)  # noqa: S101 - registered for nothing else
    return error_response(error.status, error.code, str(error), error.field)


async def on_admin_error(_: Request, error: Exception) -> Response:
    """Answer a refusal by the admin service."""
    assert isinstance(error, AdminError)  # noqa: S101 - registered for nothing else
    return error_response(_STATUS[error.code], error.code, str(error), error.field)


async def on_nothing_there(_: Request, error: Exception) -> Response:
    """Answer a request about a routine or a job that the caller does not have."""
    return error_response(404, "not_found", str(error))


async def on_refused(_: Request, error: Exception) -> Response:
    """Answer a request that the state of things does not allow."""
    return error_response(409, "refused", str(error))


async def on_routine_refused(_: Request, error: Exception) -> Response:
    """Answer a routine that can't be as it was given, naming the first field."""
    assert isinstance(error, RoutineRefused)  # noqa: S101 - registered for nothing else
    field = next((problem.field for problem in error.problems if problem.field), None)
    code = "refused" if field is None else "invalid" if error.formal else "unusable"
    return error_response(_STATUS[code], code, str(error), field)


async def on_store_unavailable(_: Request, error: Exception) -> Response:
    """Answer while the database does not respond; trying again later may help."""
    return error_response(503, "unavailable", str(error))


async def on_breakdown(_: Request, __: Exception) -> Response:
    """Answer after a bug. The server raises the error again, so the log gets its traceback."""
    return error_response(500, "failed", "the hub failed to do this; see its log")


HANDLERS = {
    HTTPException: on_http_error,
    ValidationError: on_invalid,
    ApiError: on_api_error,
    AdminError: on_admin_error,
    RoutineNotFound: on_nothing_there,
    NoSuchJob: on_nothing_there,
    JobRefused: on_refused,
    IllegalChange: on_refused,
    RoutineRefused: on_routine_refused,
    StoreUnavailable: on_store_unavailable,
    InboxUnavailable: on_store_unavailable,
    Exception: on_breakdown,
}
