"""Anthropic's error bodies: `{"type": "error", "error": {"type", "message"}, "request_id"}` (docs, "Errors").

The request's id is filled in when the answer is written.
"""

from typing import Any

from tests.simulators.model.wire import ApiError

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
MESSAGES = {
    413: "Request exceeds the maximum size",
    429: "This request would exceed your account's rate limit. Please try again later.",
    500: "Internal server error",
    529: "Overloaded",
}


def body(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def refusal(message: str, status: int = 400) -> ApiError:
    return ApiError(status, body(TYPES[status], message))


def required(where: str) -> ApiError:
    return refusal(f"{where}: Field required")


def unexpected_field(where: str) -> ApiError:
    return refusal(f"{where}: Extra inputs are not permitted")


def wrong_type(where: str, expected: str) -> ApiError:
    return refusal(f"{where}: Input should be a valid {expected}")
