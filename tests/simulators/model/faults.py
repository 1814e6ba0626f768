"""Faults on the way to an answer: a closed union of them and their JSON form.

A fault's JSON form is an object of its fields plus `kind`: http_error, drop, hold, malformed_event,
cut_arguments, end_early, empty_body, stream_error.

`after_events` counts events of a stream already sent. On a request that is not a stream, "mid_stream" and
`after_events` mean: half of the body was sent.
"""

from dataclasses import dataclass
from typing import Any, Literal

from tests.simulators.model.replies import build

Point = Literal["before_headers", "in_headers", "after_headers", "mid_stream"]


@dataclass(frozen=True, slots=True)
class HttpError:
    """Answer with this status and the provider's error body, or with `body` as it is.

    `retry_after_s` adds a `Retry-After` header, as whole seconds or as an HTTP date (RFC 9110, 10.2.3).
    Statuses a gateway in front of the provider produces (502, 504) carry an HTML body.
    """

    status: int = 500
    retry_after_s: int | None = None
    retry_after_form: Literal["seconds", "date"] = "seconds"
    code: str | None = None
    body: str | None = None


@dataclass(frozen=True, slots=True)
class Drop:
    """Close the connection without finishing the answer; `reset` sends RST instead of an orderly end."""

    at: Point = "before_headers"
    after_events: int = 2
    reset: bool = False


@dataclass(frozen=True, slots=True)
class Hold:
    """Take the request and wait until released, until the client is gone, or for `at_most_s`; then go on.

    At "before_headers" this is a slow model, at "in_headers" a server that starts its headers and stops,
    at "mid_stream" a stall. `gate` names a group that is released together.
    """

    at: Point = "before_headers"
    after_events: int = 2
    at_most_s: float | None = None
    gate: str = ""


@dataclass(frozen=True, slots=True)
class MalformedEvent:
    """Send an event whose JSON is cut off, then the rest; not a stream: a body whose JSON is cut off."""

    after_events: int = 2


@dataclass(frozen=True, slots=True)
class CutArguments:
    """Stop every tool call's arguments after `keep_chars` characters, with finish reason "length"."""

    keep_chars: int = 5


@dataclass(frozen=True, slots=True)
class EndEarly:
    """End the stream in good order but too soon: after `after_events`, or (None) without its end marker."""

    after_events: int | None = None


@dataclass(frozen=True, slots=True)
class EmptyBody:
    """Answer 200 with the right content type and not one byte of body."""


@dataclass(frozen=True, slots=True)
class StreamError:
    """Send an error object inside the stream and end it; not a stream: status 200 with an error body.

    What is None is what the provider says most often.
    """

    after_events: int = 2
    message: str | None = None
    type: str | None = None
    code: str | None = None


Fault = HttpError | Drop | Hold | MalformedEvent | CutArguments | EndEarly | EmptyBody | StreamError

KINDS: dict[str, type[Fault]] = {
    "http_error": HttpError,
    "drop": Drop,
    "hold": Hold,
    "malformed_event": MalformedEvent,
    "cut_arguments": CutArguments,
    "end_early": EndEarly,
    "empty_body": EmptyBody,
    "stream_error": StreamError,
}


def fault_from_json(data: Any) -> Fault:
    """Build a fault from `{"kind": ..., ...fields}`. Raises ValueError naming what does not fit."""
    if not isinstance(data, dict) or data.get("kind") not in KINDS:
        raise ValueError(f"a fault needs a kind: {', '.join(KINDS)}")
    return build(KINDS[data["kind"]], {k: v for k, v in data.items() if k != "kind"}, data["kind"])
