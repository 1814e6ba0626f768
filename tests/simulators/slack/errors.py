"""Refusals in the platform's own words: ``{"ok": false, "error": "…"}``, with HTTP 200.

https://docs.slack.dev/apis/web-api: every refusal is HTTP 200 but the rate limit, which is 429 with
``Retry-After``.
"""

from typing import Any


class SlackError(Exception):
    """Slack refuses a request; ``problems`` become ``errors`` and ``response_metadata.messages``."""

    def __init__(self, error: str, problems: list[str] | None = None, **extra: Any) -> None:
        super().__init__(error)
        self.error = error
        self.problems = problems or []
        self.extra = extra

    def body(self) -> dict[str, Any]:
        """The JSON object of the answer."""
        body: dict[str, Any] = {"ok": False, "error": self.error, **self.extra}
        if self.problems:
            body["errors"] = self.problems
            body["response_metadata"] = {"messages": [f"[ERROR] {text}" for text in self.problems]}
        return body


class RateLimited(Exception):
    """Too many requests: HTTP 429, ``ratelimited``."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"retry after {retry_after_s} s")
        self.retry_after_s = retry_after_s


def missing(name: str) -> SlackError:
    """A required argument is absent."""
    return invalid_arguments(f"missing required field: {name}")


def invalid_arguments(problem: str) -> SlackError:
    """An argument has the wrong shape."""
    return SlackError("invalid_arguments", [problem])
