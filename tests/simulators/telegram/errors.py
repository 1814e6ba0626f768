"""Refusals in the platform's own words: ``{"ok": false, "error_code": …, "description": …, "parameters":
…}``.
"""

from typing import Any


class ApiError(Exception):
    """The Bot API refuses a request; becomes the JSON body and the HTTP status of the answer."""

    def __init__(self, code: int, description: str, parameters: dict[str, Any] | None = None) -> None:
        super().__init__(f"{code} {description}")
        self.code = code
        self.description = description
        self.parameters = parameters

    def body(self) -> dict[str, Any]:
        """The JSON object of the answer."""
        body: dict[str, Any] = {"ok": False, "error_code": self.code, "description": self.description}
        if self.parameters:
            body["parameters"] = self.parameters
        return body


def bad_request(reason: str, **parameters: Any) -> ApiError:
    """400 with the platform's prefix."""
    return ApiError(400, f"Bad Request: {reason}", parameters or None)


def forbidden(reason: str) -> ApiError:
    """403 with the platform's prefix."""
    return ApiError(403, f"Forbidden: {reason}")


def too_many_requests(retry_after_s: int) -> ApiError:
    """429 with the seconds to wait, in the description and in the parameters."""
    return ApiError(429, f"Too Many Requests: retry after {retry_after_s}", {"retry_after": retry_after_s})
